"""Builders of kitchen helpers, pots and drinks (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, STEEL = "plastic:black", "metal:silver", "brushed:silver"


def toaster_oven(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A small oven: glass door with a bar, a rack with bread inside, three dials."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.02, h)
    for x in (-w * 0.42, w * 0.42):
        for y in (-d * 0.36, d * 0.3):
            s.cyl(BLACK, x, y, 0, 0.02, 0.02, n=7)
    x, y = -w * 0.12, d / 2 - 0.02
    s.block("glass:dark grey", x, y, h * 0.16, w * 0.66, 0.012, h * 0.7)
    for k in range(9):
        s.block(CHROME, x - w * 0.28 + w * 0.07 * k, y + 0.008, h * 0.4, 0.006, 0.006, 0.012)
    for k in (-1, 1):
        s.block("cardboard:tan", x + k * w * 0.13, y + 0.008, h * 0.43, w * 0.2, 0.006, h * 0.16)
    s.tube(CHROME, (x - w * 0.28, y + 0.04, h * 0.84), (x + w * 0.28, y + 0.04, h * 0.84), 0.012, 7)
    for z in (0.24, 0.5, 0.76):
        s.tube(BLACK, (w * 0.36, y, h * z), (w * 0.36, y + 0.025, h * z), h * 0.09, 12)
        s.block("plastic:white", w * 0.36, y + 0.026, h * z, 0.006, 0.004, h * 0.08)


def rice_cooker(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A round cooker with a glass lid, side handles and a switch."""
    r = w * 0.43
    s.lathe(p.main, [(1e-4, 0.012), (r * 0.86, 0.012), (r, h * 0.2), (r, h * 0.72)], n=16)
    s.cyl(BLACK, 0, 0, 0, 0.015, r * 0.8, n=14)
    s.torus(STEEL, 0, 0, h * 0.72, r, 0.012, "z", 16, 4)
    s.lathe("glass:light blue", [(r * 0.98, h * 0.72), (r * 0.7, h * 0.86), (1e-4, h * 0.9)], n=16)
    s.cyl(BLACK, 0, 0, h * 0.89, h * 0.1, 0.025, n=9)
    for x in (-1, 1):
        s.block(BLACK, x * (r + 0.012), 0, h * 0.56, 0.04, 0.09, 0.02)
    s.block(BLACK, 0, r * 0.95, h * 0.14, 0.09, 0.03, h * 0.26)
    s.block("plastic:red", 0, r * 0.95 + 0.016, h * 0.3, 0.025, 0.008, 0.02)


def food_processor(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A motor base with a bowl, handle, lid and a tall chute."""
    s.lathe(
        p.main,
        [(1e-4, 0), (w / 2, 0), (w * 0.48, h * 0.2), (w * 0.38, h * 0.32), (1e-4, h * 0.33)],
        n=14,
        sy=d / w,
    )
    s.tube(CHROME, (0, d * 0.44, h * 0.14), (0, d * 0.5, h * 0.14), 0.028, 10)
    s.lathe("glass:light blue", [(w * 0.34, h * 0.33), (w * 0.4, h * 0.72)], n=14)
    s.tube(BLACK, (0, 0, h * 0.33), (0, 0, h * 0.6), 0.018, 7)
    s.block(CHROME, 0, 0, h * 0.37, w * 0.5, 0.02, 0.006)
    s.cyl(p.main, 0, 0, h * 0.72, h * 0.05, w * 0.42, n=14)
    s.lathe("glass:light blue", [(w * 0.13, h * 0.77), (w * 0.15, h * 0.96)], w * 0.1, 0, 10)
    s.cyl(p.main, w * 0.1, 0, h * 0.92, h * 0.08, w * 0.11, n=9)
    s.path(
        BLACK,
        [(w * 0.38, 0, h * 0.68), (w * 0.56, 0, h * 0.66), (w * 0.54, 0, h * 0.4), (w * 0.36, 0, h * 0.38)],
        0.014,
        6,
    )


def waffle_iron(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A waffle iron, open: two plates with a grid, a waffle on the lower one."""
    r = w / 2
    for tilt in (False, True):
        mark = s.mark()
        s.cyl(p.main, 0, 0, 0.02, 0.05, r, n=18)
        s.cyl("metal:dark grey", 0, 0, 0.07, 0.008, r * 0.86, n=18)
        for k in np.linspace(-0.6, 0.6, 5):
            long = 2 * r * 0.84 * float(np.sqrt(1 - k * k))
            s.block(BLACK, k * r, 0, 0.078, 0.008, long, 0.006)
            s.block(BLACK, 0, k * r, 0.078, long, 0.008, 0.006)
        s.block(BLACK, 0, r + 0.05, 0.03, 0.09, 0.1, 0.03)
        if tilt:
            a = np.radians(78)
            turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
            pivot = np.array([0, -r, 0.075])
            s.bend(np.column_stack([np.eye(3), -pivot]), mark)
            s.bend(np.column_stack([turn @ np.diag([1.0, 1.0, -1.0]), pivot]), mark)
        else:
            s.cyl("cardboard:tan", 0, 0, 0.085, 0.018, r * 0.66, n=16)
            for k in (-0.3, 0.0, 0.3):
                s.block("cardboard:brown", k * r, 0, 0.1, 0.012, r * 1.1, 0.006)
                s.block("cardboard:brown", 0, k * r, 0.1, r * 1.1, 0.012, 0.006)


def teapot(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A round teapot with a curved spout, a handle and a lid."""
    r = min(w * 0.33, d * 0.48)
    s.lathe(
        p.main,
        [
            (1e-4, 0),
            (r * 0.55, 0),
            (r * 0.95, h * 0.25),
            (r, h * 0.45),
            (r * 0.8, h * 0.7),
            (r * 0.45, h * 0.8),
            (1e-4, h * 0.82),
        ],
        n=16,
    )
    s.lathe(p.second, [(r * 0.46, h * 0.8), (r * 0.3, h * 0.88), (1e-4, h * 0.9)], n=14)
    s.ball(p.second, 0, 0, h * 0.94, h * 0.055, n=8, rings=6)
    spout = [(r * 0.8, 0, h * 0.3), (r * 1.25, 0, h * 0.42), (r * 1.4, 0, h * 0.62), (r * 1.65, 0, h * 0.78)]
    for (a, b), r0, r1 in zip(zip(spout, spout[1:]), (0.028, 0.022, 0.016), (0.022, 0.016, 0.013)):
        s.tube(p.main, a, b, r0, 9, r1)
    t = np.linspace(-1.2, 1.2, 7)
    s.path(
        p.main,
        [(-r * 0.75 - r * 0.75 * float(np.cos(a)), 0, h * 0.48 + h * 0.25 * float(np.sin(a))) for a in t],
        0.012,
        6,
    )
    s.torus(p.second, 0, 0, h * 0.45, r, 0.006, "z", 16, 4)


def spice_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Two or three narrow shelves at the wall with rows of small jars."""
    for x in (-w / 2 + 0.008, w / 2 - 0.008):
        s.box(p.main, x - 0.008, x + 0.008, -d / 2, d / 2, 0, h)
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.008, 0, h)
    rows = max(2, round(h / 0.16))
    keys = (
        "plastic:red",
        "plastic:green",
        "plastic:mustard",
        "plastic:brown",
        "plastic:orange",
        "leaf:olive",
    )
    for i in range(rows):
        z = h * i / rows
        s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, z, z + 0.01)
        s.tube(p.main, (-w / 2, d / 2 - 0.006, z + 0.05), (w / 2, d / 2 - 0.006, z + 0.05), 0.006, 5)
        for x in np.arange(-w / 2 + 0.045, w / 2 - 0.03, 0.062):
            s.cyl(keys[int(rng.integers(6))], float(x), 0, z + 0.01, 0.07, 0.023, n=7)
            s.cyl(CHROME, float(x), 0, z + 0.08, 0.022, 0.024, n=7)


def utensils(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A crock with spoons, a whisk, a spatula and a ladle."""
    r, top = w * 0.36, h * 0.48
    s.lathe(p.main, [(1e-4, 0), (r * 0.9, 0), (r, top), (r * 0.88, top), (r * 0.8, 0.02), (1e-4, 0.02)], n=14)
    s.torus(p.second, 0, 0, top * 0.6, r * 0.96, 0.006, "z", 14, 4)
    for k, a in enumerate(np.arange(6) * np.pi / 3):
        x, y = w * 0.42 * float(np.cos(a)), w * 0.36 * float(np.sin(a))
        z = h * (0.78 + 0.06 * (k % 3))
        key = ("wood:oak", STEEL, "wood:walnut", BLACK, STEEL, "wood:pine")[k]
        s.tube(key, (x * 0.3, y * 0.3, 0.03), (x * 0.85, y * 0.85, z), 0.007, 5)
        if k % 2 == 0:
            s.ball(key, x, y, z + 0.03, 0.026, 0.01, h - z - 0.03, 8, 6)
        elif k == 1:
            for turn in np.arange(4) * np.pi / 4:
                c, e = 0.025 * float(np.cos(turn)), 0.025 * float(np.sin(turn))
                s.path(
                    key,
                    [
                        (x * 0.85, y * 0.85, z),
                        (x + c, y + e, z + 0.05),
                        (x, y, h),
                        (x - c, y - e, z + 0.05),
                        (x * 0.85, y * 0.85, z),
                    ],
                    0.003,
                    3,
                )
        else:
            s.block(key, x, y, z, 0.05, 0.008, h - z)


def pot_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An oval rack on chains under the ceiling with hanging pans and pots."""
    z = h * 0.5
    t = np.linspace(0, 2 * np.pi, 17)
    s.path(p.main, [(w / 2 * float(np.cos(a)), d / 2 * float(np.sin(a)), z) for a in t], 0.012, 6)
    for x in np.linspace(-w * 0.36, w * 0.36, 5):
        y = d / 2 * float(np.sqrt(max(0.0, 1 - (2 * x / w) ** 2)))
        s.tube(p.main, (float(x), -y, z), (float(x), y, z), 0.007, 5)
    for x in (-w * 0.34, w * 0.34):
        for y in (-d * 0.34, d * 0.34):
            s.tube(p.main, (x, y, z), (x * 0.6, 0, h), 0.006, 4)
    keys = ("metal:copper", "metal:black", STEEL, "metal:copper", "metal:red", STEEL)
    for k, a in enumerate(np.arange(6) * np.pi / 3 + 0.3):
        x, y, r = w * 0.42 * float(np.cos(a)), d * 0.4 * float(np.sin(a)), 0.1 - 0.012 * (k % 3)
        s.tube(keys[k], (x, y, z - 0.02), (x, y, z * 0.62), 0.009, 5)
        deep = 0.035 if k % 2 else 0.1
        s.tube(keys[k], (x, y - deep / 2, z * 0.62 - r), (x, y + deep / 2, z * 0.62 - r), r, 14)


def mini_fridge(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A low refrigerator: one door with a grip, hinges, magnets, feet."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.05, 0.03, h)
    s.box(p.main, -w / 2, w / 2, d / 2 - 0.045, d / 2, 0.05, h - 0.02)
    s.box(BLACK, -w / 2, w / 2, d / 2 - 0.05, d / 2 - 0.045, 0.05, h - 0.02)
    s.tube(CHROME, (-w * 0.4, d / 2 + 0.03, h * 0.56), (-w * 0.4, d / 2 + 0.03, h * 0.86), 0.011, 7)
    for z in (h * 0.56, h * 0.86):
        s.tube(CHROME, (-w * 0.4, d / 2, z), (-w * 0.4, d / 2 + 0.03, z), 0.009, 6)
    for x, z, key in ((0.1, 0.7, "plastic:red"), (0.22, 0.62, "plastic:yellow"), (0.0, 0.58, "plastic:blue")):
        s.block(key, x * w, d / 2 + 0.004, z * h, 0.04, 0.008, 0.04)
    s.block("paper:white", 0.1 * w, d / 2 + 0.002, h * 0.44, 0.1, 0.003, 0.12)
    s.box("plastic:dark grey", -w * 0.46, w * 0.46, -d * 0.45, d * 0.4, 0, 0.03)
    s.top(-w / 2 + 0.04, -d / 2 + 0.04, w / 2 - 0.04, d / 2 - 0.08, h, 0.8)


def grill(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A kettle barbecue: bowl and lid, three legs, two wheels, ash pan."""
    r, z = w * 0.4, h * 0.62
    angle = np.linspace(-np.pi / 2, 0, 6)
    s.lathe(p.main, [(max(1e-4, r * float(np.cos(a))), z + r * 0.72 * float(np.sin(a))) for a in angle], n=18)
    s.lathe(
        p.main,
        [(r * 1.02, z + 0.005)]
        + [(max(1e-4, r * float(np.cos(a))), z + 0.01 + r * 0.7 * float(np.sin(a))) for a in -angle[::-1]],
        n=18,
    )
    s.torus(CHROME, 0, 0, z, r, 0.012, "z", 18, 5)
    s.path(
        BLACK,
        [
            (-0.07, 0, z + r * 0.68),
            (-0.06, 0, z + r * 0.68 + 0.07),
            (0.06, 0, z + r * 0.68 + 0.07),
            (0.07, 0, z + r * 0.68),
        ],
        0.014,
        6,
    )
    for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3:
        s.tube(
            CHROME,
            (r * 0.55 * np.cos(a), r * 0.55 * np.sin(a), z - r * 0.5),
            (w * 0.42 * np.cos(a), d * 0.42 * np.sin(a), 0.05),
            0.014,
            6,
        )
    s.cyl(CHROME, 0, 0, z - r * 1.05, 0.03, r * 0.4, n=12)
    for x in (-w * 0.4, w * 0.4):
        s.tube("rubber:black", (x - 0.02, -d * 0.22, 0.09), (x + 0.02, -d * 0.22, 0.09), 0.09, 12)
    s.cyl("wood:pine", w * 0.46, 0, z - 0.03, 0.02, w * 0.12, n=12)


def cake_stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A footed stand with cup cakes in two tiers."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0),
            (r * 0.5, 0),
            (r * 0.16, 0.03),
            (r * 0.12, h * 0.32),
            (r * 0.9, h * 0.34),
            (r, h * 0.37),
            (1e-4, h * 0.37),
        ],
        n=14,
    )
    s.lathe(
        p.main,
        [
            (r * 0.08, h * 0.37),
            (r * 0.08, h * 0.68),
            (r * 0.56, h * 0.7),
            (r * 0.6, h * 0.73),
            (1e-4, h * 0.73),
        ],
        n=14,
    )
    s.torus("metal:gold", 0, 0, h * 0.96, 0.028, 0.006, "y", 10, 4)
    s.tube("metal:gold", (0, 0, h * 0.73), (0, 0, h * 0.92), 0.007, 6)
    for n, radius, z in ((6, r * 0.72, h * 0.37), (4, r * 0.36, h * 0.73)):
        for k in range(n):
            x, y = radius * np.cos(2 * np.pi * k / n), radius * np.sin(2 * np.pi * k / n)
            s.cyl("paper:white", x, y, z, 0.028, 0.018, 0.026, 6)
            s.lathe(
                ("foam:pink", "foam:cream", "foam:brown")[k % 3],
                [(0.028, z + 0.028), (0.016, z + 0.05), (1e-4, z + 0.062)],
                x,
                y,
                8,
            )


def keg(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A steel beer keg: rolled rims, ribs, tap."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0.03),
            (r * 0.84, 0.03),
            (r * 0.84, 0),
            (r * 0.9, 0),
            (r * 0.9, h * 0.14),
            (r * 0.97, h * 0.22),
            (r, h * 0.3),
            (r, h * 0.68),
            (r * 0.97, h * 0.74),
            (r * 0.9, h * 0.82),
            (r * 0.9, h * 0.93),
            (r * 0.83, h * 0.93),
            (r * 0.83, h * 0.84),
            (1e-4, h * 0.86),
        ],
        n=18,
    )
    for z in (h * 0.3, h * 0.68):
        s.torus(p.main, 0, 0, z, r * 0.99, 0.014, "z", 18, 5)
    s.lathe(p.second, [(r * 1.004, h * 0.38), (r * 1.004, h * 0.6)], n=18)
    s.cyl(CHROME, 0, 0, h * 0.85, h * 0.06, 0.04, n=10)
    s.tube(BLACK, (0, 0, h * 0.9), (0.03, 0, h), 0.014, 7)
    s.tube(CHROME, (0, 0, h * 0.92), (0, r * 0.6, h * 0.92), 0.011, 6)


def bottle_crate(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A crate with grips and rows of bottles with caps."""
    low = h * 0.68
    s.block(p.main, 0, 0, 0, w, d, 0.02)
    for y in (-d / 2 + 0.01, d / 2 - 0.01):
        for z0, z1 in ((0.0, low * 0.55), (low * 0.7, low)):
            s.block(p.main, 0, y, z0, w, 0.02, z1 - z0)
        for x in (-w * 0.3, 0.0, w * 0.3):
            s.block(p.main, x, y, low * 0.5, 0.04, 0.02, low * 0.25)
    for x in (-w / 2 + 0.01, w / 2 - 0.01):
        s.block(p.main, x, 0, 0, 0.02, d, low * 0.6)
        s.block(p.main, x, 0, low * 0.85, 0.02, d, low * 0.15)
        for y in (-d / 2 + 0.02, d / 2 - 0.02):
            s.block(p.main, x, y, 0, 0.02, 0.03, low)
    nx, ny = 4, 3
    for i in range(nx):
        for j in range(ny):
            x, y = -w * 0.4 + w * 0.8 * i / (nx - 1), -d * 0.38 + d * 0.76 * j / (ny - 1)
            s.lathe(
                "glass:dark brown" if (i + p.seed) % 5 else "glass:dark green",
                [(0.03, 0.02), (0.03, h * 0.62), (0.012, h * 0.8), (0.012, h * 0.96)],
                x,
                y,
                6,
            )
            s.cyl(("metal:gold", "metal:red")[(i + j) % 2], x, y, h * 0.96, h * 0.04, 0.014, n=5)


def icebox(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A cool box with a white lid, a carrying handle and a drain."""
    s.prism(
        p.main, [(-w * 0.46, 0.0), (w * 0.46, 0.0), (w / 2, h * 0.7), (-w / 2, h * 0.7)], -d * 0.46, d * 0.46
    )
    s.block("plastic:white", 0, 0, h * 0.7, w * 1.02, d, h * 0.14)
    s.block("plastic:light grey", 0, 0, h * 0.84, w * 0.7, d * 0.6, 0.01)
    s.path(
        "plastic:white",
        [
            (-w * 0.52, 0, h * 0.6),
            (-w * 0.53, 0, h * 0.86),
            (-w * 0.46, 0, h),
            (w * 0.46, 0, h),
            (w * 0.53, 0, h * 0.86),
            (w * 0.52, 0, h * 0.6),
        ],
        0.016,
        7,
    )
    s.block("plastic:white", 0, d * 0.47, h * 0.55, 0.09, 0.03, h * 0.22)
    s.tube("plastic:white", (w * 0.4, d * 0.45, h * 0.1), (w * 0.4, d * 0.5, h * 0.1), 0.02, 8)


def gas_cylinder(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A gas bottle: foot ring, body, collar, valve with a wheel, warning label."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (r * 0.8, 0),
            (r * 0.8, 0.04),
            (r, h * 0.12),
            (r, h * 0.66),
            (r * 0.7, h * 0.78),
            (r * 0.3, h * 0.82),
            (1e-4, h * 0.82),
        ],
        n=18,
    )
    s.torus(p.main, 0, 0, h * 0.4, r, 0.01, "z", 18, 4)
    for a in (0.5, 2.6, 3.7, 5.8):
        x, y = r * 0.66 * np.cos(a), r * 0.66 * np.sin(a)
        s.tube(p.main, (x, y, h * 0.76), (x, y, h * 0.96), 0.012, 5)
    s.torus(p.main, 0, 0, h * 0.96, r * 0.66, 0.014, "z", 16, 5)
    s.cyl("metal:gold", 0, 0, h * 0.82, h * 0.08, 0.025, n=8)
    s.cyl(BLACK, 0, 0, h * 0.9, 0.02, 0.04, n=8)
    s.block("paper:orange", 0, r * 0.97, h * 0.45, r, 0.02, h * 0.14)
