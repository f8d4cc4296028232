"""Builders of office machines and stands (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GREY = "plastic:black", "metal:silver", "plastic:grey"


def copier(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An office copier: paper trays, output slot, scanner lid, slanted panel."""
    s.block(GREY, 0, 0, 0.03, w, d, h * 0.46)
    for i in range(3):
        z = 0.06 + i * h * 0.145
        s.block(p.main, 0, d / 2, z, w * 0.9, 0.025, h * 0.13)
        s.block(BLACK, 0, d / 2 + 0.014, z + h * 0.085, w * 0.3, 0.012, 0.02)
    s.block(p.main, -w * 0.12, 0, h * 0.48, w * 0.76, d, h * 0.14)
    s.block(BLACK, -w * 0.1, d * 0.1, h * 0.62, w * 0.7, d * 0.7, 0.01)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d * 0.3, h * 0.5, h * 0.78)
    s.box(p.main, -w / 2, -w * 0.4, -d / 2, d * 0.4, h * 0.6, h * 0.78)
    s.block(p.main, 0, -d * 0.02, h * 0.78, w, d * 0.96, h * 0.1)
    s.block(GREY, 0, -d * 0.06, h * 0.88, w * 0.96, d * 0.8, h * 0.1)
    s.prism(
        p.main,
        [(d * 0.44, h * 0.78), (d * 0.62, h * 0.72), (d * 0.62, h * 0.76), (d * 0.44, h * 0.87)],
        -w * 0.1,
        w / 2,
        "x",
    )
    s.block("paper:white", -w * 0.1, d * 0.15, h * 0.63, w * 0.4, d * 0.4, 0.006)
    for x in (-w * 0.42, w * 0.42):
        for y in (-d * 0.4, d * 0.4):
            s.tube(BLACK, (x - 0.015, y, 0.025), (x + 0.015, y, 0.025), 0.025, 8)


def shredder(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A paper shredder: a bin with strips behind a window, a head with a slot and a half-eaten sheet."""
    s.prism(
        p.main, [(-w * 0.44, 0.0), (w * 0.44, 0.0), (w / 2, h * 0.7), (-w / 2, h * 0.7)], -d * 0.44, d * 0.44
    )
    s.block("glass:light blue", 0, d * 0.44, h * 0.12, w * 0.5, 0.012, h * 0.4)
    for x in np.linspace(-w * 0.2, w * 0.2, 8):
        s.block(
            "paper:white",
            float(x),
            d * 0.45 + 0.006,
            h * 0.13,
            0.012,
            0.004,
            h * float(rng.uniform(0.12, 0.32)),
        )
    s.block(BLACK, 0, 0, h * 0.7, w * 1.04, d, h * 0.16)
    s.block(GREY, 0, 0.0, h * 0.86, w * 0.7, d * 0.22, 0.012)
    s.block("paper:white", 0, 0, h * 0.86, w * 0.56, 0.004, h * 0.24)
    s.block("plastic:green", w * 0.42, d * 0.3, h * 0.86, 0.03, 0.03, 0.01)


def typewriter(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A typewriter: sloped key bed, type basket, carriage with a sheet."""
    s.prism(
        p.main,
        [
            (-d / 2, 0.0),
            (d / 2, 0.0),
            (d / 2, h * 0.2),
            (d * 0.05, h * 0.42),
            (-d * 0.1, h * 0.62),
            (-d / 2, h * 0.62),
        ],
        -w * 0.44,
        w * 0.44,
        "x",
    )
    for row in range(4):
        y, z = d * (0.44 - 0.1 * row), h * (0.25 + 0.058 * row)
        for x in np.linspace(-w * 0.34, w * 0.34, 10):
            s.cyl("plastic:cream" if row else BLACK, float(x), y, z, 0.012, 0.013, n=6)
    s.tube(BLACK, (-w / 2, -d * 0.24, h * 0.7), (w / 2, -d * 0.24, h * 0.7), h * 0.1, 10)
    for x in (-w / 2, w / 2):
        s.tube(CHROME, (x - 0.012, -d * 0.24, h * 0.7), (x + 0.012, -d * 0.24, h * 0.7), h * 0.13, 10)
    mark = s.mark()
    s.block("paper:white", 0, -d * 0.26, h * 0.72, w * 0.6, 0.004, h * 0.5)
    s.bend(turn_x(12, -d * 0.26, h * 0.72), mark)
    s.path(CHROME, [(-w * 0.48, -d * 0.2, h * 0.72), (-w * 0.54, d * 0.05, h * 0.76)], 0.008, 5)


def microscope(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A microscope: foot, arm, stage, tube, three objectives; it looks to +y."""
    s.block(p.main, 0, 0, 0, w, d, 0.035)
    s.path(p.main, [(0, -d * 0.36, 0.03), (0, -d * 0.4, h * 0.4), (0, -d * 0.3, h * 0.62)], 0.03, 8)
    s.block(p.main, 0, -d * 0.14, h * 0.54, 0.07, d * 0.5, 0.06)
    s.block(BLACK, 0, d * 0.06, h * 0.3, w * 0.8, d * 0.46, 0.016)
    s.block("glass:light blue", 0, d * 0.06, h * 0.3 + 0.016, w * 0.5, 0.03, 0.003)
    s.tube(p.main, (0, d * 0.06, h * 0.5), (0, -d * 0.04, h * 0.86), 0.034, 10)
    s.tube(BLACK, (0, -d * 0.04, h * 0.86), (0, -d * 0.07, h), 0.022, 10)
    for x in (-0.03, 0.0, 0.03):
        s.tube(CHROME, (x * 0.6, d * 0.06, h * 0.5), (x * 1.4, d * 0.08, h * 0.38), 0.015, 8, 0.009)
    for x in (-0.05, 0.05):
        s.tube(BLACK, (0, -d * 0.4, h * 0.26), (x, -d * 0.4, h * 0.26), 0.03, 10)
    s.cyl("glass:yellow", 0, d * 0.06, 0.035, 0.03, 0.03, n=10)


def magazine_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A V of two boards on crossed legs, full of magazines."""
    for sign in (-1, 1):
        side = [
            (sign * 0.02, h * 0.25),
            (sign * 0.035, h * 0.25),
            (sign * d / 2, h * 0.9),
            (sign * (d / 2 - 0.015), h * 0.9),
        ]
        s.prism(p.main, side, -w / 2, w / 2, "x")
    for x in (-w * 0.44, w * 0.44):
        for sign in (-1, 1):
            s.tube(p.frame, (x, sign * d * 0.4, 0.0), (x, -sign * d * 0.36, h * 0.7), 0.012, 5)
    s.path(
        p.frame,
        [(-w * 0.2, 0, h * 0.3), (-w * 0.18, 0, h), (w * 0.18, 0, h), (w * 0.2, 0, h * 0.3)],
        0.012,
        6,
    )
    keys = ("paper:red", "paper:navy", "paper:mustard", "paper:white", "paper:teal")
    for i, y in enumerate(np.linspace(-d * 0.22, d * 0.22, 6)):
        mark = s.mark()
        s.block(
            keys[(i + p.seed) % 5],
            float(rng.uniform(-w * 0.1, w * 0.1)),
            0.0,
            0.0,
            w * 0.6,
            0.012,
            h * float(rng.uniform(0.55, 0.66)),
        )
        s.bend(turn_x(float(-np.degrees(np.arctan2(y, h * 0.6)))), mark)
        s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, float(y) * 0.3], [0, 0, 1, h * 0.27]]), mark)


def flip_chart(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A flip chart: board with a pad, a drawn curve, a pen tray, three legs."""
    for x in (-w * 0.4, w * 0.4):
        s.tube(p.frame, (x, d * 0.42, 0.0), (x * 0.8, 0.0, h * 0.95), 0.016, 6)
    s.tube(p.frame, (0, -d / 2, 0.0), (0, -0.02, h * 0.9), 0.016, 6)
    mark, y = s.mark(), 0.02
    s.box("plastic:white", -w / 2, w / 2, y, y + 0.02, h * 0.42, h)
    s.box("paper:white", -w * 0.46, w * 0.46, y + 0.02, y + 0.034, h * 0.46, h * 0.97)
    s.box(BLACK, -w * 0.46, w * 0.46, y + 0.018, y + 0.042, h * 0.95, h * 0.98)
    s.box(p.frame, -w * 0.46, w * 0.46, y, y + 0.08, h * 0.41, h * 0.43)
    points = [
        (w * 0.36, h * 0.56),
        (w * 0.2, h * 0.6),
        (0.0, h * 0.7),
        (-w * 0.14, h * 0.68),
        (-w * 0.34, h * 0.86),
    ]
    s.path(p.main, [(x, y + 0.036, z) for x, z in points], 0.006, 4)
    s.path(
        BLACK,
        [(w * 0.38, y + 0.036, h * 0.88), (w * 0.38, y + 0.036, h * 0.52), (-w * 0.38, y + 0.036, h * 0.52)],
        0.004,
        4,
    )
    s.bend(turn_x(8, 0, h * 0.42), mark)


def server_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An open rack with units: slots, drives, lamps, cables."""
    for x in (-w / 2 + 0.025, w / 2 - 0.025):
        for y in (-d / 2 + 0.025, d / 2 - 0.025):
            s.block(p.main, x, y, 0, 0.05, 0.05, h)
    s.block(p.main, 0, 0, 0, w, d, 0.06)
    s.block(p.main, 0, 0, h - 0.03, w, d, 0.03)
    z = 0.09
    while z < h - 0.16:
        tall = float(rng.choice([0.044, 0.088, 0.132]))
        s.block(
            ("metal:dark grey", "metal:silver", BLACK)[int(rng.integers(3))],
            0,
            0,
            z,
            w - 0.11,
            d * 0.86,
            tall - 0.006,
        )
        for x in np.linspace(-w * 0.3, w * 0.12, 6):
            s.block(BLACK, float(x), d * 0.43, z + 0.008, 0.045, 0.008, tall - 0.022)
        for x in (w * 0.24, w * 0.29, w * 0.34):
            s.block(
                ("plastic:green", "plastic:blue", "plastic:orange")[int(rng.integers(3))],
                x,
                d * 0.432,
                z + tall * 0.4,
                0.012,
                0.008,
                0.012,
            )
        z += tall + (0.05 if rng.random() < 0.3 else 0.004)
    s.path(
        "rubber:blue",
        [(w * 0.38, d * 0.44, h * 0.2), (w * 0.41, d * 0.46, h * 0.5), (w * 0.37, d * 0.44, h * 0.75)],
        0.008,
        4,
    )


def desk_fan(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A small fan: foot, neck, cage, blades."""
    r = w / 2
    z = h - r
    s.cyl(p.main, 0, 0, 0, 0.03, r * 0.62, n=14)
    s.tube(p.main, (0, -0.02, 0.02), (0, -0.03, z), 0.018, 7)
    s.tube(p.main, (0, -d * 0.48, z), (0, -0.01, z), 0.045, 10)
    for y, k in ((-0.02, 0.98), (d * 0.2, 0.98), (d * 0.26, 0.66), (d * 0.28, 0.3)):
        s.torus(CHROME, 0, y, z, r * k, 0.004, "y", 18, 4)
    for a in np.arange(12) * np.pi / 6:
        s.tube(CHROME, (0, d * 0.29, z), (r * np.cos(a), d * 0.2, z + r * np.sin(a)), 0.003, 3)
    for a in np.arange(4) * np.pi / 2:
        c = [
            (0, 0.02, 0),
            (r * 0.85 * np.cos(a), 0.03, r * 0.85 * np.sin(a)),
            (r * 0.9 * np.cos(a + 0.45), 0.05, r * 0.9 * np.sin(a + 0.45)),
            (r * 0.7 * np.cos(a + 0.8), 0.06, r * 0.7 * np.sin(a + 0.8)),
        ]
        s.add(p.second, np.array(c) + [0, 0, z], np.array([[0, 1, 2], [0, 2, 3]]))
    s.tube(p.second, (0, 0.0, z), (0, d * 0.3, z), 0.028, 9)
