"""What a learned body sees of the team's map: egocentric crops, the robot in the middle looking up.

Two windows show the same channels: a near one for walking, a far one for choosing where to search. The trail
is the body's memory: where it was, fading with age.

Shapes: K robots, C = len(CHANNELS), S = `Window.side`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numba
import numpy as np

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED
from policies.heatmaps.maps import HeatMaps
from policies.planner import Field, MapPlanner

CHANNELS = ("free", "occupied", "heat", "trail", "teammates", "frontiers", "way")
"""What a crop shows. Way: how near the next frontier is on foot over known floor, exp(-metres / `reach`)."""
_TRAIL_CELL = 0.25
"""Side of a cell of the trails, metres (ours)."""


@dataclass(frozen=True)
class Window:
    """A square crop."""

    side: int
    """Cells."""
    cell: float
    """Metres a cell."""


@dataclass(frozen=True)
class SurroundingsConfig:
    """Sizes of the crops (ours)."""

    near: Window = field(default_factory=lambda: Window(32, 0.2))
    """6.4 m: a room."""
    far: Window = field(default_factory=lambda: Window(32, 0.75))
    """24 m: a floor. What lies beyond is drawn on the edge."""
    fade: float = 60.0
    """Steps after which a trail is 1/e as bright."""
    reach: float = 6.0
    """Metres after which the way is 1/e as bright."""


class Surroundings:
    """Trails of one episode, and crops around its robots."""

    def __init__(self, config: SurroundingsConfig, planner: MapPlanner, agents: int) -> None:
        self.config, self.map = config, planner.map
        self.block = planner.map.cell * planner.config.coarsen
        shared_map = planner.map
        count = int(np.ceil(shared_map.config.size / _TRAIL_CELL))
        self._visited = np.full((agents, count, count), -1, np.int32)
        self._step = 0

    def update(self, poses: list[Pose], step: int) -> None:
        """Remember where the robots are at a step."""
        self._step = step
        for k, pose in enumerate(poses):
            row, column = (int(v) for v in (np.array([pose.z, pose.x]) - self.map.origin[::-1]) / _TRAIL_CELL)
            if 0 <= row < self._visited.shape[1] and 0 <= column < self._visited.shape[2]:
                self._visited[k, row, column] = step

    def crops(
        self,
        agent: int,
        poses: list[Pose],
        frontiers: np.ndarray,
        way: Field,
        heat: HeatMaps | None,
        goal: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The near and the far crop of a robot, each (C, S, S) uint8.

        Args:
            frontiers: (F, 3) places.
            way: distances to the nearest of them (`MapPlanner.field_to`).
            heat, goal: whose heat is shown, in standard deviations above the mean of what was looked at; the
                channel is 0 where nobody looked, and everywhere without a heat map or a goal.
        """
        if heat is None or goal is None:
            value, sure, mean, spread = _NOTHING, _NOTHING, 0.0, 1.0
            corner, cell = self.map.origin, 1.0
        else:
            value, sure = heat.value[goal], heat.confidence
            corner, cell = heat.origin, heat.config.cell
            mean, spread = _moments(value, sure)
        pose = poses[agent]
        mates = np.array([[p.x, p.z] for k, p in enumerate(poses) if k != agent]).reshape(-1, 2)
        edges = np.ascontiguousarray(frontiers[:, ::2]).reshape(-1, 2)
        low = self.map.to_world(way.corner)[::2] - self.map.cell / 2
        out = []
        for window in (self.config.near, self.config.far):
            crop = np.zeros((len(CHANNELS), window.side, window.side), np.uint8)
            samples = max(int(round(window.cell / 0.1)), 2)
            _crop(self.map.cells, self.map.origin, self.map.cell, value, sure, corner, cell, mean, spread,
                  self._visited[agent], _TRAIL_CELL, self._step, self.config.fade, way.distance, low,
                  self.block, self.config.reach, pose.x, pose.z, pose.heading, window.cell, min(samples, 4),
                  mates, edges, crop)  # fmt: skip
            out.append(crop)
        return out[0], out[1]


_NOTHING = np.zeros((1, 1), np.float32)


@numba.njit(cache=True, nogil=True)
def _moments(value, sure):
    """Mean and standard deviation of the heat where somebody looked."""
    count, total, squares = 0, 0.0, 0.0
    for r in range(value.shape[0]):
        for c in range(value.shape[1]):
            if sure[r, c] > 0:
                count += 1
                total += value[r, c]
                squares += value[r, c] * value[r, c]
    if count == 0:
        return 0.0, 1.0
    mean = total / count
    return mean, max(np.sqrt(max(squares / count - mean * mean, 0.0)), 0.02)


@numba.njit(cache=True, nogil=True)
def _crop(cells, origin, cell, value, sure, corner, heat_cell, mean, spread, visited, trail_cell, step, fade,
          way, low, block, reach, x, z, heading, size, samples, mates, edges, out):  # fmt: skip
    side = out.shape[1]
    ax, az = -np.sin(heading), -np.cos(heading)  # ahead
    rx, rz = np.cos(heading), -np.sin(heading)  # to the right
    for i in range(side):
        for j in range(side):
            free, occupied = 0, 0
            for u in range(samples):
                ahead = (side / 2 - i - (u + 0.5) / samples) * size
                for v in range(samples):
                    right = (j + (v + 0.5) / samples - side / 2) * size
                    row = int((z + ahead * az + right * rz - origin[1]) / cell)
                    column = int((x + ahead * ax + right * rx - origin[0]) / cell)
                    if 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]:
                        free += cells[row, column] == FREE
                        occupied += cells[row, column] == OCCUPIED
            total = samples * samples
            out[0, i, j] = 255 * free // total
            out[1, i, j] = min(255 * occupied * 3 // total, 255)
            ahead, right = (side / 2 - i - 0.5) * size, (j + 0.5 - side / 2) * size
            px, pz = x + ahead * ax + right * rx, z + ahead * az + right * rz
            row, column = int((pz - corner[1]) / heat_cell), int((px - corner[0]) / heat_cell)
            if 0 <= row < sure.shape[0] and 0 <= column < sure.shape[1] and sure[row, column] > 0:
                score = 128 + 42 * (value[row, column] - mean) / spread
                out[2, i, j] = int(min(max(score, 1.0), 255.0))
            row, column = int((pz - low[1]) / block), int((px - low[0]) / block)
            if 0 <= row < way.shape[0] and 0 <= column < way.shape[1] and way[row, column] < np.inf:
                out[6, i, j] = int(255 * np.exp(-way[row, column] / reach))
            wide = int(size / trail_cell / 2)
            row, column = int((pz - origin[1]) / trail_cell), int((px - origin[0]) / trail_cell)
            last = -1
            for r in range(max(row - wide, 0), min(row + wide + 1, visited.shape[0])):
                for c in range(max(column - wide, 0), min(column + wide + 1, visited.shape[1])):
                    last = max(last, visited[r, c])
            if last >= 0:
                out[3, i, j] = int(255 * np.exp(-(step - last) / fade))
    _mark(out[4], mates, x, z, ax, az, rx, rz, size)
    _mark(out[5], edges, x, z, ax, az, rx, rz, size)


@numba.njit(cache=True, nogil=True)
def _mark(out, points, x, z, ax, az, rx, rz, size):
    """Draw points; those outside are drawn half as bright on the edge."""
    side = out.shape[0]
    for n in range(len(points)):
        dx, dz = points[n, 0] - x, points[n, 1] - z
        i = int(np.floor(side / 2 - (dx * ax + dz * az) / size))
        j = int(np.floor(side / 2 + (dx * rx + dz * rz) / size))
        inside = 0 <= i < side and 0 <= j < side
        i, j = min(max(i, 0), side - 1), min(max(j, 0), side - 1)
        out[i, j] = max(out[i, j], 255 if inside else 128)
