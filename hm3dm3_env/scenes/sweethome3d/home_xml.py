"""Read a Sweet Home 3D `Home.xml` into dataclasses: metres, z up, y turned so that the plan is right-handed.

In the file x points right, y DOWN on the plan, lengths are centimetres and angles run clockwise on the
plan. Here y points up on the plan and angles run counter-clockwise, so nothing is mirrored.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field

CM = 0.01
SUPPORTED_PIECES = ("pieceOfFurniture", "light", "shelfUnit", "doorOrWindow")


class HomeError(ValueError):
    """A home that cannot be imported; the message names the file, the field and the fix."""


@dataclass
class Texture:
    """A texture reference: name, image path inside the home, and the size of one tile in metres."""

    name: str
    image: str
    width: float
    height: float


@dataclass
class Look:
    """A colour (0..1 sRGB), a texture, or neither (the default look). `hidden`: fully transparent."""

    color: tuple[float, float, float] | None = None
    texture: Texture | None = None
    hidden: bool = False


@dataclass
class Level:
    """One storey: its elevation in metres, and whether it is shown."""

    id: str
    name: str
    elevation: float
    height: float
    visible: bool = True


@dataclass
class Wall:
    """A wall from `start` to `end`; `arc` is the signed angle of a round wall, or 0."""

    id: str
    level: str
    start: tuple[float, float]
    end: tuple[float, float]
    thickness: float
    height: float
    height_end: float
    arc: float = 0.0
    joined: tuple[str, str] = ("", "")
    left: Look = field(default_factory=Look)
    right: Look = field(default_factory=Look)
    top: Look = field(default_factory=Look)
    base: float = 0.0


@dataclass
class Room:
    """A room polygon with its looks; `floor_visible` and `ceiling_visible` as in the file."""

    level: str
    name: str
    points: list[tuple[float, float]]
    floor: Look
    ceiling: Look
    floor_visible: bool
    ceiling_visible: bool


@dataclass
class Piece:
    """A piece of furniture, a lamp, a door or a window. Size is (width, depth, height) before rotation.

    `wall_distance` and `wall_thickness` are the part of a door's depth that lies in the wall (0..1).
    """

    kind: str
    level: str
    name: str
    catalog: str
    model: str
    position: tuple[float, float]
    elevation: float
    size: tuple[float, float, float]
    angle: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    mirrored: bool = False
    rotation: list[float] | None = None
    look: Look = field(default_factory=Look)
    materials: dict[str, Look] = field(default_factory=dict)
    stairs: bool = False
    wall_thickness: float = 1.0
    wall_distance: float = 0.0
    openable: bool = False
    group: tuple[str, ...] = ()
    cutout: str = ""


@dataclass
class Home:
    """A whole home as read from the file."""

    file: str
    name: str
    wall_height: float
    levels: list[Level]
    walls: list[Wall]
    rooms: list[Room]
    pieces: list[Piece]
    properties: dict[str, str]
    notes: list[str]


def parse_home(data: bytes, file: str, name: str) -> Home:
    """Parse the bytes of a `Home.xml`.

    Raises:
        HomeError: broken XML, another kind of XML, a missing or malformed field, or nothing to build.
    """
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise HomeError(f"{file}: broken XML ({error}); save the home again with Sweet Home 3D") from error
    if root.tag != "home":
        raise HomeError(f"{file}: not a Sweet Home 3D home: the root element is <{root.tag}>, not <home>")
    reader = _Reader(file)
    wall_height = reader.number(root, "wallHeight", 250.0) * CM
    levels = [reader.level(item, wall_height) for item in root.iter("level")]
    walls = [reader.wall(item, wall_height) for item in root.findall("wall")]
    rooms = [reader.room(item) for item in root.findall("room")]
    pieces = list(reader.pieces(root, "", ()))
    if not walls and not rooms:
        raise HomeError(
            f"{file}: home without walls and rooms; draw the walls or the rooms of the home first"
        )
    properties = {item.get("name", ""): item.get("value", "") for item in root.findall("property")}
    return Home(file, name, wall_height, levels, walls, rooms, pieces, properties, reader.notes)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.notes: list[str] = []

    def number(self, item: ElementTree.Element, key: str, default: float | None = None) -> float:
        text = item.get(key)
        label = f"<{item.tag}> {item.get('name') or item.get('id') or ''}".strip()
        if text is None:
            if default is None:
                raise HomeError(f"{self.file}: {label}: attribute {key!r} is missing; save the home again")
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise HomeError(f"{self.file}: {label}: {key}={text!r} is not a number; correct it in the file")
        return value

    def point(self, item: ElementTree.Element, x: str, y: str) -> tuple[float, float]:
        return self.number(item, x) * CM, -self.number(item, y) * CM

    def color(self, item: ElementTree.Element, key: str) -> Look:
        text = item.get(key)
        if text is None:
            return Look()
        try:
            value = int(text, 16)
        except ValueError:
            raise HomeError(
                f"{self.file}: <{item.tag}> {item.get('name', '')}: {key}={text!r} is not a colour; "
                "write AARRGGBB"
            ) from None
        rgb = ((value >> 16 & 255) / 255, (value >> 8 & 255) / 255, (value & 255) / 255)
        return Look(rgb, hidden=len(text) == 8 and value >> 24 == 0)

    def look(self, item: ElementTree.Element, color: str, texture: str | None) -> Look:
        """The look from the attribute `color` and the child <texture attribute=`texture`>."""
        look = self.color(item, color)
        for child in item.findall("texture"):
            if texture is None or child.get("attribute") in (texture, None):
                look.texture = Texture(
                    child.get("name", ""),
                    child.get("image", ""),
                    self.number(child, "width", 100.0) * CM,
                    self.number(child, "height", 100.0) * CM,
                )
                look.hidden = False
        return look

    def level(self, item: ElementTree.Element, height: float) -> Level:
        shown = item.get("visible") != "false" and item.get("viewable") != "false"
        return Level(
            item.get("id", ""),
            item.get("name", ""),
            self.number(item, "elevation", 0.0) * CM,
            self.number(item, "height", height / CM) * CM,
            shown,
        )

    def wall(self, item: ElementTree.Element, default: float) -> Wall:
        height = self.number(item, "height", default / CM) * CM
        return Wall(
            item.get("id", ""),
            item.get("level", ""),
            self.point(item, "xStart", "yStart"),
            self.point(item, "xEnd", "yEnd"),
            self.number(item, "thickness", 7.5) * CM,
            height,
            self.number(item, "heightAtEnd", height / CM) * CM,
            -self.number(item, "arcExtent", 0.0),
            (item.get("wallAtStart", ""), item.get("wallAtEnd", "")),
            self.look(item, "leftSideColor", "leftSideTexture"),
            self.look(item, "rightSideColor", "rightSideTexture"),
            self.color(item, "topColor"),
        )

    def room(self, item: ElementTree.Element) -> Room:
        points = [self.point(child, "x", "y") for child in item.findall("point")]
        return Room(
            item.get("level", ""),
            (item.get("name") or "").strip(),
            points,
            self.look(item, "floorColor", "floorTexture"),
            self.look(item, "ceilingColor", "ceilingTexture"),
            item.get("floorVisible") != "false",
            item.get("ceilingVisible") != "false",
        )

    def pieces(self, parent: ElementTree.Element, level: str, group: tuple[str, ...]) -> Iterator[Piece]:
        """Pieces below `parent` in file order, groups opened, invisible ones left out."""
        for index, item in enumerate(parent):
            if item.tag not in SUPPORTED_PIECES and item.tag != "furnitureGroup":
                continue
            if item.get("visible") == "false":
                self.notes.append(f"invisible piece left out: {item.get('name', item.tag)}")
            elif item.tag == "furnitureGroup":
                name = f"{item.get('name', 'group')}\0{index}"
                yield from self.pieces(item, item.get("level", level), (*group, name))
            else:
                yield self.piece(item, item.get("level", level), group)

    def piece(self, item: ElementTree.Element, level: str, group: tuple[str, ...]) -> Piece:
        rotation = item.get("modelRotation")
        try:
            matrix = [float(value) for value in rotation.split()] if rotation else None
        except ValueError:
            matrix = []
        if matrix is not None and len(matrix) != 9:
            raise HomeError(
                f"{self.file}: <{item.tag}> {item.get('name', '')}: modelRotation={rotation!r} "
                "is not nine numbers; correct it in the file"
            )
        for child in ("modelTransformation", "transformation"):
            if item.find(child) is not None:
                self.notes.append(
                    f"{item.get('name', item.tag)}: moved model parts (<{child}>) are not applied"
                )
        materials = {
            child.get("name", ""): self.look(child, "color", None) for child in item.findall("material")
        }
        size = tuple(max(self.number(item, key) * CM, 1e-3) for key in ("width", "depth", "height"))
        return Piece(
            item.tag,
            level,
            item.get("name", ""),
            item.get("catalogId", ""),
            item.get("model", ""),
            self.point(item, "x", "y"),
            self.number(item, "elevation", 0.0) * CM,
            size,  # type: ignore[arg-type]
            -self.number(item, "angle", 0.0),
            self.number(item, "pitch", 0.0),
            self.number(item, "roll", 0.0),
            item.get("modelMirrored") == "true",
            matrix,
            self.look(item, "color", "texture"),
            materials,
            item.get("staircaseCutOutShape") is not None,
            self.number(item, "wallThickness", 1.0),
            self.number(item, "wallDistance", 0.0),
            item.find("sash") is not None,
            group,
            item.get("cutOutShape", ""),
        )
