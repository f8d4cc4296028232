"""Fitted kitchens: a run of appliances and counters along one or two walls, cabinets and a hood above."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.kinds import Piece, build_piece
from hm3dm3_env.scenes.procedural.placing import Placed, Pose, RoomState
from hm3dm3_env.scenes.procedural.structure import Side

_RUN = (
    "refrigerator",
    "kitchen counter",
    "stove",
    "kitchen counter",
    "kitchen sink",
    "dishwasher",
    "kitchen counter",
    "kitchen cabinet",
    "kitchen counter",
)
_NEEDED = ("refrigerator", "stove", "kitchen sink")


def place_kitchen(room: RoomState, rng: np.random.Generator) -> None:
    """Fill the longest walls without doors with the run; what did not fit goes to the next wall."""
    stretches = sorted(
        (
            (high - low, number, side, low, high)
            for number, side in enumerate(room.sides)
            for low, high in _open_stretches(room, side)
        ),
        key=lambda item: (-item[0], item[1]),
    )
    queue = list(_RUN)
    if rng.random() < 0.5:
        queue = [
            "kitchen cabinet"
            if name == "refrigerator"
            else "refrigerator"
            if name == "kitchen cabinet"
            else name
            for name in queue
        ]
    style_look: dict[str, tuple[str, str]] = {}
    for number, (length, _, side, low, high) in enumerate(stretches[:3]):
        needed = any(name in queue for name in _NEEDED)
        if (
            length < 0.7
            or not queue
            or (number > 0 and not needed and length < 1.6)
            or number > 1
            and not needed
        ):
            break
        queue = _fill(room, side, low, high, queue, rng, style_look)
    for name in _NEEDED:
        if name in queue:
            item = CATALOGUE[name]
            small = (item.size[0][0], item.size[1][0], item.size[2][0])
            piece = build_piece(item, room.style, rng, size=small)
            room.put(piece, _anywhere(room, piece, rng), checks=30)


def _anywhere(room: RoomState, piece: Piece, rng: np.random.Generator) -> Iterator[Pose]:
    """Places at all walls in steps of 10 cm, in random order."""
    spots = [
        (side, along)
        for side in room.sides
        for along in np.arange(side.low + piece.size[0] / 2 + 0.01, side.high - piece.size[0] / 2, 0.1)
    ]
    for index in rng.permutation(len(spots)):
        side, along = spots[int(index)]
        yield _pose(side, float(along), piece.size[1])


def _open_stretches(room: RoomState, side: Side) -> list[tuple[float, float]]:
    found, at = [], side.low + 0.01
    for door in sorted(room.side_doors(side), key=lambda item: item.low):
        found.append((at, door.low - 0.1))
        at = door.high + 0.1
    found.append((at, side.high - 0.01))
    return [(low, high) for low, high in found if high - low > 0.6]


def _pose(side: Side, along: float, depth: float) -> Pose:
    away = side.level + side.sign * (depth / 2 + 0.006)
    return (along, away, side.angle) if side.axis == "x" else (away, along, side.angle)


def _fill(
    room: RoomState,
    side: Side,
    low: float,
    high: float,
    queue: list[str],
    rng: np.random.Generator,
    looks: dict[str, tuple[str, str]],
) -> list[str]:
    """Modules side by side from low to high; returns those that found no place."""
    at, left = low, list(queue)
    while left and high - at > 0.5:
        done = False
        for name in list(dict.fromkeys(left)):
            piece = _module(room, name, rng, looks)
            if name == "kitchen counter" and piece.size[0] > high - at:
                piece = _module(room, name, rng, looks, high - at)
            if piece.size[0] > high - at + 1e-6:
                continue
            placed = room.put(piece, [_pose(side, at + piece.size[0] / 2, piece.size[1])], slack=0.0)
            if placed is None:
                continue
            at += piece.size[0] + 0.002
            left.remove(name)
            _over(room, placed, side, at - piece.size[0] / 2, rng)
            _loads(room, placed, rng)
            done = True
            break
        if not done:
            at += 0.25
    return left


def _module(
    room: RoomState,
    name: str,
    rng: np.random.Generator,
    looks: dict[str, tuple[str, str]],
    width: float = 0.0,
) -> Piece:
    item = CATALOGUE[name]
    size = None
    if width:
        size = (width, item.size[1][0], item.size[2][0])
    return build_piece(item, room.style, rng, looks.get(name), size)


def _over(room: RoomState, below: Placed, side: Side, along: float, rng: np.random.Generator) -> None:
    """A wall cabinet over a counter, a hood over the stove."""
    name = below.piece.kind.name
    if name == "stove":
        piece = build_piece(CATALOGUE["range hood"], room.style, rng)
        room.put(
            piece, [_pose(side, below.x if side.axis == "x" else below.y, piece.size[1])], 1.6, slack=0.0
        )
    elif name in ("kitchen counter", "dishwasher") and rng.random() < 0.8:
        width = below.piece.size[0] - 0.01
        piece = build_piece(CATALOGUE["wall cabinet"], room.style, rng, size=(width, 0.35, 0.68))
        room.put(
            piece, [_pose(side, below.x if side.axis == "x" else below.y, piece.size[1])], 1.46, slack=0.0
        )


def _loads(room: RoomState, placed: Placed, rng: np.random.Generator) -> None:
    for near in placed.piece.kind.near:
        if near.relation == "on" and rng.random() < near.chance:
            room.add_on_top(placed, build_piece(CATALOGUE[near.name], room.style, rng), rng)
