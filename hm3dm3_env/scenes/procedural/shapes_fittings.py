"""Builders of wall fittings, clothes and cleaning things (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x, turn_z
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, GOLD, RUBBER = "plastic:black", "metal:silver", "metal:gold", "rubber:black"


def air_conditioner(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """The indoor unit of a split air conditioner: rounded front, louvre, lamp."""
    s.prism(
        p.main,
        [(-d / 2, 0.0), (d * 0.2, 0.0), (d / 2, h * 0.24), (d / 2, h * 0.9), (d * 0.36, h), (-d / 2, h)],
        -w / 2,
        w / 2,
        "x",
    )
    s.prism(
        BLACK,
        [(d * 0.18, -0.004), (d / 2 + 0.002, h * 0.2), (d / 2 + 0.002, h * 0.24), (d * 0.14, 0.0)],
        -w * 0.46,
        w * 0.46,
        "x",
    )
    mark = s.mark()
    s.block(p.main, 0, d * 0.36, h * 0.04, w * 0.9, d * 0.3, 0.01)
    s.bend(turn_x(24, d * 0.36, h * 0.04), mark)
    s.block("plastic:light grey", 0, d / 2, h * 0.56, w * 0.98, 0.004, 0.01)
    s.block("plastic:green", w * 0.4, d / 2 + 0.001, h * 0.36, 0.03, 0.004, 0.01)
    for k in range(5):
        s.block("plastic:light grey", 0, -d * 0.3 + d * 0.14 * k, h, w * 0.9, d * 0.05, 0.004)


def fuse_box(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A fuse box with its door open to the left: rows of switches, a label, a pipe."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, 0, h)
    s.box("metal:dark grey", -w * 0.42, w * 0.42, d / 2, d / 2 + 0.006, h * 0.05, h * 0.95)
    for row in range(3):
        z = h * (0.16 + 0.26 * row)
        s.box("plastic:light grey", -w * 0.38, w * 0.38, d / 2, d / 2 + 0.012, z, z + h * 0.15)
        for k in range(8):
            s.block(
                BLACK if k % 3 else "plastic:red",
                -w * 0.33 + w * 0.66 * k / 7,
                d / 2 + 0.018,
                z + h * 0.05,
                w * 0.05,
                0.016,
                h * 0.07,
            )
    mark = s.mark()
    s.box(p.main, -w * 1.0, -w / 2, d / 2, d / 2 + 0.015, 0, h)
    s.bend(turn_z(-35, -w / 2, d / 2), mark)
    s.tube("metal:grey", (w * 0.2, 0, h), (w * 0.2, 0, h + 0.22), 0.022, 8)


def mailbox(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wall letter box: rounded lid, slot, lock, letters that stick out."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d * 0.4, 0, h * 0.72)
    t = np.linspace(0, np.pi / 2, 5)
    lid = [
        (-d / 2, h * 0.7),
        (d / 2, h * 0.7),
        *[(-d / 2 + d * float(np.cos(a)), h * 0.72 + h * 0.28 * float(np.sin(a))) for a in t],
    ]
    s.prism(p.second, lid, -w * 0.52, w * 0.52, "x")
    s.block(BLACK, 0, d * 0.4, h * 0.56, w * 0.8, 0.012, h * 0.06)
    s.block("paper:white", w * 0.06, d * 0.42, h * 0.54, w * 0.5, 0.1, 0.008)
    s.block("plastic:white", 0, d * 0.4, h * 0.36, w * 0.5, 0.008, h * 0.09)
    s.tube(CHROME, (0, d * 0.4, h * 0.14), (0, d * 0.44, h * 0.14), 0.018, 9)


def umbrella(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A rolled umbrella that leans at the wall, hook up."""
    mark = s.mark()
    s.lathe(p.main, [(1e-4, h * 0.06), (0.02, h * 0.1), (0.05, h * 0.62), (0.016, h * 0.74)], n=8)
    s.lathe(p.second, [(0.046, h * 0.42), (0.048, h * 0.45)], n=8)
    s.tube(CHROME, (0, 0, 0), (0, 0, h * 0.88), 0.007, 6)
    t = np.linspace(0, np.pi, 6)
    s.path(
        "wood:walnut",
        [
            (0, 0, h * 0.8),
            *[(0.045 - 0.045 * float(np.cos(a)), 0, h * 0.93 + 0.05 * float(np.sin(a))) for a in t],
        ],
        0.014,
        6,
    )
    s.bend(turn_x(14), mark)


def hat(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A brimmed hat with a band."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0.0),
            (r, 0.0),
            (r, 0.012),
            (r * 0.58, 0.022),
            (r * 0.54, h * 0.85),
            (r * 0.4, h),
            (1e-4, h * 0.93),
        ],
        n=18,
        sy=d / w,
    )
    s.lathe(p.second, [(r * 0.585, 0.022), (r * 0.575, h * 0.32)], n=18, sy=d / w)


def garment(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "coat") -> None:
    """A robe, coat or apron that hangs from a hook at the wall."""
    s.path(CHROME, [(0, -d / 2, h), (0, 0.0, h - 0.01), (0, 0.01, h - 0.06)], 0.011, 6)
    s.tube(CHROME, (0, -d / 2, h), (0, -d / 2 + 0.012, h), 0.03, 10)
    top, y0, y1 = h - 0.07, -d * 0.36, d * 0.1
    if style == "apron":
        s.path(p.second, [(-w * 0.2, 0, h * 0.78), (0, 0, top), (w * 0.2, 0, h * 0.78)], 0.008, 4)
        s.prism(
            p.main,
            [
                (-w * 0.46, 0.0),
                (w * 0.46, 0.0),
                (w / 2, h * 0.55),
                (w * 0.2, h * 0.79),
                (-w * 0.2, h * 0.79),
                (-w / 2, h * 0.55),
            ],
            -0.012,
            0.0,
        )
        s.block(p.second, 0, 0.006, h * 0.3, w * 0.42, 0.012, h * 0.18)
        s.block(p.second, 0, 0.002, h * 0.53, w * 0.98, 0.01, 0.03)
        for side in (-1, 1):
            s.tube(p.second, (side * w * 0.48, 0, h * 0.54), (side * w * 0.5, 0.01, h * 0.28), 0.008, 4)
        return
    s.prism(
        p.main,
        [
            (-w * 0.3, 0.0),
            (w * 0.3, 0.0),
            (w * 0.24, h * 0.55),
            (w * 0.34, h * 0.84),
            (w * 0.08, top),
            (-w * 0.08, top),
            (-w * 0.34, h * 0.84),
            (-w * 0.24, h * 0.55),
        ],
        y0,
        y1,
    )
    for side in (-1, 1):
        s.tube(
            p.main,
            (side * w * 0.3, -d * 0.1, h * 0.84),
            (side * w * 0.44, -d * 0.05, h * 0.4),
            w * 0.1,
            8,
            w * 0.12,
        )
        s.prism(
            p.second,
            [
                (side * w * 0.02, h * 0.5),
                (side * w * 0.1, h * 0.5),
                (side * w * 0.16, top),
                (side * w * 0.08, top),
            ][::side],
            y1,
            y1 + 0.015,
        )
    if style == "robe":
        s.prism(
            p.second,
            [(-w * 0.255, h * 0.5), (w * 0.255, h * 0.5), (w * 0.255, h * 0.55), (-w * 0.255, h * 0.55)],
            y0 - 0.006,
            y1 + 0.02,
        )
        s.block(p.second, w * 0.05, y1 + 0.02, h * 0.26, 0.04, 0.016, h * 0.26)
    else:
        s.block(BLACK, 0, y1 + 0.002, 0.02, 0.006, 0.006, h * 0.6)
        for z in (0.3, 0.42, 0.54):
            s.tube(GOLD, (w * 0.06, y1, h * z), (w * 0.06, y1 + 0.012, h * z), 0.016, 8)
        for x in (-w * 0.2, w * 0.2):
            s.block(p.second, x, y1 + 0.004, h * 0.3, w * 0.16, 0.012, 0.04)


def iron(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A steam iron on its sole; the point looks to +x."""
    sole = [
        (-w / 2, -d / 2),
        (w * 0.1, -d / 2),
        (w * 0.38, -d * 0.22),
        (w / 2, 0.0),
        (w * 0.38, d * 0.22),
        (w * 0.1, d / 2),
        (-w / 2, d / 2),
    ]
    s.prism(CHROME, sole, 0, 0.012, "z")
    s.prism(p.main, [(0.92 * x, 0.85 * y) for x, y in sole], 0.012, h * 0.42, "z")
    s.prism(
        p.main,
        [(-w * 0.46, h * 0.4), (w * 0.3, h * 0.4), (w * 0.1, h * 0.62), (-w * 0.46, h * 0.7)],
        -d * 0.26,
        d * 0.26,
    )
    s.path(
        p.second,
        [(w * 0.14, 0, h * 0.55), (w * 0.06, 0, h * 0.9), (-w * 0.34, 0, h * 0.95), (-w * 0.42, 0, h * 0.6)],
        0.017,
        7,
    )
    s.path(
        BLACK,
        [
            (-w * 0.44, 0, h * 0.85),
            (-w * 0.54, 0.02, h * 0.6),
            (-w * 0.5, d * 0.5, 0.01),
            (-w * 0.1, d * 0.75, 0.01),
        ],
        0.006,
        4,
    )
    s.tube("plastic:blue", (w * 0.02, 0, h * 0.62), (w * 0.02, 0, h * 0.68), 0.022, 9)


def dustpan(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A dustpan and its hand brush."""
    s.block(p.main, 0, d * 0.12, 0, w, d * 0.66, 0.008)
    s.block(p.main, 0, -d * 0.2, 0, w, 0.012, h * 0.7)
    for x in (-w / 2 + 0.006, w / 2 - 0.006):
        s.prism(
            p.main,
            [(-d * 0.2, 0.0), (d * 0.44, 0.0), (d * 0.44, 0.012), (-d * 0.2, h * 0.7)],
            x - 0.006,
            x + 0.006,
            "x",
        )
    s.tube(p.main, (0, -d * 0.2, h * 0.5), (0, -d / 2, h * 0.65), 0.018, 7)
    s.block(p.second, w * 0.04, d * 0.1, h * 0.34, 0.05, d * 0.5, 0.03)
    s.block("fabric:cream", w * 0.04, d * 0.16, 0.01, 0.045, d * 0.36, h * 0.32)
    s.tube(p.second, (w * 0.04, -d * 0.12, h * 0.42), (w * 0.04, -d * 0.4, h * 0.85), 0.015, 6)


def plunger(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "plunger") -> None:
    """A plunger, or a toilet brush in its holder."""
    r = w / 2
    if style == "plunger":
        s.lathe(
            p.main, [(r, 0), (r, 0.03), (r * 0.8, 0.09), (r * 0.35, 0.12), (0.02, 0.15), (1e-4, 0.15)], n=14
        )
        s.tube("wood:pine", (0, 0, 0.13), (0, 0, h), 0.012, 7)
        s.ball("wood:pine", 0, 0, h - 0.01, 0.016, n=7, rings=5)
        return
    s.lathe(p.main, [(1e-4, 0), (r, 0), (r * 0.86, h * 0.38), (r * 0.6, h * 0.4), (1e-4, h * 0.36)], n=14)
    s.tube(p.second, (0, 0, h * 0.2), (0, 0, h * 0.94), 0.009, 6)
    s.lathe(
        "plastic:white", [(1e-4, h * 0.36), (r * 0.5, h * 0.37), (r * 0.5, h * 0.44), (1e-4, h * 0.46)], n=10
    )
    s.ball(p.second, 0, 0, h * 0.95, 0.02, 0.02, h * 0.05, 8, 6)


def towel_warmer(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A heated rail: two uprights, groups of bars, two towels over them."""
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        s.tube(p.main, (x, 0, 0.0), (x, 0, h), 0.016, 8)
        for z in (h * 0.12, h * 0.88):
            s.tube(p.main, (x, 0, z), (x, -d / 2, z), 0.012, 6)
    levels = [z for low in (0.04, 0.38, 0.72) for z in np.linspace(low, low + 0.22, 6)]
    for z in levels:
        s.tube(p.main, (-w / 2 + 0.015, 0, h * float(z)), (w / 2 - 0.015, 0, h * float(z)), 0.011, 7)
    for x, low, high, key in ((-w * 0.12, 0.28, 0.62, p.second), (w * 0.06, 0.64, 0.95, "fabric:white")):
        s.box(key, x - w * 0.24, x + w * 0.24, -0.03, 0.03, h * low, h * high)


def robot_vacuum(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A round robot vacuum cleaner with bumper, turret and button, on its dock."""
    r = w / 2
    s.lathe(BLACK, [(1e-4, 0.008), (r * 0.96, 0.012), (r, 0.03), (r, h * 0.62), (r * 0.96, h * 0.72)], n=22)
    s.lathe(p.main, [(r * 0.96, h * 0.72), (r * 0.9, h * 0.78), (1e-4, h * 0.79)], n=22)
    s.cyl(BLACK, 0, -r * 0.25, h * 0.78, h * 0.2, r * 0.24, n=14)
    s.torus(CHROME, 0, r * 0.45, h * 0.785, r * 0.16, 0.005, "z", 14, 4)
    s.block(BLACK, 0, -r * 0.98, 0, 0.13, 0.05, h * 0.95)
    for a in (0.6, 1.1, 1.6):
        s.tube(
            "plastic:orange",
            (r * 0.7, r * 0.6, 0.008),
            (r * 0.7 + 0.08 * np.cos(a), r * 0.6 + 0.08 * np.sin(a), 0.004),
            0.004,
            3,
        )


def tower_fan(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A slim upright fan: round foot, ribbed grille, control top."""
    s.lathe(p.main, [(1e-4, 0), (w / 2, 0), (w / 2, 0.02), (w * 0.22, 0.05), (1e-4, 0.05)], n=18)
    r = w * 0.34
    s.cyl(p.main, 0, 0, 0.05, h * 0.12, r * 0.9, r, 16)
    s.cyl(BLACK, 0, 0, h * 0.16, h * 0.72, r * 0.94, n=16)
    s.cyl(p.main, 0, 0, h * 0.88, h * 0.11, r, r * 0.92, 16)
    for a in np.linspace(0.15, np.pi - 0.15, 12):
        x, y = r * float(np.cos(a)), r * float(np.sin(a))
        s.tube(p.main, (x, y, h * 0.16), (x, y, h * 0.88), 0.006, 4)
    s.prism(p.main, [(-r, h * 0.15), (r, h * 0.15), (r, h * 0.89), (-r, h * 0.89)], -r * 1.02, -r * 0.2)
    s.disc("plastic:light blue", 0, 0, h * 0.992, r * 0.5, 12)
