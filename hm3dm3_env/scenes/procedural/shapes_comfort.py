"""Builders of hearth, laundry and soft things (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_z
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GOLD, RUBBER = "plastic:black", "metal:silver", "metal:gold", "rubber:black"


def wood_stove(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A cast-iron stove on legs with a glass door, fire and a flue that goes up."""
    box = min(0.72, h * 0.45)
    for x in (-w * 0.4, w * 0.4):
        for y in (-d * 0.36, d * 0.36):
            s.tube(p.main, (x, y, 0), (x * 0.9, y * 0.9, 0.16), 0.022, 6, 0.03)
    s.block(p.main, 0, 0, 0.14, w * 0.92, d * 0.9, box - 0.16)
    for z in (0.14, box - 0.04):
        s.block(p.main, 0, 0, z, w, d, 0.04)
    y = d * 0.45
    s.block("metal:dark grey", 0, y, 0.2, w * 0.7, 0.03, box - 0.3)
    s.block("glass:black", 0, y + 0.014, 0.25, w * 0.54, 0.014, box - 0.4)
    for x, key, tall in (
        (-0.08, "plastic:orange", 0.14),
        (0.0, "plastic:yellow", 0.2),
        (0.09, "plastic:orange", 0.12),
    ):
        s.prism(key, [(x * w - 0.04, 0.27), (x * w + 0.04, 0.27), (x * w, 0.27 + tall)], y + 0.022, y + 0.026)
    s.path(
        CHROME,
        [
            (w * 0.3, y + 0.02, 0.32),
            (w * 0.3, y + 0.06, 0.34),
            (w * 0.3, y + 0.06, 0.44),
            (w * 0.3, y + 0.02, 0.46),
        ],
        0.009,
        5,
    )
    s.tube(p.main, (0, -d * 0.12, box), (0, -d * 0.12, h), 0.07, 12)
    s.torus(p.main, 0, -d * 0.12, box + 0.3, 0.07, 0.014, "z", 12, 4)
    s.block("stone:grey", 0, 0.06, 0, w * 1.1, d * 1.2, 0.02)


def tool_set(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Fireplace tools on a stand: poker, shovel, brush, tongs."""
    s.lathe(p.frame, [(1e-4, 0), (w / 2, 0), (w * 0.42, 0.025), (0.02, 0.05)], n=14)
    s.tube(p.frame, (0, 0, 0.02), (0, 0, h), 0.012, 7)
    s.ball(GOLD, 0, 0, h, 0.03, n=8, rings=6)
    for a, style in ((0.4, "poker"), (1.97, "shovel"), (3.54, "brush"), (5.1, "tongs")):
        x, y = w * 0.32 * float(np.cos(a)), w * 0.32 * float(np.sin(a))
        s.tube(p.frame, (0, 0, h * 0.86), (x, y, h * 0.86), 0.007, 4)
        s.tube(p.frame, (x, y, h * 0.16), (x, y, h * 0.9), 0.007, 5)
        s.ball(GOLD, x, y, h * 0.92, 0.018, n=7, rings=5)
        if style == "shovel":
            s.block(p.frame, x, y, 0.06, 0.1, 0.02, h * 0.2)
        elif style == "brush":
            s.cyl("fabric:black", x, y, 0.05, h * 0.16, 0.04, 0.02, 9)
        else:
            s.tube(p.frame, (x, y, h * 0.17), (x + 0.05, y, h * 0.12), 0.007, 4)


def fire_screen(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A three-leaf mesh screen with an arched middle."""
    for x0, x1, turn, tall in (
        (-w * 0.5, -w * 0.24, 30, 0.8),
        (-w * 0.24, w * 0.24, 0, 1.0),
        (w * 0.24, w * 0.5, -30, 0.8),
    ):
        mark, top = s.mark(), h * tall
        for x in (x0, x1):
            s.tube(p.frame, (x, 0, 0), (x, 0, top * 0.86), 0.009, 5)
        t = np.linspace(0, np.pi, 6)
        mid, half = (x0 + x1) / 2, (x1 - x0) / 2
        s.path(
            p.frame,
            [(mid + half * float(np.cos(a)), 0, top * 0.86 + top * 0.14 * float(np.sin(a))) for a in t],
            0.009,
            5,
        )
        s.tube(p.frame, (x0, 0, 0.03), (x1, 0, 0.03), 0.009, 5)
        for k in np.arange(-2.0, 8.0, 0.55):
            for sign in (-1, 1):
                a, b = mid - half + k * 0.1, mid - half + k * 0.1 + sign * top * 0.8
                za, zb = 0.04, 0.04 + top * 0.8
                if sign * (b - a) > 0 and a != b:
                    low, high = sorted((np.clip((x0 - a) / (b - a), 0, 1), np.clip((x1 - a) / (b - a), 0, 1)))
                    if high - low > 0.05:
                        s.tube(
                            BLACK,
                            (a + (b - a) * low, 0, za + (zb - za) * low),
                            (a + (b - a) * high, 0, za + (zb - za) * high),
                            0.004,
                            3,
                        )
        s.bend(turn_z(turn, x1 if turn > 0 else x0, 0), mark)


def steamer(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A garment steamer: tank on castors, pole with a hanger and a shirt, hose and head."""
    s.block(p.main, 0, 0, 0.03, w * 0.8, d * 0.8, 0.2)
    s.block("glass:light blue", 0, -d * 0.1, 0.23, w * 0.6, d * 0.4, 0.1)
    for x in (-w * 0.34, w * 0.34):
        for y in (-d * 0.32, d * 0.32):
            s.ball(RUBBER, x, y, 0.025, 0.025, n=6, rings=5)
    s.tube(CHROME, (0, -d * 0.3, 0.2), (0, -d * 0.3, h), 0.012, 7)
    s.path(
        CHROME,
        [(-w * 0.5, -d * 0.3, h * 0.9), (0, -d * 0.3, h * 0.96), (w * 0.5, -d * 0.3, h * 0.9)],
        0.01,
        5,
    )
    s.prism(
        p.second,
        [
            (-w * 0.46, h * 0.4),
            (w * 0.46, h * 0.4),
            (w * 0.52, h * 0.9),
            (w * 0.12, h * 0.94),
            (-w * 0.12, h * 0.94),
            (-w * 0.52, h * 0.9),
        ],
        -d * 0.36,
        -d * 0.26,
    )
    s.path(
        "plastic:grey",
        [
            (w * 0.2, d * 0.1, 0.22),
            (w * 0.4, d * 0.35, h * 0.35),
            (w * 0.3, d * 0.2, h * 0.66),
            (w * 0.2, -d * 0.1, h * 0.8),
        ],
        0.016,
        6,
    )
    s.block(p.main, w * 0.2, -d * 0.08, h * 0.78, 0.12, 0.05, 0.09)


def laundry_cart(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sack in a wheeled tube frame, with washing on top."""
    top = h * 0.92
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        for y in (-d / 2 + 0.015, d / 2 - 0.015):
            s.tube(CHROME, (x, y, 0.08), (x, y, h), 0.012, 6)
            s.tube(RUBBER, (x - 0.012, y, 0.04), (x + 0.012, y, 0.04), 0.04, 9)
    for z in (0.1, h):
        for y in (-d / 2 + 0.015, d / 2 - 0.015):
            s.tube(CHROME, (-w / 2 + 0.015, y, z), (w / 2 - 0.015, y, z), 0.012, 6)
        for x in (-w / 2 + 0.015, w / 2 - 0.015):
            s.tube(CHROME, (x, -d / 2 + 0.015, z), (x, d / 2 - 0.015, z), 0.012, 6)
    s.prism(
        p.main, [(-w * 0.38, 0.14), (w * 0.38, 0.14), (w * 0.46, top), (-w * 0.46, top)], -d * 0.42, d * 0.42
    )
    for k in range(6):
        key = ("fabric:white", "fabric:light blue", "fabric:pink", "fabric:navy")[k % 4]
        s.ball(
            key, w * 0.28 * np.cos(2.4 * k), d * 0.24 * np.sin(2.4 * k), top, w * 0.18, d * 0.16, 0.07, 7, 5
        )


def track_light(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rail under the ceiling with four turned spot lamps."""
    s.block(p.main, 0, 0, h - 0.03, w, 0.05, 0.03)
    for i, x in enumerate(np.linspace(-w * 0.4, w * 0.4, 4)):
        lean = (-1) ** i * d * 0.3
        s.tube(p.main, (float(x), 0, h - 0.03), (float(x), 0, h * 0.6), 0.01, 6)
        s.tube(p.main, (float(x), -lean * 0.3, h * 0.66), (float(x), lean, h * 0.14), 0.035, 10, 0.05)
        s.tube("glass:cream", (float(x), lean, h * 0.14), (float(x), lean * 1.03, h * 0.12), 0.044, 10)


def floor_cushion(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A thick round or square cushion with piping and a button."""
    if p.seed % 2:
        r = w / 2
        s.lathe(
            p.main,
            [
                (1e-4, 0),
                (r * 0.9, 0.01),
                (r, h * 0.5),
                (r * 0.88, h * 0.94),
                (r * 0.12, h * 0.86),
                (1e-4, h * 0.8),
            ],
            n=20,
        )
        s.torus(p.second, 0, 0, h * 0.5, r, 0.012, "z", 20, 5)
    else:
        s.ball(p.main, 0, 0, h * 0.5, w * 0.56, d * 0.56, h * 0.5, 4, 7)
        s.bend(turn_z(45))
        s.block(p.main, 0, 0, h * 0.1, w * 0.76, d * 0.76, h * 0.74)
    s.ball(p.second, 0, 0, h * 0.88, 0.03, 0.03, 0.02, 8, 5)


def blanket_ladder(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ladder that leans at the wall with blankets over its rungs."""
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.tube(p.frame, (x, d / 2 - 0.02, 0), (x, -d / 2 + 0.03, h), 0.02, 7)
    for i, k in enumerate((0.2, 0.4, 0.6, 0.8, 0.94)):
        y, z = d / 2 - 0.02 + (-d + 0.05) * k, h * k
        s.tube(p.frame, (-w / 2, y, z), (w / 2, y, z), 0.016, 7)
        if i in (1, 3):
            key = (p.main, p.second)[i // 2]
            s.box(key, -w * 0.4, w * 0.38, y - 0.03, y + 0.035, z - h * 0.17, z + 0.02)
            for x in np.linspace(-w * 0.38, w * 0.36, 12):
                s.block(key, float(x), y + 0.02, z - h * 0.2, 0.008, 0.012, h * 0.035)


def pedestal(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A fluted column with a square foot and top."""
    r = min(w, d) * 0.34
    s.block(p.main, 0, 0, 0, w, d, 0.07)
    s.block(p.main, 0, 0, h - 0.05, w, d, 0.05)
    s.lathe(
        p.main,
        [
            (w * 0.46, 0.07),
            (r * 1.15, 0.12),
            (r, 0.18),
            (r * 0.88, h - 0.18),
            (r * 1.1, h - 0.11),
            (w * 0.44, h - 0.05),
        ],
        n=16,
    )
    for a in np.arange(12) * np.pi / 6:
        s.tube(
            p.main,
            (r * np.cos(a), r * np.sin(a), 0.18),
            (r * 0.88 * np.cos(a), r * 0.88 * np.sin(a), h - 0.18),
            0.018,
            5,
        )
    s.top(-w / 2 + 0.02, -d / 2 + 0.02, w / 2 - 0.02, d / 2 - 0.02, h, 0.9)


def fur_rug(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A hide with four legs and a tail, flat on the floor."""
    outline = [
        (0.0, 0.5),
        (0.1, 0.4),
        (0.3, 0.44),
        (0.47, 0.5),
        (0.5, 0.4),
        (0.34, 0.26),
        (0.3, 0.0),
        (0.36, -0.2),
        (0.5, -0.34),
        (0.44, -0.44),
        (0.26, -0.38),
        (0.08, -0.42),
        (0.03, -0.5),
    ]
    ring = np.array(outline + [(-x, y) for x, y in reversed(outline[1:])]) * [w, d]
    points = np.vstack([[0.0, 0.0], ring])
    n = len(ring)
    faces = np.array([[0, 1 + (k + 1) % n, 1 + k] for k in range(n)])
    for key, scale, z in ((p.second, 1.0, 0.006), (p.main, 0.9, 0.014)):
        s.add(key, np.column_stack([points * scale, np.full(n + 1, z)]), faces)
        rim = np.column_stack([ring * scale, np.full(n, z)])
        for i in range(n):
            j = (i + 1) % n
            quad = np.array([rim[i], rim[j], rim[j] * [1, 1, 0], rim[i] * [1, 1, 0]])
            s.add(key, quad, np.array([[0, 1, 2], [0, 2, 3]]))
