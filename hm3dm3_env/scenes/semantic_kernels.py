"""The numba kernels behind semantic meshes: scans have a million triangles and a hundred million texels."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def texel_ids(pixels: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (H * W,) with the `table` (2^24,) entry of each of the (H, W, 3) uint8 `pixels`."""
    height, width = pixels.shape[:2]
    for row in range(height):
        for column in range(width):
            out[row * width + column] = table[_code(pixels, row, column)]


@numba.njit(cache=True, nogil=True)
def face_codes(uv: np.ndarray, pixels: np.ndarray, points: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (F,) with the most frequent 0xRRGGBB at the (S, 3) barycentric `points` of each face with
    texture coordinates `uv` (F, 3, 2); the first point decides ties."""
    height, width = pixels.shape[:2]
    found = np.empty(len(points), np.int64)
    for f in range(uv.shape[0]):
        for s in range(len(points)):
            row, column = _texel(uv, f, points, s, height, width)
            found[s] = _code(pixels, row, column)
        out[f] = _most(found)


@numba.njit(cache=True, nogil=True)
def survey(uv: np.ndarray, image: np.ndarray, points: np.ndarray, ids: np.ndarray, offset: np.ndarray,
           width: np.ndarray, height: np.ndarray, label: np.ndarray, mixed: np.ndarray,
           longest: np.ndarray) -> None:
    """For each of F pieces with coordinates `uv` (F, 3, 2) in id map `image` (F,), fill `label` with the most
    frequent id at the (S, 3) `points`, `mixed` with whether there are several, and `longest` with its longest
    side in texels. `ids`, `offset`, `width`, `height` are those of `Semantics`."""
    found = np.empty(len(points), np.int64)
    for f in range(uv.shape[0]):
        wide, high, start = width[image[f]], height[image[f]], offset[image[f]]
        several = False
        for s in range(len(points)):
            row, column = _texel(uv, f, points, s, high, wide)
            found[s] = ids[start + row * wide + column]
            several = several or found[s] != found[0]
        label[f], mixed[f] = _most(found) if several else found[0], several
        side = 0.0
        for a in range(3):
            b = (a + 1) % 3
            x, y = (uv[f, a, 0] - uv[f, b, 0]) * wide, (uv[f, a, 1] - uv[f, b, 1]) * high
            side = max(side, np.sqrt(x * x + y * y))
        longest[f] = side


@numba.njit(cache=True, nogil=True)
def _texel(uv, f, points, s, height, width):
    """Row and column of a barycentric point; coordinates repeat outside of 0..1."""
    u = v = 0.0
    for c in range(3):
        u += points[s, c] * uv[f, c, 0]
        v += points[s, c] * uv[f, c, 1]
    column = min(int((u - np.floor(u)) * width), width - 1)
    row = min(int((v - np.floor(v)) * height), height - 1)
    return row, column


@numba.njit(cache=True, nogil=True)
def _code(pixels, row, column):
    return (np.int64(pixels[row, column, 0]) << 16) | (np.int64(pixels[row, column, 1]) << 8) | np.int64(
        pixels[row, column, 2])


@numba.njit(cache=True, nogil=True)
def _most(values):
    """The most frequent value, the first of several."""
    best, most = values[0], 0
    for i in range(len(values)):
        votes = 0
        for j in range(len(values)):
            votes += values[j] == values[i]
        if votes > most:
            best, most = values[i], votes
    return best
