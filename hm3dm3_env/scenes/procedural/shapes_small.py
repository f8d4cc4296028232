"""Builders of small things that stand on furniture (same frame as the seats)."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

Rng = np.random.Generator


def mug(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A mug or cup with a handle."""
    r = w * 0.38
    s.lathe(
        p.main, [(1e-4, 0), (r * 0.9, 0), (r, h), (r * 0.85, h), (r * 0.8, h * 0.6), (1e-4, h * 0.6)], n=9
    )
    s.torus(p.main, r * 1.15, 0, h * 0.5, h * 0.25, 0.008, "y", 8, 4)


def bowl(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, content: str = "") -> None:
    """A bowl, perhaps with fruit."""
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, 0),
            (r * 0.45, 0),
            (r, h * (0.7 if content else 1)),
            (r * 0.9, h * (0.7 if content else 1)),
            (r * 0.4, h * 0.15),
            (1e-4, h * 0.15),
        ],
        n=12,
    )
    if content:
        for i, a in enumerate(np.arange(5) * 2.4):
            key = ("plastic:red", "plastic:orange", "plastic:yellow", "plastic:green")[i % 4]
            k = 0.45 if i < 4 else 0.0
            s.ball(
                key,
                r * k * np.cos(a),
                r * k * np.sin(a),
                h * (0.55 if i < 4 else 0.75),
                min(0.045, r * 0.36),
                n=7,
                rings=5,
            )


def bottle(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A bottle with a label and a cap."""
    r = w / 2
    s.lathe(p.main, [(1e-4, 0), (r, 0), (r, h * 0.58), (r * 0.35, h * 0.75), (r * 0.35, h * 0.92)], n=9)
    s.cyl(p.second, 0, 0, h * 0.92, h * 0.08, r * 0.4, n=7)
    s.lathe("paper:white", [(r * 1.02, h * 0.2), (r * 1.02, h * 0.45)], n=9)


def pot(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng, pan: bool = False) -> None:
    """A cooking pot with lid and handles, or a frying pan."""
    r = w * (0.36 if pan else 0.42)
    cx = -w * 0.13 if pan else 0.0
    s.lathe(
        p.main,
        [(1e-4, 0), (r * (0.85 if pan else 1), 0), (r, h), (r * 0.94, h), (r * 0.85, 0.015), (1e-4, 0.015)],
        cx,
        0,
        12,
    )
    if pan:
        s.tube("plastic:black", (cx + r, 0, h * 0.8), (w / 2, 0, h), 0.014, 6)
    else:
        s.lathe(p.second, [(r, h * 0.98), (r * 0.5, h * 1.1), (1e-4, h * 1.12)], n=12)
        s.ball("plastic:black", 0, 0, h * 1.16, 0.022, n=6, rings=4)
        for x in (-1, 1):
            s.block("plastic:black", x * (r + 0.02), 0, h * 0.75, 0.05, 0.06, 0.015)


def plate(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A plate, tray or lid."""
    r = w / 2
    s.lathe(
        p.main, [(1e-4, 0), (r * 0.6, 0), (r, h), (r * 0.95, h), (r * 0.6, h * 0.5), (1e-4, h * 0.5)], n=14
    )


def slab(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A flat block: tablet, remote, cutting board, box, book, game console."""
    s.block(p.main, 0, 0, 0, w, d, h)
    s.block(p.second, 0, 0, h, w * 0.86, d * 0.86, 0.003)


def tissue(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A tissue box."""
    s.block(p.main, 0, 0, 0, w, d, h * 0.75)
    s.prism(
        "paper:white",
        [(-w * 0.15, h * 0.75), (w * 0.15, h * 0.75), (w * 0.05, h), (-w * 0.1, h * 0.96)],
        -d * 0.1,
        d * 0.1,
    )


def alarm_clock(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A table clock or photo stand with a face."""
    s.block(p.main, 0, 0, 0, w, d, h)
    s.front(f"face:{p.seed % 3}", -w * 0.42, w * 0.42, h * 0.08, h * 0.92, d / 2 + 0.003)


def photo(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A standing photo frame."""
    s.box(p.frame, -w / 2, w / 2, -0.01, 0.01, 0, h)
    s.front(f"picture:{p.seed % 8}", -w * 0.4, w * 0.4, h * 0.1, h * 0.9, 0.013)
    s.tube(p.frame, (0, -0.01, h * 0.6), (0, -d / 2, 0.005), 0.006, 4)


def roll(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A paper roll on a stand."""
    s.cyl(p.frame, 0, 0, 0, 0.012, w / 2, n=10)
    s.tube(p.frame, (0, 0, 0), (0, 0, h), 0.008, 5)
    s.cyl("paper:white", 0, 0, 0.015, h * 0.82, w * 0.42, n=10)


def can(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A jar, tin, candle, or canister with a lid."""
    s.cyl(p.main, 0, 0, 0, h * 0.85, w / 2, n=10)
    s.cyl(p.second, 0, 0, h * 0.85, h * 0.15, w * 0.46, n=10)


def knife_block(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A slanted block with knife handles."""
    s.prism(p.main, [(-d / 2, 0), (d / 2, 0), (d * 0.25, h * 0.6), (-d / 2, h * 0.75)], -w / 2, w / 2, "x")
    for i in range(4):
        x = -w * 0.33 + i * w * 0.22
        s.tube("plastic:black", (x, -d * 0.1, h * 0.65), (x, d * 0.02, h), 0.011, 5)


def phone(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A desk telephone."""
    s.prism(p.main, [(-d / 2, 0), (d / 2, 0), (d / 2, h * 0.4), (-d / 2, h * 0.8)], -w / 2, w / 2, "x")
    s.tube(p.second, (-w * 0.35, -d * 0.3, h * 0.9), (-w * 0.35, d * 0.3, h * 0.65), 0.025, 6)
    s.block("plastic:light grey", w * 0.12, d * 0.1, h * 0.55, w * 0.5, d * 0.4, 0.01)


def desk_set(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A computer keyboard: rows of keys."""
    s.block(p.main, 0, 0, 0, w, d, h * 0.6)
    for i in range(4):
        s.block(p.second, 0, -d * 0.34 + i * d * 0.22, h * 0.6, w * 0.94, d * 0.16, h * 0.4)


def headphones(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """Headphones on a stand."""
    s.cyl(p.frame, 0, 0, 0, 0.015, w * 0.4, n=10)
    s.tube(p.frame, (0, 0, 0), (0, 0, h), 0.01, 5)
    for x in (-w * 0.45, w * 0.45):
        s.tube(p.main, (x - 0.015, 0, h * 0.5), (x + 0.015, 0, h * 0.5), min(0.04, h * 0.2), 9)
        s.tube(p.main, (x, 0, h * 0.6), (0, 0, h), 0.01, 5)


def food(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A loaf, cake or pumpkin: a rounded lump on a plate."""
    s.cyl("ceramic:white", 0, 0, 0, 0.012, w / 2, n=12)
    s.lathe(
        p.main,
        [(w * 0.42, 0.012), (w * 0.42, h * 0.7), (w * 0.3, h * 0.95), (1e-4, h)],
        n=12,
        sy=min(1.0, d / w),
    )


def paper_stand(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A standing holder of toilet paper."""
    s.cyl(p.main, 0, 0, 0, 0.02, w / 2, n=12)
    s.path(p.main, [(0, -0.02, 0.02), (0, -0.02, h), (0.1, -0.02, h)], 0.01, 5)
    s.tube("paper:white", (0.005, -0.02, h - 0.005), (0.11, -0.02, h - 0.005), 0.055, 10)


def sewing_machine(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A sewing machine; its arm runs along x."""
    s.block(p.main, 0, 0, 0, w, d, 0.06)
    s.block(p.main, w * 0.38, 0, 0.06, w * 0.24, d * 0.7, h - 0.06)
    s.block(p.main, 0, 0, h * 0.68, w * 0.95, d * 0.6, h * 0.32)
    s.block("metal:silver", -w * 0.38, 0, 0.07, 0.02, 0.02, h * 0.65)
    s.tube(p.second, (w * 0.49, 0, h * 0.75), (w * 0.54, 0, h * 0.75), h * 0.18, 10)
    s.cyl("fabric:red", w * 0.2, 0, h, 0.06, 0.02, n=8)


def record_player(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A turntable with a record and an arm."""
    s.block(p.main, 0, 0, 0, w, d, h * 0.7)
    s.cyl("rubber:black", -w * 0.1, 0, h * 0.7, 0.012, d * 0.42, n=16)
    s.disc("paper:red", -w * 0.1, 0, h * 0.7 + 0.014, d * 0.14, 10)
    s.path(
        "metal:silver",
        [(w * 0.38, -d * 0.35, h * 0.7), (w * 0.38, -d * 0.35, h), (w * 0.1, d * 0.15, h * 0.8)],
        0.01,
        5,
    )


def mannequin(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A tailor's torso on a stand."""
    s.cyl(p.frame, 0, 0, 0, 0.03, w * 0.45, n=12)
    s.tube(p.frame, (0, 0, 0.02), (0, 0, h * 0.55), 0.02)
    r = w / 2
    s.lathe(
        p.main,
        [
            (1e-4, h * 0.48),
            (r * 0.9, h * 0.5),
            (r * 0.95, h * 0.58),
            (r * 0.65, h * 0.7),
            (r * 0.95, h * 0.82),
            (r, h * 0.9),
            (r * 0.3, h * 0.94),
            (r * 0.28, h),
            (1e-4, h),
        ],
        n=14,
        sy=0.65,
    )


def pumpkin(s: Shape, w: float, d: float, h: float, p: Paint, rng: Rng) -> None:
    """A ribbed pumpkin with a stem."""
    for a in np.arange(8) * np.pi / 4:
        s.ball(
            p.main, 0.24 * w * np.cos(a), 0.24 * w * np.sin(a), h * 0.45, w * 0.25, w * 0.25, h * 0.45, 7, 6
        )
    s.tube("leaf:olive", (0, 0, h * 0.75), (0.02, 0.0, h), 0.02, 5)
