"""The floors of a scene: where the body's centre may be on each, from the mesh or from a .navmesh file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import shapely
from scipy import ndimage

from hm3dm3_env.sim.base import FLOOR_SPAN, Body, floor_levels
from hm3dm3_env.sim.navigation.contours import border
from hm3dm3_env.sim.navigation.navmesh import NavMesh
from hm3dm3_env.sim.navigation.outline import Outline
from hm3dm3_env.sim.navigation.passages import between, open_passages
from hm3dm3_env.sim.navigation.roadmap import Roadmap
from hm3dm3_env.sim.navigation.voxels import Voxels, voxelise
from hm3dm3_env.sim.navigation.walkable import MIN_ISLAND_AREA, erode, islands, standable, without_ledges

_MARGIN = 2
"""Empty cells around a navmesh."""


@dataclass
class Floor:
    """One floor: its `height` (metres), the `outline` of the area where the body's centre may be, the cells
    that are `free` because their middle is in it, the `heights` of the surface (metres), `islands`: labels of
    connected pieces (0: not free), `nearest`: (2, rows, columns) the closest free cell, and the `roadmap` for
    shortest paths."""

    height: float
    outline: Outline
    free: np.ndarray
    heights: np.ndarray
    islands: np.ndarray
    nearest: np.ndarray
    roadmap: Roadmap

    @cached_property
    def cells(self) -> np.ndarray:
        """(N, 2) rows and columns of the free cells."""
        return np.argwhere(self.free).astype(np.int32)

    @classmethod
    def of(cls, height: float, outline: Outline, heights: np.ndarray, pieces: np.ndarray) -> Floor:
        """The floor with this outline, and (rows, columns) heights and labels of connected pieces."""
        free, heights = (
            outline.free,
            np.round(heights, 4).astype(np.float32) + np.float32(0),
        )  # 0.1 mm, and no -0
        nearest = (
            ndimage.distance_transform_edt(~free, return_distances=False, return_indices=True)
            if free.any()
            else np.zeros((2, *free.shape), np.int32)
        )
        return cls(round(height, 4) + 0.0, outline, free, heights, pieces * free, nearest, Roadmap(outline))


def floors_of_mesh(triangles: np.ndarray, body: Body) -> tuple[list[Floor], np.ndarray]:
    """The floors in (T, 3, 3) triangles (y up), lowest first, and the (3,) low corner of their grids."""
    if not len(triangles):
        return [], np.zeros(3)
    climb = _whole(body.max_climb / body.cell_height)
    voxels = voxelise(triangles, body.cell_size, body.cell_height, body.max_slope_deg, climb)
    clearance = ceil(body.height / body.cell_height)
    stand = standable(voxels.solid, voxels.top, clearance)
    stand = without_ledges(stand, voxels.solid, clearance, climb)
    heights = _floor_heights(stand, voxels.top, _covered(voxels.solid), body.cell_size)
    return [_floor(triangles, stand, voxels, body, climb, height) for height in heights], voxels.origin


def _floor(
    triangles: np.ndarray, stand: np.ndarray, voxels: Voxels, body: Body, climb: int, height: float
) -> Floor:
    cell = body.cell_size
    gap = np.where(stand, np.abs(voxels.top - height), np.inf)
    best = gap.argmin(2)[..., None]
    walkable = np.take_along_axis(gap, best, 2)[..., 0] <= FLOOR_SPAN
    heights = np.where(walkable, np.take_along_axis(voxels.top, best, 2)[..., 0], np.float32(height))
    free = erode(walkable, best[..., 0], climb, ceil(body.radius / cell))
    opened = free
    if body.narrow_passages != "none":
        band = (height + body.max_climb, height + body.height)
        joining = body.narrow_passages == "joining"
        opened = open_passages(free, walkable, triangles, voxels.origin, cell, band, body.radius, joining)
    kept, _ = islands(opened, MIN_ISLAND_AREA / cell**2)
    outline = Outline(border(free & kept, cell), free.shape)
    extra = kept & ~free
    extra |= (
        free & kept & ndimage.binary_dilation(extra, iterations=2)
    )  # edges cut corners: passages reach behind
    if extra.any():
        outline = outline.with_cells(extra)
    pieces, count = ndimage.label(kept | outline.free)
    outline = _mended(outline, kept | outline.free, count)
    return Floor.of(height, outline, heights, pieces)


def _mended(outline: Outline, free: np.ndarray, pieces: int) -> Outline:
    """The outline, with the free cells that join what should be one of so many pieces and fell apart: edges
    of narrow places may cross, where Detour goes from polygon to polygon all the same."""
    parts = shapely.area(shapely.get_parts(outline.area))
    if (parts >= 1).sum() <= pieces:
        return outline
    links = _torn(outline.free, free)
    return outline.with_cells(links) if links.any() else outline


def _torn(inside: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Free cells that edges leave out, where they join pieces that are not connected without them."""
    labels, count = ndimage.label(inside)
    if count <= ndimage.label(free)[1]:
        return np.zeros_like(free)
    return between(free & ~inside, inside, labels)


def floors_of_navmesh(
    navmesh: NavMesh, body: Body, triangles: np.ndarray | None = None
) -> tuple[list[Floor], np.ndarray]:
    """The floors in a navmesh, lowest first, and the (3,) low corner of their grids.

    The radius of the body that the navmesh was made for is off already. Roofs are left out where the scene's
    (T, 3, 3) triangles are given.
    """
    cell = body.cell_size
    surface = navmesh.triangles
    if not len(surface):
        return [], np.zeros(3)
    low, high = surface.reshape(-1, 3).min(0), surface.reshape(-1, 3).max(0)
    origin = low - (_MARGIN * cell, 0.0, _MARGIN * cell)
    shape = (
        int(np.ceil((high[2] - low[2]) / cell)) + 2 * _MARGIN,
        int(np.ceil((high[0] - low[0]) / cell)) + 2 * _MARGIN,
    )
    levels = surface[..., 1].mean(1)
    sides = surface[:, 1:, [0, 2]] - surface[:, :1, [0, 2]]
    areas = np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]) / 2
    heights = [height for height, _ in floor_levels(levels, areas)]
    if triangles is not None:
        rooms = [h for h in heights if _indoors(surface[np.abs(levels - h) <= FLOOR_SPAN], triangles) > 1 / 3]
        heights = rooms or heights
    flat = (surface[..., [2, 0]] - origin[[2, 0]]) / cell
    sizes = np.bincount(navmesh.polygon_of, areas)
    found = []
    for height in heights:
        means = np.bincount(navmesh.polygon_of, areas * levels) / np.maximum(sizes, 1e-12)
        mine = np.abs(means - height) <= FLOOR_SPAN
        ground, island = np.full(shape, height, np.float32), np.zeros(shape, np.int64)
        for i in np.flatnonzero(mine[navmesh.polygon_of]):
            _paint(flat[i], surface[i, :, 1], int(navmesh.islands[navmesh.polygon_of[i]]), ground, island)
        outline = Outline((_rim(navmesh, mine) - np.tile(origin[[2, 0]], 2)) / cell, shape)
        outline = _mended(outline, island > 0, len(np.unique(island[island > 0])))
        found.append(Floor.of(height, outline, ground, island))
    return found, origin


def _rim(navmesh: NavMesh, mine: np.ndarray) -> np.ndarray:
    """(E, 4) z, x, z, x of the sides at which the polygons of a floor end."""
    edges = []
    for i in np.flatnonzero(mine):
        polygon = navmesh.polygons[i][:, [2, 0]]
        ends = np.array([other < 0 or not mine[other] for other in navmesh.neighbours[i]], bool)
        edges.append(np.hstack([polygon, np.roll(polygon, -1, 0)])[ends])
    return np.concatenate([*edges, np.zeros((0, 4))])


def _paint(
    corners: np.ndarray, levels: np.ndarray, label: int, heights: np.ndarray, island: np.ndarray
) -> None:
    """Write a triangle's height to the cells whose middle it covers, and its island to those that it may
    touch; its corners (3, 2) are in cells."""
    low = np.maximum(np.floor(corners.min(0)).astype(int), 0)
    high = np.minimum(np.ceil(corners.max(0)).astype(int) + 1, heights.shape)
    rows, columns = np.mgrid[low[0] : high[0], low[1] : high[1]]
    a, b, c = corners
    double = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if abs(double) < 1e-12:
        return
    r, q = rows + 0.5, columns + 0.5
    v = ((r - a[0]) * (c[1] - a[1]) - (q - a[1]) * (c[0] - a[0])) / double
    w = ((b[0] - a[0]) * (q - a[1]) - (b[1] - a[1]) * (r - a[0])) / double
    inside = (v >= -0.01) & (w >= -0.01) & (v + w <= 1.01)
    surface = levels[0] + v * (levels[1] - levels[0]) + w * (levels[2] - levels[0])
    heights[rows[inside], columns[inside]] = surface[inside]
    reach = 0.71 * np.array([np.hypot(*(c - a)), np.hypot(*(b - a)), np.hypot(*(c - b))]) / abs(double)
    near = (v >= -reach[0]) & (w >= -reach[1]) & (v + w <= 1 + reach[2])
    near &= inside | (island[rows, columns] == 0)
    island[rows[near], columns[near]] = label


def _indoors(surface: np.ndarray, triangles: np.ndarray, samples: int = 32) -> float:
    """The share of places on (N, 3, 3) triangles of a navmesh that have something of a scene above them."""
    spots = surface[np.linspace(0, len(surface) - 1, samples).astype(int)].mean(1)
    x, y, z = triangles[..., 0], triangles[..., 1], triangles[..., 2]
    over = triangles[y.min(1) > spots[:, 1].min() + 0.5]
    x, y, z = over[..., 0], over[..., 1].min(1), over[..., 2]
    bounds = x.min(1), x.max(1), z.min(1), z.max(1)
    found = 0
    for spot in spots:
        near = (
            (bounds[0] <= spot[0]) & (bounds[1] >= spot[0]) & (bounds[2] <= spot[2]) & (bounds[3] >= spot[2])
        )
        ends = over[near & (y > spot[1] + 0.5)][..., [0, 2]] - spot[[0, 2]]
        following = np.roll(ends, -1, 1)
        turns = ends[..., 0] * following[..., 1] - ends[..., 1] * following[..., 0]
        found += bool(((turns >= 0).all(1) | (turns <= 0).all(1)).any())
    return found / samples


def _whole(ratio: float) -> int:
    """`ratio` rounded down, but not below a whole number that it misses by rounding errors."""
    return int(ratio + 1e-6)


def _covered(solid: np.ndarray) -> np.ndarray:
    """(rows, columns, layers) bool: voxels that have something solid above them."""
    above = np.logical_or.accumulate(solid[..., ::-1], axis=2)[..., ::-1]
    return np.concatenate([above[..., 1:], np.zeros_like(above[..., :1])], 2)


def _floor_heights(stand: np.ndarray, tops: np.ndarray, covered: np.ndarray, cell: float) -> list[float]:
    """Heights of the floors, lowest first; see `floor_levels`.

    A level with less than a third of it under something solid is a roof, unless no level is covered.
    """
    heights, indoors = tops[stand].astype(float), covered[stand]
    chosen = [level for level, _ in floor_levels(heights, np.full(len(heights), cell**2))]
    rooms = [level for level in chosen if indoors[np.abs(heights - level) <= FLOOR_SPAN].mean() > 1 / 3]
    return rooms or chosen
