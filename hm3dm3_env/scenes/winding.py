"""Turn triangles so that renderers that cull back faces see what renderers that don't cull see.

habitat-sim draws a triangle only from the side on which its corners run counter-clockwise, and ignores
glTF's `doubleSided`. So every closed body must face outward, and every open sheet (a leaf, a curtain, a lamp
shade) needs its triangles twice, once for each side.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from hm3dm3_env.scenes.layout import Part, SceneObject

_GRID = 1e-5
"""Corners of an object that round to the same multiple of this are one, metres."""


def close_or_double(objects: list[SceneObject]) -> None:
    """Turn the faces of closed bodies outward and add the other side of open sheets, in place.

    A body is what hangs together by edges, within one object; it is closed if each edge has two faces. It may
    be wound inconsistently, as models of others are; one that cannot be wound consistently counts as open.
    The order of faces stays; added faces stand at the end of their part and use its vertices.
    """
    parts = [part for item in objects for part in item.parts]
    if not parts:
        return
    owner = np.repeat(np.arange(len(objects)), [sum(len(p.faces) for p in item.parts) for item in objects])
    corners = np.concatenate([np.asarray(p.vertices, np.float64)[p.faces] for p in parts])
    flip, open_ = sides_of(corners, owner)
    start = 0
    for part in parts:
        mine = slice(start, start + len(part.faces))
        start = mine.stop
        part.faces = _turned(part, flip[mine], open_[mine])


def _turned(part: Part, flip: np.ndarray, open_: np.ndarray) -> np.ndarray:
    faces = np.asarray(part.faces, np.int64)
    if flip.any():
        faces = np.where(flip[:, None], faces[:, ::-1], faces)
    return np.concatenate([faces, faces[open_][:, ::-1]]) if open_.any() else faces


def sides_of(corners: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(T,) bool faces to turn, and (T,) bool faces that need both sides.

    `corners` (T, 3, 3) metres; `owner` (T,) the object of each: only faces of one object can hang together.
    Faces without area are left alone.
    """
    count = len(corners)
    index = _welded(corners, owner)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    solid = (area > 1e-12) & (index[:, 0] != index[:, 1]) & (index[:, 1] != index[:, 2]) & (
        index[:, 2] != index[:, 0])
    faces = np.nonzero(solid)[0]
    one, other, same, lone = _neighbours(index[faces])
    # Each face is there twice, as it is and turned. What hangs together is wound consistently.
    n = len(faces)
    rows = np.concatenate([one, one + n])
    columns = np.concatenate([np.where(same, other + n, other), np.where(same, other, other + n)])
    graph = coo_matrix((np.ones(len(rows), bool), (rows, columns)), (2 * n, 2 * n))
    groups, group = connected_components(graph, directed=False)
    kept, turned = group[:n], group[n:]
    # The volume under each body as seen from one of its own points, which keeps the numbers exact.
    body = np.minimum(kept, turned)
    anchor = np.zeros((groups, 3))
    anchor[body] = corners[faces, 0]
    a, b, c = (corners[faces, k] - anchor[body] for k in range(3))
    volume = np.bincount(kept, (a * np.cross(b, c)).sum(1), groups)
    volume += np.bincount(turned, (a * np.cross(c, b)).sum(1), groups)
    outward = volume[kept] >= 0
    bad = np.zeros(groups, bool)
    bad[kept[lone]] = bad[turned[lone]] = True
    bad |= np.bincount(kept[kept == turned], minlength=groups) > 0  # like a Moebius strip
    bad |= np.abs(volume) < 1e-15  # flat
    twice = _has_twin(index[faces])  # a sheet that has its other side already gets no third one
    flip, open_ = np.zeros(count, bool), np.zeros(count, bool)
    flip[faces] = ~outward & ~bad[kept]
    open_[faces] = bad[kept] & ~twice
    return flip, open_


def _welded(corners: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """(T, 3) int64 number of each corner: equal for those at one place in one object."""
    grid = np.rint(corners.reshape(-1, 3) / _GRID).astype(np.int64)
    keys = _keys([*(grid - grid.min(0)).T, np.repeat(owner, 3)])
    return np.unique(keys, return_inverse=True)[1].reshape(-1, 3)


def _keys(columns: list[np.ndarray]) -> np.ndarray:
    """(N,) int64 that are equal where all of the (N,) columns are (whole numbers from 0)."""
    keys, size = np.zeros(len(columns[0]), np.int64), 1
    for values in columns:
        count = int(values.max(initial=0)) + 1
        if size * count >= 1 << 62:  # number what is there anew, from 0
            found, keys = np.unique(keys, return_inverse=True)
            size = len(found)
        keys, size = keys * count + values, size * count
    return keys


def _neighbours(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of faces that hang together at an edge: (P,) one, (P,) other, and (P,) whether both run along it
    the same way, so that one of them is turned. Then the (L,) faces left over at some edge.

    Where bodies touch, an edge has more than two faces. There the winding is trusted: faces that run along it
    in opposite ways are paired, in the order of the list, in which the faces of a body follow each other.
    """
    start, end = index, np.roll(index, -1, 1)
    code = (np.minimum(start, end) * (int(index.max(initial=0)) + 1) + np.maximum(start, end)).ravel()
    ahead = (start < end).ravel()
    order = np.lexsort((ahead, code))
    code, ahead = code[order], ahead[order]
    first = np.r_[True, (code[1:] != code[:-1]) | (ahead[1:] != ahead[:-1])][: len(code)]
    starts = np.nonzero(first)[0]
    rank = np.arange(len(code)) - np.repeat(starts, np.diff(np.r_[starts, len(code)]))
    by_rank = np.lexsort((ahead, rank, code))  # the k-th of one way beside the k-th of the other
    order, code, ahead, rank = order[by_rank], code[by_rank], ahead[by_rank], rank[by_rank]
    alike = code[1:] == code[:-1]
    opposite = np.nonzero(alike & (rank[1:] == rank[:-1]))[0]
    number = np.unique(code, return_counts=True)[1]
    two = np.repeat(number == 2, number)
    turned = np.nonzero(alike & two[1:] & (rank[1:] != rank[:-1]))[0]
    pairs = np.concatenate([opposite, turned])
    left = np.ones(len(code), bool)
    left[pairs] = left[pairs + 1] = False
    return order[pairs] // 3, order[pairs + 1] // 3, np.arange(len(pairs)) >= len(opposite), order[left] // 3


def _has_twin(index: np.ndarray) -> np.ndarray:
    """(T,) bool: the same three corners are there with the other winding."""
    turn = np.argmin(index, 1)[:, None]
    forward = np.take_along_axis(index, (turn + np.arange(3)) % 3, 1)
    keys = _keys(list(np.concatenate([forward, forward[:, [0, 2, 1]]]).T))
    return np.isin(keys[len(index):], keys[: len(index)])
