"""Builders of cabinets, shelves, boxes, bags and other containers (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint, legs


def cabinet(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    doors: int = 0,
    drawers: int = 0,
    feet: float = 0.06,
    glass: bool = False,
    top: str = "",
    open_low: bool = False,
) -> None:
    """A closed body with columns of doors over rows of drawers, knobs, and a foot or legs."""
    if feet > 0.09:
        legs(s, p.frame, w, d, feet, 0.05, 0.02)
    elif feet > 0:
        s.block(p.frame, 0, -0.02, 0, w - 0.04, d - 0.06, feet)
    body = d - 0.02
    s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + body, feet, h - 0.02)
    s.box(top or p.main, -w / 2 - 0.0, w / 2 + 0.0, -d / 2, d / 2, h - 0.02, h)
    y = -d / 2 + body
    low, high = feet + 0.01, h - 0.03
    if drawers:
        span = high - low if not doors else min(0.22 * drawers, (high - low) * 0.5)
        columns = 2 if w > 1.05 else 1
        step, wide = span / drawers, w / columns
        for i in range(drawers):
            for j in range(columns):
                x, z = -w / 2 + wide * (j + 0.5), high - (i + 1) * step
                s.block(p.second, x, y + 0.008, z + 0.005, wide - 0.02, 0.016, step - 0.012)
                s.block(p.frame, x, y + 0.028, z + step / 2, min(0.14, wide * 0.3), 0.018, 0.016)
        high -= span
    if doors:
        wide = w / doors
        for j in range(doors):
            x = -w / 2 + wide * (j + 0.5)
            face = "glass:light blue" if glass else p.second
            s.block(p.second, x, y + 0.007, low, wide - 0.012, 0.014, high - low - 0.005)
            if glass:
                s.block(face, x, y + 0.017, low + 0.07, wide - 0.14, 0.006, high - low - 0.15)
            knob = x + (wide / 2 - 0.05) * (1 if j % 2 == 0 else -1) * (1 if doors > 1 else -1)
            s.block(p.frame, knob, y + 0.026, (low + high) / 2 - 0.06, 0.016, 0.022, 0.13)
    s.top(-w / 2 + 0.03, -d / 2 + 0.03, w / 2 - 0.03, d / 2 - 0.03, h)


def shelf(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    fill: str = "books",
    frame: str = "panel",
    rows: int = 0,
) -> None:
    """An open shelf filled with books, boxes, jars, shoes or left open."""
    rows = rows or max(2, round(h / 0.36))
    if frame == "panel":
        for x in (-w / 2 + 0.0125, w / 2 - 0.0125):
            s.block(p.main, x, 0, 0, 0.025, d, h)
        s.box(p.main, -w / 2 + 0.025, w / 2 - 0.025, -d / 2, -d / 2 + 0.012, 0, h)
    else:
        for x in (-w / 2 + 0.015, w / 2 - 0.015):
            for y in (-d / 2 + 0.015, d / 2 - 0.015):
                s.block(p.frame, x, y, 0, 0.03, 0.03, h)
    step = (h - 0.05) / rows
    for i in range(rows + 1):
        z = 0.03 + i * step
        s.block(p.main, 0, 0.006, min(z, h - 0.02), w - 0.05, d - 0.012, 0.02)
        if i < rows:
            _fill_row(s, w - 0.06, d, z + 0.02, step - 0.03, fill, p, rng, p.seed * 31 + i)
    s.top(-w / 2 + 0.04, -d / 2 + 0.03, w / 2 - 0.04, d / 2 - 0.03, h)


def _fill_row(
    s: Shape, w: float, d: float, z: float, h: float, fill: str, p: Paint, rng: np.random.Generator, seed: int
) -> None:
    if fill == "books" and rng.random() < 0.85:
        span = w * rng.uniform(0.55, 1.0)
        x0 = -w / 2 if rng.random() < 0.5 else w / 2 - span
        tall, deep = min(h * 0.85, 0.28), d * 0.6
        block = "paper:dark brown"
        s.box(block, x0, x0 + span, -d / 2 + 0.02, -d / 2 + 0.02 + deep, z, z + tall * 0.9)
        s.front(f"books:{seed % 4}", x0, x0 + span, z, z + tall * 0.97, -d / 2 + deep + 0.024)
    elif fill in ("boxes", "mixed"):
        x = -w / 2 + 0.02
        words = ("cardboard:tan", p.second, "plastic:light grey", "wicker:tan", "plastic:blue")
        while x < w / 2 - 0.17:
            wide = min(float(rng.uniform(0.18, 0.4)), w / 2 - 0.01 - x)
            if rng.random() < 0.85:
                s.box(
                    words[int(rng.integers(5))],
                    x,
                    x + wide,
                    -d / 2 + 0.03,
                    d / 2 - 0.04,
                    z,
                    z + h * rng.uniform(0.5, 0.85),
                )
            x += wide + 0.03
    elif fill == "jars":
        for x in np.arange(-w / 2 + 0.07, w / 2 - 0.05, 0.13):
            if rng.random() < 0.75:
                tall = min(h * 0.75, float(rng.uniform(0.1, 0.22)))
                key = ("glass:light blue", "metal:red", "plastic:yellow", "cardboard:orange", "metal:green")[
                    int(rng.integers(5))
                ]
                s.cyl(key, float(x), 0, z, tall, 0.045, n=7)
    elif fill == "shoes":
        for x in np.arange(-w / 2 + 0.08, w / 2 - 0.05, 0.13):
            if rng.random() < 0.75:
                key = ("leather:black", "leather:brown", "fabric:white", "fabric:red")[int(rng.integers(4))]
                s.box(key, float(x) - 0.04, float(x) + 0.04, -d / 2 + 0.03, d / 2 - 0.03, z, z + 0.06)
                s.box(
                    key, float(x) - 0.04, float(x) + 0.04, -d / 2 + 0.03, 0, z + 0.06, z + min(0.12, h * 0.8)
                )
    elif fill == "bottles":
        for x in np.arange(-w / 2 + 0.06, w / 2 - 0.03, 0.1):
            s.tube(
                "glass:dark green",
                (float(x), -d / 2 + 0.03, z + 0.05),
                (float(x), d / 2 - 0.05, z + 0.05),
                0.04,
            )
            s.disc("metal:gold", float(x), d / 2 - 0.04, z + 0.05, 0.02, 5)
    elif fill == "clothes":
        for x in np.linspace(-w / 2 + 0.18, w / 2 - 0.18, max(1, int(w / 0.36))):
            key = ("fabric:navy", "fabric:white", "fabric:grey", "fabric:red")[int(rng.integers(4))]
            s.block(key, float(x), 0, z, 0.28, d * 0.7, min(h * 0.7, float(rng.uniform(0.08, 0.2))))


def wall_shelf(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A board on brackets with a few books."""
    s.block(p.main, 0, 0, 0.1, w, d, 0.025)
    for x in (-w * 0.35, w * 0.35):
        s.box(p.frame, x - 0.012, x + 0.012, -d / 2, -d / 2 + 0.02, 0.0, 0.1)
        s.box(p.frame, x - 0.012, x + 0.012, -d / 2, d * 0.3, 0.085, 0.1)
    span = w * rng.uniform(0.3, 0.6)
    s.box("paper:dark brown", -w / 2 + 0.02, -w / 2 + 0.02 + span, -d / 2 + 0.02, d * 0.2, 0.125, h - 0.03)
    s.front(f"books:{p.seed % 4}", -w / 2 + 0.02, -w / 2 + 0.02 + span, 0.125, h, d * 0.2 + 0.003)
    s.top(-w / 2 + 0.03 + span, -d / 2 + 0.02, w / 2 - 0.02, d / 2 - 0.02, 0.125, 0.6)


def carton(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, lid: bool = False
) -> None:
    """A box: taped, or with a lid."""
    if lid:
        s.block(p.main, 0, 0, 0, w - 0.02, d - 0.02, h * 0.82)
        s.block(p.second, 0, 0, h * 0.8, w, d, h * 0.2)
        s.block(p.frame, 0, d / 2, h * 0.45, w * 0.25, 0.01, h * 0.1)
    else:
        s.block(p.main, 0, 0, 0, w, d, h)
        s.block("paper:cream", 0, 0, h - 0.002, w * 0.12, d + 0.004, 0.006)
        s.block("paper:white", w * 0.2, d / 2, h * 0.4, w * 0.3, 0.006, h * 0.3)
    s.top(-w / 2 + 0.02, -d / 2 + 0.02, w / 2 - 0.02, d / 2 - 0.02, h + 0.004)


def open_box(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    slats: bool = False,
    content: str = "",
) -> None:
    """An open box, crate, basket or drawer, perhaps with something in it."""
    t = 0.02
    s.block(p.main, 0, 0, 0, w, d, t)
    spans = [(0.0, h)] if not slats else [(h * a, h * (a + 0.26)) for a in (0.03, 0.37, 0.72)]
    for z0, z1 in spans:
        for x in (-w / 2 + t / 2, w / 2 - t / 2):
            s.block(p.main, x, 0, z0, t, d, z1 - z0)
        for y in (-d / 2 + t / 2, d / 2 - t / 2):
            s.block(p.main, 0, y, z0, w, t, z1 - z0)
    if slats:
        for x in (-w / 2 + 0.03, w / 2 - 0.03):
            for y in (-d / 2 + 0.03, d / 2 - 0.03):
                s.block(p.main, x, y, 0, 0.03, 0.03, h)
    if content == "balls":
        for _ in range(7):
            s.ball(
                ("plastic:red", "plastic:blue", "plastic:yellow", "plastic:green")[int(rng.integers(4))],
                float(rng.uniform(-w * 0.3, w * 0.3)),
                float(rng.uniform(-d * 0.3, d * 0.3)),
                h * 0.85,
                0.07,
                n=6,
                rings=5,
            )
    elif content:
        s.block(content, 0, 0, h * 0.4, w - 2 * t, d - 2 * t, h * 0.45)


def basket(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    lid: bool = False,
    content: str = "",
) -> None:
    """A round basket, bin, bucket, hamper or barrel: slightly tapered; open unless `lid`."""
    r = w / 2
    profile = [(1e-4, 0.0), (r * 0.82, 0.0), (r, h)]
    if lid:
        s.lathe(p.main, [(1e-4, 0), (r * 0.85, 0), (r, h * 0.9)], n=12, sy=d / w)
        s.lathe(p.second, [(r, h * 0.89), (r, h * 0.95), (r * 0.5, h * 0.99), (1e-4, h)], n=12, sy=d / w)
    else:
        s.lathe(p.main, [*profile, (r * 0.93, h), (r * 0.8, h * 0.15), (1e-4, h * 0.15)], n=12, sy=d / w)
        s.lathe(p.second, [(r * 1.0, h * 0.93), (r * 1.0, h), (r * 0.9, h)], n=12, sy=d / w)
        if content:
            s.lathe(content, [(r * 0.9, h * 0.8), (r * 0.5, h * 0.98), (1e-4, h * 0.95)], n=8, sy=d / w)


def pedal_bin(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A trash can with a domed lid and a pedal."""
    r = w / 2
    s.lathe(p.main, [(1e-4, 0), (r * 0.95, 0), (r * 0.95, h * 0.85)], n=12, sy=d / w)
    s.lathe("plastic:black", [(r, h * 0.84), (r, h * 0.9), (r * 0.7, h * 0.97), (1e-4, h)], n=12, sy=d / w)
    s.block("plastic:black", 0, d / 2 - 0.01, 0.01, 0.08, 0.05, 0.02)


def suitcase(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A trolley case on castors with ribs and a pulled-out handle."""
    body = h * 0.78
    s.block(p.main, 0, 0, 0.05, w, d, body)
    for x in np.linspace(-w * 0.35, w * 0.35, 4):
        s.block(p.second, float(x), d / 2, 0.1, 0.02, 0.014, body - 0.1)
    for x in (-w * 0.36, w * 0.36):
        for y in (-d * 0.3, d * 0.3):
            s.cyl("rubber:black", x, y, 0, 0.05, 0.025, n=6)
    for x in (-w * 0.2, w * 0.2):
        s.tube("metal:silver", (x, -d * 0.3, body), (x, -d * 0.3, h - 0.02), 0.01)
    s.tube("plastic:black", (-w * 0.22, -d * 0.3, h - 0.015), (w * 0.22, -d * 0.3, h - 0.015), 0.016)


def bag(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, style: str = "tote"
) -> None:
    """A backpack, handbag, duffel, shopping or garbage bag."""
    if style == "duffel":
        z = h * 0.45
        s.tube(p.main, (-w / 2, 0, z), (w / 2, 0, z), min(d / 2, z), 10)
        s.block(p.second, 0, 0, h * 0.86, w * 0.8, 0.03, 0.03)
        for y in (-0.06, 0.06):
            s.path(
                p.second,
                [(-w * 0.2, y, z * 1.9), (-w * 0.12, y, h), (w * 0.12, y, h), (w * 0.2, y, z * 1.9)],
                0.012,
                5,
            )
    elif style == "backpack":
        s.block(p.main, 0, -d * 0.1, 0, w, d * 0.7, h * 0.85)
        s.ball(p.main, 0, -d * 0.1, h * 0.84, w / 2, d * 0.35, h * 0.14)
        s.block(p.second, 0, d * 0.34, h * 0.06, w * 0.75, d * 0.28, h * 0.4)
        s.torus("fabric:black", 0, -d * 0.2, h * 0.96, 0.04, 0.01, "y", 8, 4)
        for x in (-w * 0.3, w * 0.3):
            s.block("fabric:black", x, -d * 0.47, h * 0.1, 0.05, 0.02, h * 0.7)
    elif style == "garbage":
        r = w / 2
        s.lathe(
            p.main,
            [
                (1e-4, 0),
                (r * 0.9, 0),
                (r, h * 0.3),
                (r * 0.75, h * 0.65),
                (r * 0.15, h * 0.84),
                (r * 0.35, h),
            ],
            n=9,
            sy=d / w,
        )
    else:
        s.prism(
            p.main, [(-w / 2, 0.0), (w / 2, 0.0), (w * 0.42, h * 0.66), (-w * 0.42, h * 0.66)], -d / 2, d / 2
        )
        for y in (-d * 0.3, d * 0.3):
            s.path(
                p.second,
                [
                    (-w * 0.2, y, h * 0.64),
                    (-w * 0.15, y, h * 0.95),
                    (w * 0.15, y, h * 0.95),
                    (w * 0.2, y, h * 0.64),
                ],
                0.012,
                5,
            )
        s.block(p.second, 0, d / 2, h * 0.25, w * 0.3, 0.01, h * 0.2)


def briefcase(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A flat hard case with a handle."""
    s.block(p.main, 0, 0, 0, w, d, h * 0.86)
    s.path(p.frame, [(-0.07, 0, h * 0.85), (-0.06, 0, h), (0.06, 0, h), (0.07, 0, h * 0.85)], 0.012, 5)
    for x in (-w * 0.3, w * 0.3):
        s.block("metal:gold", x, d / 2, h * 0.65, 0.04, 0.01, 0.05)


def rack(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, style: str = "clothes"
) -> None:
    """A stand of bars: with clothes, towels, coats, wood logs or dumbbells on it."""
    if style == "coat stand":
        s.lathe(p.frame, [(1e-4, 0), (w * 0.45, 0), (w * 0.4, 0.03), (0.025, 0.06), (0.025, h)], n=10)
        for a in np.arange(6) * np.pi / 3:
            s.tube(
                p.frame,
                (0, 0, h - 0.25 + 0.1 * (a % 2 > 1)),
                (0.16 * np.cos(a), 0.16 * np.sin(a), h - 0.1),
                0.012,
                5,
            )
        for key, a in ((p.main, 0.4), (p.second, 3.3)):
            x, y = 0.14 * np.cos(a), 0.14 * np.sin(a)
            s.lathe(
                key,
                [(0.04, h - 0.15), (0.13, h - 0.3), (0.15, h - 1.05), (1e-4, h - 1.05)],
                float(x),
                float(y),
                8,
                sy=0.6,
            )
        return
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.tube(p.frame, (x, 0, 0.02), (x, 0, h), 0.016)
        s.tube(p.frame, (x, -d / 2, 0.02), (x, d / 2, 0.02), 0.018)
    s.tube(p.frame, (-w / 2, 0, h - 0.015), (w / 2, 0, h - 0.015), 0.015)
    if style == "clothes":
        for x in np.arange(-w / 2 + 0.1, w / 2 - 0.05, 0.09):
            key = (p.main, p.second, "fabric:white", "fabric:grey", "fabric:navy")[int(rng.integers(5))]
            s.block(key, float(x), 0, h - rng.uniform(0.7, 1.05), 0.05, d * 0.85, 0.62)
    elif style == "drying":
        for y in np.linspace(-d / 2 + 0.03, d / 2 - 0.03, 5):
            s.tube(p.frame, (-w / 2, float(y), h - 0.02), (w / 2, float(y), h - 0.02), 0.006, 4)
            if rng.random() < 0.7:
                x, wide = float(rng.uniform(-w * 0.2, w * 0.2)), float(rng.uniform(0.25, 0.5))
                s.block(
                    (p.main, p.second, "fabric:white")[int(rng.integers(3))],
                    x,
                    float(y),
                    h - 0.45,
                    wide,
                    0.015,
                    0.45,
                )
    elif style == "towels":
        for z in (h - 0.02, h * 0.6):
            s.tube(p.frame, (-w / 2, 0, z), (w / 2, 0, z), 0.012)
            s.block(p.main if z > h * 0.7 else p.second, 0, 0, z - 0.33, w * 0.7, 0.05, 0.35)
    elif style == "dumbbells":
        for z in (h * 0.45, h * 0.85):
            s.block(p.frame, 0, 0, z, w, d * 0.6, 0.03)
            for x in np.arange(-w / 2 + 0.12, w / 2 - 0.05, 0.2):
                for y in (-d * 0.18, d * 0.18):
                    s.tube(
                        "rubber:black",
                        (float(x), y - 0.05, z + 0.085),
                        (float(x), y + 0.05, z + 0.085),
                        0.055,
                        6,
                    )
                s.tube(
                    "metal:silver", (float(x), -d * 0.2, z + 0.085), (float(x), d * 0.2, z + 0.085), 0.015, 5
                )
    elif style == "logs":
        for i in range(4):
            for j in range(4 - i % 2):
                x = -w * 0.33 + j * w * 0.2 + (i % 2) * w * 0.1
                s.tube(
                    "wood:walnut",
                    (x, -d * 0.4, 0.1 + i * w * 0.18),
                    (x, d * 0.4, 0.1 + i * w * 0.18),
                    w * 0.1,
                    7,
                )
