"""Builders of instruments, toys, games and pet things (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator
BLACK, CHROME = "plastic:black", "metal:silver"


def piano(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An upright piano."""
    s.box(p.main, -w / 2, w / 2, -d / 2, -d * 0.05, 0, h)
    s.box(p.main, -w / 2, w / 2, -d * 0.05, d / 2, h * 0.52, h * 0.6)
    for x in (-w / 2, w / 2 - 0.06):
        s.box(p.main, x, x + 0.06, -d * 0.05, d / 2 - 0.02, 0, h * 0.68)
    z = h * 0.6 + 0.004
    s.quad(
        "keys:0",
        (w / 2 - 0.07, -d * 0.0, z),
        (-w / 2 + 0.07, 0, z),
        (-w / 2 + 0.07, d * 0.42, z),
        (w / 2 - 0.07, d * 0.42, z),
    )
    s.block(p.second, 0, -d * 0.04, h * 0.7, w * 0.5, 0.02, h * 0.2)
    s.top(-w / 2 + 0.04, -d / 2 + 0.02, w / 2 - 0.04, -d * 0.07, h, 0.6)


def grand_piano(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A grand piano; the keys are at the front."""
    outline = [
        (-w / 2, d / 2 - 0.25),
        (-w / 2, -d * 0.38),
        (-w * 0.32, -d / 2),
        (-w * 0.02, -d * 0.46),
        (w * 0.2, -d * 0.2),
        (w / 2, 0.0),
        (w / 2, d / 2 - 0.25),
    ]
    low, high = h * 0.6, h
    s.prism(p.main, outline, low, high, "z")
    s.box(p.main, -w / 2, w / 2, d / 2 - 0.25, d / 2, low, low + 0.1)
    z = low + 0.104
    s.quad(
        "keys:0",
        (w / 2 - 0.06, d / 2 - 0.22, z),
        (-w / 2 + 0.06, d / 2 - 0.22, z),
        (-w / 2 + 0.06, d / 2 - 0.03, z),
        (w / 2 - 0.06, d / 2 - 0.03, z),
    )
    for x, y in ((-w * 0.4, d * 0.28), (w * 0.4, d * 0.28), (-w * 0.25, -d * 0.36)):
        s.cyl(p.main, x, y, 0, low, 0.05, 0.07, 8)


def keyboard_stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """An electronic keyboard on an X stand."""
    s.block(p.main, 0, 0, h - 0.1, w, d, 0.09)
    z = h - 0.006
    s.quad(
        "keys:0",
        (w / 2 - 0.04, -d * 0.05, z),
        (-w / 2 + 0.04, -d * 0.05, z),
        (-w / 2 + 0.04, d * 0.45, z),
        (w / 2 - 0.04, d * 0.45, z),
    )
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
    for x, y, z, rr, tall in (
        (-0.19, 0.05, 2 * r + 0.06, 0.14, 0.18),
        (0.19, 0.05, 2 * r + 0.06, 0.14, 0.18),
        (w * 0.34, -d * 0.22, 0.25, 0.2, 0.35),
        (-w * 0.33, -d * 0.25, 0.5, 0.17, 0.14),
    ):
        s.cyl(p.main, x, y, z, tall, rr, n=12)
        s.disc("plastic:white", x, y, z + tall + 0.004, rr * 0.95, 12)
        for a in (0.5, 2.6, 4.7):
            s.tube(
                CHROME,
                (x + rr * np.cos(a), y + rr * np.sin(a), 0),
                (x + rr * 0.8 * np.cos(a), y + rr * 0.8 * np.sin(a), z),
                0.01,
                4,
            )
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
        s.tube(
            p.frame, (0, 0, low if style != "telescope" else h * 0.62), (float(x), float(y), 0.01), 0.014, 5
        )
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
        x, y, up = v * r * 0.9
        s.ball(p.second, x, y, up + z, r * 0.3, n=7, rings=5)
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
        s.block(p.second, 0, 0, 0, w * 0.92, d * 0.92, 0.13)
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
    for x, z, key in (
        (-w * 0.25, 0.02, "plastic:pink"),
        (w * 0.2, body / 2 + 0.02, "plastic:blue"),
        (w * 0.25, 0.02, "plastic:yellow"),
    ):
        s.block(key, x, 0, z, w * 0.2, d * 0.4, body * 0.16)


def blocks(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A pile of toy blocks."""
    keys = ("plastic:red", "plastic:blue", "plastic:yellow", "plastic:green", p.main)
    size = h / 3
    for i, (x, y, z) in enumerate(
        ((-1, 0, 0), (0, 0.4, 0), (1, -0.3, 0), (-0.4, 0.2, 1), (0.5, 0, 1), (0, 0.1, 2))
    ):
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
            s.ball(
                ("plastic:red", "plastic:yellow", "plastic:blue", "plastic:white")[i % 4],
                float(rng.uniform(-w * 0.4, w * 0.4)),
                float(rng.uniform(-d * 0.35, d * 0.35)),
                h - 0.02,
                0.029,
                n=6,
                rings=5,
            )
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
    s.prism(
        p.main,
        [(-d / 2, h * 0.48), (d * 0.0, h * 0.48), (-d * 0.15, h * 0.82), (-d / 2, h * 0.82)],
        -w / 2,
        w / 2,
        "x",
    )
    s.prism(p.main, [(-d / 2, h * 0.82), (d * 0.3, h * 0.82), (d * 0.3, h), (-d / 2, h)], -w / 2, w / 2, "x")
    x = w / 2 - 0.04
    s.quad(
        "screen:1",
        (x, d * 0.005, h * 0.5),
        (-x, d * 0.005, h * 0.5),
        (-x, -d * 0.14, h * 0.81),
        (x, -d * 0.14, h * 0.81),
    )
    s.front(f"picture:{p.seed % 1000}", -x, x, h * 0.84, h * 0.98, d * 0.3 + 0.004)
    s.prism(
        BLACK, [(0.0, h * 0.48), (d / 2, h * 0.46), (d / 2, h * 0.49), (0.0, h * 0.52)], -w / 2, w / 2, "x"
    )
    for i in range(3):
        s.ball(
            ("plastic:red", "plastic:yellow", "plastic:blue")[i],
            -w * 0.2 + 0.1 * i,
            d * 0.28,
            h * 0.51,
            0.025,
            n=6,
            rings=4,
        )


def pet_house(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "bed") -> None:
    """A pet bed, cat tree, cage or aquarium."""
    if style == "bed":
        s.lathe(
            p.main,
            [
                (1e-4, 0),
                (w / 2, 0),
                (w / 2, h * 0.8),
                (w * 0.44, h),
                (w * 0.36, h * 0.7),
                (w * 0.34, h * 0.35),
                (1e-4, h * 0.35),
            ],
            n=16,
            sy=d / w,
        )
        s.ball(p.second, 0, 0, h * 0.35, w * 0.32, d * 0.32, h * 0.15, 10, 5)
    elif style == "cat tree":
        s.block(p.main, 0, 0, 0, w, d, 0.05)
        for x, y, top in ((-w * 0.3, -d * 0.25, h), (w * 0.3, d * 0.2, h * 0.55)):
            s.cyl("knit:tan", x, y, 0.05, top - 0.1, 0.05, n=9)
            s.block(p.main, x * 0.7, y * 0.7, top - 0.06, w * 0.55, d * 0.55, 0.06)
        s.block(p.second, w * 0.15, -d * 0.12, 0.05, w * 0.55, d * 0.6, h * 0.24)
        s.tube(
            BLACK, (w * 0.15, d * 0.19, h * 0.16), (w * 0.15, d * 0.195, h * 0.16), min(0.09, h * 0.09), 10
        )
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
            s.box(
                "leaf:green",
                float(x) - 0.02,
                float(x) + 0.02,
                d * 0.485,
                d * 0.49,
                h * 0.1,
                h * rng.uniform(0.3, 0.7),
            )
        for _ in range(4):
            s.ball(
                "plastic:orange",
                float(rng.uniform(-w * 0.4, w * 0.4)),
                d * 0.488,
                h * rng.uniform(0.4, 0.75),
                0.035,
                0.008,
                0.02,
                6,
                5,
            )
        s.block(BLACK, 0, 0, h - 0.06, w, d, 0.06)
