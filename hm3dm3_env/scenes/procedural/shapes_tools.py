"""Builders of tools, boards and shoes (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def ladder(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A step ladder."""
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.tube(p.main, (x, d / 2, 0), (x * 0.8, 0, h), 0.022)
        s.tube(p.main, (x, -d / 2, 0), (x * 0.8, 0, h * 0.97), 0.018)
    n = max(2, round(h / 0.28))
    for i in range(1, n + 1):
        z = h * i / n - 0.03
        s.block(p.second, 0, d / 2 * (1 - z / h), z, w * 0.85, 0.09, 0.025)


def ironing_board(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A padded board on crossed legs with an iron on it."""
    outline = [
        (-w / 2, -d / 2),
        (w * 0.3, -d / 2),
        (w / 2, -d * 0.12),
        (w / 2, d * 0.12),
        (w * 0.3, d / 2),
        (-w / 2, d / 2),
    ]
    s.prism(p.main, outline, h - 0.05, h - 0.01, "z")
    for y in (-d * 0.3, d * 0.3):
        s.tube(CHROME, (-w * 0.35, y, 0.01), (w * 0.3, y * 0.6, h - 0.05), 0.014)
        s.tube(CHROME, (w * 0.35, y, 0.01), (-w * 0.3, y * 0.6, h - 0.05), 0.014)
    s.prism(p.second, [(-w * 0.35, -0.05), (-w * 0.15, 0.0), (-w * 0.35, 0.05)], h - 0.01, h + 0.05, "z")
    s.block(BLACK, -w * 0.3, 0, h + 0.07, 0.12, 0.025, 0.025)


def tool(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "broom") -> None:
    """Broom, mop, umbrella, fire extinguisher, watering can, tool box, tyre stack, axe."""
    if style in ("broom", "mop"):
        s.tube(p.frame, (0, -d * 0.3, h), (0, d * 0.05, 0.22), 0.013)
        if style == "broom":
            s.block(p.main, 0, d * 0.08, 0.1, w, 0.07, 0.12)
            s.prism(
                p.second, [(-w * 0.55, 0), (w * 0.55, 0), (w / 2, 0.12), (-w / 2, 0.12)], d * 0.03, d * 0.13
            )
        else:
            s.lathe(p.main, [(0.03, 0.25), (w * 0.4, 0.02), (1e-4, 0.0)], 0, d * 0.06, 9)
    elif style == "extinguisher":
        r = w / 2
        s.lathe(p.main, [(1e-4, 0), (r, 0), (r, h * 0.7), (r * 0.4, h * 0.82), (r * 0.35, h * 0.86)], n=12)
        s.block(BLACK, 0, 0.02, h * 0.86, 0.04, 0.12, h * 0.12)
        s.path(BLACK, [(0, 0.04, h * 0.9), (r * 1.3, 0.02, h * 0.75), (r * 1.2, 0, h * 0.3)], 0.013, 5)
        s.block("paper:white", 0, r * 0.99, h * 0.25, r, 0.012, h * 0.25)
    elif style == "watering can":
        r = w * 0.32
        s.cyl(p.main, -w * 0.1, 0, 0, h * 0.65, r, n=12)
        s.tube(p.main, (r * 0.5, 0, h * 0.2), (w / 2, 0, h * 0.85), 0.022, 6)
        s.path(
            p.main,
            [(-w * 0.1 - r, 0, h * 0.2), (-w / 2, 0, h * 0.6), (-w * 0.1, 0, h), (r * 0.4, 0, h * 0.65)],
            0.014,
            5,
        )
    elif style == "toolbox":
        s.block(p.main, 0, 0, 0, w, d, h * 0.62)
        s.prism(
            p.main,
            [(-d / 2, h * 0.62), (d / 2, h * 0.62), (d * 0.3, h * 0.85), (-d * 0.3, h * 0.85)],
            -w / 2,
            w / 2,
            "x",
        )
        s.path(
            BLACK,
            [(-w * 0.25, 0, h * 0.84), (-w * 0.2, 0, h), (w * 0.2, 0, h), (w * 0.25, 0, h * 0.84)],
            0.014,
        )
        for x in (-w * 0.3, w * 0.3):
            s.block(CHROME, x, d / 2, h * 0.5, 0.05, 0.012, 0.07)
    elif style == "tyres":
        r = w / 2
        for i in range(max(1, round(h / 0.2))):
            s.torus(RUBBER, 0, 0, 0.1 + 0.2 * i, r * 0.72, r * 0.27, "z", 16, 6)
    elif style == "umbrellas":
        s.cyl(p.main, 0, 0, 0, h * 0.55, w * 0.4, n=12)
        for a, key in ((0.3, "fabric:navy"), (2.4, "fabric:red"), (4.4, p.second)):
            x, y = w * 0.2 * np.cos(a), w * 0.2 * np.sin(a)
            s.tube(key, (x * 0.4, y * 0.4, 0.1), (x, y, h * 0.88), 0.03, 6, 0.02)
            s.path(
                "wood:walnut",
                [(x, y, h * 0.86), (x, y, h), (x + 0.05, y, h - 0.0), (x + 0.06, y, h * 0.93)],
                0.01,
                5,
            )
    elif style == "surfboard":
        z = np.linspace(0, 1, 8)
        half = w / 2 * np.sin(np.pi * np.clip(z * 0.92 + 0.06, 0, 1)) ** 0.6
        outline = [
            *zip(half.tolist(), (z * h).tolist()),
            *zip((-half[::-1]).tolist(), (z[::-1] * h).tolist()),
        ]
        mark = s.mark()
        s.prism(p.main, outline, -0.025, 0.025)
        s.box(p.second, -w * 0.06, w * 0.06, -0.027, 0.027, h * 0.1, h * 0.9)
        s.bend(turn_x(6), mark)
        s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, d / 2 - 0.03], [0, 0, 1.0, 0.005]]), mark)
    elif style == "skis":
        mark = s.mark()
        for x in (-w * 0.3, w * 0.12):
            s.box(p.main, x, x + 0.09, -0.01, 0.01, 0, h)
            s.block(BLACK, x + 0.045, 0.03, h * 0.42, 0.07, 0.05, 0.2)
        for x in (-w * 0.42, w * 0.42):
            s.tube(CHROME, (x, 0.03, 0), (x, 0.03, h * 0.72), 0.009, 5)
        s.bend(turn_x(5), mark)
        s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, d / 2 - 0.04], [0, 0, 1.0, 0.0]]), mark)
    else:
        s.cyl(p.main, 0, 0, 0, h, w / 2, n=10)


def racket(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A tennis racket or skateboard-like flat thing that leans against the wall."""
    mark = s.mark()
    z = h - w * 0.62
    s.torus(p.main, 0, 0, z, w * 0.46, 0.014, "y", 16, 5)
    for k in np.linspace(-0.3, 0.3, 5):
        s.tube("plastic:white", (float(k) * w, 0, z - w * 0.34), (float(k) * w, 0, z + w * 0.34), 0.003, 3)
        s.tube("plastic:white", (-w * 0.34, 0, z + float(k) * w), (w * 0.34, 0, z + float(k) * w), 0.003, 3)
    s.tube(p.second, (0, 0, 0), (0, 0, z - w * 0.46), 0.018)
    s.bend(turn_x(8), mark)
    s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, d * 0.35], [0, 0, 1.0, 0.0]]), mark)


def skateboard(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A board on four wheels, along x."""
    s.prism(
        p.main,
        [
            (-w / 2, h),
            (-w * 0.4, h * 0.75),
            (w * 0.4, h * 0.75),
            (w / 2, h),
            (w * 0.4, h * 0.9),
            (-w * 0.4, h * 0.9),
        ][1:4]
        + [(w * 0.4, h * 0.9), (-w * 0.4, h * 0.9)],
        -d / 2,
        d / 2,
    )
    for x in (-w * 0.3, w * 0.3):
        for y in (-d * 0.38, d * 0.38):
            s.tube(p.second, (x, y - 0.02, h * 0.33), (x, y + 0.02, h * 0.33), h * 0.33, 8)
    for side in (-1, 1):
        s.prism(
            p.main,
            sorted([(side * w * 0.39, h * 0.75), (side * w * 0.39, h * 0.9), (side * w / 2, h)]),
            -d / 2,
            d / 2,
        )


def shoes(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, boots: bool = False) -> None:
    """A pair of shoes or boots."""
    for x in (-w * 0.26, w * 0.26):
        s.box("rubber:black", x - w * 0.2, x + w * 0.2, -d / 2, d / 2, 0, 0.02)
        s.box(p.main, x - w * 0.19, x + w * 0.19, -d / 2, d * 0.45, 0.02, min(0.08, h * 0.6))
        s.box(p.main, x - w * 0.17, x + w * 0.17, -d / 2, 0, 0.05, h)
