"""Whole pictures: paintings, rugs, book spines, screens, a view of the sky. All (H, W, 3) uint8."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from hm3dm3_env.scenes.procedural.palette import COLOURS

_SIZE = (160, 128)
"""Width and height of a painting in pixels; ours."""


def _canvas(width: int, height: int, colour: tuple[int, int, int]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (width, height), colour)
    return image, ImageDraw.Draw(image)


def _pick(rng: np.random.Generator, count: int = 1) -> list[tuple[int, int, int]]:
    names = sorted(COLOURS)
    return [COLOURS[names[int(i)]] for i in rng.integers(0, len(names), count)]


def _soften(
    image: Image.Image, rng: np.random.Generator, amount: float = 6.0, blur: float = 0.6
) -> np.ndarray:
    value = np.asarray(image, np.float32)
    value = ndimage.gaussian_filter(value, (blur, blur, 0))
    return np.clip(value + rng.normal(0, amount, value.shape[:2])[:, :, None], 0, 255).astype(np.uint8)


def painting(rng: np.random.Generator) -> np.ndarray:
    """A landscape, an abstract, flowers or a portrait."""
    makers = (_landscape, _blocks, _circles, _flowers, _portrait, _waves)
    return makers[int(rng.integers(len(makers)))](rng)


def _landscape(rng: np.random.Generator) -> np.ndarray:
    width, height = _SIZE
    top, bottom = (np.array(c, float) for c in _pick(rng, 2))
    share = np.linspace(0, 1, height)[:, None, None] ** 0.8
    sky_rows = top * (1 - share) + np.clip(bottom + 70, 0, 255) * share
    image = Image.fromarray(np.broadcast_to(sky_rows, (height, width, 3)).astype(np.uint8).copy())
    draw = ImageDraw.Draw(image)
    x, y, r = rng.uniform(20, width - 20), rng.uniform(15, 45), rng.uniform(7, 15)
    draw.ellipse([x - r, y - r, x + r, y + r], fill=(250, 236, 190))
    base = np.array(_pick(rng)[0], float)
    for layer in range(int(rng.integers(2, 5))):
        level = height * (0.45 + 0.15 * layer)
        xs = np.arange(0, width + 8, 8)
        ys = (
            level
            + np.cumsum(rng.normal(0, 5, len(xs)))
            - abs(xs - rng.uniform(0, width)) * rng.uniform(-0.2, 0.2)
        )
        colour = tuple(int(c) for c in np.clip(base * (1.1 - 0.22 * layer), 0, 255))
        draw.polygon([(0, height), *zip(xs.tolist(), ys.tolist()), (width, height)], fill=colour)
    return _soften(image, rng)


def _blocks(rng: np.random.Generator) -> np.ndarray:
    image, draw = _canvas(*_SIZE, _pick(rng)[0])
    for colour in _pick(rng, int(rng.integers(5, 12))):
        x, y = rng.uniform(-20, _SIZE[0] - 10), rng.uniform(-20, _SIZE[1] - 10)
        draw.rectangle(
            [x, y, x + rng.uniform(15, 80), y + rng.uniform(15, 80)],
            fill=colour,
            outline=(30, 30, 30) if rng.random() < 0.5 else None,
            width=2,
        )
    return _soften(image, rng)


def _circles(rng: np.random.Generator) -> np.ndarray:
    image, draw = _canvas(*_SIZE, _pick(rng)[0])
    for colour in _pick(rng, int(rng.integers(4, 12))):
        x, y, r = rng.uniform(0, _SIZE[0]), rng.uniform(0, _SIZE[1]), rng.uniform(8, 40)
        draw.ellipse([x - r, y - r, x + r, y + r], fill=colour)
        draw.ellipse([x - r / 2, y - r / 2, x + r / 2, y + r / 2], fill=_pick(rng)[0])
    return _soften(image, rng)


def _flowers(rng: np.random.Generator) -> np.ndarray:
    width, height = _SIZE
    image, draw = _canvas(width, height, _pick(rng)[0])
    draw.polygon(
        [
            (width * 0.38, height),
            (width * 0.62, height),
            (width * 0.57, height * 0.62),
            (width * 0.43, height * 0.62),
        ],
        fill=_pick(rng)[0],
    )
    petals = _pick(rng, 3)
    for _ in range(int(rng.integers(6, 12))):
        x, y = rng.normal(width / 2, 25), rng.normal(height * 0.36, 18)
        draw.line([width / 2, height * 0.64, x, y], fill=(52, 96, 48), width=2)
        colour, r = petals[int(rng.integers(3))], rng.uniform(5, 10)
        for angle in np.arange(5) * 2 * np.pi / 5:
            px, py = x + r * np.cos(angle), y + r * np.sin(angle)
            draw.ellipse([px - r * 0.7, py - r * 0.7, px + r * 0.7, py + r * 0.7], fill=colour)
        draw.ellipse([x - r / 2, y - r / 2, x + r / 2, y + r / 2], fill=(240, 200, 80))
    return _soften(image, rng)


def _portrait(rng: np.random.Generator) -> np.ndarray:
    width, height = _SIZE
    back, coat, hair = _pick(rng, 3)
    image, draw = _canvas(width, height, back)
    skin = [(224, 186, 154), (172, 122, 88), (120, 82, 58)][int(rng.integers(3))]
    draw.ellipse([width * 0.2, height * 0.66, width * 0.8, height * 1.5], fill=coat)
    draw.ellipse([width * 0.34, height * 0.12, width * 0.66, height * 0.6], fill=hair)
    draw.ellipse([width * 0.38, height * 0.22, width * 0.62, height * 0.68], fill=skin)
    for x in (0.45, 0.55):
        draw.ellipse([width * x - 3, height * 0.42 - 2, width * x + 3, height * 0.42 + 2], fill=(30, 30, 30))
    draw.arc([width * 0.45, height * 0.5, width * 0.55, height * 0.6], 20, 160, fill=(150, 40, 40), width=2)
    return _soften(image, rng)


def _waves(rng: np.random.Generator) -> np.ndarray:
    width, height = _SIZE
    y, x = np.mgrid[:height, :width]
    field = y / height + 0.12 * np.sin(x / rng.uniform(10, 30) + rng.uniform(0, 6)) + 0.05 * np.sin(x / 7.0)
    colours = np.array(_pick(rng, 6))
    return _soften(Image.fromarray(colours[np.clip((field * 6).astype(int), 0, 5)].astype(np.uint8)), rng)


def rug(rng: np.random.Generator, colours: list[str]) -> np.ndarray:
    """A bordered rug in the named colours."""
    words = [COLOURS[word] for word in colours] or _pick(rng, 3)
    while len(words) < 3:
        words.append(_pick(rng)[0])
    size = 192
    image, draw = _canvas(size, size, words[0])
    style = int(rng.integers(4))
    if style == 0:
        for i, colour in zip(range(0, size, 16), words[1:] * 12):
            if rng.random() < 0.6:
                draw.rectangle([0, i, size, i + int(rng.integers(4, 14))], fill=colour)
    elif style == 1:
        for i in range(5):
            for j in range(5):
                x, y = 20 + 38 * i, 20 + 38 * j
                draw.polygon(
                    [(x, y - 15), (x + 15, y), (x, y + 15), (x - 15, y)], fill=words[1 + (i + j) % 2]
                )
    elif style == 2:
        for r, colour in zip(range(80, 10, -14), words[1:] * 6):
            draw.ellipse([96 - r, 96 - r, 96 + r, 96 + r], outline=colour, width=7)
    else:
        for inset, colour in ((10, words[1]), (22, words[2]), (34, words[0]), (60, words[1]), (70, words[0])):
            draw.rectangle([inset, inset, size - inset, size - inset], fill=colour)
    if style != 0:
        draw.rectangle([0, 0, size - 1, size - 1], outline=words[1], width=8)
    return _soften(image, rng, 9.0)


def book_spines(rng: np.random.Generator) -> np.ndarray:
    """A shelf row of books seen from the front."""
    width, height = 192, 64
    image, draw = _canvas(width, height, (40, 32, 28))
    x = 0.0
    while x < width:
        thick, tall = rng.uniform(5, 13), rng.uniform(0.7, 1.0) * height
        colour = _pick(rng)[0]
        draw.rectangle([x, height - tall, x + thick - 1, height], fill=colour)
        band = height - tall * rng.uniform(0.3, 0.8)
        draw.rectangle([x + 1, band, x + thick - 2, band + 4], fill=tuple(min(255, c + 60) for c in colour))
        x += thick
    return _soften(image, rng, 3.0, 0.3)


def screen(rng: np.random.Generator) -> np.ndarray:
    """Windows on a desktop."""
    width, height = 128, 72
    image, draw = _canvas(width, height, _pick(rng)[0])
    for colour in ((236, 236, 236), (40, 44, 52)):
        x, y = rng.uniform(4, 50), rng.uniform(4, 25)
        draw.rectangle([x, y, x + 60, y + 38], fill=colour)
        for line in range(5):
            draw.line(
                [x + 4, y + 8 + 6 * line, x + rng.uniform(20, 55), y + 8 + 6 * line], fill=(128, 150, 170)
            )
    return np.asarray(image)


def dark_screen(rng: np.random.Generator) -> np.ndarray:
    """A screen that is off, with a faint glare."""
    image, draw = _canvas(128, 72, (20, 22, 26))
    x = float(rng.uniform(50, 100))
    draw.polygon([(x, 0), (x + 28, 0), (x - 32, 72), (x - 70, 72)], fill=(36, 40, 47))
    return np.asarray(image)


def keyboard(rng: np.random.Generator) -> np.ndarray:
    """White and black piano keys."""
    image, draw = _canvas(256, 32, (244, 242, 236))
    for index in range(52):
        x = index * 256 / 52
        draw.line([x, 0, x, 32], fill=(120, 120, 120))
        if index % 7 not in (2, 6):
            draw.rectangle([x + 3.2, 0, x + 6.0, 19], fill=(24, 24, 26))
    return np.asarray(image)


def sky(rng: np.random.Generator) -> np.ndarray:
    """A view through a window: sky with clouds, trees or houses below."""
    width, height = 128, 128
    share = np.linspace(0, 1, height)[:, None, None]
    rows = np.array([132, 178, 226.0]) * (1 - share) + np.array([222, 234, 242.0]) * share
    image = Image.fromarray(np.broadcast_to(rows, (height, width, 3)).astype(np.uint8).copy())
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = rng.uniform(0, width), rng.uniform(8, 60)
        draw.ellipse([x - 16, y - 5, x + 16, y + 5], fill=(244, 247, 250))
    draw.rectangle([0, 100, width, height], fill=(112, 148, 84))
    for _ in range(int(rng.integers(4, 9))):
        x, r = rng.uniform(0, width), rng.uniform(8, 18)
        draw.rectangle([x - 1, 90, x + 1, 108], fill=(86, 66, 48))
        draw.ellipse([x - r, 88 - r * 1.4, x + r, 88 + r * 0.5], fill=(60, int(rng.integers(96, 140)), 60))
    return _soften(image, rng, 3.0, 1.0)


def world_map(rng: np.random.Generator) -> np.ndarray:
    """A map: land of many colours in a blue sea."""
    width, height = 192, 128
    field = ndimage.gaussian_filter(rng.normal(size=(height, width)), 9)
    zone = ndimage.gaussian_filter(rng.normal(size=(height, width)), 5)
    colours = np.array(_pick(rng, 6))
    land = colours[np.clip(((zone / zone.std() + 2) * 1.5).astype(int), 0, 5)]
    return np.where((field > 0.2 * field.std())[:, :, None], land, np.array([150, 192, 222])).astype(np.uint8)


def face(rng: np.random.Generator) -> np.ndarray:
    """A clock face."""
    image, draw = _canvas(96, 96, (244, 242, 234))
    for hour in range(12):
        a = hour * np.pi / 6
        draw.line(
            [48 + 36 * np.sin(a), 48 - 36 * np.cos(a), 48 + 43 * np.sin(a), 48 - 43 * np.cos(a)],
            fill=(30, 30, 30),
            width=3,
        )
    for length, a in ((24, rng.uniform(0, 6.28)), (35, rng.uniform(0, 6.28))):
        draw.line([48, 48, 48 + length * np.sin(a), 48 - length * np.cos(a)], fill=(20, 20, 20), width=3)
    return np.asarray(image)
