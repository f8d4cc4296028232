"""Floor plan drawings with matplotlib (imported only here, and only when asked for)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hm3dm3_env.scenes.layout import SceneModel
from hm3dm3_env.scenes.procedural.rooms import WALL, FloorPlan

_PAPER = {"fc": "white", "ec": "none", "alpha": 0.6, "pad": 1}
_SKIP = ("wall", "floor", "ceiling", "door frame", "window", "door")


def draw_plan(model: SceneModel, plan: FloorPlan, path: Path, title: str = "") -> None:
    """Rooms coloured by type, doors, outlines of the pieces, names of those on the floor."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    names = sorted({room.kind for room in plan.rooms})
    low_x, low_y, high_x, high_y = plan.bounds()
    figure = Figure(figsize=((high_x - low_x) * 1.1 + 1, (high_y - low_y) * 1.1 + 1))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for room in plan.rooms:
        hue = names.index(room.kind) / max(len(names), 1)
        colour = 0.82 + 0.16 * np.cos(2 * np.pi * (hue + np.array([0, 1 / 3, 2 / 3])))
        x0, y0, x1, y1 = room.rect
        axes.add_patch(
            Rectangle(
                (x0, y0), x1 - x0, y1 - y0, fc=tuple(np.clip(colour, 0, 1)), ec="black", lw=3 + 0 * WALL
            )
        )
        axes.text(
            x0 + 0.12,
            y1 - 0.3,
            f"{room.kind} {room.area:.0f} m2",
            fontsize=9,
            weight="bold",
            zorder=5,
            bbox=_PAPER,
        )
    for item in model.objects:
        if item.category in _SKIP:
            continue
        points = np.concatenate([part.vertices for part in item.parts])
        low, high = points.min(0), points.max(0)
        if low[2] > 2.0:
            continue
        flat = high[2] < 0.03
        axes.add_patch(
            Rectangle(
                (low[0], low[1]),
                high[0] - low[0],
                high[1] - low[1],
                fill=False,
                lw=0.8,
                ec="sienna" if flat else "navy" if low[2] < 0.1 else "green",
            )
        )
        if low[2] < 0.1:
            axes.text(
                (low[0] + high[0]) / 2,
                (low[1] + high[1]) / 2,
                item.category,
                fontsize=5,
                ha="center",
                va="center",
            )
    for door in plan.doors:
        span = [door.low, door.high]
        line = (span, [door.level] * 2) if door.axis == "x" else ([door.level] * 2, span)
        axes.plot(*line, color="red" if door.b < 0 else "white", lw=3)
    axes.set_aspect("equal")
    axes.set_title(title)
    axes.set_xlabel("metres; blue: on the floor, green: on furniture or a wall, brown: rugs, red: front door")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80, bbox_inches="tight")
