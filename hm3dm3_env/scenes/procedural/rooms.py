"""Rooms, doors and floor plans: plain data, and which walls two rooms share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

WALL = 0.06
"""Metres of wall that a room keeps inside its rectangle; two neighbours make a wall of 0.12 m."""

Rect = tuple[float, float, float, float]


@dataclass(frozen=True)
class Room:
    """A room: its type and its rectangle (x0, y0, x1, y1) to the middle of its walls, metres."""

    kind: str
    rect: Rect

    @property
    def inner(self) -> Rect:
        """The rectangle between the wall faces."""
        x0, y0, x1, y1 = self.rect
        return x0 + WALL, y0 + WALL, x1 - WALL, y1 - WALL

    @property
    def area(self) -> float:
        """m2 between the wall faces."""
        x0, y0, x1, y1 = self.inner
        return (x1 - x0) * (y1 - y0)


@dataclass(frozen=True)
class Door:
    """An opening between rooms `a` and `b` (b = -1: the closed front door) in the line `level` across `axis`.

    `axis` is "x" if the wall runs along x (level is y), else "y". The opening spans low..high along the wall.
    """

    a: int
    b: int
    axis: str
    level: float
    low: float
    high: float
    wide: bool = False

    @property
    def height(self) -> float:
        """Clear height in metres; ours."""
        return 2.3 if self.wide else 2.06


@dataclass
class FloorPlan:
    """Rooms and doors of one floor."""

    rooms: list[Room] = field(default_factory=list)
    doors: list[Door] = field(default_factory=list)

    def bounds(self) -> Rect:
        """The rectangle around all rooms."""
        corners = np.array([room.rect for room in self.rooms])
        return (
            float(corners[:, 0].min()),
            float(corners[:, 1].min()),
            float(corners[:, 2].max()),
            float(corners[:, 3].max()),
        )


def shared_wall(a: Rect, b: Rect) -> tuple[str, float, float, float] | None:
    """(axis, level, low, high) of the wall that two rectangles share, or None."""
    for axis, (l0, h0, l1, h1, s0, e0, s1, e1) in (
        ("y", (a[0], a[2], b[0], b[2], a[1], a[3], b[1], b[3])),
        ("x", (a[1], a[3], b[1], b[3], a[0], a[2], b[0], b[2])),
    ):
        low, high = max(s0, s1), min(e0, e1)
        if high - low < 0.3:
            continue
        if abs(h0 - l1) < 1e-6:
            return axis, h0, low, high
        if abs(h1 - l0) < 1e-6:
            return axis, l0, low, high
    return None


def exterior_spans(plan: FloorPlan, index: int) -> list[tuple[str, float, float, float, int]]:
    """Stretches of a room's sides without a neighbour: (axis, level, low, high, outward sign)."""
    x0, y0, x1, y1 = plan.rooms[index].rect
    found = []
    sides = (("x", y0, x0, x1, -1), ("x", y1, x0, x1, 1), ("y", x0, y0, y1, -1), ("y", x1, y0, y1, 1))
    for axis, level, low, high, sign in sides:
        spans = [(low, high)]
        for other, room in enumerate(plan.rooms):
            r = room.rect
            if other == index:
                continue
            near = (r[1], r[3]) if axis == "x" else (r[0], r[2])
            along = (r[0], r[2]) if axis == "x" else (r[1], r[3])
            reach = sorted((level + 0.02 * sign, level + 0.45 * sign))
            if near[0] < reach[1] and near[1] > reach[0]:
                spans = [
                    piece
                    for s, e in spans
                    for piece in ((s, min(e, along[0])), (max(s, along[1]), e))
                    if piece[1] - piece[0] > 1e-6
                ]
        found += [(axis, level, s, e, sign) for s, e in spans]
    return found
