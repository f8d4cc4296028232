"""Colours and materials: named colours, the default materials of Sweet Home 3D's models, surfaces.

Most of the models that come with Sweet Home 3D name flat materials ("flblonde") without an .mtl file; the
colours here are our approximations by name.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from hm3dm3_env.scenes.layout import Surface, srgb_to_linear
from hm3dm3_env.scenes.sweethome3d.bundle import Bundle
from hm3dm3_env.scenes.sweethome3d.home_xml import Look, Texture

Color = tuple[float, float, float]

TEXTURE_SIZE = 512
GLASS: Color = (0.78, 0.88, 0.93)
WHITE: Color = (0.93, 0.93, 0.92)

_NAMED: dict[str, tuple[int, int, int]] = {
    "white": (245, 245, 242),
    "light grey": (200, 200, 200),
    "grey": (135, 135, 135),
    "dark grey": (75, 75, 78),
    "black": (18, 18, 18),
    "red": (200, 30, 30),
    "dark red": (95, 15, 18),
    "orange": (235, 125, 30),
    "brown": (120, 72, 32),
    "dark brown": (58, 32, 16),
    "beige": (222, 200, 160),
    "cream": (245, 232, 200),
    "yellow": (240, 210, 50),
    "golden": (190, 145, 45),
    "green": (60, 145, 60),
    "dark green": (25, 65, 30),
    "light green": (165, 215, 160),
    "turquoise": (60, 175, 170),
    "blue": (45, 85, 190),
    "dark blue": (15, 30, 85),
    "light blue": (160, 200, 235),
    "purple": (120, 60, 150),
    "pink": (240, 170, 190),
}

_MATERIALS: dict[str, Color] = {
    "white": (0.92, 0.92, 0.91),
    "flwhite": (0.93, 0.93, 0.92),
    "flwhite1": (0.93, 0.93, 0.92),
    "offwhite.warm": (0.9, 0.87, 0.8),
    "archwhite": (0.88, 0.87, 0.83),
    "archwhite2": (0.85, 0.84, 0.8),
    "teeth": (0.98, 0.8, 0.5),
    "bone": (0.9, 0.78, 0.48),
    "bone2": (0.92, 0.86, 0.68),
    "sand_stone": (0.8, 0.68, 0.5),
    "ltgrey": (0.66, 0.66, 0.66),
    "flltgrey": (0.68, 0.68, 0.68),
    "grey": (0.45, 0.45, 0.45),
    "flgrey": (0.45, 0.45, 0.45),
    "dkgrey": (0.22, 0.22, 0.22),
    "fldkgrey": (0.22, 0.22, 0.22),
    "dkdkgrey": (0.09, 0.09, 0.09),
    "fldkdkgrey": (0.09, 0.09, 0.09),
    "black": (0.03, 0.03, 0.03),
    "flblack": (0.03, 0.03, 0.03),
    "silver": (0.62, 0.62, 0.64),
    "ship2": (0.5, 0.52, 0.55),
    "bluegrey": (0.42, 0.48, 0.56),
    "flblonde": (0.72, 0.48, 0.2),
    "flyellow": (0.8, 0.62, 0.1),
    "yellow": (0.9, 0.7, 0.1),
    "yellowbrt": (0.8, 0.64, 0.22),
    "yellow_green": (0.42, 0.55, 0.12),
    "amber": (0.62, 0.34, 0.1),
    "iris": (0.34, 0.3, 0.62),
    "lavendar": (0.6, 0.52, 0.75),
    "brown": (0.4, 0.22, 0.1),
    "flbrown": (0.4, 0.22, 0.1),
    "flltbrown": (0.58, 0.38, 0.2),
    "redwood": (0.45, 0.2, 0.12),
    "tan": (0.7, 0.52, 0.3),
    "fltan": (0.68, 0.5, 0.24),
    "lighttan": (0.8, 0.65, 0.45),
    "lighttan2": (0.8, 0.65, 0.45),
    "lighttannew": (0.8, 0.65, 0.45),
    "flesh": (0.85, 0.62, 0.5),
    "brzskin": (0.5, 0.38, 0.28),
    "brownlips": (0.5, 0.28, 0.22),
    "red": (0.75, 0.1, 0.08),
    "ruby": (0.55, 0.05, 0.1),
    "dkred": (0.32, 0.04, 0.04),
    "florange": (0.9, 0.45, 0.1),
    "jetflame": (0.95, 0.6, 0.1),
    "bluteal": (0.12, 0.36, 0.34),
    "dkblue": (0.05, 0.07, 0.25),
    "sky_blue": (0.45, 0.66, 0.88),
}

_HINTS: tuple[tuple[str, Color], ...] = (
    ("glass", GLASS),
    ("wood", (0.55, 0.36, 0.2)),
    ("oak", (0.66, 0.48, 0.28)),
    ("metal", (0.6, 0.6, 0.62)),
    ("steel", (0.62, 0.62, 0.64)),
    ("chrome", (0.7, 0.7, 0.72)),
    ("brass", (0.8, 0.64, 0.22)),
    ("leaf", (0.2, 0.42, 0.15)),
    ("black", (0.05, 0.05, 0.05)),
    ("white", (0.92, 0.92, 0.91)),
    ("grey", (0.45, 0.45, 0.45)),
    ("gray", (0.45, 0.45, 0.45)),
    ("brown", (0.4, 0.22, 0.1)),
    ("red", (0.7, 0.12, 0.1)),
    ("green", (0.25, 0.5, 0.2)),
    ("blue", (0.15, 0.25, 0.6)),
    ("yellow", (0.9, 0.75, 0.2)),
    ("orange", (0.9, 0.45, 0.1)),
    ("pink", (0.9, 0.6, 0.7)),
    ("leather", (0.3, 0.18, 0.1)),
)

_MATERIAL_WORDS = (
    "leather",
    "marble",
    "granite",
    "glass",
    "mirror",
    "fabric",
    "cloth",
    "textile",
    "velvet",
    "oak",
    "pine",
    "walnut",
    "parquet",
    "wood",
    "steel",
    "chrome",
    "brass",
    "metal",
    "plastic",
    "ceramic",
    "porcelain",
    "concrete",
    "brick",
    "stone",
    "tile",
    "carpet",
    "wicker",
    "paper",
)


def color_word(color: Color) -> str:
    """The nearest named colour, in a perceptual space."""
    names = list(_NAMED)
    table = _lab(np.array(list(_NAMED.values())) / 255.0)
    return names[int(np.argmin(((table - _lab(np.asarray(color)[None])) ** 2).sum(1)))]


def material_word(names: list[str]) -> str:
    """A material word that occurs in one of the names ("oak_wood.jpg" gives "oak"), or ""."""
    for name in names:
        if name.lower() in _MATERIALS and name.lower() != "redwood":  # a colour, such as "sand_stone"
            continue
        for word in _MATERIAL_WORDS:
            if word in name.lower():
                return {"cloth": "fabric", "textile": "fabric"}.get(word, word)
    return ""


def default_color(material: str) -> Color:
    """A colour for a material that only has a name."""
    name = material.lower()
    base = name.rsplit(".", 1)[0] if name.rsplit(".", 1)[-1].isdigit() else name
    for key in (name, base):
        if key in _MATERIALS:
            return _MATERIALS[key]
    for word, color in _HINTS:
        if word in name:
            return color
    return 0.75, 0.73, 0.7


def _lab(color: np.ndarray) -> np.ndarray:
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = srgb_to_linear(color) @ matrix.T / np.array([0.9505, 1.0, 1.089])
    value = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack(
        [116 * value[:, 1] - 16, 500 * (value[:, 0] - value[:, 1]), 200 * (value[:, 1] - value[:, 2])], 1
    )


@dataclass
class Palette:
    """The surfaces of one scene, shared by content, with the size of one texture tile in metres."""

    surfaces: dict[str, Surface] = field(default_factory=dict)
    tiles: dict[str, tuple[float, float]] = field(default_factory=dict)

    def plain(self, color: Color) -> str:
        """The surface of a flat colour."""
        rgb = tuple(min(max(round(float(value), 3), 0.0), 1.0) for value in color)
        name = "c-" + "".join(f"{round(value * 255):02x}" for value in rgb)
        if name not in self.surfaces:
            self.surfaces[name] = Surface(name, rgb)  # type: ignore[arg-type]
        return name

    def image(self, data: bytes, tile: tuple[float, float]) -> str | None:
        """The surface of a texture image, or None when the image cannot be decoded."""
        name = f"t-{hashlib.sha256(data + repr(tile).encode()).hexdigest()[:12]}"
        if name not in self.surfaces:
            try:
                picture = Image.open(io.BytesIO(data)).convert("RGB")
            except (OSError, ValueError, Image.DecompressionBombError):
                return None
            picture.thumbnail((TEXTURE_SIZE, TEXTURE_SIZE))
            self.surfaces[name] = Surface(name, (1.0, 1.0, 1.0), np.asarray(picture))
            self.tiles[name] = tile
        return name

    def mean(self, name: str) -> Color:
        """The average sRGB colour of a surface."""
        surface = self.surfaces[name]
        if surface.texture is None:
            return surface.color
        red, green, blue = surface.texture.reshape(-1, 3).mean(0) / 255.0
        return float(red), float(green), float(blue)

    def look(self, look: Look, default: Color, bundle: Bundle, problems: list[str]) -> str:
        """The surface of a look of the file; an unknown texture becomes a colour by its name (noted)."""
        if look.texture is not None:
            name = self._texture(look.texture, bundle)
            if name is not None:
                return name
            note = f"texture not found: {look.texture.name or look.texture.image}"
            if note not in problems:
                problems.append(note)
            return self.plain(look.color or default_color(look.texture.name))
        return self.plain(look.color if look.color is not None else default)

    def _texture(self, texture: Texture, bundle: Bundle) -> str | None:
        found = bundle.read(texture.image) if texture.image else None
        return self.image(found[0], (texture.width, texture.height)) if found else None
