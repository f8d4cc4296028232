"""Walls, floors, ceilings, door frames and leaves, windows: the fixed part of a house.

Each room owns a ring of wall boxes inside its own rectangle, so that rooms that tile the plan have walls
without gaps or overlaps; outer sides get a second slab outside. Sizes in metres; ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hm3dm3_env.scenes.layout import SceneObject
from hm3dm3_env.scenes.procedural.kinds import Style
from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.rooms import WALL, Door, FloorPlan, exterior_spans

CEILING = 2.6
TRIM = 0.02
"""How far a door frame reaches into the opening and out of the wall."""

_WALLS = (
    "plaster:white",
    "plaster:cream",
    "plaster:beige",
    "plaster:light grey",
    "plaster:mint",
    "plaster:light blue",
    "stripes:beige",
    "stripes:light blue",
    "damask:cream",
    "dots:cream",
    "plaster:terracotta",
    "plaster:teal",
)
_FLOORS = ("planks:oak", "planks:walnut", "planks:pine", "parquet:oak", "parquet:cherry")


@dataclass(frozen=True)
class Side:
    """One inner wall face: runs along `axis` at `level` from low to high; the room lies towards `sign`.

    `angle` turns a piece's front (+y) to the room.
    """

    name: str
    axis: str
    level: float
    low: float
    high: float
    sign: int
    angle: float


@dataclass(frozen=True)
class Window:
    """A window on a wall face: along low..high, heights bottom..top."""

    side: Side
    low: float
    high: float
    bottom: float
    top: float


def sides(inner: tuple[float, float, float, float]) -> list[Side]:
    """The four faces of a room: south, north, west, east."""
    x0, y0, x1, y1 = inner
    return [
        Side("S", "x", y0, x0, x1, 1, 0.0),
        Side("N", "x", y1, x0, x1, -1, np.pi),
        Side("W", "y", x0, y0, y1, 1, -np.pi / 2),
        Side("E", "y", x1, y0, y1, -1, np.pi / 2),
    ]


def on_side(side: Side, door: Door) -> bool:
    """Whether a door is in this side's wall line (the caller has checked the room)."""
    outer = side.level - side.sign * WALL
    return door.axis == side.axis and abs(door.level - outer) < 1e-6


def room_surfaces(kind: str, rng: np.random.Generator, home: str) -> tuple[str, str]:
    """(wall surface, floor surface) of a room; `home` is the floor of the living rooms."""
    wall = _WALLS[int(rng.choice(len(_WALLS), p=_weights(len(_WALLS))))]
    if kind in ("bathroom", "laundry room"):
        wall = (
            "walltiles:white",
            "walltiles:light blue",
            "walltiles:mint",
            "plaster:white",
            "walltiles:beige",
        )[int(rng.integers(5))]
        return wall, ("tiles:white", "tiles:light grey", "bigtiles:grey", "tiles:beige", "tiles:light blue")[
            int(rng.integers(5))
        ]
    if kind in ("kitchen", "pantry", "entryway", "sunroom"):
        options = (
            home,
            "bigtiles:beige",
            "tiles:terracotta",
            "bigtiles:light grey",
            "tiles:cream",
            "marble:white",
        )
        return wall, options[int(rng.integers(6))]
    if kind in ("garage", "workshop", "storage room"):
        wall = ("brick:white", "brick:terracotta", "plaster:light grey", "concrete:light grey")[
            int(rng.integers(4))
        ]
        return wall, ("concrete:light grey", "concrete:grey")[int(rng.integers(2))]
    if kind in ("playroom", "nursery", "child bedroom"):
        wall = (
            "plaster:light blue",
            "dots:pink",
            "stripes:mint",
            "plaster:yellow",
            "dots:light blue",
            "plaster:mint",
        )[int(rng.integers(6))]
        return wall, (home, "carpet:beige", "carpet:light blue", "carpet:light grey")[int(rng.integers(4))]
    if kind in ("bedroom", "guest bedroom", "closet") and rng.random() < 0.45:
        return wall, ("carpet:beige", "carpet:light grey", "carpet:cream", "carpet:grey")[
            int(rng.integers(4))
        ]
    if kind == "gym":
        return wall, ("rubber:dark grey", home, "carpet:grey")[int(rng.integers(3))]
    return wall, home


def _weights(count: int) -> np.ndarray:
    weights = np.array([4.0, 3, 2, 3] + [1.0] * (count - 4))
    return weights / weights.sum()


def pick_floor(rng: np.random.Generator) -> str:
    """The floor that most rooms of a house share."""
    return _FLOORS[int(rng.integers(len(_FLOORS)))]


def build_structure(
    plan: FloorPlan, style: Style, rng: np.random.Generator
) -> tuple[list[SceneObject], list[list[Window]]]:
    """The fixed objects, and the windows of each room."""
    objects: list[SceneObject] = []
    windows: list[list[Window]] = []
    home = pick_floor(rng)
    for index, room in enumerate(plan.rooms):
        wall, floor = room_surfaces(room.kind, rng, home)
        x0, y0, x1, y1 = room.rect
        slab = Shape()
        slab.box(floor, x0, x1, y0, y1, -0.1, 0.0)
        objects.append(_fixed("floor", index, slab, floor))
        top = Shape()
        top.box("plaster:white", x0, x1, y0, y1, CEILING, CEILING + 0.1)
        objects.append(_fixed("ceiling", index, top, "plaster:white"))
        doors = [door for door in plan.doors if index in (door.a, door.b)]
        for side in sides(room.inner):
            objects.append(_wall(plan, index, side, [door for door in doors if on_side(side, door)], wall))
        windows.append(_windows(plan, index, doors, rng))
        for window in windows[-1]:
            objects.append(_window(window, index, rng))
    trim = f"wood:{style.woods[0]}" if rng.random() < 0.5 else "paintedwood:white"
    for door in plan.doors:
        objects.append(_frame(door, trim))
        if door.b < 0:
            objects.append(_front_door(plan, door, rng))
    return objects, windows


def _fixed(category: str, region: int, shape: Shape, surface: str) -> SceneObject:
    material, _, colour = surface.partition(":")
    words = {
        "plaster": "plaster",
        "planks": "wood",
        "parquet": "wood",
        "tiles": "tile",
        "bigtiles": "tile",
        "walltiles": "tile",
        "stripes": "wallpaper",
        "dots": "wallpaper",
        "damask": "wallpaper",
    }
    return SceneObject(
        category, region, shape.parts(0.0, 0.0, 0.0, 0.0), colour, words.get(material, material)
    )


def _slab(
    shape: Shape,
    surface: str,
    axis: str,
    near: float,
    far: float,
    low: float,
    high: float,
    z0: float,
    z1: float,
) -> None:
    """A wall box between the lines near and far, along low..high."""
    if high - low < 1e-6 or z1 - z0 < 1e-6:
        return
    a, b = min(near, far), max(near, far)
    if axis == "x":
        shape.box(surface, low, high, a, b, z0, z1, grain=False)
    else:
        shape.box(surface, a, b, low, high, z0, z1, grain=False)


def _wall(plan: FloorPlan, index: int, side: Side, doors: list[Door], surface: str) -> SceneObject:
    """The wall of one side: full-height stretches between openings, lintels above, a slab outside."""
    shape = Shape()
    outer = side.level - side.sign * WALL
    low, high = (side.low - WALL, side.high + WALL) if side.axis == "x" else (side.low, side.high)
    for z0, z1, start, end in _stretches(low, high, doors):
        _slab(shape, surface, side.axis, side.level, outer, start, end, z0, z1)
    for axis, level, start, end, sign in exterior_spans(plan, index):
        if axis == side.axis and sign == -side.sign and abs(level - outer) < 1e-6:
            here = [door for door in doors if door.b < 0]
            for z0, z1, s, e in _stretches(start, end, here):
                _slab(shape, "plaster:light grey", axis, outer, outer - side.sign * WALL, s, e, z0, z1)
    return _fixed("wall", index, shape, surface)


def _stretches(low: float, high: float, doors: list[Door]) -> list[tuple[float, float, float, float]]:
    """(z0, z1, start, end) of the solid pieces of a wall with openings."""
    found, at = [], low
    for door in sorted(doors, key=lambda item: item.low):
        found.append((0.0, CEILING, at, door.low))
        found.append((door.height, CEILING, door.low, door.high))
        at = door.high
    found.append((0.0, CEILING, at, high))
    return found


def _frame(door: Door, surface: str) -> SceneObject:
    """Jambs and head that line an opening and show a little on both faces."""
    shape = Shape()
    near, far = door.level - WALL - 0.012, door.level + WALL + 0.012
    for low, high in ((door.low - 0.05, door.low + TRIM), (door.high - TRIM, door.high + 0.05)):
        _slab(shape, surface, door.axis, near, far, low, high, 0.0, door.height - TRIM)
    _slab(
        shape,
        surface,
        door.axis,
        near,
        far,
        door.low - 0.05,
        door.high + 0.05,
        door.height - TRIM,
        door.height + 0.05,
    )
    return _fixed("door frame", door.a, shape, surface)


def _front_door(plan: FloorPlan, door: Door, rng: np.random.Generator) -> SceneObject:
    """A closed panelled door that fills its opening."""
    colour = ("dark red", "navy", "dark green", "walnut", "oak", "white", "black")[int(rng.integers(7))]
    surface = f"wood:{colour}" if colour in ("walnut", "oak") else f"paintedwood:{colour}"
    shape = Shape()
    low, high = door.low + TRIM, door.high - TRIM
    _slab(shape, surface, door.axis, door.level - 0.03, door.level + 0.03, low, high, 0.0, door.height - TRIM)
    third = (high - low) / 2
    for i in range(2):
        for z0, z1 in ((0.2, 0.9), (1.1, 1.85)):
            _slab(
                shape,
                surface,
                door.axis,
                door.level - 0.04,
                door.level + 0.04,
                low + i * third + 0.1,
                low + (i + 1) * third - 0.08,
                z0,
                z1,
            )
    _slab(
        shape,
        "metal:gold",
        door.axis,
        door.level - 0.09,
        door.level + 0.09,
        high - 0.11,
        high - 0.07,
        0.98,
        1.06,
    )
    return _fixed("door", door.a, shape, surface)


def open_leaf(door: Door, side: Side, before: bool, surface: str) -> tuple[Shape, tuple[float, float], float]:
    """A leaf swung flat against the wall beside the opening: shape in world axes, its span, its depth."""
    width = door.high - door.low - 2 * TRIM
    low, high = (
        (door.low - 0.06 - width, door.low - 0.06) if before else (door.high + 0.06, door.high + 0.06 + width)
    )
    shape = Shape()
    near = side.level + side.sign * 0.015
    _slab(shape, surface, side.axis, near, near + side.sign * 0.04, low, high, 0.01, door.height - 0.04)
    for z0, z1 in ((0.2, 0.9), (1.1, 1.85)):
        _slab(shape, surface, side.axis, near, near + side.sign * 0.048, low + 0.14, high - 0.14, z0, z1)
    grip = low + 0.08 if before else high - 0.08
    _slab(
        shape,
        "metal:silver",
        side.axis,
        near,
        near + side.sign * 0.085,
        grip - 0.015,
        grip + 0.015,
        0.98,
        1.04,
    )
    return shape, (low, high), 0.1


def _windows(plan: FloorPlan, index: int, doors: list[Door], rng: np.random.Generator) -> list[Window]:
    """One or two windows on each outer side, clear of doors; utility rooms have small high ones or none."""
    room = plan.rooms[index]
    if room.kind in ("closet", "pantry", "storage room", "hallway") and rng.random() < 0.8:
        return []
    small = room.kind in (
        "bathroom",
        "laundry room",
        "garage",
        "workshop",
        "closet",
        "pantry",
        "storage room",
    )
    found = []
    for side in sides(room.inner):
        outer = side.level - side.sign * WALL
        for axis, level, low, high, sign in exterior_spans(plan, index):
            if (
                axis != side.axis
                or sign != -side.sign
                or abs(level - outer) > 1e-6
                or high - low < 1.6
                or rng.random() < 0.3
            ):
                continue
            width = float(rng.uniform(0.6, 0.9) if small else rng.uniform(1.0, 1.7))
            if room.kind == "sunroom":
                width = min(high - low - 0.6, 2.4)
            if width > high - low - 0.5:
                continue
            middle = float(rng.uniform(low + 0.25 + width / 2, high - 0.25 - width / 2))
            if any(
                on_side(side, door)
                and door.low - 0.3 < middle + width / 2
                and door.high + 0.3 > middle - width / 2
                for door in doors
            ):
                continue
            bottom = 1.35 if small else 0.5 if room.kind == "sunroom" else float(rng.uniform(0.85, 1.0))
            found.append(Window(side, middle - width / 2, middle + width / 2, bottom, 2.1))
            break
    return found[:3]


def _window(window: Window, region: int, rng: np.random.Generator) -> SceneObject:
    """A framed pane with a view, on the inner face of the wall."""
    shape = Shape()
    width, height = window.high - window.low, window.top - window.bottom
    frame = "paintedwood:white"
    shape.box(frame, -width / 2, width / 2, 0, 0.03, 0, height)
    view = f"sky:{int(rng.integers(4))}"
    panes = 2 if width > 0.95 else 1
    for i in range(panes):
        x0 = -width / 2 + 0.05 + i * (width - 0.05) / panes
        x1 = x0 + (width - 0.05) / panes - 0.05
        shape.front(view, x0, x1, 0.05, height - 0.05, 0.032)
    shape.box(frame, -width / 2 - 0.05, width / 2 + 0.05, 0.0, 0.09, -0.04, 0.0)
    middle = (window.low + window.high) / 2
    at = (middle, window.side.level) if window.side.axis == "x" else (window.side.level, middle)
    return SceneObject(
        "window", region, shape.parts(window.side.angle, at[0], at[1], window.bottom), "white", "glass"
    )
