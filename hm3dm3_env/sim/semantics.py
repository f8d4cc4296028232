"""Turn ray hits into object ids: the numba kernel behind semantic images."""

from __future__ import annotations

import numba
import numpy as np

from hm3dm3_env.scenes.semantic_mesh import Semantics


def hit_ids(semantics: Semantics, triangle: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(N,) int32 object ids of ray hits; 0 where `triangle` (N,) is -1 or nothing is annotated.

    `triangle` are indices into the semantic triangles (those of the render mesh when
    `semantics.triangles` is None); `u`, `v` (N,) float32 weigh the corners 1 and 2, as Embree gives them.
    """
    out = np.empty(len(triangle), np.int32)
    uv = semantics.uv if semantics.uv is not None else _NO_UV
    _look_up(triangle, u, v, semantics.labels, semantics.image_of, uv, semantics.ids, semantics.offset,
             semantics.width, semantics.height, out)
    return out


_NO_UV = np.zeros((0, 3, 2), np.float32)


@numba.njit(cache=True, nogil=True)
def _look_up(triangle, u, v, labels, image_of, uv, ids, offset, width, height, out) -> None:
    """Fill `out` (N,) with the id of the nearest texel, or the triangle's where it has no id map."""
    for i in range(triangle.shape[0]):
        t = triangle[i]
        if t < 0:
            out[i] = 0
            continue
        image = image_of[t]
        if image < 0:
            out[i] = labels[t]
            continue
        a, b = u[i], v[i]
        s = uv[t, 0, 0] * (1 - a - b) + uv[t, 1, 0] * a + uv[t, 2, 0] * b
        w = uv[t, 0, 1] * (1 - a - b) + uv[t, 1, 1] * a + uv[t, 2, 1] * b
        wide, high = width[image], height[image]
        column = min(int((s - np.floor(s)) * wide), wide - 1)
        row = min(int((w - np.floor(w)) * high), high - 1)
        out[i] = ids[offset[image] + row * wide + column]
