"""Builders of lockers, open shelves and writing cabinets (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.looks import RAINBOW
from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint, legs

Rng = np.random.Generator
BLACK, CHROME, GREY = "plastic:black", "metal:silver", "plastic:grey"


def locker(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Metal lockers side by side: doors with vents, handles and numbers."""
    n = max(2, round(w / 0.35))
    s.block("metal:dark grey", 0, 0, 0, w - 0.02, d - 0.04, 0.06)
    s.box("metal:grey", -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.06, h)
    for i in range(n):
        x, wide = -w / 2 + w / n * (i + 0.5), w / n - 0.012
        s.block(p.main, x, d / 2 - 0.012, 0.07, wide, 0.02, h - 0.09)
        for z in (*np.linspace(h * 0.84, h * 0.92, 4), *np.linspace(0.16, 0.16 + h * 0.08, 4)):
            s.block(BLACK, x, d / 2, float(z), wide * 0.55, 0.004, 0.01)
        s.block(CHROME, x + wide * 0.36, d / 2 + 0.008, h * 0.5, 0.03, 0.02, 0.1)
        s.block("paper:white", x, d / 2, h * 0.76, 0.07, 0.004, 0.04)


def drawer_cart(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rolling cart: metal frame, coloured drawers, castors, a tray on top."""
    for x in (-w / 2 + 0.01, w / 2 - 0.01):
        for y in (-d / 2 + 0.01, d / 2 - 0.01):
            s.block(CHROME, x, y, 0.05, 0.02, 0.02, h - 0.05)
            s.ball("rubber:black", x, y, 0.028, 0.028, n=7, rings=5)
    n = max(4, round((h - 0.12) / 0.12))
    for i in range(n):
        z, tall = 0.08 + (h - 0.14) / n * i, (h - 0.14) / n - 0.02
        key = RAINBOW[(i + p.seed) % 7] if p.seed % 2 else (p.main, p.second)[i % 2]
        s.block(key, 0, 0.008, z, w - 0.05, d - 0.02, tall)
        s.block("plastic:white", 0, d / 2 + 0.004, z + tall * 0.45, w * 0.3, 0.014, 0.02)
    s.block(CHROME, 0, 0, h - 0.045, w, d, 0.014)
    s.top(-w / 2 + 0.03, -d / 2 + 0.03, w / 2 - 0.03, d / 2 - 0.03, h - 0.03, 0.8)


def ladder_shelf(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A leaning ladder with shelves that grow deeper downward, some books and pots."""
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.prism(
            p.frame,
            [(d / 2 - 0.05, 0.0), (d / 2, 0.0), (-d / 2 + 0.04, h), (-d / 2, h)],
            x - 0.018,
            x + 0.018,
            "x",
        )
    for i in range(5):
        z = h * (0.1 + 0.19 * i)
        front = d / 2 - d * z / h - 0.01
        s.box(p.main, -w / 2 + 0.03, w / 2 - 0.03, -d / 2, front + 0.03, z, z + 0.022)
        deep = front + 0.03 + d / 2
        if deep > 0.12 and i < 4:
            x0 = -w / 2 + 0.05 if i % 2 else 0.0
            span = w * float(rng.uniform(0.28, 0.42))
            s.box(
                "paper:dark brown",
                x0,
                x0 + span,
                -d / 2 + 0.01,
                -d / 2 + min(0.17, deep - 0.03),
                z + 0.022,
                z + 0.2,
            )
            s.front(
                f"books:{(p.seed + i) % 4}",
                x0,
                x0 + span,
                z + 0.022,
                z + 0.22,
                -d / 2 + min(0.17, deep - 0.03) + 0.004,
            )
            x = w * 0.3 if i % 2 else -w * 0.3
            s.lathe(
                "ceramic:white",
                [(1e-4, z + 0.022), (0.045, z + 0.022), (0.055, z + 0.12), (1e-4, z + 0.11)],
                x,
                -d / 2 + 0.08,
                8,
            )
            for a in np.arange(6) * np.pi / 3:
                s.tube(
                    "leaf:green",
                    (x, -d / 2 + 0.08, z + 0.11),
                    (x + 0.06 * np.cos(a), -d / 2 + 0.08 + 0.05 * np.sin(a), z + 0.17),
                    0.008,
                    3,
                )


def corner_shelf(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Quarter-round boards between two walls' posts, for a corner at the back right (+x, -y)."""
    t = np.linspace(0, np.pi / 2, 6)
    arc = [(w / 2 - w * float(np.cos(a)), -d / 2 + d * float(np.sin(a))) for a in t]
    for i in range(5):
        z = 0.04 + (h - 0.08) * i / 4
        s.prism(p.main, [(w / 2, -d / 2), *reversed(arc)], z, z + 0.022, "z")
        if i < 4:
            s.cyl(
                ("ceramic:white", "ceramic:teal", "glass:light blue", "ceramic:mustard")[(i + p.seed) % 4],
                w * 0.22,
                -d * 0.2,
                z + 0.022,
                0.1 + 0.04 * (i % 2),
                0.04,
                0.055,
                9,
            )
    s.block(p.main, w / 2 - 0.012, -d / 2 + 0.012, 0, 0.024, 0.024, h)
    for x, y in (arc[0], arc[-1]):
        s.block(p.main, x + 0.012 * (x < 0), y - 0.012 * (y > 0), 0, 0.024, 0.024, h)


def secretary(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A writing cabinet: drawers below, an open writing flap over pigeon holes, a cornice."""
    low = h * 0.5
    mark = s.mark()
    legs(s, p.main, w, d - 0.1, 0.1, 0.06, 0.0)
    s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, -0.05], [0, 0, 1.0, 0]]), mark)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.1, 0.1, low)
    for i in range(3):
        z = 0.12 + (low - 0.14) / 3 * i
        s.block(p.second, 0, d / 2 - 0.092, z, w - 0.04, 0.016, (low - 0.14) / 3 - 0.015)
        for x in (-w * 0.26, w * 0.26):
            s.ball("metal:gold", x, d / 2 - 0.075, z + (low - 0.14) / 6, 0.016, n=7, rings=5)
    s.box(p.main, -w * 0.48, w * 0.48, d / 2 - 0.11, d * 0.5 + 0.2, low - 0.02, low + 0.002)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.02, low, h)
    for x in (-w / 2 + 0.012, w / 2 - 0.012):
        s.box(p.main, x - 0.012, x + 0.012, -d / 2, d * 0.16, low, h - 0.04)
    for z in (low + 0.12, low + 0.26, h * 0.82):
        s.box(p.main, -w / 2 + 0.02, w / 2 - 0.02, -d / 2 + 0.02, d * 0.14, z, z + 0.016)
    for x in np.linspace(-w * 0.3, w * 0.3, 4):
        s.box(p.main, float(x) - 0.006, float(x) + 0.006, -d / 2 + 0.02, d * 0.14, low, low + 0.26)
    s.box(p.main, -w / 2 - 0.03, w / 2 + 0.03, -d / 2, d * 0.2, h - 0.04, h)
    s.block("paper:cream", 0, d * 0.36, low + 0.003, 0.22, 0.28, 0.004)
    span = w * 0.6
    s.box("paper:dark brown", -span / 2, span / 2, -d / 2 + 0.03, -d * 0.1, h * 0.84, h * 0.84 + 0.02)
    s.front(f"books:{p.seed % 4}", -span / 2, span / 2, h * 0.837, min(h * 0.95, h * 0.837 + 0.2), -d * 0.1)


def hutch(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sideboard with an open plate rack above."""
    low = h * 0.44
    s.block(p.frame, 0, -0.02, 0, w - 0.06, d - 0.06, 0.07)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.07, low - 0.03)
    s.box(p.second, -w / 2 - 0.015, w / 2 + 0.015, -d / 2, d / 2, low - 0.03, low)
    n = max(2, round(w / 0.45))
    for i in range(n):
        x, wide = -w / 2 + w / n * (i + 0.5), w / n - 0.02
        s.block(p.main, x, d / 2 - 0.012, 0.09, wide, 0.018, low - 0.3)
        s.block(p.main, x, d / 2 - 0.012, low - 0.19, wide, 0.018, 0.14)
        for z in (low - 0.12, low - 0.27):
            s.ball("metal:gold", x, d / 2 + 0.005, z, 0.016, n=7, rings=5)
    back = d * 0.62
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.02, low, h)
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        s.box(p.main, x - 0.015, x + 0.015, -d / 2, -d / 2 + back * 0.6, low, h)
    s.box(p.main, -w / 2 - 0.02, w / 2 + 0.02, -d / 2, -d / 2 + back * 0.65, h - 0.04, h)
    for z in (low + (h - low) * 0.36, low + (h - low) * 0.66):
        s.box(p.main, -w / 2 + 0.03, w / 2 - 0.03, -d / 2 + 0.02, -d / 2 + back * 0.58, z, z + 0.02)
        for x in np.arange(-w / 2 + 0.16, w / 2 - 0.12, 0.25):
            key = ("ceramic:white", "ceramic:navy", "ceramic:mint")[(int(x * 10) + p.seed) % 3]
            s.tube(key, (float(x), -d / 2 + 0.05, z + 0.13), (float(x), -d / 2 + 0.065, z + 0.13), 0.1, 14)
            s.tube(
                "ceramic:cream",
                (float(x), -d / 2 + 0.064, z + 0.13),
                (float(x), -d / 2 + 0.067, z + 0.13),
                0.06,
                12,
            )
    s.top(-w / 2 + 0.05, -d * 0.1, w / 2 - 0.05, d / 2 - 0.03, low, (h - low) * 0.3)


def valet(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A valet stand: two posts, a hanger with a jacket, trouser bar, tray."""
    for x in (-w * 0.3, w * 0.3):
        s.block(p.frame, x, 0, 0, 0.035, d, 0.035)
        s.block(p.frame, x, 0, 0.035, 0.03, 0.03, h * 0.86)
    s.block(p.frame, 0, 0.02, h * 0.2, w * 0.64, d * 0.5, 0.02)
    s.tube(p.frame, (-w * 0.34, d * 0.2, h * 0.62), (w * 0.34, d * 0.2, h * 0.62), 0.014, 7)
    s.box(p.second, -w * 0.2, w * 0.2, d * 0.2 - 0.02, d * 0.2 + 0.02, h * 0.3, h * 0.64)
    s.block(p.frame, 0, -0.02, h * 0.86, w * 0.7, d * 0.36, 0.03)
    s.prism(p.main, [(-w / 2, h * 0.9), (w / 2, h * 0.9), (w * 0.1, h), (-w * 0.1, h)], -0.05, 0.02)
    s.prism(
        p.main,
        [(-w * 0.44, h * 0.46), (w * 0.44, h * 0.46), (w / 2, h * 0.92), (-w / 2, h * 0.92)],
        -0.07,
        0.0,
    )
    s.prism(
        "fabric:white",
        [(-w * 0.05, h * 0.66), (w * 0.05, h * 0.66), (w * 0.1, h * 0.98), (-w * 0.1, h * 0.98)],
        0.0,
        0.024,
    )


def hall_tree(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bench with a tall back: mirror, hooks with a coat and a hat, a shelf on top."""
    seat = 0.46
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, seat - 0.05, seat)
    s.box(p.main, -w / 2, w / 2, -d / 2 + 0.02, d / 2 - 0.03, 0.06, 0.08)
    for x in (-w / 2 + 0.02, 0.0, w / 2 - 0.02):
        s.box(p.main, x - 0.02, x + 0.02, -d / 2, d / 2 - 0.01, 0, seat - 0.05)
    s.box(p.second, -w * 0.48, w * 0.48, -d * 0.4, d / 2 - 0.01, seat, seat + 0.05)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.03, seat, h)
    s.box("glass:light grey", -w * 0.2, w * 0.2, -d / 2 + 0.03, -d / 2 + 0.036, h * 0.45, h * 0.88)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.24, h - 0.03, h)
    for x in (-w * 0.42, -w * 0.3, w * 0.3, w * 0.42):
        s.path(
            "metal:gold",
            [(x, -d / 2 + 0.03, h * 0.8), (x, -d / 2 + 0.1, h * 0.79), (x, -d / 2 + 0.11, h * 0.83)],
            0.012,
            6,
        )
    s.lathe(
        "fabric:navy",
        [(0.03, h * 0.79), (0.1, h * 0.72), (0.12, h * 0.42), (1e-4, h * 0.42)],
        -w * 0.37,
        -d / 2 + 0.12,
        9,
        1.0,
        0.6,
    )
    s.lathe(
        "wicker:tan",
        [(0.15, h), (0.15, h + 0.012), (0.085, h + 0.014), (0.075, h + 0.1), (1e-4, h + 0.11)],
        w * 0.25,
        -d / 2 + 0.12,
        12,
        1,
        0.8,
    )
