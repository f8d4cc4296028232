"""Colour words, materials, and the surface keys that join them ("wood:oak", "fabric:navy").

A key is all there is to know about a surface: equal keys give equal surfaces, whatever was built before.
The sRGB values, texture sizes and material words are ours.
"""

from __future__ import annotations

from functools import lru_cache

COLOURS: dict[str, tuple[int, int, int]] = {
    "white": (238, 238, 234),
    "cream": (236, 224, 196),
    "beige": (208, 188, 156),
    "tan": (186, 148, 104),
    "brown": (118, 80, 52),
    "dark brown": (74, 50, 36),
    "black": (38, 38, 40),
    "grey": (134, 136, 138),
    "light grey": (190, 192, 192),
    "dark grey": (82, 84, 88),
    "silver": (184, 188, 194),
    "red": (182, 44, 42),
    "dark red": (120, 32, 38),
    "orange": (222, 122, 44),
    "yellow": (228, 190, 62),
    "gold": (204, 164, 84),
    "green": (76, 132, 72),
    "dark green": (42, 82, 58),
    "olive": (122, 124, 74),
    "mint": (164, 208, 184),
    "teal": (42, 124, 128),
    "blue": (58, 104, 176),
    "light blue": (144, 184, 216),
    "navy": (38, 54, 98),
    "purple": (108, 68, 138),
    "pink": (224, 150, 164),
    "turquoise": (74, 178, 178),
    "copper": (182, 112, 74),
    "terracotta": (188, 98, 68),
    "mustard": (204, 156, 48),
}
WOODS: dict[str, tuple[int, int, int]] = {
    "oak": (196, 154, 102),
    "walnut": (112, 74, 48),
    "pine": (224, 186, 128),
    "cherry": (152, 82, 52),
    "birch": (230, 208, 170),
    "ebony": (62, 46, 40),
}
WOOD_COLOUR_WORD = {
    "oak": "tan",
    "walnut": "brown",
    "pine": "light brown",
    "cherry": "reddish brown",
    "birch": "beige",
    "ebony": "dark brown",
}

TILE: dict[str, float] = {
    "wood": 0.8,
    "paintedwood": 0.0,
    "fabric": 0.25,
    "velvet": 0.5,
    "leather": 0.4,
    "wicker": 0.2,
    "marble": 1.2,
    "brushed": 0.4,
    "planks": 1.6,
    "tiles": 0.8,
    "bigtiles": 1.2,
    "carpet": 0.6,
    "plaster": 1.5,
    "stripes": 0.6,
    "dots": 0.5,
    "damask": 0.7,
    "brick": 1.0,
    "walltiles": 0.6,
    "concrete": 1.5,
    "parquet": 1.0,
    "cardboard": 0.5,
    "knit": 0.3,
    "plaid": 0.4,
    "leaf": 0.3,
    "picture": -1.0,
    "rug": -1.0,
    "screen": -1.0,
    "dark": -1.0,
    "books": -1.0,
    "sky": -1.0,
    "keys": -1.0,
    "map": -1.0,
    "face": -1.0,
    "label": -1.0,
    "asset": 1.0,
}
"""Metres that one texture repeat covers; 0: plain colour; below 0: one picture over the whole quad.

The textures of library models ("asset") bring their own coordinates."""

MATERIAL_WORD = {
    "wood": "wood",
    "paintedwood": "painted wood",
    "fabric": "fabric",
    "velvet": "velvet",
    "leather": "leather",
    "wicker": "wicker",
    "marble": "marble",
    "brushed": "metal",
    "metal": "metal",
    "plastic": "plastic",
    "ceramic": "ceramic",
    "glass": "glass",
    "cardboard": "cardboard",
    "knit": "knitted",
    "plaid": "plaid fabric",
    "rubber": "rubber",
    "paper": "paper",
    "foam": "foam",
    "leaf": "",
    "stone": "stone",
}


@lru_cache(maxsize=4096)
def tile_size(key: str) -> float:
    """Texture repeat of a surface key in metres (see `TILE`)."""
    return TILE.get(key.split(":", 1)[0], 0.0)


def colour_rgb(word: str) -> tuple[float, float, float]:
    """sRGB (0..1) of a colour or wood word."""
    red, green, blue = COLOURS[word] if word in COLOURS else WOODS[word]
    return red / 255, green / 255, blue / 255


def key(material: str, colour: str) -> str:
    """The surface key of a material in a colour."""
    return f"{material}:{colour}"


def describe(material: str, colour: str) -> tuple[str, str]:
    """(colour word, material word) for descriptions: a wood's name belongs to the material."""
    if colour in WOODS:
        return WOOD_COLOUR_WORD[colour], f"{colour} wood"
    return colour, MATERIAL_WORD.get(material, material)
