"""One picture of a moment: the map from above, what every robot sees, and the list of goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hm3dm3_env.mapping import FREE, OCCUPIED, SharedMap
from hm3dm3_env.shared import SharedState

AGENT_COLORS = ((214, 39, 40), (31, 119, 180), (44, 160, 44), (148, 103, 189), (255, 127, 14), (23, 190, 207),
                (227, 119, 194), (140, 86, 75))
GOAL_COLORS = (
    (230, 159, 0),
    (0, 158, 115),
    (86, 180, 233),
    (204, 121, 167),
    (213, 94, 0),
    (240, 228, 66),
    (0, 114, 178),
    (120, 120, 120),
)
UNKNOWN_COLOR, FREE_COLOR, WALL_COLOR, INK = (226, 228, 232), (255, 255, 255), (70, 76, 88), (30, 34, 42)
SIDE = 512
"""Side of the map and height of the robots' views, pixels."""
_LINE = 22


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which ships with matplotlib."""
    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)


class MapView:
    """A window of the shared map drawn to a square picture; `xy` turns world positions into its pixels."""

    def __init__(
        self, shared_map: SharedMap, side: int = SIDE, bounds: tuple[float, float, float, float] | None = None
    ) -> None:
        if bounds is None:
            rows, columns = shared_map.window(0.75)
            bounds = (
                shared_map.origin[0] + columns.start * shared_map.cell,
                shared_map.origin[1] + rows.start * shared_map.cell,
                shared_map.origin[0] + columns.stop * shared_map.cell,
                shared_map.origin[1] + rows.stop * shared_map.cell,
            )
        x0, z0, x1, z1 = bounds
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
        return ((x - self.low[0]) * self.scale, (z - self.low[1]) * self.scale)

    def overlay(
        self,
        values: np.ndarray,
        origin: np.ndarray,
        cell: float,
        color: tuple[int, int, int],
        strength: float = 0.6,
    ) -> None:
        """Tint by (rows, columns) values in 0..1 on a grid of `cell` metres whose corner is at `origin` (x,
        z)."""
        side = self.image.width
        pixels = (np.arange(side) + 0.5) / self.scale
        columns = np.clip(
            np.floor((self.low[0] + pixels - origin[0]) / cell).astype(int), 0, values.shape[1] - 1
        )
        rows = np.clip(
            np.floor((self.low[1] + pixels - origin[1]) / cell).astype(int), 0, values.shape[0] - 1
        )
        alpha = np.clip(values[rows][:, columns], 0, 1)[..., None] * strength
        base = np.asarray(self.image, float)
        self.image.paste(Image.fromarray((base * (1 - alpha) + np.array(color) * alpha).astype(np.uint8)))

    def trail(self, points: Sequence[Sequence[float]], color: tuple[int, int, int]) -> None:
        """A path of [x, z, ...] rows, with a dot where it starts."""
        line = [self.xy(p[0], p[1]) for p in points]
        if len(line) > 1:
            self.draw.line(line, fill=color, width=3, joint="curve")
        x, y = line[0]
        self.draw.ellipse([x - 4, y - 4, x + 4, y + 4], outline=color, width=2, fill=FREE_COLOR)

    def robot(self, x: float, z: float, heading: float, color: tuple[int, int, int], label: str) -> None:
        """An arrowhead that points where the robot looks."""
        u, v = self.xy(x, z)
        angles = heading + np.array([0.0, 2.5, -2.5])
        corners = [(u - 11 * np.sin(a), v - 11 * np.cos(a)) for a in angles]
        self.draw.polygon(corners, fill=color, outline=INK)
        self.draw.text((u + 9, v - 9), label, fill=color, font=font(13))

    def marker(
        self, x: float, z: float, color: tuple[int, int, int], label: str, hollow: bool = False
    ) -> None:
        """A labelled square: a goal."""
        u, v = self.xy(x, z)
        self.draw.rectangle(
            [u - 7, v - 7, u + 7, v + 7],
            fill=None if hollow else color,
            outline=color if hollow else INK,
            width=2,
        )
        self.draw.text((u - 4, v - 8), label, fill=color if hollow else INK, font=font(12))


def goal_lines(
    shared: SharedState, status: Mapping[int, str] | None = None
) -> list[tuple[str, tuple[int, int, int]]]:
    """A line a goal: number, modality, text, and whether it is still looked for."""
    lines = []
    for j, goal in enumerate(shared.goals):
        state = (status or {}).get(j) or ("looking" if shared.unresolved[j] else "declared")
        text = goal.text or "(image)"
        lines.append((f"{j}  {goal.modality:<3}  {text}  –  {state}", GOAL_COLORS[j % len(GOAL_COLORS)]))
    return lines


def draw(shared: SharedState, trails: Sequence[Sequence[Sequence[float]]], view: MapView | None = None,
         status: Mapping[int, str] | None = None, title: str = "") -> np.ndarray:
    """(H, W, 3) uint8: map with trails and robots, first-person views beside it, goals below.

    Args:
        trails: [step][agent] = [x, z, ...].
        view: a prepared map (to draw more on it before), or None.
        status: words for goals instead of looking/declared.
    """
    view = view or MapView(shared.map)
    for k, pose in enumerate(shared.poses):
        view.trail([row[k] for row in trails], AGENT_COLORS[k])
        color = AGENT_COLORS[k] if shared.alive[k] else (150, 150, 150)
        view.robot(pose.x, pose.z, pose.heading, color, f"robot {k}")
    views = [_eye(shared, k) for k in range(shared.agents)]
    lines = goal_lines(shared, status)
    thumbs = [(j, goal.image) for j, goal in enumerate(shared.goals) if goal.image is not None]
    width = SIDE + sum(v.width + 6 for v in views)
    foot = 12 + _LINE * (len(lines) + 1)
    canvas = Image.new("RGB", (width + width % 2, SIDE + foot + foot % 2), FREE_COLOR)
    canvas.paste(view.image, (0, 0))
    x = SIDE + 6
    for image in views:
        canvas.paste(image, (x, 0))
        x += image.width + 6
    pen = ImageDraw.Draw(canvas)
    pen.text((10, SIDE + 8), title or f"step {shared.step}", fill=INK, font=font(14))
    for i, (line, color) in enumerate(lines):
        y = SIDE + 8 + _LINE * (i + 1)
        pen.rectangle([10, y + 2, 22, y + 14], fill=color)
        pen.text((30, y), line, fill=INK, font=font(14))
    side = min(foot - 12, 96)
    for i, (j, picture) in enumerate(reversed(thumbs)):
        thumb = Image.fromarray(picture).resize((side, side), Image.Resampling.LANCZOS)
        left = width - (i + 1) * (side + 8)
        canvas.paste(thumb, (left, SIDE + 8))
        pen.rectangle(
            [left - 2, SIDE + 6, left + side + 1, SIDE + 8 + side],
            outline=GOAL_COLORS[j % len(GOAL_COLORS)],
            width=3,
        )
    return np.asarray(canvas)


def _eye(shared: SharedState, agent: int) -> Image.Image:
    """A robot's colour frame (or its depth, where no colour was rendered) at the height of the map."""
    frame = shared.frames[agent]
    if frame.rgb is not None:
        pixels = frame.rgb
    else:
        pixels = np.repeat(
            (255 * (1 - np.clip(frame.depth / frame.camera.max_depth, 0, 1)) * (frame.depth > 0)).astype(
                np.uint8
            )[..., None],
            3,
            2,
        )
    if not shared.alive[agent]:
        pixels = (pixels * 0.4).astype(np.uint8)
    width = max(int(round(pixels.shape[1] * SIDE / pixels.shape[0])), 16)
    image = Image.fromarray(pixels).resize((width, SIDE), Image.Resampling.BILINEAR)
    pen = ImageDraw.Draw(image)
    pen.rectangle([0, 0, width - 1, SIDE - 1], outline=AGENT_COLORS[agent], width=4)
    pen.text(
        (8, 6),
        f"robot {agent}",
        fill=AGENT_COLORS[agent],
        font=font(15),
        stroke_width=2,
        stroke_fill=FREE_COLOR,
    )
    return image
