"""The home behind `scan_like`: rooms, stairs and furniture as patches, each a rectangle or an ellipsoid.

Everything is in the file's frame: z up, metres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np

HEIGHT, SLAB, ROOM, NX, NY = 2.6, 0.3, (4.4, 3.8), 3, 2
"""Clear height of a floor, thickness of the slab, size of a room, rooms along x and y."""
_DOOR, _THICK = 1.0, 0.12
_ROUGH = 0.004
"""Scanned surfaces are uneven by this much, metres."""
_WAVES = np.array([[7.1, 23.0, 4.3], [3.9, 8.7, 31.0], [19.0, 5.3, 9.1]])
_STAIRS = (0.95, 14)
"""Width and number of steps."""


@dataclass
class Thing:
    """An annotated object. With `low` and `high` (z up, metres) it is paint: what lies in that box, or in
    its ellipse if `round`, belongs to it."""

    category: str
    region: int
    colour: tuple[float, float, float]
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    round: bool = False

    def holds(self, points: np.ndarray) -> np.ndarray:
        """(...) bool for (..., 3) points."""
        assert self.low is not None and self.high is not None
        offset = np.abs(points - (self.low + self.high) / 2) / ((self.high - self.low) / 2)
        inside = (offset <= 1).all(-1)
        return inside & (np.hypot(offset[..., 0], offset[..., 1]) <= 1) if self.round else inside


@dataclass
class Patch:
    """A piece of surface of thing number `thing`: `origin` + s*`a` + t*`b`, seen from where `a` x `b` points,
    or an ellipsoid around `origin` with the half axes `a` (used for x and y) and `b` (for z) if `ball`."""

    thing: int
    origin: np.ndarray
    a: np.ndarray
    b: np.ndarray
    ball: bool = False
    light: float = 1.0

    @property
    def lengths(self) -> tuple[float, float]:
        """Its sides, metres."""
        a, b = float(np.linalg.norm(self.a)), float(np.linalg.norm(self.b))
        return (2 * np.pi * a, np.pi * b) if self.ball else (a, b)

    @property
    def area(self) -> float:
        """Square metres, about."""
        return self.lengths[0] * self.lengths[1]

    def tiles(self, longest: float) -> list[Patch]:
        """Pieces with sides up to `longest`."""
        if self.ball:
            return [self]
        m, n = (max(int(np.ceil(side / longest)), 1) for side in self.lengths)
        a, b = self.a / m, self.b / n
        return [replace(self, origin=self.origin + a * i + b * j, a=a, b=b)
                for i in range(m) for j in range(n)]

    def grid(self, step: float) -> tuple[int, int]:
        """Cells along its sides for triangles with legs of `step`."""
        low = 3 if self.ball else 1
        return max(round(self.lengths[0] / step), low), max(round(self.lengths[1] / step), low)

    def points(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(len(t), len(s), 3) places."""
        s, t = s[None, :, None], t[:, None, None]
        if not self.ball:
            return self.origin + s * self.a + t * self.b
        turn, tilt = s[..., 0] * 2 * np.pi, (0.02 + 0.96 * t[..., 0]) * np.pi
        r, z = float(np.linalg.norm(self.a)), float(np.linalg.norm(self.b))
        round_ = np.stack([np.cos(turn) + 0 * tilt, -np.sin(turn) + 0 * tilt], -1) * np.sin(tilt)[..., None]
        up = np.broadcast_to(z * np.cos(tilt), round_.shape[:2])
        return self.origin + np.concatenate([r * round_, up[..., None]], -1)

    def mesh(self, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(V, 3) float32 uneven vertices, (V, 2) float64 place on the patch, (F, 3) int64 faces."""
        m, n = self.grid(step)
        s, t = np.linspace(0, 1, m + 1), np.linspace(0, 1, n + 1)
        flat = self.points(s, t).reshape(-1, 3)
        # A function of the place alone: neighbours stay joined.
        vertices = (flat + _ROUGH * np.sin(flat @ _WAVES + [0.3, 1.1, 2.3])).astype(np.float32)
        corner = (np.arange(n)[:, None] * (m + 1) + np.arange(m)).reshape(-1)
        quads = np.stack([corner, corner + 1, corner + m + 2, corner, corner + m + 2, corner + m + 1], -1)
        uv = np.stack(np.broadcast_arrays(s[None, :], t[:, None]), -1).reshape(-1, 2)
        return vertices, uv, quads.reshape(-1, 3)

    def touches(self, thing: Thing) -> bool:
        """Whether the paint of `thing` may reach this patch."""
        if self.ball or thing.low is None or thing.high is None:
            return False
        corners = self.origin + np.array([0 * self.a, self.a, self.b, self.a + self.b])
        return bool((corners.max(0) >= thing.low).all() and (corners.min(0) <= thing.high).all())


class _Home:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        # One kind after the other: all appear.
        self.order, self.wide_order, self.turns = count(int(rng.integers(100))), count(), count()
        self.things: list[Thing] = []
        self.patches: list[Patch] = []

    def thing(self, category: str, region: int, colour: tuple[float, float, float] | None = None,
              **paint) -> int:
        if colour is None:
            red, green, blue = self.rng.uniform(0.15, 0.9, 3)
            colour = (float(red), float(green), float(blue))
        self.things.append(Thing(category, region, colour, **paint))
        return len(self.things) - 1

    def quad(self, thing: int, origin, a, b, light: float = 0.9) -> None:
        place, one, other = (np.array(v, float) for v in (origin, a, b))
        self.patches.append(Patch(thing, place, one, other, light=light))

    def box(self, thing: int, low, high, bottom: bool = False) -> None:
        """A box as a scanner sees it: without its underside unless `bottom`."""
        (x, y, z), (dx, dy, dz) = low, np.subtract(high, low)
        self.quad(thing, (x, y, z + dz), (dx, 0, 0), (0, dy, 0), 1.0)
        for origin, side, light in (((x, y, z), (dx, 0, 0), 0.85), ((x + dx, y + dy, z), (-dx, 0, 0), 0.8),
                                    ((x, y + dy, z), (0, -dy, 0), 0.75), ((x + dx, y, z), (0, dy, 0), 0.9)):
            self.quad(thing, origin, side, (0, 0, dz), light)
        if bottom:
            self.quad(thing, low, (0, dy, 0), (dx, 0, 0), 0.5)

    def ball(self, thing: int, center, radius: float, half: float) -> None:
        self.patches.append(Patch(thing, np.array(center, float), np.array([radius, 0, 0.0]),
                                  np.array([0, 0, half]), True, 0.9))


def build_home(floors: int, rng: np.random.Generator) -> tuple[list[Thing], list[Patch]]:
    """A home of 3 x 2 rooms a floor, with stairs between two floors."""
    home = _Home(rng)
    width, depth = NX * ROOM[0], NY * ROOM[1]
    tread = 0.26
    hole = (width - 0.3 - _STAIRS[1] * tread, depth - _STAIRS[0], width - 0.3, depth)
    for level in range(floors):
        base = level * (HEIGHT + SLAB)
        regions = [level * NX * NY + k for k in range(NX * NY)]
        _shell(home, base, width, depth, regions, hole if level else None,
               hole if level < floors - 1 else None)
        for i in range(NX):
            for j in range(NY):
                last = (i, j) == (NX - 1, NY - 1)
                _furnish(home, i, j, base, regions[i * NY + j], floors == 2 and last)
    if floors == 2:
        stairs, rise = home.thing("stairs", 5, (0.5, 0.35, 0.25)), (HEIGHT + SLAB) / _STAIRS[1]
        for k in range(_STAIRS[1]):
            x = hole[0] + k * tread
            home.box(stairs, (x, hole[1], 0), (x + tread, hole[3], (k + 1) * rise))
        x0, y0, x1, y1 = hole
        for origin, side in (((x1, y0), (x0 - x1, 0)), ((x0, y1), (x1 - x0, 0)), ((x0, y0), (0, y1 - y0)),
                             ((x1, y1), (0, y0 - y1))):  # the edge of the slab above
            home.quad(stairs, (*origin, HEIGHT), (*side, 0), (0, 0, SLAB), 0.8)
    return home.things, home.patches


def _shell(home: _Home, base: float, width: float, depth: float, regions: list[int],
           hole: tuple[float, float, float, float] | None,
           above: tuple[float, float, float, float] | None) -> None:
    """Floor and ceiling by room column, walls with doorways, rugs and pictures as paint."""
    for name, z, gap, colour, light in (("floor", base, hole, (0.55, 0.42, 0.30), 1.0),
                                        ("ceiling", base + HEIGHT, above, (0.93, 0.93, 0.9), 0.8)):
        for i in range(NX):
            for j in range(NY):
                thing = home.thing(name, regions[i * NY + j], colour)
                x0, y0 = i * ROOM[0], j * ROOM[1]
                for a, b, c, d in _around((x0, y0, x0 + ROOM[0], y0 + ROOM[1]), gap):
                    sides = ((c - a, 0, 0), (0, d - b, 0))
                    one, other = sides if name == "floor" else sides[::-1]
                    home.quad(thing, (a, b, z), one, other, light)
    wall = home.thing("Wall", regions[0], (0.85, 0.82, 0.75))
    for origin, side in (((width, 0), (-width, 0)), ((0, depth), (width, 0)), ((0, 0), (0, depth)),
                         ((width, depth), (0, -depth))):
        home.quad(wall, (*origin, base), (*side, 0), (0, 0, HEIGHT), 0.85)
    for i in range(1, NX):  # walls across x, one doorway a room
        wall = home.thing("wall ", regions[i * NY], (0.8, 0.84, 0.8))
        for j in range(NY):
            _wall(home, wall, (i * ROOM[0], j * ROOM[1]), 1, ROOM[1], base, 1.6)
    for i in range(NX):
        wall = home.thing("wall", regions[i * NY + 1], (0.8, 0.8, 0.86))
        _wall(home, wall, (i * ROOM[0], ROOM[1]), 0, ROOM[0], base, 2.9 - 1.6 * (i == 1))
    for k, (i, name) in enumerate((i, name) for i in range(NX) for name in ("picture", "Picture ")):
        x = 0.8 + i * ROOM[0] + 1.7 * (k % 2)
        home.thing(name, regions[i * NY], low=np.array([x, -0.05, base + 1.2]),
                   high=np.array([x + 0.9, 0.05, base + 1.9]))
    for i in range(NX):
        x, y = (i + 0.5) * ROOM[0], ROOM[1] / 2
        home.thing("round rug" if i else "rug", regions[i * NY], low=np.array([x - 1, y - 0.8, base - 0.05]),
                   high=np.array([x + 1, y + 0.8, base + 0.05]), round=True)


def _around(room: tuple[float, float, float, float], gap: tuple[float, float, float, float] | None
            ) -> list[tuple[float, float, float, float]]:
    """`room` (x0, y0, x1, y1) as rectangles that leave out `gap`."""
    if gap is None or gap[0] >= room[2] or gap[2] <= room[0] or gap[1] >= room[3] or gap[3] <= room[1]:
        return [room]
    a, b, c, d = max(gap[0], room[0]), max(gap[1], room[1]), min(gap[2], room[2]), min(gap[3], room[3])
    parts = [(room[0], room[1], room[2], b), (room[0], d, room[2], room[3]), (room[0], b, a, d),
             (c, b, room[2], d)]
    return [p for p in parts if p[2] - p[0] > 1e-6 and p[3] - p[1] > 1e-6]


def _wall(home: _Home, wall: int, start: tuple[float, float], axis: int, length: float, base: float,
          door: float) -> None:
    """A wall from `start` along `axis` with a doorway of 2.1 m height at `door`."""
    for a, b, low in ((0.0, door, 0.0), (door, door + _DOOR, 2.1), (door + _DOOR, length, 0.0)):
        corner, size = list(start), [_THICK, _THICK]
        corner[axis] += a
        corner[1 - axis] -= _THICK / 2
        size[axis] = b - a
        home.box(wall, (*corner, base + low), (corner[0] + size[0], corner[1] + size[1], base + HEIGHT),
                 bottom=low > 0)


_ITEMS = ("chair", "Chair", "chairs", "bookshelf", "floor lamp", "potted plant", "cabinet", "armchair",
          "refrigerator", "tv, wall mounted", '6" vase', "unknown/ probably decoration",
          "washing machine", "wardrobe", "nightstand", "trash can")
_LOW = {"trash can": 0.5, "nightstand": 0.55, "cabinet": 0.9, "washing machine": 0.85}


_WIDE = ("sofa", "bed", "dining table", "desk")


def _furnish(home: _Home, i: int, j: int, base: float, region: int, stairs: bool) -> None:
    """Furniture clear of the doorways: most of it along the outer wall, wide pieces where there is room."""
    x0, y0 = i * ROOM[0] + 0.25, j * ROOM[1] + 0.25
    spots = [(0.0, 0.0, True), (1.7, 0.0, True), (0.0, 2.75, False), (1.6, 1.4, True), (3.3, 0.0, False),
             (0.0, 0.9, False)]
    for x, y, wide in spots[3:4] if stairs else spots:
        wide = wide and next(home.turns) % 2 == 0
        kinds = _WIDE if wide else _ITEMS
        name = kinds[next(home.wide_order if wide else home.order) % len(kinds)]
        depth = 0.8 if name in _WIDE else 0.45
        y = ROOM[1] - 0.5 - depth - y if j else y  # the outer wall of the second row is on the other side
        _item(home, name, (x0 + x, y0 + y), base, region)


def _item(home: _Home, name: str, spot: tuple[float, float], z: float, region: int) -> None:
    (x, y), thing = spot, home.thing(name, region)
    if name in ("chair", "Chair", "chairs", "armchair"):
        home.box(thing, (x, y, z + 0.42), (x + 0.45, y + 0.45, z + 0.48), True)
        home.box(thing, (x, y + 0.4, z + 0.48), (x + 0.45, y + 0.45, z + 0.95))
        for dx in (0.0, 0.4):
            for dy in (0.0, 0.4):
                home.box(thing, (x + dx, y + dy, z), (x + dx + 0.05, y + dy + 0.05, z + 0.42))
    elif name in ("dining table", "desk"):
        home.box(thing, (x, y, z + 0.7), (x + 1.2, y + 0.6, z + 0.75), True)
        for dx in (0.0, 1.13):
            home.box(thing, (x + dx, y, z), (x + dx + 0.07, y + 0.6, z + 0.7))
        vase = home.thing("vase", region)
        home.ball(vase, (x + 0.5, y + 0.3, z + 0.87), 0.08, 0.13)
        book = home.thing("book", region)
        home.box(book, (x + 0.8, y + 0.2, z + 0.75), (x + 1.0, y + 0.35, z + 0.78))
    elif name in ("floor lamp", "potted plant", '6" vase'):
        home.box(thing, (x + 0.15, y + 0.15, z), (x + 0.3, y + 0.3, z + 0.5))
        home.ball(thing, (x + 0.225, y + 0.225, z + 0.8), 0.22, 0.32)
    elif name in ("sofa", "bed"):
        home.box(thing, (x, y, z), (x + 1.5, y + 0.8, z + 0.42))
        home.box(thing, (x, y + 0.65, z + 0.42), (x + 1.5, y + 0.8, z + 0.85))
        pillow = home.thing("pillow" if name == "bed" else "cushion", region)
        home.ball(pillow, (x + 0.4, y + 0.4, z + 0.47), 0.2, 0.08)
    else:
        home.box(thing, (x, y, z), (x + 0.7, y + 0.45, z + _LOW.get(name, 1.8)))
