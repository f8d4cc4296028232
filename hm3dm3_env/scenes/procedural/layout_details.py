"""Curtains and blinds at windows, door leaves that stand open."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.layout import SceneObject
from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.kinds import build_piece
from hm3dm3_env.scenes.procedural.placing import RoomState
from hm3dm3_env.scenes.procedural.structure import open_leaf

_CURTAINS = {
    "living room": 0.7,
    "bedroom": 0.8,
    "guest bedroom": 0.8,
    "child bedroom": 0.7,
    "nursery": 0.7,
    "dining room": 0.5,
    "library": 0.5,
    "music room": 0.4,
    "studio": 0.3,
    "office": 0.4,
}
_BLINDS = 0.4
_LEAVES = 0.6


def add_window_cloths(room: RoomState, rng: np.random.Generator) -> None:
    """One kind of cloth for all windows of the room."""
    curtains = rng.random() < _CURTAINS.get(room.kind, 0.0)
    blinds = not curtains and rng.random() < _BLINDS
    look = None
    for window in room.windows:
        if not curtains and not blinds:
            return
        width = window.high - window.low
        middle = (window.low + window.high) / 2
        if curtains:
            low = 0.03 if rng.random() < 0.35 else window.bottom - 0.2
            size = (width + 0.5, 0.13, 2.35 - low)
            item, z = CATALOGUE["curtain"], low
        else:
            size = (width - 0.04, 0.05, window.top - window.bottom)
            item, z = CATALOGUE["window blind"], window.bottom
        piece = build_piece(item, room.style, rng, look, size)
        if not look:
            look = next(((m, c) for m, c in item.looks if c == piece.colour), None)
        side = window.side
        away = side.level + side.sign * (piece.size[1] / 2 + (0.1 if curtains else 0.035))
        pose = (middle, away, side.angle) if side.axis == "x" else (away, middle, side.angle)
        if not curtains:
            z = window.top - piece.size[2]
            room.boxes = [box for box in room.boxes]
        _put_through(room, piece, pose, z)


def _put_through(room: RoomState, piece: object, pose: tuple[float, float, float], z: float) -> None:
    """Place at a window: its own box is no obstacle."""
    kept = room.boxes
    room.boxes = [box for box in kept if box[3] >= 0 or box[1] < 0.01]
    before = len(room.boxes)
    room.put(piece, [pose], z)  # type: ignore[arg-type]
    room.boxes = kept + room.boxes[before:]


def add_door_leaves(room: RoomState, rng: np.random.Generator) -> None:
    """Some doorways have a leaf, swung flat against the wall of the first of their rooms."""
    colour = ("white", "cream")[int(rng.integers(2))]
    surface = f"paintedwood:{colour}" if rng.random() < 0.6 else f"wood:{room.style.woods[0]}"
    for door in room.doors:
        if door.b < 0 or door.wide or door.a != room.index or rng.random() > _LEAVES:
            continue
        side = next(one for one in room.sides if door in room.side_doors(one))
        for before in (True, False) if rng.random() < 0.5 else (False, True):
            shape, (low, high), depth = open_leaf(door, side, before, surface)
            rect = room.strip(side, low, high, depth)
            blocked = any(
                rect[0] < b[2] and rect[2] > b[0] and rect[1] < b[3] and rect[3] > b[1]
                for b, _, _, _ in room.boxes
                if b != room._clearance(door)
            )
            if low < side.low + 0.02 or high > side.high - 0.02 or blocked or not room.grid.allows([rect]):
                continue
            room.grid.block(rect)
            room.boxes.append((rect, 0.0, door.height, -1))
            wood = surface.startswith("wood")
            room.extra.append(
                SceneObject(
                    "door",
                    room.index,
                    shape.parts(0.0, 0.0, 0.0, 0.0),
                    "" if wood else colour,
                    "wood" if wood else "painted wood",
                )
            )
            break
