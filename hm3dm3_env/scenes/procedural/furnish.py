"""Furnish the rooms: what a room gets, in which order, and the candidate places of each piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.kinds import MODEL, ROOMS, Kind, Near, Piece, build_piece
from hm3dm3_env.scenes.procedural.kitchen import place_kitchen
from hm3dm3_env.scenes.procedural.layout_details import add_door_leaves, add_window_cloths
from hm3dm3_env.scenes.procedural.placing import FLAT, Placed, Pose, RoomState
from hm3dm3_env.scenes.procedural.structure import CEILING

_CODES = {name: code for code, name in ROOMS.items()}
_MOST_USED = 0.5
"""Share of a room's floor that furniture may cover; ours."""
_ORDERED = ("pillow", "cushion", "teddy bear")
_CENTRED = ("tv", "aquarium", "computer monitor", "fruit bowl", "chess set")


def furnish_room(room: RoomState, rng: np.random.Generator) -> None:
    """Fill one room: fixtures, large pieces with their companions, walls, tops, ceiling."""
    add_window_cloths(room, rng)
    add_door_leaves(room, rng)
    if room.kind == "kitchen":
        place_kitchen(room, rng)
    area = (room.inner[2] - room.inner[0]) * (room.inner[3] - room.inner[1])
    wanted = _wanted(room.kind, area, rng)
    floor = [item for item in wanted if item.place in ("wall", "corner", "edge", "free", "centre")]
    floor.sort(key=lambda item: -_rank(item, room.kind))
    for item in floor:
        if item.size[2][1] > FLAT and room.used > _MOST_USED * area:
            continue
        piece = build_piece(item, room.style, rng)
        placed = room.put(
            piece, _poses(room, item, piece, rng), checks=20 if item.rooms[_CODES[room.kind]][0] >= 1 else 6
        )
        if placed is not None:
            _companions(room, placed, rng)
    for item in wanted:
        if item.place == "hang":
            _hang(room, item, rng)
        elif item.place == "ceiling":
            _ceiling(room, item, rng)
    for item in wanted:
        if item.place == "top":
            _stand(room, item, rng)


def _rank(item: Kind, room: str) -> float:
    """Must-haves first, then by floor area."""
    area = item.size[0][1] * item.size[1][1]
    return area + (10 if item.rooms[_CODES[room]][0] >= 1 else 0) + (1 if item.near else 0)


def _wanted(room: str, area: float, rng: np.random.Generator) -> list[Kind]:
    """The kinds of a room, as often as they shall occur; a large room gets more."""
    power = float(np.clip(area / 13.0, 0.75, 1.9))
    code = _CODES[room]
    found = []
    for item in CATALOGUE.values():
        if code in item.rooms:
            chance, low, high = item.rooms[code]
            if rng.random() < 1 - (1 - chance) ** power:
                found += [item] * int(rng.integers(low, high + 1))
    return [found[int(i)] for i in rng.permutation(len(found))]


def _poses(room: RoomState, item: Kind, piece: Piece, rng: np.random.Generator) -> Iterator[Pose]:
    """Candidate poses of a floor piece, best first."""
    x0, y0, x1, y1 = room.inner
    w, d, _ = piece.size
    if item.place == "centre":
        along = 0.0 if (x1 - x0) >= (y1 - y0) else np.pi / 2
        for spread in (0.1, 0.35, 0.7):
            for turn in (along, along + np.pi / 2):
                yield (
                    (x0 + x1) / 2 + float(rng.uniform(-spread, spread)),
                    (y0 + y1) / 2 + float(rng.uniform(-spread, spread)),
                    turn,
                )
        return
    if item.place == "free":
        for _ in range(10):
            turn = float(rng.integers(4)) * np.pi / 2 + (
                float(rng.uniform(-0.3, 0.3)) if piece.size[2] > FLAT else 0.0
            )
            yield float(rng.uniform(x0 + 0.3, x1 - 0.3)), float(rng.uniform(y0 + 0.3, y1 - 0.3)), turn
        return
    if item.place == "corner":
        yield from _corners(room, w, d, rng)
    jitter = item.place == "edge" and max(w, d) < 0.75
    order = rng.permutation(4)
    for attempt in range(9):
        for index in order:
            side = room.sides[int(index)]
            low, high = side.low + w / 2 + 0.02, side.high - w / 2 - 0.02
            if high < low:
                continue
            along = (low, high)[int(rng.integers(2))] if attempt in (1, 3) else float(rng.uniform(low, high))
            turn = float(rng.uniform(-0.35, 0.35)) if jitter else 0.0
            reach = (abs(np.sin(turn)) * w + abs(np.cos(turn)) * d) / 2
            away = side.level + side.sign * (reach + (float(rng.uniform(0.02, 0.06)) if jitter else 0.012))
            yield (along, away, side.angle + turn) if side.axis == "x" else (away, along, side.angle + turn)


def _corners(room: RoomState, w: float, d: float, rng: np.random.Generator) -> Iterator[Pose]:
    for index in rng.permutation(8):
        side = room.sides[int(index) % 4]
        low, high = side.low + w / 2 + 0.02, side.high - w / 2 - 0.02
        if high >= low:
            along = low if index < 4 else high
            away = side.level + side.sign * (d / 2 + 0.02)
            yield (along, away, side.angle) if side.axis == "x" else (away, along, side.angle)


def _companions(room: RoomState, parent: Placed, rng: np.random.Generator) -> None:
    """Place what belongs to a piece: chairs around it, a lamp on it, a mirror above it."""
    for near in parent.piece.kind.near:
        if rng.random() >= near.chance:
            continue
        count = int(rng.integers(near.low, near.high + 1))
        item = CATALOGUE[near.name]
        if near.relation == "on":
            look = None
            for _ in range(count):
                piece = build_piece(item, room.style, rng, look)
                if near.name == "pillow":
                    look = _look(piece) if piece.model else (piece.kind.looks[0][0], piece.colour)
                room.add_on_top(parent, piece, rng, near.name in _CENTRED, near.name in _ORDERED)
        elif near.relation == "above":
            _above(room, parent, item, rng)
        elif near.relation == "facing":
            _facing(room, parent, item, rng)
        elif near.relation == "under":
            _under(room, parent, item, rng)
        elif near.relation == "around":
            _around(room, parent, item, count, rng)
        else:
            _beside(room, parent, item, near, count, rng)


def _local(parent: Placed, lx: float, ly: float, turn: float) -> Pose:
    x, y = parent.world(lx, ly)
    return x, y, parent.angle + turn


def _index(room: RoomState, item: Placed) -> int:
    return next(i for i, other in enumerate(room.placed) if other is item)


def _beside(
    room: RoomState, parent: Placed, item: Kind, near: Near, count: int, rng: np.random.Generator
) -> None:
    w, d, _ = parent.piece.size
    look, size = None, None
    for number in range(count):
        piece = build_piece(item, room.style, rng, look, size)
        if item.size[0][1] < 0.7:
            look, size = _look(piece), piece.size if number == 0 and near.relation != "front" else size
        cw, cd, _ = piece.size
        if near.relation == "sides":
            order = (1, -1) if (number + int(rng.integers(2)) if count == 1 else number) % 2 == 0 else (-1, 1)
            poses = [
                _local(parent, sign * (w / 2 + cw / 2 + gap), -d / 2 + cd / 2, 0.0)
                for sign in order
                for gap in (0.03, 0.12)
            ]
            placed = room.put(piece, poses)
        else:
            sitting = item.name not in ("coffee table", "bed bench")
            gap = 0.42 if item.name == "coffee table" else 0.03
            spread = (number - (count - 1) / 2) * min(0.62, (w - 0.1) / max(count, 1))
            turn = np.pi if sitting else 0.0
            extra = float(rng.uniform(-0.25, 0.25)) if item.name == "office chair" else 0.0
            poses = [
                _local(parent, spread + shift, d / 2 + gap + cd / 2 + more, turn + extra)
                for more in (0.0, 0.06, 0.12)
                for shift in (0.0, 0.15, -0.15)
            ]
            placed = room.put(piece, poses)
        if placed is not None:
            _companions(room, placed, rng)


def _look(piece: Piece) -> tuple[str, str] | None:
    """The catalogue look of a piece (or its library model), to repeat it."""
    if piece.model:
        return MODEL, piece.model
    for material, colour in piece.kind.looks:
        if colour == piece.colour or piece.material == f"{colour} wood":
            return material, colour
    return None


def _around(room: RoomState, parent: Placed, item: Kind, count: int, rng: np.random.Generator) -> None:
    """Chairs on the long sides of a table, then at its ends; each faces the table."""
    w, d, _ = parent.piece.size
    first = build_piece(item, room.style, rng)
    look, size = _look(first), first.size
    cd = size[1]
    tuck = min(0.12, d * 0.12)
    spots: list[tuple[float, float, float]] = []
    per_side = 2 if w > 1.1 and count > 3 else 1
    for k in range(per_side):
        lx = (k - (per_side - 1) / 2) * w / per_side * 0.95
        spots += [(lx, d / 2 + cd / 2 - tuck, np.pi), (lx, -d / 2 - cd / 2 + tuck, 0.0)]
    spots += [(w / 2 + cd / 2 - tuck, 0.0, np.pi / 2), (-w / 2 - cd / 2 + tuck, 0.0, -np.pi / 2)]
    owner = _index(room, parent)
    for lx, ly, turn in spots[:count]:
        piece = build_piece(item, room.style, rng, look, None)
        room.put(
            piece, [_local(parent, lx, ly, turn), _local(parent, lx * 1.05, ly * 1.12, turn)], ignore=(owner,)
        )


def _above(room: RoomState, parent: Placed, item: Kind, rng: np.random.Generator) -> None:
    """Hang a piece over another that stands against a wall."""
    piece = build_piece(item, room.style, rng)
    if item.place == "ceiling":
        room.put(piece, [(parent.x, parent.y, parent.angle)], CEILING - piece.size[2])
        return
    low = max(parent.z + parent.piece.size[2] + 0.08, 1.05)
    if parent.piece.kind.name == "bathroom vanity":
        low = 1.12
    if low + piece.size[2] < 2.45:
        room.put(
            piece, [_local(parent, 0.0, -parent.piece.size[1] / 2 + piece.size[1] / 2 - 0.007, 0.0)], low
        )


def _facing(room: RoomState, parent: Placed, item: Kind, rng: np.random.Generator) -> None:
    """Stand a piece at the wall that the parent looks at."""
    piece = build_piece(item, room.style, rng)
    c, s = -np.sin(parent.angle), np.cos(parent.angle)
    side = next(
        (
            one
            for one in room.sides
            if (one.axis == "x") == (abs(s) > 0.7) and (s if one.axis == "x" else c) * one.sign < -0.5
        ),
        None,
    )
    if side is None:
        return
    base = parent.x if side.axis == "x" else parent.y
    away = side.level + side.sign * (piece.size[1] / 2 + 0.012)
    poses: list[Pose] = []
    for shift in (0.0, 0.3, -0.3, 0.7, -0.7, 1.2, -1.2):
        along = float(
            np.clip(base + shift, side.low + piece.size[0] / 2 + 0.02, side.high - piece.size[0] / 2 - 0.02)
        )
        poses.append((along, away, side.angle) if side.axis == "x" else (away, along, side.angle))
    placed = room.put(piece, poses)
    if placed is not None:
        _companions(room, placed, rng)


def _under(room: RoomState, parent: Placed, item: Kind, rng: np.random.Generator) -> None:
    """Lay a rug in front of, and a little below, a piece."""
    piece = build_piece(item, room.style, rng)
    for forward in (0.45, 0.3, 0.15, 0.6):
        pose = _local(parent, 0.0, parent.piece.size[1] / 2 + forward, 0.0)
        x0, y0, x1, y1 = room.inner
        w, d = piece.size[0] / 2, piece.size[1] / 2
        if abs(np.sin(parent.angle)) > 0.5:
            w, d = d, w
        if x1 - x0 > 2 * w + 0.1 and y1 - y0 > 2 * d + 0.1:
            x = float(np.clip(pose[0], x0 + w + 0.03, x1 - w - 0.03))
            y = float(np.clip(pose[1], y0 + d + 0.03, y1 - d - 0.03))
            room.placed.append(Placed(piece, x, y, 0.0, pose[2]))
            return


def _hang(room: RoomState, item: Kind, rng: np.random.Generator) -> None:
    """A wall piece at its mounting height, clear of doors, windows and furniture."""
    piece = build_piece(item, room.style, rng)
    z = float(rng.uniform(*item.z))
    poses: list[Pose] = []
    for _ in range(4):
        for index in rng.permutation(4):
            side = room.sides[int(index)]
            low, high = side.low + piece.size[0] / 2 + 0.1, side.high - piece.size[0] / 2 - 0.1
            if high > low:
                along = float(rng.uniform(low, high))
                away = side.level + side.sign * (piece.size[1] / 2 + 0.005)
                poses.append((along, away, side.angle) if side.axis == "x" else (away, along, side.angle))
    placed = room.put(piece, poses, z)
    if placed is not None:
        _companions(room, placed, rng)


def _ceiling(room: RoomState, item: Kind, rng: np.random.Generator) -> None:
    """A lamp at the ceiling, over the table if there is one."""
    piece = build_piece(item, room.style, rng)
    x0, y0, x1, y1 = room.inner
    tables = [
        one
        for one in room.placed
        if one.piece.kind.name in ("dining table", "kitchen island", "kitchen table", "pool table")
    ]
    poses: list[Pose] = [(one.x, one.y, one.angle) for one in tables[:1]]
    if item.name == "ceiling lamp" and room.kind == "hallway":
        poses = []
    poses.append(((x0 + x1) / 2, (y0 + y1) / 2, 0.0))
    for _ in range(4):
        poses.append(
            (
                float(rng.uniform(x0 + 0.7, max(x0 + 0.71, x1 - 0.7))),
                float(rng.uniform(y0 + 0.7, max(y0 + 0.71, y1 - 0.7))),
                0.0,
            )
        )
    room.put(piece, poses, CEILING - piece.size[2])


def _stand(room: RoomState, item: Kind, rng: np.random.Generator) -> None:
    """A small piece on some top of the room that suits it."""
    hosts = [one for one in room.placed if one.piece.kind.name in item.on]
    piece = build_piece(item, room.style, rng)
    for index in rng.permutation(len(hosts)):
        if room.add_on_top(hosts[int(index)], piece, rng):
            return
