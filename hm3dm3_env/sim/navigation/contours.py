"""The border of a floor as habitat-sim's navmesh has it: straight edges along the staircase of free cells.

Recast walks around every region and keeps of its corners only those that are needed to stay within 1.3 cells
of the staircase. The edges at walls are where a body stops.
"""

from __future__ import annotations

import numba
import numpy as np

from hm3dm3_env.sim.navigation.regions import SIDES, regions

MAX_ERROR = 1.3
"""Cells by which an edge may miss the staircase (habitat-sim's edgeMaxError)."""
MAX_EDGE = 12.0
"""Longer edges at walls are divided, metres (habitat-sim's edgeMaxLen)."""


def border(free: np.ndarray, cell: float) -> np.ndarray:
    """(E, 4) float64 wall edges (row, column, row, column) of a floor's free cells, in cells; whole numbers
    are borders of cells. Together they are closed lines.

    Args:
        free: the outermost ring must be False.
        cell: metres.
    """
    region = regions(free)
    kept: dict[tuple[int, int, int, int], int] = {}
    for corners, beyond in _contours(region):
        picked = _simplified(corners, beyond, MAX_ERROR, int(MAX_EDGE / cell))
        points = corners[picked]
        points = points[(points != np.roll(points, -1, 0)).any(1)] if len(points) > 1 else points
        if len(points) < 3:
            continue
        following = beyond[(picked + 1) % len(corners)]
        for (r0, c0), (r1, c1), other in zip(corners[picked], np.roll(corners[picked], -1, 0), following):
            if (r0, c0) != (r1, c1):
                kept[int(r0), int(c0), int(r1), int(c1)] = int(other)
    walls = [
        edge for edge, other in kept.items() if other == 0 or (edge[2], edge[3], edge[0], edge[1]) not in kept
    ]
    return np.array(walls, float).reshape(-1, 4)


def _contours(region: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every closed line around regions: (N, 2) corners (row, column), and (N,) the region beyond the side
    that ends at each."""
    padded = region.astype(np.int32)
    open_sides = np.zeros((*region.shape, 4), np.bool_)
    inner = padded[1:-1, 1:-1]
    for side, (dr, dc) in enumerate(SIDES):
        beyond = padded[1 + dr : padded.shape[0] - 1 + dr, 1 + dc : padded.shape[1] - 1 + dc]
        open_sides[1:-1, 1:-1, side] = (beyond != inner) & (inner != 0)
    open_sides[open_sides.all(2)] = False  # Recast makes no contour of a single cell
    found = []
    for row, column in np.argwhere(open_sides.any(2)):
        if open_sides[row, column].any():
            found.append(_walk(padded, open_sides, row, column))
    return found


@numba.njit(cache=True, nogil=True)
def _walk(region, open_sides, row, column):
    """One line around a region, from the first open side of a cell; its sides are closed."""
    way = 0
    while not open_sides[row, column, way]:
        way += 1
    begin, r, c = way, row, column
    corners, beyond, count = np.empty((64, 2), np.int64), np.empty(64, np.int64), 0
    while True:
        if open_sides[r, c, way]:
            if count == len(corners):
                corners = np.concatenate((corners, np.empty((count, 2), np.int64)))
                beyond = np.append(beyond, np.empty(count, np.int64))
            corners[count, 0] = r + (way == 0 or way == 1)
            corners[count, 1] = c + (way == 1 or way == 2)
            beyond[count] = region[r + SIDES[way, 0], c + SIDES[way, 1]]
            count += 1
            open_sides[r, c, way] = False
            way = (way + 1) % 4
        else:
            r, c, way = r + SIDES[way, 0], c + SIDES[way, 1], (way + 3) % 4
        if r == row and c == column and way == begin:
            return corners[:count].copy(), beyond[:count].copy()


@numba.njit(cache=True, nogil=True)
def _simplified(corners, beyond, error, longest):
    """(K,) indices of the corners that stay, in order."""
    n = len(corners)
    kept, count = np.empty(n + 2, np.int64), 0
    if (beyond != 0).any():
        for i in range(n):
            if beyond[i] != beyond[(i + 1) % n]:
                kept[count] = i
                count += 1
    if count == 0:  # a line that meets one region only: begin with its lower left and upper right corners
        low, high = 0, 0
        for i in range(n):
            if corners[i, 1] < corners[low, 1] or (
                corners[i, 1] == corners[low, 1] and corners[i, 0] < corners[low, 0]
            ):
                low = i
            if corners[i, 1] > corners[high, 1] or (
                corners[i, 1] == corners[high, 1] and corners[i, 0] > corners[high, 0]
            ):
                high = i
        kept[0], kept[1], count = low, high, 2
    i = 0
    while i < count:
        a, b = kept[i], kept[(i + 1) % count]
        forward = corners[b, 1] > corners[a, 1] or (
            corners[b, 1] == corners[a, 1] and corners[b, 0] > corners[a, 0]
        )
        step = 1 if forward else n - 1
        first, last = (a, b) if forward else (b, a)
        at, worst, far = (first + step) % n, -1, 0.0
        if beyond[at] == 0:
            while at != last:
                gap = _gap(corners[at], corners[first], corners[last])
                if gap > far:
                    far, worst = gap, at
                at = (at + step) % n
        if worst >= 0 and far > np.float32(error) * np.float32(error):
            count = _insert(kept, count, i + 1, worst)
        else:
            i += 1
    i = 0
    while i < count:
        a, b = kept[i], kept[(i + 1) % count]
        steps = (b - a) % n
        length = (corners[b, 0] - corners[a, 0]) ** 2 + (corners[b, 1] - corners[a, 1]) ** 2
        if beyond[(a + 1) % n] == 0 and length > longest**2 and steps > 1:
            forward = corners[b, 1] > corners[a, 1] or (
                corners[b, 1] == corners[a, 1] and corners[b, 0] > corners[a, 0]
            )
            count = _insert(kept, count, i + 1, (a + (steps if forward else steps + 1) // 2) % n)
        else:
            i += 1
    return kept[:count].copy()


@numba.njit(cache=True, nogil=True)
def _insert(kept, count, at, value):
    for j in range(count, at, -1):
        kept[j] = kept[j - 1]
    kept[at] = value
    return count + 1


@numba.njit(cache=True, nogil=True)
def _gap(point, start, end):
    """Squared distance of a corner from a segment, in single precision as Recast has it: ties are common."""
    along_r, along_c = np.float32(end[0] - start[0]), np.float32(end[1] - start[1])
    off_r, off_c = np.float32(point[0] - start[0]), np.float32(point[1] - start[1])
    length = along_c * along_c + along_r * along_r
    share = along_c * off_c + along_r * off_r
    if length > 0:
        share = share / length
    share = min(max(share, np.float32(0)), np.float32(1))
    gap_c = np.float32(start[1]) + share * along_c - np.float32(point[1])
    gap_r = np.float32(start[0]) + share * along_r - np.float32(point[0])
    return gap_c * gap_c + gap_r * gap_r
