"""Narrow passages: where the body fits through, to a millimetre, though whole cells say that it does not.

Recast rounds the body's radius up to whole cells on both sides: at 5 cm it shuts every doorway below 0.45 m,
and a slanted one below 0.6 m, for a body of 0.34 m. Here the true width between the geometry on both sides
decides, but only in passages: along ordinary walls the border stays where Recast has it.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy import ndimage
from skimage.morphology import skeletonize

from hm3dm3_env.sim.navigation.voxels import clip
from hm3dm3_env.sim.navigation.walkable import MIN_ISLAND_AREA, islands

_SLACK = 7e-3
"""Metres by which a passage may seem to fall short of the body's width (ours; measured widths are up to 2 mm
too small, see `_SIDES`, and the position of a cell's centre costs as much again)."""
_EIGHT = np.ones((3, 3), bool)


def open_passages(
    free: np.ndarray,
    walkable: np.ndarray,
    triangles: np.ndarray,
    origin: np.ndarray,
    cell: float,
    band: tuple[float, float],
    radius: float,
    joining: bool,
) -> np.ndarray:
    """`free` (rows, columns) bool, with narrow passages between its parts added, and without pieces too small
    to be islands that lie in none.

    Args:
        walkable: cells that can be stood on, however near a wall is.
        triangles: (T, 3, 3) float32, metres.
        origin: (3,) position of the grid's low corner.
        band: lowest and highest y of what blocks the body, metres.
        radius: of the body, metres.
        joining: only as many passages as it takes to connect the parts, wide ones first: ways between places
            that are connected already get no shorter, as there are none in habitat-sim.
    """
    roomy = walkable & (ndimage.distance_transform_edt(walkable) > radius / cell - 1.5)
    middle = skeletonize(roomy | free) | _corners(free)
    whole = free
    free, labels = islands(whole, MIN_ISLAND_AREA / cell**2)
    ends = labels if joining else None
    links = between(middle & ~free, free, ends)
    if not links.any():
        return free
    wanted = ndimage.binary_dilation(links, _EIGHT, iterations=2) & roomy & ~free
    cells = np.argwhere(wanted)
    near, width = _room(cells, free.shape, triangles, origin, cell, band, radius)
    # A cell's centre is at most half a diagonal off the middle of a passage; a passage of the body's width
    # then always has a row of cells that are neighbours by their sides.
    fits = np.zeros_like(free)
    fits[tuple(cells.T)] = (near >= radius - cell * 0.71 - _SLACK / 2) & (width >= 2 * radius - _SLACK)
    fits |= whole & ~free
    if ends is None:
        return free | between(fits, free, None)
    widths = np.zeros(free.shape)
    widths[tuple(cells.T)] = np.minimum(width, 1e3)
    return free | _enough(fits, widths, ends)


def _enough(fits: np.ndarray, widths: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """As many connected pieces of `fits` (rows, columns) as connect the parts labelled `ends`, wide first."""
    labels, count = ndimage.label(fits, _EIGHT)
    found = []
    for index, window in enumerate(ndimage.find_objects(labels), 1):
        grown = tuple(slice(max(s.start - 2, 0), s.stop + 2) for s in window)
        mine = labels[grown] == index
        touched = set(ends[grown][ndimage.binary_dilation(mine, _EIGHT)].tolist()) - {0}
        found.append((-float(np.median(widths[grown][mine])), index, touched))
    part = list(range(int(ends.max(initial=0)) + 1))
    keep = np.zeros(count + 1, bool)
    for _, index, touched in sorted(found, key=lambda piece: piece[:2]):
        joined = {part[end] for end in touched}
        if len(joined) > 1:
            keep[index] = True
            part = [min(joined) if at in joined else at for at in part]
    return keep[labels]


def _corners(free: np.ndarray) -> np.ndarray:
    """Cells beside two free ones that touch at a corner only: no body passes there."""
    out = np.zeros_like(free)
    a, b, c, d = free[:-1, :-1], free[:-1, 1:], free[1:, :-1], free[1:, 1:]
    falling, rising = a & d & ~b & ~c, b & c & ~a & ~d
    out[:-1, 1:] |= falling
    out[1:, :-1] |= falling
    out[:-1, :-1] |= rising
    out[1:, 1:] |= rising
    return out


def between(parts: np.ndarray, free: np.ndarray, ends: np.ndarray | None) -> np.ndarray:
    """Those connected pieces of `parts` that touch `free` in more than one place, or more than one of the
    labels `ends` if they are given."""
    labels, count = ndimage.label(parts, _EIGHT)
    keep = np.zeros(count + 1, bool)
    for index, window in enumerate(ndimage.find_objects(labels), 1):
        grown = tuple(slice(max(s.start - 2, 0), s.stop + 2) for s in window)
        touched = free[grown] & ndimage.binary_dilation(labels[grown] == index, _EIGHT)
        places = ndimage.label(touched)[0] if ends is None else ends[grown] * touched
        keep[index] = len(np.unique(places[touched])) > 1
    return keep[labels]


def _room(
    cells: np.ndarray,
    shape: tuple[int, int],
    triangles: np.ndarray,
    origin: np.ndarray,
    cell: float,
    band: tuple[float, float],
    radius: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(N,) distance from the centres of (N, 2) cells to the nearest geometry in the band, and (N,) the width
    there: that distance and the one to the nearest geometry on the other side together (inf: nothing there).

    The geometry in each cell is its convex hull, kept as how far it goes in `_SIDES` directions.
    """
    reach = int(np.ceil((2 * radius + cell) / cell))
    needed = np.zeros(shape, bool)
    needed[tuple(cells.T)] = True
    needed = ndimage.binary_dilation(needed, np.ones((2 * reach + 1,) * 2, bool))
    heights, flat = triangles[..., 1], triangles[..., [2, 0]]
    first = np.floor((flat.min(1) - origin[[2, 0]]) / cell).astype(int)
    last = np.floor((flat.max(1) - origin[[2, 0]]) / cell).astype(int)
    rows, columns = np.nonzero(needed.any(1))[0], np.nonzero(needed.any(0))[0]
    near = (heights.max(1) > band[0]) & (heights.min(1) < band[1])
    near &= (last >= (rows[0], columns[0])).all(1) & (first <= (rows[-1], columns[-1])).all(1)
    support = np.full((*shape, _SIDES), -np.inf, np.float32)
    _hulls(triangles[near].astype(np.float64), origin, cell, band[0], band[1], needed, _DIRECTIONS, support)
    return _widths(cells, origin, cell, reach, _DIRECTIONS, support)


_SIDES = 32
"""Directions of a hull: distances of 0.2 m are then too small by a millimetre at most."""
_ANGLES = np.arange(_SIDES) * 2 * np.pi / _SIDES
_DIRECTIONS = np.stack([np.sin(_ANGLES), np.cos(_ANGLES)], 1)


@numba.njit(cache=True, nogil=True)
def _hulls(triangles, origin, cell, low, high, needed, directions, support):
    """How far the geometry between two heights goes in each direction (z, x), from the grid's low corner, in
    each of the needed cells."""
    rows, columns = needed.shape
    whole, a, slab, strip, piece = (
        np.empty((3, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
    )
    for t in range(triangles.shape[0]):
        for i in range(3):
            for k in range(3):
                whole[i, k] = triangles[t, i, k] - (0.0 if k == 1 else origin[k])
        n = clip(whole, 3, 1, low, True, a)
        n = clip(a, n, 1, high, False, slab)
        if n == 0:
            continue
        r0 = max(int(np.floor(slab[:n, 2].min() / cell)), 0)
        r1 = min(int(np.floor(slab[:n, 2].max() / cell)), rows - 1)
        for r in range(r0, r1 + 1):
            m = clip(slab, n, 2, r * cell, True, a)
            m = clip(a, m, 2, (r + 1) * cell, False, strip)
            if m == 0:
                continue
            c0 = max(int(np.floor(strip[:m, 0].min() / cell)), 0)
            c1 = min(int(np.floor(strip[:m, 0].max() / cell)), columns - 1)
            for c in range(c0, c1 + 1):
                if not needed[r, c]:
                    continue
                k = clip(strip, m, 0, c * cell, True, a)
                k = clip(a, k, 0, (c + 1) * cell, False, piece)
                for i in range(k):
                    for d in range(directions.shape[0]):
                        value = directions[d, 0] * piece[i, 2] + directions[d, 1] * piece[i, 0]
                        support[r, c, d] = max(support[r, c, d], value)


@numba.njit(cache=True, nogil=True)
def _widths(cells, origin, cell, reach, directions, support):
    rows, columns = support.shape[:2]
    near, width = np.full(cells.shape[0], np.inf), np.full(cells.shape[0], np.inf)
    found, side = np.empty((2 * reach + 1) ** 2), np.empty((2 * reach + 1) ** 2, np.int64)
    for i in range(cells.shape[0]):
        z, x = (cells[i, 0] + 0.5) * cell, (cells[i, 1] + 0.5) * cell
        count, best = 0, -1
        for r in range(max(cells[i, 0] - reach, 0), min(cells[i, 0] + reach + 1, rows)):
            for c in range(max(cells[i, 1] - reach, 0), min(cells[i, 1] + reach + 1, columns)):
                if support[r, c, 0] == -np.inf:
                    continue
                gap, way = 0.0, 0
                for d in range(directions.shape[0]):  # the distance to a convex set: the widest slab between
                    value = directions[d, 0] * z + directions[d, 1] * x - support[r, c, d]
                    if value > gap:
                        gap, way = value, d
                found[count], side[count] = gap, way
                if best < 0 or gap < found[best]:
                    best = count
                count += 1
        if best < 0:
            continue
        near[i] = found[best]
        toward = directions[side[best]]
        for k in range(count):
            other = directions[side[k]]
            if toward[0] * other[0] + toward[1] * other[1] < -0.5:
                width[i] = min(width[i], found[best] + found[k])
    return near, width
