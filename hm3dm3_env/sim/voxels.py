"""Triangles to voxels, the way Recast does it: every triangle is clipped to the grid's columns.

Clipping keeps thin sheets (scanned walls have no thickness) and legs that point sampling would miss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np


@dataclass
class Voxels:
    """A solid grid.

    Attributes:
        solid: (rows, columns, layers) bool; row = z, column = x, layer = y.
        top: (rows, columns, layers) float32, metres: highest walkable (not steep) surface in the voxel,
            -inf if none.
        origin: (3,) world position of the grid's low corner; in the plane a whole number of cells below the
            lowest corner of the mesh, where Recast's grid starts.
        cell, layer: metres.
    """

    solid: np.ndarray
    top: np.ndarray
    origin: np.ndarray
    cell: float
    layer: float


def voxelise(
    triangles: np.ndarray, cell: float, layer: float, max_slope_deg: float, margin: int = 2
) -> Voxels:
    """Voxels of (T, 3, 3) triangles (y up), with `margin` empty cells around them."""
    flat = triangles.reshape(-1, 3).astype(np.float64)
    low, high = flat.min(0), flat.max(0)
    origin = np.array([low[0] - margin * cell, low[1] - 1.5 * layer, low[2] - margin * cell])
    columns, layers, rows = (int(np.ceil((high[i] - origin[i]) / size)) + extra
                             for i, size, extra in ((0, cell, margin), (1, layer, 2), (2, cell, margin)))
    solid = np.zeros((rows, columns, layers), np.bool_)
    top = np.full((rows, columns, layers), -np.inf, np.float32)
    bound = low.astype(np.float32)
    _fill(triangles.astype(np.float64), origin, bound, margin, cell, layer,
          np.cos(np.radians(max_slope_deg)), solid, top)
    return Voxels(solid, top, origin, cell, layer)


@numba.njit(cache=True, nogil=True)
def clip(polygon, count, axis, bound, keep_above, out):
    """Clip a convex polygon (count, 3) to one side of axis = bound; returns the corners in `out`."""
    size = 0
    sign = 1.0 if keep_above else -1.0
    for i in range(count):
        j = (i + 1) % count
        a, b = sign * (polygon[i, axis] - bound), sign * (polygon[j, axis] - bound)
        if a >= 0:
            for k in range(3):
                out[size, k] = polygon[i, k]
            size += 1
        if (a > 0 and b < 0) or (a < 0 and b > 0):
            t = a / (a - b)
            for k in range(3):
                out[size, k] = polygon[i, k] + t * (polygon[j, k] - polygon[i, k])
            size += 1
    return size


@numba.njit(cache=True, nogil=True)
def _cell_of(value, bound, scale):
    """Recast's own arithmetic in single precision: walls often lie on borders of cells, where it decides."""
    return int(np.float32(np.float32(value) - bound) * scale)


@numba.njit(cache=True, nogil=True)
def _fill(triangles, origin, bound, margin, cell, layer, min_up, solid, top):
    rows, columns, layers = solid.shape
    scale = np.float32(1.0) / np.float32(cell)
    whole, strip, strip2, piece, piece2 = (
        np.empty((3, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
        np.empty((9, 3)),
    )
    for t in range(triangles.shape[0]):
        for i in range(3):
            for k in range(3):
                whole[i, k] = triangles[t, i, k]
        ux, uy, uz = whole[1, 0] - whole[0, 0], whole[1, 1] - whole[0, 1], whole[1, 2] - whole[0, 2]
        vx, vy, vz = whole[2, 0] - whole[0, 0], whole[2, 1] - whole[0, 1], whole[2, 2] - whole[0, 2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        norm = np.sqrt(nx * nx + ny * ny + nz * nz)
        walkable = norm > 0 and abs(ny) >= min_up * norm
        r0 = _cell_of(min(whole[0, 2], whole[1, 2], whole[2, 2]), bound[2], scale) + margin
        r1 = _cell_of(max(whole[0, 2], whole[1, 2], whole[2, 2]), bound[2], scale) + margin
        for r in range(r0, r1 + 1):
            z = origin[2] + r * cell
            n = clip(whole, 3, 2, z, True, strip)
            n = clip(strip, n, 2, z + cell, False, strip2)
            if n == 0:
                continue
            x_low, x_high = strip2[0, 0], strip2[0, 0]
            for i in range(1, n):
                x_low, x_high = min(x_low, strip2[i, 0]), max(x_high, strip2[i, 0])
            c0, c1 = (_cell_of(x_low, bound[0], scale) + margin, _cell_of(x_high, bound[0], scale) + margin)
            for c in range(c0, c1 + 1):
                x = origin[0] + c * cell
                m = clip(strip2, n, 0, x, True, piece)
                m = clip(piece, m, 0, x + cell, False, piece2)
                if m == 0:
                    continue
                low, high = piece2[0, 1], piece2[0, 1]
                for i in range(1, m):
                    low, high = min(low, piece2[i, 1]), max(high, piece2[i, 1])
                y0 = max(int((low - origin[1]) / layer), 0)
                y1 = min(int((high - origin[1]) / layer), layers - 1)
                for y in range(y0, y1 + 1):
                    solid[r, c, y] = True
                if walkable and high > top[r, c, y1]:
                    top[r, c, y1] = high
