"""Heat maps: an encoder's similarities projected on the floor with the depth, and fused over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.sim.base import Frame
from policies.heatmaps.base import Similarity


@dataclass(frozen=True)
class HeatConfig:
    """How similarities become maps. The cone and the fusion are VLFM's, the grid is ours."""

    cell: float = 0.25
    """Side of a heat cell, metres."""
    strips: int = 6
    """Vertical strips a frame is cut into; each gets a similarity of its own."""
    cone_floor: float = 0.25
    """Confidence at the edge of the view; it is cos**2 towards 1 in the middle (VLFM)."""
    decay: float = 0.998
    """What is left of every confidence after a step, so that newer looks weigh more (1: nothing fades). A
    house does not change, so an old look is not wrong, only made from elsewhere: at 0.998 it weighs half
    after 346 steps, and 37% at the end of a robot's 500 actions (ours)."""

    def __post_init__(self) -> None:
        if self.cell <= 0 or self.strips < 1:
            raise ValueError(
                f"heat: cell must be positive and strips at least 1, not {self.cell} and {self.strips}"
            )
        if not 0 < self.cone_floor <= 1 or not 0 < self.decay <= 1:
            raise ValueError(
                "heat: cone_floor and decay must be more than 0 and at most 1, "
                f"not {self.cone_floor} and {self.decay}"
            )


class HeatMaps:
    """One map a goal over the extent of the shared map.

    Attributes:
        value: (M, n, n) float32 in 0..1; rows along z, columns along x.
        confidence: (n, n) float32 in 0..1, as it was when the cell was last folded into; 0: never looked at.
        touched: (n, n) int32 step at which that was; `faded` is what is left of the confidence now.
        origin: (x, z) of the low corner, metres.
    """

    def __init__(self, config: HeatConfig, shared_map: SharedMap, goals: int) -> None:
        self.config, self.origin = config, shared_map.origin
        count = int(np.ceil(shared_map.config.size / config.cell))
        self.value = np.zeros((goals, count, count), np.float32)
        self.confidence = np.zeros((count, count), np.float32)
        self.touched = np.zeros((count, count), np.int32)
        self._step = 0
        self._looks = 0
        self._look = np.zeros((count, count), np.int32)  # the frame that last reached a cell

    def update(self, frames: Sequence[Frame], encoder: Similarity) -> None:
        """Fold in the new frames of one step, in order; a call is a step, also without frames."""
        self._step += 1
        if not frames:
            return
        heat = encoder.similarity(frames, self.config.strips).astype(np.float32)
        for one, frame in zip(heat, frames):
            self._looks += 1
            eye = frame.camera.eye(frame.pose)
            _project(
                one,
                frame.depth.max(0),
                frame.camera.focal,
                frame.pose.heading,
                frame.pose.pitch,
                eye[0],
                eye[2],
                self.origin,
                self.config.cell,
                self.config.cone_floor,
                self.config.decay,
                self._step,
                self._looks,
                self.value,
                self.confidence,
                self.touched,
                self._look,
            )

    def faded(self) -> np.ndarray:
        """(n, n) float32 confidence of every cell now, which is less by `decay` for each step since it was
        touched."""
        age = (self._step - self.touched).astype(np.float32)
        return self.confidence * np.float32(self.config.decay) ** age

    def cells(self, points: np.ndarray) -> np.ndarray:
        """(..., 2) rows and columns of (..., 3) points, clipped."""
        cells = (
            np.stack([points[..., 2] - self.origin[1], points[..., 0] - self.origin[0]], -1)
            / self.config.cell
        )
        return np.clip(np.floor(cells), 0, self.value.shape[1] - 1).astype(np.int64)

    def near(self, points: np.ndarray, radius: float = 1.0) -> np.ndarray:
        """(M, P) largest heat within `radius` metres (in steps of cells) of (P, 3) points."""
        points = np.asarray(points, float).reshape(-1, 3)
        reach = int(round(radius / self.config.cell))
        out = np.zeros((len(self.value), len(points)), np.float32)
        for p, (row, column) in enumerate(self.cells(points)):
            block = self.value[
                :, max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1
            ]
            out[:, p] = block.reshape(len(self.value), -1).max(1)
        return out

    def median(self, points: np.ndarray, radius: float) -> np.ndarray:
        """(M, P) median of the positive heat within `radius` metres of (P, 3) points; -1 where there is none
        (VLFM's value of a frontier)."""
        points = np.asarray(points, float).reshape(-1, 3)
        reach = int(np.ceil(radius / self.config.cell))
        out = np.full((len(self.value), len(points)), -1.0, np.float32)
        count = self.value.shape[1]
        for p, (row, column) in enumerate(self.cells(points)):
            rows = slice(max(row - reach, 0), min(row + reach + 1, count))
            columns = slice(max(column - reach, 0), min(column + reach + 1, count))
            z = self.origin[1] + (np.arange(count)[rows, None] + 0.5) * self.config.cell
            x = self.origin[0] + (np.arange(count)[columns] + 0.5) * self.config.cell
            disc = np.hypot(z - points[p, 2], x - points[p, 0]) <= radius
            for g, values in enumerate(self.value[:, rows, columns][:, disc]):
                positive = values[values > 0]
                if len(positive):
                    out[g, p] = np.median(positive)
        return out


@numba.njit(cache=True, nogil=True)
def _project(
    heat, far, focal, heading, pitch, x, z, origin, cell, floor, decay, step, look, value, confidence,
    touched, looked
):  # fmt: skip
    """Fold one frame in: rays over the view, the middle one first, so that a cell that several of them cross
    is folded into once, by the surest."""
    width, strips = far.shape[0], heat.shape[1]
    goals, count = value.shape[0], confidence.shape[0]
    half = np.arctan(width / 2 / focal)
    reach_scale = np.cos(pitch)
    rays = max(int(2 * half / np.radians(1.5)), 1)
    for i in range(rays + 1):
        ray = rays // 2 + ((i + 1) // 2 if i % 2 else -(i // 2))
        theta = -half + 2 * half * ray / rays  # positive to the right
        column = min(max(int(width / 2 + np.tan(theta) * focal), 0), width - 1)
        strip = min(column * strips // width, strips - 1)
        limit = far[column] / np.cos(theta) * reach_scale
        cone = np.cos(theta / half * np.pi / 2) ** 2
        sure = floor + (1 - floor) * cone
        angle = heading - theta
        dx, dz = -np.sin(angle), -np.cos(angle)
        distance = 0.0
        while distance < limit:
            row, col = (
                int((z + dz * distance - origin[1]) / cell),
                int((x + dx * distance - origin[0]) / cell),
            )
            distance += cell
            if row < 0 or col < 0 or row >= count or col >= count or looked[row, col] == look:
                continue
            looked[row, col] = look
            old = confidence[row, col]
            age = step - touched[row, col]
            if age > 0:  # fade now what faded since; cells that nobody looks at cost nothing
                old = np.float32(old * decay**age)
            if sure < 0.35 and sure < old:
                continue
            total = old + sure
            for g in range(goals):
                value[g, row, col] = (old * value[g, row, col] + sure * heat[g, strip]) / total
            confidence[row, col] = (old * old + sure * sure) / total
            touched[row, col] = step
