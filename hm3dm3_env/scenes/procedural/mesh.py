"""Triangles of one object in its own frame: x right, y to the front, z up, origin at the bottom centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hm3dm3_env.scenes.layout import Part
from hm3dm3_env.scenes.procedural.palette import tile_size

_CUBE = np.array(
    [  # four corners a face, counter-clockwise seen from outside: -z +z -y +y -x +x
        [(0, 1, 0), (1, 1, 0), (1, 0, 0), (0, 0, 0)],
        [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
        [(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)],
        [(1, 1, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1)],
        [(0, 1, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1)],
        [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)],
    ],
    float,
).reshape(24, 3)
_CUBE_FACES = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * k for k in range(6)])
_CUBE_AXES = np.repeat(np.array([[0, 1], [0, 1], [0, 2], [0, 2], [1, 2], [1, 2]]), 4, axis=0)
_TURNED = np.array([1, 0])

_POINT = 1e-3
"""Ends of turned bodies with a smaller radius are points, metres."""

Point = Sequence[float] | np.ndarray


@lru_cache(maxsize=64)
def _circle(n: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], 1)


@lru_cache(maxsize=64)
def _ring_faces(rings: int, n: int, tip: bool = False, top: bool = False) -> np.ndarray:
    """Quads (as triangles) between `rings` consecutive rings of `n` points; the first ring is one point if
    `tip`, the last one if `top`."""
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(n), indexing="ij")
    a, b = i * n + j, i * n + (j + 1) % n
    faces = np.stack([np.stack([a, b, b + n], -1), np.stack([a, b + n, a + n], -1)], 2)
    keep = np.ones(faces.shape[:3], bool)
    keep[0, :, 0] &= not tip  # its edge along the first ring has no length
    keep[-1, :, 1] &= not top
    return faces[keep]


@lru_cache(maxsize=64)
def _fan(n: int) -> np.ndarray:
    """Triangles of a convex polygon of `n` corners."""
    return np.column_stack([np.zeros(n - 2, int), np.arange(1, n - 1), np.arange(2, n)])


@lru_cache(maxsize=64)
def _bar_faces(n: int) -> np.ndarray:
    """Two rings of `n` points with the space between them and both ends closed."""
    return np.concatenate([_ring_faces(2, n), _fan(n)[:, ::-1], _fan(n) + n])


@lru_cache(maxsize=64)
def _band_faces(n: int) -> np.ndarray:
    """`n` separate quads as triangles."""
    return (np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(n)[:, None, None]).reshape(-1, 3)


@dataclass
class Shape:
    """A growing set of triangles by surface key, and the flat tops on which small things may stand.

    `tops` holds (x0, y0, x1, y1, z, clear height) in the object's frame, metres.
    """

    chunks: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]] = field(default_factory=dict)
    tops: list[tuple[float, float, float, float, float, float]] = field(default_factory=list)

    def add(self, key: str, vertices: np.ndarray, faces: np.ndarray, uv: np.ndarray | None = None) -> None:
        """Raw triangles; textured surfaces without `uv` get a planar projection in metres."""
        tile = tile_size(key)
        if tile > 0 and uv is None:
            spread = np.ptp(vertices, axis=0)
            axes = np.sort(np.argsort(spread)[1:])
            uv = vertices[:, axes] / tile
        self.chunks.setdefault(key, []).append((vertices, faces, uv if tile else None))

    def box(
        self, key: str, x0: float, x1: float, y0: float, y1: float, z0: float, z1: float, grain: bool = True
    ) -> None:
        """An axis-aligned box; `grain` runs along its longest side, else its texture stands upright."""
        low, size = np.array([x0, y0, z0]), np.array([x1 - x0, y1 - y0, z1 - z0])
        vertices = low + _CUBE * size
        uv = None
        tile = tile_size(key)
        if tile > 0:
            uv = np.take_along_axis(vertices, _CUBE_AXES, 1) / tile
            if grain and size[2] >= max(size[0], size[1]):
                uv[8:] = uv[8:, _TURNED]
            elif grain and size[1] > size[0]:
                uv[:8] = uv[:8, _TURNED]
        self.chunks.setdefault(key, []).append((vertices, _CUBE_FACES, uv))

    def block(self, key: str, cx: float, cy: float, z: float, w: float, d: float, h: float) -> None:
        """A box by the centre of its bottom."""
        self.box(key, cx - w / 2, cx + w / 2, cy - d / 2, cy + d / 2, z, z + h)

    def lathe(
        self,
        key: str,
        profile: Sequence[tuple[float, float]],
        cx: float = 0.0,
        cy: float = 0.0,
        n: int = 10,
        sx: float = 1.0,
        sy: float = 1.0,
    ) -> None:
        """A body of revolution about a vertical axis: (radius, z) from one end to the other. Ends with a
        radius below a millimetre are points, so that the body is closed there."""
        ring = _circle(n)
        tip, top = profile[0][0] < _POINT, profile[-1][0] < _POINT
        profile = [(r if r >= _POINT else 0.0, z) for r, z in profile]
        rows = [
            np.column_stack([cx + ring[:, 0] * r * sx, cy + ring[:, 1] * r * sy, np.full(n, z)])
            for r, z in profile
        ]
        faces = _ring_faces(len(profile), n, tip, top)
        self.add(key, np.concatenate(rows), faces, self._round_uv(key, profile, n))

    @staticmethod
    def _round_uv(key: str, profile: Sequence[tuple[float, float]], n: int) -> np.ndarray | None:
        tile = tile_size(key)
        if tile <= 0:
            return None
        along = np.abs(np.linspace(-1, 1, n, endpoint=False))
        radius = max(r for r, _ in profile)
        length = np.cumsum(
            [0.0] + [float(np.hypot(b[0] - a[0], b[1] - a[1])) for a, b in zip(profile, profile[1:])]
        )
        u, v = np.meshgrid(along * np.pi * radius / tile, length / tile)
        return np.stack([v.ravel(), u.ravel()], 1)

    def cyl(
        self,
        key: str,
        cx: float,
        cy: float,
        z: float,
        h: float,
        r: float,
        top: float | None = None,
        n: int = 10,
    ) -> None:
        """A closed vertical cylinder, tapered to radius `top` if given."""
        r1 = r if top is None else top
        self.lathe(
            key,
            [(1e-4, z), (r, z), (r, z + h), (max(r1, 1e-4), z + h)][:3]
            if top is None
            else [(1e-4, z), (r, z), (r1, z + h)],
            cx,
            cy,
            n,
        )
        self.disc(key, cx, cy, z + h, r1, n)

    def disc(self, key: str, cx: float, cy: float, z: float, r: float, n: int = 10) -> None:
        """A horizontal disc that faces up."""
        ring = _circle(n) * r
        vertices = np.column_stack([ring[:, 0] + cx, ring[:, 1] + cy, np.full(n, z)])
        self.add(key, vertices, _fan(n), vertices[:, :2] / tile_size(key) if tile_size(key) > 0 else None)

    def tube(self, key: str, p: Point, q: Point, r: float, n: int = 6, r1: float | None = None) -> None:
        """A round bar from `p` to `q` with closed ends."""
        a, b = np.asarray(p, float), np.asarray(q, float)
        x, y, z = (b - a).tolist()
        long = max(math.sqrt(x * x + y * y + z * z), 1e-9)
        x, y, z = x / long, y / long, z / long
        u, v, w = (y, -x, 0.0) if abs(z) < 0.9 else (0.0, z, -y)  # across the axis
        wide = max(math.sqrt(u * u + v * v + w * w), 1e-9)
        u, v, w = u / wide, v / wide, w / wide
        frame = np.array([[u, v, w], [y * w - z * v, z * u - x * w, x * v - y * u]])
        offset = _circle(n) @ frame
        end = r if r1 is None else r1
        self.add(key, np.concatenate([a + offset * r, b + offset * end]), _bar_faces(n))

    def path(self, key: str, points: Sequence[Point], r: float, n: int = 6) -> None:
        """Round bars through `points`."""
        for p, q in zip(points, points[1:]):
            self.tube(key, p, q, r, n)

    def ball(
        self,
        key: str,
        cx: float,
        cy: float,
        cz: float,
        rx: float,
        ry: float | None = None,
        rz: float | None = None,
        n: int = 8,
        rings: int = 6,
    ) -> None:
        """An ellipsoid."""
        ry, rz = rx if ry is None else ry, rx if rz is None else rz
        angle = np.linspace(-np.pi / 2, np.pi / 2, rings)
        across = np.cos(angle)
        across[[0, -1]] = 0.0
        ring = _circle(n)
        rows = [
            np.column_stack(
                [
                    cx + ring[:, 0] * rx * r,
                    cy + ring[:, 1] * ry * r,
                    np.full(n, cz + rz * np.sin(t)),
                ]
            )
            for t, r in zip(angle, across)
        ]
        profile = [(rx * np.cos(t), rz * np.sin(t)) for t in angle]
        faces = _ring_faces(rings, n, True, True)
        self.add(key, np.concatenate(rows), faces, self._round_uv(key, profile, n))

    def torus(
        self,
        key: str,
        cx: float,
        cy: float,
        cz: float,
        big: float,
        small: float,
        axis: str = "x",
        n: int = 16,
        m: int = 5,
    ) -> None:
        """A ring (tyre, wreath); `axis` is the direction of its hole."""
        outer, inner = _circle(n), _circle(m)
        rows = []
        for c, s in np.vstack([outer, outer[:1]]):
            radius = big + small * inner[:, 0]
            rows.append(np.column_stack([small * inner[:, 1], radius * c, radius * s]))
        vertices = np.concatenate(rows)
        order = {"x": [0, 1, 2], "y": [1, 0, 2], "z": [1, 2, 0]}[axis]
        self.add(key, vertices[:, order] + [cx, cy, cz], _ring_faces(n + 1, m))

    def prism(
        self, key: str, outline: Sequence[tuple[float, float]], low: float, high: float, axis: str = "y"
    ) -> None:
        """A convex outline extruded along `axis`; the outline is in the other two axes, in order."""
        flat = np.asarray(outline, float)
        n = len(flat)
        order = {"x": [2, 0, 1], "y": [0, 2, 1], "z": [0, 1, 2]}[axis]

        def at(level: float) -> np.ndarray:
            return np.column_stack([flat, np.full(n, level)])[:, order]

        first, last = at(low), at(high)
        self.add(key, first, _fan(n)[:, ::-1])
        self.add(key, last, _fan(n))
        turned = np.roll(np.arange(n), -1)
        quads = np.stack([first, first[turned], last[turned], last], 1)
        if tile_size(key) > 0:  # each side has its own plane of texture
            for quad in quads:
                self.add(key, quad, _band_faces(1))
        else:
            self.add(key, quads.reshape(-1, 3), _band_faces(n))

    def quad(self, key: str, a: Point, b: Point, c: Point, d: Point) -> None:
        """A flat picture: `a` bottom left, `b` bottom right, `c` top right, `d` top left."""
        uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], float)
        self.chunks.setdefault(key, []).append(
            (np.array([a, b, c, d], float), np.array([[0, 1, 2], [0, 2, 3]]), uv)
        )

    def front(self, key: str, x0: float, x1: float, z0: float, z1: float, y: float) -> None:
        """A picture that faces +y (seen from the front, its left is at +x)."""
        self.quad(key, (x1, y, z0), (x0, y, z0), (x0, y, z1), (x1, y, z1))

    def top(self, x0: float, y0: float, x1: float, y1: float, z: float, clear: float = 2.0) -> None:
        """Declare a flat place on which small things may stand."""
        self.tops.append((x0, y0, x1, y1, z, clear))

    def bend(self, matrix: np.ndarray, start: dict[str, int] | None = None) -> None:
        """Apply a 3x4 affine map to the chunks added since `start` (see `mark`), or to all."""
        for key, items in self.chunks.items():
            first = (start or {}).get(key, 0) if start is not None else 0
            for index in range(first, len(items)):
                vertices, faces, uv = items[index]
                items[index] = (vertices @ matrix[:, :3].T + matrix[:, 3], faces, uv)

    def mark(self) -> dict[str, int]:
        """A bookmark for `bend`."""
        return {key: len(items) for key, items in self.chunks.items()}

    def bounds(self) -> np.ndarray:
        """(2, 3) lower and upper corner."""
        low = np.min([v.min(0) for items in self.chunks.values() for v, _, _ in items], axis=0)
        high = np.max([v.max(0) for items in self.chunks.values() for v, _, _ in items], axis=0)
        return np.stack([low, high])

    def settle(self) -> tuple[float, float, float]:
        """Move the bottom centre of the bounds to the origin, tops too; the extents are returned."""
        low, high = self.bounds()
        shift = np.array([-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2, -low[2]])
        self.bend(np.column_stack([np.eye(3), shift]))
        self.tops = [
            (x0 + shift[0], y0 + shift[1], x1 + shift[0], y1 + shift[1], z + shift[2], clear)
            for x0, y0, x1, y1, z, clear in self.tops
        ]
        size = high - low
        return float(size[0]), float(size[1]), float(size[2])

    def parts(self, angle: float, x: float, y: float, z: float) -> list[Part]:
        """The triangles turned by `angle` (radians about z) and moved to (x, y, z), one part a surface."""
        c, s = float(np.cos(angle)), float(np.sin(angle))
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        found = []
        for key in sorted(self.chunks):
            items = self.chunks[key]
            counts = np.cumsum([0] + [len(v) for v, _, _ in items])
            vertices = np.concatenate([v for v, _, _ in items]) @ turn + [x, y, z]
            faces = np.concatenate([f + o for (_, f, _), o in zip(items, counts)])
            uv = None
            if tile_size(key) != 0:
                uv = np.concatenate([u if u is not None else np.zeros((len(v), 2)) for v, _, u in items])
                uv = uv.astype(np.float32)
            found.append(Part(vertices.astype(np.float32), faces.astype(np.int64), key, uv))
        return found


def turn_x(degrees: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """A 3x4 rotation about the line parallel to x through (y, z)."""
    a = np.radians(degrees)
    rotation = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    centre = np.array([0, y, z])
    return np.column_stack([rotation, centre - rotation @ centre])


def turn_z(degrees: float, x: float = 0.0, y: float = 0.0) -> np.ndarray:
    """A 3x4 rotation about the vertical line through (x, y)."""
    a = np.radians(degrees)
    rotation = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    centre = np.array([x, y, 0])
    return np.column_stack([rotation, centre - rotation @ centre])
