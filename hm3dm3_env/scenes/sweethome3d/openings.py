"""Doors and windows: what they cut out of the walls, which ones are passages, and what stands in the hole."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from shapely.geometry import Point, Polygon
from shapely.geometry.base import BaseGeometry

from hm3dm3_env.scenes.sweethome3d.furniture import ModelCache, Placed, category, is_leaf, place
from hm3dm3_env.scenes.sweethome3d.home_xml import Piece
from hm3dm3_env.scenes.sweethome3d.looks import WHITE, Palette, color_word, material_word
from hm3dm3_env.scenes.sweethome3d.mesh import Builder, rectangle
from hm3dm3_env.scenes.sweethome3d.walls import Hole

PASSABLE_WIDTH, PASSABLE_HEIGHT, PASSABLE_SILL = 0.6, 1.5, 0.2
FRAME = 0.03
"""Thickness of the jambs and the lintel of a passage (metres)."""
_DOOR = re.compile(r"door|porte|\btür|puerta|porta\b|gate", re.I)
_FRENCH = re.compile(r"french|slider|sliding|porte-fen|balkontür", re.I)


@dataclass
class Opening:
    """A door or window of the floor, with its hole; `kind` is "passage", "door" or "window"."""

    piece: Piece
    hole: Hole
    base: float
    kind: str = "window"
    cuts: tuple[tuple[int, Polygon], ...] = ()


def opening_of(piece: Piece, base: float) -> Opening:
    """The opening of a door or window; `base` is the height of its level in the scene."""
    width, depth, height = piece.size
    share, start = piece.wall_thickness, piece.wall_distance
    # The wall part of the depth is measured from the back, which is +y in the piece's own frame.
    back = depth / 2 - depth * (start + share / 2)
    offset = np.array([-np.sin(piece.angle), np.cos(piece.angle)]) * back
    low = piece.elevation + base
    hole = Hole(
        np.asarray(piece.position) + offset, piece.angle, width, max(depth * share, 0.02), low, low + height
    )
    return Opening(piece, hole, base)


def classify(opening: Opening, floor: BaseGeometry, thickness: float) -> None:
    """Decide what the opening is: a passage has indoor floor on both sides and reaches the ground."""
    piece, hole = opening.piece, opening.hole
    names = f"{piece.name} {piece.catalog} {piece.model}"
    door = bool(_DOOR.search(names) or _FRENCH.search(names))
    reaches = (
        hole.low < PASSABLE_SILL and hole.width >= PASSABLE_WIDTH and hole.high - hole.low >= PASSABLE_HEIGHT
    )
    if not (door and reaches):
        opening.kind = "door" if _DOOR.search(piece.name) and hole.low < PASSABLE_SILL else "window"
        return
    normal = np.array([-np.sin(hole.angle), np.cos(hole.angle)])
    reach = max(hole.depth, thickness) / 2
    inside = [
        any(floor.contains(Point(*(hole.center + sign * normal * (reach + step)))) for step in (0.2, 0.35))
        for sign in (-1.0, 1.0)
    ]
    if all(inside):
        opening.kind = "passage"
        hole.low = 0.0
    else:
        opening.kind = "door" if _DOOR.search(piece.name) and not _FRENCH.search(names) else "window"


def passage_frame(opening: Opening, thickness: float, palette: Palette) -> Placed:
    """Jambs and a lintel of our own for a passage; the leaf is left out so that a robot can pass."""
    hole, builder = opening.hole, Builder(palette)
    color = opening.piece.look.color or next(
        (look.color for look in opening.piece.materials.values() if look.color and not look.hidden), WHITE
    )
    surface = palette.plain(color)
    half, deep = hole.width / 2, thickness / 2 + 0.01
    for low, high in ((-half, -half + FRAME), (half - FRAME, half)):
        builder.prism(rectangle(hole.center, hole.angle, low, high, -deep, deep), 0.0, hole.high, surface)
    lintel = rectangle(hole.center, hole.angle, -half + FRAME, half - FRAME, -deep, deep)
    builder.flat(surface, lintel, hole.high - FRAME, up=False)
    builder.sides(lintel, hole.high - FRAME, hole.high, lambda a, b: surface)
    return Placed(builder, color_word(color), material_word([opening.piece.name]))


def closed(opening: Opening, cache: ModelCache, palette: Palette, problems: list[str]) -> Placed | None:
    """The model of a window or closed door; a leaf that stands open is replaced by a shut one."""
    piece = opening.piece
    swung = opening.kind == "door" and piece.openable and piece.size[1] > 0.4
    if not swung:
        return place(piece, opening.base, cache, palette, problems)
    placed = place(piece, opening.base, cache, palette, problems, keep=lambda part: not is_leaf(part))
    builder = placed.builder if placed else Builder(palette)
    surface = palette.plain(piece.look.color or WHITE)
    hole = opening.hole
    leaf = rectangle(hole.center, hole.angle, -hole.width / 2, hole.width / 2, -0.02, 0.02)
    builder.prism(leaf, hole.low, hole.high, surface)
    problems.append(f"{piece.name}: stands open to the outside; closed with a plain leaf")
    return Placed(builder, color_word(piece.look.color or WHITE), placed.material if placed else "")


def opening_category(opening: Opening) -> str:
    """ "door frame", "door", "window", or the piece's own name for doors and windows of other names."""
    if opening.kind == "passage":
        return "door frame"
    name = category(opening.piece)
    if opening.kind == "door":
        return "garage door" if "garage" in name else name if "frame" in name else "door"
    if re.search(r"window|fenêtre|fenster|ventana|finestra|french", name):
        return "window"
    return "window" if _FRENCH.search(name) else name
