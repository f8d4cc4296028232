"""Builders of toys, nursery things and arcade games (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint, legs

Rng = np.random.Generator
BLACK, CHROME, RUBBER, CREAM = "plastic:black", "metal:silver", "rubber:black", "plastic:cream"
BRIGHT = ("plastic:red", "plastic:yellow", "plastic:blue", "plastic:green", "plastic:orange")


def slide(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A child's slide: steps at the back, a trough that comes down to the front."""
    top, back = h * 0.72, -d * 0.25
    for x in (-w * 0.42, w * 0.42):
        s.tube(p.second, (x, -d / 2, 0), (x, back, h), 0.025)
        s.tube(p.second, (x, back, h), (x, back + 0.22, top), 0.022)
        s.tube(p.second, (x, back + 0.2, 0), (x, back + 0.2, top), 0.025)
    for i in range(1, 5):
        z = top * i / 5
        s.block(p.second, 0, -d / 2 + (back + d / 2) * z / h, z, w * 0.84, 0.09, 0.03)
    s.block(p.main, 0, back + 0.1, top - 0.03, w * 0.84, 0.26, 0.04)
    rows = [(back + 0.2, top), (d * 0.1, top * 0.55), (d * 0.36, 0.14), (d / 2, 0.1)]
    for (y0, z0), (y1, z1) in zip(rows, rows[1:]):
        for x0, x1, up in (
            (-w * 0.34, w * 0.34, 0.0),
            (-w * 0.42, -w * 0.34, 0.1),
            (w * 0.34, w * 0.42, 0.1),
        ):
            s.prism(p.main, [(y0, z0 - 0.03), (y1, z1 - 0.03), (y1, z1 + up), (y0, z0 + up)], x0, x1, "x")
    s.block(p.second, 0, d * 0.42, 0, w * 0.5, 0.08, 0.1)


def ball_pool(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A round padded wall full of coloured balls."""
    r = w / 2
    s.lathe(p.main, [(1e-4, 0), (r, 0), (r, h), (r * 0.84, h), (r * 0.84, h * 0.5), (1e-4, h * 0.5)], n=20)
    for k in range(34):
        reach, angle = r * 0.76 * float(np.sqrt((k + 0.5) / 34)), 2.39996 * k
        z = h * (0.6 + 0.12 * float(rng.random()))
        s.ball(BRIGHT[k % 5], reach * np.cos(angle), reach * np.sin(angle), z, 0.055, n=6, rings=5)


def toy_kitchen(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A play kitchen: oven, sink with a tap, hob, back wall with a shelf."""
    top = h * 0.55
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.02, top - 0.02)
    s.box(p.second, -w / 2, w / 2, -d / 2, d / 2, top - 0.02, top)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.03, top, h)
    s.box(p.second, -w / 2, w / 2, -d / 2, -d / 2 + 0.16, h * 0.82, h * 0.84)
    s.block("glass:black", -w * 0.24, d / 2 - 0.015, top * 0.2, w * 0.36, 0.014, top * 0.5)
    s.tube(CHROME, (-w * 0.4, d / 2, top * 0.78), (-w * 0.08, d / 2, top * 0.78), 0.012)
    s.block(p.second, w * 0.24, d / 2 - 0.014, top * 0.1, w * 0.42, 0.014, top * 0.72)
    s.block(CHROME, w * 0.24, 0.02, top, w * 0.34, d * 0.55, 0.008)
    s.path(
        CHROME,
        [(w * 0.24, -d * 0.3, top), (w * 0.24, -d * 0.3, top + 0.14), (w * 0.24, 0, top + 0.12)],
        0.012,
    )
    for x in (-w * 0.36, -w * 0.12):
        s.disc(BLACK, x, 0.02, top + 0.004, w * 0.09, 12)
        s.tube("plastic:red", (x, d / 2 - 0.02, top * 0.9), (x, d / 2 + 0.015, top * 0.9), 0.022, 8)
    s.cyl("plastic:red", -w * 0.36, 0.02, top + 0.005, 0.09, w * 0.08, n=10)
    for x in (-w * 0.3, -w * 0.1, w * 0.15, w * 0.33):
        s.cyl(BRIGHT[int(rng.integers(5))], x, -d / 2 + 0.09, h * 0.84, h * 0.1, 0.045, n=8)


def toy_car(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ride-on car: bonnet, open cabin with a seat and a wheel, four wheels; it looks to +y."""
    wheel = min(0.12, h * 0.24)
    for x in (-w * 0.44, w * 0.44):
        for y in (-d * 0.3, d * 0.3):
            s.tube(RUBBER, (x - 0.035, y, wheel), (x + 0.035, y, wheel), wheel, 14)
            s.tube(CHROME, (x - 0.04, y, wheel), (x + 0.04, y, wheel), wheel * 0.5, 8)
    low, mid = wheel * 0.7, h * 0.55
    side = [(-d / 2, low), (d / 2, low), (d / 2, h * 0.42), (d * 0.2, mid), (-d * 0.42, mid)]
    s.prism(p.main, side, -w * 0.4, w * 0.4, "x")
    s.box(BLACK, -w * 0.3, w * 0.3, -d * 0.3, d * 0.1, mid - 0.01, mid + 0.006)
    s.box(p.second, -w * 0.3, w * 0.3, -d * 0.4, -d * 0.3, mid, h * 0.85)
    s.prism(
        "glass:light blue",
        [(d * 0.16, mid), (d * 0.2, mid), (d * 0.09, h * 0.95), (d * 0.06, h * 0.95)],
        -w * 0.34,
        w * 0.34,
        "x",
    )
    s.torus(BLACK, 0, d * 0.06, mid + 0.06, w * 0.14, 0.014, "y", 12, 5)
    for x in (-w * 0.28, w * 0.28):
        s.tube("plastic:yellow", (x, d / 2 - 0.01, h * 0.34), (x, d / 2 + 0.012, h * 0.34), w * 0.07, 10)
    s.block(CHROME, 0, d / 2, low, w * 0.86, 0.04, 0.05)


def doll(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sitting doll: dress, arms, legs, face, hair."""
    skin, hair = "plastic:beige", ("knit:brown", "knit:mustard", "knit:black")[int(rng.integers(3))]
    s.lathe(
        p.main,
        [(1e-4, 0.02), (w * 0.4, 0.02), (w * 0.3, h * 0.22), (w * 0.16, h * 0.55), (1e-4, h * 0.6)],
        n=10,
    )
    for x in (-w * 0.14, w * 0.14):
        s.tube(skin, (x, d * 0.1, h * 0.08), (x * 1.2, d * 0.5, h * 0.06), w * 0.07, 7)
        s.tube(BLACK, (x * 1.2, d * 0.46, h * 0.07), (x * 1.2, d * 0.52, h * 0.1), w * 0.085, 7)
        s.tube(skin, (x, 0.0, h * 0.52), (x * 2.8, d * 0.12, h * 0.3), w * 0.055, 6)
    s.ball(skin, 0, 0.01, h * 0.77, w * 0.24, w * 0.22, h * 0.18, 10, 8)
    s.ball(hair, 0, -w * 0.06, h * 0.82, w * 0.27, w * 0.22, h * 0.18, 9, 7)
    for x in (-w * 0.09, w * 0.09):
        s.ball(BLACK, x, w * 0.21, h * 0.79, w * 0.03, n=5, rings=4)
        s.ball(hair, x * 2.8, -0.01, h * 0.66, w * 0.08, w * 0.08, h * 0.13, 6, 5)
    s.block("plastic:red", 0, w * 0.21, h * 0.7, w * 0.1, 0.008, h * 0.02)


def toy_train(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wooden train along x: an engine with a funnel and two loaded waggons."""
    third, wheel = w / 3, h * 0.14
    for i in range(3):
        x = -w / 2 + third * (i + 0.5)
        s.block(BRIGHT[(p.seed + i) % 5], x, 0, wheel, third * 0.86, d * 0.8, h * 0.14)
        for dx in (-third * 0.27, third * 0.27):
            for y in (-d * 0.44, d * 0.44):
                s.tube(BLACK, (x + dx, y - 0.01, wheel), (x + dx, y + 0.01, wheel), wheel, 10)
        if i < 2:
            s.tube(CHROME, (x + third * 0.42, 0, wheel * 1.6), (x + third * 0.6, 0, wheel * 1.6), 0.01, 5)
    x, z = w / 2 - third / 2, wheel + h * 0.14
    s.tube(
        p.main,
        (x - third * 0.1, 0, z + h * 0.2),
        (x + third * 0.44, 0, z + h * 0.2),
        min(d * 0.3, h * 0.2),
        12,
    )
    s.block(p.main, x - third * 0.25, 0, z, third * 0.34, d * 0.76, h * 0.5)
    s.block(p.second, x - third * 0.25, 0, z + h * 0.5, third * 0.44, d * 0.9, h * 0.05)
    s.lathe(
        BLACK,
        [(1e-4, z + h * 0.35), (d * 0.1, z + h * 0.35), (d * 0.18, h * 0.98), (1e-4, h * 0.98)],
        x + third * 0.3,
    )
    for i, key in enumerate(("wood:pine", "plastic:yellow")):
        x = -w / 2 + third * (i + 0.5)
        for y in (-d * 0.2, d * 0.2):
            s.tube(key, (x - third * 0.36, y, z + h * 0.12), (x + third * 0.36, y, z + h * 0.12), h * 0.12, 8)


def toy_robot(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A tin robot: square head with lamps for eyes, box body with dials, hinged arms, big feet."""
    for x in (-w * 0.18, w * 0.18):
        s.block(p.second, x, d * 0.05, 0, w * 0.26, d * 0.9, h * 0.08)
        s.block(p.main, x, 0, h * 0.08, w * 0.2, d * 0.5, h * 0.24)
        s.tube(CHROME, (x * 2.2, 0, h * 0.6), (x * 2.6, d * 0.2, h * 0.36), w * 0.06, 7)
        s.torus(p.second, x * 2.6, d * 0.25, h * 0.33, w * 0.06, w * 0.02, "x", 8, 4)
        s.tube("plastic:yellow", (x * 0.55, d * 0.3, h * 0.83), (x * 0.55, d * 0.38, h * 0.83), w * 0.06, 8)
    s.block(p.main, 0, 0, h * 0.32, w * 0.66, d * 0.7, h * 0.36)
    s.block(CHROME, 0, 0, h * 0.68, w * 0.2, d * 0.25, h * 0.05)
    s.block(p.main, 0, 0, h * 0.72, w * 0.5, d * 0.6, h * 0.2)
    s.front("face:1", -w * 0.16, w * 0.16, h * 0.42, h * 0.42 + w * 0.32, d * 0.36)
    s.block(BLACK, 0, d * 0.3, h * 0.75, w * 0.26, 0.01, h * 0.025)
    s.tube(CHROME, (0, 0, h * 0.92), (0, 0, h * 0.98), 0.008, 5)
    s.ball("plastic:red", 0, 0, h * 0.98, w * 0.045, n=6, rings=5)


def toy_plane(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A biplane toy; wings along x, propeller at +y."""
    z = h * 0.45
    s.tube(p.main, (0, -d * 0.46, z), (0, d * 0.4, z), h * 0.08, 10, h * 0.19)
    for level in (z - h * 0.1, z + h * 0.36):
        s.block(p.second, 0, d * 0.12, level, w, d * 0.24, 0.014)
    for x in (-w * 0.32, w * 0.32):
        s.tube(CHROME, (x, d * 0.12, z - h * 0.1), (x, d * 0.12, z + h * 0.36), 0.007, 5)
        s.tube(
            RUBBER, (x * 0.5 - 0.012, d * 0.2, h * 0.12), (x * 0.5 + 0.012, d * 0.2, h * 0.12), h * 0.12, 10
        )
        s.tube(CHROME, (x * 0.5, d * 0.2, h * 0.12), (x * 0.2, d * 0.2, z), 0.008, 5)
    s.block(p.second, 0, -d * 0.42, z, w * 0.36, d * 0.13, 0.012)
    s.prism(
        p.second,
        [(-d * 0.48, z), (-d * 0.36, z), (-d * 0.42, h * 0.92), (-d * 0.48, h * 0.92)],
        -0.006,
        0.006,
        "x",
    )
    s.ball(BLACK, 0, d * 0.42, z, h * 0.09, n=7, rings=5)
    s.block("wood:oak", 0, d * 0.46, z - 0.02, w * 0.36, 0.012, 0.04)


def toy_castle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A toy castle: four round towers with pointed roofs, battlements and a gate."""
    r, wall = min(w, d) * 0.15, h * 0.42
    for x in (-w / 2 + r, w / 2 - r):
        for y in (-d / 2 + r, d / 2 - r):
            tall = h * (0.72 if y < 0 else 0.6)
            s.cyl(p.main, x, y, 0, tall, r, n=12)
            s.lathe(p.second, [(r * 1.15, tall), (1e-4, tall + h * 0.28)], x, y, 12)
    for y in (-d / 2 + r, d / 2 - r):
        s.block(p.main, 0, y, 0, w - 2 * r, r * 0.8, wall)
        for x in np.linspace(-w / 2 + 2.4 * r, w / 2 - 2.4 * r, 5):
            s.block(p.main, float(x), y, wall, r * 0.45, r * 0.8, h * 0.07)
    for x in (-w / 2 + r, w / 2 - r):
        s.block(p.main, x, 0, 0, r * 0.8, d - 2 * r, wall)
    s.block("wood:walnut", 0, d / 2 - r * 0.58, 0, w * 0.2, 0.02, wall * 0.66)
    s.tube(CHROME, (-w / 2 + r, -d / 2 + r, h * 0.98), (-w / 2 + r, -d / 2 + r, h * 1.1), 0.006, 5)
    s.block("fabric:red", -w / 2 + r + 0.035, -d / 2 + r, h * 1.04, 0.07, 0.004, h * 0.06)


def puppet_theater(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A booth with a stage opening, drawn curtains and a gable with a star."""
    y = d / 2 - 0.02
    s.box(p.main, -w / 2, w / 2, y - 0.03, y, 0, h * 0.48)
    for x0 in (-w / 2, w / 2 - 0.08):
        s.box(p.main, x0, x0 + 0.08, y - 0.03, y, h * 0.48, h * 0.85)
        s.box(p.main, x0, x0 + 0.03, -d / 2, y, 0, h * 0.8)
    s.prism(
        p.main,
        [(-w / 2, h * 0.82), (w / 2, h * 0.82), (w / 2, h * 0.88), (0, h), (-w / 2, h * 0.88)],
        y - 0.03,
        y,
    )
    s.block("wood:pine", 0, y, h * 0.48, w, 0.12, 0.025)
    for side in (-1, 1):
        x = np.linspace(side * (w / 2 - 0.08), side * w * 0.17, 9)
        for x0, x1, i in zip(x, x[1:], range(8)):
            y0, y1 = (y - 0.05 - 0.03 * ((i + k) % 2) for k in (0, 1))
            quad = np.array([[x0, y0, h * 0.5], [x1, y1, h * 0.5], [x1, y1, h * 0.83], [x0, y0, h * 0.83]])
            s.add(p.second, quad, np.array([[0, 1, 2], [0, 2, 3]]))
    s.tube("plastic:yellow", (0, y, h * 0.9), (0, y + 0.01, h * 0.9), h * 0.04, 5)
    for cx, key in ((-w * 0.09, "plastic:red"), (w * 0.07, "plastic:green")):
        s.lathe(key, [(1e-4, h * 0.5), (0.05, h * 0.5), (0.025, h * 0.6), (1e-4, h * 0.62)], cx, y - 0.02, 8)
        s.ball("plastic:beige", cx, y - 0.02, h * 0.64, 0.04, n=7, rings=6)


def play_mat(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Foam tiles in five colours, laid as one mat."""
    nx, ny = max(2, round(w / 0.32)), max(2, round(d / 0.32))
    first = int(rng.integers(5))
    for i in range(nx):
        for j in range(ny):
            key = "foam:" + BRIGHT[(first + i + 2 * j) % 5].split(":")[1]
            x, y = -w / 2 + w / nx * (i + 0.5), -d / 2 + d / ny * (j + 0.5)
            s.block(key, x, y, 0, w / nx - 0.004, d / ny - 0.004, 0.014)


def baby_gym(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A padded mat under two crossing arches with hanging toys."""
    s.lathe(p.main, [(1e-4, 0), (w / 2, 0), (w / 2, 0.035), (1e-4, 0.04)], n=18, sy=d / w)
    t = np.linspace(0, np.pi, 9)
    for sx, sy in ((1, 1), (1, -1)):
        points = [
            (0.42 * w * np.cos(a) * sx, 0.42 * d * np.cos(a) * sy, 0.03 + (h - 0.05) * np.sin(a)) for a in t
        ]
        s.path(p.second, points, 0.022, 7)
        for i, k in enumerate((2, 3, 5, 6)):
            x, y, z = points[k]
            s.tube("fabric:white", (x, y, z), (x, y, z - 0.14), 0.004, 4)
            s.ball(BRIGHT[(i + p.seed) % 5], x, y, z - 0.18, 0.045, n=7, rings=5)


def abacus(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Rows of beads on bars in a frame on two feet."""
    for x in (-w / 2 + 0.012, w / 2 - 0.012):
        s.block(p.main, x, 0, 0, 0.024, d, 0.025)
        s.block(p.main, x, 0, 0, 0.024, 0.03, h)
    s.block(p.main, 0, 0, h - 0.025, w, 0.03, 0.025)
    n = max(4, round(h / 0.06))
    for i in range(n):
        z = 0.05 + (h - 0.1) * i / (n - 1)
        s.tube(CHROME, (-w / 2, 0, z), (w / 2, 0, z), 0.004, 4)
        split = int(rng.integers(2, 7))
        for k in range(8):
            x = -w / 2 + 0.045 + k * 0.028 + (w - 0.3 if k >= split else 0.0)
            s.ball(BRIGHT[i % 5], x, 0, z, 0.014, 0.022, 0.022, 5, 4)


def playpen(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A square pen: rails, corner posts, bars, a padded floor and a ball."""
    legs(s, p.frame, w, d, h, 0.05, 0.0)
    s.block(p.main, 0, 0, 0.06, w - 0.04, d - 0.04, 0.06)
    for z in (0.07, h - 0.04):
        for y in (-d / 2 + 0.02, d / 2 - 0.02):
            s.block(p.frame, 0, y, z, w, 0.035, 0.04)
        for x in (-w / 2 + 0.02, w / 2 - 0.02):
            s.block(p.frame, x, 0, z, 0.035, d, 0.04)
    for x in np.linspace(-w / 2 + 0.12, w / 2 - 0.12, 8):
        for y in (-d / 2 + 0.02, d / 2 - 0.02):
            s.block(p.frame, float(x), y, 0.1, 0.018, 0.018, h - 0.12)
    for y in np.linspace(-d / 2 + 0.12, d / 2 - 0.12, 8):
        for x in (-w / 2 + 0.02, w / 2 - 0.02):
            s.block(p.frame, x, float(y), 0.1, 0.018, 0.018, h - 0.12)
    s.ball(BRIGHT[p.seed % 5], w * 0.2, -d * 0.15, 0.21, 0.09, n=9, rings=7)


def cradle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rocking cradle: flared sides, a hood at one end, curved runners across."""
    for x in (-w * 0.36, w * 0.36):
        ys = np.linspace(-d / 2, d / 2, 7)
        s.path(p.frame, [(x, float(y), 0.02 + 0.5 * (y / d) ** 2 * d) for y in ys], 0.02)
        s.block(p.frame, x, 0, 0.03, 0.05, d * 0.4, 0.14)
    low, top = 0.16, h * 0.66
    for sign in (-1, 1):
        side = [(sign * d * 0.3, low), (sign * d * 0.34, low), (sign * d * 0.48, top), (sign * d * 0.44, top)]
        s.prism(p.frame, side, -w / 2, w / 2, "x")
    for x in (-w / 2 + 0.012, w / 2 - 0.012):
        tall = h if x < 0 else top
        end = [
            (-d * 0.32, low),
            (d * 0.32, low),
            (d * 0.47, top),
            (d * 0.3, tall),
            (-d * 0.3, tall),
            (-d * 0.47, top),
        ]
        s.prism(p.frame, end, x - 0.012, x + 0.012, "x")
    hood = [(d * 0.46, top), (d * 0.3, h), (-d * 0.3, h), (-d * 0.46, top)]
    for (y0, z0), (y1, z1) in zip(hood, hood[1:]):
        s.prism(p.frame, [(y0, z0 - 0.02), (y1, z1 - 0.02), (y1, z1), (y0, z0)], -w / 2, -w * 0.2, "x")
    s.block(p.frame, 0, 0, low, w - 0.02, d * 0.64, 0.03)
    s.block("fabric:white", 0, 0, low + 0.03, w - 0.06, d * 0.66, 0.1)
    s.box(p.main, -w * 0.1, w / 2 - 0.03, -d * 0.4, d * 0.4, low + 0.12, low + 0.16)


def car_seat(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A child's car seat: shell with side wings, padded seat and back, belt."""
    s.block(BLACK, 0, 0, 0, w * 0.8, d * 0.85, h * 0.2)
    s.box(p.main, -w * 0.4, w * 0.4, -d * 0.3, d / 2, h * 0.2, h * 0.34)
    mark = s.mark()
    s.box(p.main, -w * 0.4, w * 0.4, -d / 2, -d * 0.32, h * 0.2, h)
    for x in (-w * 0.45, w * 0.45):
        s.box(p.second, x - w * 0.05, x + w * 0.05, -d / 2, -d * 0.08, h * 0.55, h * 0.95)
    s.bend(turn_x(10, -d * 0.3, h * 0.2), mark)
    for x in (-w * 0.45, w * 0.45):
        s.box(p.second, x - w * 0.05, x + w * 0.05, -d * 0.35, d * 0.3, h * 0.2, h * 0.48)
    for x in (-w * 0.14, w * 0.14):
        s.path(BLACK, [(x, -d * 0.38, h * 0.82), (x, -d * 0.16, h * 0.5), (0, d * 0.08, h * 0.36)], 0.014, 5)
    s.block("plastic:red", 0, d * 0.06, h * 0.35, 0.06, 0.05, 0.04)


def potty(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A child's pot with a back rest and a splash guard."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0),
            (r * 0.85, 0),
            (r * 0.75, h * 0.35),
            (r, h * 0.55),
            (r * 0.9, h * 0.58),
            (r * 0.6, h * 0.5),
            (r * 0.45, h * 0.15),
            (1e-4, h * 0.12),
        ],
        n=14,
        sy=d / w,
    )
    s.prism(
        p.second,
        [(-w * 0.36, h * 0.5), (w * 0.36, h * 0.5), (w * 0.26, h), (-w * 0.26, h)],
        -d * 0.48,
        -d * 0.38,
    )
    s.ball(p.main, 0, d * 0.38, h * 0.62, w * 0.14, d * 0.06, h * 0.16, 8, 6)
