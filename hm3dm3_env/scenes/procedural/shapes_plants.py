"""Builders of plants in holders, greenery and lights of a feast (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_z
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GOLD = "plastic:black", "metal:silver", "metal:gold"
GREENS = ("leaf:green", "leaf:dark green", "leaf:olive")


def leaves(
    s: Shape, rng: Rng, centre: tuple[float, float, float], reach: float, rise: float, count: int, key: str
) -> None:
    """A tuft of bent leaves around `centre`; a negative `rise` hangs down. Metres."""
    base = np.array(centre, float)
    for a in np.arange(count) * 2.4:
        out, side = np.array([np.cos(a), np.sin(a), 0.0]), np.array([-np.sin(a), np.cos(a), 0.0])
        long, lift = reach * float(rng.uniform(0.6, 1.0)), rise * float(rng.uniform(0.3, 1.0))
        middle = base + out * long * 0.55 + [0, 0, lift]
        tip = base + out * long + [0, 0, lift * (0.6 if rise > 0 else 1.9)]
        spread = side * reach * 0.16
        s.add(key, np.array([base, middle - spread, middle + spread, tip]), np.array([[0, 1, 2], [1, 3, 2]]))


def wreath(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ring of leaves with berries and a bow."""
    r = w * 0.36
    s.torus("leaf:dark green", 0, 0, h / 2, r, w * 0.07, "y", 18, 6)
    for k in range(40):
        a = 2 * np.pi * k / 40
        x, z = r * np.cos(a), h / 2 + r * np.sin(a)
        turn = a + float(rng.uniform(-1, 1))
        tip = (x + w * 0.13 * np.cos(turn), d * float(rng.uniform(-0.2, 0.5)), z + w * 0.13 * np.sin(turn))
        side = np.array([-np.sin(turn), 0, np.cos(turn)]) * w * 0.03
        base = np.array([x, d * 0.2, z])
        s.add(GREENS[k % 3], np.array([base - side, base + side, tip]), np.array([[0, 1, 2]]))
        if k % 5 == 0:
            s.ball("plastic:red", x, d * 0.4, z, 0.016, n=6, rings=5)
    for sign in (-1, 1):
        s.prism(
            p.main,
            [(0, h / 2 - r), (sign * w * 0.16, h / 2 - r + 0.06), (sign * w * 0.16, h / 2 - r - 0.05)],
            d * 0.3,
            d * 0.42,
        )
        s.prism(p.main, [(0, h / 2 - r), (sign * w * 0.1, 0.0), (sign * w * 0.04, 0.0)], d * 0.26, d * 0.32)
    s.ball(p.main, 0, d * 0.36, h / 2 - r, 0.03, n=7, rings=5)


def christmas_tree(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A fir in tiers with baubles, a garland, a star, presents below."""
    s.cyl("wood:walnut", 0, 0, 0, h * 0.14, 0.05, n=8)
    s.cyl("wicker:brown", 0, 0, 0, 0.1, w * 0.22, n=12)
    tiers = [(w / 2, 0.12, 0.44), (w * 0.4, 0.32, 0.64), (w * 0.29, 0.52, 0.82), (w * 0.18, 0.7, 0.95)]
    for r, low, high in tiers:
        for n, k in ((13, 1.0), (13, 0.86)):
            mark = s.mark()
            zig = [(r * k, h * low + 0.02 * (1 - k)), (r * 0.12, h * high)]
            s.lathe("leaf:dark green" if k == 1.0 else "leaf:green", zig, n=n)
            s.bend(turn_z(12 * (1 if k < 1 else 0)), mark)
        s.lathe("leaf:dark green", [(r, h * low), (1e-4, h * (low + 0.05))], n=13)
        for a in np.arange(7) * 2 * np.pi / 7 + r * 9:
            key = ("plastic:red", "metal:gold", "metal:silver", "plastic:blue")[int(a * 3) % 4]
            s.ball(key, r * 0.96 * np.cos(a), r * 0.96 * np.sin(a), h * low - 0.005, 0.035, n=7, rings=6)
    t = np.linspace(0, 5 * np.pi, 28)
    k = 1 - t / t[-1]
    s.path(
        p.main,
        [
            (w * (0.08 + 0.36 * q) * np.cos(a), w * (0.08 + 0.36 * q) * np.sin(a), h * (0.9 - 0.68 * q))
            for a, q in zip(t, k)
        ],
        0.012,
        4,
    )
    for a in np.arange(5) * 2 * np.pi / 5 + np.pi / 2:
        c, e = float(np.cos(a)), float(np.sin(a))
        s.prism(
            GOLD,
            [
                (0.0, h * 0.96),
                (0.025 * e + 0.02 * c, h * 0.96 - 0.025 * c + 0.02 * e),
                (0.09 * c, h * 0.96 + 0.09 * e),
            ],
            -0.012,
            0.012,
        )
    for x, y, key, ribbon in (
        (w * 0.3, d * 0.32, p.main, GOLD),
        (-w * 0.3, d * 0.34, "paper:teal", "paper:white"),
    ):
        s.block(key, x, y, 0, 0.2, 0.16, 0.13)
        s.block(ribbon, x, y, 0, 0.03, 0.164, 0.134)


def bonsai(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A twisted trunk with flat leaf pads in a low tray."""
    s.lathe(
        p.main,
        [(1e-4, 0), (w * 0.28, 0), (w * 0.36, h * 0.16), (w * 0.33, h * 0.16), (1e-4, h * 0.13)],
        n=12,
        sy=0.7,
    )
    trunk = [
        (0.0, 0.0, h * 0.13),
        (w * 0.09, 0.0, h * 0.3),
        (-w * 0.05, 0.01, h * 0.48),
        (w * 0.06, 0.0, h * 0.68),
        (0.0, 0.0, h * 0.84),
    ]
    for i, (a, b) in enumerate(zip(trunk, trunk[1:])):
        s.tube("wood:walnut", a, b, 0.03 - 0.005 * i, 7, 0.025 - 0.005 * i)
    for x, y, z, r in (
        (-w * 0.3, 0.0, h * 0.56, 0.22),
        (w * 0.28, 0.02, h * 0.68, 0.22),
        (0.0, 0.0, h * 0.9, 0.26),
        (w * 0.2, -d * 0.15, h * 0.46, 0.15),
    ):
        s.tube("wood:walnut", (x * 0.2, 0, z - h * 0.1), (x, y, z), 0.012, 5)
        s.ball(GREENS[int(r * 100) % 3], x, y, z, w * r, d * r, h * 0.09, 9, 6)


def hanging_plant(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A pot on three cords from the ceiling with trailing leaves."""
    top, r = h * 0.56, w * 0.3
    s.lathe(
        p.main, [(1e-4, h * 0.3), (r * 0.6, h * 0.3), (r, top), (r * 0.86, top), (1e-4, top - 0.03)], n=12
    )
    for a in np.arange(3) * 2 * np.pi / 3:
        s.tube("fabric:cream", (r * np.cos(a), r * np.sin(a), top), (0, 0, h), 0.006, 4)
    green = GREENS[p.seed % 3]
    leaves(s, rng, (0, 0, top - 0.02), w * 0.48, h * 0.16, 12, green)
    for k in range(10):
        a, drop = 2.4 * k, float(rng.uniform(0.35, 1.0))
        x, y = r * np.cos(a), r * np.sin(a)
        s.path(
            green,
            [
                (x * 0.6, y * 0.6, top),
                (x * 1.15, y * 1.15, top + 0.02),
                (x * 1.35, y * 1.35, top - (top - 0.02) * drop),
            ],
            0.006,
            3,
        )
        for q in np.linspace(0.25, 1.0, 5):
            z = top - (top - 0.02) * drop * float(q)
            leaf = np.array(
                [
                    [x * 1.25, y * 1.25, z + 0.03],
                    [x * 1.6 - y * 0.25, y * 1.6 + x * 0.25, z],
                    [x * 1.6 + y * 0.25, y * 1.6 - x * 0.25, z],
                ]
            )
            s.add(green, leaf, np.array([[0, 1, 2]]))


def plant_stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A small pot with a fern, high on a slender three-legged stand."""
    z, r = h * 0.6, w * 0.24
    s.cyl(p.frame, 0, 0, z - 0.02, 0.02, r * 1.1, n=14)
    for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3:
        s.path(
            p.frame,
            [
                (r * np.cos(a), r * np.sin(a), z - 0.02),
                (r * 0.5 * np.cos(a), r * 0.5 * np.sin(a), z * 0.5),
                (r * 1.3 * np.cos(a), r * 1.3 * np.sin(a), 0),
            ],
            0.014,
            6,
        )
    s.torus(p.frame, 0, 0, z * 0.5, r * 0.5, 0.01, "z", 12, 4)
    s.lathe(
        p.main,
        [(1e-4, z), (r * 0.7, z), (r, z + h * 0.15), (r * 0.9, z + h * 0.15), (1e-4, z + h * 0.13)],
        n=12,
    )
    leaves(s, rng, (0, 0, z + h * 0.14), w / 2, h * 0.25, 24, GREENS[p.seed % 3])


def planter_box(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A long trough on feet with a row of flowering plants."""
    box = h * 0.5
    for x in (-w * 0.42, w * 0.42):
        s.block(p.main, x, 0, 0, 0.05, d * 0.9, 0.05)
    for y in (-d / 2 + 0.012, d / 2 - 0.012):
        for z in (0.05, 0.05 + (box - 0.05) / 2):
            s.block(p.main, 0, y, z, w, 0.024, (box - 0.05) / 2 - 0.006)
    for x in (-w / 2 + 0.012, w / 2 - 0.012):
        s.block(p.main, x, 0, 0.05, 0.024, d - 0.05, box - 0.05)
    s.block("wood:ebony", 0, 0, 0.05, w - 0.05, d - 0.05, box - 0.09)
    for i, x in enumerate(np.linspace(-w * 0.38, w * 0.38, max(3, round(w / 0.22)))):
        leaves(s, rng, (float(x), 0, box - 0.05), 0.16, h * 0.36, 11, GREENS[i % 3])
        for _ in range(3):
            dx, dy, z = (
                float(rng.uniform(-0.08, 0.08)),
                float(rng.uniform(-0.08, 0.08)),
                h * float(rng.uniform(0.72, 0.96)),
            )
            s.tube("leaf:green", (float(x), 0, box - 0.05), (float(x) + dx, dy, z), 0.004, 3)
            s.ball(p.second, float(x) + dx, dy, z, 0.03, n=6, rings=5)


def terrarium(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A faceted frame with soil, stones and plants inside; open panes."""
    n, r, waist, top = 6, w / 2, h * 0.4, h * 0.72
    ring = [(float(np.cos(2 * np.pi * k / n)), float(np.sin(2 * np.pi * k / n))) for k in range(n)]
    rows = [(r * 0.62, 0.0), (r, waist), (r * 0.8, top)]
    for (r0, z0), (r1, z1) in zip(rows, rows[1:]):
        for x, y in ring:
            s.tube(p.frame, (x * r0, y * r0, z0), (x * r1, y * r1, z1), 0.006, 4)
    for radius, z in rows:
        for a, b in zip(ring, ring[1:] + ring[:1]):
            s.tube(p.frame, (a[0] * radius, a[1] * radius, z), (b[0] * radius, b[1] * radius, z), 0.006, 4)
    for x, y in ring:
        s.tube(p.frame, (x * r * 0.8, y * r * 0.8, top), (0, 0, h), 0.006, 4)
    s.lathe("wood:ebony", [(1e-4, 0.0), (r * 0.6, 0.0), (r * 0.8, waist * 0.55), (1e-4, waist * 0.62)], n=6)
    for k in range(5):
        s.ball(
            "stone:grey",
            0.4 * r * np.cos(2.4 * k),
            0.4 * r * np.sin(2.4 * k),
            waist * 0.62,
            0.022,
            n=6,
            rings=5,
        )
    leaves(s, rng, (0.02, 0, waist * 0.6), r * 0.7, h * 0.3, 10, "leaf:green")
    leaves(s, rng, (-r * 0.3, r * 0.15, waist * 0.6), r * 0.4, h * 0.16, 8, "leaf:olive")


def lantern(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A floor lantern: framed panes, a pitched cap, a ring, a candle inside."""
    body = h * 0.66
    s.block(p.main, 0, 0, 0, w, d, 0.03)
    s.block(p.main, 0, 0, body, w, d, 0.025)
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        for y in (-d / 2 + 0.015, d / 2 - 0.015):
            s.block(p.main, x, y, 0.03, 0.025, 0.025, body - 0.03)
    for y in (-d / 2 + 0.012, d / 2 - 0.012):
        s.block(p.main, 0, y, 0.03, 0.012, 0.012, body - 0.03)
        s.block(p.main, 0, y, body * 0.5, w - 0.03, 0.012, 0.012)
    s.cyl("paper:cream", 0, 0, 0.03, body * 0.5, w * 0.2, n=10)
    s.ball("plastic:yellow", 0, 0, body * 0.5 + 0.055, 0.014, 0.014, 0.03, 6, 6)
    for r, z0, r1, z1 in (
        (w * 0.6, body + 0.025, w * 0.3, h * 0.82),
        (w * 0.2, h * 0.82, w * 0.14, h * 0.88),
    ):
        mark = s.mark()
        s.lathe(p.main, [(r, z0), (r1, z1), (1e-4, z1)], n=4)
        s.bend(turn_z(45), mark)
    s.torus(p.main, 0, 0, h * 0.94, h * 0.055, 0.008, "y", 12, 5)


def candelabra(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Five candles on curved arms over a turned foot."""
    s.lathe(
        p.frame,
        [
            (1e-4, 0),
            (w * 0.26, 0),
            (w * 0.2, 0.02),
            (0.02, 0.05),
            (0.03, h * 0.2),
            (0.014, h * 0.28),
            (0.014, h * 0.6),
        ],
        n=12,
    )
    for k in range(5):
        x = w * 0.22 * (k - 2)
        base = h * (0.62 if k == 2 else 0.56 if k in (1, 3) else 0.5)
        if k != 2:
            s.path(
                p.frame,
                [(0, 0, h * 0.34), (x * 0.5, 0, h * 0.26), (x * 0.9, 0, h * 0.34), (x, 0, base)],
                0.01,
                6,
            )
        s.cyl(p.frame, x, 0, base, 0.012, 0.032, n=10)
        s.cyl(p.main, x, 0, base + 0.012, h - base - 0.05, 0.014, n=8)
        s.ball("plastic:yellow", x, 0, h - 0.022, 0.009, 0.009, 0.02, 5, 5)
