"""Textures made of numbers: neutral weaves, planks and tiles (tinted by the surface's colour), and pictures.

Each texture depends on its key alone, so houses do not depend on what was built before them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import ndimage

from hm3dm3_env.scenes.layout import Surface
from hm3dm3_env.scenes.procedural.palette import COLOURS, colour_rgb, tile_size
from hm3dm3_env.scenes.procedural.pictures import (
    book_spines,
    dark_screen,
    face,
    keyboard,
    painting,
    rug,
    screen,
    sky,
    world_map,
)


def surface(key: str) -> Surface:
    """The surface of a key "kind:colour" or, for whole pictures, "kind:arguments"."""
    kind, _, rest = key.partition(":")
    if tile_size(key) < 0:
        return Surface(key, (1.0, 1.0, 1.0), _whole(kind, rest))
    return Surface(key, colour_rgb(rest), _neutral(kind) if tile_size(key) > 0 else None)


def _seeded(text: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(text.encode()))


@lru_cache(maxsize=256)
def _whole(kind: str, rest: str) -> np.ndarray:
    rng = _seeded(f"{kind}:{rest}")
    if kind == "rug":
        return rug(rng, [colour for colour in rest.split(":")[0].split("+") if colour in COLOURS])
    makers: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "picture": painting,
        "screen": screen,
        "dark": dark_screen,
        "books": book_spines,
        "sky": sky,
        "keys": keyboard,
        "map": world_map,
        "face": face,
    }
    return makers[kind](rng)


@lru_cache(maxsize=64)
def _neutral(kind: str) -> np.ndarray:
    """(H, W, 3) uint8, bright grey on average, that wraps around in both directions."""
    value = _MAKERS[kind](_seeded(kind))
    return np.repeat((np.clip(value, 0, 1) * 255).astype(np.uint8)[:, :, None], 3, axis=2)


def noise(
    rng: np.random.Generator,
    height: int,
    width: int,
    roughness: float = 1.5,
    stretch: tuple[float, float] = (1.0, 1.0),
) -> np.ndarray:
    """Smooth random field in about -1..1 that wraps around; `stretch` lengthens it along (y, x)."""
    fy = np.fft.fftfreq(height)[:, None] * height * stretch[0]
    fx = np.fft.rfftfreq(width)[None] * width * stretch[1]
    size = np.hypot(fy, fx)
    size[0, 0] = 1.0
    spectrum = np.exp(2j * np.pi * rng.random(size.shape)) / size**roughness
    spectrum[0, 0] = 0
    field = np.fft.irfft2(spectrum, (height, width))
    return field / (2.5 * field.std() + 1e-12)


def _grid(n: int, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    axis = np.arange(n) * cells / n
    y, x = np.meshgrid(axis, axis, indexing="ij")
    return y % 1, x % 1, np.floor(y).astype(int), np.floor(x).astype(int)


def _wood(rng: np.random.Generator) -> np.ndarray:
    fine = noise(rng, 256, 256, 1.0, (1.0, 14.0))
    rings = np.sin(14 * noise(rng, 256, 256, 1.8, (1.0, 8.0)))
    return 0.88 + 0.06 * fine + 0.05 * rings


def _planks(rng: np.random.Generator) -> np.ndarray:
    y, x, row, _ = _grid(512, 10)
    shift = rng.random(10)[row]
    along = (np.arange(512)[None] / 512 + shift) * 2
    board = (np.floor(along).astype(int) % 2) + 2 * row
    tone = rng.uniform(0.74, 0.96, 40)[board % 40]
    value = (
        tone
        + 0.05 * noise(rng, 512, 512, 1.0, (1.0, 16.0))
        + 0.04 * np.sin(12 * noise(rng, 512, 512, 1.7, (1, 9)))
    )
    seam = (y < 0.035) | ((along % 1) < 0.006)
    return np.where(seam, 0.5, value)


def _parquet(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(256, 4)
    turned = (row + column) % 2 == 0
    strip = np.where(turned, y, x) * 5
    tone = rng.uniform(0.78, 0.96, 97)[(np.floor(strip).astype(int) + 5 * (row * 4 + column)) % 97]
    grain = np.where(turned, noise(rng, 256, 256, 1.0, (1, 10)), noise(rng, 256, 256, 1.0, (10, 1)))
    return np.where((strip % 1) < 0.07, 0.6, tone + 0.04 * grain)


def _tiles(cells: int, joint: float, spread: float) -> Callable[[np.random.Generator], np.ndarray]:
    def make(rng: np.random.Generator) -> np.ndarray:
        y, x, row, column = _grid(256, cells)
        tone = rng.uniform(0.93 - spread, 0.95, (cells, cells))[row, column]
        value = tone + 0.03 * noise(rng, 256, 256, 1.6)
        return np.where((y < joint) | (x < joint), 0.7, value)

    return make


def _brick(rng: np.random.Generator) -> np.ndarray:
    y, _, row, _ = _grid(256, 12)
    along = np.arange(256)[None] * 4 / 256 + 0.5 * (row % 2)
    tone = rng.uniform(0.68, 0.95, (12, 4))[row, np.floor(along).astype(int) % 4]
    value = tone + 0.08 * noise(rng, 256, 256, 1.0)
    return np.where((y < 0.12) | ((along % 1) < 0.04), 1.0, value)


def _wall_tiles(rng: np.random.Generator) -> np.ndarray:
    y, _, row, _ = _grid(256, 8)
    along = np.arange(256)[None] * 4 / 256 + 0.5 * (row % 2)
    tone = rng.uniform(0.9, 0.97, (8, 4))[row, np.floor(along).astype(int) % 4]
    return np.where((y < 0.06) | ((along % 1) < 0.03), 0.78, tone)


def _carpet(rng: np.random.Generator) -> np.ndarray:
    return 0.86 + 0.10 * rng.normal(size=(128, 128)).clip(-1, 1) * 0.7 + 0.05 * noise(rng, 128, 128, 1.2)


def _fabric(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(128, 16)
    weave = np.where((row + column) % 2 == 0, np.sin(np.pi * y), np.sin(np.pi * x))
    return 0.84 + 0.09 * weave + 0.04 * noise(rng, 128, 128, 0.6)


def _velvet(rng: np.random.Generator) -> np.ndarray:
    return 0.86 + 0.10 * noise(rng, 128, 128, 1.6)


def _leather(rng: np.random.Generator) -> np.ndarray:
    cells = np.abs(noise(rng, 128, 128, 0.9))
    return 0.92 - 0.22 * np.exp(-cells * 9) + 0.03 * noise(rng, 128, 128, 1.5)


def _wicker(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(128, 8)
    bend = np.sin(np.pi * (x + (row % 2) * 0.5) % np.pi) * np.sin(np.pi * y)
    return 0.68 + 0.28 * bend + 0.04 * noise(rng, 128, 128, 0.6)


def _marble(rng: np.random.Generator) -> np.ndarray:
    field = noise(rng, 256, 256, 1.7)
    veins = np.exp(-np.abs(np.sin(5 * field + 2 * noise(rng, 256, 256, 1.5))) * 7)
    return 0.96 - 0.22 * veins * (0.5 + 0.5 * noise(rng, 256, 256, 1.8)) + 0.02 * field


def _brushed(rng: np.random.Generator) -> np.ndarray:
    return 0.88 + 0.07 * noise(rng, 128, 128, 0.6, (1, 30))


def _plaster(rng: np.random.Generator) -> np.ndarray:
    return 0.955 + 0.025 * noise(rng, 128, 128, 1.1)


def _stripes(rng: np.random.Generator) -> np.ndarray:
    _, x, _, column = _grid(128, 4)
    return 0.95 - 0.09 * (column % 2) + 0.015 * noise(rng, 128, 128, 1.0)


def _dots(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(128, 4)
    inside = (np.hypot(y - 0.5, x - 0.5) < 0.2) & ((row + column) % 2 == 0)
    return np.where(inside, 0.82, 0.96) + 0.01 * noise(rng, 128, 128, 1.0)


def _damask(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(192, 2)
    u, v = (x - 0.5) * 2, (y - 0.5) * 2
    petal = np.cos(3 * np.arctan2(v, u)) * 0.35 + 0.5
    inside = (np.hypot(u, v) < petal) ^ (np.hypot(u, v) < 0.2)
    return ndimage.gaussian_filter(np.where(inside & ((row + column) % 2 == 0), 0.84, 0.95), 0.7, mode="wrap")


def _concrete(rng: np.random.Generator) -> np.ndarray:
    return 0.88 + 0.06 * noise(rng, 256, 256, 1.3) + 0.02 * rng.normal(size=(256, 256))


def _cardboard(rng: np.random.Generator) -> np.ndarray:
    return 0.92 + 0.03 * noise(rng, 128, 128, 0.8, (1, 12))


def _knit(rng: np.random.Generator) -> np.ndarray:
    y, x, _, _ = _grid(128, 12)
    return 0.76 + 0.18 * np.abs(np.sin(np.pi * (y + np.abs(x - 0.5)))) + 0.03 * noise(rng, 128, 128, 0.7)


def _plaid(rng: np.random.Generator) -> np.ndarray:
    y, x, row, column = _grid(128, 8)
    bands = np.array([0.0, 0.0, 0.35, 0.35, 0.0, 0.15, 0.0, 0.15])
    return (
        1.0
        - 0.5 * (bands[row % 8] + bands[column % 8])
        - 0.05 * ((np.arange(128)[None] + np.arange(128)[:, None]) % 3 == 0)
    )


def _leaf(rng: np.random.Generator) -> np.ndarray:
    return 0.82 + 0.16 * noise(rng, 64, 64, 1.2)


_MAKERS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "wood": _wood,
    "planks": _planks,
    "parquet": _parquet,
    "tiles": _tiles(4, 0.03, 0.06),
    "bigtiles": _tiles(2, 0.015, 0.04),
    "brick": _brick,
    "walltiles": _wall_tiles,
    "carpet": _carpet,
    "fabric": _fabric,
    "velvet": _velvet,
    "leather": _leather,
    "wicker": _wicker,
    "marble": _marble,
    "brushed": _brushed,
    "plaster": _plaster,
    "stripes": _stripes,
    "dots": _dots,
    "damask": _damask,
    "concrete": _concrete,
    "cardboard": _cardboard,
    "knit": _knit,
    "plaid": _plaid,
    "leaf": _leaf,
}
