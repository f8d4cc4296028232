"""Builders of seats, tables and beds. Each fills w x d x h metres, back at -d/2, front at +d/2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape, turn_x, turn_z


@dataclass(frozen=True)
class Paint:
    """Surface keys of one instance: its own colour, a second one, legs or frame, and a number."""

    main: str
    second: str
    frame: str
    seed: int = 0


def legs(s: Shape, key: str, w: float, d: float, h: float, thick: float = 0.05, inset: float = 0.03) -> None:
    """Four square legs."""
    for x in (-w / 2 + inset + thick / 2, w / 2 - inset - thick / 2):
        for y in (-d / 2 + inset + thick / 2, d / 2 - inset - thick / 2):
            s.block(key, x, y, 0, thick, thick, h)


def chair(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, arms: bool = False
) -> None:
    """A dining chair: four legs, a seat, a back of slats, ladder or panel."""
    seat, leg = min(0.46, 0.52 * h), 0.04
    legs(s, p.frame, w, d, seat - 0.04, leg, 0.0)
    s.box(p.main, -w / 2, w / 2, -d / 2, d / 2, seat - 0.04, seat + 0.02)
    for x in (-w / 2 + leg / 2, w / 2 - leg / 2):
        s.block(p.frame, x, -d / 2 + leg / 2, seat, leg, leg, h - seat)
    inner = w - 2 * leg
    style = rng.integers(3)
    if style == 0:
        s.box(p.main, -inner / 2, inner / 2, -d / 2, -d / 2 + 0.035, seat + 0.14, h)
    elif style == 1:
        for z in (seat + 0.12, seat + 0.25, h - 0.08):
            s.box(p.frame, -inner / 2, inner / 2, -d / 2 + 0.005, -d / 2 + 0.03, z, z + 0.07)
    else:
        s.box(p.frame, -inner / 2, inner / 2, -d / 2, -d / 2 + 0.035, h - 0.07, h)
        for x in np.linspace(-inner / 2 + 0.05, inner / 2 - 0.05, 4):
            s.block(p.frame, float(x), -d / 2 + 0.018, seat, 0.025, 0.02, h - seat - 0.06)
    if arms:
        for x in (-w / 2 + leg / 2, w / 2 - leg / 2):
            s.block(p.frame, x, 0, seat + 0.2, leg, d, 0.03)
            s.block(p.frame, x, d / 2 - leg / 2, seat, leg, leg, 0.2)


def stool(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, back: bool = False
) -> None:
    """A round stool on splayed legs, bar height if tall."""
    r = w / 2
    s.cyl(p.main, 0, 0, h - 0.06 if not back else h * 0.72, 0.06, r * 0.92, n=12)
    top = h - 0.06 if not back else h * 0.72
    for a in np.pi / 4 + np.arange(4) * np.pi / 2:
        s.tube(
            p.frame,
            (0.97 * r * np.cos(a), 0.97 * r * np.sin(a), 0),
            (0.6 * r * np.cos(a), 0.6 * r * np.sin(a), top),
            0.018,
        )
    if h > 0.55:
        s.torus(p.frame, 0, 0, top * 0.35, r * 0.85, 0.01, "z", 10, 4)
    if back:
        s.box(p.main, -r * 0.8, r * 0.8, -r, -r + 0.04, top + 0.12, h)
        s.block(p.frame, 0, -r + 0.02, top, 0.05, 0.03, 0.14)


def office_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """Five castors, a column, a padded seat and back, arm rests."""
    for a in np.arange(5) * 2 * np.pi / 5:
        x, y = 0.46 * w * np.cos(a), 0.46 * w * np.sin(a)
        s.tube(p.frame, (0, 0, 0.09), (x, y, 0.06), 0.022)
        s.ball(p.frame, x, y, 0.035, 0.035, n=6, rings=4)
    s.cyl(p.frame, 0, 0, 0.08, 0.34, 0.03, n=8)
    s.box(p.main, -w * 0.38, w * 0.38, -d * 0.32, d * 0.42, 0.42, 0.5)
    s.box(p.main, -w * 0.36, w * 0.36, -d * 0.42, -d * 0.31, 0.58, h)
    s.block(p.frame, 0, -d * 0.37, 0.42, 0.06, 0.03, 0.25)
    for x in (-w * 0.42, w * 0.42):
        s.block(p.frame, x, 0, 0.66, 0.05, d * 0.45, 0.03)
        s.block(p.frame, x, -0.02, 0.44, 0.03, 0.05, 0.22)


def sofa(
    s: Shape,
    w: float,
    d: float,
    h: float,
    p: Paint,
    rng: np.random.Generator,
    seats: int = 0,
    arms: bool = True,
    recline: bool = False,
) -> None:
    """An upholstered seat with arms and seat and back cushions: armchair, loveseat or couch by width."""
    seats = seats or max(1, round((w - 0.3) / 0.65))
    arm = (0.14 if seats > 1 else 0.12) if arms else 0.0
    base, seat = 0.12, 0.42
    legs(s, p.frame, w, d, base, 0.05, 0.04)
    s.box(p.main, -w / 2 + arm, w / 2 - arm, -d / 2, d / 2, base, seat - 0.12)
    s.box(p.main, -w / 2 + arm, w / 2 - arm, -d / 2, -d / 2 + 0.16, base, h)
    if arms:
        tall = 0.6 + 0.06 * rng.random()
        for x0 in (-w / 2, w / 2 - arm):
            s.box(p.main, x0, x0 + arm, -d / 2, d / 2 - 0.02, base, tall)
            if rng.random() < 0.5:
                s.tube(
                    p.main,
                    (x0 + arm / 2, -d / 2 + 0.02, tall),
                    (x0 + arm / 2, d / 2 - 0.02, tall),
                    arm / 2,
                    8,
                )
    inner = (w - 2 * arm) / seats
    for i in range(seats):
        x0 = -w / 2 + arm + i * inner
        s.box(p.main, x0 + 0.008, x0 + inner - 0.008, -d / 2 + 0.15, d / 2 + 0.0, seat - 0.115, seat)
        mark = s.mark()
        s.box(p.main, x0 + 0.015, x0 + inner - 0.015, -d / 2 + 0.17, -d / 2 + 0.3, seat + 0.01, h - 0.04)
        s.bend(turn_x(8, -d / 2 + 0.2, seat), mark)
        s.top(x0 + 0.1, -d / 2 + 0.32, x0 + inner - 0.05, d / 2 - 0.05, seat, 0.6)
    if recline:
        s.box(p.main, -w / 2 + arm, w / 2 - arm, d / 2 - 0.04, d / 2, 0.16, seat + 0.02)


def sectional(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """An L-shaped couch: a long seat and a chaise on one side."""
    deep = min(0.9, 0.55 * d)
    mark = s.mark()
    sofa(s, w, deep, h, p, rng)
    s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, -d / 2 + deep / 2], [0, 0, 1.0, 0]]), mark)
    s.tops = [(x0, y0 - d / 2 + deep / 2, x1, y1 - d / 2 + deep / 2, z, c) for x0, y0, x1, y1, z, c in s.tops]
    wide = min(0.95, w * 0.38)
    s.box(p.main, w / 2 - wide, w / 2 - 0.02, -d / 2 + deep - 0.04, d / 2, 0.08, 0.3)
    s.box(p.main, w / 2 - wide + 0.01, w / 2 - 0.03, -d / 2 + deep - 0.03, d / 2 - 0.01, 0.3, 0.425)


def ottoman(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A padded block on short legs, or a round pouf."""
    if rng.random() < 0.4:
        r = min(w, d) / 2
        s.lathe(
            p.main, [(1e-4, 0), (r * 0.85, 0), (r, h * 0.3), (r, h * 0.75), (r * 0.8, h), (1e-4, h)], n=12
        )
    else:
        legs(s, p.frame, w, d, 0.1, 0.05, 0.02)
        s.block(p.main, 0, 0, 0.1, w, d, h - 0.16)
        s.block(p.main, 0, 0, h - 0.06, w * 0.97, d * 0.97, 0.06)


def bean_bag(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A slumped bag."""
    r = w / 2
    s.lathe(
        p.main,
        [(1e-4, 0), (r * 0.92, 0.01), (r, h * 0.25), (r * 0.85, h * 0.55), (r * 0.45, h * 0.9), (1e-4, h)],
        n=12,
        sy=d / w,
    )


def bench(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, back: bool = False
) -> None:
    """A bench: plank seat, two sides; optionally padded or with a back."""
    seat = 0.45 if back else h
    for x in (-w / 2 + 0.08, w / 2 - 0.08):
        s.block(p.frame, x, 0, 0, 0.06, d * 0.9, seat - 0.06)
    s.block(p.frame, 0, 0, seat - 0.14, w - 0.2, 0.04, 0.06)
    s.block(p.main, 0, 0, seat - 0.07, w, d, 0.07)
    if back:
        for z in np.linspace(seat + 0.12, h - 0.1, 3):
            s.box(p.main, -w / 2, w / 2, -d / 2, -d / 2 + 0.03, float(z), float(z) + 0.09)
        for x in (-w / 2 + 0.08, w / 2 - 0.08):
            s.box(p.frame, x - 0.03, x + 0.03, -d / 2, -d / 2 + 0.05, seat, h)


def rocking_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A chair with arms on two curved runners."""
    for x in (-w / 2 + 0.05, w / 2 - 0.05):
        ys = np.linspace(-d / 2, d / 2, 7)
        s.path(p.frame, [(x, float(y), 0.02 + 0.5 * float(y / d) ** 2 * 0.9 * 0.5) for y in ys], 0.02)
        for y in (-d * 0.25, d * 0.25):
            s.tube(p.frame, (x, y, 0.04), (x, y, 0.66 if y > 0 else h), 0.02)
        s.block(p.frame, x, 0, 0.64, 0.06, d * 0.6, 0.03)
    s.box(p.main, -w / 2 + 0.04, w / 2 - 0.04, -d * 0.28, d * 0.3, 0.38, 0.44)
    for x in np.linspace(-w / 2 + 0.1, w / 2 - 0.1, 5):
        s.tube(p.frame, (float(x), -d * 0.25, 0.42), (float(x), -d * 0.27, h - 0.05), 0.012)
    s.box(p.frame, -w / 2 + 0.03, w / 2 - 0.03, -d * 0.29, -d * 0.25, h - 0.12, h)


def table(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, style: str = ""
) -> None:
    """A table: square legs, trestles, a pedestal or metal bars; oval or round if asked."""
    thick = 0.035 if h > 0.3 else 0.03
    style = style or ("legs", "legs", "trestle", "bars")[int(rng.integers(4))]
    if style == "round":
        r = min(w, d) / 2
        s.cyl(p.main, 0, 0, h - thick, thick, r, n=20)
        if rng.random() < 0.5:
            s.lathe(
                p.frame, [(1e-4, 0), (r * 0.5, 0), (r * 0.45, 0.04), (0.05, 0.08), (0.05, h - thick)], n=10
            )
        else:
            for a in np.pi / 4 + np.arange(4) * np.pi / 2:
                s.tube(
                    p.frame,
                    (0.78 * r * np.cos(a), 0.78 * r * np.sin(a), 0),
                    (0.6 * r * np.cos(a), 0.6 * r * np.sin(a), h - thick),
                    0.022,
                )
        s.top(-r * 0.65, -r * 0.65, r * 0.65, r * 0.65, h)
        return
    s.block(p.main, 0, 0, h - thick, w, d, thick)
    if style == "trestle":
        for x in (-w * 0.36, w * 0.36):
            s.block(p.frame, x, 0, 0, 0.07, d * 0.75, 0.05)
            s.block(p.frame, x, 0, 0.05, 0.07, 0.14, h - thick - 0.05)
        s.block(p.frame, 0, 0, h * 0.3, w * 0.72, 0.04, 0.07)
    elif style == "bars":
        for x in (-w / 2 + 0.06, w / 2 - 0.06):
            s.block(p.frame, x, 0, 0, 0.04, d * 0.9, 0.03)
            s.block(p.frame, x, 0, h - thick - 0.03, 0.04, d * 0.9, 0.03)
            for y in (-d * 0.43, d * 0.43):
                s.block(p.frame, x, y, 0, 0.04, 0.03, h - thick)
    elif style == "pedestal":
        s.block(p.frame, 0, 0, 0, w * 0.5, d * 0.5, 0.04)
        s.block(p.frame, 0, 0, 0, 0.1, 0.1, h - thick)
    else:
        legs(s, p.frame, w, d, h - thick, 0.06 if h > 0.4 else 0.045, 0.02)
        s.block(p.frame, 0, 0, h - thick - min(0.08, h * 0.2), w - 0.14, d - 0.12, min(0.08, h * 0.2))
        if h < 0.65 and rng.random() < 0.6:
            s.block(p.main, 0, 0, h * 0.25, w - 0.1, d - 0.1, 0.02)
    s.top(-w / 2 + 0.03, -d / 2 + 0.03, w / 2 - 0.03, d / 2 - 0.03, h)


def desk(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A desk with a drawer pedestal on one side."""
    s.block(p.main, 0, 0, h - 0.035, w, d, 0.035)
    side = 1 if rng.random() < 0.5 else -1
    wide = min(0.42, 0.32 * w)
    x = side * (w / 2 - wide / 2 - 0.01)
    s.block(p.main, x, 0, 0.03, wide, d * 0.92, h - 0.065)
    step = (h - 0.1) / 3
    for i in range(3):
        z = 0.05 + i * step
        s.block(p.second, x, d * 0.46 + 0.008, z, wide - 0.04, 0.016, step - 0.02)
        s.block(p.frame, x, d * 0.46 + 0.025, z + step / 2, 0.12, 0.02, 0.015)
    s.box(p.main, -side * w / 2, -side * (w / 2 - 0.04), -d * 0.46, d * 0.46, 0, h - 0.035)
    s.box(p.main, -w / 2, w / 2, -d * 0.45, -d * 0.42, h * 0.5, h - 0.035)
    s.top(-w / 2 + 0.03, -d / 2 + 0.03, w / 2 - 0.03, d / 2 - 0.03, h)


def bed(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, rails: bool = False
) -> None:
    """A frame with a headboard, a mattress, a blanket with a fold, low foot board. Head at the back."""
    mattress = 0.5
    legs(s, p.frame, w, d, 0.15, 0.07, 0.01)
    s.box(p.frame, -w / 2, w / 2, -d / 2 + 0.05, d / 2, 0.15, 0.32)
    s.box("fabric:white", -w / 2 + 0.03, w / 2 - 0.03, -d / 2 + 0.06, d / 2 - 0.03, 0.32, mattress)
    s.box(p.main, -w / 2 + 0.005, w / 2 - 0.005, -d / 2 + 0.75, d / 2 - 0.005, 0.27, mattress + 0.035)
    s.box(p.second, -w / 2 + 0.004, w / 2 - 0.004, -d / 2 + 0.6, -d / 2 + 0.78, 0.3, mattress + 0.05)
    style = rng.integers(3)
    board = p.frame if style != 1 else p.second
    if style == 2:
        for x in np.linspace(-w / 2 + 0.03, w / 2 - 0.03, max(4, int(w / 0.18))):
            s.block(p.frame, float(x), -d / 2 + 0.03, 0, 0.035, 0.04, h)
        s.box(p.frame, -w / 2, w / 2, -d / 2, -d / 2 + 0.06, h - 0.06, h)
    else:
        s.box(board, -w / 2, w / 2, -d / 2, -d / 2 + 0.06, 0.0, h)
    if rails:
        for x in (-w / 2 + 0.015, w / 2 - 0.015):
            s.box(p.frame, x - 0.015, x + 0.015, -d / 2 + 0.2, d * 0.1, 0.55, 0.72)
    n = 1 if w < 1.2 else 2
    for i in range(n):
        x0 = -w / 2 + w / n * i
        s.top(x0 + 0.04, -d / 2 + 0.08, x0 + w / n - 0.04, -d / 2 + 0.56, mattress, 0.5)
    s.top(-w / 2 + 0.1, -d / 2 + 0.95, w / 2 - 0.1, d / 2 - 0.1, mattress + 0.036, 1.0)


def bunk_bed(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """Two beds above each other with a ladder; long side along the wall."""
    for x in (-w / 2 + 0.04, w / 2 - 0.04):
        for y in (-d / 2 + 0.04, d / 2 - 0.04):
            s.block(p.frame, x, y, 0, 0.08, 0.08, h)
    for z in (0.25, h - 0.55):
        s.block(p.frame, 0, 0, z, w - 0.04, d - 0.06, 0.12)
        s.block("fabric:white", 0, 0, z + 0.12, w - 0.16, d - 0.12, 0.14)
        s.box(p.main, -w * 0.22, w / 2 - 0.1, -d / 2 + 0.05, d / 2 - 0.05, z + 0.13, z + 0.285)
        s.block(p.second, -w / 2 + 0.32, 0, z + 0.26, 0.4, d * 0.6, 0.1)
    s.box(p.frame, -w / 2 + 0.5, w / 2, d / 2 - 0.05, d / 2 - 0.02, h - 0.2, h - 0.1)
    s.box(p.frame, -w / 2, w / 2, -d / 2 + 0.01, -d / 2 + 0.04, h - 0.2, h - 0.1)
    for z in np.arange(0.25, h - 0.3, 0.27):
        s.tube(
            p.frame, (-w / 2 + 0.1, d / 2 - 0.03, float(z)), (-w / 2 + 0.48, d / 2 - 0.03, float(z)), 0.015
        )
    s.block(p.frame, -w / 2 + 0.48, d / 2 - 0.04, 0, 0.05, 0.05, h - 0.1)


def crib(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A barred baby bed."""
    for x in (-w / 2 + 0.025, w / 2 - 0.025):
        s.block(p.frame, x, 0, 0.12, 0.04, d, h - 0.12)
    legs(s, p.frame, w, d, h, 0.05, 0.0)
    for y in (-d / 2 + 0.02, d / 2 - 0.02):
        s.block(p.frame, 0, y, h - 0.05, w, 0.04, 0.05)
        s.block(p.frame, 0, y, 0.2, w, 0.04, 0.05)
        for x in np.linspace(-w / 2 + 0.1, w / 2 - 0.1, 10):
            s.block(p.frame, float(x), y, 0.2, 0.02, 0.02, h - 0.22)
    s.block("fabric:white", 0, 0, 0.3, w - 0.06, d - 0.06, 0.12)
    s.box(p.main, -w * 0.1, w / 2 - 0.06, -d / 2 + 0.05, d / 2 - 0.05, 0.41, 0.45)


def hammock_chair(s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator) -> None:
    """A deck chair: a sling between crossed bars."""
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        s.tube(p.frame, (x, -d / 2 + 0.02, h), (x, d / 2 - 0.05, 0.02), 0.02)
        s.tube(p.frame, (x, -d / 2 + 0.06, 0.02), (x, d / 2 - 0.02, 0.42), 0.02)
    rows = [(-d / 2 + 0.04, h - 0.02), (-d * 0.15, h * 0.5), (d * 0.1, 0.32), (d / 2 - 0.03, 0.4)]
    for (y0, z0), (y1, z1) in zip(rows, rows[1:]):
        x = w / 2 - 0.03
        vertices = np.array([[-x, y0, z0], [x, y0, z0], [x, y1, z1], [-x, y1, z1]])
        s.add(p.main, vertices, np.array([[0, 1, 2], [0, 2, 3]]))


def cushion(
    s: Shape, w: float, d: float, h: float, p: Paint, rng: np.random.Generator, lean: bool = False
) -> None:
    """A pillow: puffed in the middle. Upright and leaning back if `lean`."""
    n = 5
    u = np.linspace(-1, 1, n)
    x, y = np.meshgrid(u, u)
    puff = (1 - x**4) * (1 - y**4)
    width, height, thick = (w, h, d) if lean else (w, d, h)
    grid = np.arange(n * n).reshape(n, n)
    a, b, c, e = grid[:-1, :-1].ravel(), grid[:-1, 1:].ravel(), grid[1:, 1:].ravel(), grid[1:, :-1].ravel()
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, e], 1)])
    for sign in (1, -1):
        flat = np.column_stack(
            [x.ravel() * width / 2, y.ravel() * height / 2, sign * puff.ravel() * thick / 2]
        )
        mark = s.mark()
        s.add(p.main, flat, faces if sign > 0 else faces[:, ::-1])
        if lean:
            s.bend(turn_x(75), mark)
            s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, height / 2 * 0.97 + thick * 0.12]]), mark)
        else:
            s.bend(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, thick / 2]]), mark)
    if not lean:
        s.bend(turn_z(float(rng.uniform(-12, 12))))
