"""The embedded simulator's navigator: a walkable grid computed from the mesh for the body, floor by floor."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import ceil, radians

import numpy as np
from scipy import ndimage

from hm3dm3_env.geometry import Pose, forward, wrap
from hm3dm3_env.sim import fields
from hm3dm3_env.sim.base import FLOOR_GAP, FLOOR_SPAN, MIN_FLOOR_AREA, Body
from hm3dm3_env.sim.passages import open_passages
from hm3dm3_env.sim.voxels import voxelise
from hm3dm3_env.sim.walkable import MIN_ISLAND_AREA, erode, islands, standable, without_ledges

SKIN = 1e-3
"""A blocked move ends this far before the blocked cell, metres; the next one then starts outside (ours)."""
_STEPS = ("move_forward", "turn_left", "turn_right", "look_up", "look_down", "wait")


@dataclass
class Floor:
    """One floor of the grid: `free` where the body's centre may be, `heights` of its surface (metres),
    `islands` labels of connected pieces (0: not free), `nearest` (2, rows, columns) the closest free cell."""

    height: float
    free: np.ndarray
    heights: np.ndarray
    islands: np.ndarray
    nearest: np.ndarray


class GridNavigator:
    """`Navigator` on a grid of `body.cell_size`.

    A cell is free when the body's disc around its centre meets no wall, step or overhang. Distances are
    any-angle, one field per set of targets, and the last fields are kept: one field serves every agent.
    """

    def __init__(self, triangles: np.ndarray, body: Body, cache: int = 256) -> None:
        self.body = body
        voxels = voxelise(triangles, body.cell_size, body.cell_height, body.max_slope_deg)
        self.cell = body.cell_size
        self.origin = voxels.origin
        clearance = ceil(body.height / body.cell_height)
        self.climb = _whole(body.max_climb / body.cell_height)
        stand = standable(voxels.solid, voxels.top, clearance)
        stand = without_ledges(stand, voxels.solid, clearance, self.climb)
        heights = _floor_heights(stand, voxels.top, _covered(voxels.solid), self.cell)
        self.levels = [self._floor(triangles, stand, voxels.top, height) for height in heights]
        self.floors = [level.height for level in self.levels]
        self._cache_size = cache
        self._fields: OrderedDict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = OrderedDict()

    def _floor(self, triangles: np.ndarray, stand: np.ndarray, tops: np.ndarray, height: float) -> Floor:
        gap = np.where(stand, np.abs(tops - height), np.inf)
        best = gap.argmin(2)[..., None]
        heights = np.take_along_axis(tops, best, 2)[..., 0]
        walkable = np.take_along_axis(gap, best, 2)[..., 0] <= FLOOR_SPAN
        heights = np.where(walkable, heights, np.float32(height))
        free = erode(walkable, best[..., 0], self.climb, ceil(self.body.radius / self.cell))
        band = (height + self.body.max_climb, height + self.body.height)
        if self.body.narrow_passages != "none":
            joining = self.body.narrow_passages == "joining"
            radius = self.body.radius
            free = open_passages(free, walkable, triangles, self.origin, self.cell, band, radius, joining)
        free, labels = islands(free, MIN_ISLAND_AREA / self.cell**2)
        nearest = (ndimage.distance_transform_edt(~free, return_distances=False, return_indices=True)
                   if free.any() else np.zeros((2, *free.shape), np.int32))
        return Floor(height, free, heights, labels, nearest)

    # -- cells ---------------------------------------------------------------------------------------------

    def cells(self, points: np.ndarray) -> np.ndarray:
        """(..., 2) int64 rows and columns of (..., 3) points, clipped to the grid."""
        points = np.asarray(points, float)
        shape = self.levels[0].free.shape if self.levels else (1, 1)
        rows = np.floor((points[..., 2] - self.origin[2]) / self.cell)
        columns = np.floor((points[..., 0] - self.origin[0]) / self.cell)
        return np.stack([np.clip(rows, 0, shape[0] - 1), np.clip(columns, 0, shape[1] - 1)], -1).astype(
            np.int64
        )

    def center(self, floor: int, cells: np.ndarray) -> np.ndarray:
        """(..., 3) world positions of the centres of (..., 2) cells, on the floor's surface."""
        cells = np.asarray(cells)
        heights = self.levels[floor].heights[cells[..., 0], cells[..., 1]]
        return np.stack([self.origin[0] + (cells[..., 1] + 0.5) * self.cell, heights,
                         self.origin[2] + (cells[..., 0] + 0.5) * self.cell], -1).astype(float)

    # -- queries -------------------------------------------------------------------------------------------

    def floor_of(self, point: np.ndarray) -> int:
        """Index of the floor whose surface is within half a metre of `point`, or -1."""
        row, column = self.cells(point)
        gaps = [abs(float(level.heights[row, column]) - point[1]) for level in self.levels]
        return int(np.argmin(gaps)) if gaps and min(gaps) < 0.5 else -1

    def is_navigable(self, point: np.ndarray) -> bool:
        """Whether the body can stand at `point`."""
        floor = self.floor_of(point)
        return floor >= 0 and bool(self.levels[floor].free[tuple(self.cells(point))])

    def snap(self, point: np.ndarray, radius: float = 0.5) -> np.ndarray | None:
        """The nearest standable point within `radius` in the plane, at the floor's height, or None."""
        floor = self.floor_of(point)
        if floor < 0 or not self.levels[floor].free.any():
            return None
        level, cell = self.levels[floor], tuple(self.cells(point))
        if level.free[cell]:
            return np.array([point[0], float(level.heights[cell]), point[2]])
        found = self.center(floor, level.nearest[:, cell[0], cell[1]])
        return found if np.hypot(found[0] - point[0], found[2] - point[2]) <= radius else None

    def island(self, point: np.ndarray) -> int:
        """Label of the connected piece under `point`, counted per floor from 1; 0 off the free cells."""
        floor = self.floor_of(point)
        return int(self.levels[floor].islands[tuple(self.cells(point))]) if floor >= 0 else 0

    def island_radius(self, point: np.ndarray) -> float:
        """Half the diagonal of the island's bounding rectangle, metres; 0 off the free cells."""
        label, floor = self.island(point), self.floor_of(point)
        if label == 0:
            return 0.0
        rows, columns = np.nonzero(self.levels[floor].islands == label)
        return float(np.hypot(np.ptp(rows) + 1, np.ptp(columns) + 1) * self.cell / 2)

    def island_area(self, point: np.ndarray) -> float:
        """Free area of the island under `point`, square metres."""
        label, floor = self.island(point), self.floor_of(point)
        return float((self.levels[floor].islands == label).sum() * self.cell**2) if label else 0.0

    def random_point(self, rng: np.random.Generator, floor: int) -> np.ndarray:
        """A standable point, uniform over the floor's free area.

        Raises:
            ValueError: the floor has no free cell.
        """
        level = self.levels[floor]
        cells = np.argwhere(level.free)
        if not len(cells):
            raise ValueError(f"floor {floor} has no place where the body could stand")
        point = self.center(floor, cells[rng.integers(len(cells))])
        point[[0, 2]] += rng.uniform(-0.49, 0.49, 2) * self.cell
        return point

    # -- moving --------------------------------------------------------------------------------------------

    def step(self, pose: Pose, action: str) -> Pose:
        """The pose after one action; a move stops at the last free point before an obstacle.

        Raises:
            ValueError: an action that is none of the body's.
        """
        body = self.body
        turn, limit = radians(body.turn_deg), radians(body.max_pitch_deg)
        if action == "move_forward":
            return pose.moved(self._move(pose.position, forward(pose.heading) * body.forward_step))
        if action in ("turn_left", "turn_right"):
            heading = wrap(pose.heading + (turn if action == "turn_left" else -turn))
            return Pose(pose.x, pose.y, pose.z, heading, pose.pitch)
        if action in ("look_up", "look_down"):
            pitch = pose.pitch + (turn if action == "look_up" else -turn)
            return Pose(pose.x, pose.y, pose.z, pose.heading, min(max(pitch, -limit), limit))
        if action == "wait":
            return pose
        raise ValueError(f"unknown action {action!r}: one of {_STEPS}")

    def _move(self, start: np.ndarray, delta: np.ndarray) -> np.ndarray:
        floor = self.floor_of(start)
        if floor < 0:
            return start
        level = self.levels[floor]
        here = self._until_blocked(level, start, delta)
        if self.body.allow_sliding:
            rest = delta - (here - start) * (1, 0, 1)
            for axis in ((1, 0, 0), (0, 0, 1)):  # walls of cells run along the axes
                here = self._until_blocked(level, here, rest * axis)
        here[1] = level.heights[tuple(self.cells(here))]
        return here

    def _until_blocked(self, level: Floor, start: np.ndarray, delta: np.ndarray) -> np.ndarray:
        length = float(np.hypot(delta[0], delta[2]))
        if length == 0 or not level.free[tuple(self.cells(start))]:
            return start
        position = (start[[2, 0]] - self.origin[[2, 0]]) / self.cell
        gone = fields.clear_until(level.free, *position, *(delta[[2, 0]] / self.cell))
        return start + delta * (1.0 if gone >= 1 else max(gone - SKIN / length, 0.0))

    # -- distances -----------------------------------------------------------------------------------------

    def field(self, floor: int, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances (cells) and anchors from (T, 3) targets over a floor; see `fields.any_angle`."""
        targets = np.ascontiguousarray(np.asarray(targets, float).reshape(-1, 3))
        key = (floor, targets.tobytes())
        if key in self._fields:
            self._fields.move_to_end(key)
            return self._fields[key]
        level = self.levels[floor]
        cells = self.cells(targets)
        if len(cells):
            cells = level.nearest[:, cells[:, 0], cells[:, 1]].T.astype(np.int64)
        offsets = np.linalg.norm((self.center(floor, cells) - targets)[:, [0, 2]], axis=1) / self.cell
        near = offsets * self.cell < 0.5
        result = fields.any_angle(level.free, cells[near], np.where(offsets < 1, offsets, 0.0)[near], np.inf)
        self._fields[key] = result
        if len(self._fields) > self._cache_size:
            self._fields.popitem(last=False)
        return result

    def distance(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(P,) geodesic metres from (P, 3) points to the nearest of (T, 3) targets on the same floor, or inf.

        A point off the free cells counts from the nearest free cell within 0.25 m, as habitat-sim snaps.
        """
        points = np.asarray(points, float).reshape(-1, 3)
        targets = np.asarray(targets, float).reshape(-1, 3)
        result = np.full(len(points), np.inf)
        target_floors = np.array([self.floor_of(t) for t in targets], int)
        for i, point in enumerate(points):
            floor = self.floor_of(point)
            mine = targets[target_floors == floor] if floor >= 0 else targets[:0]
            if not len(mine):
                continue
            cell = self._free_cell(floor, point)
            if cell is None:
                continue
            distance, anchor = self.field(floor, mine)
            source = int(anchor[cell])
            if source < 0:
                continue
            corner = np.array(divmod(source, anchor.shape[1]))
            place = self.center(floor, corner)
            leg = float(np.hypot(place[0] - point[0], place[2] - point[2]))
            if int(anchor[tuple(corner)]) == source:  # in sight of a source: measure to the target itself
                gaps = np.hypot(mine[:, 0] - point[0], mine[:, 2] - point[2])
                near = np.hypot(mine[:, 0] - place[0], mine[:, 2] - place[2]) <= self.cell
                if near.any():
                    result[i] = gaps[near].min()
                    continue
            result[i] = float(distance[tuple(corner)]) * self.cell + leg
        return result

    def path(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N, 3) corners of the shortest path from `start` to the nearest of (T, 3) targets, or N = 0."""
        start = np.asarray(start, float)
        targets = np.asarray(targets, float).reshape(-1, 3)
        floor = self.floor_of(start)
        cell = self._free_cell(floor, start) if floor >= 0 else None
        mine = np.array([t for t in targets if self.floor_of(t) == floor]).reshape(-1, 3)
        if cell is None or not len(mine):
            return np.zeros((0, 3))
        _, anchor = self.field(floor, mine)
        corners = fields.trace(anchor, *cell)
        if not len(corners):
            return np.zeros((0, 3))
        points = self.center(floor, corners)
        end = mine[np.hypot(mine[:, 0] - points[-1, 0], mine[:, 2] - points[-1, 2]).argmin()]
        return np.vstack([start, points[1:-1], end])

    def _free_cell(self, floor: int, point: np.ndarray) -> tuple[int, int] | None:
        level, cell = self.levels[floor], self.cells(point)
        if level.free[tuple(cell)]:
            return int(cell[0]), int(cell[1])
        near = level.nearest[:, cell[0], cell[1]]
        if not level.free[tuple(near)] or np.hypot(*(near - cell)) * self.cell > 0.25:
            return None
        return int(near[0]), int(near[1])


def _whole(ratio: float) -> int:
    """`ratio` rounded down, but not below a whole number that it misses by rounding errors."""
    return int(ratio + 1e-6)


def _covered(solid: np.ndarray) -> np.ndarray:
    """(rows, columns, layers) bool: voxels that have something solid above them."""
    above = np.logical_or.accumulate(solid[..., ::-1], axis=2)[..., ::-1]
    return np.concatenate([above[..., 1:], np.zeros_like(above[..., :1])], 2)


def _floor_heights(stand: np.ndarray, tops: np.ndarray, covered: np.ndarray, cell: float) -> list[float]:
    """Heights of the floors: the largest standable levels, at least FLOOR_GAP apart, lowest first.

    A level with less than a third of it under something solid is a roof, unless no level is covered.
    """
    heights, indoors = tops[stand], covered[stand]
    chosen: list[tuple[float, bool]] = []
    while len(heights):
        low = heights.min()
        counts = np.bincount(((heights - low) / 0.05).astype(int))
        peak = low + (counts.argmax() + 0.5) * 0.05
        near = np.abs(heights - peak) <= FLOOR_SPAN
        if near.sum() * cell**2 < MIN_FLOOR_AREA:
            break
        height = float(np.median(heights[near]))
        if all(abs(height - other) >= FLOOR_GAP for other, _ in chosen):
            chosen.append((height, bool(indoors[near].mean() > 1 / 3)))
        heights, indoors = heights[~near], indoors[~near]
    rooms = [height for height, inside in chosen if inside]
    return sorted(rooms or [height for height, _ in chosen])
