"""Builders of vehicles and gym machines (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def bicycle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bicycle; it stands along x."""
    r = min(0.34, w * 0.2)
    a, b = (-w / 2 + r, r), (w / 2 - r, r)
    for x, z in (a, b):
        s.torus(RUBBER, x, 0, z, r - 0.02, 0.02, "y", 18, 5)
        s.torus(CHROME, x, 0, z, r - 0.05, 0.008, "y", 14, 4)
        for t in np.arange(4) * np.pi / 4:
            dx, dz = (r - 0.04) * np.cos(t), (r - 0.04) * np.sin(t)
            s.tube(CHROME, (x - dx, 0, z - dz), (x + dx, 0, z + dz), 0.003, 3)
    seat, crank, head = (-w * 0.14, h * 0.82), (-w * 0.06, r * 0.9), (w * 0.2, h * 0.78)
    for p0, p1 in (
        (a, crank),
        (a, (-w * 0.12, h * 0.72)),
        (crank, seat),
        (crank, head),
        ((-w * 0.12, h * 0.7), head),
        (b, head),
    ):
        s.tube(p.main, (p0[0], 0, p0[1]), (p1[0], 0, p1[1]), 0.017)
    s.tube(BLACK, (head[0], 0, head[1]), (head[0] - 0.02, 0, h - 0.03), 0.015)
    s.tube(BLACK, (head[0] - 0.02, -d / 2, h - 0.02), (head[0] - 0.02, d / 2, h - 0.02), 0.015)
    s.ball(BLACK, seat[0], 0, seat[1] + 0.03, 0.13, 0.07, 0.035, 8, 5)
    s.tube(CHROME, (crank[0], -0.04, crank[1]), (crank[0], 0.02, crank[1]), 0.09, 10)
    s.tube(BLACK, (crank[0], 0.1, crank[1] - 0.15), (crank[0], -0.12, crank[1] + 0.15), 0.012, 5)
    s.tube(CHROME, (-0.1, 0, r * 0.9), (-0.05, d * 0.3, 0.0), 0.01, 5)


def kids_vehicle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "tricycle") -> None:
    """Tricycle, scooter, stroller, wagon, wheelbarrow, cart or lawn mower; the front points to +y."""
    wheel = {"tricycle": 0.12, "scooter": 0.07, "stroller": 0.11, "wagon": 0.12, "cart": 0.06, "mower": 0.11}[
        style
    ]
    xs = (-w * 0.42, w * 0.42)
    if style in ("stroller", "wagon", "cart", "mower"):
        for x in xs:
            for y in (-d * 0.36, d * 0.38):
                s.tube(RUBBER, (x - 0.02, y, wheel), (x + 0.02, y, wheel), wheel, 10)
                s.tube(CHROME, (x - 0.025, y, wheel), (x + 0.025, y, wheel), wheel * 0.4, 6)
    if style == "tricycle":
        for x, y in ((-w * 0.42, -d * 0.3), (w * 0.42, -d * 0.3), (0, d * 0.33)):
            s.tube(RUBBER, (x - 0.025, y, wheel), (x + 0.025, y, wheel), wheel if y < 0 else wheel * 1.3, 12)
        s.tube(p.main, (0, -d * 0.3, wheel * 1.3), (0, d * 0.28, wheel * 2.2), 0.025)
        s.tube(CHROME, (-w * 0.42, -d * 0.3, wheel), (w * 0.42, -d * 0.3, wheel), 0.012)
        s.block(p.second, 0, -d * 0.15, wheel * 2.0, 0.2, 0.22, 0.05)
        s.tube(p.main, (0, d * 0.33, wheel * 1.4), (0, d * 0.2, h), 0.02)
        s.tube(BLACK, (-w * 0.4, d * 0.2, h - 0.02), (w * 0.4, d * 0.2, h - 0.02), 0.018)
    elif style == "scooter":
        for y in (-d * 0.42, d * 0.42):
            s.tube(RUBBER, (-0.015, y, wheel), (0.015, y, wheel), wheel, 10)
        s.block(p.main, 0, -d * 0.05, wheel, w * 0.3, d * 0.7, 0.03)
        s.tube(CHROME, (0, d * 0.42, wheel), (0, d * 0.3, h), 0.018)
        s.tube(BLACK, (-w / 2, d * 0.3, h - 0.02), (w / 2, d * 0.3, h - 0.02), 0.018)
    elif style == "stroller":
        for x in xs:
            s.tube(CHROME, (x, d * 0.38, wheel), (x, -d / 2, h), 0.012)
            s.tube(CHROME, (x, -d * 0.36, wheel), (x, d * 0.2, h * 0.55), 0.012)
        s.tube(BLACK, (xs[0], -d / 2, h - 0.01), (xs[1], -d / 2, h - 0.01), 0.018)
        s.block(p.main, 0, 0.05, h * 0.38, w * 0.75, d * 0.45, 0.08)
        s.block(p.main, 0, -d * 0.2, h * 0.4, w * 0.75, 0.07, h * 0.42)
        s.prism(
            p.second,
            [(-d * 0.24, h * 0.75), (d * 0.12, h * 0.88), (0.0, h * 0.96), (-d * 0.2, h * 0.94)],
            -w * 0.4,
            w * 0.4,
            "x",
        )
    elif style == "wagon":
        s.block(p.main, 0, 0, wheel * 1.2, w, d * 0.95, 0.03)
        for x in (-w / 2 + 0.015, w / 2 - 0.015):
            s.block(p.main, x, 0, wheel * 1.2, 0.03, d * 0.95, 0.16)
        for y in (-d * 0.46, d * 0.46):
            s.block(p.main, 0, y, wheel * 1.2, w, 0.03, 0.16)
        s.tube(BLACK, (0, d * 0.45, wheel * 1.3), (0, d * 0.3, h), 0.014)
        s.tube(BLACK, (-0.08, d * 0.3, h - 0.01), (0.08, d * 0.3, h - 0.01), 0.014)
    elif style == "mower":
        s.block(p.main, 0, d * 0.12, wheel, w * 0.8, d * 0.5, 0.12)
        s.cyl(BLACK, 0, d * 0.12, wheel + 0.12, 0.16, 0.12, n=10)
        s.block(p.second, 0, -d * 0.22, wheel, w * 0.6, d * 0.25, 0.2)
        for x in xs:
            s.tube(BLACK, (x * 0.85, -d * 0.1, wheel + 0.1), (x * 0.85, -d / 2, h), 0.014)
        s.tube(BLACK, (xs[0] * 0.85, -d / 2, h - 0.01), (xs[1] * 0.85, -d / 2, h - 0.01), 0.016)
    else:
        for x in xs:
            for y in (-d * 0.36, d * 0.38):
                s.tube(p.frame, (x, y, wheel), (x, y, h), 0.014)
        for z in (wheel * 2, h * 0.55, h - 0.04):
            s.block(p.main, 0, 0, z, w * 0.94, d * 0.9, 0.025)
        s.top(-w * 0.4, -d * 0.38, w * 0.4, d * 0.38, h - 0.014)
        s.block(p.second, -w * 0.1, 0, h * 0.55 + 0.03, w * 0.4, d * 0.5, 0.14)


def gym_machine(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "treadmill") -> None:
    """Treadmill, exercise bike, elliptical, rowing machine, bench, punching bag, power rack; front to +y."""
    if style == "treadmill":
        s.block(p.main, 0, 0, 0, w, d, 0.12)
        s.block(RUBBER, 0, -d * 0.06, 0.12, w * 0.72, d * 0.84, 0.012)
        for x in (-w * 0.45, w * 0.45):
            s.tube(CHROME, (x, d * 0.42, 0.1), (x, d * 0.3, h * 0.9), 0.028)
            s.tube(BLACK, (x, d * 0.32, h * 0.75), (x, 0, h * 0.68), 0.022)
        s.block(BLACK, 0, d * 0.3, h * 0.78, w * 0.95, 0.08, h * 0.22)
        s.front("screen:1", -w * 0.25, w * 0.25, h * 0.84, h * 0.97, d * 0.3 + 0.042)
    elif style in ("bike", "elliptical"):
        for y in (-d * 0.42, d * 0.42):
            s.tube(BLACK, (-w / 2, y, 0.04), (w / 2, y, 0.04), 0.035)
        s.tube(p.main, (0, -d * 0.42, 0.05), (0, d * 0.42, 0.05), 0.035)
        s.tube(p.main, (-0.06, d * 0.2, 0.36), (0.06, d * 0.2, 0.36), 0.24 if style == "bike" else 0.3, 14)
        s.tube(CHROME, (-0.07, d * 0.2, 0.36), (0.07, d * 0.2, 0.36), 0.1, 10)
        s.tube(p.main, (0, d * 0.25, 0.3), (0, d * 0.3, h - 0.06), 0.03)
        s.block(BLACK, 0, d * 0.32, h - 0.14, 0.2, 0.04, 0.14)
        if style == "bike":
            s.tube(CHROME, (0, -d * 0.15, 0.06), (0, -d * 0.22, h * 0.7), 0.025)
            s.ball(BLACK, 0, -d * 0.22, h * 0.72, 0.12, 0.15, 0.05, 8, 5)
            s.tube(BLACK, (-w * 0.45, d * 0.18, h * 0.85), (w * 0.45, d * 0.18, h * 0.85), 0.018)
            s.tube(BLACK, (0, d * 0.28, h * 0.85), (0, d * 0.18, h * 0.85), 0.018)
        else:
            for x in (-w * 0.35, w * 0.35):
                s.tube(p.main, (x, d * 0.2, 0.3 + x * 0.3), (x, -d * 0.42, 0.16), 0.022)
                s.block(BLACK, x, -d * 0.2, 0.22, 0.12, 0.32, 0.03)
                s.path(BLACK, [(x, d * 0.22, 0.4), (x, d * 0.25, h * 0.7), (x, d * 0.12, h)], 0.018)
    elif style == "rower":
        s.block(CHROME, 0, -d * 0.08, 0.22, 0.09, d * 0.8, 0.06)
        s.tube(p.main, (-0.08, d * 0.4, 0.32), (0.08, d * 0.4, 0.32), min(0.3, h * 0.45), 14)
        s.block(BLACK, 0, -d * 0.2, 0.28, w * 0.6, 0.28, 0.07)
        for y in (-d * 0.46, d * 0.42):
            s.block(BLACK, 0, y, 0, w, 0.07, 0.24 if y < 0 else 0.1)
        s.tube(BLACK, (-w * 0.45, d * 0.2, 0.45), (w * 0.45, d * 0.2, 0.45), 0.016)
        s.tube(CHROME, (0, d * 0.38, 0.5), (0, d * 0.3, h), 0.02)
        s.block(BLACK, 0, d * 0.3, h - 0.12, 0.18, 0.04, 0.12)
    elif style == "bench":
        for y in (-d * 0.4, d * 0.4):
            s.block(p.frame, 0, y, 0, w * 0.6 if y > 0 else w * 0.95, 0.06, 0.05)
            s.block(p.frame, 0, y, 0, 0.06, 0.06, 0.4)
        s.block(p.main, 0, 0.04, 0.4, min(w * 0.5, 0.3), d * 0.9, 0.08)
        for x in (-w * 0.4, w * 0.4):
            s.block(p.frame, x, -d * 0.4, 0, 0.06, 0.06, h - 0.03)
        s.tube(CHROME, (-w / 2, -d * 0.37, h - 0.02), (w / 2, -d * 0.37, h - 0.02), 0.016)
        for x in (-w * 0.47, w * 0.47):
            s.tube(RUBBER, (x - 0.025, -d * 0.37, h - 0.02), (x + 0.025, -d * 0.37, h - 0.02), 0.2, 14)
    elif style == "bag":
        r = w / 2
        s.cyl(BLACK, 0, 0, 0, 0.12, r, r * 0.8, 12)
        s.tube(CHROME, (0, 0, 0.1), (0, 0, h * 0.35), 0.05)
        s.cyl(p.main, 0, 0, h * 0.3, h * 0.7, r * 0.72, n=12)
        s.torus(p.second, 0, 0, h * 0.62, r * 0.72, 0.02, "z", 12, 4)
    else:
        s.block(RUBBER, 0, 0, 0, w, d, 0.13)
        for x in (-w / 2 + 0.03, w / 2 - 0.03):
            for y in (-d / 2 + 0.03, d / 2 - 0.03):
                s.block(p.main, x, y, 0, 0.06, 0.06, h)
            s.block(p.main, x, 0, h - 0.06, 0.05, d - 0.08, 0.05)
            s.block(p.main, x, 0, 0, 0.05, d - 0.08, 0.05)
        s.tube(CHROME, (-w / 2, d / 2 - 0.03, h - 0.08), (w / 2, d / 2 - 0.03, h - 0.08), 0.02)
        s.tube(CHROME, (-w / 2, d * 0.4, 1.1), (w / 2, d * 0.4, 1.1), 0.016)
        for x in (-w * 0.38, w * 0.38):
            s.tube(RUBBER, (x - 0.03, d * 0.4, 1.1), (x + 0.03, d * 0.4, 1.1), 0.2, 12)
