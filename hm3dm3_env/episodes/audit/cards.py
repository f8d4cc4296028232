"""Pictures of an episode for the audit's page: the floor with starts, goals and oracle tours; the photos."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from hm3dm3_env.episodes.goals import photo_camera
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.oracle import Oracle, reach_on, solve
from hm3dm3_env.render.floorplan import FINE, Plan
from hm3dm3_env.render.panels import FREE_COLOR, agent_color, arrow, badge, font, goal_color
from hm3dm3_env.sim.embedded import EmbeddedSimulator

QUALITY = 88
"""Of the JPEG pictures."""
_MARGIN = 0.7
"""Around what can be walked on, metres."""


class _PlainPlan(Plan):
    """A plan on which nothing is explored."""

    def _tinted(
        self, colors: np.ndarray, labels: np.ndarray, height: np.ndarray, shared_map: SharedMap
    ) -> np.ndarray:
        return colors


def card(sim: EmbeddedSimulator, episode: Episode) -> dict[str, Any]:
    """What the page shows of an episode; pictures are data URIs."""
    oracle = solve(
        [tuple(pose.position) for pose in episode.starts],
        len(episode.goals),
        reach_on(sim.navigator, episode.viewpoints),
    )
    goals = []
    for goal in episode.goals:
        photo = ""
        if goal.image is not None:
            frame = sim.render([photo_camera(goal.image)[0]], photo_camera(goal.image)[1])[0]
            assert frame.rgb is not None
            photo = data_uri(Image.fromarray(frame.rgb), "JPEG")
        goals.append(
            {
                "modality": goal.modality,
                "category": goal.category,
                "text": goal.text,
                "photo": photo,
                "accepts": len(goal.acceptable),
                "predicates": [list(p) for p in goal.predicates],
            }
        )
    return {
        "episode": episode.id,
        "index": episode.index,
        "scene": episode.scene.name,
        "agents": len(episode.starts),
        "makespan": episode.makespan,
        "goals": goals,
        "tours": [list(tour) for tour in oracle.tours],
        "lengths": [round(v, 2) for v in oracle.lengths],
        "plan": data_uri(plan_picture(sim, episode, oracle), "PNG"),
    }


def data_uri(image: Image.Image, kind: str) -> str:
    """A picture as a data: address; PNG with 128 colours, which plans don't exceed visibly."""
    buffer = io.BytesIO()
    if kind == "PNG":
        image.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            buffer, "PNG", optimize=True
        )
    else:
        image.save(buffer, kind, quality=QUALITY)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def plan_picture(sim: EmbeddedSimulator, episode: Episode, oracle: Oracle) -> Image.Image:
    """The floor from above: objects that count framed in their goal's colour, starts, tours, viewpoints."""
    plan = _PlainPlan(sim, episode.floor_height, _bounds(sim, episode), None)  # type: ignore[arg-type]
    for j, goal in enumerate(episode.goals):
        for point in episode.viewpoints[j]:
            x, y = plan.xy(point[0], point[2])
            plan.pen.ellipse([x - 4, y - 4, x + 4, y + 4], fill=goal_color(j))
        for identity in goal.acceptable:
            _frame(plan, sim, j, identity)
    for k, tour in enumerate(oracle.tours):
        place, color = episode.starts[k].position, agent_color(k)
        for j in tour:
            path = sim.navigator.path(place, episode.viewpoints[j])
            if len(path):
                _way(plan, path, color)
                place = path[-1]
    for k, pose in enumerate(episode.starts):
        x, y = plan.xy(pose.x, pose.z)
        color, r = agent_color(k), 11 * FINE
        arrow(plan.pen, x, y, pose.heading, color, 13 * FINE)
        u, v = plan.place(x + r * 1.6, y, r)
        plan.pen.ellipse([u - r, v - r, u + r, v + r], fill=FREE_COLOR, outline=color, width=3 * FINE)
        plan.pen.text((u, v), f"R{k}", fill=color, font=font(11 * FINE, True), anchor="mm")
    return plan.image.reduce(FINE)


def _frame(plan: Plan, sim: EmbeddedSimulator, j: int, identity: int) -> None:
    item = sim.scene.instances[identity]
    (u0, v0), (u1, v1) = plan.xy(item.low[0], item.low[2]), plan.xy(item.high[0], item.high[2])
    pad = max(14 - (u1 - u0), 14 - (v1 - v0), 0) / 2 + 3
    plan.pen.rectangle([u0 - pad, v0 - pad, u1 + pad, v1 + pad], outline=goal_color(j), width=2 * FINE)
    x, y = plan.place(u0 - pad, v0 - pad, 9 * FINE)
    badge(plan.pen, x, y, j, 18 * FINE)


def _way(plan: Plan, path: np.ndarray, color: tuple[int, int, int]) -> None:
    """A path with an arrowhead in the middle of every long piece, and one at the end."""
    points = [plan.xy(p[0], p[2]) for p in path]
    plan.pen.line(points, fill=color, width=3 * FINE, joint="curve")
    for n, ((x0, y0), (x1, y1)) in enumerate(zip(points, points[1:])):
        length, heading = float(np.hypot(x1 - x0, y1 - y0)), float(np.arctan2(x0 - x1, y0 - y1))
        if length > 1.2 * plan.scale:
            arrow(plan.pen, (x0 + x1) / 2, (y0 + y1) / 2, heading, color, 8 * FINE)
        if n == len(points) - 2 and length > 0:
            arrow(plan.pen, x1, y1, heading, color, 8 * FINE)


def _bounds(sim: EmbeddedSimulator, episode: Episode) -> tuple[float, float, float, float]:
    """What can be walked on around the starts, and all objects that count."""
    navigator = sim.navigator
    level = navigator.levels[episode.floor]
    island = navigator.island(episode.starts[0].position)
    rows, columns = np.nonzero(level.islands == island if island else level.free)
    corner, cell = navigator.origin[[0, 2]], navigator.cell
    spots = [np.array([pose.x, pose.z]) for pose in episode.starts]
    if len(rows):
        spots += [
            corner + np.array([columns.min(), rows.min()]) * cell,
            corner + np.array([columns.max() + 1, rows.max() + 1]) * cell,
        ]
    for goal in episode.goals:
        for identity in goal.acceptable:
            item = sim.scene.instances[identity]
            spots += [item.low[[0, 2]], item.high[[0, 2]]]
    low, high = np.min(spots, 0) - _MARGIN, np.max(spots, 0) + _MARGIN
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])
