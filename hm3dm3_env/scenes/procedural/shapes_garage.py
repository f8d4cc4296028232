"""Builders of garden and workshop things (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def wheelbarrow(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wheelbarrow: tray, one wheel at +y, two handles at the back."""
    r = min(0.19, h * 0.3)
    s.torus(RUBBER, 0, d / 2 - r, r, r - 0.04, 0.04, "x", 16, 6)
    s.tube(CHROME, (-0.09, d / 2 - r, r), (0.09, d / 2 - r, r), 0.03, 8)
    for x in (-1, 1):
        s.path(
            "wood:pine",
            [(x * 0.08, d / 2 - r, r), (x * w * 0.34, -d * 0.05, h * 0.46), (x * w * 0.42, -d / 2, h * 0.72)],
            0.022,
            6,
        )
        s.path(
            CHROME,
            [
                (x * w * 0.34, -d * 0.02, h * 0.45),
                (x * w * 0.38, -d * 0.12, 0.01),
                (x * w * 0.36, -d * 0.3, h * 0.55),
            ],
            0.016,
            5,
        )
    low = np.array(
        [
            [-w * 0.26, -d * 0.14, h * 0.5],
            [w * 0.26, -d * 0.14, h * 0.5],
            [w * 0.2, d * 0.2, h * 0.42],
            [-w * 0.2, d * 0.2, h * 0.42],
        ]
    )
    high = np.array(
        [
            [-w / 2, -d * 0.26, h * 0.92],
            [w / 2, -d * 0.26, h * 0.92],
            [w * 0.44, d * 0.44, h],
            [-w * 0.44, d * 0.44, h],
        ]
    )
    s.add(p.main, low, np.array([[0, 1, 2], [0, 2, 3]]))
    for i in range(4):
        j = (i + 1) % 4
        s.add(p.main, np.array([low[i], low[j], high[j], high[i]]), np.array([[0, 1, 2], [0, 2, 3]]))
        s.tube(p.main, high[i], high[j], 0.014, 5)


def long_tool(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "rake") -> None:
    """A rake, a shovel or an axe that leans at the wall, its head down (the axe: up)."""
    mark = s.mark()
    if style == "axe":
        s.tube(p.frame, (0, 0, 0), (0, 0, h), 0.017, 7)
        s.prism(
            "metal:grey",
            [
                (-0.03, h * 0.86),
                (-0.03, h * 0.96),
                (w * 0.55, h * 0.99),
                (w * 0.62, h * 0.9),
                (w * 0.55, h * 0.8),
            ],
            -0.014,
            0.014,
        )
        s.prism(
            p.main,
            [(-0.03, h * 0.855), (-0.03, h * 0.965), (w * 0.3, h * 0.98), (w * 0.3, h * 0.83)],
            -0.016,
            0.016,
        )
    else:
        s.tube(p.frame, (0, 0, h * 0.12), (0, 0, h), 0.015, 7)
        if style == "rake":
            s.block(p.main, 0, 0, 0.07, w, 0.022, 0.025)
            for x in np.linspace(-w * 0.48, w * 0.48, 12):
                s.tube(p.main, (float(x), 0, 0.08), (float(x), 0.05, 0.0), 0.006, 4)
            for x in (-w * 0.3, w * 0.3):
                s.tube(p.main, (0, 0, h * 0.16), (x, 0, 0.08), 0.008, 4)
        else:
            blade = [
                (0.0, 0.0),
                (w * 0.42, h * 0.06),
                (w / 2, h * 0.19),
                (0.03, h * 0.22),
                (-0.03, h * 0.22),
                (-w / 2, h * 0.19),
                (-w * 0.42, h * 0.06),
            ]
            s.prism(p.main, blade, -0.008, 0.008)
            s.block(p.second, 0, 0, h * 0.97, 0.14, 0.03, 0.03)
            for x in (-0.055, 0.055):
                s.tube(p.second, (0, 0, h * 0.9), (x, 0, h * 0.97), 0.011, 5)
    s.bend(turn_x(9), mark)


def hose_reel(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A coiled garden hose on a wall bracket with a spray gun."""
    r, z = w * 0.36, h * 0.56
    s.box(p.second, -w * 0.14, w * 0.14, -d / 2, -d / 2 + 0.02, z - r * 0.6, z + r * 0.9)
    s.tube(p.second, (0, -d / 2, z), (0, d * 0.4, z), r * 0.5, 12)
    for k in range(5):
        s.torus(p.main, 0, -d * 0.3 + d * 0.14 * k, z, r * (0.92 + 0.04 * (k % 2)), 0.018, "y", 16, 4)
    s.torus(p.main, 0, -d * 0.1, z, r * 1.14, 0.018, "y", 16, 4)
    s.path(
        p.main, [(r, d * 0.2, z - r * 0.3), (r * 1.1, d * 0.25, z - r), (r * 0.8, d * 0.25, 0.1)], 0.018, 6
    )
    s.tube("plastic:orange", (r * 0.8, d * 0.25, 0.12), (r * 0.7, d * 0.25, 0.0), 0.024, 7)


def saw(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hand saw on a hook: toothed blade and a grip."""
    s.prism(
        CHROME,
        [(-w / 2, h * 0.5), (-w / 2, h * 0.62), (w * 0.22, h * 0.95), (w * 0.22, h * 0.2)],
        -0.004,
        0.004,
    )
    for x in np.linspace(-w * 0.46, w * 0.18, 20):
        z = h * (0.5 - 0.3 * (float(x) + w / 2) / (w * 0.72))
        s.prism(
            CHROME,
            [(float(x), z), (float(x) + w * 0.03, z - 0.004), (float(x) + w * 0.012, z - 0.018)],
            -0.003,
            0.003,
        )
    grip = [
        (w * 0.2, h * 0.18),
        (w * 0.34, 0.0),
        (w * 0.46, h * 0.3),
        (w * 0.5, h * 0.9),
        (w * 0.34, h),
        (w * 0.2, h * 0.95),
    ]
    s.path(p.main, [(x, 0, z) for x, z in [*grip, grip[0]]], 0.019, 6)
    s.block(p.main, w * 0.22, 0, h * 0.25, w * 0.06, 0.03, h * 0.6)
    s.tube(BLACK, (w * 0.4, -d / 2, h * 0.95), (w * 0.4, d / 2, h * 0.95), 0.01, 6)


def drill_press(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A pillar drill: foot, column, table, head with a chuck and three levers."""
    s.block(p.main, 0, 0, 0, w, d, 0.05)
    s.tube(CHROME, (0, -d * 0.2, 0.04), (0, -d * 0.2, h * 0.95), 0.04, 12)
    s.block(p.main, 0, d * 0.08, h * 0.48, w * 0.8, d * 0.56, 0.035)
    s.block(p.main, 0, d * 0.02, h * 0.76, w * 0.5, d * 0.8, h * 0.2)
    s.block(BLACK, 0, d * 0.02, h * 0.96, w * 0.56, d * 0.84, h * 0.04)
    s.cyl(CHROME, 0, d * 0.18, h * 0.66, h * 0.1, 0.03, n=10)
    s.tube(CHROME, (0, d * 0.18, h * 0.56), (0, d * 0.18, h * 0.66), 0.007, 6)
    s.tube(p.main, (0, -d * 0.36, h * 0.8), (0, -d * 0.36, h * 0.95), 0.09, 12)
    for a in np.arange(3) * 2 * np.pi / 3 + 0.4:
        y, z = d * 0.1 + 0.17 * float(np.cos(a)), h * 0.84 + 0.17 * float(np.sin(a))
        s.tube(CHROME, (w * 0.3, d * 0.1, h * 0.84), (w * 0.34, y, z), 0.01, 5)
        s.ball(BLACK, w * 0.34, y, z, 0.024, n=7, rings=5)


def table_saw(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A table saw: stand, metal top, blade with a guard, fence, hand wheel."""
    s.prism(
        p.main,
        [(-w * 0.34, 0.0), (w * 0.34, 0.0), (w * 0.28, h * 0.84), (-w * 0.28, h * 0.84)],
        -d * 0.34,
        d * 0.34,
    )
    s.block("metal:grey", 0, 0, h * 0.84, w, d, 0.05)
    z = h * 0.84 + 0.05
    s.tube(CHROME, (-0.003, 0, z + 0.01), (0.003, 0, z + 0.01), 0.12, 20)
    s.prism(
        "plastic:orange",
        [(-d * 0.2, z + 0.07), (d * 0.2, z + 0.07), (d * 0.14, h), (-d * 0.2, h)],
        -0.02,
        0.02,
        "x",
    )
    s.block("metal:silver", w * 0.24, 0, z, 0.05, d * 0.98, 0.06)
    s.block(BLACK, w * 0.24, d / 2, z - 0.03, 0.08, 0.04, 0.09)
    s.torus(BLACK, -w * 0.1, d * 0.36, h * 0.5, 0.08, 0.014, "y", 14, 5)
    s.tube(CHROME, (-w * 0.1, d * 0.33, h * 0.5), (-w * 0.1, d * 0.38, h * 0.5), 0.02, 8)
    s.block("plastic:red", w * 0.16, d * 0.35, h * 0.62, 0.06, 0.03, 0.06)


def compressor(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An air compressor along x: tank on wheels, motor, gauge, handle."""
    r = min(d * 0.42, h * 0.28)
    z = r + 0.1
    s.tube(p.main, (-w * 0.36, 0, z), (w * 0.36, 0, z), r, 16)
    for x in (-w * 0.36, w * 0.36):
        s.ball(p.main, x, 0, z, w * 0.1, r, r, 12, 8)
    for y in (-d * 0.36, d * 0.36):
        s.tube(RUBBER, (-w * 0.3, y - 0.025, 0.1), (-w * 0.3, y + 0.025, 0.1), 0.1, 14)
        s.block(BLACK, w * 0.3, y * 0.6, 0, 0.05, 0.05, 0.12)
    s.block(BLACK, -w * 0.1, 0, z + r * 0.9, w * 0.36, d * 0.5, h - z - r * 0.9)
    for k in range(4):
        s.block(CHROME, w * 0.2, 0, z + r + 0.02 + 0.035 * k, w * 0.18, d * 0.4, 0.016)
    s.tube("plastic:white", (w * 0.2, d * 0.3, z + r), (w * 0.2, d * 0.34, z + r), 0.035, 12)
    s.path(p.second, [(w * 0.36, 0, z + r * 0.6), (w * 0.5, 0, h * 0.86), (w * 0.42, 0, h)], 0.016, 6)


def sawhorse(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A trestle with splayed legs and a board."""
    s.block(p.main, 0, 0, h - 0.09, w, 0.08, 0.09)
    for x in (-w * 0.4, w * 0.4):
        for sign in (-1, 1):
            s.tube(p.main, (x, sign * 0.03, h - 0.05), (x * 1.12, sign * d / 2, 0.0), 0.032, 4)
        s.block(p.main, x * 1.05, 0, h * 0.4, 0.03, d * 0.62, 0.07)


def tool_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A perforated board on the wall with hammer, spanners, pliers, drivers, saw."""
    y = -d / 2 + 0.02
    s.box(p.main, -w / 2, w / 2, -d / 2, y, 0, h)
    for x in np.arange(-w / 2 + 0.08, w / 2 - 0.03, 0.16):
        for z in np.arange(0.08, h - 0.03, 0.16):
            s.block(BLACK, float(x), y, float(z), 0.012, 0.004, 0.012)
    z = h * 0.52
    for k, x in enumerate(np.linspace(-w * 0.42, -w * 0.1, 4)):
        tall = 0.22 - 0.03 * k
        s.block(CHROME, float(x), y + 0.012, z + 0.2 - tall, 0.022, 0.012, tall)
        for end in (z + 0.2 - tall, z + 0.2):
            s.tube(CHROME, (float(x), y + 0.004, end), (float(x), y + 0.022, end), 0.026, 8)
    s.tube("wood:pine", (w * 0.06, y + 0.02, z - 0.02), (w * 0.06, y + 0.02, z + 0.24), 0.015, 7)
    s.block("metal:dark grey", w * 0.06, y + 0.025, z + 0.22, 0.13, 0.035, 0.04)
    for x, key in (
        (0.2, "plastic:red"),
        (0.28, "plastic:blue"),
        (0.36, "plastic:yellow"),
        (0.44, "plastic:green"),
    ):
        s.tube(key, (x * w, y + 0.02, z + 0.14), (x * w, y + 0.02, z + 0.24), 0.017, 7)
        s.tube(CHROME, (x * w, y + 0.02, z), (x * w, y + 0.02, z + 0.14), 0.006, 5)
    s.prism(
        CHROME,
        [(-w * 0.42, h * 0.3), (-w * 0.42, h * 0.36), (w * 0.05, h * 0.42), (w * 0.05, h * 0.22)],
        y,
        y + 0.006,
    )
    s.path(
        p.second,
        [
            (w * 0.05, y + 0.012, h * 0.22),
            (w * 0.14, y + 0.012, h * 0.2),
            (w * 0.16, y + 0.012, h * 0.4),
            (w * 0.05, y + 0.012, h * 0.42),
        ],
        0.018,
        6,
    )
    for side in (-1, 1):
        s.path(
            "plastic:red",
            [
                (w * 0.3, y + 0.015, h * 0.36),
                (w * 0.3 + side * 0.045, y + 0.015, h * 0.24),
                (w * 0.3 + side * 0.03, y + 0.015, h * 0.12),
            ],
            0.014,
            6,
        )
        s.tube(
            CHROME,
            (w * 0.3, y + 0.015, h * 0.36),
            (w * 0.3 + side * 0.015, y + 0.015, h * 0.45),
            0.014,
            6,
            0.006,
        )
    s.block("metal:grey", 0, 0, 0.0, w * 0.96, d, 0.02)


def hand_truck(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sack truck: two rails, curved cross bars, wheels and a toe plate at +y."""
    mark = s.mark()
    for x in (-w * 0.36, w * 0.36):
        s.tube(p.main, (x, 0, 0.04), (x, 0, h * 0.95), 0.018, 7)
    s.path(
        p.main,
        [(-w * 0.36, 0, h * 0.94), (-w * 0.26, -0.05, h), (w * 0.26, -0.05, h), (w * 0.36, 0, h * 0.94)],
        0.018,
        7,
    )
    for z in (0.2, 0.42, 0.64, 0.84):
        s.path(p.main, [(-w * 0.36, 0, h * z), (0, -0.04, h * z), (w * 0.36, 0, h * z)], 0.014, 5)
    s.block(CHROME, 0, 0.12, 0.02, w * 0.72, 0.24, 0.012)
    s.bend(turn_x(8), mark)
    for x in (-w * 0.46, w * 0.46):
        s.tube(RUBBER, (x - 0.03, -0.1, 0.12), (x + 0.03, -0.1, 0.12), 0.12, 14)
        s.tube(CHROME, (x - 0.034, -0.1, 0.12), (x + 0.034, -0.1, 0.12), 0.05, 10)
        s.tube(p.main, (x * 0.8, -0.1, 0.12), (x * 0.78, -0.02, 0.34), 0.012, 5)


def generator(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A portable generator: tube frame, tank, engine block, panel, wheels."""
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        ring = [(x, -d / 2, 0.12), (x, d / 2, 0.12), (x, d / 2, h), (x, -d / 2, h), (x, -d / 2, 0.12)]
        s.path(p.second, ring, 0.015, 6)
    for y in (-d / 2, d / 2):
        for z in (0.12, h):
            s.tube(p.second, (-w / 2, y, z), (w / 2, y, z), 0.015, 6)
    s.block(p.main, 0, 0, h * 0.68, w * 0.84, d * 0.84, h * 0.24)
    s.cyl(BLACK, w * 0.15, 0, h * 0.92, 0.035, 0.04, n=10)
    s.block("metal:dark grey", -w * 0.14, 0, 0.14, w * 0.5, d * 0.7, h * 0.48)
    s.tube("metal:grey", (w * 0.14, 0, h * 0.4), (w * 0.42, 0, h * 0.4), min(d * 0.32, h * 0.24), 14)
    s.block(BLACK, 0, d * 0.46, h * 0.2, w * 0.5, 0.03, h * 0.34)
    for x, key in ((-0.14, "plastic:red"), (0.0, "plastic:green"), (0.14, "plastic:yellow")):
        s.tube(key, (x * w, d * 0.46, h * 0.36), (x * w, d * 0.46 + 0.025, h * 0.36), 0.022, 8)
    for y in (-d * 0.4, d * 0.4):
        s.tube(RUBBER, (-w * 0.36, y - 0.03, 0.1), (-w * 0.36, y + 0.03, 0.1), 0.1, 12)
        s.block(RUBBER, w * 0.36, y, 0, 0.05, 0.05, 0.12)


def jerrycan(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A fuel can: three grips, a spout, a pressed cross on its side."""
    s.prism(
        p.main,
        [(-w / 2, 0.0), (w / 2, 0.0), (w / 2, h * 0.66), (w * 0.3, h * 0.84), (-w / 2, h * 0.84)],
        -d / 2,
        d / 2,
    )
    for sign in (-1, 1):
        for x0, z0, x1, z1 in ((-0.36, 0.12, 0.36, 0.66), (-0.36, 0.66, 0.36, 0.12)):
            s.tube(p.main, (x0 * w, sign * d / 2, z0 * h), (x1 * w, sign * d / 2, z1 * h), 0.016, 5)
    for y in (-d * 0.3, 0.0, d * 0.3):
        s.path(
            p.main,
            [
                (-w * 0.42, y, h * 0.83),
                (-w * 0.36, y, h * 0.95),
                (w * 0.06, y, h * 0.95),
                (w * 0.12, y, h * 0.83),
            ],
            0.013,
            5,
        )
    s.tube(BLACK, (w * 0.36, 0, h * 0.74), (w * 0.46, 0, h * 0.94), 0.032, 9)
