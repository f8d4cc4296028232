"""Cut a painted semantic mesh along its annotation borders, so that boxes and areas of objects are right.

A triangle of a decimated wall can be metres long, and a picture may be paint in the middle of it. Its label
says "wall", so that a box made of labels alone would miss the picture, or give it the whole wall.
"""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.semantic_kernels import survey
from hm3dm3_env.scenes.semantic_mesh import Semantics

_POINTS = np.array([[1 / 3, 1 / 3, 1 / 3], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6],
                    [0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]], np.float32)
"""Barycentric weights of the points at which a piece is looked at."""
_WHOLE, _BORDER = 16.0, 2.0
"""Pieces are cut until no side is longer than this many texels: inside of objects, and on borders (ours)."""
_LEVELS, _BUDGET = 8, 3_000_000
"""Cuts in four at most, and pieces added at most, whatever a strange file asks for."""


def cut(triangles: np.ndarray, semantics: Semantics) -> tuple[np.ndarray, np.ndarray]:
    """(P, 3, 3) float32 pieces of the (T, 3, 3) semantic triangles, metres, and the (P,) int32 id of each.

    Triangles without an id map stay as they are, with their label.
    """
    if semantics.uv is None:
        return triangles, semantics.labels
    painted = semantics.image_of >= 0
    done = [(triangles[~painted], semantics.labels[~painted])]
    part, uv, image = triangles[painted], semantics.uv[painted], semantics.image_of[painted]
    spare = _BUDGET
    for level in range(_LEVELS + 1):
        label, mixed = np.empty(len(part), np.int32), np.empty(len(part), bool)
        texels = np.empty(len(part), np.float32)
        survey(uv, image, _POINTS, semantics.ids, semantics.offset, semantics.width, semantics.height, label,
               mixed, texels)
        divide = (texels > _WHOLE) | (mixed & (texels > _BORDER))
        if level == _LEVELS or 3 * divide.sum() > spare:
            divide[:] = False
        spare -= 3 * int(divide.sum())
        done.append((part[~divide], label[~divide]))
        if not divide.any():
            break
        part, uv, image = _quarter(part[divide]), _quarter(uv[divide]), np.repeat(image[divide], 4)
    return np.concatenate([p for p, _ in done]), np.concatenate([ids for _, ids in done])


def _quarter(corners: np.ndarray) -> np.ndarray:
    """(4 n, 3, k) the four parts of each of (n, 3, k), one after the other."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.stack([np.stack(part, 1) for part in parts], 1).reshape(-1, 3, corners.shape[2])
