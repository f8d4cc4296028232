"""Builders of lamps, plants, pictures, textiles and ornaments (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_z
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator


def floor_lamp(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A standing or table lamp: foot, pole, shade (drum, cone or bowl)."""
    r = w / 2
    shade = min(0.32, h * 0.42)
    if h < 0.8 and rng.random() < 0.6:
        s.lathe(
            p.second,
            [(1e-4, 0), (r * 0.5, 0), (r * 0.62, h * 0.2), (r * 0.2, h * 0.5), (0.015, h * 0.6)],
            n=10,
        )
    else:
        s.cyl(p.frame, 0, 0, 0, 0.025, r * 0.7, n=12)
        s.tube(p.frame, (0, 0, 0.02), (0, 0, h - shade * 0.6), 0.012 if h > 0.8 else 0.009)
    style = rng.integers(3)
    lower, upper = (r, r * 0.95) if style == 0 else (r, r * 0.5) if style == 1 else (r * 0.55, r)
    s.lathe(p.main, [(lower, h - shade), (upper, h)], n=14)
    s.disc("plastic:cream", 0, 0, h - shade * 0.35, upper * 0.9, 10)
    if h > 0.8 and style == 2:
        s.tube(p.frame, (0, 0, h - shade), (0, 0, h - shade * 0.5), 0.02)


def arc_lamp(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bent reading lamp with a small metal shade."""
    s.cyl(p.frame, -w * 0.25, 0, 0, 0.03, min(0.14, w / 4), n=12)
    points = [
        (-w * 0.25, 0, 0.03),
        (-w * 0.25, 0, h * 0.62),
        (-w * 0.12, 0, h * 0.9),
        (w * 0.08, 0, h),
        (w * 0.28, 0, h * 0.86),
    ]
    s.path(p.frame, points, 0.012)
    s.lathe(
        p.main, [(0.03, h * 0.87), (min(0.16, w * 0.22), h * 0.87 - min(0.15, h * 0.25))], w * 0.28, 0, 10
    )


def hanging_lamp(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "pendant") -> None:
    """A ceiling light, drawn from z=0 (lowest) to h (ceiling)."""
    r = w / 2
    if style == "chandelier":
        s.tube(p.frame, (0, 0, 0.1), (0, 0, h), 0.015)
        s.ball(p.frame, 0, 0, 0.12, 0.06, n=7, rings=5)
        for a in np.arange(6) * np.pi / 3:
            x, y = r * 0.9 * np.cos(a), r * 0.9 * np.sin(a)
            s.path(p.frame, [(0, 0, 0.12), (x * 0.6, y * 0.6, 0.06), (x, y, 0.15)], 0.01, 5)
            s.cyl("paper:cream", x, y, 0.15, 0.1, 0.018, n=6)
            s.ball("glass:yellow", x, y, 0.27, 0.025, n=5, rings=4)
    elif style == "fan":
        s.tube(p.frame, (0, 0, 0.15), (0, 0, h), 0.02)
        s.cyl(p.frame, 0, 0, 0.1, 0.12, 0.11, n=10)
        s.ball("glass:cream", 0, 0, 0.08, 0.1, n=8, rings=5)
        for a in np.arange(5) * 2 * np.pi / 5:
            mark = s.mark()
            s.box(p.main, 0.1, r, -0.07, 0.07, 0.15, 0.162)
            s.bend(turn_z(float(np.degrees(a))), mark)
    elif style == "flush":
        s.lathe(p.main, [(1e-4, 0), (r * 0.7, h * 0.2), (r, h * 0.8), (r, h)], n=14)
        s.torus(p.frame, 0, 0, h - 0.015, r, 0.015, "z", 14, 4)
    else:
        s.tube("plastic:black", (0, 0, 0.25), (0, 0, h), 0.006, 4)
        s.cyl("plastic:black", 0, 0, h - 0.03, 0.03, 0.05, n=8)
        s.lathe(p.main, [(r, 0), (r * (0.95 if rng.random() < 0.4 else 0.4), 0.24), (0.01, 0.26)], n=14)
        s.ball("glass:yellow", 0, 0, 0.08, 0.05, n=6, rings=5)


def sconce(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A wall lamp."""
    s.block(p.frame, 0, -d / 2 + 0.01, h * 0.2, w * 0.4, 0.02, h * 0.5)
    s.tube(p.frame, (0, -d / 2, h * 0.4), (0, d * 0.1, h * 0.4), 0.012)
    s.lathe(p.main, [(w * 0.3, h * 0.4), (w / 2, h)], 0, d * 0.05, 10, 1.0, d / w * 0.9)


def _leaf(
    s: Shape, key: str, base: np.ndarray, angle: float, length: float, width: float, rise: float
) -> None:
    """One bent leaf of four triangles."""
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    side = np.array([-np.sin(angle), np.cos(angle), 0.0]) * width / 2
    middle = base + out * length * 0.5 + [0, 0, rise]
    tip = base + out * length + [0, 0, rise * 0.55]
    vertices = np.array([base, middle - side, middle + side, tip])
    s.add(key, vertices, np.array([[0, 1, 2], [1, 3, 2]]))


def plant(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "") -> None:
    """A pot with leaves: bushy, palm, snake plant, tree, cactus or flowers."""
    style = style or ("bush", "palm", "snake", "tree")[int(rng.integers(4))]
    pot = min(0.35 * h, 0.34) if h > 0.5 else 0.4 * h
    r = min(w * 0.32, pot * 0.62)
    s.lathe(
        p.main,
        [(1e-4, 0), (r * 0.7, 0), (r, pot), (r * 0.88, pot), (r * 0.8, pot * 0.88), (1e-4, pot * 0.88)],
        n=10,
    )
    greens = ("leaf:green", "leaf:dark green", "leaf:olive")
    green = greens[int(rng.integers(3))]
    centre = np.array([0.0, 0.0, pot * 0.85])
    reach, tall = w / 2, h - pot
    if style == "snake":
        for a in rng.uniform(0, 2 * np.pi, 16):
            x, y = r * 0.6 * np.cos(a), r * 0.6 * np.sin(a)
            t = tall * rng.uniform(0.6, 1.0)
            s.add(
                green,
                np.array(
                    [
                        [x - 0.03, y, pot * 0.8],
                        [x + 0.03, y, pot * 0.8],
                        [x * 1.4 + 0.02, y * 1.4, pot + t * 0.6],
                        [x * 1.5, y * 1.5, pot + t],
                    ]
                ),
                np.array([[0, 1, 2], [0, 2, 3]]),
            )
            s.add(
                green,
                np.array([[x, y - 0.03, pot * 0.8], [x, y + 0.03, pot * 0.8], [x * 1.5, y * 1.5, pot + t]]),
                np.array([[0, 1, 2]]),
            )
    elif style == "cactus":
        s.lathe(
            green, [(r * 0.45, pot * 0.8), (r * 0.6, pot + tall * 0.5), (r * 0.4, h - 0.03), (1e-4, h)], n=8
        )
        for side in (-1, 1):
            z = pot + tall * (0.35 + 0.1 * side)
            s.path(green, [(0, 0, z), (side * r * 1.3, 0, z), (side * r * 1.3, 0, z + tall * 0.3)], r * 0.25)
    elif style == "palm":
        top = centre + [0, 0, tall * 0.45]
        s.tube("wood:walnut", centre, top, 0.025 * h + 0.005)
        for a in np.arange(9) * 2 * np.pi / 9 + rng.uniform(0, 1):
            for lift in (0.25, 0.5):
                _leaf(
                    s, green, top, float(a + lift), reach * rng.uniform(0.8, 1.0), reach * 0.28, tall * lift
                )
    elif style == "tree":
        for x, y in ((0.02, 0.0), (-0.02, 0.02)):
            s.tube("wood:walnut", (x, y, pot * 0.8), (x * 3, y * 3, pot + tall * 0.6), 0.014 * h)
        for _ in range(26):
            v = rng.normal(size=3)
            v /= np.linalg.norm(v)
            base = np.array([0, 0, pot + tall * 0.62]) + v * [reach * 0.5, reach * 0.5, tall * 0.25]
            _leaf(
                s,
                greens[int(rng.integers(2))],
                base,
                float(rng.uniform(0, 6.28)),
                reach * 0.5,
                reach * 0.3,
                tall * 0.08,
            )
    else:
        for a in np.arange(20) * 2.4:
            lift = float(rng.uniform(0.3, 0.95))
            _leaf(s, green, centre, float(a), reach * rng.uniform(0.6, 1.0), reach * 0.35, tall * lift)
        if style == "flower":
            for a in rng.uniform(0, 6.28, 7):
                x, y, z = (
                    reach * 0.5 * np.cos(a),
                    reach * 0.5 * np.sin(a),
                    pot + tall * rng.uniform(0.7, 0.95),
                )
                s.tube(green, (0, 0, pot * 0.8), (x, y, z), 0.006, 4)
                s.ball(p.second, x, y, z, 0.035, n=6, rings=5)


def vase(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, flowers: bool = False) -> None:
    """A turned vase or urn, perhaps with flowers."""
    r = w / 2
    tall = h * (0.6 if flowers else 1.0)
    kinds = (
        [(0.6, 0), (1, 0.35), (0.5, 0.8), (0.6, 1)],
        [(0.7, 0), (0.75, 0.3), (1, 0.7), (0.45, 0.92), (0.55, 1)],
        [(0.9, 0), (1, 0.5), (0.9, 1)],
    )
    profile = [(1e-4, 0.0)] + [(r * a, tall * b) for a, b in kinds[int(rng.integers(3))]]
    s.lathe(p.main, profile, n=12)
    if flowers:
        for a in np.arange(9) * 2.4:
            x, y, z = r * 0.8 * np.cos(a), r * 0.8 * np.sin(a), h * rng.uniform(0.8, 0.95)
            s.tube("leaf:green", (0, 0, tall * 0.8), (x, y, z), 0.005, 4)
            s.ball(p.second, x, y, z, min(0.04, r * 0.4), n=6, rings=5)


def picture(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, art: str = "picture", mat: bool = True
) -> None:
    """A framed picture, mirror, board or map; its own painting for each instance."""
    edge = min(0.05, 0.1 * min(w, h))
    s.box(p.frame, -w / 2, w / 2, -d / 2, d / 2 - 0.004, 0, h)
    if art == "mirror":
        s.box("glass:light grey", -w / 2 + edge, w / 2 - edge, 0, d / 2, edge, h - edge)
        return
    if art == "board":
        s.box(p.main, -w / 2 + edge, w / 2 - edge, 0, d / 2, edge, h - edge)
        for _ in range(5 if p.second != p.main else 0):
            x, z = rng.uniform(-w * 0.35, w * 0.35), rng.uniform(h * 0.2, h * 0.75)
            s.block(
                "paper:white" if rng.random() < 0.5 else p.second,
                float(x),
                d / 2,
                float(z),
                0.12,
                0.006,
                0.09,
            )
        return
    if mat and rng.random() < 0.4:
        s.box("paper:white", -w / 2 + edge, w / 2 - edge, 0, d / 2, edge, h - edge)
        edge *= 2.2
    s.front(f"{art}:{p.seed}", -w / 2 + edge, w / 2 - edge, edge, h - edge, d / 2 + 0.002)


def clock(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "wall") -> None:
    """A wall clock, or a grandfather clock in a tall case."""
    if style == "case":
        s.block(p.main, 0, 0, 0, w, d, h * 0.22)
        s.block(p.main, 0, 0, h * 0.22, w * 0.72, d * 0.8, h * 0.5)
        s.block(p.main, 0, 0, h * 0.72, w, d, h * 0.22)
        s.prism(p.main, [(-w / 2, h * 0.94), (w / 2, h * 0.94), (0, h)], -d / 2, d / 2)
        s.block("glass:dark brown", 0, d * 0.4, h * 0.26, w * 0.5, 0.01, h * 0.42)
        s.tube("metal:gold", (0, d * 0.41, h * 0.3), (0, d * 0.43, h * 0.3), 0.05, 10)
        s.front(
            f"face:{p.seed % 3}", -w * 0.38, w * 0.38, h * 0.83 - w * 0.38, h * 0.83 + w * 0.38, d / 2 + 0.003
        )
        return
    r = w / 2
    s.tube(p.main, (0, -d / 2, r), (0, d / 2 - 0.008, r), r, 18)
    s.front(f"face:{p.seed % 3}", -r * 0.68, r * 0.68, r * 0.32, r * 1.68, d / 2 + 0.0)
    s.torus(p.main, 0, d / 2 - 0.01, r, r * 0.96, 0.02, "y", 18, 5)


def curtain(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Pleated cloth on a rod: two halves drawn aside."""
    s.tube(p.frame, (-w / 2, 0, h - 0.02), (w / 2, 0, h - 0.02), 0.014)
    for side in (-1, 1):
        x = np.linspace(side * w / 2, side * w * 0.24, 13)
        y = np.where(np.arange(13) % 2 == 0, -d * 0.4, d * 0.4)
        low, high = np.column_stack([x, y, np.full(13, 0.04)]), np.column_stack([x, y, np.full(13, h - 0.03)])
        for i in range(12):
            s.add(
                p.main, np.array([low[i], low[i + 1], high[i + 1], high[i]]), np.array([[0, 1, 2], [0, 2, 3]])
            )


def blind(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A half-drawn slatted blind, hanging from z=h."""
    s.block(p.frame, 0, 0, h - 0.05, w, d, 0.05)
    for z in np.arange(h * 0.35, h - 0.06, 0.055):
        s.block(p.main, 0, 0, float(z), w, d * 0.5, 0.04)


def rug(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, style: str = "rug") -> None:
    """A flat rug or mat, square or round."""
    if style == "round":
        s.cyl(p.main, 0, 0, 0, 0.014, w / 2, n=20)
        s.torus(p.second, 0, 0, 0.008, w / 2 - 0.04, 0.012, "z", 20, 4)
        return
    s.block(p.second, 0, 0, 0, w, d, 0.012)
    if style == "mat":
        s.block(p.main, 0, 0, 0.012, w - 0.05, d - 0.05, 0.004)
    else:
        x, y, z = w / 2, d / 2, 0.0135
        s.quad(
            f"rug:{p.main.split(':')[1]}+{p.second.split(':')[1]}:{p.seed % 1000}",
            (-x, -y, z),
            (x, -y, z),
            (x, y, z),
            (-x, y, z),
        )


def towel(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, rail: bool = True) -> None:
    """A towel over a rail, or a robe or coat on a hook."""
    s.tube("metal:silver", (-w / 2, 0, h - 0.02), (w / 2, 0, h - 0.02), 0.01)
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.tube("metal:silver", (x, -d / 2, h - 0.02), (x, 0, h - 0.02), 0.008, 5)
    s.box(p.main, -w * 0.36, w * 0.36, -0.018, 0.018, 0, h)
    s.box(p.second, -w * 0.362, w * 0.362, -0.02, 0.02, h * 0.12, h * 0.2)


def hooks(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A board with hooks and hanging coats."""
    s.box(p.frame, -w / 2, w / 2, -d / 2, -d / 2 + 0.03, h - 0.12, h)
    words = (p.main, p.second, "fabric:navy", "fabric:grey", "fabric:dark red")
    for x in np.linspace(-w / 2 + 0.12, w / 2 - 0.12, max(2, int(w / 0.24))):
        s.tube("metal:silver", (float(x), -d / 2, h - 0.08), (float(x), 0.0, h - 0.06), 0.01, 5)
        if rng.random() < 0.75:
            key = words[int(rng.integers(5))]
            s.lathe(
                key,
                [(0.03, h - 0.08), (0.1, h - 0.2), (0.13, h * rng.uniform(0.05, 0.3)), (1e-4, h * 0.1)],
                float(x),
                d * 0.05,
                7,
                1.0,
                0.6,
            )


def books(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A small pile of books, magazines or folded cloth."""
    n = max(1, round(h / 0.035))
    keys = (p.main, p.second, "paper:white", "paper:navy", "paper:dark red")
    for i in range(n):
        mark = s.mark()
        s.block(
            keys[i % 5] if n > 1 else p.main,
            0,
            0,
            i * h / n,
            w * rng.uniform(0.85, 1),
            d * rng.uniform(0.85, 1),
            h / n - 0.002,
        )
        s.bend(turn_z(float(rng.uniform(-10, 10))), mark)


def statue(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bust or abstract figure on a plinth."""
    r = min(w, d) / 2
    if rng.random() < 0.5:
        s.block(p.second, 0, 0, 0, w * 0.8, d * 0.8, h * 0.3)
        s.lathe(
            p.main,
            [(r * 0.4, h * 0.3), (r * 0.9, h * 0.42), (r * 0.85, h * 0.56), (r * 0.3, h * 0.66)],
            n=10,
            sy=0.7,
        )
        s.ball(p.main, 0, 0, h * 0.83, r * 0.42, r * 0.5, h * 0.17, 9, 7)
    else:
        s.cyl(p.second, 0, 0, 0, h * 0.1, r * 0.9, n=10)
        s.lathe(
            p.main,
            [(r * 0.3, h * 0.1), (r * 0.6, h * 0.35), (r * 0.25, h * 0.55), (r * 0.65, h * 0.75), (1e-4, h)],
            n=8,
        )


def candle_holder(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Candlestick with a candle."""
    s.lathe(
        p.frame,
        [(1e-4, 0), (w / 2, 0), (w * 0.4, 0.02), (0.012, 0.04), (0.012, h * 0.5), (w * 0.25, h * 0.55)],
        n=9,
    )
    s.cyl(p.main, 0, 0, h * 0.52, h * 0.48, min(0.02, w * 0.2), n=7)


def screen_panels(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A folding room divider of three panels."""
    third = w / 3
    for i in range(3):
        mark = s.mark()
        s.block(p.frame, 0, 0, 0, third * 1.02, 0.025, h)
        s.block(p.main, 0, 0, 0.08, third * 0.86, 0.03, h - 0.16)
        s.bend(turn_z(22 if i % 2 else -22), mark)
        s.bend(np.array([[1, 0, 0, (i - 1) * third * 0.98], [0, 1, 0, 0], [0, 0, 1.0, 0]]), mark)


def fireplace(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A mantelpiece around a dark opening with logs."""
    side = w * 0.2
    for x0 in (-w / 2, w / 2 - side):
        s.box(p.main, x0, x0 + side, -d / 2, d / 2 - 0.05, 0, h - 0.06)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.05, h * 0.68, h - 0.06)
    s.box(p.second, -w / 2 - 0.0, w / 2 + 0.0, -d / 2, d / 2, h - 0.06, h)
    s.box("stone:black", -w / 2 + side, w / 2 - side, -d / 2, -d / 2 + 0.02, 0, h * 0.68)
    s.box("stone:dark grey", -w / 2 + side, w / 2 - side, -d / 2, d / 2, 0, 0.04)
    for i, z in ((0, 0.09), (1, 0.09), (2, 0.17)):
        y = -d * 0.15 + (0.12 * i if i < 2 else 0.06)
        s.tube("wood:walnut", (-w * 0.16, y, z), (w * 0.16, y, z), 0.05, 7)
    s.ball("plastic:orange", 0, -d * 0.05, 0.2, 0.1, 0.05, 0.1, 6, 5)
    s.top(-w / 2 + 0.04, -d / 2 + 0.02, w / 2 - 0.04, d / 2 - 0.02, h, 0.5)
