"""Builders of things to exercise, play outside and travel with (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def trampoline(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A small round trampoline with a padded rim on six legs."""
    r = w / 2
    s.torus(p.main, 0, 0, h - 0.035, r - 0.05, 0.045, "z", 22, 6)
    s.cyl(RUBBER, 0, 0, h - 0.05, 0.012, r - 0.06, n=22)
    for a in np.arange(6) * np.pi / 3:
        x, y = (r - 0.06) * np.cos(a), (r - 0.06) * np.sin(a)
        s.tube(CHROME, (x, y, h - 0.04), (x * 1.02, y * 1.02, 0), 0.018, 7)
        s.tube(RUBBER, (x * 1.02, y * 1.02, 0), (x * 1.02, y * 1.02, 0.03), 0.026, 7)


def stepper(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A stair stepper: two pedals on arms, a column with handles and a display."""
    s.block(p.main, 0, 0, 0, w * 0.35, d, 0.08)
    for y in (-d * 0.44, d * 0.44):
        s.block(BLACK, 0, y, 0, w, 0.08, 0.05)
    for x, z in ((-w * 0.24, 0.16), (w * 0.24, 0.3)):
        s.tube(CHROME, (x, d * 0.3, 0.1), (x, -d * 0.25, z), 0.024)
        s.block(BLACK, x, -d * 0.25, z, w * 0.26, d * 0.36, 0.045)
        s.tube(p.second, (x, d * 0.1, 0.08), (x, d * 0.05, 0.22 + z * 0.3), 0.035)
        s.path(
            CHROME,
            [(x * 0.3, d * 0.36, h * 0.9), (x * 1.9, d * 0.2, h * 0.85), (x * 1.9, -d * 0.05, h * 0.7)],
            0.02,
        )
    s.tube(p.main, (0, d * 0.36, 0.06), (0, d * 0.36, h - 0.08), 0.04)
    s.block(BLACK, 0, d * 0.36, h - 0.18, w * 0.4, 0.06, 0.18)
    s.quad(
        "screen:1",
        (-w * 0.16, d * 0.36 - 0.033, h - 0.15),
        (w * 0.16, d * 0.36 - 0.033, h - 0.15),
        (w * 0.16, d * 0.36 - 0.033, h - 0.03),
        (-w * 0.16, d * 0.36 - 0.033, h - 0.03),
    )


def barbell(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bar along x with plates, lying on its plates."""
    r = h / 2
    s.tube(CHROME, (-w / 2, 0, r), (w / 2, 0, r), 0.016, 8)
    for side in (-1, 1):
        for i, k in enumerate((1.0, 1.0, 0.7)):
            x = side * (w * 0.34 + 0.05 * i)
            s.tube(RUBBER if i < 2 else p.main, (x - 0.022, 0, r), (x + 0.022, 0, r), r * k, 18)
            s.tube(p.main, (x - 0.024, 0, r), (x + 0.024, 0, r), r * 0.3 * k, 10)


def kettlebell(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ball with a flat foot and a thick handle."""
    r = min(w, d) / 2
    s.ball(p.main, 0, 0, r * 0.9, r, n=14, rings=10)
    s.cyl(BLACK, 0, 0, 0, 0.015, r * 0.6, n=12)
    points = [
        (-r * 0.75, 0, r * 1.4),
        (-r * 0.7, 0, h * 0.86),
        (-r * 0.4, 0, h - 0.02),
        (r * 0.4, 0, h - 0.02),
        (r * 0.7, 0, h * 0.86),
        (r * 0.75, 0, r * 1.4),
    ]
    s.path(p.main, points, 0.017, 8)


def wall_bars(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An exercise ladder: two posts at the wall with many round rungs, one pair set forward at the top."""
    for x in (-w / 2 + 0.03, w / 2 - 0.03):
        s.block(p.main, x, -d / 2 + 0.06, 0, 0.06, 0.12, h)
        s.box(p.main, x - 0.03, x + 0.03, -d / 2, d / 2, h - 0.1, h)
    for z in np.arange(0.12, h - 0.2, 0.16):
        s.tube(p.second, (-w / 2, -d / 2 + 0.08, float(z)), (w / 2, -d / 2 + 0.08, float(z)), 0.018, 8)
    s.tube(p.second, (-w / 2, d / 2 - 0.03, h - 0.05), (w / 2, d / 2 - 0.03, h - 0.05), 0.018, 8)


def roll(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "mat") -> None:
    """A rolled exercise mat that stands, or a rolled sleeping bag that lies along x."""
    if style == "mat":
        r = w / 2
        for k in range(4):
            s.lathe(p.main, [(r * (1 - 0.22 * k), 0.0), (r * (1 - 0.22 * k), h)], n=14)
            s.lathe(p.second, [(r * (1 - 0.22 * k), h), (r * (0.9 - 0.22 * k), h)], n=14)
        s.lathe(p.main, [(1e-4, h * 0.98), (r * 0.97, h * 0.98)], n=14)
        for z in (h * 0.3, h * 0.7):
            s.torus(BLACK, 0, 0, z, r, 0.008, "z", 14, 4)
        return
    r = h / 2
    s.tube(p.main, (-w / 2, 0, r), (w / 2, 0, r), r, 14)
    for x in (-w / 2, w / 2):
        for share in (0.8, 0.5, 0.2):
            s.torus(p.second, x, 0, r, r * share, 0.01, "x", 14, 4)
    for x in (-w * 0.25, w * 0.25):
        s.torus(BLACK, x, 0, r, r, 0.01, "x", 16, 4)
    s.path(
        BLACK,
        [(-w * 0.15, 0, h), (-w * 0.1, 0, h + 0.05), (w * 0.1, 0, h + 0.05), (w * 0.15, 0, h)],
        0.012,
        5,
    )


def sled(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wooden sled: bent runners, slats, a rope; it looks to +y."""
    for x in (-w * 0.42, w * 0.42):
        s.path(
            p.main,
            [
                (x, -d / 2, 0.02),
                (x, d * 0.25, 0.02),
                (x, d * 0.42, h * 0.3),
                (x, d * 0.48, h * 0.8),
                (x, d * 0.42, h),
            ],
            0.02,
            6,
        )
        for y in (-d * 0.36, d * 0.1):
            s.tube(p.main, (x, y, 0.02), (x * 0.9, y, h * 0.7), 0.018, 6)
    for x in np.linspace(-w * 0.38, w * 0.38, 5):
        s.block(p.main, float(x), -d * 0.08, h * 0.7, w * 0.14, d * 0.82, 0.02)
    s.tube(p.main, (-w * 0.42, d * 0.42, h - 0.01), (w * 0.42, d * 0.42, h - 0.01), 0.018, 6)
    s.path("fabric:red", [(-w * 0.3, d * 0.42, h), (0, d * 0.1, h * 0.82), (w * 0.3, d * 0.42, h)], 0.01, 4)


def golf_bag(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A golf bag that leans back on two thin legs, with clubs."""
    mark, r = s.mark(), min(w, d) * 0.36
    s.cyl(p.main, 0, 0, 0, h * 0.72, r, n=12)
    s.torus(p.second, 0, 0, h * 0.72, r, 0.02, "z", 12, 5)
    s.torus(p.second, 0, 0, 0.02, r, 0.02, "z", 12, 5)
    s.block(p.second, 0, r * 0.95, h * 0.12, r * 1.2, 0.07, h * 0.3)
    s.path(BLACK, [(r, 0, h * 0.6), (r * 1.5, 0, h * 0.45), (r, 0, h * 0.28)], 0.014, 5)
    for a in np.arange(6) * np.pi / 3 + 0.3:
        x, y = 0.6 * r * float(np.cos(a)), 0.6 * r * float(np.sin(a))
        tall = h * float(rng.uniform(0.9, 0.99))
        s.tube(CHROME, (x, y, h * 0.6), (x * 1.1, y * 1.1, tall), 0.007, 5)
        s.block(CHROME if a > 2 else BLACK, x * 1.1 + 0.02, y * 1.1, tall - 0.03, 0.08, 0.03, 0.05)
    s.bend(turn_x(-9, 0, 0), mark)
    for x in (-w * 0.4, w * 0.4):
        s.tube(CHROME, (x * 0.3, -d * 0.1, h * 0.55), (x, -d * 0.52, 0.0), 0.009, 5)


def leaning(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "bat") -> None:
    """A baseball bat or a snowboard that leans against the wall."""
    mark = s.mark()
    if style == "bat":
        s.lathe(
            p.main,
            [
                (1e-4, 0),
                (0.033, 0.02),
                (0.035, h * 0.3),
                (0.018, h * 0.65),
                (0.016, h * 0.95),
                (0.026, h * 0.97),
                (1e-4, h),
            ],
            n=10,
        )
        s.lathe(p.second, [(0.019, h * 0.7), (0.019, h * 0.94)], n=10)
    else:
        t = 0.5 - 0.497 * np.cos(np.linspace(0, np.pi, 14))
        half = w / 2 * np.clip(1 - np.abs(2 * t - 1) ** 8, 0, 1) ** 0.5 * (0.86 + 0.14 * np.abs(2 * t - 1))
        for a, b, ta, tb in zip(half, half[1:], t, t[1:]):
            s.prism(p.main, [(-a, ta * h), (a, ta * h), (b, tb * h), (-b, tb * h)], -0.01, 0.01)
        s.block(p.second, 0, 0.002, h * 0.2, w * 0.5, 0.02, h * 0.12)
        s.block(p.second, 0, 0.002, h * 0.64, w * 0.5, 0.02, h * 0.12)
        for z in (h * 0.36, h * 0.58):
            s.block(BLACK, 0, 0.04, z, w * 0.7, 0.07, 0.1)
            s.block(BLACK, 0, 0.075, z + 0.02, w * 0.5, 0.05, 0.05)
    s.bend(turn_x(14 if style == "bat" else 9, 0, 0), mark)


def helmet(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bicycle helmet with dark vents and straps."""
    angle = np.linspace(0, np.pi / 2, 6)
    s.lathe(
        p.main,
        [(w / 2 * float(np.cos(a)), h * 0.25 + h * 0.75 * float(np.sin(a))) for a in angle[:-1]]
        + [(1e-4, h)],
        n=16,
        sy=d / w,
    )
    s.lathe(BLACK, [(w * 0.47, h * 0.2), (w * 0.5, h * 0.27)], n=16, sy=d / w)
    for x in (-0.17, 0.0, 0.17):
        for y in (-0.19, 0.02, 0.22):
            z = h * 0.25 + h * 0.75 * float(np.sqrt(max(0.05, 1 - 4 * (x * x + y * y))))
            s.ball(BLACK, x * w, y * d, z, w * 0.05, d * 0.1, 0.008, 6, 5)
    for x in (-w * 0.42, w * 0.42):
        s.path(BLACK, [(x, d * 0.15, h * 0.25), (x * 0.8, 0.02, 0.02), (x, -d * 0.2, h * 0.25)], 0.007, 4)


def massage_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A padded couch along x with a face ring on folding legs."""
    s.block(p.frame, 0, 0, h - 0.14, w * 0.88, d, 0.05)
    s.block(p.main, w * 0.0, 0, h - 0.09, w * 0.88, d, 0.09)
    s.torus(p.main, -w / 2 + 0.11, 0, h - 0.05, 0.1, 0.045, "z", 14, 6)
    for x in (-w * 0.36, w * 0.36):
        for y in (-d * 0.42, d * 0.42):
            s.block(p.frame, x, y, 0, 0.05, 0.05, h - 0.12)
        s.block(p.frame, x, 0, h * 0.3, 0.04, d * 0.84, 0.05)
        s.tube(p.frame, (x, 0, h * 0.32), (x * 0.3, 0, h - 0.13), 0.016)
    s.tube("fabric:white", (w * 0.25, -d * 0.4, h + 0.05), (w * 0.25, d * 0.4, h + 0.05), 0.06, 10)


def motorcycle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A motorcycle along x: wheels, engine, tank, seat, fork, lamp, pipe."""
    r = min(0.31, w * 0.16)
    a, b = -w / 2 + r, w / 2 - r
    for x in (a, b):
        s.torus(RUBBER, x, 0, r, r - 0.055, 0.055, "y", 20, 6)
        s.tube(CHROME, (x, -0.04, r), (x, 0.04, r), r * 0.34, 10)
        for t in np.arange(5) * np.pi / 5:
            dx, dz = (r - 0.08) * np.cos(t), (r - 0.08) * np.sin(t)
            s.tube(CHROME, (x - dx, 0, r - dz), (x + dx, 0, r + dz), 0.008, 4)
    head = (w * 0.24, h * 0.8)
    for y in (-0.07, 0.07):
        s.tube(CHROME, (b, y, r), (head[0] - 0.03, y, h * 0.9), 0.024, 7)
        s.tube(BLACK, (a, y, r), (-w * 0.08, y, r * 1.05), 0.025, 6)
    s.tube(CHROME, (w * 0.08, d * 0.2, r * 0.9), (a, d * 0.22, r * 0.85), 0.045, 8)
    s.block("metal:dark grey", w * 0.02, 0, r * 0.55, w * 0.24, 0.26, r * 0.95)
    for z in np.linspace(r * 1.1, r * 1.6, 4):
        s.block(CHROME, w * 0.05, 0, float(z), w * 0.12, 0.24, 0.02)
    s.ball(p.main, w * 0.08, 0, h * 0.7, w * 0.15, 0.15, h * 0.13, 12, 8)
    s.box(BLACK, -w * 0.3, w * 0.0, -0.12, 0.12, h * 0.62, h * 0.7)
    s.ball(p.main, -w * 0.3, 0, h * 0.58, w * 0.1, 0.11, h * 0.07, 10, 6)
    s.prism(
        p.main,
        [(b - r * 0.7, r * 1.8), (b + r * 0.55, r * 1.75), (b + r * 0.2, r * 2.02), (b - r * 0.3, r * 2.04)],
        -0.07,
        0.07,
    )
    s.tube(BLACK, (head[0] - 0.06, -d / 2, h - 0.04), (head[0] - 0.06, d / 2, h - 0.04), 0.018)
    s.tube(CHROME, (head[0] + 0.02, 0, h * 0.84), (head[0] + 0.12, 0, h * 0.83), 0.075, 12, 0.09)
    s.tube("glass:cream", (head[0] + 0.121, 0, h * 0.83), (head[0] + 0.13, 0, h * 0.83), 0.08, 12)
    s.tube(CHROME, (-w * 0.02, d * 0.1, r * 0.5), (-w * 0.04, d * 0.4, 0.0), 0.014, 5)


def traffic_cone(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A cone with two white bands on a square foot."""
    s.block(BLACK, 0, 0, 0, w, d, 0.035)
    r = w * 0.36
    levels = [(0.035, 0.3), (0.3, 0.48), (0.48, 0.62), (0.62, 0.8), (0.8, 1.0)]
    for i, (low, high) in enumerate(levels):
        k0, k1 = 1 - 0.86 * low, 1 - 0.86 * high
        s.lathe(
            "plastic:white" if i % 2 else p.main,
            [(r * k0, low * h if i else 0.035), (r * k1, high * h)],
            n=14,
        )
    s.disc(BLACK, 0, 0, h, r * 0.14, 10)
