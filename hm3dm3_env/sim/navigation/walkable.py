"""From voxels to the cells where the body's centre may be: Recast's filters and erosion, floor by floor.

The rules are those of Recast as habitat-sim runs it (walkable height, climb, ledges, chamfer erosion, small
regions dropped), so that both simulators stop at the same walls. One thing differs: Recast rounds the radius
up to whole cells and so closes doorways that the body fits through; `passages` opens them again.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy import ndimage

MIN_ISLAND_AREA = 1.0
"""Smaller pieces of walkable floor are dropped, square metres (habitat-sim: 20 x 20 cells of 5 cm)."""


@numba.njit(cache=True, nogil=True)
def standable(solid: np.ndarray, top: np.ndarray, clearance: int) -> np.ndarray:
    """(rows, columns, layers) bool: voxels with a walkable top and more than `clearance` empty layers above
    (one layer more than the body needs: so does Recast)."""
    rows, columns, layers = solid.shape
    out = np.zeros_like(solid)
    for r in range(rows):
        for c in range(columns):
            empty = clearance + 1  # above the grid there is air
            for y in range(layers - 1, -1, -1):
                if solid[r, c, y]:
                    out[r, c, y] = empty > clearance and top[r, c, y] > -np.inf
                    empty = 0
                else:
                    empty += 1
    return out


@numba.njit(cache=True, nogil=True)
def without_ledges(stand: np.ndarray, solid: np.ndarray, clearance: int, climb: int) -> np.ndarray:
    """`stand` less the voxels beside a drop of more than `climb` layers, and those on too steep ground."""
    rows, columns, layers = solid.shape
    out = stand.copy()
    sky = 1 << 20
    for r in range(rows):
        for c in range(columns):
            for y in range(layers):
                if not stand[r, c, y]:
                    continue
                bottom, ceiling = y + 1, y + 1
                while ceiling < layers and not solid[r, c, ceiling]:
                    ceiling += 1
                if ceiling == layers:
                    ceiling = sky
                lowest, low, high = sky, bottom, bottom
                for side in range(4):
                    nr, nc = r + (side == 0) - (side == 1), c + (side == 2) - (side == 3)
                    if nr < 0 or nc < 0 or nr >= rows or nc >= columns:
                        lowest = min(lowest, -climb - bottom)
                        continue
                    start = -climb  # the gap below the column's first solid voxel
                    for k in range(layers + 1):
                        if k < layers and not solid[nr, nc, k]:
                            continue
                        end = k if k < layers else sky
                        if min(ceiling, end) - max(bottom, start) > clearance:
                            lowest = min(lowest, start - bottom)
                            if start >= 0 and abs(start - bottom) <= climb:
                                low, high = min(low, start), max(high, start)
                        start = k + 1
                if lowest < -climb or high - low > climb:
                    out[r, c, y] = False
    return out


@numba.njit(cache=True, nogil=True)
def connected(walkable: np.ndarray, layer: np.ndarray, climb: int) -> np.ndarray:
    """(rows, columns) bool: walkable cells whose four neighbours are walkable and no step away."""
    rows, columns = walkable.shape
    out = np.zeros_like(walkable)
    for r in range(1, rows - 1):
        for c in range(1, columns - 1):
            if walkable[r, c]:
                inside = True
                for side in range(4):
                    nr, nc = r + (side == 0) - (side == 1), c + (side == 2) - (side == 3)
                    if not walkable[nr, nc] or abs(layer[nr, nc] - layer[r, c]) > climb:
                        inside = False
                out[r, c] = inside
    return out


@numba.njit(cache=True, nogil=True)
def chamfer(inside: np.ndarray) -> np.ndarray:
    """(rows, columns) int32: twice the distance in cells to the nearest cell that is not `inside`, straight
    steps counting 2 and diagonal ones 3, as Recast counts them."""
    rows, columns = inside.shape
    out = np.where(inside, np.int32(1 << 20), np.int32(0))
    for turn in range(2):
        sign = 1 if turn == 0 else -1
        for i in range(1, rows - 1):
            r = i if turn == 0 else rows - 1 - i
            for j in range(1, columns - 1):
                c = j if turn == 0 else columns - 1 - j
                if inside[r, c]:
                    best = min(out[r - sign, c], out[r, c - sign]) + 2
                    best = min(best, out[r - sign, c - sign] + 3, out[r - sign, c + sign] + 3)
                    out[r, c] = min(out[r, c], best)
    return out


def erode(walkable: np.ndarray, layer: np.ndarray, climb: int, radius: int) -> np.ndarray:
    """(rows, columns) bool: where the centre of a body of `radius` cells may be."""
    return walkable & (chamfer(connected(walkable, layer, climb)) >= 2 * radius)


def islands(free: np.ndarray, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """`free` without pieces of fewer than `smallest` cells, and labels of the rest from 1 (0: not free)."""
    labels, count = ndimage.label(free)
    if count == 0:
        return free, labels
    sizes = np.bincount(labels.ravel())
    keep = sizes >= smallest
    keep[0] = False
    number = np.where(keep, np.cumsum(keep), 0)
    return keep[labels], number[labels]
