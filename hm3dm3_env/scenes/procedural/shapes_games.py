"""Builders of the games of a game room (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME, RUBBER = "plastic:black", "metal:silver", "rubber:black"


def air_hockey(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An air hockey table along x: white bed with lines, rails, goals, two mallets and a puck."""
    for x in (-w * 0.4, w * 0.4):
        s.block(p.main, x, 0, 0, w * 0.08, d * 0.8, h * 0.75)
    s.block(p.main, 0, 0, h * 0.72, w, d, h * 0.2)
    s.block("plastic:white", 0, 0, h * 0.92, w - 0.1, d - 0.1, 0.006)
    for y in (-d / 2 + 0.025, d / 2 - 0.025):
        s.block(p.main, 0, y, h * 0.92, w, 0.05, h * 0.08)
    for x in (-w / 2 + 0.025, w / 2 - 0.025):
        s.block(p.main, x, 0, h * 0.92, 0.05, d, h * 0.08)
        s.block(BLACK, x * 0.985, 0, h * 0.925, 0.07, d * 0.34, 0.03)
    z = h * 0.92 + 0.007
    s.block("plastic:red", 0, 0, z, 0.02, d - 0.11, 0.002)
    s.torus("plastic:blue", 0, 0, z, d * 0.16, 0.006, "z", 20, 4)
    for x, key in ((-w * 0.3, "plastic:red"), (w * 0.32, "plastic:red"), (w * 0.08, "plastic:yellow")):
        tall = 0.055 if key.endswith("red") else 0.012
        s.lathe(
            key,
            [
                (1e-4, z),
                (0.045, z),
                (0.045, z + 0.012),
                (0.018, z + 0.02),
                (0.018, z + tall),
                (1e-4, z + tall),
            ],
            x,
            float(rng.uniform(-d * 0.2, d * 0.2)),
            12,
        )


def pinball(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A pinball machine: sloped glass box on four legs, a lit back box at the far end."""
    low, front, back = h * 0.42, h * 0.52, h * 0.6
    for x in (-w / 2 + 0.03, w / 2 - 0.03):
        for y in (-d / 2 + 0.06, d / 2 - 0.04):
            s.tube(CHROME, (x, y, 0), (x, y, low + 0.04), 0.022, 6)
    s.prism(p.main, [(-d / 2, low), (d / 2, low), (d / 2, front), (-d / 2, back)], -w / 2, w / 2, "x")
    x, y = w / 2 - 0.04, d / 2 - 0.05
    s.quad(
        f"picture:{p.seed % 1000}",
        (x, y, front + 0.012),
        (-x, y, front + 0.012),
        (-x, -d * 0.3, back - 0.012),
        (x, -d * 0.3, back - 0.012),
    )
    for px, py in ((-0.1, -0.1), (0.1, -0.12), (0.0, 0.02)):
        level = front + (back - front) * (0.5 - py)
        s.cyl(
            ("plastic:red", "plastic:yellow", "plastic:blue")[int(px * 10) % 3],
            px * w * 2,
            py * d,
            level,
            0.05,
            0.045,
            n=10,
        )
    s.block(p.main, 0, -d / 2 + 0.1, back - 0.02, w, 0.2, h - back)
    s.front("screen:1", -w * 0.44, w * 0.44, back + 0.05, h - 0.06, -d / 2 + 0.204)
    for side in (-1, 1):
        s.tube(
            "plastic:red",
            (side * w / 2, d * 0.36, front - 0.05),
            (side * (w / 2 + 0.015), d * 0.36, front - 0.05),
            0.02,
            8,
        )
    s.tube(CHROME, (w * 0.38, d / 2, front - 0.06), (w * 0.38, d / 2 + 0.08, front - 0.06), 0.012, 6)


def jukebox(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A jukebox with an arched top, glowing side tubes, a record window and a grille."""
    t = np.linspace(0, np.pi, 11)
    r, body = w / 2, h - w / 2
    outline = [(-r, 0.0), (r, 0.0), *[(r * float(np.cos(a)), body + r * float(np.sin(a))) for a in t]]
    s.prism(p.main, outline, -d / 2, d / 2 - 0.03)
    y = d / 2 - 0.02
    for k, key in ((0.9, "plastic:orange"), (0.76, "plastic:yellow")):
        arc = [(k * r * float(np.cos(a)), y, body + k * r * float(np.sin(a))) for a in t]
        s.path(key, [(k * r, y, 0.16), *arc, (-k * r, y, 0.16)], 0.026, 6)
    s.block("glass:light blue", 0, y, body - 0.12, w * 0.6, 0.02, 0.3)
    s.tube(RUBBER, (0, y + 0.012, body + 0.03), (0, y + 0.018, body + 0.03), 0.12, 14)
    s.block("paper:cream", 0, y, h * 0.44, w * 0.56, 0.02, 0.13)
    for x in np.linspace(-w * 0.25, w * 0.25, 6):
        s.block(CHROME, float(x), y, h * 0.1, 0.02, 0.02, h * 0.3)
    s.block("fabric:dark red", 0, y - 0.006, h * 0.08, w * 0.6, 0.02, h * 0.34)


def poker_table(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An eight-sided table with a felt top, a padded rim and chips."""
    angle = np.pi / 8 + np.arange(8) * np.pi / 4
    ring = [(w / 2 * float(np.cos(a)), d / 2 * float(np.sin(a))) for a in angle]
    s.prism("leather:black", ring, h - 0.07, h, "z")
    s.prism(p.main, [(0.84 * x, 0.84 * y) for x, y in ring], h - 0.01, h + 0.004, "z")
    s.lathe(
        p.frame,
        [
            (1e-4, 0),
            (w * 0.26, 0),
            (w * 0.24, 0.05),
            (w * 0.07, 0.12),
            (w * 0.07, h - 0.1),
            (w * 0.3, h - 0.06),
        ],
        n=12,
    )
    for k in range(6):
        key = ("plastic:red", "plastic:blue", "plastic:white", BLACK)[k % 4]
        s.cyl(
            key,
            w * 0.22 * np.cos(k * 1.1),
            d * 0.22 * np.sin(k * 1.1),
            h + 0.004,
            0.02 + 0.012 * (k % 3),
            0.022,
            n=8,
        )
    s.top(-w * 0.2, -d * 0.2, w * 0.2, d * 0.2, h + 0.004, 0.4)


def cue_rack(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wall rack with upright pool cues and a row of balls."""
    y = -d / 2 + 0.015
    for z in (h * 0.08, h * 0.72):
        s.block(p.main, 0, y, z, w, 0.03, 0.09)
        s.block(p.main, 0, 0, z, w, d * 0.9, 0.025)
    n = max(4, round(w / 0.1))
    for x in np.linspace(-w / 2 + 0.05, w / 2 - 0.05, n):
        s.tube("wood:pine", (float(x), d * 0.1, h * 0.1), (float(x), d * 0.1, h), 0.014, 6, 0.007)
        s.tube(BLACK, (float(x), d * 0.1, h * 0.1), (float(x), d * 0.1, h * 0.38), 0.016, 6)
    s.block(p.main, 0, y, h * 0.44, w, 0.03, 0.1)
    s.block(p.main, 0, 0, h * 0.44, w, d * 0.8, 0.015)
    for i, x in enumerate(np.linspace(-w / 2 + 0.05, w / 2 - 0.05, max(5, round(w / 0.075)))):
        key = ("plastic:red", "plastic:yellow", "plastic:blue", "plastic:purple", "plastic:green")[i % 5]
        s.ball(key, float(x), -d * 0.12, h * 0.44 + 0.045, 0.029, n=7, rings=6)


def dartboard(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A dartboard with sectors, rings and three darts on a round surround."""
    r = w / 2
    s.tube(p.main, (0, -d / 2, r), (0, -d / 2 + 0.02, r), r, 24)
    y = -d / 2 + 0.021
    for k in range(20):
        a0, a1 = 2 * np.pi * (k - 0.5) / 20, 2 * np.pi * (k + 0.5) / 20
        for low, high, keys in (
            (0.08, 0.8, (BLACK, "plastic:cream")),
            (0.72, 0.8, ("plastic:red", "plastic:green")),
            (0.4, 0.47, ("plastic:red", "plastic:green")),
        ):
            level = y if low == 0.08 else y + 0.002
            corners = [
                (f * r * np.sin(a), level, r + f * r * np.cos(a))
                for f, a in ((low, a0), (high, a0), (high, a1), (low, a1))
            ]
            s.add(keys[k % 2], np.array(corners), np.array([[0, 1, 2], [0, 2, 3]]))
    s.tube("plastic:red", (0, y, r), (0, y + 0.004, r), r * 0.08, 12)
    for k in range(3):
        x, z = r * 0.3 * float(rng.normal()), r + r * 0.3 * float(rng.normal())
        x, z = float(np.clip(x, -r * 0.6, r * 0.6)), float(np.clip(z, r * 0.4, r * 1.6))
        s.tube(CHROME, (x, y, z), (x, y + 0.06, z + 0.005), 0.004, 5)
        s.tube(
            ("plastic:yellow", "plastic:blue", "plastic:orange")[k],
            (x, y + 0.06, z + 0.005),
            (x, y + 0.11, z + 0.01),
            0.005,
            4,
            0.014,
        )


def hoop(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A basketball hoop: board with a square, ring and net."""
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.03, h * 0.28, h)
    y, r, z = -d / 2 + 0.032, min(0.2, (d - 0.08) / 2), h * 0.38
    for x0, x1, z0, z1 in (
        (-w * 0.2, w * 0.2, h * 0.44, h * 0.46),
        (-w * 0.2, w * 0.2, h * 0.72, h * 0.74),
        (-w * 0.2, -w * 0.18, h * 0.44, h * 0.74),
        (w * 0.18, w * 0.2, h * 0.44, h * 0.74),
    ):
        s.box("plastic:red", x0, x1, y, y + 0.004, z0, z1)
    cy = y + 0.05 + r
    s.torus("metal:orange", 0, cy, z, r, 0.012, "z", 18, 5)
    s.block("metal:orange", 0, y + 0.03, z - 0.03, 0.12, 0.06, 0.04)
    for k in range(10):
        for turn in (-1, 1):
            a, b = 2 * np.pi * k / 10, 2 * np.pi * (k + turn) / 10
            s.tube(
                "fabric:white",
                (r * np.cos(a), cy + r * np.sin(a), z),
                (0.6 * r * np.cos(b), cy + 0.6 * r * np.sin(b), h * 0.02),
                0.005,
                3,
            )


def chess_set(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A chess board with its pieces in rows."""
    s.block(p.main, 0, 0, 0, w, d, 0.025)
    cell = min(w, d) * 0.92 / 8
    for i in range(8):
        for j in range(8):
            x, y = (i - 3.5) * cell, (j - 3.5) * cell
            s.block("wood:birch" if (i + j) % 2 else "wood:ebony", x, y, 0.025, cell, cell, 0.002)
            if j in (0, 1, 6, 7):
                key = "plastic:cream" if j < 2 else BLACK
                tall = (h - 0.03) * ((1.0 if i in (3, 4) else 0.75) if j in (0, 7) else 0.5)
                s.lathe(
                    key,
                    [
                        (cell * 0.34, 0.027),
                        (cell * 0.16, 0.027 + tall * 0.5),
                        (cell * 0.24, 0.027 + tall * 0.8),
                        (1e-4, 0.027 + tall),
                    ],
                    x,
                    y,
                    6,
                )


def popcorn_machine(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A glass popper with a striped roof on a cart with two spoked wheels."""
    base, glass = h * 0.48, h * 0.86
    s.block(p.main, 0, 0, h * 0.14, w, d, base - h * 0.14)
    for x in (-w / 2 - 0.02, w / 2 + 0.02):
        s.torus(BLACK, x, -d * 0.2, h * 0.17, h * 0.155, 0.014, "x", 16, 4)
        for a in np.arange(3) * np.pi / 3:
            c, e = h * 0.15 * np.cos(a), h * 0.15 * np.sin(a)
            s.tube("metal:gold", (x, -d * 0.2 - c, h * 0.17 - e), (x, -d * 0.2 + c, h * 0.17 + e), 0.006, 4)
        s.block(p.main, x * 0.85, d * 0.4, 0, 0.03, 0.03, h * 0.15)
    for x in (-w / 2 + 0.015, w / 2 - 0.015):
        for y in (-d / 2 + 0.015, d / 2 - 0.015):
            s.block("metal:gold", x, y, base, 0.025, 0.025, glass - base)
    s.block("glass:light blue", 0, -d / 2 + 0.012, base, w - 0.06, 0.006, glass - base)
    for k in range(26):
        a, reach = 2.4 * k, 0.4 * float(np.sqrt((k + 0.5) / 26))
        s.ball(
            "foam:cream",
            w * reach * np.cos(a),
            d * reach * np.sin(a),
            base + 0.04 + 0.1 * (1 - 2 * reach),
            0.045,
            n=5,
            rings=4,
        )
    s.cyl(CHROME, 0, 0, glass - 0.2, 0.13, w * 0.18, n=10)
    for i in range(6):
        x = -w / 2 + w / 6 * (i + 0.5)
        s.block(p.main if i % 2 else "plastic:white", x, 0, glass, w / 6, d + 0.04, h - glass)


def neon_sign(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A dark plate with glowing tubes: a star, a heart, an arrow or a cup."""
    s.box(BLACK, -w / 2, w / 2, -d / 2, -d / 2 + 0.015, 0, h)
    figures = {
        0: [(np.sin(k * 4 * np.pi / 5) * 0.4, 0.5 + np.cos(k * 4 * np.pi / 5) * 0.4) for k in range(6)],
        1: [
            (0, 0.12),
            (-0.36, 0.52),
            (-0.36, 0.74),
            (-0.2, 0.86),
            (0, 0.7),
            (0.2, 0.86),
            (0.36, 0.74),
            (0.36, 0.52),
            (0, 0.12),
        ],
        2: [
            (-0.4, 0.5),
            (0.2, 0.5),
            (0.2, 0.78),
            (0.42, 0.42),
            (0.2, 0.1),
            (0.2, 0.36),
            (-0.4, 0.36),
            (-0.4, 0.5),
        ],
        3: [
            (-0.3, 0.85),
            (0.3, 0.85),
            (0.02, 0.45),
            (0.02, 0.15),
            (0.2, 0.12),
            (-0.2, 0.12),
            (-0.02, 0.15),
            (-0.02, 0.45),
            (-0.3, 0.85),
        ],
    }
    points = [(x * w, d * 0.2, z * h) for x, z in figures[int(rng.integers(4))]]
    s.path(p.main, points, 0.014, 6)
    for x, z in ((-0.46, 0.04), (-0.46, 0.96)):
        s.path(p.second, [(x * w, d * 0.2, z * h), (-x * w, d * 0.2, z * h)], 0.012, 6)
    for x in (-w * 0.46, w * 0.46):
        s.path(p.second, [(x, d * 0.2, 0.04 * h), (x, d * 0.2, 0.96 * h)], 0.012, 6)
