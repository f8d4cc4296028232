"""One picture of a moment: the map from above, what every robot sees, and the list of goals.

The canvas has one size whatever the team and the goals are, so that frames of one video and pictures of
different episodes can stand side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hm3dm3_env.mapping import FREE, OCCUPIED, SharedMap
from hm3dm3_env.shared import SharedState

Color = tuple[int, int, int]

AGENT_COLORS: tuple[Color, ...] = (
    (214, 39, 40), (31, 119, 180), (44, 160, 44), (130, 80, 190),
    (255, 127, 14), (23, 160, 175), (227, 90, 180), (120, 70, 60))
GOAL_COLORS: tuple[Color, ...] = (
    (236, 160, 0), (0, 165, 175), (214, 60, 145), (136, 88, 36),
    (84, 94, 112), (120, 140, 0), (90, 110, 220), (190, 90, 60))
UNKNOWN_COLOR, FREE_COLOR, WALL_COLOR, INK = (222, 225, 230), (255, 255, 255), (70, 76, 88), (30, 34, 42)
RIGHT, WRONG, QUIET = (22, 130, 60), (200, 30, 40), (96, 104, 118)
MAP, PANEL, BAR, GAP = 720, 840, 44, 8
"""Pixels: side of the map, width of the panel beside it, height of the title, and space between parts."""
ROW = 66
"""Height of a goal's row, pixels."""


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which ships with matplotlib."""
    name = "DejaVuSans-Bold" if bold else "DejaVuSans"
    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}.ttf", size)


def wrap_text(text: str, face: ImageFont.FreeTypeFont, width: float, lines: int) -> list[str]:
    """At most `lines` lines of `text` that fit `width` pixels; what is left out becomes an ellipsis."""
    words, out = text.split(), [""]
    for i, word in enumerate(words):
        longer = f"{out[-1]} {word}".strip()
        if face.getlength(longer) <= width or not out[-1]:
            out[-1] = longer
        elif len(out) < lines:
            out.append(word)
        else:
            out[-1] += " " + " ".join(words[i:])
            break
    return [_cut(line, face, width) for line in out]


def _cut(line: str, face: ImageFont.FreeTypeFont, width: float) -> str:
    if face.getlength(line) <= width:
        return line
    while line and face.getlength(line + "…") > width:
        line = line[:-1]
    return line.rstrip() + "…"


def badge(pen: ImageDraw.ImageDraw, x: float, y: float, goal: int, size: int) -> None:
    """A goal's number on its colour, centred at pixel (x, y)."""
    half = size / 2
    pen.rounded_rectangle([x - half, y - half, x + half, y + half], size / 5, fill=goal_color(goal),
                          outline=FREE_COLOR, width=max(size // 14, 1))
    pen.text((x, y), str(goal), fill=FREE_COLOR, font=font(int(size * 0.68), True), anchor="mm")


def verdict(pen: ImageDraw.ImageDraw, x: float, y: float, right: bool, size: int) -> None:
    """A white check on green or a white cross on red, centred at pixel (x, y)."""
    half, thick = size / 2, max(size // 8, 2)
    pen.ellipse([x - half, y - half, x + half, y + half], fill=RIGHT if right else WRONG, outline=FREE_COLOR,
                width=max(size // 14, 1))
    if right:
        hook = [(x + a * size, y + b * size) for a, b in ((-0.25, 0.02), (-0.06, 0.22), (0.27, -0.2))]
        pen.line(hook, fill=FREE_COLOR, width=thick, joint="curve")
    else:
        reach = 0.2 * size
        pen.line([x - reach, y - reach, x + reach, y + reach], fill=FREE_COLOR, width=thick)
        pen.line([x - reach, y + reach, x + reach, y - reach], fill=FREE_COLOR, width=thick)


def arrow(pen: ImageDraw.ImageDraw, x: float, y: float, heading: float, color: Color, size: float) -> None:
    """An arrowhead at pixel (x, y) that points along a heading (radians; 0 is up)."""
    angles, reach = heading + np.array([0.0, 2.5, np.pi, -2.5]), size * np.array([1.0, 1.0, 0.35, 1.0])
    corners = [(x - r * np.sin(a), y - r * np.cos(a)) for a, r in zip(angles, reach)]
    pen.polygon(corners, fill=color, outline=FREE_COLOR)


def agent_color(agent: int) -> Color:
    """A robot's colour."""
    return AGENT_COLORS[agent % len(AGENT_COLORS)]


def goal_color(goal: int) -> Color:
    """A goal's colour."""
    return GOAL_COLORS[goal % len(GOAL_COLORS)]


class MapView:
    """A window of the shared map drawn to a square picture; `xy` turns world positions into its pixels."""

    def __init__(self, shared_map: SharedMap, side: int = MAP,
                 bounds: tuple[float, float, float, float] | None = None) -> None:
        x0, z0, x1, z1 = bounds or known_bounds(shared_map)
        extent = max(x1 - x0, z1 - z0, 4.0)
        self.low = np.array([(x0 + x1 - extent) / 2, (z0 + z1 - extent) / 2])
        self.scale = side / extent
        pixels = (np.arange(side) + 0.5) / self.scale
        columns = np.floor((self.low[0] + pixels - shared_map.origin[0]) / shared_map.cell).astype(int)
        rows = np.floor((self.low[1] + pixels - shared_map.origin[1]) / shared_map.cell).astype(int)
        count = len(shared_map.cells)
        inside = ((rows >= 0) & (rows < count))[:, None] & ((columns >= 0) & (columns < count))[None]
        cells = shared_map.cells[np.clip(rows, 0, count - 1)][:, np.clip(columns, 0, count - 1)] * inside
        colors = np.array([UNKNOWN_COLOR, FREE_COLOR, WALL_COLOR], np.uint8)
        assert (FREE, OCCUPIED) == (1, 2)
        self.image = Image.fromarray(colors[cells])
        self.draw = ImageDraw.Draw(self.image)

    def xy(self, x: float, z: float) -> tuple[float, float]:
        """Pixel of a world position."""
        return float((x - self.low[0]) * self.scale), float((z - self.low[1]) * self.scale)

    def overlay(self, values: np.ndarray, origin: np.ndarray, cell: float, color: Color,
                strength: float = 0.6) -> None:
        """Tint by (rows, columns) values in 0..1 on a grid of `cell` metres whose corner is at `origin`
        (x, z)."""
        pixels = (np.arange(self.image.width) + 0.5) / self.scale
        columns = np.floor((self.low[0] + pixels - origin[0]) / cell).astype(int)
        rows = np.floor((self.low[1] + pixels - origin[1]) / cell).astype(int)
        block = values[np.clip(rows, 0, len(values) - 1)][:, np.clip(columns, 0, values.shape[1] - 1)]
        alpha = np.clip(block, 0, 1)[..., None] * strength
        base = np.asarray(self.image, float)
        self.image.paste(Image.fromarray((base * (1 - alpha) + np.array(color) * alpha).astype(np.uint8)))

    def trail(self, points: Sequence[Sequence[float]], color: Color, width: int = 3) -> None:
        """A path of [x, z, ...] rows, with a dot where it starts."""
        line = [self.xy(p[0], p[1]) for i, p in enumerate(points) if i == 0 or p[:2] != points[i - 1][:2]]
        if len(line) > 1:
            self.draw.line(line, fill=color, width=width, joint="curve")
        x, y = line[0]
        r = width + 2
        self.draw.ellipse([x - r, y - r, x + r, y + r], outline=color, width=2, fill=FREE_COLOR)

    def robot(self, x: float, z: float, heading: float, color: Color, label: str) -> None:
        """An arrowhead that points where the robot looks."""
        u, v = self.xy(x, z)
        arrow(self.draw, u, v, heading, color, 15)
        left = u > self.image.width - 60
        self.draw.text((u - 17 if left else u + 17, v), label, fill=color, font=font(17, True),
                       anchor="rm" if left else "lm", stroke_width=3, stroke_fill=FREE_COLOR)

    def box(self, low: np.ndarray, high: np.ndarray, goal: int, solid: bool = True) -> None:
        """An object's outline, by the (2,) x, z corners of its box, in a goal's colour, with its number."""
        (u0, v0), (u1, v1) = self.xy(low[0], low[1]), self.xy(high[0], high[1])
        pad = max(8 - (u1 - u0), 8 - (v1 - v0), 0) / 2 + 3
        self.draw.rectangle([u0 - pad, v0 - pad, u1 + pad, v1 + pad], outline=goal_color(goal),
                            width=4 if solid else 2)
        badge(self.draw, u0 - pad, v0 - pad, goal, 20)


def known_bounds(shared_map: SharedMap, margin: float = 0.75) -> tuple[float, float, float, float]:
    """(x0, z0, x1, z1) of the known part of a map with a margin, metres."""
    rows, columns = shared_map.window(margin)
    return (float(shared_map.origin[0] + columns.start * shared_map.cell),
            float(shared_map.origin[1] + rows.start * shared_map.cell),
            float(shared_map.origin[0] + columns.stop * shared_map.cell),
            float(shared_map.origin[1] + rows.stop * shared_map.cell))


def draw(shared: SharedState, trails: Sequence[Sequence[Sequence[float]]], view: MapView | None = None,
         status: Mapping[int, str] | None = None, title: str = "") -> np.ndarray:
    """(H, W, 3) uint8, H and W even: map with trails and robots, first-person views, and goals.

    Args:
        trails: [step][agent] = [x, z, ...].
        view: a prepared map (to draw more on it before), or None.
        status: words for goals instead of looking/declared; "found..." is written green, "wrong..." red.
    """
    view = view or MapView(shared.map)
    for k in range(shared.agents):
        view.trail([row[k] for row in trails], agent_color(k))
    for k, pose in enumerate(shared.poses):
        view.robot(pose.x, pose.z, pose.heading, agent_color(k) if shared.alive[k] else QUIET, f"R{k}")
    canvas = Image.new("RGB", (MAP + PANEL, BAR + MAP), FREE_COLOR)
    pen = ImageDraw.Draw(canvas)
    pen.rectangle([0, 0, MAP + PANEL, BAR - 1], fill=INK)
    pen.text((14, BAR / 2), _cut(title or f"step {shared.step}", font(20), MAP + PANEL - 28), fill=FREE_COLOR,
             font=font(20), anchor="lm")
    canvas.paste(view.image, (0, BAR))
    bottom = _views(canvas, shared)
    top = max(bottom + GAP, BAR + MAP - ROW * len(shared.goals))
    row = min(ROW + 10, (BAR + MAP - bottom - GAP) // max(len(shared.goals), 1))
    top = bottom + GAP if row > ROW else top
    for j in range(len(shared.goals)):
        _goal(canvas, shared, j, top + j * row, row, status or {})
    return np.asarray(canvas)


def _views(canvas: Image.Image, shared: SharedState) -> int:
    """Paste the robots' frames side by side, as large as fits; returns the row below them."""
    pictures = [_pixels(shared, k) for k in range(shared.agents)]
    tall, wide = pictures[0].shape[:2]
    height = MAP - ROW * len(shared.goals) - 2 * GAP
    width = min(int(height * wide / tall), (PANEL - GAP) // len(pictures) - GAP)
    height = int(width * tall / wide)
    for k, pixels in enumerate(pictures):
        image = Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR)
        pen = ImageDraw.Draw(image)
        color = agent_color(k) if shared.alive[k] else QUIET
        pen.rectangle([0, 0, width - 1, height - 1], outline=color, width=5)
        name = f"R{k}" if shared.alive[k] else f"R{k} out of budget"
        pen.rectangle([0, 0, font(17, True).getlength(name) + 18, 28], fill=color)
        pen.text((9, 14), name, fill=FREE_COLOR, font=font(17, True), anchor="lm")
        canvas.paste(image, (MAP + GAP + k * (width + GAP), BAR + GAP))
    return BAR + GAP + height


def _pixels(shared: SharedState, agent: int) -> np.ndarray:
    """A robot's colour frame, or its depth as grey levels where no colour was rendered."""
    frame = shared.frames[agent]
    pixels = frame.rgb
    if pixels is None:
        near = (1 - np.clip(frame.depth / frame.camera.max_depth, 0, 1)) * (frame.depth > 0)
        pixels = np.repeat((255 * near).astype(np.uint8)[..., None], 3, 2)
    return pixels if shared.alive[agent] else (pixels * 0.4).astype(np.uint8)


def _goal(canvas: Image.Image, shared: SharedState, j: int, top: int, height: int,
          status: Mapping[int, str]) -> None:
    """A goal's row: number, thumbnail of an image goal, modality and text, and how it stands."""
    goal, pen, left = shared.goals[j], ImageDraw.Draw(canvas), MAP + GAP
    state = status.get(j) or ("looking" if shared.unresolved[j] else "declared")
    color = RIGHT if state.startswith("found") else WRONG if state.startswith("wrong") else INK
    pen.line([left, top, MAP + PANEL - GAP, top], fill=UNKNOWN_COLOR, width=1)
    badge(pen, left + 18, top + height / 2, j, 32)
    left += 46
    if goal.image is not None:
        side = height - 8
        thumb = Image.fromarray(goal.image).resize((side, side), Image.Resampling.LANCZOS)
        canvas.paste(thumb, (left, top + 4))
        left += side + 10
    face, width = font(19), MAP + PANEL - GAP - left - 246
    text = f"{goal.modality}:  {goal.text or 'what this picture shows'}"
    lines = wrap_text(text, face, width, 2 if height < 70 else 3)
    for i, line in enumerate(lines):
        middle = top + height / 2 + (i - (len(lines) - 1) / 2) * 23
        pen.text((left, middle), line, fill=INK, font=face, anchor="lm")
    notes = wrap_text(state, font(18, True), 234, 2)
    for i, line in enumerate(notes):
        middle = top + height / 2 + (i - (len(notes) - 1) / 2) * 22
        pen.text((MAP + PANEL - GAP - 234, middle), line, fill=color, font=font(18, True), anchor="lm")
