"""What the simulated model reads in a request, and sees where its pictures were taken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians
from typing import Any

import numpy as np

from hm3dm3_env.geometry import Pose, forward
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.vlm.simulated import Heard, texts
from policies.lavira_m3.language import ACTIONS
from policies.lavira_m3.robot import gap
from policies.visible import pixel_counts, surface_point

SHARE = 0.002
"""Things that fill less of a view are not noticed (ours)."""
DOORS = ("door", "doorway", "door frame")
NUMBER = r"(-?\d+(?:\.\d+)?)"
PLACE = rf"x {NUMBER}, z {NUMBER}"


@dataclass(frozen=True)
class Thing:
    """What a view shows: where in it (share of the width), metres off, and (3,) place of its surface."""

    item: Instance
    share: float
    metres: float
    point: np.ndarray


@dataclass(frozen=True)
class Seen:
    """A view of a request: its name, what is told of unexplored places in it, and what it really shows."""

    name: str
    frame: Frame
    ends: list[tuple[float, float]]


def truth_of(heard: Heard) -> Privileged:
    """The truth of the episode.

    Raises:
        ValueError: there is none.
    """
    if heard.truth is None:
        raise ValueError("the simulated model needs the episode's truth")
    return heard.truth


def user_text(heard: Heard) -> str:
    """The text of a request without the instructions."""
    first = [said for said in heard.request["messages"] if said.get("role") == "user"][:1]
    return "\n".join(texts({"messages": first}))


def allowed(heard: Heard) -> Sequence[str]:
    """What the schema of a request allows; all, where it came without one."""
    wanted: Mapping[str, Any] = heard.request.get("response_format") or {}
    schema = wanted.get("json_schema", {}).get("schema", {})
    return schema.get("properties", {}).get("action", {}).get("enum", ACTIONS)


def views_of(truth: Privileged, text: str) -> list[Seen]:
    """The views that a text tells of, looked at again.

    Raises:
        ValueError: the camera or the views are not described.
    """
    optics = re.search(rf"(\d+) x (\d+) pixels, {NUMBER} degrees wide, camera {NUMBER} m above", text)
    if optics is None:
        raise ValueError("the camera is not described")
    camera = Camera(int(optics[1]), int(optics[2]), float(optics[3]), float(optics[4]))
    found = re.findall(rf"(?:View (\w+), )?from {PLACE}, heading {NUMBER}(.*)$", text, re.MULTILINE)
    if not found:
        raise ValueError("no view says where it was taken from")
    floor = truth.episode.floor_height
    poses = [Pose(float(x), floor, float(z), radians(float(turn))) for _, x, z, turn, _ in found]
    frames = truth.sim.render(poses, camera, rgb=False, semantic=True)
    seen = []
    for (name, *_, rest), frame in zip(found, frames):
        ends = re.findall(rf"{NUMBER} m off at (\d+)% of the width", rest)
        seen.append(Seen(name, frame, [(int(share) / 100, float(metres)) for metres, share in ends]))
    return seen


def things_in(truth: Privileged, frame: Frame) -> list[Thing]:
    """What a frame shows, walls and floors apart; doors are in it."""
    instances = truth.sim.scene.instances
    labels = frame.semantic
    assert labels is not None
    counts = pixel_counts(frame.depth, labels, 1, max(instances, default=0) + 1)[0]
    found = []
    for number in np.flatnonzero(counts >= SHARE * labels.size):
        item = instances.get(int(number))
        if item is None or (item.structure and item.category not in DOORS):
            continue
        mask = (labels == number) & (frame.depth > 0)
        point = surface_point(frame, mask)
        share = (float(np.median(np.nonzero(mask)[1])) + 0.5) / frame.camera.width
        found.append(Thing(item, share, gap(point, frame.pose.position), point))
    return found


def along(frame: Frame, share: float, metres: float) -> np.ndarray:
    """(3,) the place on the floor so far from the left edge of a view, and so many metres off."""
    camera, pose = frame.camera, frame.pose
    angle = np.arctan((0.5 - share) * 2 * camera.tan_half)
    return pose.position + metres * forward(pose.heading + float(angle))


def outside(item: Instance, point: np.ndarray) -> float:
    """Metres from a place to a thing's box, in the plane."""
    beyond = np.maximum(np.maximum(item.low - point, point - item.high), 0)
    return float(np.hypot(beyond[0], beyond[2]))
