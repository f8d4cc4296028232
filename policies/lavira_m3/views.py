"""What a robot looks at when it decides: its front view, or the four views of a turn-around."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees

import numpy as np

from hm3dm3_env.geometry import rotation_matrix, wrap
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.vlm.pictures import Picture, compose

NAMES = ("front", "left", "behind", "right")
"""Of the views of a turn-around to the left, a quarter turn apart (LaViRA: forward, left, behind, right)."""
SLACK = 0.5
"""What is seen behind a place by more than this hides nothing of it, metres (ours)."""

BEYOND = 1.0
"""Metres: a place so far out of the camera's range may still be told to be in a view (ours)."""


@dataclass(frozen=True)
class View:
    """A frame that a robot took, and what it is called in a prompt."""

    name: str
    robot: int
    step: int
    frame: Frame

    @property
    def ref(self) -> str:
        """The picture's reference."""
        return f"robot_{self.robot} step {self.step}"

    def picture(self) -> Picture:
        """The view as it is."""
        return Picture(pixels_of(self.frame), self.ref)

    def boxed(self, box: tuple[int, int, int, int], photo: np.ndarray | None, goal: int) -> Picture:
        """The view with a frame around pixels (left, top, right, bottom); a goal's photo stands to the left
        of it."""
        beside = "" if photo is None else f"goal {goal} | "
        ref = f"{beside}{self.ref} box {' '.join(map(str, box))}"
        return compose(ref, lambda *_: pixels_of(self.frame), lambda _: np.asarray(photo))

    def where(self) -> str:
        """ "from x 1.20, z -3.41, heading 90.0"; metres and degrees, which grow to the left from -z."""
        pose = self.frame.pose
        return f"from x {pose.x:.2f}, z {pose.z:.2f}, heading {degrees(wrap(pose.heading)):.1f}"


def pixels_of(frame: Frame) -> np.ndarray:
    """(H, W, 3) uint8 colours of a frame."""
    assert frame.rgb is not None, "LaViRA-M3 needs colour frames"
    return frame.rgb


def optics(camera: Camera) -> str:
    """The camera in words."""
    return (
        f"{camera.width} x {camera.height} pixels, {camera.hfov_deg:g} degrees wide, "
        f"camera {camera.sensor_height:g} m above the floor"
    )


def visible(view: View, points: np.ndarray) -> list[tuple[int, float, float]]:
    """Which of (P, 3) places a view shows, as far as its depth tells: (number, how far from the left edge in
    0..1 of the width, metres in the plane), nearest first. What is `BEYOND` the camera's range is not
    told."""
    camera, pose, depth = view.frame.camera, view.frame.pose, view.frame.depth
    local = (np.asarray(points, float).reshape(-1, 3) - camera.eye(pose)) @ rotation_matrix(
        pose.heading, pose.pitch
    )
    away = -local[:, 2]
    ahead = np.flatnonzero((away > 0.1) & (away < camera.max_depth + BEYOND))
    across = camera.width / 2 + local[ahead, 0] / away[ahead] * camera.focal
    inside = (across >= 0) & (across < camera.width)
    ahead, across = ahead[inside], across[inside]
    down = camera.height / 2 - local[ahead, 1] / away[ahead] * camera.focal
    deep = depth[np.clip(down, 0, camera.height - 1).astype(int), across.astype(int)]
    near = away[ahead] - SLACK
    far = near > camera.max_depth - 2 * SLACK  # nearer floor has depth: where there is none, it is hidden
    seen = (deep >= near) | ((deep == 0) & far)
    gaps = np.hypot(local[ahead, 0], away[ahead])[seen]
    order = np.argsort(gaps, kind="stable")
    shares = across[seen] / camera.width
    return [(int(ahead[seen][i]), float(shares[i]), float(gaps[i])) for i in order]
