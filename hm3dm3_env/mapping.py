"""The team's shared occupancy map: every agent's posed depth folded into one grid of 5 cm cells."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from hm3dm3_env.geometry import Pose, rotation_matrix
from hm3dm3_env.sim.base import Frame

UNKNOWN, FREE, OCCUPIED = 0, 1, 2


@dataclass(frozen=True)
class MapConfig:
    """Sizes of the shared map."""

    cell: float = 0.05
    """Side of a cell, metres (VLFM, and the benchmark)."""
    size: float = 64.0
    """Side of the map, metres, centred on the team's starts (ours)."""
    obstacle_low: float = 0.2
    """Points this high above the floor or higher are obstacles, metres (ours)."""
    obstacle_high: float = 1.5
    """Points higher than this are overhead and block nobody, metres (ours)."""
    stride: int = 160
    """At most this many image rows and columns are used; larger frames are subsampled (ours: at 5 m, 160 rays
    over 42 degrees are 2.4 cm apart, half a cell)."""

    def __post_init__(self) -> None:
        if not 0 < self.cell <= self.size or self.stride < 1 or self.obstacle_low >= self.obstacle_high:
            raise ValueError("map: needs 0 < cell <= size, stride >= 1 and obstacle_low < obstacle_high")


class SharedMap:
    """Unknown, free and occupied cells of one floor.

    Attributes:
        cells: (N, N) uint8; rows along z, columns along x.
        origin: (x, z) world position of the low corner of cell (0, 0), metres.
        floor: height of the floor, metres.
        box: [row0, row1, column0, column1] bounds of everything known, half open.
    """

    def __init__(self, config: MapConfig, center: np.ndarray, floor: float) -> None:
        self.config = config
        self.cell = config.cell
        count = int(round(config.size / config.cell))
        self.cells = np.zeros((count, count), np.uint8)
        self.origin = (
            np.floor(np.array([center[0], center[2]]) / config.cell) * config.cell - count // 2 * config.cell
        )
        self.floor = floor
        self.box = np.array([count, 0, count, 0], np.int64)

    def update(self, frame: Frame) -> None:
        """Fold one frame in: cells of obstacle points, and free space along the depth rays up to them."""
        depth, camera = frame.depth, frame.camera
        step = [-(-size // self.config.stride) for size in depth.shape]
        _fold(depth, step[0], step[1], camera.focal, rotation_matrix(frame.pose.heading, frame.pose.pitch),
              camera.eye(frame.pose), self.floor, self.config.obstacle_low, self.config.obstacle_high,
              self.cells, self.origin, self.cell, self.box)

    def mark_free(self, position: np.ndarray, radius: float) -> None:
        """Where an agent stands is free: a disc around `position`, where still unknown."""
        row, column = self.to_cell(position)
        _mark_free(self.cells, row, column, radius / self.cell, self.box)

    def mark_occupied(self, position: np.ndarray) -> None:
        """A bump: the cell at `position` blocks, whatever the depth said."""
        row, column = self.to_cell(position)
        self.cells[row, column] = OCCUPIED
        low, high = self.box[::2], self.box[1::2]
        low[:], high[:] = np.minimum(low, (row, column)), np.maximum(high, (row + 1, column + 1))

    def to_cell(self, points: np.ndarray) -> np.ndarray:
        """(..., 2) int64 rows and columns of (..., 3) world points, clipped to the map."""
        points = np.asarray(points, float)
        cells = (points[..., ::-2] - self.origin[::-1]) / self.cell
        return np.floor(cells).clip(0, len(self.cells) - 1).astype(np.int64)

    def to_world(self, cells: np.ndarray) -> np.ndarray:
        """(..., 3) world positions of the centres of (..., 2) cells, on the floor."""
        cells = np.asarray(cells, float)
        return np.stack(
            [
                self.origin[0] + (cells[..., 1] + 0.5) * self.cell,
                np.full(cells.shape[:-1], self.floor),
                self.origin[1] + (cells[..., 0] + 0.5) * self.cell,
            ],
            -1,
        )

    def window(self, margin: float = 1.0) -> tuple[slice, slice]:
        """Rows and columns of the known part with a margin in metres: policies need not look at the rest."""
        pad, count = int(np.ceil(margin / self.cell)), len(self.cells)
        r0, r1, c0, c1 = (int(v) for v in self.box)
        return slice(max(r0 - pad, 0), min(r1 + pad, count)), slice(max(c0 - pad, 0), min(c1 + pad, count))

    def crop(self, pose: Pose, size: int, cell: float) -> np.ndarray:
        """(size, size, 3) uint8 egocentric crop, the agent in the middle looking up: free, occupied,
        unknown (255 or 0)."""
        out = np.zeros((size, size, 3), np.uint8)
        _crop(self.cells, self.origin, self.cell, pose.x, pose.z, pose.heading, cell, out)
        return out

    def explored_area(self) -> float:
        """Known floor area, square metres."""
        rows, columns = self.window(0.0)
        return float(np.count_nonzero(self.cells[rows, columns])) * self.cell**2


@numba.njit(cache=True, nogil=True)
def _mark_free(cells, row, column, reach, box):
    whole = int(np.ceil(reach))
    for r in range(max(row - whole, 0), min(row + whole + 1, cells.shape[0])):
        for c in range(max(column - whole, 0), min(column + whole + 1, cells.shape[1])):
            if np.hypot(r - row, c - column) <= reach:
                if cells[r, c] == 0:
                    cells[r, c] = 1
                box[0], box[1] = min(box[0], r), max(box[1], r + 1)
                box[2], box[3] = min(box[2], c), max(box[3], c + 1)


@numba.njit(cache=True, nogil=True)
def _azimuth(x, z):
    """atan2(x, z) to 1.2e-5 rad, by an odd polynomial of degree 9: the exact one is half of a fold."""
    ax, az = abs(x), abs(z)
    if ax == 0 and az == 0:
        return 0.0
    q = min(ax, az) / max(ax, az)
    s = q * q
    angle = q * (0.99986633 + s * (-0.33030478 + s * (0.18015921 + s * (-0.08515618 + s * 0.02084502))))
    if ax > az:
        angle = np.pi / 2 - angle
    if z < 0:
        angle = np.pi - angle
    return angle if x >= 0 else -angle


@numba.njit(cache=True, nogil=True)
def _fold(depth, step_r, step_c, focal, rotation, eye, floor, low, high, cells, origin, cell, box):
    height, width = depth.shape
    count = cells.shape[0]
    pixel = 1 / focal
    bins, bins_a_radian = 360, 360 / (2 * np.pi)
    scale, origin_x, origin_z = 1 / cell, (eye[0] - origin[0]) / cell, (eye[2] - origin[1]) / cell
    near, far = np.full(bins, np.inf), np.zeros(bins)
    r0, r1, c0, c1 = box[0], box[1], box[2], box[3]
    for v in range(step_r // 2, height, step_r):
        for u in range(step_c // 2, width, step_c):
            d = depth[v, u]
            if d <= 0:
                continue
            x, y = (u + 0.5 - width / 2) * pixel * d, (height / 2 - v - 0.5) * pixel * d
            px = rotation[0, 0] * x + rotation[0, 1] * y - rotation[0, 2] * d
            py = rotation[1, 0] * x + rotation[1, 1] * y - rotation[1, 2] * d + eye[1] - floor
            pz = rotation[2, 0] * x + rotation[2, 1] * y - rotation[2, 2] * d
            reach = np.sqrt(px * px + pz * pz)
            b = int((_azimuth(px, pz) + np.pi) * bins_a_radian) % bins
            if py > high:  # overhead: the ray was below `high` only at first
                top = eye[1] - floor
                if py > top:
                    far[b] = max(far[b], reach * (high - top) / (py - top))
                continue
            row, column = int(origin_z + pz * scale), int(origin_x + px * scale)
            if row < 0 or column < 0 or row >= count or column >= count:
                continue
            r0, r1, c0, c1 = min(r0, row), max(r1, row + 1), min(c0, column), max(c1, column + 1)
            if py >= low:
                cells[row, column] = 2
                near[b] = min(near[b], reach)
            else:
                far[b] = max(far[b], reach)
                if cells[row, column] == 0:
                    cells[row, column] = 1
    for b in range(bins):
        limit = min(near[b] - cell, far[b]) if near[b] < np.inf else far[b]
        for part in range(2):  # two rays a degree leave no gap of a cell at 5 m
            angle = (b + 0.25 + 0.5 * part) / bins * 2 * np.pi - np.pi
            dx, dz = np.sin(angle), np.cos(angle)
            reach = 0.0
            while reach < limit:
                row, column = int(origin_z + dz * reach * scale), int(origin_x + dx * reach * scale)
                if 0 <= row < count and 0 <= column < count and cells[row, column] == 0:
                    cells[row, column] = 1
                    r0, r1, c0, c1 = min(r0, row), max(r1, row + 1), min(c0, column), max(c1, column + 1)
                reach += cell / 2
    box[0], box[1], box[2], box[3] = r0, r1, c0, c1


@numba.njit(cache=True, nogil=True)
def _crop(cells, origin, cell, x, z, heading, size, out):
    n, count, parts = out.shape[0], cells.shape[0], int(np.ceil(size / cell))
    sh, ch = np.sin(heading), np.cos(heading)
    state = np.zeros((n, n), np.uint8)  # the largest in each pixel: one sample would lose walls a cell thick
    step, middle = size / parts / cell, n * parts / 2 - 0.5
    row0, column0 = (z - origin[1]) / cell, (x - origin[0]) / cell
    for i in range(n * parts):
        ahead = (middle - i) * step
        for j in range(n * parts):
            right = (j - middle) * step
            r, c = row0 - ch * ahead - sh * right, column0 - sh * ahead + ch * right
            if 0 <= r < count and 0 <= c < count:
                state[i // parts, j // parts] = max(state[i // parts, j // parts], cells[int(r), int(c)])
    for i in range(n):
        for j in range(n):
            out[i, j, 2 if state[i, j] == 0 else state[i, j] - 1] = 255
