"""Triangles to voxels, the way Recast does it: every triangle is clipped to the grid's columns.

Clipping keeps thin sheets (scanned walls have no thickness) and legs that point sampling would miss. All of
it is in single precision and in Recast's order of operations, since walls often lie on borders of cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

_F = np.float32


@dataclass
class Voxels:
    """A solid grid.

    Attributes:
        solid: (rows, columns, layers) bool; row = z, column = x, layer = y.
        top: (rows, columns, layers) float32, metres: height of the surface in the uppermost voxel of each
            stack of solid ones, if it is walkable (not steep); -inf elsewhere.
        origin: (3,) world position of the grid's low corner; in the plane a whole number of cells below the
            lowest corner of the mesh, where Recast's grid starts, and in height at that corner.
        cell, layer: metres.
    """

    solid: np.ndarray
    top: np.ndarray
    origin: np.ndarray
    cell: float
    layer: float


def voxelise(
    triangles: np.ndarray, cell: float, layer: float, max_slope_deg: float, climb: int = 2, margin: int = 2
) -> Voxels:
    """Voxels of (T, 3, 3) triangles (y up), with `margin` empty cells around them.

    `climb` is in layers: a voxel with a walkable surface makes the stack that it belongs to walkable if that
    ends at most so much higher, and a stack of steep surfaces is walkable that close above a walkable one
    (rugs' edges; Recast's low hanging obstacles).
    """
    triangles = _as_turned(triangles)
    flat = triangles.reshape(-1, 3)
    low, high = flat.min(0), flat.max(0)
    columns, rows = (int((high[i] - low[i]) / _F(cell) + _F(0.5)) for i in (0, 2))
    layers = int(np.ceil((high[1] - low[1]) / layer)) + 3
    grid = (max(rows, 1), max(columns, 1))
    least_up = _F(np.cos(_F(max_slope_deg) / _F(180) * _F(np.pi)))
    low_of, high_of, area_of, next_of, first = _spans(
        triangles, low, high, grid, _F(cell), _F(layer), least_up, climb
    )
    shape = (grid[0] + 2 * margin, grid[1] + 2 * margin, layers)
    solid, top = np.zeros(shape, np.bool_), np.full(shape, -np.inf, _F)
    _stack(low_of, high_of, area_of, next_of, first, climb, margin, low[1], _F(layer), solid, top)
    _surfaces(triangles, low, _F(cell), _F(layer), least_up, margin, top)
    origin = low.astype(np.float64) - (margin * cell, 0.0, margin * cell)
    return Voxels(solid, top, origin, cell, layer)


def _as_turned(triangles: np.ndarray) -> np.ndarray:
    """The triangles as habitat-sim 0.2.2 gives them to Recast: files have z up, and its rotation to y up is
    off by the smallest step of single precision. That matters for walls exactly on a border of cells only
    (procedural houses: with it every edge of habitat's navmesh is met, without it up to 6% are not).
    """
    step = np.finfo(_F).eps
    turned = np.ascontiguousarray(triangles, _F).copy()
    y, z = turned[..., 1].copy(), turned[..., 2].copy()
    turned[..., 1] = z * step + y * (_F(1) + step)
    turned[..., 2] = z * (_F(1) + step) - y * step
    return turned


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
def _split(polygon, count, axis, bound, below, above):
    """Split a convex polygon (count, 3) at axis = bound; corners on it belong to both parts. Their sizes."""
    m, n = 0, 0
    for i in range(count):
        j = count - 1 if i == 0 else i - 1
        a, b = bound - polygon[j, axis], bound - polygon[i, axis]
        if (a >= 0) != (b >= 0):
            share = a / (a - b)
            for k in range(3):
                value = polygon[j, k] + (polygon[i, k] - polygon[j, k]) * share
                below[m, k], above[n, k] = value, value
            m, n = m + 1, n + 1
        elif b == 0:
            below[m], above[n] = polygon[i], polygon[i]
            m, n = m + 1, n + 1
            continue
        if b > 0:
            below[m] = polygon[i]
            m += 1
        elif b < 0:
            above[n] = polygon[i]
            n += 1
    return m, n


@numba.njit(cache=True, nogil=True)
def _is_walkable(triangle, least_up):
    ux, uy, uz = (
        triangle[1, 0] - triangle[0, 0],
        triangle[1, 1] - triangle[0, 1],
        triangle[1, 2] - triangle[0, 2],
    )
    vx, vy, vz = (
        triangle[2, 0] - triangle[0, 0],
        triangle[2, 1] - triangle[0, 1],
        triangle[2, 2] - triangle[0, 2],
    )
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    return norm > 0 and abs(ny) / norm > least_up


@numba.njit(cache=True, nogil=True)
def _index(value, low, scale, size):
    return min(max(int((value - low) * scale), 0), size - 1)


@numba.njit(cache=True, nogil=True)
def _spans(triangles, low, high, grid, cell, layer, least_up, climb):
    """The solid spans of each column as linked lists: (N,) first and one past the last layer, whether
    walkable, and the next one above (-1: none); (rows, columns) the lowest one."""
    rows, columns = grid
    scale, up_scale, tall = _F(1) / cell, _F(1) / layer, high[1] - low[1]
    first = np.full((rows, columns), -1, np.int32)
    capacity = 4096
    low_of, high_of = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    area_of, next_of = np.empty(capacity, np.bool_), np.empty(capacity, np.int32)
    count = 0
    rest, row, spare = np.empty((12, 3), _F), np.empty((12, 3), _F), np.empty((12, 3), _F)
    piece, spare2 = np.empty((12, 3), _F), np.empty((12, 3), _F)
    for t in range(len(triangles)):
        walkable = _is_walkable(triangles[t], least_up)
        rest[:3] = triangles[t]
        left = 3
        r0 = _index(min(rest[0, 2], rest[1, 2], rest[2, 2]), low[2], scale, rows)
        r1 = _index(max(rest[0, 2], rest[1, 2], rest[2, 2]), low[2], scale, rows)
        for r in range(r0, r1 + 1):
            n, left = _split(rest, left, 2, (low[2] + _F(r) * cell) + cell, row, spare)
            rest, spare = spare, rest
            if n < 3:
                continue
            x_low, x_high = row[0, 0], row[0, 0]
            for i in range(1, n):
                x_low, x_high = min(x_low, row[i, 0]), max(x_high, row[i, 0])
            for c in range(_index(x_low, low[0], scale, columns), _index(x_high, low[0], scale, columns) + 1):
                m, n = _split(row, n, 0, (low[0] + _F(c) * cell) + cell, piece, spare2)
                row, spare2 = spare2, row
                if m < 3:
                    continue
                bottom, top = piece[0, 1], piece[0, 1]
                for i in range(1, m):
                    bottom, top = min(bottom, piece[i, 1]), max(top, piece[i, 1])
                bottom, top = max(bottom - low[1], _F(0)), min(top - low[1], tall)
                y0 = int(np.floor(bottom * up_scale))
                y1 = max(int(np.ceil(top * up_scale)), y0 + 1)
                if count == capacity:
                    capacity *= 2
                    low_of = np.append(low_of, np.empty(count, np.int32))
                    high_of = np.append(high_of, np.empty(count, np.int32))
                    area_of = np.append(area_of, np.empty(count, np.bool_))
                    next_of = np.append(next_of, np.empty(count, np.int32))
                area = walkable
                before, at = -1, first[r, c]
                while at >= 0 and low_of[at] <= y1:
                    if high_of[at] < y0:
                        before, at = at, next_of[at]
                        continue
                    y0, y1 = min(y0, low_of[at]), max(y1, high_of[at])
                    if abs(y1 - high_of[at]) <= climb:
                        area = area or area_of[at]
                    at = next_of[at]
                low_of[count], high_of[count], area_of[count], next_of[count] = y0, y1, area, at
                if before < 0:
                    first[r, c] = count
                else:
                    next_of[before] = count
                count += 1
    return low_of[:count], high_of[:count], area_of[:count], next_of[:count], first


@numba.njit(cache=True, nogil=True)
def _stack(low_of, high_of, area_of, next_of, first, climb, margin, floor, layer, solid, top):
    """Spans to voxels, and those walkable that lie just above a walkable one."""
    for r in range(first.shape[0]):
        for c in range(first.shape[1]):
            at, below, was = first[r, c], -1, False
            while at >= 0:
                walkable = area_of[at] or (was and high_of[at] - below <= climb)
                was, below = area_of[at], high_of[at]
                for y in range(low_of[at], min(high_of[at], solid.shape[2])):
                    solid[r + margin, c + margin, y] = True
                if walkable:
                    y = min(high_of[at], solid.shape[2]) - 1
                    top[r + margin, c + margin, y] = floor + _F(y) * layer
                at = next_of[at]


@numba.njit(cache=True, nogil=True)
def _surfaces(triangles, low, cell, layer, least_up, margin, top):
    """Raise the walkable tops from the floor of their voxel to the surfaces in it."""
    rows, columns = top.shape[0] - 2 * margin, top.shape[1] - 2 * margin
    scale = _F(1) / cell
    a, b, c, d = np.empty((12, 3), _F), np.empty((12, 3), _F), np.empty((12, 3), _F), np.empty((12, 3), _F)
    for t in range(len(triangles)):
        if not _is_walkable(triangles[t], least_up):
            continue
        a[:3] = triangles[t]
        left = 3
        r0 = _index(min(a[0, 2], a[1, 2], a[2, 2]), low[2], scale, rows)
        r1 = _index(max(a[0, 2], a[1, 2], a[2, 2]), low[2], scale, rows)
        for r in range(r0, r1 + 1):
            n, left = _split(a, left, 2, (low[2] + _F(r) * cell) + cell, b, c)
            a, c = c, a
            if n < 3:
                continue
            x_low, x_high = b[0, 0], b[0, 0]
            for i in range(1, n):
                x_low, x_high = min(x_low, b[i, 0]), max(x_high, b[i, 0])
            for column in range(
                _index(x_low, low[0], scale, columns), _index(x_high, low[0], scale, columns) + 1
            ):
                m, n = _split(b, n, 0, (low[0] + _F(column) * cell) + cell, c, d)
                b, d = d, b
                if m < 3:
                    continue
                highest = c[0, 1]
                for i in range(1, m):
                    highest = max(highest, c[i, 1])
                y = max(int(np.ceil((highest - low[1]) / layer)) - 1, 0)
                if y < top.shape[2] and highest > top[r + margin, column + margin, y] > -np.inf:
                    top[r + margin, column + margin, y] = highest
