"""Walls: mitred outlines, round walls, and solid walls with holes for doors and windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, hypot, pi

import numpy as np
from shapely.geometry import LineString, Point, Polygon
from shapely.geometry.base import BaseGeometry

from hm3dm3_env.scenes.sweethome3d.bundle import Bundle
from hm3dm3_env.scenes.sweethome3d.furniture import quarter_turns
from hm3dm3_env.scenes.sweethome3d.home_xml import Wall
from hm3dm3_env.scenes.sweethome3d.looks import WHITE, Color, Palette
from hm3dm3_env.scenes.sweethome3d.mesh import Builder, clean, polygons, rectangle

ARC_STEP = pi / 36
PARALLEL = pi / 9
"""A hole goes through wall segments within 20 degrees of the door's direction."""


@dataclass
class WallShape:
    """A wall's outline: `left` and `right` polylines from start to end, and one polygon a segment."""

    wall: Wall
    center: np.ndarray
    left: np.ndarray
    right: np.ndarray
    segments: list[BaseGeometry] = field(default_factory=list)

    @property
    def outline(self) -> BaseGeometry:
        """The whole outline as one shape."""
        return clean([*map(tuple, self.left), *map(tuple, self.right[::-1])])

    def top(self, points: np.ndarray) -> np.ndarray:
        """The wall's upper edge above each of the (N, 2) points: it slopes from start to end."""
        wall = self.wall
        a, b = np.asarray(wall.start), np.asarray(wall.end)
        length = max(float(np.dot(b - a, b - a)), 1e-9)
        share = np.clip((points - a) @ (b - a) / length, 0.0, 1.0)
        return wall.base + wall.height + (wall.height_end - wall.height) * share


@dataclass
class Hole:
    """An opening: the rectangle that a door or window fills in the wall, and its vertical extent."""

    center: np.ndarray
    angle: float
    width: float
    depth: float
    low: float
    high: float

    def footprint(self, margin: float = 0.0) -> Polygon:
        """The rectangle, made deeper by `margin` on both sides."""
        half = self.depth / 2 + margin
        return rectangle(self.center, self.angle, -self.width / 2, self.width / 2, -half, half)


def wall_shapes(walls: list[Wall]) -> list[WallShape]:
    """Outlines of walls that are joined at their ends as the file says."""
    shapes = {
        id(wall): _outline(wall)
        for wall in walls
        if hypot(wall.end[0] - wall.start[0], wall.end[1] - wall.start[1]) > 1e-4
    }
    known = [shapes[id(wall)] for wall in walls if id(wall) in shapes]
    by_id = {shape.wall.id: shape for shape in known}
    plain = {shape.wall.id: (shape.left.copy(), shape.right.copy()) for shape in known}
    for shape in known:
        for end in (0, 1):
            other = by_id.get(shape.wall.joined[end])
            if other is not None and other is not shape:
                _mitre(shape, end, other, plain)
    for shape in known:
        for k in range(len(shape.center) - 1):
            quad = clean(
                [
                    tuple(shape.left[k]),
                    tuple(shape.left[k + 1]),
                    tuple(shape.right[k + 1]),
                    tuple(shape.right[k]),
                ]
            )
            shape.segments.append(quad)
    return known


def _outline(wall: Wall) -> WallShape:
    center = _center_line(wall)
    step = np.diff(center, axis=0)
    step /= np.linalg.norm(step, axis=1)[:, None]
    normal = np.stack([-step[:, 1], step[:, 0]], 1)
    inner = normal[:-1] + normal[1:]
    if len(inner):
        inner = inner / (1.0 + (normal[:-1] * normal[1:]).sum(1))[:, None]
    offset = np.concatenate([normal[:1], inner, normal[-1:]]) * wall.thickness / 2
    return WallShape(wall, center, center + offset, center - offset)


def _center_line(wall: Wall) -> np.ndarray:
    a, b = np.asarray(wall.start), np.asarray(wall.end)
    if abs(wall.arc) < 1e-3 or abs(wall.arc) > 2 * pi - 1e-3:
        return np.array([a, b])
    chord = b - a
    # Turning by the arc from start to end: the centre lies on the left for a positive arc.
    distance = np.linalg.norm(chord) / 2 / np.tan(wall.arc / 2)
    left = np.array([-chord[1], chord[0]]) / np.linalg.norm(chord)
    center = (a + b) / 2 + left * distance
    radius = a - center
    count = max(2, ceil(abs(wall.arc) / ARC_STEP))
    angles = np.linspace(0.0, wall.arc, count + 1)
    points = [center + np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) @ radius for t in angles]
    return np.array([a, *points[1:-1], b])


def _mitre(
    shape: WallShape, end: int, other: WallShape, plain: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """Move the corners of `shape` at its start (0) or end (1) to where its sides meet those of `other`."""
    at = 0 if end == 0 else -1
    corner = shape.center[at]
    other_at = 0 if hypot(*(other.center[0] - corner)) <= hypot(*(other.center[-1] - corner)) else -1
    if hypot(*(other.center[other_at] - corner)) > max(shape.wall.thickness, other.wall.thickness):
        return
    # Seen from the corner, the left side of one wall meets the right side of the other.
    swap = (end == 0) == (other_at == 0)
    others = plain[other.wall.id]
    limit = 2.0 * max(shape.wall.thickness, other.wall.thickness)
    own = plain[shape.wall.id]
    for side, target in enumerate((shape.left, shape.right)):
        line = others[1 - side] if swap else others[side]
        point = _cross(
            own[side][at], own[side][1 if at == 0 else -2], line[other_at], line[1 if other_at == 0 else -2]
        )
        if point is not None and hypot(*(point - corner)) < limit:
            target[at] = point


def _cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray | None:
    u, v = b - a, d - c
    det = u[0] * v[1] - u[1] * v[0]
    if abs(det) < 0.02 * np.linalg.norm(u) * np.linalg.norm(v):
        return None
    return a + u * ((c[0] - a[0]) * v[1] - (c[1] - a[1]) * v[0]) / det


def holes_in(shapes: list[WallShape], holes: list[Hole]) -> list[list[tuple[int, Polygon]]]:
    """For each hole: the walls (by index) that it goes through, with the rectangle to cut out of each.

    Parallel walls are cut through their whole thickness; if a hole meets none, whatever it overlaps is cut.
    """
    found: list[list[tuple[int, Polygon]]] = []
    for hole in holes:
        exact, parallel, crossing = hole.footprint(), [], []
        for index, shape in enumerate(shapes):
            for k, segment in enumerate(shape.segments):
                if not segment.intersects(exact) or segment.intersection(exact).area < 1e-4:
                    continue
                direction = shape.center[k + 1] - shape.center[k]
                turn = quarter_turns(np.arctan2(direction[1], direction[0]) - hole.angle)
                if abs(turn) < PARALLEL:
                    margin = shape.wall.thickness * 1.2 + hole.width * abs(np.sin(turn))
                    parallel.append((index, hole.footprint(margin)))
                else:
                    crossing.append((index, exact))
        unique: dict[int, Polygon] = {}
        for index, cut in parallel or crossing:
            unique.setdefault(index, cut)
        found.append(sorted(unique.items()))
    return found


def build_wall(
    shape: WallShape,
    cuts: list[tuple[Polygon, Hole]],
    palette: Palette,
    bundle: Bundle,
    problems: list[str],
    limit: float | None = None,
) -> Builder:
    """The solid wall without the cut rectangles between `low` and `high` of their holes.

    `limit` cuts the wall off at that height.
    """
    builder, wall = Builder(palette), shape.wall
    left = palette.look(wall.left, WHITE, bundle, problems)
    right = palette.look(wall.right, WHITE, bundle, problems)
    top_color: Color = wall.left.color or wall.right.color or WHITE
    cap = palette.look(wall.top, top_color, bundle, problems)
    left_line, right_line = LineString(shape.left), LineString(shape.right)

    def side(a: np.ndarray, b: np.ndarray) -> str:
        middle = Point((a + b) / 2)
        return left if middle.distance(left_line) <= middle.distance(right_line) else right

    def top(points: np.ndarray) -> np.ndarray:
        value = shape.top(points)
        return value if limit is None else np.minimum(value, limit)

    for segment in shape.segments:
        for cell, gaps in _cells(segment, cuts):
            low = max(wall.base, 0.0)
            for start, end in [*sorted(gaps), (np.inf, np.inf)]:
                highest = float(top(np.asarray(cell.exterior.coords)).max())
                if start > low + 1e-4 and low < highest - 1e-4:
                    ends = np.isinf(start) or start >= highest
                    upper = (
                        (lambda points, low=low: np.maximum(top(points), low))
                        if ends
                        else (lambda points, start=start, low=low: np.clip(top(points), low, start))
                    )
                    builder.flat(cap if ends else left, cell, upper)
                    builder.flat(left, cell, low, up=False)
                    builder.sides(cell, low, upper, side)
                low = max(low, end)
    return builder


def _cells(
    segment: BaseGeometry, cuts: list[tuple[Polygon, Hole]]
) -> list[tuple[Polygon, list[tuple[float, float]]]]:
    """Split a segment's outline into cells, each with the vertical gaps that the holes leave in it."""
    cells: list[tuple[Polygon, list[tuple[float, float]]]] = [(item, []) for item in polygons(segment)]
    for cut, hole in cuts:
        split = []
        for cell, gaps in cells:
            if not cell.intersects(cut):
                split.append((cell, gaps))
                continue
            split += [(item, gaps) for item in polygons(cell.difference(cut))]
            split += [(item, [*gaps, (hole.low, hole.high)]) for item in polygons(cell.intersection(cut))]
        cells = split
    return cells
