"""Pictures that a VLM is shown, and the short references that stand for them in records.

    robot_0 step 12                      the colour frame of a robot at a step
    robot_0 step 12 box 10 20 40 60      the same with a frame around pixels (left, top, right, bottom)
    goal 2                               the photo of an image goal
    goal 2 | robot_0 step 12             several beside each other, at one height
    map step 12                          the shared map, as the method drew it (cannot be made from a record)

A record keeps references in place of pixels; whoever has the frames makes the same pictures from them again.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from hm3dm3_env.shared import TeamGoal

GAP = 8
"""White pixels between pictures beside each other (ours)."""
BOX_COLOR = (230, 30, 30)
"""Of the frame around pixels (ours)."""
_VIEW = re.compile(r"robot_(\d+) step (\d+)(?: box (-?\d+) (-?\d+) (-?\d+) (-?\d+))?")
_GOAL = re.compile(r"goal (\d+)")


@dataclass(frozen=True)
class Picture:
    """Something to show a VLM: (H, W, 3) uint8 pixels, and the reference that records keep of them."""

    pixels: np.ndarray
    ref: str


def data_uri(image: np.ndarray, quality: int = 90) -> str:
    """A (H, W, 3) uint8 image as a data URI: JPEG of a quality, or PNG where it is 0.

    Raises:
        ValueError: another shape or type.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(f"an image must be (height, width, 3) uint8, not {image.shape} {image.dtype}")
    buffer, kind = io.BytesIO(), "JPEG" if quality else "PNG"
    Image.fromarray(image).save(buffer, kind, **({"quality": quality} if quality else {}))
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def photos(goals: Sequence[TeamGoal], wanted: Sequence[int]) -> list[str | Picture]:
    """The photos of image goals among `wanted`, each after a line that names it."""
    parts: list[str | Picture] = []
    for j in wanted:
        image = goals[j].image
        if image is not None:
            parts += [f"The photo of goal_{j}:", Picture(image, f"goal {j}")]
    return parts


def compose(
    ref: str, view: Callable[[int, int], np.ndarray], photo: Callable[[int], np.ndarray]
) -> Picture:
    """The picture that a reference stands for.

    Args:
        view: (robot, step) -> (H, W, 3) uint8, a robot's frame.
        photo: goal number -> (S, S, 3) uint8.

    Raises:
        ValueError: a reference of another form, such as that of a map.
    """
    parts = [_part(part.strip(), view, photo) for part in ref.split("|")]
    if len(parts) == 1:
        return Picture(parts[0], ref)
    height = max(len(part) for part in parts)
    scaled = [_scaled(part, height) for part in parts]
    gap = np.full((height, GAP, 3), 255, np.uint8)
    row = [piece for part in scaled for piece in (gap, part)][1:]
    return Picture(np.concatenate(row, 1), ref)


def _part(
    ref: str, view: Callable[[int, int], np.ndarray], photo: Callable[[int], np.ndarray]
) -> np.ndarray:
    found = _GOAL.fullmatch(ref)
    if found:
        return photo(int(found[1]))
    found = _VIEW.fullmatch(ref)
    if not found:
        raise ValueError(f"picture {ref!r} is neither a robot's view nor a goal's photo")
    pixels = view(int(found[1]), int(found[2]))
    if found[3] is None:
        return pixels
    image = Image.fromarray(pixels)
    width = max(1, image.height // 160)
    ImageDraw.Draw(image).rectangle([int(v) for v in found.groups()[2:]], outline=BOX_COLOR, width=width)
    return np.asarray(image)


def _scaled(pixels: np.ndarray, height: int) -> np.ndarray:
    if len(pixels) == height:
        return pixels
    image = Image.fromarray(pixels)
    return np.asarray(image.resize((max(1, round(image.width * height / image.height)), height)))
