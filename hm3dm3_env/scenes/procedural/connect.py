"""Doors between the rooms of a floor plan: a spanning tree by preference, and some loops."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.rooms import WALL, Door, FloorPlan, Room, shared_wall

_OPEN_PAIRS = (
    {"living room", "dining room"},
    {"dining room", "kitchen"},
    {"living room", "kitchen"},
    {"living room", "entryway"},
    {"hallway", "living room"},
    {"hallway", "dining room"},
)
_PUBLIC = ("living room", "dining room", "kitchen", "entryway", "hallway", "sunroom")


def connect_rooms(plan: FloorPlan, rng: np.random.Generator) -> bool:
    """Doors: public rooms together, private ones to their hallway (some baths to a bedroom), some loops."""
    rooms = plan.rooms
    pairs = [
        (i, j)
        for i in range(len(rooms))
        for j in range(i + 1, len(rooms))
        if (wall := shared_wall(rooms[i].rect, rooms[j].rect)) and wall[3] - wall[2] >= 1.3
    ]
    linked = {i: i for i in range(len(rooms))}

    def root(i: int) -> int:
        while linked[i] != i:
            i = linked[i]
        return i

    def cost(pair: tuple[int, int]) -> float:
        names = {rooms[pair[0]].kind, rooms[pair[1]].kind}
        if names in _OPEN_PAIRS:
            return float(rng.uniform(0, 1))
        if len(names & set(_PUBLIC)) == len(names):
            return 1 + float(rng.uniform(0, 1))
        if "hallway" in names:
            ensuite = "bathroom" in names and sum(room.kind == "bathroom" for room in rooms) > 1
            return (
                2
                + float(rng.uniform(0, 1))
                + (1.5 * (rng.random() < 0.4) if ensuite or "closet" in names else 0)
            )
        if names & {"bedroom", "guest bedroom"} and names & {"bathroom", "closet"}:
            return 3 + float(rng.uniform(0, 1))
        if names == {"kitchen", "pantry"} or names == {"kitchen", "laundry room"}:
            return 2.0
        return 6 + float(rng.uniform(0, 1)) + 2 * ("bathroom" in names) + ("bedroom" in names)

    costs = {pair: cost(pair) for pair in pairs}
    for pair in sorted(pairs, key=lambda p: (costs[p], p)):
        extra = (
            costs[pair] < 1
            or (costs[pair] < 4 and rng.random() < 0.15)
            or (costs[pair] < 8 and rng.random() < 0.06)
        )
        if root(pair[0]) != root(pair[1]) or extra:
            door = _door(rooms, pair, rng)
            if door is None:
                continue
            plan.doors.append(door)
            linked[root(pair[0])] = root(pair[1])
    return len({root(i) for i in linked}) == 1


def _door(rooms: list[Room], pair: tuple[int, int], rng: np.random.Generator) -> Door | None:
    wall = shared_wall(rooms[pair[0]].rect, rooms[pair[1]].rect)
    assert wall is not None
    axis, level, low, high = wall
    low, high = low + WALL + 0.1, high - WALL - 0.1
    names = {rooms[pair[0]].kind, rooms[pair[1]].kind}
    wide = names in _OPEN_PAIRS and high - low > 2.0 and rng.random() < 0.7
    width = float(rng.uniform(1.4, min(2.0, high - low))) if wide else float(rng.uniform(0.88, 1.0))
    width = round(width / 0.05) * 0.05
    if high - low < width:
        return None
    slack = high - low - width
    share = rng.choice([0.0, 1.0]) if not wide and slack > 0.6 and rng.random() < 0.65 else rng.random()
    start = low + 0.05 * np.floor(slack * share / 0.05 + 1e-6)
    return Door(
        pair[0], pair[1], axis, level, round(float(start), 3), round(float(start) + width, 3), bool(wide)
    )
