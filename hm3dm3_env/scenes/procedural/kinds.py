"""What a category is: its builder, sizes, looks, where it stands and in which rooms it occurs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.procedural.palette import WOODS, describe, key
from hm3dm3_env.scenes.procedural.shapes_seating import Paint

if TYPE_CHECKING:
    from hm3dm3_env.scenes.procedural.assets import Assets

MODEL = "library model"
"""The material word of looks that name a library model instead of a colour."""

GOAL_SIZE = 0.24
"""Metres that the two larger sides of a goal need, so that it fills 5 % of a frame from 0.5 m; ours."""

ROOMS = {
    "liv": "living room",
    "din": "dining room",
    "kit": "kitchen",
    "bed": "bedroom",
    "chd": "child bedroom",
    "gst": "guest bedroom",
    "nur": "nursery",
    "bat": "bathroom",
    "off": "office",
    "hal": "hallway",
    "ent": "entryway",
    "lau": "laundry room",
    "pan": "pantry",
    "sto": "storage room",
    "gar": "garage",
    "gym": "gym",
    "lib": "library",
    "mus": "music room",
    "pla": "playroom",
    "clo": "closet",
    "gam": "game room",
    "wor": "workshop",
    "sun": "sunroom",
    "stu": "studio",
}
"""Room codes of the tables below and the region names they stand for."""

Build = Callable[..., None]


@dataclass(frozen=True)
class Near:
    """A companion: `relation` is front, sides, above, on, around, under or facing."""

    name: str
    relation: str
    chance: float = 1.0
    low: int = 1
    high: int = 1


@dataclass(frozen=True)
class Kind:
    """One category. Sizes (width, depth, height) and the mounting height `z` are (low, high) in metres.

    `place`: wall, corner, edge, free, centre (floor); hang (wall); top (on `on`); ceiling; near (companion).
    """

    name: str
    build: Build
    size: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    looks: tuple[tuple[str, str], ...]
    place: str
    rooms: dict[str, tuple[float, int, int]]
    second: tuple[tuple[str, str], ...] = ()
    frame: str = "any"
    on: tuple[str, ...] = ()
    z: tuple[float, float] = (0.0, 0.0)
    near: tuple[Near, ...] = ()

    @property
    def goal_size(self) -> bool:
        """Whether a typical instance is large enough for a goal."""
        middle = sorted((low + high) / 2 for low, high in self.size)
        return middle[1] >= GOAL_SIZE


@dataclass(frozen=True)
class Piece:
    """One built instance in its own frame, before it has a place. `model` names the library model, if any."""

    kind: Kind
    shape: Shape
    size: tuple[float, float, float]
    colour: str
    material: str
    model: str = ""


@dataclass(frozen=True)
class Style:
    """What the pieces of one house share: woods, metal, a few colours, and the library that it may use."""

    woods: tuple[str, ...]
    metal: str
    cabinet: tuple[str, str]
    counter: tuple[str, str]
    assets: Assets | None = None


def kind(
    name: str,
    build: Build,
    size: str,
    looks: str,
    place: str,
    rooms: str = "",
    *,
    second: str = "",
    frame: str = "any",
    near: str = "",
    **options: Any,
) -> Kind:
    """A row of the catalogue.

    size: width, depth, height as "0.4-0.6 0.5 1"; looks: "fabric:grey/navy leather:brown" or "wood:*";
    place: "wall", "hang:0.9-1.2", "top:desk/table"; rooms: "liv.8:1-2 bed.3" (decimals of the chance, then
    counts); near: "stool/front/0.9/1-2" (name, relation, chance, counts).
    """
    where, _, rest = place.partition(":")
    return Kind(
        name=name,
        build=partial(build, **options) if options else build,
        size=tuple(_span(text) for text in size.split()),  # type: ignore[arg-type]
        looks=_looks(looks),
        place=where,
        rooms=dict(_room(text) for text in rooms.split()),
        second=_looks(second),
        frame=frame,
        on=tuple(rest.replace("_", " ").split("/")) if where == "top" else (),
        z=_span(rest) if where == "hang" else (0.0, 0.0),
        near=tuple(_near(text) for text in near.split()),
    )


def _span(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    return float(low), float(high or low)


def _looks(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for group in text.split():
        material, _, words = group.partition(":")
        names = list(WOODS) if words == "*" else words.replace("_", " ").split("/")
        found += [(material, word) for word in names]
    return tuple(found)


def _room(text: str) -> tuple[str, tuple[float, int, int]]:
    head, _, count = text.partition(":")
    code, _, chance = head.partition(".")
    low, _, high = (count or "1").partition("-")
    return code, (1.0 if not chance else float("0." + chance), int(low), int(high or low))


def _near(text: str) -> Near:
    name, relation, *rest = text.replace("_", " ").split("/")
    low, _, high = (rest[1] if len(rest) > 1 else "1").partition("-")
    return Near(name, relation, float(rest[0]) if rest else 1.0, int(low), int(high or low))


def make_style(rng: np.random.Generator) -> Style:
    """The shared look of one house."""
    woods = rng.choice(list(WOODS), 2, replace=False)
    fronts = [
        ("paintedwood", word) for word in ("white", "cream", "grey", "navy", "dark green", "light blue")
    ]
    fronts += [("wood", str(woods[0])), ("wood", str(woods[1]))]
    tops = [
        ("marble", "white"),
        ("marble", "grey"),
        ("marble", "dark grey"),
        ("wood", "oak"),
        ("stone", "black"),
    ]
    metal = str(rng.choice(["black", "silver", "gold", "dark grey"], p=[0.4, 0.35, 0.1, 0.15]))
    return Style(
        tuple(str(w) for w in woods),
        metal,
        fronts[int(rng.integers(len(fronts)))],
        tops[int(rng.integers(len(tops)))],
    )


def build_piece(
    item: Kind,
    style: Style,
    rng: np.random.Generator,
    look: tuple[str, str] | None = None,
    size: tuple[float, float, float] | None = None,
) -> Piece:
    """One instance with random size and look (or the given ones, as for the chairs of one table).

    Where the house has a library, it may be one of its models, unless a size or a catalogue look is given;
    a look of `MODEL` names one.
    """
    if style.assets is not None and (size is None or (look is not None and look[0] == MODEL)):
        found = style.assets.piece(item, look, rng)
        if found is not None:
            return found
    share = rng.random()
    size = size or tuple(  # type: ignore[assignment]
        float(np.round(low + (high - low) * np.clip(0.7 * share + 0.3 * rng.random(), 0, 1), 3))
        for low, high in item.size
    )
    assert size is not None
    main = look or _choose(item.looks, style, rng)
    second = _choose(item.second, style, rng) if item.second else main
    if not item.second and main[0] in (
        "fabric",
        "velvet",
        "knit",
        "plastic",
        "paintedwood",
        "leather",
        "ceramic",
    ):
        options = [pair for pair in item.looks if pair[0] == main[0]] or [main]
        second = options[int(rng.integers(len(options)))]
    metal = key("metal", style.metal)
    frame = {"metal": metal, "wood": key("wood", style.woods[int(rng.integers(2))])}.get(
        item.frame, metal if rng.random() < 0.45 else key("wood", style.woods[int(rng.integers(2))])
    )
    shape = Shape()
    paint = Paint(key(*main), key(*second), frame, int(rng.integers(1 << 20)))
    item.build(shape, *size, paint, rng)
    colour, material = describe(*main)
    return Piece(item, shape, shape.settle(), colour, material)


def _choose(looks: tuple[tuple[str, str], ...], style: Style, rng: np.random.Generator) -> tuple[str, str]:
    """A look by material first, then colour; woods mostly from the house's own."""
    materials = sorted({material for material, _ in looks})
    material = materials[int(rng.integers(len(materials)))]
    if material == "cabinet":
        return style.cabinet
    if material == "counter":
        return style.counter
    words = [word for name, word in looks if name == material]
    if material == "wood" and len(words) == len(WOODS) and rng.random() < 0.75:
        return material, style.woods[int(rng.integers(2))]
    return material, words[int(rng.integers(len(words)))]
