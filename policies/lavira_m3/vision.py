"""The vision action: from a view and what is meant in it to a box in pixels, and by depth to a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hm3dm3_env.sim.base import Frame
from hm3dm3_env.vlm.session import Question, Said
from policies.lavira_m3.views import View, optics

LEVEL = "lavira_m3.vision"
SCALE = 1000
"""Boxes are in thousandths of the picture's width and height, as Qwen-VL was taught."""
SIDES = ("left", "top", "right", "bottom")
FLOOR = "the way on"
"""What is meant when a robot explores."""

SYSTEM = f"""You point at things in pictures that a robot took. Give the box around what is meant, as close \
as can be: left, top, right and bottom, in whole numbers from 0 to {SCALE}, where {SCALE} is the whole width \
or height. For the way on, give a piece of open floor that the robot can walk to, far ahead, where it is \
wanted; not something close by. If the picture does not show what is meant, found is false and all numbers are
0.

Answer with one JSON object and nothing else: {{"found": true, "left": 0, "top": 0, "right": 0, "bottom":
0}}"""
"""The instructions (ours)."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "found": {"type": "boolean"},
        **dict.fromkeys(SIDES, {"type": "integer", "minimum": 0, "maximum": SCALE}),
    },
    "required": ["found", *SIDES],
    "additionalProperties": False,
}
"""Of an answer."""


@dataclass(frozen=True)
class Target:
    """A place to go to: (3,) world position, box in pixels (left, top, right, bottom), metres of depth."""

    point: np.ndarray
    box: tuple[int, int, int, int]
    depth: float


def question(view: View, step: int, meant: str) -> Question:
    """Asks for the box of what is meant in a view."""
    text = f"The picture, {optics(view.frame.camera)}, {view.where()}. What is meant: {meant}."
    said = (Said("system", (SYSTEM,)), Said("user", (text, view.picture())))
    return Question(LEVEL, f"robot_{view.robot}", step, said, SCHEMA)


def way_on(ends: Sequence[tuple[float, float]]) -> str:
    """What is meant when a robot explores: with the unexplored places in the view, nearest first."""
    if not ends:
        return FLOOR
    share, metres = ends[0]
    return f"{FLOOR}, towards {share:.0%} of the width, {metres:.1f} m off"


def box_of(answer: Mapping[str, Any], frame: Frame) -> tuple[int, int, int, int] | None:
    """The box of an answer that fits the schema, in pixels of the frame and at least one pixel large; None
    where nothing was found."""
    if not answer["found"]:
        return None
    width, height = frame.camera.width, frame.camera.height
    left, right = sorted(answer[side] * width // SCALE for side in ("left", "right"))
    top, bottom = sorted(answer[side] * height // SCALE for side in ("top", "bottom"))
    left, top = min(left, width - 1), min(top, height - 1)
    return left, top, min(max(right, left + 1), width), min(max(bottom, top + 1), height)


def thing_at(frame: Frame, box: tuple[int, int, int, int], nearest: bool = False) -> Target | None:
    """The place of a thing in a box: through its middle, at the median depth of its inner half; or what is
    nearest of that half (a tenth of its pixels with depth), where that is closest to the middle. None where
    depth shows nothing there, as beyond the camera's range."""
    left, top, right, bottom = box
    x, y = (right - left) // 4, (bottom - top) // 4
    inner = frame.depth[top + y : bottom - y, left + x : right - x]
    depth = _median(inner)
    if depth is None:
        return None
    if nearest:
        known = np.sort(inner[inner > 0])
        rows, columns = np.nonzero((inner > 0) & (inner <= known[len(known) // 10]))
        off = np.abs(rows - inner.shape[0] / 2) + np.abs(columns - inner.shape[1] / 2)
        row, column = rows[off.argmin()], columns[off.argmin()]
        return _target(frame, int(row) + top + y, int(column) + left + x, float(inner[row, column]), box)
    return _target(frame, (top + bottom - 1) // 2, (left + right - 1) // 2, depth, box)


def floor_at(frame: Frame, box: tuple[int, int, int, int]) -> Target | None:
    """The place of a piece of floor: where the middle of the lower edge of its box meets the ground (LaViRA),
    by the depth around it. Where depth shows nothing: at the end of the camera's range, or None where the
    ground is nearer than that, so that something too near for the camera hides it."""
    left, _, right, bottom = box
    row, column = min(bottom, frame.camera.height) - 1, (left + right - 1) // 2
    around = frame.depth[max(row - 2, 0) : row + 1, max(column - 2, 0) : column + 3]
    depth = _median(around)
    if depth is None:
        end = _target(frame, row, column, frame.camera.max_depth, box)
        return None if end.point[1] < frame.pose.y else end
    return _target(frame, row, column, depth, box)


def _median(depth: np.ndarray) -> float | None:
    known = np.sort(depth[depth > 0])
    return float(known[len(known) // 2]) if len(known) else None


def _target(frame: Frame, row: int, column: int, depth: float, box: tuple[int, int, int, int]) -> Target:
    alone = np.zeros_like(frame.depth)
    alone[row, column] = depth
    there = Frame(frame.pose, frame.camera, alone)
    return Target(there.points(np.array([row]), np.array([column]))[0], box, depth)
