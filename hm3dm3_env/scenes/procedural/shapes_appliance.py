"""Builders of kitchen and household appliances (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

BLACK, CHROME, STEEL, WHITE = "plastic:black", "metal:silver", "brushed:silver", "ceramic:white"


def fridge(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """Freezer below, or two doors side by side if wide."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.05, 0.03, h)
    y = d / 2 - 0.045
    if w > 0.8:
        for side in (-1, 1):
            s.block(p.main, side * w / 4, y + 0.02, 0.05, w / 2 - 0.01, 0.04, h - 0.06)
            s.block(CHROME, side * 0.05, y + 0.05, h * 0.4, 0.025, 0.03, h * 0.4)
    else:
        cut = h * (0.35 if rng.random() < 0.6 else 0.68)
        for z0, z1 in ((0.05, cut - 0.005), (cut + 0.005, h - 0.01)):
            s.block(p.main, 0, y + 0.02, z0, w, 0.04, z1 - z0)
            s.block(CHROME, -w * 0.4, y + 0.05, (z0 + z1) / 2 - 0.15, 0.025, 0.03, 0.3)
    s.top(-w / 2 + 0.05, -d / 2 + 0.05, w / 2 - 0.05, d / 2 - 0.1, h, 0.5)


def stove(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """An oven with a hob: glass door, handle, knobs, four rings."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.03, h - 0.015)
    s.box(BLACK, -w / 2, w / 2, -d / 2, d / 2, h - 0.015, h)
    s.block("glass:black", 0, d / 2 - 0.012, 0.2, w * 0.82, 0.02, h * 0.42)
    s.tube(CHROME, (-w * 0.4, d / 2 + 0.0, h * 0.72), (w * 0.4, d / 2 + 0.0, h * 0.72), 0.014)
    for x in np.linspace(-w * 0.38, w * 0.38, 5):
        s.tube(BLACK, (float(x), d / 2 - 0.02, h * 0.87), (float(x), d / 2 + 0.01, h * 0.87), 0.022, 7)
    for x in (-w * 0.24, w * 0.24):
        for y in (-d * 0.22, d * 0.2):
            s.disc("metal:dark grey", x, y, h + 0.004, 0.085, 12)
            s.disc("metal:red" if rng.random() < 0.1 else "metal:black", x, y, h + 0.006, 0.06, 10)
    s.top(-w * 0.45, -d * 0.4, w * 0.45, d * 0.4, h + 0.007, 0.5)


def washer(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A front loader: round door, drawer, dial."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.03, 0.02, h)
    y = d / 2 - 0.03
    s.torus(CHROME, 0, y + 0.005, h * 0.46, w * 0.29, 0.025, "y", 16, 5)
    s.tube("glass:dark grey", (0, y, h * 0.46), (0, y + 0.015, h * 0.46), w * 0.27, 16)
    s.block(BLACK, w * 0.12, y + 0.004, h * 0.86, w * 0.6, 0.008, h * 0.09)
    s.tube(CHROME, (w * 0.05, y, h * 0.905), (w * 0.05, y + 0.03, h * 0.905), 0.03, 10)
    s.block("plastic:light grey", -w * 0.32, y + 0.004, h * 0.86, w * 0.26, 0.008, h * 0.09)
    s.top(-w / 2 + 0.04, -d / 2 + 0.04, w / 2 - 0.04, d / 2 - 0.06, h, 0.8)


def dishwasher(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A flat door with a bar and a panel, under a counter top."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.04, 0.08, h - 0.035)
    s.block(p.main, 0, d / 2 - 0.035, 0.1, w - 0.02, 0.03, h * 0.72)
    s.block(BLACK, 0, d / 2 - 0.035, h * 0.85, w - 0.02, 0.032, h * 0.1)
    s.tube(CHROME, (-w * 0.38, d / 2, h * 0.76), (w * 0.38, d / 2, h * 0.76), 0.012)
    s.box(p.second, -w / 2, w / 2, -d / 2, d / 2, h - 0.035, h)
    s.top(-w / 2 + 0.03, -d / 2 + 0.05, w / 2 - 0.03, d / 2 - 0.05, h, 0.5)


def counter(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    sink: bool = False,
    drawers: bool = False,
    faces: int = 1,
) -> None:
    """A base cabinet with a counter top; doors or drawers; perhaps a sink with a tap."""
    s.box("plastic:dark grey", -w / 2, w / 2, -d / 2, d / 2 - 0.08, 0, 0.08)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.04, 0.08, h - 0.035)
    for face in range(faces):
        sign = 1 if face == 0 else -1
        n = max(1, round(w / 0.5))
        for i in range(n):
            x, wide = -w / 2 + w / n * (i + 0.5), w / n - 0.012
            rows = (
                [(0.09, h - 0.045)]
                if not drawers
                else [(0.09 + j * 0.265, 0.09 + (j + 1) * 0.265 - 0.01) for j in range(3)]
            )
            for z0, z1 in rows:
                s.block(p.main, x, sign * (d / 2 - 0.032), z0, wide, 0.018, min(z1, h - 0.045) - z0)
                s.block(p.frame, x, sign * (d / 2 - 0.015), min(z1, h - 0.045) - 0.06, 0.12, 0.016, 0.014)
    s.box(p.second, -w / 2, w / 2, -d / 2, d / 2, h - 0.035, h)
    if sink:
        _bowl(s, 0, 0.02, h, 0.5, 0.36)
        tap(s, 0, -d * 0.36, h, 0.3)
    else:
        s.top(-w / 2 + 0.04, -d / 2 + 0.04, w / 2 - 0.04, d / 2 - 0.06, h, 0.5)


def _bowl(s: Shape, x: float, y: float, z: float, w: float, d: float, key: str = STEEL) -> None:
    s.block(key, x, y, z, w, d, 0.012)
    s.block("metal:dark grey", x, y, z + 0.012, w - 0.07, d - 0.07, 0.002)
    s.disc("metal:black", x, y, z + 0.0155, 0.025, 8)


def tap(s: Shape, x: float, y: float, z: float, h: float) -> None:
    """A bent spout and a lever."""
    s.path(
        CHROME,
        [
            (x, y, z),
            (x, y, z + h),
            (x, y + 0.08, z + h + 0.03),
            (x, y + 0.17, z + h),
            (x, y + 0.17, z + h - 0.05),
        ],
        0.013,
    )
    s.tube(CHROME, (x + 0.01, y, z + 0.06), (x + 0.09, y, z + 0.1), 0.009, 5)


def hood(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A tapered range hood with a flue."""
    s.block(p.main, 0, 0, 0, w, d, 0.05)
    top = h * 0.4
    z0, z1 = 0.05, top
    a = np.array(
        [
            [-w / 2, -d / 2, z0],
            [w / 2, -d / 2, z0],
            [w / 2, d / 2, z0],
            [-w / 2, d / 2, z0],
            [-0.12, -d / 2, z1],
            [0.12, -d / 2, z1],
            [0.12, 0.0, z1],
            [-0.12, 0.0, z1],
        ]
    )
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        s.add(p.main, a[[i, j, j + 4, i + 4]], np.array([[0, 1, 2], [0, 2, 3]]))
    s.box(p.main, -0.12, 0.12, -d / 2, 0.0, top, h)


def microwave(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A box with a dark window and a panel."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.01, 0.01, h)
    s.block("glass:black", w * 0.1, d / 2 - 0.006, h * 0.15, w * 0.66, 0.012, h * 0.7)
    s.block(BLACK, -w * 0.38, d / 2 - 0.006, h * 0.15, w * 0.18, 0.01, h * 0.7)
    s.tube(CHROME, (-w * 0.26, d / 2 + 0.015, h * 0.2), (-w * 0.26, d / 2 + 0.015, h * 0.8), 0.01, 6)


def toaster(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """Two slots and a lever."""
    s.block(p.main, 0, 0, 0.015, w, d, h - 0.02)
    for y in (-d * 0.18, d * 0.18):
        s.block(BLACK, 0, y, h - 0.004, w * 0.75, 0.03, 0.004)
    s.block(BLACK, w / 2 + 0.008, 0, h * 0.6, 0.02, 0.04, 0.02)
    s.block(BLACK, 0, 0, 0, w * 0.9, d * 0.9, 0.015)


def coffee_maker(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A tower that overhangs a jug."""
    s.block(p.main, 0, 0, 0, w, d, 0.04)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d * 0.1, 0.04, h)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, h * 0.72, h)
    s.lathe(
        "glass:dark brown",
        [(1e-4, 0.045), (w * 0.33, 0.05), (w * 0.36, h * 0.3), (w * 0.22, h * 0.6)],
        0,
        d * 0.18,
        8,
    )


def espresso(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A wide machine with a group head, a drip tray and a steam pipe."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d * 0.05, 0, h)
    s.box(p.main, -w / 2, w / 2, -d / 2, d * 0.4, h * 0.72, h)
    s.box(BLACK, -w * 0.46, w * 0.46, -d / 2, d / 2, 0, h * 0.14)
    s.tube(CHROME, (0, d * 0.22, h * 0.58), (0, d * 0.22, h * 0.72), 0.035, 8)
    s.tube(BLACK, (0, d * 0.22, h * 0.62), (0, d * 0.58, h * 0.56), 0.014, 6)
    s.tube(CHROME, (w * 0.38, d * 0.2, h * 0.72), (w * 0.42, d * 0.3, h * 0.3), 0.008, 5)


def kettle(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A kettle, jug or pitcher with spout and handle."""
    r = w * 0.4
    s.lathe(p.main, [(1e-4, 0), (r, 0.01), (r * 0.95, h * 0.4), (r * 0.65, h * 0.85), (1e-4, h * 0.92)], n=10)
    s.ball(BLACK, 0, 0, h * 0.95, 0.02, n=5, rings=4)
    s.path(
        p.second,
        [(r * 0.7, 0, h * 0.8), (r * 1.3, 0, h * 0.8), (r * 1.25, 0, h * 0.3), (r * 0.95, 0, h * 0.25)],
        0.012,
        5,
    )
    s.tube(p.main, (-r * 0.7, 0, h * 0.55), (-r * 1.25, 0, h * 0.85), 0.025, 6, 0.012)


def blender(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A mixer: base and jug."""
    r = w / 2
    s.cyl(p.main, 0, 0, 0, h * 0.4, r, r * 0.7, 8)
    s.cyl("glass:light blue", 0, 0, h * 0.4, h * 0.5, r * 0.6, r * 0.8, 8)
    s.cyl(BLACK, 0, 0, h * 0.9, h * 0.1, r * 0.8, r * 0.6, 8)


def stand_mixer(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A baker's mixer with its bowl."""
    s.block(p.main, 0, 0, 0, w, d, 0.04)
    s.block(p.main, 0, -d * 0.35, 0.04, w * 0.5, d * 0.25, h * 0.6)
    s.ball(p.main, 0, -0.02, h * 0.82, w * 0.32, d * 0.5, h * 0.18)
    s.lathe(STEEL, [(1e-4, 0.05), (w * 0.25, 0.05), (w * 0.45, h * 0.5)], 0, d * 0.18, 10)


def machine(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, style: str = "heater"
) -> None:
    """Heaters, radiators, fans, air purifiers and water dispensers."""
    if style == "radiator":
        for x in np.arange(-w / 2 + 0.04, w / 2 - 0.02, 0.08):
            s.block(p.main, float(x), 0, 0.1 if h > 0.5 else 0.05, 0.06, d, h - 0.1)
        s.tube(p.main, (-w / 2, 0, 0.16), (w / 2, 0, 0.16), 0.02)
        s.tube(p.main, (-w / 2, 0, h - 0.05), (w / 2, 0, h - 0.05), 0.02)
        for x in (-w * 0.4, w * 0.4):
            s.block(p.main, x, 0, 0, 0.03, d * 0.6, 0.12)
    elif style == "fan":
        r = w / 2
        z = h - r
        s.cyl(p.main, 0, 0, 0, 0.03, min(0.2, r), n=12)
        s.tube(p.main, (0, 0, 0.03), (0, 0, z), 0.018)
        s.tube(p.main, (0, -0.08, z), (0, 0.06, z), 0.05, 8)
        for k in (0.98, 0.55):
            s.torus(p.second, 0, 0.07, z, r * k, 0.007, "y", 16, 4)
        s.torus(p.second, 0, -0.01, z, r * 0.98, 0.007, "y", 16, 4)
        for a in np.arange(5) * 2 * np.pi / 5:
            x, dz = r * 0.85, 0.35
            v = np.array(
                [
                    [0, 0.02, 0],
                    [x * np.cos(a), 0.03, x * np.sin(a)],
                    [x * np.cos(a + dz), 0.05, x * np.sin(a + dz)],
                ]
            ) + [0, 0.0, z]
            s.add(p.main, v, np.array([[0, 1, 2]]))
        for a in np.arange(8) * np.pi / 4:
            s.tube(p.second, (0, 0.075, z), (r * np.cos(a), 0.07, z + r * np.sin(a)), 0.004, 3)
    elif style == "cooler":
        s.block(p.main, 0, 0, 0, w, d, h * 0.68)
        s.block(BLACK, 0, d / 2, h * 0.45, w * 0.7, 0.02, h * 0.12)
        for x in (-0.06, 0.06):
            s.tube(
                ("plastic:red", "plastic:blue")[x > 0],
                (x, d / 2, h * 0.55),
                (x, d / 2 + 0.04, h * 0.53),
                0.012,
                5,
            )
        s.lathe(
            "glass:light blue", [(0.05, h * 0.68), (w * 0.4, h * 0.74), (w * 0.42, h * 0.97), (1e-4, h)], n=10
        )
    elif style == "boiler":
        s.cyl(p.main, 0, 0, 0.05, h - 0.1, w / 2, n=14)
        s.lathe(p.main, [(w / 2, h - 0.05), (1e-4, h)], n=14)
        s.path("metal:copper", [(-0.1, 0, h - 0.04), (-0.1, 0, h + 0.1), (-0.1, -d / 2, h + 0.1)], 0.015)
        s.block(BLACK, 0, w / 2 - 0.01, h * 0.3, 0.14, 0.03, 0.18)
    else:
        s.block(p.main, 0, 0, 0.02, w, d, h - 0.02)
        for z in np.linspace(h * 0.2, h * 0.7, 6):
            s.block(p.second, 0, d / 2, float(z), w * 0.8, 0.012, h * 0.04)
        s.block(BLACK, 0, 0, h, w * 0.5, d * 0.4, 0.008)


def vacuum(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """An upright vacuum cleaner."""
    s.block(BLACK, 0, d * 0.25, 0, w, d * 0.5, 0.08)
    s.tube(p.main, (0, d * 0.1, 0.08), (0, -d * 0.25, h * 0.6), w * 0.28, 8)
    s.tube("plastic:light grey", (0, -d * 0.25, h * 0.6), (0, -d * 0.42, h), 0.022)
    s.tube(BLACK, (0, -d * 0.4, h - 0.02), (0, -d * 0.2, h - 0.04), 0.022)
    for x in (-w * 0.4, w * 0.4):
        s.tube("rubber:black", (x - 0.02, 0, 0.07), (x + 0.02, 0, 0.07), 0.07, 8)
