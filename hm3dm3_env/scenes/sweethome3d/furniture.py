"""Pieces of furniture: the model scaled to the piece's box, turned and placed, with category and looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, pi, sin

import numpy as np

from hm3dm3_env.scenes.sweethome3d.bundle import Bundle
from hm3dm3_env.scenes.sweethome3d.home_xml import Piece
from hm3dm3_env.scenes.sweethome3d.looks import (
    GLASS,
    Palette,
    color_word,
    default_color,
    material_word,
)
from hm3dm3_env.scenes.sweethome3d.mesh import Builder
from hm3dm3_env.scenes.sweethome3d.obj_model import Model, ModelPart, read_model

_TO_OURS = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
"""Model axes (x right, y up, z front) to ours (x right, y back, z up): a rotation, so nothing is mirrored."""

PartFilter = Callable[[ModelPart], bool]


@dataclass
class ModelCache:
    """Models of one home by reference; `problems` collects what could not be read."""

    bundle: Bundle
    models: dict[str, Model | None] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def get(self, reference: str) -> Model | None:
        """The model, or None when it is missing or broken (`faults` says which)."""
        if reference not in self.models:
            self.models[reference] = self._read(reference)
        return self.models[reference]

    def _read(self, reference: str) -> Model | None:
        found = self.bundle.model(reference)
        if found is None:
            self.faults[reference] = f"model not found: {reference or '(none named)'}"
            return None
        try:
            return read_model(found[0], found[1], self.bundle)
        except (ValueError, IndexError) as error:
            self.faults[reference] = f"model not readable: {reference} ({error})"
            return None


@dataclass
class Placed:
    """The geometry of a piece, with words for its colour and material."""

    builder: Builder
    colour: str
    material: str


def category(piece: Piece) -> str:
    """The open-vocabulary name: "Bed 140x190" gives "bed", "Double bed #2" gives "double bed"."""
    if piece.stairs or re.search(r"stair|escalier|treppe|escalera", piece.name, re.I):
        return "stairs"
    name = re.sub(r"[\"\n\r,]+", " ", piece.name.lower())
    name = re.sub(r"\(?\b\d+([.,]\d+)?\s*([x×]\s*\d+([.,]\d+)?\s*)+(cm|mm|m)?\b\)?", " ", name)
    name = re.sub(r"#\s*\d+|\b\d+([.,]\d+)?\s*(cm|mm|m)\b", " ", name)
    name = re.sub(r"[\s#_-]*\d*\s*$", "", name.strip())
    return re.sub(r"\s+", " ", name).strip() or "object"


def place(
    piece: Piece,
    base: float,
    cache: ModelCache,
    palette: Palette,
    problems: list[str],
    keep: PartFilter = lambda part: True,
) -> Placed | None:
    """Build `piece` at its place; `base` is the height of its level in the scene.

    The box of the whole model is scaled to the piece's size, then the parts that `keep` wants are added.
    A missing model becomes a box of the right size. None when nothing visible is left.
    """
    model = cache.get(piece.model)
    if model is None:
        fault = f"{piece.name}: {cache.faults[piece.model]}; a box stands in its place"
        if fault not in problems:
            problems.append(fault)
        model = Model([ModelPart("", "box", _unit_box(), np.zeros((12, 3, 2)))])
    matrix, offset = _transform(piece, model, base)
    builder, names = Builder(palette), dict[str, str]()
    for part in model.parts:
        surface, name = _surface(piece, part, model, palette, cache.bundle, problems)
        if surface is None or not keep(part):
            continue
        triangles = part.triangles @ matrix.T + offset
        builder.add(
            surface,
            triangles[:, ::-1] if piece.mirrored else triangles,
            part.uv[:, ::-1] if piece.mirrored else part.uv,
        )
        names.setdefault(surface, name)
    if not builder.data:
        return None
    area = builder.area()
    colors: dict[str, float] = {}
    for name, value in area.items():
        word = color_word(palette.mean(name))
        colors[word] = colors.get(word, 0.0) + value
    colour = (
        color_word(piece.look.color)
        if piece.look.color
        else max(sorted(colors), key=lambda word: colors[word])
    )
    main = max(sorted(area), key=lambda name: area[name])
    texture = piece.look.texture.name if piece.look.texture else names[main]
    return Placed(builder, colour, material_word([texture]))


def is_glass(part: ModelPart) -> bool:
    """Whether a model part is a window pane."""
    return "window_pane" in part.group or "glass" in part.material.lower()


def is_leaf(part: ModelPart) -> bool:
    """Whether a model part belongs to a leaf that opens."""
    return "sweethome3d_opening" in part.group or "_on_hinge" in part.group or "_on_rail" in part.group


def _surface(
    piece: Piece, part: ModelPart, model: Model, palette: Palette, bundle: Bundle, problems: list[str]
) -> tuple[str | None, str]:
    """The surface of a part by the rules of Sweet Home 3D, and a name that may tell its material."""
    material = model.materials.get(part.material)
    own = piece.materials.get(part.material)
    name = part.material
    if own is not None:
        if own.hidden:
            return None, name
        if own.texture is not None or own.color is not None:
            name = own.texture.name if own.texture else name
            return palette.look(own, (1.0, 1.0, 1.0), bundle, problems), name
    if is_glass(part) and "window_mirror" not in part.group:
        return palette.plain(GLASS), "glass"
    if piece.look.texture is not None or piece.look.color is not None:
        return palette.look(piece.look, (1.0, 1.0, 1.0), bundle, problems), name
    if material is None:
        return palette.plain(default_color(part.material)), name
    if material.opacity < 0.05:
        return None, name
    if material.texture is not None:
        surface = palette.image(material.texture, (1.0, 1.0))
        if surface is not None:
            return surface, f"{material.texture_name} {name}"
        problems.append(f"{piece.name}: texture {material.texture_name} cannot be decoded")
    return palette.plain(GLASS if material.opacity < 0.5 else material.color), name


def _transform(piece: Piece, model: Model, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and offset from the model's own coordinates to the scene."""
    rotation = np.array(piece.rotation).reshape(3, 3) if piece.rotation else np.eye(3)
    points = np.concatenate([part.triangles.reshape(-1, 3) for part in model.parts]) @ rotation.T
    low, high = points.min(0), points.max(0)
    extent = np.where(high - low > 1e-9, high - low, 1.0)
    width, depth, height = piece.size
    scale = np.array([-width if piece.mirrored else width, height, depth]) / extent
    tilt = np.eye(3)
    if piece.pitch:
        c, s = cos(-piece.pitch), sin(-piece.pitch)
        tilt = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    elif piece.roll:
        c, s = cos(-piece.roll), sin(-piece.roll)
        tilt = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    shaped = tilt @ np.diag(scale) @ rotation
    turned = np.concatenate([part.triangles.reshape(-1, 3) for part in model.parts]) @ shaped.T
    low, high = turned.min(0), turned.max(0)
    middle = np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2])
    c, s = cos(piece.angle), sin(piece.angle)
    spin = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ _TO_OURS
    place_at = np.array([*piece.position, piece.elevation + base])
    return spin @ shaped, place_at - spin @ middle


def _unit_box() -> np.ndarray:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[[a, b, c]] for q in quads for a, b, c in (q[:3], (q[0], q[2], q[3]))])


def quarter_turns(angle: float) -> float:
    """The angle modulo half a turn, in (-pi/2, pi/2]."""
    return (angle + pi / 2) % pi - pi / 2
