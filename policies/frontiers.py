"""Frontiers: where known free floor meets the unknown.

A frontier is an 8-connected group of passable free cells that have unknown ground beside them; with
`FrontierConfig.cluster`, groups that come close to each other are one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from hm3dm3_env.mapping import FREE, UNKNOWN, SharedMap


@dataclass(frozen=True)
class FrontierConfig:
    """What counts as a frontier (ours, after VLFM's area threshold)."""

    min_length: float = 0.3
    """Shorter ones are ignored, metres of frontier cells (of all that is one frontier, see `cluster`)."""
    min_unknown: float = 0.5
    """Unknown pockets smaller than this are not worth a trip, square metres (VLFM: 1.5)."""
    done_radius: float = 0.7
    """A frontier that remains after a robot looked at it from close by is not visited again; nor any within
    this, metres."""
    cluster: float = 0.0
    """Groups of frontier cells whose nearest cells lie within this of each other, centre to centre and
    whatever is between, are one frontier, metres; 0: only cells that touch are."""

    def __post_init__(self) -> None:
        if not self.cluster >= 0:
            raise ValueError(f"frontiers.cluster must be metres, or 0 (not to cluster), not {self.cluster}")


@dataclass(frozen=True)
class Frontiers:
    """`points` (F, 3): one place on each frontier, on free floor; `sizes` (F,) metres."""

    points: np.ndarray
    sizes: np.ndarray


def find_frontiers(
    shared_map: SharedMap, passable: np.ndarray, window: tuple[slice, slice], config: FrontierConfig
) -> Frontiers:
    """Frontiers within a window of the map, in the order of their first cells, row by row.

    Args:
        passable: (rows, columns) bool over the window: cells where the body may be.
    """
    pocket = int(np.ceil(config.min_unknown / shared_map.cell**2))
    cells, owner = _edges(shared_map.cells[window], passable, pocket)
    if config.cluster > 0:
        owner = _joined(cells, owner, config.cluster / shared_map.cell + 1e-6)
    middles, counts = _middles(cells, owner)
    sizes = counts * shared_map.cell
    long = sizes >= config.min_length
    return Frontiers(shared_map.to_world(middles[long] + (window[0].start, window[1].start)), sizes[long])


def known_floor(
    shared_map: SharedMap, passable: np.ndarray, window: tuple[slice, slice], spacing: float
) -> np.ndarray:
    """(P, 3) places on known free floor of a window, in a grid of `spacing` metres: where to look around
    again once there are no frontiers. `passable` is as in `find_frontiers`."""
    step = max(1, int(spacing / shared_map.cell))
    free = (shared_map.cells[window] == FREE) & passable
    cells = np.argwhere(free[::step, ::step]) * step + (window[0].start, window[1].start)
    return shared_map.to_world(cells)


@numba.njit(cache=True, nogil=True)
def _middles(cells, owner):
    """(G, 2) the cell of each group that is closest to its mean, the first of equals; (G,) cells in it."""
    groups = owner.max() + 1 if len(owner) else 0
    mean, counts = np.zeros((groups, 2)), np.zeros(groups, np.int64)
    for i in range(len(cells)):
        mean[owner[i], 0] += cells[i, 0]
        mean[owner[i], 1] += cells[i, 1]
        counts[owner[i]] += 1
    best, out = np.full(groups, np.inf), np.zeros((groups, 2), np.int64)
    for i in range(len(cells)):
        g = owner[i]
        gap = abs(cells[i, 0] - mean[g, 0] / counts[g]) + abs(cells[i, 1] - mean[g, 1] / counts[g])
        if gap < best[g]:
            best[g] = gap
            out[g, 0], out[g, 1] = cells[i, 0], cells[i, 1]
    return out, counts


@numba.njit(cache=True, nogil=True)
def _joined(cells, owner, reach):
    """(N,) the groups of (N, 2) cells, given row by row, after groups with cells within `reach` cells of each
    other became one; numbered by their first cells."""
    groups = owner.max() + 1 if len(owner) else 0
    parent = np.arange(groups)
    for i in range(len(cells)):
        a = owner[i]
        while parent[a] != a:
            a = parent[a]
        for j in range(i + 1, len(cells)):
            down, across = cells[j, 0] - cells[i, 0], cells[j, 1] - cells[i, 1]
            if down > reach:
                break
            if owner[j] == owner[i] or down * down + across * across > reach * reach:
                continue
            b = owner[j]
            while parent[b] != b:
                b = parent[b]
            low = min(a, b)  # roots are the first of their groups
            parent[max(a, b)], a = low, low
    number, out, count = np.full(groups, -1), np.empty(len(owner), np.int64), 0
    for i in range(len(owner)):
        root = owner[i]
        while parent[root] != root:
            root = parent[root]
        if number[root] < 0:
            number[root], count = count, count + 1
        out[i] = number[root]
    return out


@numba.njit(cache=True, nogil=True)
def _edges(cells, passable, pocket):
    """Passable free cells beside unknown ground of at least `pocket` 4-connected cells, row by row: (N, 2),
    and (N,) the number of the 8-connected group of each."""
    rows, columns = cells.shape
    near = ((-1, 0), (1, 0), (0, -1), (0, 1))
    size = np.zeros((rows, columns), np.int8)  # of the unknown ground here: 0 not looked at, 1 small, 2 large
    edge = np.zeros((rows, columns), np.bool_)
    queue = np.empty((rows * columns, 2), np.int64)
    for r in range(rows):
        for c in range(columns):
            if cells[r, c] != FREE or not passable[r, c]:
                continue
            for dr, dc in near:
                u, v = r + dr, c + dc
                if 0 <= u < rows and 0 <= v < columns and cells[u, v] == UNKNOWN:
                    if size[u, v] == 0:
                        _measure(cells, size, u, v, pocket, queue)
                    edge[r, c] |= size[u, v] == 2
    found, owner = np.argwhere(edge), np.full((rows, columns), -1)
    groups = np.empty(len(found), np.int64)
    count = 0
    for i in range(len(found)):
        r, c = found[i]
        if owner[r, c] < 0:
            owner[r, c] = count
            queue[0, 0], queue[0, 1], first, last = r, c, 0, 1
            while first < last:
                (r, c), first = queue[first], first + 1
                for u in range(max(r - 1, 0), min(r + 2, rows)):
                    for v in range(max(c - 1, 0), min(c + 2, columns)):
                        if edge[u, v] and owner[u, v] < 0:
                            owner[u, v] = count
                            queue[last, 0], queue[last, 1], last = u, v, last + 1
            count += 1
        groups[i] = owner[found[i, 0], found[i, 1]]
    return found, groups


@numba.njit(cache=True, nogil=True)
def _measure(cells, size, row, column, pocket, queue):
    """Mark the unknown ground around a cell as small or large; what is large is not followed to its end."""
    size[row, column] = 1
    queue[0, 0], queue[0, 1], first, last, large = row, column, 0, 1, pocket <= 1
    while first < last and not large:
        (r, c), first = queue[first], first + 1
        for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            u, v = r + dr, c + dc
            if 0 <= u < size.shape[0] and 0 <= v < size.shape[1] and cells[u, v] == UNKNOWN:
                if size[u, v] == 0:
                    size[u, v] = 1
                    queue[last, 0], queue[last, 1], last = u, v, last + 1
                large = large or size[u, v] == 2 or last >= pocket
    if large:
        for i in range(last):
            size[queue[i, 0], queue[i, 1]] = 2
