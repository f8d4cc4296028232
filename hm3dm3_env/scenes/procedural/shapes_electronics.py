"""Builders of screens, computers, speakers (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

BLACK, CHROME = "plastic:black", "metal:silver"


def tv(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, wall: bool = False
) -> None:
    """A flat screen, on a foot unless on the wall."""
    low = 0.0 if wall else 0.08
    s.box(BLACK, -w / 2, w / 2, -0.03 if not wall else -d / 2, 0.015 if not wall else d / 2 - 0.005, low, h)
    y = 0.018 if not wall else d / 2
    s.front(
        f"dark:{p.seed % 3}" if w > 0.8 or p.seed % 2 else f"screen:{p.seed % 3}",
        -w / 2 + 0.015,
        w / 2 - 0.015,
        low + 0.02,
        h - 0.015,
        y,
    )
    if not wall:
        s.block(BLACK, 0, -0.01, 0.012, 0.06, 0.04, 0.08)
        s.block(BLACK, 0, 0, 0, w * 0.4, d, 0.015)


def laptop(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """An open laptop."""
    s.block(p.main, 0, 0, 0, w, d, 0.018)
    s.block(BLACK, 0, -d * 0.08, 0.018, w * 0.88, d * 0.45, 0.002)
    y0, y1 = -d / 2, -d / 2 - h * 0.25
    s.prism(p.main, [(y0, 0.015), (y0 + 0.012, 0.015), (y1 + 0.012, h), (y1, h)], -w / 2, w / 2, "x")
    x = w / 2 - 0.01
    s.quad(
        f"screen:{p.seed % 3}",
        (x, y0 + 0.012, 0.03),
        (-x, y0 + 0.012, 0.03),
        (-x, y1 + 0.014, h - 0.01),
        (x, y1 + 0.014, h - 0.01),
    )


def computer(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A tower case, server, safe or speaker-like block with a front panel."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.01, 0.01, h)
    s.block(p.second, 0, d / 2 - 0.006, 0.02, w * 0.9, 0.012, h - 0.03)
    s.block(CHROME, 0, d / 2 + 0.002, h * 0.85, w * 0.6, 0.004, 0.012)
    s.disc(CHROME, 0, 0, h + 0.002, 0.02, 6)


def speaker(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A speaker or amplifier with round cones."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.01, 0, h)
    n = 3 if h > 2.6 * w else 2 if h > 1.5 * w else 1
    r = w * 0.38
    for i in range(n):
        z = h / n * (i + 0.5)
        s.torus("rubber:dark grey", 0, d / 2 - 0.008, z, r, 0.012, "y", 12, 4)
        s.tube("rubber:black", (0, d / 2 - 0.012, z), (0, d / 2 + 0.0, z), r, 12)
        s.ball("metal:silver", 0, d / 2 - 0.005, z, r * 0.3, 0.015, r * 0.3, n=7, rings=4)


def printer(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A printer with a tray and sheets."""
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.06, 0, h * 0.85)
    s.box(p.second, -w * 0.4, w * 0.4, -d * 0.3, d * 0.2, h * 0.85, h)
    s.block(BLACK, 0, d / 2 - 0.06, h * 0.3, w * 0.7, 0.02, h * 0.2)
    s.block("paper:white", 0, d / 2 - 0.06, h * 0.28, w * 0.5, 0.12, 0.01)
