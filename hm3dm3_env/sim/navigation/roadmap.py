"""Exact shortest paths within an outline: they turn at its corners only, so a graph of corners is enough.

Corners see each other if no edge is between them, and matter to a path only where it bends around them. A set
of targets costs one search over the corners; then a place needs the first corner or target that it sees, in
order of the path's length over it. Coordinates are in cells (row, column), as in `outline`.
"""

from __future__ import annotations

import numba
import numpy as np

from hm3dm3_env.sim.navigation.outline import Outline, meets

_OFF = 2e-3
"""Corners are passed at this distance, in cells (0.1 mm at 5 cm), so that sight along walls is no contact."""
_STRAIGHT = 1e-9
"""Sine below which two edges are one straight line."""


class Roadmap:
    """The corners of an outline that paths may turn at, and which of them see each other.

    Attributes:
        places: (V, 2) float64 just off the corners.
        walls: (V, 2, 2) directions of the edges at each.
        first, others, lengths: corner i sees others[first[i] : first[i + 1]], at these lengths.
    """

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.places, self.walls = _corners(outline)
        self.first, self.others, self.lengths = _sights(self.places, self.walls, *outline.tables)

    def solve(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For (T, 2) targets: (V,) length of the shortest path from each corner to the nearest of them (inf:
        none), and (V,) the next corner on it, or T targets counted from -1 downwards."""
        return _solve(
            self.places, self.walls, self.first, self.others, self.lengths, targets, *self.outline.tables
        )

    def lengths_from(self, places: np.ndarray, targets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """(P,) lengths of the shortest paths from (P, 2) places inside to the nearest of the targets, for
        which the corners' `lengths` were found."""
        return _first_seen(places, self.places, self.walls, targets, lengths, *self.outline.tables)[0]

    def path(
        self, place: np.ndarray, targets: np.ndarray, lengths: np.ndarray, following: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """(N, 2) corners of the shortest path from a place inside to the nearest target, and which target
        that is (-1: there is no path)."""
        found, seen = _first_seen(
            place[None], self.places, self.walls, targets, lengths, *self.outline.tables
        )
        if not np.isfinite(found[0]):
            return np.zeros((0, 2)), -1
        at, corners = int(seen[0]), []
        while at >= 0:
            corners.append(self.places[at])
            at = int(following[at])
        return np.array(corners).reshape(-1, 2), -1 - at

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return sum(a.nbytes for a in (self.places, self.walls, self.first, self.others, self.lengths))


def _corners(outline: Outline) -> tuple[np.ndarray, np.ndarray]:
    """Places and wall directions of the corners with more than half a turn of free area around them."""
    ends: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for r0, c0, r1, c1 in np.round(outline.edges, 9).tolist():
        ends.setdefault((r0, c0), []).append((r1 - r0, c1 - c0))
        ends.setdefault((r1, c1), []).append((r0 - r1, c0 - c1))
    places, walls = [], []
    for (row, column), ways in ends.items():
        angles = sorted({round(float(np.arctan2(d_column, d_row)), 9) for d_row, d_column in ways})
        for k, angle in enumerate(angles):
            following = angles[(k + 1) % len(angles)] + (2 * np.pi if k + 1 == len(angles) else 0)
            middle = (angle + following) / 2
            place = (row + _OFF * np.cos(middle), column + _OFF * np.sin(middle))
            if following - angle > np.pi + _STRAIGHT and outline.contains(*place):
                places.append(place)
                walls.append([(np.cos(a), np.sin(a)) for a in (angle, following)])
    return np.array(places, float).reshape(-1, 2), np.array(walls, float).reshape(-1, 2, 2)


@numba.njit(cache=True, nogil=True)
def _bends(walls, corner, d_row, d_column):
    """Whether a path along a direction can bend at a corner: both of its edges are on one side."""
    a = d_row * walls[corner, 0, 1] - d_column * walls[corner, 0, 0]
    b = d_row * walls[corner, 1, 1] - d_column * walls[corner, 1, 0]
    slack = 1e-2 * (abs(d_row) + abs(d_column))
    return (a > -slack and b > -slack) or (a < slack and b < slack)


@numba.njit(cache=True, nogil=True)
def _sees(a_row, a_column, b_row, b_column, edges, cells, mine, inside):
    return meets(edges, cells, mine, inside, a_row, a_column, b_row - a_row, b_column - a_column)[1] < 0


@numba.njit(cache=True, nogil=True)
def _sights(places, walls, edges, cells, mine, inside):
    count = len(places)
    pairs, size = np.empty((1024, 2), np.int32), 0
    number = np.zeros(count + 1, np.int64)
    for i in range(count):
        for j in range(i):
            d_row, d_column = places[j, 0] - places[i, 0], places[j, 1] - places[i, 1]
            if not (_bends(walls, i, d_row, d_column) and _bends(walls, j, d_row, d_column)):
                continue
            if not _sees(places[i, 0], places[i, 1], places[j, 0], places[j, 1], edges, cells, mine, inside):
                continue
            if size == len(pairs):
                pairs = np.concatenate((pairs, np.empty((size, 2), np.int32)))
            pairs[size, 0], pairs[size, 1] = i, j
            size += 1
            number[i + 1] += 1
            number[j + 1] += 1
    first = np.cumsum(number)
    others, lengths, at = np.empty(2 * size, np.int32), np.empty(2 * size), first.copy()
    for k in range(size):
        i, j = pairs[k, 0], pairs[k, 1]
        length = np.hypot(places[j, 0] - places[i, 0], places[j, 1] - places[i, 1])
        others[at[i]], lengths[at[i]] = j, length
        others[at[j]], lengths[at[j]] = i, length
        at[i] += 1
        at[j] += 1
    return first, others, lengths


@numba.njit(cache=True, nogil=True)
def _solve(places, walls, first, others, lengths, targets, edges, cells, mine, inside):
    count = len(places)
    cost, following = np.full(count, np.inf), np.full(count, -1, np.int32)
    gaps = np.empty(len(targets))
    for i in range(count):  # the nearest target in sight
        for t in range(len(targets)):
            d_row, d_column = targets[t, 0] - places[i, 0], targets[t, 1] - places[i, 1]
            gaps[t] = np.hypot(d_row, d_column) if _bends(walls, i, d_row, d_column) else np.inf
        for _ in range(len(targets)):
            t = int(gaps.argmin())
            if gaps[t] == np.inf:
                break
            if _sees(places[i, 0], places[i, 1], targets[t, 0], targets[t, 1], edges, cells, mine, inside):
                cost[i], following[i] = gaps[t], -1 - t
                break
            gaps[t] = np.inf
    done = np.zeros(count, np.bool_)
    for _ in range(count):
        best, at = np.inf, -1
        for i in range(count):
            if not done[i] and cost[i] < best:
                best, at = cost[i], i
        if at < 0:
            break
        done[at] = True
        for k in range(first[at], first[at + 1]):
            if best + lengths[k] < cost[others[k]]:
                cost[others[k]], following[others[k]] = best + lengths[k], at
    return cost, following


@numba.njit(cache=True, nogil=True)
def _first_seen(starts, places, walls, targets, cost, edges, cells, mine, inside):
    """(P,) lengths and (P,) what is gone to first: a corner, or a target counted from -1 downwards."""
    count, ends = len(places), len(targets)
    out, seen = np.full(len(starts), np.inf), np.zeros(len(starts), np.int64)
    totals = np.empty(count + ends)
    if count + ends == 0:
        return out, seen
    for p in range(len(starts)):
        row, column = starts[p]
        for i in range(count):
            d_row, d_column = places[i, 0] - row, places[i, 1] - column
            totals[i] = cost[i] + np.hypot(d_row, d_column)
            if totals[i] < np.inf and not _bends(walls, i, d_row, d_column):
                totals[i] = np.inf
        for t in range(ends):
            totals[count + t] = np.hypot(targets[t, 0] - row, targets[t, 1] - column)
        while True:
            i = int(totals.argmin())
            if totals[i] == np.inf:
                break
            if i < count:
                r, c = places[i, 0], places[i, 1]
            else:
                r, c = targets[i - count, 0], targets[i - count, 1]
            if _sees(row, column, r, c, edges, cells, mine, inside):
                out[p], seen[p] = totals[i], i if i < count else -1 - (i - count)
                break
            totals[i] = np.inf
    return out, seen
