"""Builders of instruments and of things that play music (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.looks import RAINBOW
from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GOLD = "plastic:black", "metal:silver", "metal:gold"


def violin(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A violin with a waist, f-holes, a scroll and its bow, leaning on a stand."""
    mark, r, thick = s.mark(), w / 2, 0.045
    body = h * 0.58
    for z, k in ((body * 0.24, 1.0), (body * 0.78, 0.8)):
        s.tube(p.main, (0, -thick / 2, z), (0, thick / 2, z), r * k, 14)
    s.box(p.main, -r * 0.56, r * 0.56, -thick / 2, thick / 2, body * 0.24, body * 0.8)
    y = thick / 2
    for x in (-r * 0.36, r * 0.36):
        s.block(BLACK, x, y, body * 0.36, 0.012, 0.006, body * 0.24)
    s.block(BLACK, 0, y + 0.008, body * 0.05, 0.04, 0.012, body * 0.3)
    s.block("wood:pine", 0, y + 0.012, body * 0.44, 0.06, 0.02, 0.012)
    s.block(BLACK, 0, y + 0.01, body * 0.6, 0.03, 0.014, h * 0.92 - body * 0.6)
    s.tube(p.main, (-0.02, 0, h * 0.96), (0.02, 0, h * 0.96), h * 0.035, 8)
    for x in (-0.035, 0.035):
        s.tube(BLACK, (0, y, h * 0.9), (x, y, h * 0.91), 0.008, 5)
    s.bend(turn_x(12), mark)
    s.tube("wood:cherry", (r * 1.2, d * 0.1, 0.04), (r * 1.1, -d * 0.2, h), 0.008, 5)
    s.tube("fabric:cream", (r * 1.2 + 0.018, d * 0.1, 0.05), (r * 1.1 + 0.012, -d * 0.2, h * 0.97), 0.004, 4)
    for x in (-r * 0.8, r * 0.8):
        s.path(BLACK, [(x, d * 0.42, 0.0), (x * 0.4, -d * 0.05, 0.06), (x, -d * 0.42, 0.0)], 0.01, 5)


def saxophone(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A saxophone on a stand: conical tube, bow, bell, neck, keys."""
    points = [
        (-w * 0.1, 0.0, h * 0.86),
        (-w * 0.06, 0.0, h * 0.5),
        (-w * 0.02, 0.02, h * 0.24),
        (w * 0.06, 0.04, h * 0.13),
        (w * 0.17, 0.05, h * 0.15),
        (w * 0.24, 0.06, h * 0.28),
        (w * 0.3, 0.08, h * 0.48),
    ]
    radii = (0.014, 0.024, 0.034, 0.042, 0.048, 0.056, 0.1)
    for a, b, r0, r1 in zip(points, points[1:], radii, radii[1:]):
        s.tube(p.main, a, b, r0, 10, r1)
        s.ball(p.main, *b, r1 if b is not points[-1] else 0.02, n=8, rings=6)
    s.torus(p.main, *points[-1], 0.098, 0.008, "z", 14, 4)
    s.path(
        p.main,
        [points[0], (-w * 0.11, 0, h * 0.94), (-w * 0.22, 0, h * 0.97), (-w * 0.36, 0, h * 0.93)],
        0.013,
        8,
    )
    s.tube(BLACK, (-w * 0.36, 0, h * 0.93), (-w * 0.46, 0, h * 0.9), 0.017, 8, 0.008)
    for k in range(7):
        z = h * (0.32 + 0.07 * k)
        s.tube(GOLD, (-w * 0.06, 0.02, z), (-w * 0.06, 0.055, z), 0.019, 8)
    s.tube(CHROME, (-w * 0.02, 0.045, h * 0.28), (-w * 0.06, 0.045, h * 0.82), 0.005, 5)
    for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3:
        s.tube(BLACK, (0.0, -0.03, h * 0.2), (w * 0.45 * np.cos(a), d * 0.45 * np.sin(a), 0.01), 0.011, 5)
    s.path(BLACK, [(0.0, -0.03, h * 0.2), (0.0, -0.06, h * 0.45), (-w * 0.02, 0.0, h * 0.46)], 0.011, 5)


def trumpet(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A trumpet along x on a small stand: bell, tubes, three valves."""
    z = h * 0.62
    profile = [(0.012, -w * 0.12), (0.018, w * 0.2), (0.032, w * 0.36), (0.06, w * 0.5)]
    for (r0, x0), (r1, x1) in zip(profile, profile[1:]):
        s.tube(p.main, (x0, 0, z), (x1, 0, z), r0, 10, r1)
    s.tube(p.main, (-w / 2 + 0.02, 0, z + h * 0.16), (w * 0.2, 0, z + h * 0.16), 0.009, 8)
    s.tube(CHROME, (-w / 2, 0, z + h * 0.16), (-w / 2 + 0.03, 0, z + h * 0.16), 0.014, 8, 0.008)
    s.path(
        p.main,
        [
            (w * 0.2, 0, z + h * 0.16),
            (w * 0.25, 0, z + h * 0.08),
            (w * 0.2, 0, z - h * 0.14),
            (-w * 0.2, 0, z - h * 0.14),
            (-w * 0.25, 0, z - h * 0.07),
            (-w * 0.12, 0, z),
        ],
        0.009,
        7,
    )
    for x in (-w * 0.07, 0.0, w * 0.07):
        s.cyl(p.main, x, 0, z - h * 0.22, h * 0.44, 0.016, n=8)
        s.cyl(CHROME, x, 0, z + h * 0.22, h * 0.12, 0.008, n=6)
    s.cyl(BLACK, 0, 0, 0, 0.015, d * 0.45, n=12)
    s.tube(BLACK, (0, 0, 0), (0, 0, z - h * 0.15), 0.01, 6)


def harp(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A concert harp along x: pillar, curved neck, sound box, strings."""
    foot, top = (w * 0.42, 0.0, 0.08), (w * 0.42, 0.0, h * 0.96)
    low, high = (w * 0.2, 0.0, 0.12), (-w * 0.44, 0.0, h * 0.74)
    s.tube(p.main, foot, top, 0.032, 10)
    s.cyl(GOLD, foot[0], 0, h * 0.96, h * 0.04, 0.05, n=10)
    neck = [top, (w * 0.2, 0, h * 0.98), (0, 0, h * 0.88), (-w * 0.22, 0, h * 0.8), high]
    s.path(p.main, neck, 0.035, 8)
    s.tube(p.main, low, high, 0.13, 8, 0.05)
    s.block(p.main, w * 0.28, 0, 0, w * 0.42, d, 0.12)
    for k in np.linspace(0.08, 0.92, 16):
        a = np.array(low) + (np.array(high) - low) * k
        x = a[0] + 0.02
        x = min(float(x), w * 0.4)
        xs = [q[0] for q in reversed(neck)]
        z = float(np.interp(x, xs, [q[2] for q in reversed(neck)]))
        s.tube(
            "fabric:cream" if int(k * 40) % 5 else "fabric:red",
            (x, 0, float(a[2]) + 0.05),
            (x, 0, z),
            0.004,
            3,
        )


def accordion(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An accordion: keys on one side, pleated bellows, buttons on the other."""
    s.box(p.main, -w / 2, -w * 0.26, -d / 2, d / 2, 0, h)
    s.box(p.main, w * 0.24, w / 2, -d / 2, d / 2, 0, h)
    for k in range(9):
        x = -w * 0.26 + w * 0.5 * (k + 0.5) / 9
        s.block(
            BLACK if k % 2 else "leather:dark red",
            x,
            0,
            0.015 + 0.012 * (k % 2),
            w * 0.055,
            d * (0.9 - 0.08 * (k % 2)),
            h - 0.03 - 0.024 * (k % 2),
        )
    for k in range(10):
        z = h * 0.08 + h * 0.84 * k / 10
        s.block("plastic:white", -w * 0.44, d / 2 + 0.004, z, w * 0.16, 0.014, h * 0.07)
        if k % 7 not in (2, 6):
            s.block(BLACK, -w * 0.4, d / 2 + 0.012, z + h * 0.055, w * 0.08, 0.02, h * 0.035)
    for i in range(4):
        for k in range(8):
            s.tube(
                "plastic:white",
                (w * (0.28 + 0.055 * i), d / 2, h * (0.15 + 0.1 * k)),
                (w * (0.28 + 0.055 * i), d / 2 + 0.012, h * (0.15 + 0.1 * k)),
                0.009,
                6,
            )
    s.block(CHROME, -w * 0.32, d / 2, h * 0.15, w * 0.04, 0.012, h * 0.7)


def snare(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A snare drum on a three-legged stand with two sticks."""
    r, z = w * 0.46, h * 0.76
    s.cyl(p.main, 0, 0, z, h * 0.2, r, n=18)
    for level in (z, z + h * 0.2):
        s.torus(CHROME, 0, 0, level, r, 0.012, "z", 18, 5)
    s.disc("plastic:white", 0, 0, z + h * 0.2 + 0.004, r * 0.96, 18)
    for a in np.arange(6) * np.pi / 3:
        x, y = (r + 0.01) * np.cos(a), (r + 0.01) * np.sin(a)
        s.tube(CHROME, (x, y, z), (x, y, z + h * 0.2), 0.008, 5)
    s.tube(CHROME, (0, 0, h * 0.25), (0, 0, z), 0.016, 7)
    for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3:
        s.tube(CHROME, (0, 0, h * 0.36), (w * 0.48 * np.cos(a), w * 0.48 * np.sin(a), 0.01), 0.012, 6)
        s.tube(CHROME, (0, 0, z - h * 0.15), (r * 0.9 * np.cos(a), r * 0.9 * np.sin(a), z), 0.01, 6)
    for x in (-0.05, 0.04):
        s.tube("wood:pine", (x, -r * 0.9, h * 0.975), (x + 0.06, r * 0.8, h * 0.98), 0.009, 6, 0.006)


def xylophone(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Bars of falling length over a frame, with two mallets; legs if tall."""
    base = h - 0.06
    if h > 0.35:
        for x in (-w * 0.42, w * 0.42):
            for y in (-d * 0.36, d * 0.36):
                s.block(p.frame, x, y * (1 - 0.3 * (x > 0)), 0, 0.04, 0.04, base)
            s.block(p.frame, x, 0, h * 0.3, 0.03, d * 0.6, 0.04)
        for i in range(12):
            x = -w / 2 + w / 12 * (i + 0.5)
            s.cyl(
                GOLD,
                x,
                -d * 0.1,
                base * (0.25 + 0.045 * i),
                base * (0.73 - 0.045 * i),
                min(0.022, w / 32),
                n=7,
            )
    else:
        base = h * 0.45
        for y in (-d * 0.3, d * 0.3):
            s.block("wood:pine", 0, y * 0.85, 0, w, 0.03, base)
    for side in (-1, 1):
        s.tube(
            p.frame, (-w / 2, side * d * 0.3, base + 0.01), (w / 2, side * d * 0.19, base + 0.01), 0.014, 6
        )
    n = 12
    for i in range(n):
        x, long = -w / 2 + w / n * (i + 0.5), d * (0.96 - 0.42 * i / n)
        s.block(RAINBOW[i % 7] if h <= 0.35 else p.main, x, 0, base + 0.015, w / n - 0.008, long, 0.02)
    for x in (-w * 0.2, w * 0.1):
        s.tube("wood:birch", (x, -d * 0.3, base + 0.045), (x + 0.1, d * 0.3, base + 0.06), 0.006, 5)
        s.ball("plastic:red", x + 0.1, d * 0.3, base + 0.06, 0.022, n=7, rings=5)


def gramophone(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wooden box with a record, a crank and a large flared horn."""
    box = h * 0.3
    s.block(p.main, 0, 0, 0, w * 0.9, d * 0.8, 0.03)
    s.block(p.main, 0, 0, 0.03, w * 0.8, d * 0.7, box - 0.06)
    s.block(p.main, 0, 0, box - 0.03, w * 0.9, d * 0.8, 0.03)
    s.cyl("rubber:black", 0, d * 0.04, box, 0.012, min(w, d) * 0.32, n=18)
    s.disc("paper:red", 0, d * 0.04, box + 0.014, min(w, d) * 0.1, 12)
    s.path(CHROME, [(w * 0.4, 0, box * 0.5), (w * 0.5, 0, box * 0.5), (w * 0.5, 0, box * 0.2)], 0.01, 5)
    bend = [
        (0, -d * 0.36, box),
        (0, -d * 0.42, h * 0.48),
        (0, -d * 0.3, h * 0.6),
        (0, -d * 0.08, h * 0.68),
        (0, d * 0.16, h * 0.76),
        (0, d * 0.32, h * 0.8),
    ]
    radii = (0.014, 0.018, 0.032, 0.06, 0.11, min(0.2, h * 0.22))
    for a, b, r0, r1 in zip(bend, bend[1:], radii, radii[1:]):
        s.tube(p.second, a, b, r0, 12, r1)
    end, before = np.array(bend[-1]), np.array(bend[-2])
    axis = (end - before) / np.linalg.norm(end - before)
    s.tube("metal:copper", end + axis * 0.002, end + axis * 0.004, radii[-1] * 0.92, 12)
    s.tube(BLACK, end + axis * 0.004, end + axis * 0.006, radii[-1] * 0.45, 12)


def radio(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A table radio: speaker cloth, dial, two knobs, handle and aerial."""
    body = h * 0.72
    s.block(p.main, 0, 0, 0.015, w, d, body)
    s.block("fabric:beige", -w * 0.2, d / 2, 0.05, w * 0.5, 0.012, body - 0.06)
    for x in np.linspace(-w * 0.42, w * 0.02, 7):
        s.block(p.second, float(x), d / 2 + 0.006, 0.05, 0.008, 0.01, body - 0.06)
    s.block("paper:cream", w * 0.26, d / 2, body * 0.58, w * 0.36, 0.012, body * 0.34)
    s.block("plastic:red", w * 0.22, d / 2 + 0.007, body * 0.58, 0.005, 0.006, body * 0.34)
    for x in (w * 0.15, w * 0.36):
        s.tube(CHROME, (x, d / 2, body * 0.3), (x, d / 2 + 0.03, body * 0.3), min(0.032, body * 0.18), 10)
    s.path(
        p.second,
        [
            (-w * 0.4, 0, body),
            (-w * 0.36, 0, body + h * 0.16),
            (w * 0.36, 0, body + h * 0.16),
            (w * 0.4, 0, body),
        ],
        0.011,
        6,
    )
    s.tube(CHROME, (w * 0.42, -d * 0.36, body), (w * 0.2, -d * 0.36, h + 0.16), 0.004, 4)


def guitar_case(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hard guitar case that stands on its wide end: waist, neck, latches, handle."""
    mark, r = s.mark(), w / 2
    for z, k in ((r, 1.0), (h * 0.44, 0.8)):
        s.tube(p.main, (0, -d * 0.4, z), (0, d * 0.4, z), r * k, 18)
    s.box(p.main, -r * 0.68, r * 0.68, -d * 0.4, d * 0.4, r, h * 0.46)
    s.box(p.main, -w * 0.17, w * 0.17, -d * 0.36, d * 0.36, h * 0.44, h)
    for z, x in ((r * 0.6, r * 0.95), (h * 0.36, r * 0.72), (h * 0.7, w * 0.17)):
        s.block(GOLD, x, 0, z, 0.02, 0.05, 0.05)
    s.path(
        BLACK,
        [(r * 0.72, 0, h * 0.38), (r * 0.98, 0, h * 0.39), (r * 0.98, 0, h * 0.48), (r * 0.6, 0, h * 0.49)],
        0.014,
        6,
    )
    s.tube(p.second, (0, d * 0.4, h * 0.27), (0, d * 0.41, h * 0.27), r * 0.3, 14)
    s.bend(turn_x(8), mark)


def tripod(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "camera") -> None:
    """A camera or a studio lamp with a soft box on three legs."""
    for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3:
        s.tube(p.frame, (0, 0, h * 0.6), (w * 0.47 * np.cos(a), w * 0.47 * np.sin(a), 0.01), 0.016, 6, 0.011)
        s.tube(p.frame, (0, 0, h * 0.28), (w * 0.26 * np.cos(a), w * 0.26 * np.sin(a), h * 0.27), 0.008, 4)
    s.tube(p.frame, (0, 0, h * 0.25), (0, 0, h * 0.88), 0.014, 6)
    if style == "camera":
        s.block(BLACK, 0, 0, h - 0.12, 0.15, 0.08, 0.1)
        s.block(BLACK, 0, 0, h - 0.02, 0.06, 0.06, 0.03)
        s.tube(BLACK, (0, 0.04, h - 0.07), (0, 0.16, h - 0.07), 0.04, 12)
        s.tube("glass:dark grey", (0, 0.16, h - 0.07), (0, 0.163, h - 0.07), 0.034, 12)
        s.tube(p.frame, (0, 0, h * 0.88), (0.08, -0.2, h * 0.8), 0.01, 5)
        return
    z, half = h - 0.26, 0.25
    s.tube(BLACK, (0, -0.1, z), (0, 0.02, z), 0.06, 10)
    near = np.array(
        [(-0.06, 0.0, z - 0.06), (0.06, 0.0, z - 0.06), (0.06, 0.0, z + 0.06), (-0.06, 0.0, z + 0.06)]
    )
    far = np.array(
        [(-half, 0.24, z - half), (half, 0.24, z - half), (half, 0.24, z + half), (-half, 0.24, z + half)]
    )
    for i in range(4):
        j = (i + 1) % 4
        s.add("fabric:black", np.array([near[i], near[j], far[j], far[i]]), np.array([[0, 1, 2], [0, 2, 3]]))
    s.box("fabric:white", -half, half, 0.235, 0.245, z - half, z + half)


def screen_roll(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A projector screen drawn down from its case at the wall."""
    s.box(p.frame, -w / 2, w / 2, -d / 2, d / 2, h - 0.09, h)
    s.box(BLACK, -w * 0.48, w * 0.48, -0.006, 0.006, 0.03, h - 0.08)
    s.box("plastic:white", -w * 0.455, w * 0.455, -0.009, 0.009, 0.09, h - 0.14)
    s.box(p.frame, -w * 0.48, w * 0.48, -0.016, 0.016, 0, 0.035)
