"""Find which triangles of two meshes are the same ones, when only their order differs."""

from __future__ import annotations

from itertools import permutations

import numba
import numpy as np
from scipy.spatial import cKDTree

TOLERANCE = 1e-4
"""Corners that are this close are the same, metres."""
_GRID = 1e-3
"""Corners are hashed on a grid of this; the few that rounding puts in two cells are searched, metres."""
_SLIVER = 1e-10
"""A triangle with less area than this, square metres, is never hit, so that it may be missing."""
_ORDERS = np.array(list(permutations(range(3))))


def match_triangles(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """For each target triangle, the source triangle at the same place, or None when they do not all match.

    Both are (T, 3, 3) metres. Returns (T,) int64 indices into `source` and (T, 3) int64 which of its corners
    lies on each corner of the target. Triangles without area may be missing on either side: index -1.
    """
    if len(source) == len(target) and np.abs(source - target).max(initial=0) <= TOLERANCE:
        return np.arange(len(target)), np.tile(np.arange(3), (len(target), 1))
    real, wanted = (np.nonzero(_areas(mesh) > _SLIVER)[0] for mesh in (source, target))
    if len(real) != len(wanted):
        return None
    index = np.full(len(target), -1, np.int64)
    corners = np.tile(np.arange(3), (len(target), 1))
    left, free = wanted, real
    for turned in (True, False):  # the two sides of a thin thing share corners: first by winding
        a, b = _hashes(source[free], turned), _hashes(target[left], turned)
        _pair(source, target, free[np.argsort(a, kind="stable")], np.sort(a), left, b, index, corners)
        left = left[index[left] < 0]
        if not len(left):
            return index, corners
        free = _unused(real, index, len(source))
    _search(source, target, free, left, index, corners)
    return (index, corners) if (index[wanted] >= 0).all() else None


def _pair(source: np.ndarray, target: np.ndarray, free: np.ndarray, keys: np.ndarray, left: np.ndarray,
          wanted: np.ndarray, index: np.ndarray, corners: np.ndarray) -> None:
    """Match `left` with `free` (sorted by `keys`) by equal hashes; the k-th of a hash with the k-th."""
    order = np.argsort(wanted, kind="stable")
    sorted_ = wanted[order]
    rank = np.arange(len(sorted_)) - np.searchsorted(sorted_, sorted_)
    spot = np.searchsorted(keys, sorted_) + rank
    found = spot < len(keys)
    found[found] = keys[spot[found]] == sorted_[found]
    _align(source, target, free[spot[found]], left[order[found]], index, corners)


def _search(source: np.ndarray, target: np.ndarray, free: np.ndarray, left: np.ndarray,
            index: np.ndarray, corners: np.ndarray) -> None:
    """Match the rest by the nearest free centres, a few rounds because several may lie at one place."""
    for _ in range(4):
        if not len(left) or not len(free):
            return
        tree = cKDTree(source[free].mean(1))
        gap, near = tree.query(target[left].mean(1))
        taken, first = np.unique(near, return_index=True)
        _align(source, target, free[taken], left[first], index, corners)
        free, left = _unused(free, index, len(source)), left[index[left] < 0]


def _unused(free: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Those of `free` that `index` does not hold; a mask, since sorted sets cost more than the matching."""
    used = np.zeros(count + 1, bool)
    used[index] = True  # -1 lands in the extra place
    return free[~used[free]]


def _align(source: np.ndarray, target: np.ndarray, a: np.ndarray, b: np.ndarray, index: np.ndarray,
           corners: np.ndarray) -> None:
    """Note those pairs of source[a] and target[b] whose corners are the same in some order."""
    _compare(source, target, a, b, _ORDERS, index, corners)


@numba.njit(cache=True, nogil=True)
def _compare(source, target, a, b, orders, index, corners) -> None:
    for i in range(len(a)):
        for order in orders:
            same = True
            for k in range(3):
                for x in range(3):
                    same = same and abs(source[a[i], order[k], x] - target[b[i], k, x]) <= TOLERANCE
            if same:
                index[b[i]], corners[b[i]] = a[i], order
                break


def _areas(triangles: np.ndarray) -> np.ndarray:
    edges = (triangles[:, 1:] - triangles[:, :1]).astype(np.float64)
    return np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2


def _hashes(triangles: np.ndarray, turned: bool) -> np.ndarray:
    """(T,) uint64 that do not depend on which corner comes first; if `turned`, the winding counts."""
    out = np.empty(len(triangles), np.uint64)
    _hash(triangles, turned, out)
    return out


@numba.njit(cache=True, nogil=True)
def _hash(triangles, turned, out) -> None:
    primes = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
    corner = np.empty(3, np.uint64)
    for t in range(len(triangles)):
        for k in range(3):
            value = np.uint64(0)
            for x in range(3):
                value += np.uint64(np.int64(np.rint(triangles[t, k, x] / _GRID))) * primes[x]
            corner[k] = _mix(value)
        total = np.uint64(0)
        for k in range(3):
            total += corner[k] * _mix(corner[(k + 1) % 3]) if turned else corner[k]
        out[t] = total


@numba.njit(cache=True, nogil=True)
def _mix(value):
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return value ^ (value >> np.uint64(32))
