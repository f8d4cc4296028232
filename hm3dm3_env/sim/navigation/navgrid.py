"""The embedded simulator's navigator: the floors of a scene for a body, moves on them, and distances."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import hypot
from pathlib import Path

import numpy as np

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import MIN_FLOOR_AREA, Body, after
from hm3dm3_env.sim.navigation.floors import Floor, floors_of_mesh, floors_of_navmesh
from hm3dm3_env.sim.navigation.navmesh import read_navmesh

SKIN = 1e-4
"""A blocked move ends this far before the edge that blocks it, metres: the next one starts inside (ours)."""
OFF_MESH = 0.5
"""A body this far off the free area moves from the nearest place in it, metres (as in `habitat_nav`)."""
CACHE_BYTES = 64 << 20
"""Memory for searches from sets of targets that are kept (ours)."""


@dataclass
class _Search:
    """The (T, 3) `targets` on a floor that count, their (T, 2) places `ends` in cells, and what
    `Roadmap.solve` finds for them."""

    targets: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray
    following: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.targets.nbytes + self.ends.nbytes + self.lengths.nbytes + self.following.nbytes


class GridNavigator:
    """`Navigator` on the floors of a scene.

    Moves end at the straight edges of habitat-sim's navmesh, and distances are exact for them. What was
    worked out for the last sets of targets is kept: it serves every agent and every step.

    Args:
        triangles: (T, 3, 3) of the scene, y up, metres.
        body: the walkable surface is computed for it.
        cache_bytes: memory for what is kept.
        name: of the scene, for errors, e.g. its folder.
    """

    def __init__(
        self, triangles: np.ndarray, body: Body, cache_bytes: int = CACHE_BYTES, name: str = ""
    ) -> None:
        self._set(body, *floors_of_mesh(triangles, body), cache_bytes, name)

    @classmethod
    def from_navmesh(
        cls, path: Path, body: Body, triangles: np.ndarray | None = None, cache_bytes: int = CACHE_BYTES
    ) -> GridNavigator:
        """The navigator on habitat-sim's `.navmesh` file, made for the body of its makers: of `body` only the
        cell size and the actions count. Roofs are no floors if the scene's (T, 3, 3) triangles are given.

        Raises:
            FileNotFoundError, ValueError: see `read_navmesh`.
        """
        navigator = cls.__new__(cls)
        navigator._set(body, *floors_of_navmesh(read_navmesh(path), body, triangles), cache_bytes, str(path))
        return navigator

    def _set(self, body: Body, levels: list[Floor], origin: np.ndarray, cache_bytes: int, name: str) -> None:
        self.body, self.cell, self.levels, self.origin = body, body.cell_size, levels, origin
        self.name = name
        self.floors = [level.height for level in levels]
        self._shape = levels[0].free.shape if levels else (1, 1)
        self._cache_bytes = cache_bytes
        self._searches: OrderedDict[tuple[int, bytes], _Search] = OrderedDict()
        self._kept = 0

    # -- cells ---------------------------------------------------------------------------------------------

    def _place(self, point: np.ndarray) -> tuple[float, float]:
        """Row and column of a point, with fractions."""
        return (float(point[2]) - self.origin[2]) / self.cell, (float(point[0]) - self.origin[0]) / self.cell

    def _cell(self, point: np.ndarray) -> tuple[int, int]:
        """Row and column of a point's cell, clipped to the grid (0, 0 for what is no number)."""
        row, column = self._place(point)
        if not (abs(row) < 1e9 and abs(column) < 1e9):
            return 0, 0
        rows, columns = self._shape
        return min(max(int(row), 0), rows - 1), min(max(int(column), 0), columns - 1)

    def cells(self, points: np.ndarray) -> np.ndarray:
        """(..., 2) int64 rows and columns of (..., 3) points, clipped to the grid."""
        places = np.asarray(points, float)[..., [2, 0]] - self.origin[[2, 0]]
        limits = np.array(self._shape) - 1
        return np.clip(np.floor(np.nan_to_num(places / self.cell)), 0, limits).astype(np.int64)

    def center(self, floor: int, cells: np.ndarray) -> np.ndarray:
        """(..., 3) world positions of the centres of (..., 2) cells, on the floor's surface."""
        cells = np.asarray(cells)
        heights = self.levels[floor].heights[cells[..., 0], cells[..., 1]]
        return np.stack(
            [
                self.origin[0] + (cells[..., 1] + 0.5) * self.cell,
                heights,
                self.origin[2] + (cells[..., 0] + 0.5) * self.cell,
            ],
            -1,
        ).astype(float)

    # -- queries -------------------------------------------------------------------------------------------

    def floor_of(self, point: np.ndarray) -> int:
        """Index of the floor whose surface is within half a metre of `point`, or -1."""
        cell, best, nearest = self._cell(point), -1, 0.5
        for index, level in enumerate(self.levels):
            gap = abs(float(level.heights[cell]) - float(point[1]))
            if gap < nearest:
                best, nearest = index, gap
        return best

    def is_navigable(self, point: np.ndarray) -> bool:
        """Whether the body can stand at `point`."""
        floor = self.floor_of(point)
        return floor >= 0 and self.levels[floor].outline.contains(*self._place(point))

    def snap(self, point: np.ndarray, radius: float = 0.5) -> np.ndarray | None:
        """The nearest standable point within `radius` in the plane, at the floor's height, or None."""
        floor = self.floor_of(point)
        if floor < 0:
            return None
        found = self._inside(self.levels[floor], np.asarray(point, float))
        if found is None or hypot(found[0] - point[0], found[2] - point[2]) > radius:
            return None
        return found

    def _inside(self, level: Floor, point: np.ndarray) -> np.ndarray | None:
        """(3,) `point` or the nearest place in the floor's free area, on its surface; None: there is none."""
        place = self._place(point)
        if level.outline.contains(*place):
            return np.array([point[0], float(level.heights[self._cell(point)]), point[2]])
        near = level.outline.nearest(*place)
        if near is None:
            return None
        x, z = self.origin[0] + near[1] * self.cell, self.origin[2] + near[0] * self.cell
        return np.array([x, float(level.heights[self._cell(np.array([x, 0.0, z]))]), z])

    def island(self, point: np.ndarray) -> int:
        """Label of the connected piece under `point`, counted per floor from 1; 0 off the free cells."""
        floor = self.floor_of(point)
        if floor < 0 or not self.levels[floor].outline.contains(*self._place(point)):
            return 0
        level, cell = self.levels[floor], self._cell(point)
        near = cell if level.free[cell] else tuple(level.nearest[:, cell[0], cell[1]])
        return int(level.islands[near])

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
            ValueError: the scene has no such floor, or nothing on it that the body could stand on.
        """
        if not 0 <= floor < len(self.levels) or not self.levels[floor].free.any():
            raise ValueError(self._nowhere(floor))
        level = self.levels[floor]
        cells = level.cells
        while True:
            point = self.center(floor, cells[rng.integers(len(cells))])
            point[[0, 2]] += rng.uniform(-0.49, 0.49, 2) * self.cell
            if level.outline.contains(*self._place(point)):
                return point

    def _nowhere(self, floor: int) -> str:
        """Why there is no place on a floor, for an error."""
        body, count = self.body, len(self.levels)
        where = (
            f"{self.name or 'this scene'}: no place on floor {floor} of {count} where the body could stand"
        )
        if 0 < count <= floor:
            return f"{where}; floors are 0 to {count - 1}"
        return (
            f"{where} (radius {body.radius:g} m, height {body.height:g} m, steps of {body.max_climb:g} m). "
            f"Floors are level surfaces of {MIN_FLOOR_AREA:g} m2 with {body.height:g} m of room above, and "
            "pieces of less than 1 m2 are dropped: is the mesh whole, in metres and with z up in its file? "
            "'python -m hm3dm3_env.scenes.inspect' shows what was found; a smaller body (body.radius, "
            "body.height) may fit"
        )

    # -- moving --------------------------------------------------------------------------------------------

    def step(self, pose: Pose, action: str) -> Pose:
        """The pose after one action; a move stops at the last free point before an obstacle.

        Raises:
            ValueError: an action that is none of the body's.
        """
        return after(pose, action, self.body, self._move)

    def _move(self, start: np.ndarray, delta: np.ndarray) -> np.ndarray:
        floor = self.floor_of(start)
        if floor < 0:
            return start
        level = self.levels[floor]
        here = self._inside(level, start)
        if here is None or hypot(here[0] - start[0], here[2] - start[2]) > OFF_MESH:
            return start
        row, column = self._place(here)
        move = float(delta[2]) / self.cell, float(delta[0]) / self.cell
        if self.body.allow_sliding:
            row, column = level.outline.slide(row, column, *move)
        else:
            row, column = level.outline.stop(row, column, *move, SKIN / self.cell)
        there = np.array([self.origin[0] + column * self.cell, 0.0, self.origin[2] + row * self.cell])
        there[1] = level.heights[self._cell(there)]
        return there

    # -- distances -----------------------------------------------------------------------------------------

    def _search(self, floor: int, targets: np.ndarray) -> _Search:
        """What is known about the shortest ways on a floor to (T, 3) targets, kept by targets."""
        key = (floor, targets.tobytes())
        if key in self._searches:
            self._searches.move_to_end(key)
            return self._searches[key]
        level = self.levels[floor]
        targets = targets[self._floors_of(targets) == floor]
        ends = self._places(level, targets)
        near = np.isfinite(ends[:, 0])
        ends = np.ascontiguousarray(ends[near])
        search = _Search(targets[near], ends, *level.roadmap.solve(ends))
        self._searches[key] = search
        self._kept += search.nbytes + len(key[1])
        while self._kept > self._cache_bytes and len(self._searches) > 1:
            (_, old), gone = self._searches.popitem(last=False)
            self._kept -= gone.nbytes + len(old)
        return search

    def _places(self, level: Floor, points: np.ndarray) -> np.ndarray:
        """(P, 2) row and column of (P, 3) points, with fractions; of those off the free area the nearest
        place in it, NaN if that is farther than OFF_MESH."""
        places = (points[:, [2, 0]] - self.origin[[2, 0]]) / self.cell
        for i in np.flatnonzero(~level.outline.contain(places)):
            row, column = places[i]
            near = level.outline.nearest(row, column)
            if near is None or hypot(near[0] - row, near[1] - column) * self.cell > OFF_MESH:
                near = (np.nan, np.nan)
            places[i] = near
        return places

    def distance(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(P,) geodesic metres from (P, 3) points to the nearest of (T, 3) targets on the same floor, or inf.

        The distance is exact for the floor's outline. A point or target off the free area counts from the
        nearest place in it, if that is within OFF_MESH.
        """
        points = np.asarray(points, float).reshape(-1, 3)
        targets = np.ascontiguousarray(np.asarray(targets, float).reshape(-1, 3))
        result = np.full(len(points), np.inf)
        mine = self._floors_of(points)
        for floor, level in enumerate(self.levels):
            chosen = np.flatnonzero(mine == floor)
            search = self._search(floor, targets) if len(chosen) else None
            if search is None or not len(search.ends):
                continue
            places = self._places(level, points[chosen])
            near = np.isfinite(places[:, 0])
            lengths = level.roadmap.lengths_from(places[near], search.ends, search.lengths)
            result[chosen[near]] = lengths * self.cell
        return result

    def _floors_of(self, points: np.ndarray) -> np.ndarray:
        """(P,) `floor_of` of (P, 3) points."""
        if len(points) < 16 or not self.levels:
            return np.array([self.floor_of(point) for point in points], int)
        cells = self.cells(points)
        surfaces = np.stack([level.heights[cells[:, 0], cells[:, 1]] for level in self.levels])
        gaps = np.abs(surfaces.astype(float) - points[:, 1])
        gaps = np.where(np.isfinite(gaps), gaps, np.inf)
        return np.where(gaps.min(0) < 0.5, gaps.argmin(0), -1)

    def path(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N, 3) corners of the shortest path from `start` to the nearest of (T, 3) targets, or N = 0."""
        start = np.asarray(start, float)
        targets = np.ascontiguousarray(np.asarray(targets, float).reshape(-1, 3))
        floor = self.floor_of(start)
        if floor < 0:
            return np.zeros((0, 3))
        level, search = self.levels[floor], self._search(floor, targets)
        place = self._places(level, start[None])[0]
        if not np.isfinite(place[0]):
            return np.zeros((0, 3))
        corners, end = level.roadmap.path(place, search.ends, search.lengths, search.following)
        if end < 0:
            return np.zeros((0, 3))
        points = np.empty((len(corners), 3))
        points[:, [2, 0]] = self.origin[[2, 0]] + corners * self.cell
        points[:, 1] = [level.heights[self._cell(point)] for point in points]
        return np.vstack([start, points, search.targets[end]])
