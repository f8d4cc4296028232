"""Builders of things for pets (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, STEEL = "plastic:black", "metal:silver", "brushed:silver"


def litter_box(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hooded cat litter box with a round door, sand and a scoop."""
    low = h * 0.34
    s.prism(p.main, [(-w * 0.46, 0.0), (w * 0.46, 0.0), (w / 2, low), (-w / 2, low)], -d / 2, d / 2)
    s.block("stone:beige", 0, 0, low - 0.02, w * 0.9, d * 0.9, 0.024)
    hood = [
        (-w * 0.48, low),
        (w * 0.48, low),
        (w * 0.4, h * 0.86),
        (w * 0.26, h * 0.96),
        (-w * 0.26, h * 0.96),
        (-w * 0.4, h * 0.86),
    ]
    s.prism(p.second, hood, -d * 0.48, d * 0.44)
    s.tube(BLACK, (0, d * 0.44, h * 0.58), (0, d * 0.445, h * 0.58), min(w * 0.26, h * 0.22), 16)
    s.torus(p.main, 0, d * 0.44, h * 0.58, min(w * 0.26, h * 0.22), 0.014, "y", 16, 5)
    s.path(p.main, [(-0.08, 0, h * 0.95), (-0.06, 0, h), (0.06, 0, h), (0.08, 0, h * 0.95)], 0.012, 5)


def scratching_post(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rope-wound post on a carpeted base with a ball on a string."""
    s.block(p.main, 0, 0, 0, w, d, 0.05)
    s.cyl("knit:tan", 0, 0, 0.05, h - 0.13, 0.055, n=12)
    for z in np.arange(0.08, h - 0.1, 0.07):
        s.torus("fabric:beige", 0, 0, float(z), 0.055, 0.014, "z", 10, 4)
    s.lathe(p.main, [(1e-4, h - 0.08), (0.12, h - 0.08), (0.12, h - 0.03), (1e-4, h)], n=14)
    s.tube("fabric:white", (0.1, 0.02, h - 0.08), (0.12, 0.03, h * 0.62), 0.004, 3)
    s.ball(p.second, 0.12, 0.03, h * 0.6, 0.035, n=8, rings=6)


def pet_carrier(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A plastic transport box: two shells, a barred door to the front, vents, handle."""
    half = h * 0.46
    s.prism(p.main, [(-w * 0.44, 0.0), (w * 0.44, 0.0), (w / 2, half), (-w / 2, half)], -d / 2, d * 0.46)
    s.block(p.second, 0, -d * 0.02, half, w * 1.03, d * 0.98, 0.02)
    s.prism(
        p.second,
        [(-w / 2, half + 0.02), (w / 2, half + 0.02), (w * 0.38, h * 0.9), (-w * 0.38, h * 0.9)],
        -d / 2,
        d * 0.46,
    )
    s.block(BLACK, 0, d * 0.46, h * 0.12, w * 0.62, 0.012, h * 0.66)
    for x in np.linspace(-w * 0.28, w * 0.28, 8):
        s.tube(CHROME, (float(x), d * 0.485, h * 0.12), (float(x), d * 0.485, h * 0.78), 0.005, 4)
    for z in (0.14, 0.45, 0.76):
        s.tube(CHROME, (-w * 0.3, d * 0.485, h * z), (w * 0.3, d * 0.485, h * z), 0.006, 4)
    for side in (-1, 1):
        for y in np.linspace(-d * 0.3, d * 0.3, 6):
            s.block(BLACK, side * w * 0.45, float(y), h * 0.62, 0.03, 0.03, h * 0.12)
    s.path(
        BLACK,
        [(0, -d * 0.18, h * 0.89), (0, -d * 0.14, h), (0, d * 0.14, h), (0, d * 0.18, h * 0.89)],
        0.014,
        6,
    )


def dog_crate(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wire crate with a tray and a cushion; the door is at the front."""
    s.block(BLACK, 0, 0, 0, w, d, 0.03)
    s.ball(p.main, 0, 0, 0.05, w * 0.42, d * 0.42, 0.05, 12, 5)
    for z in (0.02, h * 0.35, h * 0.68, h - 0.008):
        for y in (-d / 2 + 0.008, d / 2 - 0.008):
            s.tube(p.frame, (-w / 2, y, z), (w / 2, y, z), 0.005, 4)
        for x in (-w / 2 + 0.008, w / 2 - 0.008):
            s.tube(p.frame, (x, -d / 2, z), (x, d / 2, z), 0.005, 4)
    for x in np.linspace(-w / 2 + 0.008, w / 2 - 0.008, max(6, round(w / 0.07))):
        for y in (-d / 2 + 0.008, d / 2 - 0.008):
            s.tube(p.frame, (float(x), y, 0.02), (float(x), y, h), 0.004, 3)
        s.tube(p.frame, (float(x), -d / 2, h - 0.008), (float(x), d / 2, h - 0.008), 0.004, 3)
    for y in np.linspace(-d / 2 + 0.05, d / 2 - 0.05, max(4, round(d / 0.08))):
        for x in (-w / 2 + 0.008, w / 2 - 0.008):
            s.tube(p.frame, (x, float(y), 0.02), (x, float(y), h), 0.004, 3)
    for x in (w * 0.05, w * 0.42):
        s.block(p.frame, x, d / 2 + 0.004, 0.05, 0.014, 0.014, h * 0.8)
    s.block(p.frame, w * 0.235, d / 2 + 0.004, h * 0.82, w * 0.38, 0.014, 0.014)
    s.block(CHROME, w * 0.06, d / 2 + 0.014, h * 0.45, 0.05, 0.02, 0.03)


def dog_house(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A kennel: plank walls, pitched roof, arched dark door, a bowl beside it."""
    wall = h * 0.58
    s.block("wood:walnut", 0, 0, 0, w * 0.84, d * 0.86, 0.04)
    n = 6
    for i in range(n):
        z = 0.04 + (wall - 0.04) * i / n
        s.block(p.main, 0, 0, z, w * 0.8, d * 0.82, (wall - 0.04) / n - 0.006)
    s.prism(p.main, [(-w * 0.4, wall), (w * 0.4, wall), (0, h * 0.95)], -d * 0.41, d * 0.41)
    for side in (-1, 1):
        slope = [(0, h), (0, h * 0.94), (side * w / 2, wall * 0.92), (side * w / 2, wall * 1.0)]
        s.prism(p.second, slope[::side], -d / 2, d / 2)
    t = np.linspace(0, np.pi, 9)
    arch = [
        (-w * 0.16, 0.05),
        (w * 0.16, 0.05),
        *[(w * 0.16 * float(np.cos(a)), wall * 0.55 + w * 0.16 * float(np.sin(a))) for a in t],
    ]
    s.prism(BLACK, arch, d * 0.41, d * 0.418)
    s.path(p.second, [(x, d * 0.42, z) for x, z in arch[1:]] + [(-w * 0.16, d * 0.42, 0.05)], 0.018, 5)
    s.block("wood:pine", 0, d * 0.42, wall * 0.98, w * 0.26, 0.014, 0.07)


def fish_bowl(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A round bowl of water with gravel, weeds and two fish at the glass."""
    r, z = w / 2, h * 0.46
    rows = [(r * float(np.cos(a)), z + z * float(np.sin(a))) for a in np.linspace(-1.45, 0.95, 9)]
    s.lathe("glass:light blue", [(1e-4, 0.0), *rows], n=16)
    s.torus("glass:white", 0, 0, rows[-1][1], rows[-1][0], 0.012, "z", 16, 5)
    s.lathe("stone:tan", [(r * 0.5, 0.004), (r * 0.86, h * 0.16)], n=16)
    for a in (0.5, 1.6, 3.4, 4.6):
        x, y = r * float(np.cos(a)), r * float(np.sin(a))
        s.path(
            "leaf:green",
            [(x * 0.86, y * 0.86, h * 0.14), (x * 1.0, y * 1.0, h * 0.35), (x * 0.98, y * 0.98, h * 0.58)],
            0.012,
            4,
        )
    for a, k in ((1.2, 0.5), (2.2, 0.36), (4.0, 0.48), (5.4, 0.4)):
        x, y = r * float(np.cos(a)), r * float(np.sin(a))
        s.ball(p.main, x * 0.95, y * 0.95, h * k, 0.026, 0.026, 0.016, 7, 5)
        tail = np.array(
            [
                [x, y, h * k],
                [x - y * 0.28, y + x * 0.28, h * k + 0.022],
                [x - y * 0.28, y + x * 0.28, h * k - 0.022],
            ]
        )
        s.add(p.main, tail, np.array([[0, 1, 2]]))
