"""Rooms with polygons in them: as triangles for a simulator, and exact shortest paths by a visibility graph.

In the plane of the polygons x is the world's x and y is the world's z; the floor is at height 0.
"""

from __future__ import annotations

import numpy as np
import shapely
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from shapely import affinity
from shapely.geometry import Polygon

CEILING, CAP = 2.5, 1.2
"""Heights: nobody of 1.41 m stands below or above a cap."""


def convex(rng: np.random.Generator) -> list[Polygon]:
    """A box along the axes, a turned one, or a polygon of 3 to 7 corners."""
    kind = rng.integers(3)
    if kind == 2:
        angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 8)))
        hull = shapely.MultiPoint(np.c_[np.cos(angles), np.sin(angles)] * rng.uniform(0.3, 0.8)).convex_hull
        return [hull] if hull.geom_type == "Polygon" and hull.area > 0.05 else convex(rng)
    width, depth = rng.uniform(0.2, 1.6, 2)
    whole = shapely.box(-width / 2, -depth / 2, width / 2, depth / 2)
    return [affinity.rotate(whole, rng.uniform(0, 180) if kind else 0)]


def u_shape(rng: np.random.Generator) -> list[Polygon]:
    """Three boxes around a bay that is open to one side, turned anyhow."""
    width, depth, thick = rng.uniform(1.2, 2.0), rng.uniform(0.8, 1.6), 0.2
    parts = [
        shapely.box(0, 0, width, thick),
        shapely.box(0, 0, thick, depth),
        shapely.box(width - thick, 0, width, depth),
    ]
    angle = rng.choice([0.0, 90.0, 180.0, 270.0, rng.uniform(0, 360)])
    return [affinity.rotate(part, angle, origin=(width / 2, depth / 2)) for part in parts]


def random_world(rng: np.random.Generator) -> tuple[Polygon, list[Polygon]]:
    """A room, and convex parts of the obstacles in it."""
    width, depth = rng.uniform(5, 8, 2)
    parts: list[Polygon] = []
    for index in range(rng.integers(5, 9)):
        shape = u_shape(rng) if index == 0 else convex(rng)
        shift = rng.uniform(0.5, (width - 0.5, depth - 0.5))
        parts += [affinity.translate(part, *(shift - shape[0].centroid.coords[0])) for part in shape]
    return shapely.box(0, 0, width, depth), parts


def _fan(polygon: Polygon, y: float) -> list[np.ndarray]:
    """A convex polygon at a height, facing up."""
    x, z = shapely.get_coordinates(shapely.orient_polygons(polygon, exterior_cw=True))[:-1].T
    corners = np.c_[x, np.full(len(x), y), z]
    return [corners[[0, k, k + 1]] for k in range(1, len(corners) - 1)]


def _sides(polygon: Polygon, top: float) -> list[np.ndarray]:
    places = shapely.get_coordinates(polygon)
    found = []
    for (x0, z0), (x1, z1) in zip(places, places[1:]):
        a, b, c, d = np.array([[x0, 0, z0], [x1, 0, z1], [x1, top, z1], [x0, top, z0]])
        found += [np.array([a, b, c]), np.array([a, c, d])]
    return found


def extruded(room: Polygon, parts: list[Polygon], ceiling: float = CEILING) -> np.ndarray:
    """(T, 3, 3) float32 triangles: floor, ceiling, walls around the room, and parts up to the ceiling."""
    triangles = _fan(room, 0.0) + _fan(room, ceiling) + _sides(room, ceiling)
    for part in parts:
        triangles += _fan(part, CAP) + _sides(part, ceiling)
    return np.array(triangles, np.float32)


def free_area(room: Polygon, parts: list[Polygon], radius: float) -> shapely.Geometry:
    """Where the centre of a disc may be."""
    obstacles = shapely.unary_union([part.buffer(radius, quad_segs=6) for part in parts])
    return room.buffer(-radius, join_style="mitre").difference(obstacles)


def spots(rng: np.random.Generator, area: shapely.Geometry, count: int) -> np.ndarray:
    """(count, 2) points drawn uniformly in an area."""
    low_x, low_y, high_x, high_y = area.bounds
    found: list[np.ndarray] = []
    shapely.prepare(area)
    while len(found) < count:
        point = rng.uniform((low_x, low_y), (high_x, high_y))
        if shapely.contains_xy(area, *point):
            found.append(point)
    return np.array(found)


def shortest(area: shapely.Geometry, points: np.ndarray) -> np.ndarray:
    """(P, P) lengths of the shortest paths between (P, 2) points within an area; inf where there is none."""
    rings = [ring for part in shapely.get_parts(area) for ring in (part.exterior, *part.interiors)]
    corners, before, after = [np.zeros((0, 2))], [np.zeros((0, 2))], [np.zeros((0, 2))]
    for ring in rings:
        places = shapely.get_coordinates(ring)[:-1]
        corners.append(places)
        before.append(np.roll(places, 1, 0) - places)
        after.append(np.roll(places, -1, 0) - places)
    corner, a, b = np.concatenate(corners), np.concatenate(before), np.concatenate(after)
    nodes = np.concatenate([points, corner])
    way = nodes[None] - nodes[:, None]

    def side(walls: np.ndarray) -> np.ndarray:
        full = np.zeros((len(nodes), 2))
        full[len(points) :] = walls
        return way[..., 0] * full[:, None, 1] - way[..., 1] * full[:, None, 0]

    left, right = side(a), side(b)
    slack = 1e-9
    bends = ((left > -slack) & (right > -slack)) | ((left < slack) & (right < slack))
    i, j = np.nonzero(np.triu(bends & bends.T, 1))
    lines = shapely.linestrings(np.stack([nodes[i], nodes[j]], 1))
    wider = area.buffer(1e-7)
    shapely.prepare(wider)
    seen = shapely.covers(wider, lines)
    i, j = i[seen], j[seen]
    graph = csr_matrix((np.linalg.norm(nodes[i] - nodes[j], axis=1), (i, j)), (len(nodes), len(nodes)))
    return dijkstra(graph, directed=False, indices=range(len(points)))[:, : len(points)]
