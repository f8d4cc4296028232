"""Draw a floor plan of an imported floor (PNG): walls, rooms with names, furniture with names."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from hm3dm3_env.files import write_atomic
from hm3dm3_env.scenes.sweethome3d.build import Floor
from hm3dm3_env.scenes.sweethome3d.mesh import polygons, rectangle

_OPENINGS = {"passage": "tab:green", "door": "tab:red", "window": "tab:cyan"}


def draw_plan(floor: Floor, path: Path) -> None:
    """Write the plan to `path`. Needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 12), dpi=90)
    axes = figure.add_subplot()
    for index, region in enumerate(floor.plan.regions):
        for item in polygons(region.area):
            axes.fill(*np.asarray(item.exterior.coords).T[:2], color=f"C{index % 10}", alpha=0.15, lw=0)
        x, y = region.own.representative_point().coords[0]
        axes.text(x, y, region.name, ha="center", fontsize=9, weight="bold")
    for shape in floor.walls:
        for item in polygons(shape.outline):
            axes.fill(*np.asarray(item.exterior.coords).T[:2], color="0.4", lw=0)
    for opening in floor.openings:
        corners = np.asarray(opening.hole.footprint(0.05).exterior.coords)
        axes.fill(*corners.T[:2], color=_OPENINGS[opening.kind], lw=0)
    for piece, name in floor.pieces:
        width, depth, _ = piece.size
        box = rectangle(piece.position, piece.angle, -width / 2, width / 2, -depth / 2, depth / 2)
        axes.plot(*np.asarray(box.exterior.coords).T[:2], color="k", lw=0.6)
        front = rectangle(piece.position, piece.angle, -width / 2, width / 2, -depth / 2, -depth / 2 * 0.85)
        axes.fill(*np.asarray(front.exterior.coords).T[:2], color="tab:orange", lw=0)
        axes.text(*piece.position, name, ha="center", va="center", fontsize=5)
    axes.set_aspect("equal")
    axes.set_title(f"{floor.model.source['home']} {floor.level.name} (orange: front of a piece)")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    write_atomic(path, buffer.getvalue())
