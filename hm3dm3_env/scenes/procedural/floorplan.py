"""Floor plans: rectangular rooms on a 0.1 m raster that tile blocks and wings, and their doors.

A public block (living, dining, kitchen, entry) carries one to three wings; each wing is a hallway with
rooms on its sides. Neighbours share wall lines; every room keeps its half of the wall inside its rectangle.
All distributions are ours.
"""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.connect import connect_rooms
from hm3dm3_env.scenes.procedural.rooms import WALL, Door, FloorPlan, Rect, Room, exterior_spans, shared_wall

_AREAS = {  # m2, low and high
    "bedroom": (12, 18),
    "child bedroom": (10, 14),
    "guest bedroom": (10, 14),
    "nursery": (8.5, 12),
    "bathroom": (5, 8),
    "office": (8.5, 13),
    "laundry room": (5.5, 8),
    "pantry": (4, 6),
    "storage room": (5, 8),
    "garage": (17, 24),
    "gym": (13, 20),
    "library": (11, 17),
    "music room": (12, 18),
    "playroom": (10, 15),
    "closet": (4.5, 7),
    "game room": (15, 22),
    "workshop": (10, 14),
    "sunroom": (9, 14),
    "studio": (10, 15),
}
_EXTRAS = (
    "office",
    "laundry room",
    "garage",
    "gym",
    "library",
    "music room",
    "playroom",
    "closet",
    "game room",
    "workshop",
    "sunroom",
    "studio",
    "nursery",
    "storage room",
    "pantry",
)


def make_plan(rng: np.random.Generator) -> FloorPlan:
    """A floor plan with 5-14 rooms and 60-250 m2 of floor, every room reachable."""
    for _ in range(400):
        plan = _attempt(rng)
        if plan is None:
            continue
        area = sum(room.area for room in plan.rooms)
        if 5 <= len(plan.rooms) <= 14 and 60 <= area <= 250 and _all_reachable(plan):
            return plan
    raise RuntimeError("no floor plan after 400 attempts; this is a defect of the generator")


def _snap(value: float) -> float:
    return round(round(value / 0.1) * 0.1, 3)


def _attempt(rng: np.random.Generator) -> FloorPlan | None:
    size = float(rng.triangular(0.0, 0.45, 1.0))
    plan = FloorPlan()
    block = _public_block(plan, size, rng)
    private = _programme(size, rng)
    wings = 1 if len(private) <= 4 else 2 if len(private) <= 7 or rng.random() < 0.5 else 3
    groups: list[list[str]] = [[] for _ in range(wings)]
    for index, name in enumerate(private):
        groups[index % wings].append(name)
    sides = [str(side) for side in rng.permutation(["E", "W", "N", "S"])]
    for group in groups:
        for side in list(sides):
            if _wing(plan, block, side, group, rng):
                sides.remove(side)
                break
        else:
            return None
    if not connect_rooms(plan, rng):
        return None
    return _with_front_door(plan, rng)


def _programme(size: float, rng: np.random.Generator) -> list[str]:
    """The private rooms, mixed so that each wing has a bathroom early."""
    count = int(np.clip(round(2.3 + 7.2 * size + rng.normal(0, 0.9)), 2, 10))
    rooms = ["bathroom", "bedroom"]
    if count >= 5 and rng.random() < 0.9:
        rooms.append(str(rng.choice(["bedroom", "child bedroom", "guest bedroom"])))
    if count >= 6:
        rooms.append("bathroom" if rng.random() < 0.7 else "laundry room")
    extras = [str(name) for name in rng.permutation(_EXTRAS)]
    while len(rooms) < count:
        rooms.append(extras.pop())
    head, tail = rooms[:2], rooms[2:]
    return head + [str(name) for name in rng.permutation(tail)] if tail else head


def _public_block(plan: FloorPlan, size: float, rng: np.random.Generator) -> Rect:
    """Living, dining, kitchen and perhaps an entry in one rectangle; returns it."""
    width = _snap(rng.uniform(6.2, 7.4) + 2.6 * size)
    depth = _snap(rng.uniform(5.0, 5.8) + 2.6 * size)
    flip_x, flip_y = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    style = int(rng.integers(3)) if size > 0.15 else 2
    cut = _snap(width * rng.uniform(0.52, 0.6))
    found: list[tuple[str, Rect]] = []
    if style == 0:  # living over the full depth, kitchen and dining stacked beside it
        level = _snap(depth * rng.uniform(0.44, 0.56))
        found = [
            ("living room", (0, 0, cut, depth)),
            ("kitchen", (cut, 0, width, level)),
            ("dining room", (cut, level, width, depth)),
        ]
    elif style == 1:  # entry in a corner of the living side
        entry = _snap(rng.uniform(1.9, 2.4))
        level = _snap(depth * rng.uniform(0.44, 0.56))
        found = [
            ("entryway", (0, 0, cut, entry)),
            ("living room", (0, entry, cut, depth)),
            ("kitchen", (cut, 0, width, level)),
            ("dining room", (cut, level, width, depth)),
        ]
    else:
        depth = _snap(max(4.6, depth - 0.6))
        found = [("living room", (0, 0, cut, depth)), ("kitchen", (cut, 0, width, depth))]
        if depth > 5.2:
            level = _snap(depth - rng.uniform(1.8, 2.2))
            other = "entryway" if rng.random() < 0.6 else "pantry"
            found[1:] = [("kitchen", (cut, 0, width, level)), (other, (cut, level, width, depth))]
    for name, (x0, y0, x1, y1) in found:
        if flip_x:
            x0, x1 = _snap(width - x1), _snap(width - x0)
        if flip_y:
            y0, y1 = _snap(depth - y1), _snap(depth - y0)
        plan.rooms.append(Room(name, (float(x0), float(y0), float(x1), float(y1))))
    return 0.0, 0.0, width, depth


def _wing(plan: FloorPlan, block: Rect, side: str, names: list[str], rng: np.random.Generator) -> bool:
    """Add a hallway with rooms on both sides to a side of the block; False if it does not fit."""
    for _ in range(25):
        rooms = _wing_rooms(block, side, names, rng)
        if all(_apart(room.rect, other.rect) for room in rooms for other in plan.rooms):
            hall = rooms[0]
            hosts = [
                other
                for other in plan.rooms
                if other.kind in ("living room", "dining room", "entryway", "kitchen")
                and (wall := shared_wall(hall.rect, other.rect))
                and wall[3] - wall[2] >= 1.2
            ]
            if hosts:
                plan.rooms.extend(rooms)
                return True
    return False


def _apart(a: Rect, b: Rect) -> bool:
    """Rectangles that touch along a raster line or are at least 0.4 m apart."""
    gap_x, gap_y = max(a[0], b[0]) - min(a[2], b[2]), max(a[1], b[1]) - min(a[3], b[3])
    if gap_x < -1e-6 and gap_y < -1e-6:
        return False
    gap = max(gap_x, gap_y)
    return gap < 1e-6 or gap >= 0.4 - 1e-6


def _wing_rooms(block: Rect, side: str, names: list[str], rng: np.random.Generator) -> list[Room]:
    """Rooms of one wing, the hallway first. Worked out along +x, then turned to the side."""
    hall = _snap(rng.uniform(1.3, 1.7))
    depths = [_snap(rng.uniform(3.1, 4.2)), _snap(rng.uniform(3.1, 4.2))]
    rows: list[list[tuple[str, float]]] = [[], []]
    lengths = [0.0, 0.0]
    for name in names:
        row = int(np.argmin(lengths))
        least, most = _AREAS[name]
        width = _snap(max(rng.uniform(least, most) / (depths[row] - 2 * WALL), 1.7))
        rows[row].append((name, width))
        lengths[row] += width
    total = _snap(max(lengths))
    for row in (0, 1):  # stretch the shorter side if the rooms allow it
        if rows[row] and 0 < total - lengths[row] <= 0.35 * lengths[row]:
            grown: list[tuple[str, float]] = []
            rest = total
            for index, (name, width) in enumerate(rows[row]):
                wide = rest if index == len(rows[row]) - 1 else _snap(width * total / lengths[row])
                grown.append((name, _snap(wide)))
                rest = _snap(rest - wide)
            rows[row] = grown
    span = (block[1], block[3]) if side in "EW" else (block[0], block[2])
    middle = _snap(rng.uniform(span[0] + 0.9, span[1] - 0.9))
    y0, y1 = _snap(middle - hall / 2), _snap(_snap(middle - hall / 2) + hall)
    boxes: list[tuple[str, Rect]] = [("hallway", (0.0, y0, total, y1))]
    for row, sign in ((0, 1), (1, -1)):
        x = 0.0
        for name, width in rows[row]:
            low, high = (y1, _snap(y1 + depths[row])) if sign > 0 else (_snap(y0 - depths[row]), y0)
            boxes.append((name, (x, low, _snap(x + width), high)))
            x = _snap(x + width)
    return [Room(name, _turned(rect, block, side)) for name, rect in boxes]


def _turned(rect: Rect, block: Rect, side: str) -> Rect:
    """Wing coordinates (outward x, along y) to the plan."""
    x0, y0, x1, y1 = rect
    if side == "E":
        found = (block[2] + x0, y0, block[2] + x1, y1)
    elif side == "W":
        found = (block[0] - x1, y0, block[0] - x0, y1)
    elif side == "N":
        found = (y0, block[3] + x0, y1, block[3] + x1)
    else:
        found = (y0, block[1] - x1, y1, block[1] - x0)
    return _snap(found[0]), _snap(found[1]), _snap(found[2]), _snap(found[3])


def _with_front_door(plan: FloorPlan, rng: np.random.Generator) -> FloorPlan | None:
    """Add the closed front door on an outer wall of the entry, hallway or living room."""
    for names in (("entryway",), ("living room", "hallway"), ("dining room", "kitchen")):
        options = [
            (i, span)
            for i, room in enumerate(plan.rooms)
            if room.kind in names
            for span in exterior_spans(plan, i)
            if span[3] - span[2] > 1.45
        ]
        if options:
            index, (axis, level, low, high, _) = options[int(rng.integers(len(options)))]
            start = round(float(rng.uniform(low + 0.2, high - 1.15)), 3)
            plan.doors.append(Door(index, -1, axis, level, start, round(start + 0.95, 3)))
            return plan
    return None


def _all_reachable(plan: FloorPlan) -> bool:
    seen, stack = {0}, [0]
    while stack:
        here = stack.pop()
        for door in plan.doors:
            if door.b >= 0 and here in (door.a, door.b):
                other = door.b if here == door.a else door.a
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
    return len(seen) == len(plan.rooms)
