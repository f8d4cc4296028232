"""Builders of instruments, sports gear, toys, tools and small things (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def piano(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An upright piano."""
    s.box(p.main, -w / 2, w / 2, -d / 2, -d * 0.05, 0, h)
    s.box(p.main, -w / 2, w / 2, -d * 0.05, d / 2, h * 0.52, h * 0.6)
    for x in (-w / 2, w / 2 - 0.06):
        s.box(p.main, x, x + 0.06, -d * 0.05, d / 2 - 0.02, 0, h * 0.68)
    z = h * 0.6 + 0.004
    s.quad("keys:0", (w / 2 - 0.07, -d * 0.0, z), (-w / 2 + 0.07, 0, z), (-w / 2 + 0.07, d * 0.42, z), (w / 2 - 0.07, d * 0.42, z))
    s.block(p.second, 0, -d * 0.04, h * 0.7, w * 0.5, 0.02, h * 0.2)
    s.top(-w / 2 + 0.04, -d / 2 + 0.02, w / 2 - 0.04, -d * 0.07, h, 0.6)


def grand_piano(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A grand piano; the keys are at the front."""
    outline = [(-w / 2, d / 2 - 0.25), (-w / 2, -d * 0.38), (-w * 0.32, -d / 2), (-w * 0.02, -d * 0.46), (w * 0.2, -d * 0.2),
               (w / 2, 0.0), (w / 2, d / 2 - 0.25)]
    low, high = h * 0.6, h
    s.prism(p.main, outline, low, high, "z")
    s.box(p.main, -w / 2, w / 2, d / 2 - 0.25, d / 2, low, low + 0.1)
    z = low + 0.104
    s.quad("keys:0", (w / 2 - 0.06, d / 2 - 0.22, z), (-w / 2 + 0.06, d / 2 - 0.22, z), (-w / 2 + 0.06, d / 2 - 0.03, z),
           (w / 2 - 0.06, d / 2 - 0.03, z))
    for x, y in ((-w * 0.4, d * 0.28), (w * 0.4, d * 0.28), (-w * 0.25, -d * 0.36)):
        s.cyl(p.main, x, y, 0, low, 0.05, 0.07, 8)


def keyboard_stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An electronic keyboard on an X stand."""
    s.block(p.main, 0, 0, h - 0.1, w, d, 0.09)
    z = h - 0.006
    s.quad("keys:0", (w / 2 - 0.04, -d * 0.05, z), (-w / 2 + 0.04, -d * 0.05, z), (-w / 2 + 0.04, d * 0.45, z), (w / 2 - 0.04, d * 0.45, z))
    for x in (-w * 0.3, w * 0.3):
        s.tube(CHROME, (x, -d / 2, 0.02), (x, d / 2, h - 0.1), 0.018)
        s.tube(CHROME, (x, d / 2, 0.02), (x, -d / 2, h - 0.1), 0.018)


def guitar(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "guitar") -> None:
    """A guitar, violin or cello that leans back on a small stand."""
    mark = s.mark()
    r, thick = w / 2, d * 0.35 if style != "electric" else 0.045
    body = h * 0.5
    for z, k in ((body * 0.3, 1.0), (body * 0.74, 0.78)):
        s.tube(p.main, (0, -thick / 2, z), (0, thick / 2, z), r * k, 14)
    s.box(p.main, -r * 0.6, r * 0.6, -thick / 2, thick / 2, body * 0.3, body * 0.75)
    s.tube(BLACK, (0, thick / 2, body * 0.62), (0, thick / 2 + 0.004, body * 0.62), r * 0.26, 10)
    s.block(p.frame, 0, thick / 2 + 0.005, body * 0.25, r * 0.6, 0.012, 0.03)
    s.block(p.frame, 0, thick / 2, body * 0.75, 0.05, 0.025, h * 0.94 - body * 0.75)
    s.block(p.frame, 0, thick / 2, h * 0.91, 0.085, 0.025, h * 0.09)
    for x in (-0.05, 0.05):
        for z in (h * 0.93, h * 0.97):
            s.block(CHROME, x, thick / 2, z, 0.03, 0.015, 0.015)
    s.bend(turn_x(10, 0, 0), mark)
    s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, d * 0.12], [0, 0, 0.97, 0.02]]), mark)
    for x in (-r * 0.7, r * 0.7):
        s.path(BLACK, [(x, d * 0.42, 0.03), (x * 0.3, -d * 0.1, 0.12), (x, -d * 0.45, 0.02)], 0.012, 5)


def drums(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A drum kit: bass drum, toms, snare, cymbals."""
    r = min(0.28, w * 0.2)
    s.tube(p.main, (0, -d * 0.15, r + 0.02), (0, d * 0.3, r + 0.02), r, 16)
    s.tube("plastic:white", (0, d * 0.3, r + 0.02), (0, d * 0.31, r + 0.02), r * 0.93, 16)
    for x, y, z, rr, tall in ((-0.19, 0.05, 2 * r + 0.06, 0.14, 0.18), (0.19, 0.05, 2 * r + 0.06, 0.14, 0.18),
                              (w * 0.34, -d * 0.22, 0.25, 0.2, 0.35), (-w * 0.33, -d * 0.25, 0.5, 0.17, 0.14)):
        s.cyl(p.main, x, y, z, tall, rr, n=12)
        s.disc("plastic:white", x, y, z + tall + 0.004, rr * 0.95, 12)
        for a in (0.5, 2.6, 4.7):
            s.tube(CHROME, (x + rr * np.cos(a), y + rr * np.sin(a), 0), (x + rr * 0.8 * np.cos(a), y + rr * 0.8 * np.sin(a), z), 0.01, 4)
    for x, y in ((-w * 0.36, d * 0.2), (w * 0.36, d * 0.2)):
        s.tube(CHROME, (x, y, 0), (x, y, h), 0.012)
        s.lathe("metal:gold", [(0.2, h - 0.04), (0.05, h - 0.015), (1e-4, h)], x, y, 14)
    s.cyl(BLACK, 0, -d * 0.4, 0.42, 0.07, 0.15, n=10)
    s.tube(CHROME, (0, -d * 0.4, 0), (0, -d * 0.4, 0.42), 0.025)


def drum(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hand drum."""
    r = w / 2
    s.lathe(p.main, [(r * 0.7, 0), (r * 0.55, h * 0.3), (r, h * 0.95), (r, h)], n=14)
    s.disc("plastic:cream", 0, 0, h, r * 0.97, 14)
    s.torus(p.frame, 0, 0, h * 0.93, r, 0.012, "z", 14, 4)


def stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "music") -> None:
    """Tripods: a music stand, microphone, telescope, easel or camera."""
    low = h * 0.25
    for a in (np.pi / 2, np.pi * 7 / 6, np.pi * 11 / 6):
        x, y = w * 0.48 * np.cos(a), d * 0.48 * np.sin(a)
        s.tube(p.frame, (0, 0, low if style != "telescope" else h * 0.62), (float(x), float(y), 0.01), 0.014, 5)
    if style == "telescope":
        s.tube(p.main, (-0.0, -d * 0.42, h * 0.55), (0, d * 0.45, h - 0.05), 0.05, 10, 0.065)
        s.tube(BLACK, (0, -d * 0.42, h * 0.55), (0, -d * 0.5, h * 0.5), 0.025)
        return
    s.tube(p.frame, (0, 0, low * 0.6), (0, 0, h * 0.78 if style == "music" else h * 0.95), 0.012)
    if style == "music":
        mark = s.mark()
        s.block(p.main, 0, 0, h * 0.75, w * 0.95, 0.015, h * 0.24)
        s.block("paper:white", 0, 0.01, h * 0.78, w * 0.7, 0.006, h * 0.19)
        s.bend(turn_x(15, 0, h * 0.75), mark)
    else:
        s.tube(p.frame, (0, 0, h * 0.94), (0, d * 0.35, h), 0.01)
        s.ball(BLACK, 0, d * 0.38, h - 0.01, 0.04, n=7, rings=5)


def easel(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A painter's easel with a canvas."""
    for x in (-w * 0.45, w * 0.45):
        s.tube(p.frame, (x, d * 0.35, 0), (x * 0.15, -d * 0.1, h), 0.018)
    s.tube(p.frame, (0, -d / 2, 0), (0, -d * 0.1, h * 0.9), 0.018)
    mark = s.mark()
    s.block(p.frame, 0, d * 0.22, h * 0.38, w * 0.8, 0.05, 0.03)
    s.block("paper:white", 0, d * 0.22, h * 0.41, w * 0.9, 0.02, h * 0.4)
    s.front(f"picture:{p.seed}", -w * 0.43, w * 0.43, h * 0.42, h * 0.8, d * 0.22 + 0.013)
    s.bend(turn_x(13, d * 0.22, h * 0.38), mark)


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
    for p0, p1 in ((a, crank), (a, (-w * 0.12, h * 0.72)), (crank, seat), (crank, head), ((-w * 0.12, h * 0.7), head), (b, head)):
        s.tube(p.main, (p0[0], 0, p0[1]), (p1[0], 0, p1[1]), 0.017)
    s.tube(BLACK, (head[0], 0, head[1]), (head[0] - 0.02, 0, h - 0.03), 0.015)
    s.tube(BLACK, (head[0] - 0.02, -d / 2, h - 0.02), (head[0] - 0.02, d / 2, h - 0.02), 0.015)
    s.ball(BLACK, seat[0], 0, seat[1] + 0.03, 0.13, 0.07, 0.035, 8, 5)
    s.tube(CHROME, (crank[0], -0.04, crank[1]), (crank[0], 0.02, crank[1]), 0.09, 10)
    s.tube(BLACK, (crank[0], 0.1, crank[1] - 0.15), (crank[0], -0.12, crank[1] + 0.15), 0.012, 5)
    s.tube(CHROME, (-0.1, 0, r * 0.9), (-0.05, d * 0.3, 0.0), 0.01, 5)


def kids_vehicle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "tricycle") -> None:
    """Tricycle, scooter, stroller, wagon, wheelbarrow, cart or lawn mower; the front points to +y."""
    wheel = {"tricycle": 0.12, "scooter": 0.07, "stroller": 0.11, "wagon": 0.12, "cart": 0.06, "mower": 0.11}[style]
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
        s.prism(p.second, [(-d * 0.24, h * 0.75), (d * 0.12, h * 0.88), (0.0, h * 0.96), (-d * 0.2, h * 0.94)], -w * 0.4, w * 0.4, "x")
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
        for x in (-w / 2 + 0.03, w / 2 - 0.03):
            for y in (-d / 2 + 0.03, d / 2 - 0.03):
                s.block(p.main, x, y, 0, 0.06, 0.06, h)
            s.block(p.main, x, 0, h - 0.06, 0.05, d - 0.08, 0.05)
            s.block(p.main, x, 0, 0, 0.05, d - 0.08, 0.05)
        s.tube(CHROME, (-w / 2, d / 2 - 0.03, h - 0.08), (w / 2, d / 2 - 0.03, h - 0.08), 0.02)
        s.tube(CHROME, (-w / 2, d * 0.4, 1.1), (w / 2, d * 0.4, 1.1), 0.016)
        for x in (-w * 0.38, w * 0.38):
            s.tube(RUBBER, (x - 0.03, d * 0.4, 1.1), (x + 0.03, d * 0.4, 1.1), 0.2, 12)


def ball(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ball with two seams."""
    r = w / 2
    s.ball(p.main, 0, 0, r, r, n=14, rings=10)
    s.torus(p.second, 0, 0, r, r * 0.99, r * 0.03, "x", 18, 4)
    s.torus(p.second, 0, 0, r, r * 0.99, r * 0.03, "y", 18, 4)


def globe(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A globe on its foot."""
    r = min(w / 2, h * 0.4)
    z = h - r
    s.ball(p.main, 0, 0, z, r, n=14, rings=10)
    for _ in range(6):
        v = rng.normal(size=3)
        v /= np.linalg.norm(v)
        s.ball(p.second, *(v * r * 0.9 + [0, 0, z]), r * 0.3, n=7, rings=5)
    s.torus(p.frame, 0, 0, z, r * 1.06, 0.012, "x", 18, 4)
    s.cyl(p.frame, 0, 0, 0, 0.03, r * 0.6, n=12)
    s.tube(p.frame, (0, 0, 0.02), (0, 0, max(z - r, 0.03)), 0.02)


def soft_toy(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sitting teddy bear or other plush animal."""
    s.ball(p.main, 0, 0, h * 0.3, w * 0.3, d * 0.3, h * 0.3, 9, 7)
    s.ball(p.main, 0, d * 0.03, h * 0.72, w * 0.26, d * 0.26, h * 0.2, 9, 7)
    s.ball(p.second, 0, d * 0.26, h * 0.67, w * 0.1, d * 0.1, h * 0.07, 7, 5)
    for side in (-1, 1):
        s.ball(p.main, side * w * 0.19, 0, h * 0.9, w * 0.09, d * 0.06, h * 0.09, 7, 5)
        s.ball(BLACK, side * w * 0.09, d * 0.25, h * 0.76, 0.012 + w * 0.01, n=5, rings=4)
        s.tube(p.main, (side * w * 0.24, 0, h * 0.48), (side * w * 0.42, d * 0.16, h * 0.28), w * 0.09, 7)
        s.tube(p.main, (side * w * 0.17, d * 0.1, h * 0.1), (side * w * 0.26, d * 0.45, h * 0.1), w * 0.1, 7)


def rocking_horse(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A toy horse on runners; it looks to +y."""
    for x in (-w * 0.4, w * 0.4):
        ys = np.linspace(-d / 2, d / 2, 7)
        s.path(p.frame, [(x, float(y), 0.02 + 0.3 * (y / d) ** 2) for y in ys], 0.018)
        for y in (-d * 0.22, d * 0.22):
            s.tube(p.main, (x, y * 1.1, 0.06), (x * 0.35, y, h * 0.52), 0.028)
    s.ball(p.main, 0, 0, h * 0.58, w * 0.3, d * 0.32, h * 0.14)
    s.tube(p.main, (0, d * 0.22, h * 0.6), (0, d * 0.36, h * 0.88), w * 0.16, 8)
    s.ball(p.main, 0, d * 0.42, h * 0.9, w * 0.16, d * 0.13, h * 0.09)
    s.block(p.second, 0, 0, h * 0.7, w * 0.4, d * 0.22, 0.03)
    s.path(p.second, [(0, -d * 0.3, h * 0.6), (0, -d * 0.42, h * 0.5), (0, -d * 0.44, h * 0.3)], 0.025)


def play_house(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "dollhouse") -> None:
    """A doll's house, or a play tent."""
    if style == "tent":
        peak = np.array([0, 0, h])
        corners = np.array([[-w / 2, -d / 2, 0], [w / 2, -d / 2, 0], [w / 2, d / 2, 0], [-w / 2, d / 2, 0]])
        for i in range(4):
            a, b = corners[i], corners[(i + 1) % 4]
            if i == 2:
                for q, k in ((a, 0.3), (b, 0.3)):
                    other = b if q is a else a
                    s.add(p.second, np.array([q, q + (other - q) * k, peak]), np.array([[0, 1, 2]]))
            else:
                s.add(p.main, np.array([a, b, peak]), np.array([[0, 1, 2]]))
        for q in corners:
            s.tube(p.frame, q, peak * 1.04 - q * 0.04, 0.014, 5)
        return
    body = h * 0.68
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.02, 0, body)
    for x in (-w / 2 + 0.01, 0, w / 2 - 0.01):
        s.block(p.main, x, 0, 0, 0.02, d, body)
    for z in (0, body / 2, body - 0.02):
        s.block(p.second, 0, 0, z, w, d, 0.02)
    s.prism(p.second, [(-w * 0.54, body), (w * 0.54, body), (0, h)], -d / 2, d / 2)
    for x, z, key in ((-w * 0.25, 0.02, "plastic:pink"), (w * 0.2, body / 2 + 0.02, "plastic:blue"), (w * 0.25, 0.02, "plastic:yellow")):
        s.block(key, x, 0, z, w * 0.2, d * 0.4, body * 0.16)


def blocks(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A pile of toy blocks."""
    keys = ("plastic:red", "plastic:blue", "plastic:yellow", "plastic:green", p.main)
    size = h / 3
    for i, (x, y, z) in enumerate(((-1, 0, 0), (0, 0.4, 0), (1, -0.3, 0), (-0.4, 0.2, 1), (0.5, 0, 1), (0, 0.1, 2))):
        s.block(keys[i % 5], x * w * 0.3, y * d * 0.3, z * size, min(w * 0.3, size), min(size, d * 0.5), size)


def game_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "pool") -> None:
    """Pool, foosball or ping-pong table; long side along x."""
    if style == "pingpong":
        s.block(p.main, 0, 0, h - 0.03, w, d, 0.03)
        s.block("plastic:white", 0, 0, h, w, 0.02, 0.002)
        s.block("fabric:white", 0, 0, h, 0.01, d, 0.15)
        for x in (-w * 0.3, w * 0.3):
            for y in (-d * 0.4, d * 0.4):
                s.block(p.frame, x, y, 0, 0.05, 0.05, h - 0.03)
        return
    thick = 0.22 if style == "pool" else 0.3
    for x in (-w / 2 + 0.12, w / 2 - 0.12):
        for y in (-d / 2 + 0.12, d / 2 - 0.12):
            s.block(p.frame, x, y, 0, 0.12, 0.12, h - thick)
    s.block(p.frame, 0, 0, h - thick, w - 0.02, d - 0.02, thick - 0.06)
    s.block(p.main, 0, 0, h - 0.07, w - 0.1, d - 0.1, 0.02)
    for x in (-w / 2 + 0.05, w / 2 - 0.05):
        s.block(p.frame, x, 0, h - 0.08, 0.1, d, 0.08)
    for y in (-d / 2 + 0.05, d / 2 - 0.05):
        s.block(p.frame, 0, y, h - 0.08, w, 0.1, 0.08)
    if style == "pool":
        for i in range(8):
            s.ball(("plastic:red", "plastic:yellow", "plastic:blue", "plastic:white")[i % 4], float(rng.uniform(-w * 0.4, w * 0.4)),
                   float(rng.uniform(-d * 0.35, d * 0.35)), h - 0.02, 0.029, n=6, rings=5)
        s.tube("wood:pine", (-w * 0.3, -d * 0.2, h + 0.0), (w * 0.25, d * 0.1, h), 0.012, 5)
    else:
        for i, x in enumerate(np.linspace(-w * 0.38, w * 0.38, 6)):
            s.tube(CHROME, (float(x), -d * 0.62, h - 0.02), (float(x), d * 0.62, h - 0.02), 0.008, 5)
            for y in (-d * 0.2, 0.0, d * 0.2):
                s.block(("plastic:red", "plastic:blue")[i % 2], float(x), y, h - 0.07, 0.03, 0.02, 0.1)


def arcade(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An arcade cabinet."""
    side = [(-d / 2, 0.0), (d * 0.35, 0.0), (d * 0.35, h * 0.48), (-d / 2, h * 0.48)]
    s.prism(p.main, side, -w / 2, w / 2, "x")
    s.prism(p.main, [(-d / 2, h * 0.48), (d * 0.0, h * 0.48), (-d * 0.15, h * 0.82), (-d / 2, h * 0.82)], -w / 2, w / 2, "x")
    s.prism(p.main, [(-d / 2, h * 0.82), (d * 0.3, h * 0.82), (d * 0.3, h), (-d / 2, h)], -w / 2, w / 2, "x")
    x = w / 2 - 0.04
    s.quad("screen:1", (x, d * 0.005, h * 0.5), (-x, d * 0.005, h * 0.5), (-x, -d * 0.14, h * 0.81), (x, -d * 0.14, h * 0.81))
    s.front(f"picture:{p.seed % 1000}", -x, x, h * 0.84, h * 0.98, d * 0.3 + 0.004)
    s.prism(BLACK, [(0.0, h * 0.48), (d / 2, h * 0.46), (d / 2, h * 0.49), (0.0, h * 0.52)], -w / 2, w / 2, "x")
    for i in range(3):
        s.ball(("plastic:red", "plastic:yellow", "plastic:blue")[i], -w * 0.2 + 0.1 * i, d * 0.28, h * 0.51, 0.025, n=6, rings=4)


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
    outline = [(-w / 2, -d / 2), (w * 0.3, -d / 2), (w / 2, -d * 0.12), (w / 2, d * 0.12), (w * 0.3, d / 2), (-w / 2, d / 2)]
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
            s.prism(p.second, [(-w * 0.55, 0), (w * 0.55, 0), (w / 2, 0.12), (-w / 2, 0.12)], d * 0.03, d * 0.13)
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
        s.path(p.main, [(-w * 0.1 - r, 0, h * 0.2), (-w / 2, 0, h * 0.6), (-w * 0.1, 0, h), (r * 0.4, 0, h * 0.65)], 0.014, 5)
    elif style == "toolbox":
        s.block(p.main, 0, 0, 0, w, d, h * 0.62)
        s.prism(p.main, [(-d / 2, h * 0.62), (d / 2, h * 0.62), (d * 0.3, h * 0.85), (-d * 0.3, h * 0.85)], -w / 2, w / 2, "x")
        s.path(BLACK, [(-w * 0.25, 0, h * 0.84), (-w * 0.2, 0, h), (w * 0.2, 0, h), (w * 0.25, 0, h * 0.84)], 0.014)
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
            s.path("wood:walnut", [(x, y, h * 0.86), (x, y, h), (x + 0.05, y, h - 0.0), (x + 0.06, y, h * 0.93)], 0.01, 5)
    elif style == "surfboard":
        z = np.linspace(0, 1, 8)
        half = w / 2 * np.sin(np.pi * np.clip(z * 0.92 + 0.06, 0, 1)) ** 0.6
        outline = [*zip(half.tolist(), (z * h).tolist()), *zip((-half[::-1]).tolist(), (z[::-1] * h).tolist())]
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
    s.prism(p.main, [(-w / 2, h), (-w * 0.4, h * 0.75), (w * 0.4, h * 0.75), (w / 2, h), (w * 0.4, h * 0.9), (-w * 0.4, h * 0.9)][1:4]
            + [(w * 0.4, h * 0.9), (-w * 0.4, h * 0.9)], -d / 2, d / 2)
    for x in (-w * 0.3, w * 0.3):
        for y in (-d * 0.38, d * 0.38):
            s.tube(p.second, (x, y - 0.02, h * 0.33), (x, y + 0.02, h * 0.33), h * 0.33, 8)
    for side in (-1, 1):
        s.prism(p.main, sorted([(side * w * 0.39, h * 0.75), (side * w * 0.39, h * 0.9), (side * w / 2, h)]), -d / 2, d / 2)


def shoes(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, boots: bool = False) -> None:
    """A pair of shoes or boots."""
    for x in (-w * 0.26, w * 0.26):
        s.box("rubber:black", x - w * 0.2, x + w * 0.2, -d / 2, d / 2, 0, 0.02)
        s.box(p.main, x - w * 0.19, x + w * 0.19, -d / 2, d * 0.45, 0.02, min(0.08, h * 0.6))
        s.box(p.main, x - w * 0.17, x + w * 0.17, -d / 2, 0, 0.05, h)


def pet_house(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "bed") -> None:
    """A pet bed, cat tree, cage or aquarium."""
    if style == "bed":
        s.lathe(p.main, [(1e-4, 0), (w / 2, 0), (w / 2, h * 0.8), (w * 0.44, h), (w * 0.36, h * 0.7), (w * 0.34, h * 0.35), (1e-4, h * 0.35)],
                n=16, sy=d / w)
        s.ball(p.second, 0, 0, h * 0.35, w * 0.32, d * 0.32, h * 0.15, 10, 5)
    elif style == "cat tree":
        s.block(p.main, 0, 0, 0, w, d, 0.05)
        for x, y, top in ((-w * 0.3, -d * 0.25, h), (w * 0.3, d * 0.2, h * 0.55)):
            s.cyl("knit:tan", x, y, 0.05, top - 0.1, 0.05, n=9)
            s.block(p.main, x * 0.7, y * 0.7, top - 0.06, w * 0.55, d * 0.55, 0.06)
        s.block(p.second, w * 0.15, -d * 0.12, 0.05, w * 0.55, d * 0.6, h * 0.24)
        s.tube(BLACK, (w * 0.15, d * 0.19, h * 0.16), (w * 0.15, d * 0.195, h * 0.16), min(0.09, h * 0.09), 10)
    elif style == "cage":
        s.block(p.main, 0, 0, 0, w, d, h * 0.12)
        s.block(p.main, 0, 0, h - 0.03, w, d, 0.03)
        for x in np.linspace(-w / 2 + 0.01, w / 2 - 0.01, 9):
            for y in (-d / 2 + 0.01, d / 2 - 0.01):
                s.tube(CHROME, (float(x), y, h * 0.1), (float(x), y, h - 0.02), 0.005, 4)
        for y in np.linspace(-d / 2 + 0.05, d / 2 - 0.05, 5):
            for x in (-w / 2 + 0.01, w / 2 - 0.01):
                s.tube(CHROME, (x, float(y), h * 0.1), (x, float(y), h - 0.02), 0.005, 4)
        s.tube("wood:oak", (-w / 2, 0, h * 0.45), (w / 2, 0, h * 0.45), 0.01, 5)
        s.ball("fabric:yellow", 0, 0, h * 0.45 + 0.05, 0.035, 0.05, 0.05, 7, 5)
    else:
        s.block(BLACK, 0, 0, 0, w, d, 0.03)
        s.block("glass:light blue", 0, 0, 0.03, w * 0.98, d * 0.97, h - 0.09)
        s.block("stone:tan", 0, 0, 0.03, w * 0.985, d * 0.975, h * 0.12)
        for x in np.linspace(-w * 0.38, w * 0.38, 5):
            s.box("leaf:green", float(x) - 0.02, float(x) + 0.02, d * 0.485, d * 0.49, h * 0.1, h * rng.uniform(0.3, 0.7))
        for _ in range(4):
            s.ball("plastic:orange", float(rng.uniform(-w * 0.4, w * 0.4)), d * 0.488, h * rng.uniform(0.4, 0.75), 0.035, 0.008, 0.02, 6, 5)
        s.block(BLACK, 0, 0, h - 0.06, w, d, 0.06)
