"""Small mesh tools: polygon triangulation, prisms, and a builder that collects triangles by surface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient
from shapely.ops import triangulate as delaunay

from hm3dm3_env.scenes.layout import Part
from hm3dm3_env.scenes.sweethome3d.looks import Palette

Height = Callable[[np.ndarray], np.ndarray]
"""z of each row of an (N, 2) array of points."""


def polygons(shape: BaseGeometry, area: float = 1e-6) -> list[Polygon]:
    """The polygons of a shape that are larger than `area`, in a fixed order."""
    if isinstance(shape, Polygon):
        items = [shape]
    else:
        items = [item for part in getattr(shape, "geoms", ()) for item in polygons(part, area)]
    kept = [item for item in items if item.area > area]
    return sorted(kept, key=lambda item: (round(-item.area, 6), item.bounds))


def clean(points: list[tuple[float, float]]) -> BaseGeometry:
    """A valid polygon (or several) from a ring of points that may cross itself; empty when degenerate."""
    if len(points) < 3:
        return Polygon()
    shape = Polygon(points)
    return shape if shape.is_valid else as_shape(polygons(shapely.make_valid(shape)))


def triangles_of(shape: Polygon, depth: int = 0) -> np.ndarray:
    """(T, 3, 2) counter-clockwise triangles that fill `shape`."""
    if hasattr(shapely, "constrained_delaunay_triangles"):
        pieces = list(shapely.constrained_delaunay_triangles(shape).geoms)
        found = [np.asarray(orient(piece).exterior.coords)[:3] for piece in pieces if piece.area > 1e-12]
        return np.array(found).reshape(-1, 3, 2)
    found = []
    for piece in delaunay(
        shape
    ):  # shapely 2.0: unconstrained, so clip and repeat where it crosses the border
        for part in polygons(piece.intersection(shape), 1e-9):
            if part.convex_hull.area - part.area < 1e-9 or depth > 6:
                ring = np.asarray(orient(part).exterior.coords)[:-1]
                found += [np.stack([ring[0], ring[k], ring[k + 1]]) for k in range(1, len(ring) - 1)]
            else:
                found += list(triangles_of(part, depth + 1))
    return np.array(found).reshape(-1, 3, 2)


@dataclass
class Builder:
    """Collects triangles by surface; `parts` turns them into the parts of one object."""

    palette: Palette
    data: dict[str, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)

    def add(self, surface: str, triangles: np.ndarray, uv: np.ndarray) -> None:
        """Add (T, 3, 3) triangles with (T, 3, 2) texture coordinates in metres."""
        if len(triangles):
            self.data.setdefault(surface, []).append((np.asarray(triangles, float), np.asarray(uv, float)))

    def flat(self, surface: str, shape: BaseGeometry, height: float | Height, up: bool = True) -> None:
        """Add a horizontal (or slightly sloping) polygon."""
        for polygon in polygons(shape):
            flat = triangles_of(polygon)
            if not len(flat):
                continue
            z = height(flat.reshape(-1, 2)) if callable(height) else np.full(len(flat) * 3, height)
            solid = np.concatenate([flat.reshape(-1, 2), z[:, None]], 1).reshape(-1, 3, 3)
            self.add(surface, solid if up else solid[:, ::-1], flat if up else flat[:, ::-1])

    def sides(
        self,
        shape: BaseGeometry,
        low: float | Height,
        high: float | Height,
        surface: Callable[[np.ndarray, np.ndarray], str],
    ) -> None:
        """Add the vertical faces of a prism; `surface(a, b)` chooses the surface of the edge a to b."""
        for polygon in polygons(shape):
            polygon = orient(polygon)
            for ring in (polygon.exterior, *polygon.interiors):
                points = np.asarray(ring.coords)[:, :2]
                bottom = low(points) if callable(low) else np.full(len(points), low)
                top = high(points) if callable(high) else np.full(len(points), high)
                for k in range(len(points) - 1):
                    a, b = points[k], points[k + 1]
                    if max(top[k] - bottom[k], top[k + 1] - bottom[k + 1]) < 1e-6:
                        continue
                    quad = np.array([[*a, bottom[k]], [*b, bottom[k + 1]], [*b, top[k + 1]], [*a, top[k]]])
                    axis = int(np.argmax(np.abs(b - a)))
                    uv = quad[:, [axis, 2]]
                    self.add(surface(a, b), quad[[[0, 1, 2], [0, 2, 3]]], uv[[[0, 1, 2], [0, 2, 3]]])

    def prism(self, shape: BaseGeometry, low: float, high: float | Height, surface: str) -> None:
        """Add a closed prism of one surface."""
        self.flat(surface, shape, low, up=False)
        self.flat(surface, shape, high)
        self.sides(shape, low, high, lambda a, b: surface)

    def area(self) -> dict[str, float]:
        """Total triangle area of each surface."""
        result = {}
        for name, chunks in self.data.items():
            solid = np.concatenate([triangles for triangles, _ in chunks])
            cross = np.cross(solid[:, 1] - solid[:, 0], solid[:, 2] - solid[:, 0])
            result[name] = float(np.linalg.norm(cross, axis=1).sum() / 2)
        return result

    def parts(self) -> list[Part]:
        """One part a surface; texture coordinates only where the surface has a texture."""
        result = []
        for name in sorted(self.data):
            vertices = np.concatenate([triangles for triangles, _ in self.data[name]]).reshape(-1, 3)
            uv = None
            if self.palette.surfaces[name].texture is not None:
                uv = np.concatenate([value for _, value in self.data[name]]).reshape(-1, 2)
                uv = uv / np.asarray(self.palette.tiles[name])
                uv = np.stack([uv[:, 0], 1.0 - uv[:, 1]], 1)
            result.append(Part(vertices, np.arange(len(vertices)).reshape(-1, 3), name, uv))
        return result


def rectangle(
    center: tuple[float, float] | np.ndarray, angle: float, x0: float, x1: float, y0: float, y1: float
) -> Polygon:
    """The rectangle [x0, x1] x [y0, y1] of a local frame at `center`, turned by `angle`."""
    cos, sin = np.cos(angle), np.sin(angle)
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) @ np.array([[cos, sin], [-sin, cos]])
    return Polygon(corners + np.asarray(center))


def as_shape(items: list[Polygon]) -> BaseGeometry:
    """The union of polygons (empty when there are none)."""
    return shapely.union_all(items) if items else MultiPolygon()
