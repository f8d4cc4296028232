"""Regions of a floor's free cells, as Recast divides them for habitat-sim's navmesh.

Only their ends at the walls matter here: the simplified border of the navmesh keeps every corner where the
region beside a wall changes, so without the same regions it would run up to a cell elsewhere. The rules are
Recast's watershed: cells flood from the roomiest places outwards, then small regions join a neighbour.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy import ndimage

from hm3dm3_env.sim.navigation.walkable import chamfer

REGION_SIZE = 400
"""Regions of at most so many cells join a neighbour (habitat-sim: 20 x 20)."""
_SWELL = 8
"""Rounds by which regions may grow at each level before new ones are begun (Recast)."""
_STACKS = 8
"""Levels whose cells are sorted at a time (Recast)."""
SIDES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])
"""Row and column offsets of a cell's sides in Recast's order: -x, +z, +x, -z."""


def room(free: np.ndarray) -> np.ndarray:
    """(rows, columns) int32: twice the distance in cells to the border of the free cells."""
    inside = free.copy()
    inside[1:-1, 1:-1] &= free[:-2, 1:-1] & free[2:, 1:-1] & free[1:-1, :-2] & free[1:-1, 2:]
    return chamfer(inside)


def regions(free: np.ndarray, size: int = REGION_SIZE) -> np.ndarray:
    """(rows, columns) int32 region of each of the free cells, from 1 (0: not free).

    Args:
        free: cells of one floor; the outermost ring must be False.
        size: regions of at most so many cells join a neighbour.
    """
    distance = room(free)
    total = ndimage.convolve(distance, np.ones((3, 3), np.int32), mode="constant")
    smooth = np.where(distance > 2, (total + 5) // 9, distance).astype(np.int32)
    found = _watershed(free, smooth, int(distance.max(initial=0)))
    return _merged(found, size)


@numba.njit(cache=True, nogil=True)
def _watershed(free, distance, highest):
    rows, columns = free.shape
    cells = 0
    for r in range(rows):
        for c in range(columns):
            cells += free[r, c]
    region, spent = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.int32)
    stacks, counts = np.empty((_STACKS, cells, 2), np.int32), np.zeros(_STACKS, np.int64)
    scratch = np.empty((cells + 1, 2), np.int32)
    changed = np.empty((cells, 4), np.int32)
    level, which, label = (highest + 1) // 2 * 2, -1, 1
    while level > 0:
        level = max(level - 2, 0)
        which = (which + 1) % _STACKS
        if which == 0:
            _sort(free, distance, region, level, stacks, counts)
        else:
            for j in range(counts[which - 1]):
                r, c = stacks[which - 1, j, 0], stacks[which - 1, j, 1]
                if r >= 0 and region[r, c] == 0:
                    stacks[which, counts[which]] = stacks[which - 1, j]
                    counts[which] += 1
        stack = stacks[which, : counts[which]]
        for j in range(len(stack)):
            if stack[j, 0] >= 0 and region[stack[j, 0], stack[j, 1]] != 0:
                stack[j, 0] = -1
        _expand(free, region, spent, stack, _SWELL if level > 0 else cells, changed)
        for j in range(len(stack)):
            r, c = stack[j]
            if (
                r >= 0
                and region[r, c] == 0
                and _flood(free, distance, region, spent, r, c, level, label, scratch)
            ):
                label += 1
    left = 0
    for r in range(rows):
        for c in range(columns):
            if free[r, c] and region[r, c] == 0:
                scratch[left, 0], scratch[left, 1] = r, c
                left += 1
    _expand(free, region, spent, scratch[:left], cells, changed)
    return region


@numba.njit(cache=True, nogil=True)
def _sort(free, distance, region, level, stacks, counts):
    """The cells of the next levels without a region, one stack a level, in reading order."""
    counts[:] = 0
    for r in range(free.shape[0]):
        for c in range(free.shape[1]):
            if free[r, c] and region[r, c] == 0:
                which = max((level >> 1) - (distance[r, c] >> 1), 0)
                if which < _STACKS:
                    stacks[which, counts[which], 0], stacks[which, counts[which], 1] = r, c
                    counts[which] += 1


@numba.njit(cache=True, nogil=True)
def _expand(free, region, spent, stack, rounds, changed):
    """Give the cells on the stack the nearest region beside them; those that got one leave it (row -1)."""
    for _ in range(rounds):
        failed, count = 0, 0
        for j in range(len(stack)):
            r, c = stack[j]
            if r < 0:
                failed += 1
                continue
            best, near = region[r, c], 1 << 16
            for side in range(4):
                nr, nc = r + SIDES[side, 0], c + SIDES[side, 1]
                if free[nr, nc] and region[nr, nc] > 0 and spent[nr, nc] + 2 < near:
                    best, near = region[nr, nc], spent[nr, nc] + 2
            if best == 0:
                failed += 1
                continue
            stack[j, 0] = -1
            changed[count, 0], changed[count, 1], changed[count, 2], changed[count, 3] = r, c, best, near
            count += 1
        for j in range(count):
            region[changed[j, 0], changed[j, 1]] = changed[j, 2]
            spent[changed[j, 0], changed[j, 1]] = changed[j, 3]
        if failed == len(stack):
            return


@numba.njit(cache=True, nogil=True)
def _flood(free, distance, region, spent, row, column, level, label, scratch):
    """Begin a region at a cell: all around it down to the level below, but none beside another region."""
    scratch[0, 0], scratch[0, 1] = row, column
    region[row, column], spent[row, column] = label, 0
    size, count, low = 1, 0, max(level - 2, 0)
    while size > 0:
        size -= 1
        r, c = scratch[size, 0], scratch[size, 1]
        taken = False
        for side in range(4):
            nr, nc = r + SIDES[side, 0], c + SIDES[side, 1]
            if not free[nr, nc]:
                continue
            if region[nr, nc] != 0 and region[nr, nc] != label:
                taken = True
                break
            turn = (side + 1) % 4
            dr, dc = nr + SIDES[turn, 0], nc + SIDES[turn, 1]
            if free[dr, dc] and region[dr, dc] != 0 and region[dr, dc] != label:
                taken = True
                break
        if taken:
            region[r, c] = 0
            continue
        count += 1
        for side in range(4):
            nr, nc = r + SIDES[side, 0], c + SIDES[side, 1]
            if free[nr, nc] and distance[nr, nc] >= low and region[nr, nc] == 0:
                region[nr, nc], spent[nr, nc] = label, 0
                scratch[size, 0], scratch[size, 1] = nr, nc
                size += 1
    return count > 0


# -- small regions join a neighbour ------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def _around(region, row, column, side):
    """The regions beside one region in the order of a walk along its border, from a cell and side of it."""
    label, r, c, way = region[row, column], row, column, side
    out = np.empty(64, np.int32)
    out[0] = region[r + SIDES[way, 0], c + SIDES[way, 1]]
    count = 1
    while True:
        nr, nc = r + SIDES[way, 0], c + SIDES[way, 1]
        if region[nr, nc] != label:
            if region[nr, nc] != out[count - 1]:
                if count == len(out):
                    out = np.append(out, np.empty(count, np.int32))
                out[count] = region[nr, nc]
                count += 1
            way = (way + 1) % 4
        else:
            r, c, way = nr, nc, (way + 3) % 4
        if r == row and c == column and way == side:
            return out[:count]


@numba.njit(cache=True, nogil=True)
def _first_borders(region, count):
    """(count + 1, 3) row, column and side of the first border of each region in reading order (-1: none)."""
    first = np.full((count + 1, 3), -1, np.int64)
    for r in range(1, region.shape[0] - 1):
        for c in range(1, region.shape[1] - 1):
            label = region[r, c]
            if label == 0 or first[label, 0] >= 0:
                continue
            for side in range(4):
                if region[r + SIDES[side, 0], c + SIDES[side, 1]] != label:
                    first[label, 0], first[label, 1], first[label, 2] = r, c, side
                    break
    return first


def _without_repeats(ring: list[int]) -> list[int]:
    """A ring without entries that equal the next one; one entry stays."""
    i = 0
    while i < len(ring) and len(ring) > 1:
        if ring[i] == ring[(i + 1) % len(ring)]:
            del ring[i]
        else:
            i += 1
    return ring


def _merged(region: np.ndarray, size: int) -> np.ndarray:
    count = int(region.max(initial=0))
    sizes = np.bincount(region.ravel(), minlength=count + 1).tolist()
    rings: list[list[int]] = [[] for _ in range(count + 1)]
    for label, (row, column, side) in enumerate(_first_borders(region, count)):
        if row >= 0:
            rings[label] = _without_repeats(_around(region, row, column, side).tolist())
    now = list(range(count + 1))  # what each of the first regions has become
    merged = True
    while merged:
        merged = False
        for label in range(1, count + 1):
            ring = rings[label]
            if sizes[label] == 0 or (sizes[label] > size and 0 in ring):
                continue
            target, least = now[label], 1 << 30
            for other in ring:
                into = now[other]
                if (
                    into
                    and sizes[other] < least
                    and ring.count(into) <= 1
                    and rings[other].count(now[label]) <= 1
                ):
                    target, least = into, sizes[other]
            if target != now[label] and _join(rings, target, label):
                sizes[target] += sizes[label]
                sizes[label] = 0
                gone = now[label]
                for other in range(1, count + 1):
                    if now[other] == gone:
                        now[other] = target
                    if gone in rings[other]:
                        rings[other] = _without_repeats([target if n == gone else n for n in rings[other]])
                merged = True
    return np.array(now, np.int32)[region]


def _join(rings: list[list[int]], target: int, label: int) -> bool:
    """Put the ring of `label` into that of `target` where they meet; False if they don't."""
    mine, other = rings[target], rings[label]
    if label not in mine or target not in other:
        return False
    a, b = mine.index(label), other.index(target)
    rings[target] = _without_repeats(mine[a + 1 :] + mine[:a] + other[b + 1 :] + other[:b])
    rings[label] = []
    return True
