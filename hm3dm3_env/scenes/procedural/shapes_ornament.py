"""Builders of ornaments and hangings (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GOLD = "plastic:black", "metal:silver", "metal:gold"
GREENS = ("leaf:green", "leaf:dark green", "leaf:olive")


def tapestry(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A woven hanging with a border and a fringe on a rod."""
    s.tube(p.frame, (-w / 2, 0, h - 0.02), (w / 2, 0, h - 0.02), 0.016, 8)
    for x in (-w / 2, w / 2):
        s.ball(p.frame, x, 0, h - 0.02, 0.028, n=8, rings=6)
    wide, low, y = w * 0.46, 0.08, 0.012
    s.box(p.main, -wide, wide, -y, y - 0.004, low, h - 0.02)
    s.front(
        f"rug:{p.main.split(':')[1]}+{p.second.split(':')[1]}:{p.seed % 1000}", -wide, wide, low, h - 0.03, y
    )
    for x in np.linspace(-wide + 0.01, wide - 0.01, 24):
        s.box(p.second, float(x) - 0.006, float(x) + 0.006, -0.004, 0.004, 0.0, low)


def trophy(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A cup with two handles on a dark plinth with a plate."""
    s.block("wood:ebony", 0, 0, 0, w * 0.5, w * 0.5, h * 0.2)
    s.block(GOLD, 0, w * 0.25, h * 0.05, w * 0.3, 0.006, h * 0.1)
    s.lathe(
        p.main,
        [
            (w * 0.22, h * 0.2),
            (w * 0.05, h * 0.27),
            (w * 0.05, h * 0.4),
            (w * 0.24, h * 0.56),
            (w * 0.32, h * 0.82),
            (w * 0.36, h),
            (w * 0.32, h),
            (w * 0.26, h * 0.8),
            (1e-4, h * 0.6),
        ],
        n=14,
    )
    for side in (-1, 1):
        points = [(w * 0.33, h * 0.92), (w * 0.5, h * 0.92), (w * 0.47, h * 0.7), (w * 0.26, h * 0.6)]
        s.path(p.main, [(side * x, 0, z) for x, z in points], 0.011, 6)


def model_ship(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sailing ship along x on a cradle: hull, deck, three masts with square sails, bowsprit."""
    low, deck = h * 0.08, h * 0.27
    for foot in (-w * 0.2, w * 0.2):
        s.block("wood:ebony", foot, 0, 0, 0.03, d * 0.7, low + 0.02)
    x = np.linspace(-w * 0.42, w * 0.36, 8)
    half = d * 0.42 * np.array([0.62, 0.85, 0.98, 1.0, 1.0, 0.9, 0.62, 0.05])
    rise = np.array([0.08, 0.03, 0.0, 0.0, 0.0, 0.01, 0.04, 0.09]) * h
    for i in range(7):
        a, b = (
            np.array(
                [
                    [x[k], -half[k], deck + rise[k]],
                    [x[k], half[k], deck + rise[k]],
                    [x[k], 0.35 * half[k], low],
                    [x[k], -0.35 * half[k], low],
                ]
            )
            for k in (i, i + 1)
        )
        for j in range(4):
            n = (j + 1) % 4
            s.add(
                p.main if j != 0 else "wood:pine",
                np.array([a[j], a[n], b[n], b[j]]),
                np.array([[0, 1, 2], [0, 2, 3]]),
            )
        if i == 0:
            s.add(p.main, a, np.array([[0, 1, 2], [0, 2, 3]]))
    s.tube("wood:pine", (w * 0.34, 0, deck + h * 0.06), (w / 2, 0, deck + h * 0.16), 0.007, 5)
    for mx, tall in ((-w * 0.26, 0.8), (w * 0.0, 1.0), (w * 0.22, 0.88)):
        s.tube("wood:pine", (mx, 0, deck), (mx, 0, h * tall), 0.008, 5)
        for k0, k1, wide in ((0.34, 0.6, 1.0), (0.64, 0.84, 0.76), (0.87, 0.98, 0.5)):
            z0, z1 = h * tall * k0 + h * 0.04, h * tall * k1
            y = d * 0.5 * wide
            s.add(
                p.second,
                np.array(
                    [
                        [mx + 0.03, -y, z0],
                        [mx + 0.03, y, z0],
                        [mx + 0.008, y * 0.86, z1],
                        [mx + 0.008, -y * 0.86, z1],
                    ]
                ),
                np.array([[0, 1, 2], [0, 2, 3]]),
            )
            s.tube("wood:pine", (mx, -y * 0.9, z1), (mx, y * 0.9, z1), 0.005, 4)
    s.add(
        p.second,
        np.array([[w * 0.26, 0, deck + 0.04], [w * 0.48, 0, deck + h * 0.15], [w * 0.23, 0, h * 0.7]]),
        np.array([[0, 1, 2]]),
    )


def hunting_trophy(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A stag's head on a shield with branching antlers."""
    y = -d / 2
    s.prism(
        p.frame,
        [(-w * 0.16, h * 0.1), (0, 0.0), (w * 0.16, h * 0.1), (w * 0.18, h * 0.46), (-w * 0.18, h * 0.46)],
        y,
        y + 0.025,
    )
    s.tube(p.main, (0, y + 0.02, h * 0.2), (0, y + d * 0.5, h * 0.42), w * 0.14, 10, w * 0.085)
    s.ball(p.main, 0, y + d * 0.58, h * 0.44, w * 0.1, d * 0.2, h * 0.09, 10, 7)
    s.tube(p.main, (0, y + d * 0.66, h * 0.43), (0, y + d * 0.95, h * 0.35), w * 0.07, 9, w * 0.045)
    s.ball(BLACK, 0, y + d * 0.96, h * 0.355, w * 0.035, n=7, rings=5)
    for side in (-1, 1):
        s.ball(BLACK, side * w * 0.085, y + d * 0.66, h * 0.47, 0.014, n=6, rings=5)
        s.prism(
            p.main,
            [(side * w * 0.07, h * 0.47), (side * w * 0.24, h * 0.53), (side * w * 0.1, h * 0.54)],
            y + d * 0.48,
            y + d * 0.52,
        )
        beam = [(0.05, 0.52, 0.52), (0.18, 0.46, 0.66), (0.36, 0.42, 0.76), (0.46, 0.5, 0.94)]
        points = [(side * w * a, y + d * b, h * c) for a, b, c in beam]
        s.path("stone:cream", points, 0.014, 6)
        for i, (dx, dz) in ((1, (-0.02, 0.2)), (2, (-0.06, 0.2)), (2, (0.12, 0.1))):
            a = points[i]
            s.tube("stone:cream", a, (a[0] + side * w * dx, a[1] + d * 0.14, a[2] + h * dz), 0.011, 5, 0.004)


def wall_plate(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A decorative plate on the wall: rim, painted ring, flower in the middle."""
    r, y = w / 2, -d / 2
    s.tube(p.main, (0, y, r), (0, y + d * 0.6, r), r * 0.7, 20, r)
    s.torus(p.second, 0, y + d * 0.6, r, r * 0.94, r * 0.045, "y", 18, 4)
    s.torus(p.second, 0, y + d * 0.6, r, r * 0.6, r * 0.03, "y", 18, 3)
    for a in np.arange(6) * np.pi / 3:
        s.ball(
            p.second,
            0.24 * r * np.cos(a),
            y + d * 0.62,
            r + 0.24 * r * np.sin(a),
            r * 0.15,
            0.006,
            r * 0.15,
            7,
            5,
        )
    for a in np.arange(8) * np.pi / 4:
        s.ball(
            p.second,
            0.78 * r * np.cos(a),
            y + d * 0.62,
            r + 0.78 * r * np.sin(a),
            r * 0.07,
            0.006,
            r * 0.07,
            6,
            5,
        )
    s.ball("plastic:yellow", 0, y + d * 0.63, r, r * 0.12, 0.008, r * 0.12, 8, 5)


def mask(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A carved mask: long face, brow, nose, open eyes and mouth, painted stripes, straw."""
    angle = np.linspace(0, 2 * np.pi, 15)[:-1]
    outline = [
        (
            w * 0.46 * float(np.cos(a)) * (1 - 0.16 * float(np.sin(a)) * (np.sin(a) < 0)),
            h / 2 + h / 2 * float(np.sin(a)),
        )
        for a in angle
    ]
    s.prism(p.main, outline, -d / 2, -d * 0.2)
    s.ball(p.main, 0, -d * 0.24, h / 2, w * 0.42, d * 0.46, h * 0.46, 12, 8)
    s.prism(
        p.main,
        [(-w * 0.07, h * 0.4), (w * 0.07, h * 0.4), (w * 0.035, h * 0.66), (-w * 0.035, h * 0.66)],
        0.0,
        d * 0.46,
    )
    for side in (-1, 1):
        s.ball(BLACK, side * w * 0.18, d * 0.13, h * 0.6, w * 0.1, d * 0.09, h * 0.035, 9, 5)
        s.prism(
            p.second,
            [
                (side * w * 0.06, h * 0.67),
                (side * w * 0.34, h * 0.7),
                (side * w * 0.34, h * 0.73),
                (side * w * 0.06, h * 0.71),
            ],
            -d * 0.1,
            d * 0.26,
        )
        for k in range(3):
            s.ball(
                p.second,
                side * w * (0.2 + 0.07 * k),
                d * (0.13 - 0.05 * k),
                h * (0.44 - 0.04 * k),
                w * 0.035,
                d * 0.06,
                h * 0.02,
                6,
                5,
            )
    s.ball(BLACK, 0, d * 0.14, h * 0.26, w * 0.15, d * 0.1, h * 0.05, 9, 5)
    for k in np.linspace(-0.4, 0.4, 11):
        s.tube(
            "wicker:tan",
            (w * k * 0.9, -d * 0.3, h * (0.96 - k * k * 0.6)),
            (w * k * 1.25, -d * 0.3, h * (1.12 - k * k * 0.5)),
            0.008,
            4,
        )


def flag(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A flag of three stripes that hangs in folds from a pole on a foot."""
    s.lathe(p.frame, [(1e-4, 0), (w * 0.34, 0), (w * 0.28, 0.03), (0.03, 0.06), (1e-4, 0.06)], n=14)
    s.tube(p.frame, (0, 0, 0.03), (0, 0, h - 0.05), 0.014, 8)
    s.ball(GOLD, 0, 0, h - 0.035, 0.035, n=9, rings=7)
    keys, n = (p.main, "fabric:white", p.second), 9
    x = np.linspace(0.0, w * 0.62, n)
    y = np.where(np.arange(n) % 2 == 0, -d * 0.16, d * 0.16) * (np.arange(n) > 0)
    drop = np.linspace(0.0, h * 0.26, n)
    for k, key in enumerate(keys):
        z1, z0 = h * (0.94 - 0.15 * k), h * (0.94 - 0.15 * (k + 1))
        for i in range(n - 1):
            quad = [
                [x[i], y[i], z0 - drop[i]],
                [x[i + 1], y[i + 1], z0 - drop[i + 1]],
                [x[i + 1], y[i + 1], z1 - drop[i + 1]],
                [x[i], y[i], z1 - drop[i]],
            ]
            s.add(key, np.array(quad), np.array([[0, 1, 2], [0, 2, 3]]))


def cross(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wall cross with flared ends."""
    s.block(p.main, 0, 0, 0, w * 0.17, d, h)
    s.block(p.main, 0, 0, h * 0.62, w, d, w * 0.17)
    for x, z in (
        (0, 0.02),
        (0, h - 0.02),
        (-w / 2 + 0.02, h * 0.62 + w * 0.085),
        (w / 2 - 0.02, h * 0.62 + w * 0.085),
    ):
        s.block(p.second, x, 0.002, z - w * 0.12, w * 0.24, d, w * 0.24)
    s.tube(p.second, (0, d / 2, h * 0.62 + w * 0.085), (0, d / 2 + 0.012, h * 0.62 + w * 0.085), w * 0.13, 12)


def calendar(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wall calendar: a picture over a page of weeks, a spiral between them."""
    s.box("paper:white", -w / 2, w / 2, -d / 2, d / 2 - 0.003, 0, h)
    s.front(f"picture:{p.seed % 1000}", -w * 0.46, w * 0.46, h * 0.5, h * 0.96, d / 2)
    for x in np.linspace(-w * 0.44, w * 0.44, 16):
        s.tube(BLACK, (float(x), d / 2, h * 0.465), (float(x), d / 2, h * 0.495), 0.004, 4)
    s.box(p.main, -w * 0.46, w * 0.46, d / 2 - 0.004, d / 2, h * 0.4, h * 0.45)
    for i in range(5):
        for j in range(7):
            x, z = -w * 0.46 + w * 0.92 * (j + 0.5) / 7, h * (0.04 + 0.07 * i)
            s.box(
                "plastic:light grey" if j < 6 else "paper:pink",
                x - w * 0.055,
                x + w * 0.055,
                d / 2 - 0.004,
                d / 2 - 0.001,
                z,
                z + h * 0.055,
            )


def dream_catcher(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hoop with a web, beads and hanging feathers."""
    r = w / 2 - 0.012
    z = h - r - 0.03
    s.torus(p.main, 0, 0, z, r, 0.012, "y", 22, 5)
    s.tube(p.second, (0, 0, z + r), (0, 0, h), 0.004, 4)
    for k0, k1 in ((1.0, 0.68), (0.68, 0.36), (0.36, 0.14)):
        for k in range(10):
            a, b = 2 * np.pi * k / 10, 2 * np.pi * (k + 0.5) / 10
            for c in (b, b - 2 * np.pi / 10):
                s.tube(
                    "fabric:cream",
                    (k0 * r * np.cos(a), 0, z + k0 * r * np.sin(a)),
                    (k1 * r * np.cos(c), 0, z + k1 * r * np.sin(c)),
                    0.003,
                    3,
                )
    for x, low in ((-0.7, 0.16), (0.0, 0.0), (0.7, 0.16)):
        top = z - r * float(np.sqrt(1 - x * x))
        s.tube("fabric:cream", (x * r, 0, top), (x * r, 0, h * (low + 0.2)), 0.003, 3)
        s.ball(p.second, x * r, 0, h * (low + 0.2), 0.016, n=7, rings=5)
        feather = [
            (x * r, h * (low + 0.2)),
            (x * r + 0.03, h * (low + 0.12)),
            (x * r, h * low),
            (x * r - 0.03, h * (low + 0.12)),
        ]
        s.prism(p.main if x else "fabric:white", feather, -0.002, 0.002)


def cuckoo_clock(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A little house with a face, a bird's door, a pendulum and two weights."""
    low = h * 0.4
    wall = [(-w * 0.34, low), (w * 0.34, low), (w * 0.34, h * 0.78), (0, h * 0.95), (-w * 0.34, h * 0.78)]
    s.prism(p.main, wall, -d / 2, d * 0.2)
    for side in (-1, 1):
        s.prism(
            p.second,
            [(0, h), (0, h * 0.95), (side * w * 0.46, h * 0.7), (side * w / 2, h * 0.74)][::side],
            -d / 2,
            d * 0.36,
        )
    s.front(
        f"face:{p.seed % 3}", -w * 0.2, w * 0.2, low + h * 0.03, low + h * 0.03 + w * 0.4, d * 0.2 + 0.004
    )
    s.block("wood:pine", 0, d * 0.2, h * 0.76, w * 0.16, 0.012, h * 0.08)
    s.ball("plastic:yellow", 0, d * 0.3, h * 0.79, 0.018, 0.03, 0.018, 7, 5)
    s.tube(GOLD, (0.02, d * 0.05, low), (0.03, d * 0.05, h * 0.2), 0.005, 4)
    s.tube(GOLD, (0.03, d * 0.03, h * 0.2), (0.03, d * 0.07, h * 0.2), 0.035, 10)
    for x, z in ((-w * 0.16, 0.0), (w * 0.2, h * 0.1)):
        s.tube(GOLD, (x, d * 0.05, low), (x, d * 0.05, z + 0.08), 0.003, 4)
        s.lathe(
            "wood:walnut", [(1e-4, z), (0.02, z + 0.02), (0.016, z + 0.07), (1e-4, z + 0.09)], x, d * 0.05, 8
        )
