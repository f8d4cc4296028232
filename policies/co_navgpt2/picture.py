"""The picture of the shared map that Co-NavGPT2's VLM looks at."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
from PIL import ImageDraw

from hm3dm3_env.render.panels import FREE_COLOR, INK, MapView, agent_color, badge, font
from hm3dm3_env.shared import SharedState
from policies.co_navgpt2.prompt import Assignment

DISC, BADGE = 13, 20
"""Pixels: radius of a frontier's disc, side of a candidate's square (ours: readable in pictures from 300
pixels)."""
BAR = 2.0
"""Metres that the scale in the corner shows."""


def draw(question: Assignment, shared: SharedState, side: int) -> np.ndarray:
    """(side, side, 3) uint8: the known part of the map with candidates, frontiers and living robots on it."""
    view = MapView(shared.map, side)
    for seen in reversed(question.seen):  # the best on top
        badge(view.draw, *view.xy(seen.point[0], seen.point[2]), seen.goal, BADGE)
    poses = [(k, pose) for k, pose in enumerate(shared.poses) if shared.alive[k]]
    taken = [view.xy(pose.x, pose.z) for _, pose in poses]
    for number, point in enumerate(question.points):
        there = view.xy(point[0], point[2])
        spot = _free_spot(there, taken, side)
        taken.append(spot)
        _frontier(view.draw, there, spot, f"F{number}")
    for k, pose in poses:
        view.robot(pose.x, pose.z, pose.heading, agent_color(k), f"R{k}")
    _scale(view, side)
    return np.asarray(view.image)


def _frontier(
    pen: ImageDraw.ImageDraw, there: tuple[float, float], spot: tuple[float, float], name: str
) -> None:
    """A disc with a name; a line leads from it to the place where it belongs."""
    pen.line([there, spot], fill=INK, width=3)
    for (x, y), r in ((there, 4), (spot, DISC)):
        pen.ellipse([x - r, y - r, x + r, y + r], fill=INK, outline=FREE_COLOR, width=2 if r == DISC else 1)
    pen.text(spot, name, fill=FREE_COLOR, font=font(14, True), anchor="mm")


def _free_spot(
    there: tuple[float, float], taken: list[tuple[float, float]], side: int
) -> tuple[float, float]:
    """The place for a disc that hides no other mark, close to where it belongs; if none, where it belongs."""
    low, high = DISC + 2.0, side - DISC - 2.0
    for ring in range(5):
        for turn in range(12 if ring else 1):
            angle, reach = turn * pi / 6, ring * DISC * 1.2
            x, y = there[0] + reach * cos(angle), there[1] + reach * sin(angle)
            inside = low <= x <= high and low <= y <= high
            if inside and all((x - u) ** 2 + (y - v) ** 2 >= (2.2 * DISC) ** 2 for u, v in taken):
                return x, y
    return there


def _scale(view: MapView, side: int) -> None:
    """A bar of known length in the lower left corner."""
    y, end = side - 14, 12 + BAR * view.scale
    view.draw.line([12, y, end, y], fill=INK, width=3)
    for x in (12, end):
        view.draw.line([x, y - 5, x, y + 5], fill=INK, width=3)
    view.draw.text((end + 8, y), f"{BAR:g} m", fill=INK, font=font(14, True), anchor="lm", stroke_width=2,
                   stroke_fill=FREE_COLOR)  # fmt: skip
