"""Builders of easy chairs, a hammock and small tables (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def bar_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A tall round table on a column."""
    r = w / 2
    s.cyl(p.main, 0, 0, h - 0.035, 0.035, r, n=20)
    s.lathe(p.frame, [(1e-4, 0), (r * 0.62, 0), (r * 0.6, 0.02), (0.04, 0.05), (0.04, h - 0.035)], n=14)
    s.torus(p.frame, 0, 0, h * 0.3, r * 0.5, 0.014, "z", 16, 5)
    for a in (0.0, np.pi / 2, np.pi, np.pi * 1.5):
        s.tube(p.frame, (0, 0, h * 0.3), (r * 0.5 * np.cos(a), r * 0.5 * np.sin(a), h * 0.3), 0.01, 5)
    s.top(-r * 0.65, -r * 0.65, r * 0.65, r * 0.65, h)


def podium(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A lectern: a column with a slanted reading top, a lip and a sheet."""
    s.block(p.main, 0, 0, 0, w * 0.8, d * 0.8, 0.06)
    s.block(p.main, 0, 0, 0.06, w * 0.5, d * 0.45, h * 0.78)
    s.block(p.second, 0, d * 0.23, h * 0.3, w * 0.34, 0.015, h * 0.4)
    mark = s.mark()
    s.block(p.main, 0, 0, h * 0.86, w, d, 0.04)
    s.block(p.main, 0, -d / 2 + 0.015, h * 0.86, w, 0.03, 0.07)
    s.block("paper:white", 0, 0, h * 0.86 + 0.04, w * 0.44, d * 0.6, 0.004)
    s.bend(turn_x(16, 0, h * 0.86), mark)
    s.tube(BLACK, (w * 0.3, d * 0.3, h * 0.92), (w * 0.22, d * 0.1, h + 0.12), 0.008, 5)


def picnic_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A plank table with a bench fixed on each side."""
    for i in range(5):
        s.block(p.main, 0, -d * 0.22 + i * d * 0.11, h - 0.035, w, d * 0.1, 0.035)
    for y in (-d * 0.44, d * 0.44):
        for dy in (-0.055, 0.055):
            s.block(p.main, 0, y + dy, h * 0.58, w, 0.1, 0.035)
    for x in (-w * 0.36, w * 0.36):
        for sign in (-1, 1):
            s.tube(p.main, (x, sign * d * 0.12, h - 0.04), (x, sign * d * 0.36, 0), 0.035, 4)
        s.block(p.main, x, 0, h * 0.5, 0.05, d * 0.98, 0.07)
    s.top(-w / 2 + 0.05, -d * 0.24, w / 2 - 0.05, d * 0.24, h)


def tray_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rimmed tray on crossed folding legs."""
    s.block(p.main, 0, 0, h - 0.05, w, d, 0.015)
    for y in (-d / 2 + 0.008, d / 2 - 0.008):
        s.block(p.main, 0, y, h - 0.05, w, 0.016, 0.05)
    for x in (-w / 2 + 0.008, w / 2 - 0.008):
        s.block(p.main, x, 0, h - 0.05, 0.016, d, 0.05)
    for y in (-d * 0.4, d * 0.4):
        s.tube(p.frame, (-w * 0.44, y, 0.01), (w * 0.4, y, h - 0.05), 0.014, 6)
        s.tube(p.frame, (w * 0.44, y, 0.01), (-w * 0.4, y, h - 0.05), 0.014, 6)
    for x in (-w * 0.44, w * 0.44):
        s.tube(p.frame, (x, -d * 0.4, 0.02), (x, d * 0.4, 0.02), 0.012, 6)
    s.top(-w / 2 + 0.03, -d / 2 + 0.03, w / 2 - 0.03, d / 2 - 0.03, h - 0.034, 0.6)


def bowl_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A papasan chair: a tilted round basket with a deep cushion on a ring foot."""
    r = min(w, d) / 2
    s.torus(p.frame, 0, 0, 0.04, r * 0.62, 0.03, "z", 18, 6)
    for k in range(10):
        a, b = 2 * np.pi * k / 10, 2 * np.pi * (k + 1.4) / 10
        s.tube(
            p.frame,
            (r * 0.62 * np.cos(a), r * 0.62 * np.sin(a), 0.04),
            (r * 0.5 * np.cos(b), r * 0.5 * np.sin(b), h * 0.38),
            0.014,
            5,
        )
    s.torus(p.frame, 0, 0, h * 0.38, r * 0.5, 0.024, "z", 18, 6)
    mark, z = s.mark(), h * 0.36
    rows = [(1e-4, z), (r * 0.5, z + 0.03), (r * 0.85, z + 0.16), (r, z + 0.34)]
    s.lathe(p.frame, rows, n=18)
    s.lathe(
        p.main,
        [
            (1e-4, z + 0.13),
            (r * 0.45, z + 0.15),
            (r * 0.76, z + 0.26),
            (r * 0.9, z + 0.4),
            (r, z + 0.4),
            (r * 1.02, z + 0.33),
        ],
        n=18,
    )
    s.torus(p.frame, 0, 0, z + 0.34, r, 0.02, "z", 20, 6)
    s.bend(turn_x(-24, 0, h * 0.4), mark)


def ball_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A globe chair: a sphere open to the front, padded inside, on a trumpet foot."""
    r = min(w, d) / 2
    z = h - r
    s.lathe(
        "metal:silver", [(1e-4, 0), (r * 0.62, 0), (r * 0.56, 0.02), (0.06, 0.07), (0.05, z - r * 0.9)], n=18
    )
    mark = s.mark()
    for key, k in ((p.second, 1.0), (p.main, 0.92)):
        rows = [(k * r * float(np.sin(a)), -k * r * float(np.cos(a))) for a in np.linspace(0.0, 2.1, 11)]
        s.lathe(key, [(max(q, 1e-4), t) for q, t in rows], n=20)
    low = 0.96 * r * float(np.sin(2.1)), -0.96 * r * float(np.cos(2.1))
    s.torus(p.second, 0, 0, low[1], low[0], r * 0.045, "z", 20, 6)
    a = np.radians(-75)
    turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    s.bend(np.column_stack([turn, [0, 0, z]]), mark)
    s.ball(p.main, 0, r * 0.1, z - r * 0.62, r * 0.6, r * 0.6, r * 0.2, 12, 6)


def hammock(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hammock along x, striped cloth between the ends of a bent stand."""
    for y in (-d * 0.45, d * 0.45):
        s.tube(p.frame, (-w * 0.25, 0, 0.05), (-w * 0.25, y, 0.03), 0.03, 6)
        s.tube(p.frame, (w * 0.25, 0, 0.05), (w * 0.25, y, 0.03), 0.03, 6)
    s.path(
        p.frame,
        [
            (-w / 2, 0, h),
            (-w * 0.4, 0, h * 0.45),
            (-w * 0.22, 0, 0.06),
            (w * 0.22, 0, 0.06),
            (w * 0.4, 0, h * 0.45),
            (w / 2, 0, h),
        ],
        0.032,
        8,
    )
    x = np.linspace(-w * 0.36, w * 0.36, 13)
    sag = h * 0.36 + (h * 0.4) * (x / (w * 0.36)) ** 2
    for j in range(6):
        y0, y1 = -d * 0.36 + d * 0.12 * j, -d * 0.36 + d * 0.12 * (j + 1)
        key = p.main if j % 2 else p.second
        for i in range(12):
            lift0, lift1 = (0.5 * h * (abs(y) / d) ** 2 for y in (y0, y1))
            quad = [
                [x[i], y0, sag[i] + lift0],
                [x[i + 1], y0, sag[i + 1] + lift0],
                [x[i + 1], y1, sag[i + 1] + lift1],
                [x[i], y1, sag[i] + lift1],
            ]
            s.add(key, np.array(quad), np.array([[0, 1, 2], [0, 2, 3]]))
    for side in (-1, 1):
        s.tube(
            "wood:pine",
            (side * w * 0.36, -d * 0.38, h * 0.77),
            (side * w * 0.36, d * 0.38, h * 0.77),
            0.016,
            6,
        )
        for y in np.linspace(-d * 0.36, d * 0.36, 5):
            s.tube(
                "fabric:cream", (side * w * 0.36, float(y), h * 0.77), (side * w / 2, 0, h - 0.03), 0.005, 3
            )


def wing_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wingback chair: tall back with wings, rolled arms, cushion, turned legs."""
    for x in (-w / 2 + 0.06, w / 2 - 0.06):
        for y in (-d / 2 + 0.06, d / 2 - 0.06):
            s.cyl(p.frame, x, y, 0, 0.16, 0.018, 0.03, 8)
    s.box(p.main, -w / 2 + 0.05, w / 2 - 0.05, -d / 2 + 0.05, d / 2 - 0.03, 0.15, 0.32)
    s.box(p.second, -w / 2 + 0.13, w / 2 - 0.13, -d / 2 + 0.15, d / 2, 0.32, 0.46)
    mark = s.mark()
    s.box(p.main, -w / 2 + 0.1, w / 2 - 0.1, -d / 2 + 0.02, -d / 2 + 0.16, 0.2, h)
    for side in (-1, 1):
        wing = [
            (-d / 2 + 0.04, 0.58),
            (-d * 0.02, 0.62),
            (-d * 0.06, h * 0.84),
            (-d / 2 + 0.12, h),
            (-d / 2 + 0.04, h),
        ]
        x = side * (w / 2 - 0.09)
        s.prism(p.main, wing, x - 0.045, x + 0.045, "x")
    s.bend(turn_x(6, -d / 2 + 0.1, 0.3), mark)
    for side in (-1, 1):
        x = side * (w / 2 - 0.08)
        s.box(p.main, x - 0.05, x + 0.05, -d / 2 + 0.1, d / 2 - 0.05, 0.3, 0.58)
        s.tube(p.main, (x, -d / 2 + 0.1, 0.6), (x, d / 2 - 0.04, 0.6), 0.075, 10)
    for x in (-w * 0.14, 0.0, w * 0.14):
        for z in (0.62, 0.8):
            s.ball(p.frame, x, -d / 2 + 0.17 - 0.1 * (z - 0.3), z * h / 1.05, 0.014, n=6, rings=5)
    s.top(-w / 2 + 0.15, -d / 2 + 0.26, w / 2 - 0.15, d / 2 - 0.04, 0.46, 0.5)
