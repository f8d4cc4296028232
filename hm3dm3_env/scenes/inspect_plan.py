"""The picture of one floor for `inspect`: the house cut open, where the body can be, what stands where."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from hm3dm3_env.episodes.goals import GoalConfig, GoalFinder
from hm3dm3_env.render.floorplan import BAR, FINE, GAP, Plan
from hm3dm3_env.render.panels import FREE_COLOR, INK, QUIET, UNKNOWN_COLOR, Color, font
from hm3dm3_env.sim.embedded import EmbeddedSimulator

_MAIN: Color = (150, 205, 150)
_OTHER: tuple[Color, ...] = ((240, 170, 110), (170, 160, 225), (235, 150, 170), (120, 195, 215))
"""Tints of the largest island, and of the others in turn."""
_SHARE = 0.55
_MARGIN = 0.6
_KEY = 42
"""Height of the legend, pixels."""


class _FloorPlan(Plan):
    """A plan whose floor is tinted by island instead of by what a team explored."""

    def _tinted(self, colors: np.ndarray, labels: np.ndarray, height: np.ndarray, floor: Any) -> np.ndarray:
        islands, origin, cell = floor
        framed = np.pad(islands, 1)  # outside of the grid is no island
        columns, rows = (
            np.clip(((low + (np.arange(n) + 0.5) / self.scale - start) // cell + 1).astype(int), 0, m - 1)
            for low, start, n, m in zip(self.low, origin[[0, 2]], colors.shape[1::-1], framed.shape[::-1]))
        here = framed[rows][:, columns]
        tints = np.array([(0, 0, 0), *island_colors(islands)], np.float64)
        tinted = colors * (1 - _SHARE) + tints[here] * _SHARE
        return np.where((here > 0)[..., None], tinted, colors).astype(np.uint8)


def island_colors(islands: np.ndarray) -> list[Color]:
    """A colour for each label from 1: one for the largest, a few others for the rest."""
    sizes = np.bincount(islands.ravel(), minlength=2)[1:]
    largest = int(sizes.argmax())
    return [_MAIN if k == largest else _OTHER[k % len(_OTHER)] for k in range(len(sizes))]


def plan_png(sim: EmbeddedSimulator, floor: int) -> bytes:
    """A PNG of floor number `floor` of the current scene: islands tinted, possible goals named."""
    navigator = sim.navigator
    level = navigator.levels[floor]
    ground = (level.islands, navigator.origin, navigator.cell)
    plan = _FloorPlan(sim, level.height, _bounds(sim, floor), ground)  # type: ignore[arg-type]
    picture = plan.image.reduce(FINE)
    pen = ImageDraw.Draw(picture)
    named = GoalFinder(sim, floor, GoalConfig(), 0).candidates() if sim.scene.instances else []
    _names(pen, plan, named)
    canvas = Image.new("RGB", (max(picture.width, 520) + 2 * GAP, picture.height + BAR + 2 * GAP + _KEY),
                       FREE_COLOR)
    draw = ImageDraw.Draw(canvas)
    draw.rectangle([0, 0, canvas.width, BAR], fill=INK)
    draw.text((GAP, BAR / 2), f"{sim.scene.id}   floor {floor}", fill=FREE_COLOR, font=font(20, True),
              anchor="lm")
    area = float(level.free.sum()) * navigator.cell**2
    draw.text((canvas.width - GAP, BAR / 2), f"height {level.height:.2f} m, {area:.1f} m² walkable",
              fill=FREE_COLOR, font=font(15), anchor="rm")
    canvas.paste(picture, (GAP, BAR + GAP))
    draw.rectangle([GAP - 1, BAR + GAP - 1, GAP + picture.width, BAR + GAP + picture.height],
                   outline=UNKNOWN_COLOR)
    _key(draw, BAR + 2 * GAP + picture.height, level.islands, plan.scale / FINE)
    buffer = io.BytesIO()
    canvas.save(buffer, "PNG")
    return buffer.getvalue()


def _bounds(sim: EmbeddedSimulator, floor: int) -> tuple[float, float, float, float]:
    """Where one can stand with a margin, or the whole scene where that is nowhere."""
    navigator = sim.navigator
    rows, columns = np.nonzero(navigator.levels[floor].free)
    corners = sim.scene.triangles.reshape(-1, 3)
    low, high = corners.min(0)[[0, 2]], corners.max(0)[[0, 2]]
    if len(rows):
        corner, margin = navigator.origin[[0, 2]], 2.5  # furniture and walls lie around
        first = corner + np.array([columns.min(), rows.min()]) * navigator.cell - margin
        last = corner + np.array([columns.max() + 1, rows.max() + 1]) * navigator.cell + margin
        low, high = np.maximum(low, first), np.minimum(high, last)
    return (float(low[0]) - _MARGIN, float(low[1]) - _MARGIN, float(high[0]) + _MARGIN,
            float(high[1]) + _MARGIN)


def _names(pen: ImageDraw.ImageDraw, plan: Plan, items: list) -> None:
    """The categories of the largest objects, where there is room for them."""
    taken: list[tuple[float, float, float, float]] = []
    face = font(11)
    for item in sorted(items, key=lambda item: (-item.size[0] * item.size[2], item.id)):
        x, y = (v / FINE for v in plan.xy(item.center[0], item.center[2]))
        width = face.getlength(item.category) / 2 + 2
        x = min(max(x, width), plan.image.width / FINE - width)
        box = (x - width, y - 7, x + width, y + 7)
        if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            continue
        taken.append(box)
        pen.text((x, y), item.category, fill=INK, font=face, anchor="mm")


def _key(draw: ImageDraw.ImageDraw, top: int, islands: np.ndarray, scale: float) -> None:
    """What the tints mean, and a bar of one metre."""
    x, y = GAP, top + _KEY // 2 - 8
    entries = [(_MAIN, "largest island")]
    if islands.max(initial=0) > 1:
        entries.append((_OTHER[0], f"other islands ({int(islands.max()) - 1})"))
    for color, words in entries:
        draw.rectangle([x, y, x + 24, y + 16], fill=color, outline=QUIET)
        draw.text((x + 32, y + 8), words, fill=INK, font=font(15), anchor="lm")
        x += 56 + int(font(15).getlength(words))
    draw.line([x + 20, y + 8, x + 20 + scale, y + 8], fill=INK, width=3)
    draw.text((x + 28 + scale, y + 8), "1 m", fill=INK, font=font(15), anchor="lm")
