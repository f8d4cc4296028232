"""The pictures of a page about an episode: the map at a moment, what robots saw, what a VLM was shown."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
from PIL import Image

from eval.replay_story import Story
from hm3dm3_env.episodes.goals import photo_camera
from hm3dm3_env.files import sha256
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.render.panels import QUIET, MapView, agent_color, verdict
from hm3dm3_env.render.playback import Replay, map_camera
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.vlm.pictures import compose
from hm3dm3_env.vlm.transcript import LARGEST

MAP_SIDE = 560
"""Side of the map, pixels (ours)."""
VIEW_SIDE, PICTURE_SIDE = 320, 640
"""Longest side of a robot's view and of a picture that a VLM was shown, pixels (ours). Smaller ones stay as
they are."""
PHOTO_SIDE = 160
"""Of a goal's photo on the board, pixels (ours)."""
QUALITY, LARGE_QUALITY, PALETTE = 85, 75, 64
"""Of JPEGs, of those with a side of more than `SMALL_SIDE` pixels (with colours at half the size), and
colours of a map (ours)."""
SMALL_SIDE = 240
TARGET = 9
"""Radius of the ring at a place that a robot goes to, pixels (ours)."""
KEPT = 64
"""Frames that are kept for the calls that refer to them (ours)."""


class Album:
    """Pictures as data URIs, each kept once; `add` gives the number of one."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._numbers: dict[str, int] = {}

    def photo(self, pixels: np.ndarray, side: int) -> int:
        """(H, W, 3) uint8 as a JPEG, shrunk so that no side is longer than `side` pixels."""
        image = Image.fromarray(pixels)
        if max(image.size) > side:
            image.thumbnail((side, side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        large = max(image.size) > SMALL_SIDE
        quality = LARGE_QUALITY if large else QUALITY
        image.save(buffer, "JPEG", quality=quality, subsampling="4:2:0" if large else "4:4:4")
        return self._keep("jpeg", buffer.getvalue())

    def drawing(self, image: Image.Image) -> int:
        """A picture of few colours as a PNG with a palette."""
        buffer = io.BytesIO()
        image.quantize(PALETTE, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
        return self._keep("png", buffer.getvalue())

    def _keep(self, kind: str, data: bytes) -> int:
        uri = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        if uri not in self._numbers:
            self._numbers[uri] = len(self.uris)
            self.uris.append(uri)
        return self._numbers[uri]


class Pictures:
    """Draws moments of a replay into an album.

    Attributes:
        album: what was drawn so far.
        camera: the record's, that every frame is rendered with.
    """

    def __init__(self, replay: Replay, story: Story) -> None:
        self.replay, self.story, self.album = replay, story, Album()
        self.camera = record_camera(replay.record)
        self._frame = lru_cache(maxsize=KEPT)(self._render)
        self._views: dict[int, tuple[Any, int]] = {}
        self._photo_side = next((p["size"][1] for p in _images(story) if _alone(p)), None)

    def _render(self, robot: int, step: int) -> np.ndarray:
        pixels = self.replay.frames(step, self.camera, [robot])[0].rgb
        assert pixels is not None
        return pixels

    def goal_photo(self, goal: int) -> int | None:
        """The number of an image goal's photo; None for other goals."""
        pixels = self.replay.goals[goal].image
        return None if pixels is None else self.album.photo(pixels, PHOTO_SIDE)

    def view(self, robot: int, step: int) -> int:
        """The number of what a robot saw at a step."""
        pose = self.replay.poses[step][robot]
        if robot not in self._views or self._views[robot][0] != pose:
            self._views[robot] = (pose, self.album.photo(self._frame(robot, step), VIEW_SIDE))
        return self._views[robot][1]

    def map(self, shared_map: SharedMap, step: int, bounds: tuple[float, float, float, float]) -> int:
        """The number of the map at a step: trails, robots, where they go, goals and what was declared."""
        record, replay = self.replay.record, self.replay
        view = MapView(shared_map, MAP_SIDE, bounds)
        declared = {d["goal"]: d for d in record.declarations if d["step"] <= step}
        for j in range(len(replay.goals)):
            for item in replay.acceptable(j):
                view.box(item.low[[0, 2]], item.high[[0, 2]], j, solid=j not in declared)
        for k in range(record.agents):
            view.trail([row[k] for row in record.poses[: step + 1]], agent_color(k))
        for k, number in enumerate(self.story.current(step, record.agents)):
            target = None if number is None else self.story.decisions[number].get("target")
            if _is_place(target):
                u, v = view.xy(target[0], target[1])
                box = [u - TARGET, v - TARGET, u + TARGET, v + TARGET]
                view.draw.ellipse(box, outline=agent_color(k), width=3)
        for d in declared.values():
            pose = replay.poses[d["step"]][d["agent"]]
            verdict(view.draw, *view.xy(pose.x, pose.z), d["right"], 24)
        for k, pose in enumerate(replay.poses[step]):
            color = agent_color(k) if replay.alive[step][k] else QUIET
            view.robot(pose.x, pose.z, pose.heading, color, f"R{k}")
        return self.album.drawing(view.image)

    def shown(self, part: Mapping[str, Any], where: str) -> dict[str, Any]:
        """A picture that a VLM was shown, made again from its reference: its number (None where only the
        method could draw it), and a note about what differs from what was sent.

        Raises:
            RecordError: it refers to a robot, step or goal that the episode has not.
        """
        ref, size = part["image"], part.get("size")

        def view(robot: int, step: int) -> np.ndarray:
            if robot >= len(self.replay.poses[0]) or step > self.replay.steps:
                raise RecordError(f"{where}: {ref!r}: the episode has no such robot or step")
            return self._frame(robot, step)

        def photo(goal: int) -> np.ndarray:
            goals = self.replay.episode.goals
            image = goals[goal].image if goal < len(goals) else None
            if image is None:
                raise RecordError(f"{where}: {ref!r}: the episode has no such image goal")
            pose, camera = photo_camera(image, self._photo_side or (size[1] if size else self.camera.height))
            pixels = self.replay.sim.render([pose], camera)[0].rgb
            assert pixels is not None
            return pixels

        try:
            pixels = compose(ref, view, photo).pixels
        except RecordError:
            raise
        except (ValueError, OverflowError):  # a reference of another form, or a box that is none
            return {"ref": ref, "image": None, "note": "drawn by the method; a record cannot bring it back"}
        note = ""
        if size and (size[0], size[1]) != (pixels.shape[1], pixels.shape[0]):
            note = f"it was sent with {size[0]} x {size[1]} pixels"
        elif "sha256" in part:
            same = sha256(np.ascontiguousarray(pixels).tobytes())[:16] == part["sha256"]
            again = "made again from rounded poses, not the very pixels"
            note = "the very pixels that were sent" if same else again
        return {"ref": ref, "image": self.album.photo(pixels, PICTURE_SIDE), "note": note}


def record_camera(record: EpisodeRecord) -> Camera:
    """The camera of a record at its full size.

    Raises:
        RecordError: it is none, or has a side of more than `LARGEST` pixels.
    """
    small = map_camera(record.camera)
    width, height = (int(v) for v in record.camera.split("@")[0].split("x"))
    if max(width, height) > LARGEST:
        raise RecordError(f"camera: {record.camera!r} has more than {LARGEST} pixels a side")
    return replace(small, width=width, height=height)


def _images(story: Story) -> list[Mapping[str, Any]]:
    parts = [part for call in story.calls for message in call["said"] for part in message["parts"]]
    return [part for part in parts if not isinstance(part, int)]


def _alone(part: Mapping[str, Any]) -> bool:
    """Whether it is nothing but a goal's photo, whose size is known."""
    return "size" in part and part["image"].startswith("goal ") and "|" not in part["image"]


def _is_place(value: Any) -> TypeGuard[list[float]]:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e5 for v in value)
    )
