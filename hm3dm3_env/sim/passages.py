"""Narrow passages: where the body fits through, to the millimetre, and whole cells would say that it does not.

Recast rounds the body's radius up to whole cells on both sides: at 5 cm it shuts every doorway below 0.45 m,
and a slanted one below 0.6 m, for a body of 0.34 m. Here the true width between the geometry on both sides
decides, but only in passages: along ordinary walls the border stays where Recast has it.
"""

from __future__ import annotations

import numpy as np
import shapely
from scipy import ndimage
from skimage.morphology import skeletonize

_EIGHT = np.ones((3, 3), bool)


def open_passages(
    free: np.ndarray,
    walkable: np.ndarray,
    triangles: np.ndarray,
    origin: np.ndarray,
    cell: float,
    band: tuple[float, float],
    radius: float,
) -> np.ndarray:
    """`free` (rows, columns) bool, with the narrow passages between its parts added.

    Args:
        walkable: cells that can be stood on, however near a wall is.
        triangles: (T, 3, 3) float32, metres.
        origin: (3,) position of the grid's low corner.
        band: lowest and highest y of what blocks the body, metres.
        radius: of the body, metres.
    """
    roomy = walkable & (ndimage.distance_transform_edt(walkable) > radius / cell - 1.5)
    middle = skeletonize(roomy | free)
    links = _between((middle | _corners(free)) & ~free, free)
    if not links.any():
        return free
    wanted = ndimage.binary_dilation(links, _EIGHT, iterations=2) & roomy & ~free
    cells = np.argwhere(wanted)
    centers = origin[[2, 0]] + (cells + 0.5) * cell
    near, width = _room(centers, triangles, band, radius, cell)
    # A cell's centre is at most half a diagonal off the middle of a passage; a passage of the body's width
    # then always has a row of cells that are neighbours by their sides.
    fits = np.zeros_like(free)
    fits[tuple(cells.T)] = (near >= radius - cell * 0.71) & (width >= 2 * radius - 1e-3)
    return free | _between(fits, free)


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


def _between(parts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Those connected pieces of `parts` that touch `ends` in more than one place."""
    labels, count = ndimage.label(parts, _EIGHT)
    keep = np.zeros(count + 1, bool)
    for index, window in enumerate(ndimage.find_objects(labels), 1):
        grown = tuple(slice(max(s.start - 2, 0), s.stop + 2) for s in window)
        touched = ends[grown] & ndimage.binary_dilation(labels[grown] == index, _EIGHT)
        keep[index] = ndimage.label(touched)[1] > 1
    return keep[labels]


def _room(
    points: np.ndarray, triangles: np.ndarray, band: tuple[float, float], radius: float, cell: float
) -> tuple[np.ndarray, np.ndarray]:
    """(N,) distance from (N, 2) points (z, x) to the nearest geometry in the band, and (N,) the width there:
    that distance and the one to the nearest geometry on the other side together (inf: nothing there)."""
    reach = 2 * radius + cell
    shapes = _slabs(triangles, band, points.min(0) - reach, points.max(0) + reach)
    near, width = np.full(len(points), np.inf), np.full(len(points), np.inf)
    if not len(shapes):
        return near, width
    spots = shapely.points(points)
    which, other = shapely.STRtree(shapes).query(spots, predicate="dwithin", distance=reach)
    lines = shapely.get_coordinates(shapely.shortest_line(spots[which], shapes[other]))
    offset = lines[1::2] - lines[::2]
    distance = np.hypot(*offset.T)
    np.minimum.at(near, which, distance)
    order = np.argsort(distance, kind="stable")[::-1]
    nearest = np.full(len(points), -1)
    nearest[which[order]] = order  # the last one that is written is the smallest
    toward = offset[nearest[which]]
    opposite = (offset * toward).sum(1) < -0.5 * distance * near[which]
    np.minimum.at(width, which[opposite], near[which[opposite]] + distance[opposite])
    return near, width


def _slabs(triangles: np.ndarray, band: tuple[float, float], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Shapes in the plane (z, x) of the parts of triangles between two heights, around a rectangle."""
    heights, flat = triangles[..., 1], triangles[..., [2, 0]]
    near = (heights.max(1) > band[0]) & (heights.min(1) < band[1])
    near &= ((flat.max(1) >= low) & (flat.min(1) <= high)).all(1)
    corners = triangles[near].astype(np.float64)
    following = np.roll(corners, -1, 1)
    rise = following[..., 1] - corners[..., 1]
    parts = [corners]
    for bound in band:  # where the edges cross the two heights
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (bound - corners[..., 1]) / rise
        cut = corners + np.where((share > 0) & (share < 1), share, np.nan)[..., None] * (following - corners)
        parts.append(cut)
    points = np.concatenate(parts, 1)
    with np.errstate(invalid="ignore"):
        inside = (points[..., 1] >= band[0] - 1e-9) & (points[..., 1] <= band[1] + 1e-9)
    owner, _ = np.nonzero(inside)
    places = shapely.points(points[inside][:, [2, 0]])
    return shapely.convex_hull(shapely.multipoints(places, indices=np.unique(owner, return_inverse=True)[1]))
