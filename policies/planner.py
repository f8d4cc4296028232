"""Planning on the shared map: distances from a robot to everywhere, paths, and the next discrete action.

Two solvers: `any_angle` (the default, 2% more accurate and 2 to 3 times faster
than fast marching on these grids) and `fast_marching` (scikit-fmm, as VLFM-style planners use).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

import numba
import numpy as np
import skfmm

from hm3dm3_env.geometry import Pose, heading_to, wrap
from hm3dm3_env.mapping import FREE, OCCUPIED, SharedMap
from hm3dm3_env.sim.base import Body
from hm3dm3_env.task import ACTIONS
from policies import fields

FORWARD, LEFT, RIGHT = (ACTIONS.index(name) for name in ("move_forward", "turn_left", "turn_right"))
LOOK_UP, LOOK_DOWN = ACTIONS.index("look_up"), ACTIONS.index("look_down")


@dataclass(frozen=True)
class PlannerConfig:
    """How plans are made (ours)."""

    solver: str = "any_angle"
    """any_angle or fast_marching."""
    clearance: float = 0.20
    """Obstacles are grown by this, metres: the body's radius and half a cell."""
    tight: float = 0.12
    """The same where nothing else leads anywhere, metres: the map is a cell too careful in narrow places."""
    coarsen: int = 2
    """Plans are made on blocks of this many map cells a side, passable when half of them are; 4 times
    faster at 2."""
    aim_deg: float = 15.0
    """Turn when the next corner is farther than this to the side (half a turn action)."""
    corner: float = 0.20
    """A corner counts as reached within this, metres."""


@dataclass(frozen=True)
class Field:
    """Distances from one robot over a window of the map, in blocks of `PlannerConfig.coarsen` map cells.

    Attributes:
        corner: (2,) map cell of the window's low corner.
        distance: (rows, columns) float32 metres, inf where unreachable.
        anchor: as in `fields.any_angle`; None for fast marching.
    """

    corner: np.ndarray
    distance: np.ndarray
    anchor: np.ndarray | None


class MapPlanner:
    """Plans for a team on its shared map. `grown` marks cells that the body's centre must avoid."""

    def __init__(self, shared_map: SharedMap, body: Body, config: PlannerConfig) -> None:
        if config.solver not in ("any_angle", "fast_marching"):
            raise ValueError(f"planner.solver: {config.solver!r} is neither any_angle nor fast_marching")
        self.map, self.body, self.config = shared_map, body, config
        self.grown = np.zeros(shared_map.cells.shape, bool)
        self.tight = np.zeros(shared_map.cells.shape, bool)
        self._known = np.zeros(shared_map.cells.shape, bool)
        self._discs = [(self.grown, self._disc(config.clearance)), (self.tight, self._disc(config.tight))]

    def _disc(self, radius: float) -> np.ndarray:
        reach = int(radius / self.map.cell)
        dr, dc = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        return np.argwhere(np.hypot(dr, dc) * self.map.cell <= radius) - reach

    def update(self) -> None:
        """Take in new obstacles of the map."""
        rows, columns = self.map.window(0.0)
        (grown, wide), (tight, narrow) = self._discs
        corners = rows.start, rows.stop, columns.start, columns.stop
        _take_in(self.map.cells, *corners, self._known, grown, wide, tight, narrow)

    def field(self, pose: Pose, hope: int = 0) -> Field:
        """Distances from a robot over known free floor; with `hope` 1 over unknown floor too, with 2 closer
        to obstacles."""
        corner, passable, source = self._blocks_around(pose, hope)
        return self._solve(corner, passable, source[None], fields.NOWHERE)

    def field_to(self, pose: Pose, points: np.ndarray) -> Field:
        """Distances over known free floor to the nearest of (P, 3) points, in the window around a robot; inf
        everywhere without points."""
        corner, passable, _ = self._blocks_around(pose, 0)
        found = [
            _closest(passable, row, column, self._reach(0.3))
            for row, column in self._block_of(
                corner, passable.shape, np.asarray(points, float).reshape(-1, 3)
            )
        ]
        sources = np.concatenate([*found, fields.NOWHERE])
        if not len(sources):
            return Field(corner, np.full(passable.shape, np.inf, np.float32), None)
        return self._solve(corner, passable, sources, fields.NOWHERE)

    def _blocks_around(self, pose: Pose, hope: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The window's corner (see `Field`), its passable blocks, and the robot's block."""
        rows, columns = self.map.window(1.0)
        block = self.config.coarsen
        corner = np.array([rows.start, columns.start])
        shape = (np.array([rows.stop, columns.stop]) - corner) // block
        window = tuple(slice(c, c + n * block) for c, n in zip(corner, shape))
        blocked = (self.tight if hope > 1 else self.grown)[window]
        start = self.map.to_cell(pose.position) - corner
        reach = int(np.ceil(self.config.clearance / self.map.cell)) + 1
        passable = _passable(self.map.cells[window], blocked, hope > 0, start, reach, block)
        source = np.clip(start // block, 1, shape - 2)
        passable[tuple(source)] = True
        return corner, passable, source

    def _solve(self, corner: np.ndarray, passable: np.ndarray, sources: np.ndarray, to: np.ndarray) -> Field:
        size = np.float32(self.map.cell * self.config.coarsen)
        if self.config.solver == "any_angle":
            starts = np.zeros(len(sources))
            distance, anchor = fields.any_angle(passable, sources.astype(np.int64), starts, np.inf, to)
            return Field(corner, distance * size, anchor)
        return Field(corner, _march(passable, sources) * size, None)

    def route(self, pose: Pose, point: np.ndarray, slack: float, hope: int = 0) -> np.ndarray:
        """`path` on the robot's `field`, which is worked out no farther than to the point."""
        corner, passable, source = self._blocks_around(pose, hope)
        row, column = self._block_of(corner, passable.shape, point)
        to = _closest(passable, row, column, self._reach(slack))
        if not len(to):
            return np.zeros((0, 3))
        return self.path(self._solve(corner, passable, source[None], to), point, slack)

    def blocks(self, field: Field, points: np.ndarray) -> np.ndarray:
        """(P, 2) blocks of (P, 3) points in the field's window, clipped."""
        return self._block_of(field.corner, field.distance.shape, points)

    def _block_of(self, corner: np.ndarray, shape: tuple[int, ...], points: np.ndarray) -> np.ndarray:
        return np.clip((self.map.to_cell(points) - corner) // self.config.coarsen, 0, np.array(shape) - 1)

    def distances(self, field: Field, points: np.ndarray, slack: float = 0.3) -> np.ndarray:
        """(P,) metres to (P, 3) points; a blocked point counts as its nearest reachable block within
        `slack` metres."""
        blocks, reach = self.blocks(field, np.asarray(points, float).reshape(-1, 3)), self._reach(slack)
        return (
            np.array([_nearest(field.distance, r, c, reach)[0] for r, c in blocks])
            if len(blocks)
            else np.zeros(0)
        )

    def path(self, field: Field, point: np.ndarray, slack: float = 0.3) -> np.ndarray:
        """(N, 3) corners from the robot to the reachable block nearest to `point` within `slack` metres; N
        = 0 if none."""
        ((row, column),) = self.blocks(field, np.asarray(point, float)[None])
        distance, row, column = _nearest(field.distance, row, column, self._reach(slack))
        if not np.isfinite(distance):
            return np.zeros((0, 3))
        if field.anchor is not None:
            corners = fields.trace(field.anchor, row, column)[::-1]
        else:
            corners = _descend(field.distance, row, column)[::-1]
        block = self.config.coarsen
        return self.map.to_world(corners * block + (block - 1) / 2 + field.corner)

    def _reach(self, slack: float) -> int:
        return int(np.ceil(slack / (self.map.cell * self.config.coarsen)))

    def clear(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the straight line between two (3,) points meets no grown obstacle."""
        return not self.crossed(np.stack([a, b]))

    def crossed(self, path: np.ndarray) -> int:
        """How many grown cells the straight lines between (N, 3) corners meet. Blocks are passable when half
        of their cells are, so that even a fresh path may graze some."""
        return int(_crossed(self.grown, self.map.to_cell(path)))

    def steer(self, pose: Pose, path: np.ndarray) -> tuple[int | None, np.ndarray]:
        """The action that follows a path and what is left of the path; no action at its end (within
        `corner`)."""
        here = pose.position
        if np.hypot(path[-1, 0] - here[0], path[-1, 2] - here[2]) <= self.config.corner:
            return None, path[-1:]
        while len(path) > 1 and np.hypot(path[0, 0] - here[0], path[0, 2] - here[2]) <= self.config.corner:
            path = path[1:]
        for i in range(min(len(path), 4) - 1, 0, -1):
            if self.clear(here, path[i]):
                path = path[i:]
                break
        return face(pose, path[0], self.config.aim_deg) or FORWARD, path


def face(pose: Pose, target: np.ndarray, aim_deg: float) -> int | None:
    """The turn towards a (3,) point; None when it is within `aim_deg` of straight ahead."""
    error = wrap(heading_to(pose.position, target) - pose.heading)
    if abs(error) <= radians(aim_deg) + 1e-6:
        return None
    return LEFT if error > 0 else RIGHT


@numba.njit(cache=True, nogil=True)
def _take_in(cells, r0, r1, c0, c1, known, grown, wide, tight, narrow):
    for r in range(r0, r1):
        for c in range(c0, c1):
            if cells[r, c] == OCCUPIED and not known[r, c]:
                known[r, c] = True
                _stamp(grown, r, c, wide)
                _stamp(tight, r, c, narrow)


@numba.njit(cache=True, nogil=True)
def _stamp(grid, row, column, disc):
    for i in range(len(disc)):
        r, c = row + disc[i, 0], column + disc[i, 1]
        if 0 <= r < grid.shape[0] and 0 <= c < grid.shape[1]:
            grid[r, c] = True


@numba.njit(cache=True, nogil=True)
def _passable(cells, blocked, hope, start, reach, block):
    """Blocks of which at least half of the cells are open; the outermost ring is closed. A robot that stands
    in grown cells may leave them: cells within `reach` of it that hold no obstacle are open."""
    rows, columns = cells.shape[0] // block, cells.shape[1] // block
    inside = blocked[start[0], start[1]] or not (hope or cells[start[0], start[1]] == FREE)
    out = np.zeros((rows, columns), np.bool_)
    for row in range(1, rows - 1):
        for column in range(1, columns - 1):
            count = 0
            for r in range(row * block, (row + 1) * block):
                for c in range(column * block, (column + 1) * block):
                    if not blocked[r, c] and (hope or cells[r, c] == FREE):
                        count += 1
                    elif inside and cells[r, c] != OCCUPIED:
                        count += (r - start[0]) ** 2 + (c - start[1]) ** 2 <= reach * reach
            out[row, column] = count * 2 >= block * block
    return out


@numba.njit(cache=True, nogil=True)
def _closest(passable, row, column, reach):
    """(N, 2) the passable blocks that are closest to (row, column), at most `reach` away; ties are all
    there."""
    best, count = reach * reach, 0
    out = np.empty(((2 * reach + 1) ** 2, 2), np.int64)
    for r in range(max(row - reach, 0), min(row + reach + 1, passable.shape[0])):
        for c in range(max(column - reach, 0), min(column + reach + 1, passable.shape[1])):
            gap = (r - row) ** 2 + (c - column) ** 2
            if passable[r, c] and gap <= best:
                if gap < best:
                    best, count = gap, 0
                out[count, 0], out[count, 1] = r, c
                count += 1
    return out[:count]


@numba.njit(cache=True, nogil=True)
def _nearest(distance, row, column, reach):
    """Distance and cell of the reachable cell closest to (row, column) within `reach` cells; inf if none."""
    best, found_r, found_c, value = reach * reach + 1, row, column, np.inf
    for r in range(max(row - reach, 0), min(row + reach + 1, distance.shape[0])):
        for c in range(max(column - reach, 0), min(column + reach + 1, distance.shape[1])):
            gap = (r - row) ** 2 + (c - column) ** 2
            if distance[r, c] < np.inf and (gap < best or (gap == best and distance[r, c] < value)):
                best, found_r, found_c, value = gap, r, c, distance[r, c]
    return value, found_r, found_c


@numba.njit(cache=True, nogil=True)
def _crossed(grown, corners):
    count = 0
    for n in range(len(corners) - 1):
        (r0, c0), (r1, c1) = corners[n], corners[n + 1]
        steps = max(abs(r1 - r0), abs(c1 - c0), 1)
        for i in range(steps + 1):
            count += grown[int(round(r0 + (r1 - r0) * i / steps)), int(round(c0 + (c1 - c0) * i / steps))]
    return count


def _march(passable: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Fast-marching distances in cells from (S, 2) cells; inf where unreachable."""
    phi = np.ma.MaskedArray(np.ones(passable.shape), ~passable)
    phi[tuple(sources.T)] = -1
    front = np.zeros(passable.shape, bool)
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        front[tuple((sources + step).clip(0, np.array(passable.shape) - 1).T)] = True
    if not (front & (phi > 0).filled(False)).any():  # walled in: scikit-fmm would find no front to start from
        alone = np.full(passable.shape, np.inf, np.float32)
        alone[tuple(sources.T)] = 0
        return alone
    result = np.ma.filled(skfmm.distance(phi), np.inf).astype(np.float32)
    return np.where(np.isfinite(result), np.maximum(result, 0), np.inf).astype(np.float32)


@numba.njit(cache=True, nogil=True)
def _descend(distance, row, column):
    """Cells of steepest descent on a distance field, from a cell to the source."""
    out = np.empty((distance.size, 2), np.int64)
    count = 0
    while True:
        out[count, 0], out[count, 1] = row, column
        count += 1
        best, nr, nc = distance[row, column], row, column
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                r, c = row + dr, column + dc
                if 0 <= r < distance.shape[0] and 0 <= c < distance.shape[1] and distance[r, c] < best:
                    best, nr, nc = distance[r, c], r, c
        if (nr == row and nc == column) or count >= distance.size:
            return out[:count].copy()
        row, column = nr, nc
