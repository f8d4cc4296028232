"""Builders of bathroom fixtures (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_appliance import CHROME, WHITE, tap
from hm3dm3_env.scenes.procedural.shapes_seating import Paint, legs


def toilet(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """Foot, bowl, seat and cistern."""
    back = -d / 2
    s.box(p.main, -w / 2, w / 2, back, back + 0.18, 0.38, h)
    s.box(p.main, -w / 2 - 0.01, w / 2 + 0.01, back - 0.0, back + 0.19, h - 0.04, h)
    s.block(CHROME, 0, back + 0.1, h, 0.06, 0.04, 0.012)
    cy = back + 0.18 + (d - 0.18) * 0.47
    r = w * 0.5
    s.lathe(
        p.main,
        [(1e-4, 0), (r * 0.6, 0), (r * 0.55, 0.15), (r * 0.98, 0.37), (r, 0.4)],
        0,
        cy,
        12,
        1.0,
        (d - 0.2) / w,
    )
    s.lathe(
        p.second, [(r, 0.4), (r * 1.03, 0.42), (r * 0.98, 0.44), (1e-4, 0.445)], 0, cy, 12, 1.0, (d - 0.2) / w
    )
    s.box(p.main, -w * 0.3, w * 0.3, back + 0.1, back + 0.4, 0.0, 0.38)


def bidet(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A low bowl with a tap."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0),
            (r * 0.6, 0),
            (r * 0.6, h * 0.5),
            (r, h),
            (r * 0.75, h),
            (r * 0.5, h * 0.75),
            (1e-4, h * 0.75),
        ],
        0,
        0,
        12,
        1.0,
        d / w,
    )
    tap(s, 0, -d * 0.42, h - 0.02, 0.1)


def washbasin(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, style: str = "vanity"
) -> None:
    """A basin on a cabinet ("vanity"), a pedestal, or legs as a deep utility sink."""
    if style == "pedestal":
        s.lathe(WHITE, [(1e-4, 0), (0.13, 0), (0.09, 0.1), (0.09, h - 0.2)], 0, -d * 0.1, 10)
        s.lathe(
            WHITE,
            [
                (1e-4, h - 0.2),
                (w * 0.25, h - 0.2),
                (w / 2, h - 0.03),
                (w / 2, h),
                (w * 0.4, h),
                (w * 0.25, h - 0.1),
                (1e-4, h - 0.1),
            ],
            0,
            0,
            14,
            1.0,
            d / w,
        )
    elif style == "utility":
        legs(s, CHROME, w, d, h - 0.35, 0.04, 0.0)
        s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, h - 0.35, h - 0.34)
        for x0, x1, y0, y1 in (
            (-w / 2, w / 2, -d / 2, -d / 2 + 0.06),
            (-w / 2, w / 2, d / 2 - 0.03, d / 2),
            (-w / 2, -w / 2 + 0.03, -d / 2, d / 2),
            (w / 2 - 0.03, w / 2, -d / 2, d / 2),
        ):
            s.box(p.main, x0, x1, y0, y1, h - 0.35, h)
    else:
        s.box(p.main, -w / 2, w / 2, -d / 2, d / 2 - 0.02, 0.12, h - 0.05)
        n = 2 if w > 0.55 else 1
        for i in range(n):
            x = -w / 2 + w / n * (i + 0.5)
            s.block(p.second, x, d / 2 - 0.013, 0.14, w / n - 0.015, 0.018, h - 0.22)
            s.block(
                p.frame,
                x + (w / n / 2 - 0.05) * (1 if i == 0 else -1),
                d / 2 + 0.003,
                h * 0.6,
                0.016,
                0.018,
                0.1,
            )
        s.block("marble:white", 0, 0, h - 0.05, w, d, 0.03)
        for x in (-w * 0.25, w * 0.25) if w > 1.1 else (0.0,):
            r = min(0.22, w * 0.36)
            s.lathe(
                WHITE,
                [
                    (1e-4, h - 0.02),
                    (r * 0.6, h - 0.02),
                    (r, h + 0.1),
                    (r * 0.92, h + 0.1),
                    (r * 0.5, h + 0.03),
                    (1e-4, h + 0.03),
                ],
                x,
                0.02,
                12,
                1.0,
                0.8,
            )
            tap(s, x, -d * 0.38, h - 0.02, 0.2)
        if w > 0.7:
            s.top(-w / 2 + 0.02, -d / 2 + 0.02, -w / 2 + 0.17, d / 2 - 0.1, h - 0.02, 0.4)
        return
    tap(s, 0, -d * 0.42, h - 0.02, 0.16)


def bathtub(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A built-in tub, long side along the wall."""
    rim = 0.07
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + rim, 0, h)
    s.box(p.second, -w / 2, w / 2, d / 2 - rim, d / 2, 0, h)
    s.box(p.main, -w / 2, -w / 2 + rim, -d / 2 + rim, d / 2 - rim, 0, h)
    s.box(p.main, w / 2 - rim, w / 2, -d / 2 + rim, d / 2 - rim, 0, h)
    s.box(p.main, -w / 2 + rim, w / 2 - rim, -d / 2 + rim, d / 2 - rim, 0, 0.12)
    if rng.random() < 0.5:
        s.box("glass:light blue", -w / 2 + 0.1, w / 2 - 0.1, -d / 2 + rim, d / 2 - rim, 0.12, h * 0.7)
    s.path(CHROME, [(-w * 0.44, 0, h), (-w * 0.44, 0, h + 0.12), (-w * 0.36, 0, h + 0.1)], 0.014)


def shower(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A tray with framed glass on two sides and a shower head."""
    s.block(WHITE, 0, 0, 0, w, d, 0.13)
    for x, y in (
        (w / 2 - 0.015, d / 2 - 0.015),
        (-w / 2 + 0.015, d / 2 - 0.015),
        (w / 2 - 0.015, -d / 2 + 0.015),
    ):
        s.block(CHROME, x, y, 0.08, 0.03, 0.03, h - 0.08)
    s.box("glass:mint", -w / 2, w / 2, d / 2 - 0.018, d / 2 - 0.01, 0.08, h - 0.05)
    s.box("glass:mint", w / 2 - 0.018, w / 2 - 0.01, -d / 2, d / 2, 0.08, h - 0.05)
    s.box(CHROME, -w / 2, w / 2, d / 2 - 0.03, d / 2, h - 0.04, h)
    s.box(CHROME, w / 2 - 0.03, w / 2, -d / 2, d / 2, h - 0.04, h)
    s.tube(CHROME, (-w * 0.1, d / 2, h * 0.4), (-w * 0.1, d / 2, h * 0.62), 0.014)
    s.path(CHROME, [(0, -d / 2 + 0.03, 1.0), (0, -d / 2 + 0.03, h - 0.05), (0, -d * 0.2, h - 0.03)], 0.012)
    s.cyl(CHROME, 0, -d * 0.2, h - 0.06, 0.02, 0.1, n=10)
