"""What a simulator is: frames from poses, and a navigator for the body. Nothing above knows which it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import radians, tan
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hm3dm3_env.geometry import Pose, forward, rotation_matrix, wrap

if TYPE_CHECKING:  # a simulator's own interpreter (sim/worker.py) imports this file with numpy only
    from hm3dm3_env.scenes.hm3dsem import SceneData


MIN_FLOOR_AREA = 4.0
"""Smallest walkable area that counts as a floor, square metres (ours)."""
FLOOR_SPAN = 0.30
"""Surfaces within this of a floor's height belong to it, metres (ours; HM3D-OVON allows paths 0.25)."""
FLOOR_GAP = 1.5
"""Two floors are at least this far apart, metres: below it, it's a table or a platform (ours)."""


def floor_levels(levels: np.ndarray, areas: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """The largest levels of (N,) surface heights and areas, FLOOR_GAP or more apart, lowest first: the height
    of each, and (N,) bool which surfaces made it."""
    left = np.ones(len(levels), bool)
    chosen: list[tuple[float, np.ndarray]] = []
    while left.any():
        low = levels[left].min()
        sizes = np.bincount(((levels[left] - low) / 0.05).astype(int), areas[left])
        near = left & (np.abs(levels - (low + (sizes.argmax() + 0.5) * 0.05)) <= FLOOR_SPAN)
        if areas[near].sum() < MIN_FLOOR_AREA:
            break
        order = np.argsort(levels[near], kind="stable")
        total = np.cumsum(areas[near][order])
        height = float(levels[near][order][np.searchsorted(total, total[-1] / 2)])
        if all(abs(height - other) >= FLOOR_GAP for other, _ in chosen):
            chosen.append((height, near))
        left &= ~near
    return sorted(chosen, key=lambda level: level[0])


@dataclass(frozen=True)
class Body:
    """The robot's body (HelloRobot Stretch as in HM3D-OVON and GOAT-Bench) and how it moves."""

    radius: float = 0.17
    """Metres."""
    height: float = 1.41
    """Metres."""
    max_climb: float = 0.10
    """Highest step between neighbouring cells, metres (HM3D-OVON recomputes its navmesh with this)."""
    max_slope_deg: float = 45.0
    """Steepest walkable surface (habitat-sim's default)."""
    cell_size: float = 0.05
    """Side of a cell of the walkable grid, metres (habitat-sim's default)."""
    cell_height: float = 0.05
    """Height of a voxel, metres (HM3D-OVON)."""
    forward_step: float = 0.25
    """Metres a move_forward covers when nothing blocks."""
    turn_deg: float = 30.0
    """Degrees of a turn or a look."""
    max_pitch_deg: float = 60.0
    """Pitch is clipped to plus and minus this (ours)."""
    allow_sliding: bool = False
    """Slide along obstacles instead of stopping (HM3D-OVON evaluates without)."""

    narrow_passages: str = "joining"
    """embedded: what is done about passages that the body fits through and Recast closes, since it rounds the
    radius up to whole cells (below 0.45 m at 5 cm): "joining" opens those that join parts which are separate
    otherwise, "all" opens shortcuts too, "none" is Recast (ours; habitat-sim is always "none")."""

    def __post_init__(self) -> None:
        sizes = (self.radius, self.height, self.cell_size, self.cell_height, self.forward_step, self.turn_deg)
        if min(sizes) <= 0 or self.max_climb < 0:
            raise ValueError("body: sizes and steps must be positive, and max_climb not negative")
        if self.narrow_passages not in ("joining", "all", "none"):
            raise ValueError(
                f"body.narrow_passages: {self.narrow_passages!r} is none of joining, all, none"
            )


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: pixels, horizontal field of view, height above the agent's floor, and depth limits.

    Depth is planar (along the optical axis), metres, 0 where nothing is hit between the two limits.
    """

    width: int = 360
    height: int = 640
    hfov_deg: float = 42.0
    """Horizontal field of view, degrees; pixels are square."""
    sensor_height: float = 1.31
    """Metres above the floor."""
    min_depth: float = 0.5
    """Nearer than this nothing has depth, metres."""
    max_depth: float = 5.0
    """Farther than this nothing has depth, metres."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"camera size must be positive, not {self.width} x {self.height} pixels")
        if not 0 < self.hfov_deg < 180:
            raise ValueError(f"camera.hfov_deg must be between 0 and 180 degrees, not {self.hfov_deg}")
        if not 0 <= self.min_depth < self.max_depth:
            limits = f"{self.min_depth} and {self.max_depth}"
            raise ValueError(f"camera needs 0 <= min_depth < max_depth, not {limits}")

    @property
    def tan_half(self) -> float:
        """Tangent of half the horizontal field of view."""
        return tan(radians(self.hfov_deg) / 2)

    @property
    def focal(self) -> float:
        """Focal length in pixels (square pixels)."""
        return self.width / (2 * self.tan_half)

    def rays(self) -> np.ndarray:
        """(H, W, 3) float32 directions in the camera's frame, with z = -1, so that depth is planar."""
        x = (np.arange(self.width) + 0.5 - self.width / 2) / self.focal
        y = (self.height / 2 - np.arange(self.height) - 0.5) / self.focal
        grid = np.empty((self.height, self.width, 3), np.float32)
        grid[..., 0], grid[..., 1], grid[..., 2] = x[None, :], y[:, None], -1.0
        return grid

    def eye(self, pose: Pose) -> np.ndarray:
        """(3,) world position of the camera of an agent at `pose`."""
        return pose.position + np.array([0.0, self.sensor_height, 0.0])


@dataclass
class Frame:
    """What one camera saw: `depth` (H, W) float32 metres; `rgb` (H, W, 3) uint8 and `semantic` (H, W) int32
    object ids (0: nothing) where they were asked for; with the pose and the camera that made it."""

    pose: Pose
    camera: Camera
    depth: np.ndarray
    rgb: np.ndarray | None = None
    semantic: np.ndarray | None = None

    def points(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """(N, 3) world points of the given pixels, by their depth."""
        camera, depth = self.camera, self.depth[rows, columns].astype(float)
        x = (columns + 0.5 - camera.width / 2) / camera.focal * depth
        y = (camera.height / 2 - rows - 0.5) / camera.focal * depth
        local = np.stack([x, y, -depth], -1)
        return local @ rotation_matrix(self.pose.heading, self.pose.pitch).T + camera.eye(self.pose)


def frames_of(
    poses: Sequence[Pose],
    camera: Camera,
    depth: np.ndarray,
    rgb: np.ndarray | None = None,
    semantic: np.ndarray | None = None,
) -> list[Frame]:
    """The frames of K poses from arrays whose first axis is K."""
    return [
        Frame(
            pose,
            camera,
            depth[k],
            None if rgb is None else rgb[k],
            None if semantic is None else semantic[k],
        )
        for k, pose in enumerate(poses)
    ]


STEPS = ("move_forward", "turn_left", "turn_right", "look_up", "look_down", "wait")
"""What a body can do."""


def after(
    pose: Pose, action: str, body: Body, move: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Pose:
    """The pose after one of `STEPS`; `move(start, delta)` says where a step by `delta` (3,) really ends.

    Raises:
        ValueError: an action that is none of the body's.
    """
    turn, limit = radians(body.turn_deg), radians(body.max_pitch_deg)
    if action == "move_forward":
        return pose.moved(move(pose.position, forward(pose.heading) * body.forward_step))
    if action in ("turn_left", "turn_right"):
        heading = wrap(pose.heading + (turn if action == "turn_left" else -turn))
        return Pose(pose.x, pose.y, pose.z, heading, pose.pitch)
    if action in ("look_up", "look_down"):
        pitch = pose.pitch + (turn if action == "look_up" else -turn)
        return Pose(pose.x, pose.y, pose.z, pose.heading, min(max(pitch, -limit), limit))
    if action == "wait":
        return pose
    raise ValueError(f"unknown action {action!r}: one of {STEPS}")


class Navigator(Protocol):
    """Where the body can stand and go. Points are (3,) world positions on the floor; distances in metres."""

    floors: list[float]
    """Height of each floor, metres, lowest first."""

    def snap(self, point: np.ndarray, radius: float = 0.5) -> np.ndarray | None:
        """The nearest standable point within `radius` of `point` in the plane, or None."""

    def is_navigable(self, point: np.ndarray) -> bool:
        """Whether the body can stand at `point` (height within half a metre of the floor there)."""

    def floor_of(self, point: np.ndarray) -> int:
        """Index of the floor at `point`, or -1."""

    def island(self, point: np.ndarray) -> int:
        """The connected piece that `point` stands on (0: none)."""

    def island_radius(self, point: np.ndarray) -> float:
        """Half the diagonal of the bounding rectangle of that piece, metres (habitat-sim's), 0 off it."""

    def random_point(self, rng: np.random.Generator, floor: int) -> np.ndarray:
        """A standable point drawn uniformly over a floor's area."""

    def step(self, pose: Pose, action: str) -> Pose:
        """The pose after move_forward, turn_left, turn_right, look_up, look_down or wait."""

    def distance(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(P,) geodesic distance from each of (P, 3) points to the nearest of (T, 3) targets; inf if none."""

    def path(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N, 3) shortest path from `start` to the nearest target, both ends included; N = 0 if none."""


class SimulatorDied(RuntimeError):
    """A simulator's process ended, aborted or hung. The message carries its last lines; `load` starts a new
    one."""


class Simulator(Protocol):
    """One scene at a time: rendering for all agents in one call, and its navigator."""

    @property
    def scene(self) -> SceneData:
        """The current scene."""

    @property
    def navigator(self) -> Navigator:
        """Of the current scene."""

    def load(self, folder: Path) -> None:
        """Make the scene in `folder` the current one."""

    def render(
        self, poses: Sequence[Pose], camera: Camera, rgb: bool = True, semantic: bool = False
    ) -> list[Frame]:
        """One frame a pose. Depth always; colour and semantics as asked."""

    def close(self) -> None:
        """Let go of everything; may be called twice."""
