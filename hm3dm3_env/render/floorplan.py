"""One still picture of a whole episode: floor plan, what was explored, trails, verdicts, and a legend."""

from __future__ import annotations

from itertools import product

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.metrics import row as metrics_row
from hm3dm3_env.render.panels import (
    FREE_COLOR,
    INK,
    QUIET,
    RIGHT,
    UNKNOWN_COLOR,
    WRONG,
    Color,
    agent_color,
    arrow,
    badge,
    font,
    goal_color,
    known_bounds,
    verdict,
    wrap_text,
)
from hm3dm3_env.render.playback import Replay, outcome
from hm3dm3_env.sim.embedded import EmbeddedSimulator

PLAN, LEGEND, BAR, GAP = 900, 500, 56, 16
"""Pixels: longest side of the plan, width of the legend, height of the title, space around."""
FINE = 2
"""The plan is drawn this many times larger, and then reduced: smooth lines."""
CUT = 1.5
"""Height above the floor at which the house is cut open, metres."""
OUTSIDE, FLOOR, FURNITURE, EDGE, WALL, GLASS, BELOW = (
    (246, 247, 249), (255, 255, 255), (232, 230, 226), (196, 192, 186), (74, 80, 92), (160, 190, 215),
    (214, 216, 222))
SEEN: Color = (255, 222, 100)
"""Tint of the explored floor."""
TINT, DIM = 0.34, 0.87
"""Strength of that tint, and brightness of what nobody saw."""
THICKEST = 0.25
"""Two faces of walls this close are the sides of one wall, metres."""


class Plan:
    """A house cut open at `CUT` above a floor, drawn from above; `xy` turns world positions into pixels."""

    def __init__(self, sim: EmbeddedSimulator, floor: float, bounds: tuple[float, float, float, float],
                 shared_map: SharedMap) -> None:
        x0, z0, x1, z1 = bounds
        self.low, self.scale = (x0, z0), FINE * PLAN / max(x1 - x0, z1 - z0, 4.0)
        size = (max(int((z1 - z0) * self.scale), 64), max(int((x1 - x0) * self.scale), 64))
        height, labels = _look_down(sim, floor + CUT, self.low, self.scale, size)
        colors = _colors(sim, height - floor, labels)
        colors[_walls(sim, floor + CUT, self.low, self.scale, size)] = WALL
        self.image = Image.fromarray(self._tinted(colors, labels, height - floor, shared_map))
        self.pen = ImageDraw.Draw(self.image)
        self.taken: list[tuple[float, float, float]] = []

    def _tinted(self, colors: np.ndarray, labels: np.ndarray, height: np.ndarray,
                shared_map: SharedMap) -> np.ndarray:
        """Explored floor in `SEEN`, the rest of the house darker."""
        known = _closed(shared_map.cells > 0, 9)  # shadows of chair legs are no news
        rows, columns = (
            np.floor((self.low[axis] + (np.arange(n) + 0.5) / self.scale - shared_map.origin[axis])
                     / shared_map.cell).astype(int)
            for axis, n in ((1, len(colors)), (0, colors.shape[1])))
        count = len(known)
        seen = known[np.clip(rows, 0, count - 1)][:, np.clip(columns, 0, count - 1)]
        indoors = np.isfinite(height) & (colors != np.array(WALL, np.uint8)).any(-1)
        floor = (colors == np.array(FLOOR, np.uint8)).all(-1)
        share = (TINT * (seen & indoors) * np.where(floor, 1.0, 0.5))[..., None]
        dim = np.where(~seen & indoors, DIM, 1.0)[..., None]
        return ((colors * (1 - share) + np.array(SEEN) * share) * dim).astype(np.uint8)

    def xy(self, x: float, z: float) -> tuple[float, float]:
        """Pixel of a world position."""
        return (x - self.low[0]) * self.scale, (z - self.low[1]) * self.scale

    def place(self, x: float, y: float, radius: float) -> tuple[float, float]:
        """A free spot for a round label near pixel (x, y); a line leads back where it is apart."""
        ring = product((1.2, 2.0, 2.8, 3.6, 4.6, 6), np.radians(np.arange(-45, 315, 30)))
        steps = [(0.0, 0.0)] + [(r * radius * np.cos(a), r * radius * np.sin(a)) for r, a in ring]
        margin = radius + 2
        for dx, dy in steps:
            u = float(np.clip(x + dx, margin, self.image.width - margin))
            v = float(np.clip(y + dy, margin, self.image.height - margin))
            if all(np.hypot(u - a, v - b) >= radius + r for a, b, r in self.taken):
                break
        self.taken.append((u, v, radius))
        if np.hypot(u - x, v - y) > radius:
            self.pen.line([x, y, u, v], fill=INK, width=FINE)
        return u, v


def _look_down(sim: EmbeddedSimulator, top: float, low: tuple[float, float], scale: float,
               size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) height of the first surface below `top` (-inf: none), and its object id."""
    height, labels = np.empty(size), np.empty(size, np.int32)
    xs = low[0] + (np.arange(size[1]) + 0.5) / scale
    for first in range(0, size[0], 128):
        zs = low[1] + (np.arange(first, min(first + 128, size[0])) + 0.5) / scale
        origins = np.empty((len(zs), len(xs), 3), np.float32)
        origins[..., 0], origins[..., 1], origins[..., 2] = xs[None], top, zs[:, None]
        down = np.zeros_like(origins)
        down[..., 1] = -1
        distance, ids = sim.cast(origins.reshape(-1, 3), down.reshape(-1, 3))
        part = slice(first, first + len(zs))
        height[part] = top - distance.reshape(len(zs), -1)
        labels[part] = np.where(np.isfinite(distance), ids, 0).reshape(len(zs), -1)
    return height, labels


def _colors(sim: EmbeddedSimulator, height: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(rows, columns, 3) uint8: walls dark, furniture light with outlines; heights are above the floor."""
    instances = sim.scene.instances
    kind = np.zeros(max(instances, default=0) + 1, np.uint8)  # floor or unnamed, furniture, wall, window
    for item in instances.values():
        if item.structure in ("window", "door frame", "window frame"):
            kind[item.id] = 3
        elif item.structure in ("wall", "column", "beam"):
            kind[item.id] = 2
        elif not item.structure:
            kind[item.id] = 1
    kinds = kind[np.clip(labels, 0, len(kind) - 1)]
    kinds = np.where((kinds == 0) & (height > 0.3), 1, kinds)
    colors = np.array([FLOOR, FURNITURE, WALL, GLASS], np.uint8)[kinds]
    colors[height < -0.3] = BELOW
    things = np.where(kinds == 1, labels + 1, 0)
    colors[_rim(things) & (kinds < 2)] = EDGE
    outside = ~np.isfinite(height)
    colors[outside] = OUTSIDE
    colors[_rim(outside.astype(np.int32)) & ~outside] = WALL  # scans have walls without thickness
    return colors


def _walls(sim: EmbeddedSimulator, height: float, low: tuple[float, float], scale: float,
           size: tuple[int, int]) -> np.ndarray:
    """(rows, columns) bool: walls where a plane at `height` cuts them, filled between their faces."""
    scene = sim.scene
    triangles, semantics = scene.triangles, scene.semantics
    if semantics is not None:
        triangles = triangles if semantics.triangles is None else semantics.triangles
        walls = [i.id for i in scene.instances.values() if i.structure in ("wall", "column")]
        triangles = triangles[np.isin(semantics.labels, walls)]
    mask = Image.new("L", (size[1], size[0]))
    pen = ImageDraw.Draw(mask)
    above = triangles[..., 1] > height
    for triangle in triangles[above.any(1) & ~above.all(1)].astype(float):
        ends = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            (x0, y0, z0), (x1, y1, z1) = triangle[a], triangle[b]
            if (y0 > height) != (y1 > height):
                t = (height - y0) / (y1 - y0)
                ends.append(((x0 + t * (x1 - x0) - low[0]) * scale, (z0 + t * (z1 - z0) - low[1]) * scale))
        pen.line(ends, fill=255, width=2 * FINE)
    return _closed(np.asarray(mask) > 0, int(THICKEST * scale) | 1)


def _closed(mask: np.ndarray, side: int) -> np.ndarray:
    """Morphological closing with a square of `side` cells."""
    grown = ndimage.maximum_filter(mask.astype(np.uint8), side, mode="constant")
    return ndimage.minimum_filter(grown, side, mode="constant", cval=1) > 0


def _rim(values: np.ndarray) -> np.ndarray:
    """Where a pixel differs from one of its four neighbours."""
    rim = np.zeros(values.shape, bool)
    for axis in (0, 1):
        differ = np.diff(values, axis=axis) != 0
        pad = [(0, 0), (0, 0)]
        pad[axis] = (0, 1)
        rim |= np.pad(differ, pad)
        pad[axis] = (1, 0)
        rim |= np.pad(differ, pad)
    return rim


def still(replay: Replay) -> np.ndarray:
    """(H, W, 3) uint8 picture of a played episode."""
    shared_map = replay.map_at(replay.steps)
    plan = Plan(replay.sim, replay.record.floor_height, _bounds(replay, shared_map), shared_map)
    _goals(plan, replay)
    for k in range(replay.record.agents):
        _trail(plan, [row[k] for row in replay.record.poses], agent_color(k))
    _starts(plan, replay)
    _declarations(plan, replay)
    picture = plan.image.reduce(FINE)
    legend = _legend(replay)
    height = BAR + 2 * GAP + max(picture.height, legend.height)
    canvas = Image.new("RGB", (picture.width + LEGEND + 3 * GAP, height + height % 2), FREE_COLOR)
    pen = ImageDraw.Draw(canvas)
    pen.rectangle([0, 0, canvas.width, BAR], fill=INK)
    record = replay.record
    name = f"{record.method}" + (" (privileged)" if record.privileged else "")
    pen.text((GAP, BAR / 2), name, fill=FREE_COLOR, font=font(25, True), anchor="lm")
    left = GAP + font(25, True).getlength(name) + 24
    where = f"episode {record.episode} · scene {record.scene}"
    where = wrap_text(where, font(19), canvas.width - left - GAP, 1)[0]
    pen.text((left, BAR / 2 + 1), where, fill=FREE_COLOR, font=font(19), anchor="lm")
    canvas.paste(picture, (GAP, BAR + GAP))
    frame = [GAP - 1, BAR + GAP - 1, GAP + picture.width, BAR + GAP + picture.height]
    pen.rectangle(frame, outline=UNKNOWN_COLOR)
    canvas.paste(legend, (picture.width + 2 * GAP, BAR + GAP))
    return np.asarray(canvas)


def _bounds(replay: Replay, shared_map: SharedMap) -> tuple[float, float, float, float]:
    """Everything known, and everything that counts, with a margin."""
    low, high = np.array(known_bounds(shared_map, 0.0)).reshape(2, 2)
    for j in range(len(replay.goals)):
        for item in replay.acceptable(j):
            low, high = np.minimum(low, item.low[[0, 2]]), np.maximum(high, item.high[[0, 2]])
    navigator = replay.sim.navigator
    floor = navigator.levels[replay.episode.floor]
    rows, columns = np.nonzero(floor.islands == navigator.island(replay.poses[0][0].position))
    if len(rows):  # the rest of the piece of floor that the team stands on
        corner = navigator.origin[[0, 2]]
        low = np.minimum(low, corner + np.array([columns.min(), rows.min()]) * navigator.cell)
        high = np.maximum(high, corner + np.array([columns.max(), rows.max()]) * navigator.cell)
    return float(low[0] - 0.6), float(low[1] - 0.6), float(high[0] + 0.6), float(high[1] + 0.6)


def _goals(plan: Plan, replay: Replay) -> None:
    """Outline what counts; an object that counts for two goals gets two frames, one in the other."""
    spots = []
    drawn: dict[int, int] = {}
    for j in range(len(replay.goals)):
        for item in replay.acceptable(j):
            (u0, v0), (u1, v1) = plan.xy(item.low[0], item.low[2]), plan.xy(item.high[0], item.high[2])
            pad = max(14 - (u1 - u0), 14 - (v1 - v0), 0) / 2 + 3 + 5 * drawn.get(item.id, 0)
            drawn[item.id] = drawn.get(item.id, 0) + 1
            frame = [u0 - pad, v0 - pad, u1 + pad, v1 + pad]
            plan.pen.rectangle(frame, outline=goal_color(j), width=2 * FINE)
            spots.append((u0 - pad, v0 - pad, j))
    for u, v, j in spots:
        x, y = plan.place(u, v, 9 * FINE)
        badge(plan.pen, x, y, j, 18 * FINE)


def _trail(plan: Plan, rows: list[list[float]], color: Color) -> None:
    """A path with an arrowhead every metre and a half."""
    points = [plan.xy(p[0], p[1]) for i, p in enumerate(rows) if i == 0 or p[:2] != rows[i - 1][:2]]
    if len(points) < 2:
        return
    plan.pen.line(points, fill=color, width=3 * FINE, joint="curve")
    gone, due = 0.0, 0.9 * plan.scale
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        gone += float(np.hypot(x1 - x0, y1 - y0))
        if gone >= due:
            arrow(plan.pen, x1, y1, float(np.arctan2(x0 - x1, y0 - y1)), color, 7.5 * FINE)
            due += 1.5 * plan.scale


def _starts(plan: Plan, replay: Replay) -> None:
    """Where each robot started (a dot with its name) and ended (an arrowhead)."""
    for k, pose in enumerate(replay.poses[-1]):
        arrow(plan.pen, *plan.xy(pose.x, pose.z), pose.heading, agent_color(k), 12 * FINE)
    for k, pose in enumerate(replay.poses[0]):
        x, y = plan.xy(pose.x, pose.z)
        color, dot, r = agent_color(k), 3 * FINE, 11 * FINE
        plan.pen.ellipse([x - dot, y - dot, x + dot, y + dot], fill=FREE_COLOR, outline=color, width=FINE)
        u, v = plan.place(x, y, r)
        plan.pen.ellipse([u - r, v - r, u + r, v + r], fill=FREE_COLOR, outline=color, width=3 * FINE)
        plan.pen.text((u, v), f"R{k}", fill=color, font=font(11 * FINE, True), anchor="mm")


def _declarations(plan: Plan, replay: Replay) -> None:
    """A mark with the goal's number where it was declared."""
    for d in replay.record.declarations:
        pose = replay.poses[d["step"]][d["agent"]]
        x, y = plan.xy(pose.x, pose.z)
        u, v = plan.place(x, y, 17 * FINE)
        verdict(plan.pen, u - 7 * FINE, v, d["right"], 22 * FINE)
        badge(plan.pen, u + 9 * FINE, v + 5 * FINE, d["goal"], 16 * FINE)


def _legend(replay: Replay) -> Image.Image:
    """Numbers of the episode, the goals and how they ended, the robots, and what the colours mean."""
    record, numbers = replay.record, metrics_row(replay.record)
    image = Image.new("RGB", (LEGEND, 2400), FREE_COLOR)
    pen, y = ImageDraw.Draw(image), 0
    found, goals = int(numbers["found"]), int(numbers["goals"])
    pen.text((0, y), f"SR {found}/{goals}", fill=INK, font=font(30, True))
    pen.text((150, y + 10), f"SPL {numbers['spl']:.2f}     {record.steps} steps", fill=INK, font=font(20))
    y += 46
    lengths = f"makespan {numbers['makespan']:.1f} m     d* {record.makespan:.1f} m"
    pen.text((0, y), f"{lengths}     {_ended(record.ended)}", fill=INK, font=font(18))
    y += 29
    eyes = f"recogniser: {record.recogniser}     camera {record.camera}°"
    pen.text((0, y), eyes, fill=QUIET, font=font(16))
    y += 36
    done = {d["goal"]: d for d in record.declarations}
    for j in range(goals):
        y = _legend_goal(image, replay, j, done.get(j), y)
    y = _heading(pen, "Robots", y + 6)
    for k in range(record.agents):
        x, line = (k % 2) * (LEGEND // 2), y + 14 + (k // 2) * 30
        pen.line([x, line, x + 40, line], fill=agent_color(k), width=5)
        arrow(pen, x + 24, line, -np.pi / 2, agent_color(k), 11)
        pen.text((x + 52, line), f"R{k}   {record.path[k]:.1f} m", fill=INK, font=font(17), anchor="lm")
    y = _heading(pen, "Map", y + 36 + 30 * ((record.agents - 1) // 2))
    return image.crop((0, 0, LEGEND, _legend_key(pen, y)))


def _ended(word: str) -> str:
    return {"resolved": "all declared", "exhausted": "out of budget"}.get(word, word)


def _heading(pen: ImageDraw.ImageDraw, text: str, y: int) -> int:
    pen.text((0, y), text, fill=INK, font=font(18, True))
    return y + 28


def _legend_goal(image: Image.Image, replay: Replay, j: int, declared: dict | None, y: int) -> int:
    """A goal's entry; returns where the next begins."""
    pen, goal, left = ImageDraw.Draw(image), replay.goals[j], 42
    badge(pen, 16, y + 18, j, 30)
    bottom = y + 62
    if goal.image is not None:
        side = 84
        image.paste(Image.fromarray(goal.image).resize((side, side), Image.Resampling.LANCZOS), (left, y))
        pen.rectangle([left, y, left + side - 1, y + side - 1], outline=goal_color(j), width=3)
        left, bottom = left + side + 12, y + side + 4
    text = goal.text or f"{replay.episode.goals[j].category}, as pictured"
    line = y
    for part in wrap_text(f"{goal.modality}:  {text}", font(18), LEGEND - left, 3):
        pen.text((left, line), part, fill=INK, font=font(18))
        line += 24
    if declared is None:
        words, color = "never declared", QUIET
    else:
        words = f"{outcome(declared)}, R{declared['agent']} at step {declared['step']}"
        color = RIGHT if declared["right"] else WRONG
    if declared is not None:
        verdict(pen, left + 10, line + 12, declared["right"], 20)
    pen.text((left + (28 if declared is not None else 0), line + 2), words, fill=color, font=font(17, True))
    return max(line + 34, bottom) + 8


def _legend_key(pen: ImageDraw.ImageDraw, y: int) -> int:
    """What the plan shows; returns where it ends."""
    seen = tuple(int(f * (1 - TINT) + s * TINT) for f, s in zip(FLOOR, SEEN))
    unseen = tuple(int(v * DIM) for v in FLOOR)
    swatches = ((seen, "explored"), (unseen, "not seen"), (WALL, "wall"), (FURNITURE, "furniture"))
    for i, (color, words) in enumerate(swatches):
        x, line = (i % 2) * (LEGEND // 2), y + (i // 2) * 30
        pen.rectangle([x, line + 4, x + 34, line + 22], fill=color, outline=EDGE)
        pen.text((x + 46, line + 13), words, fill=INK, font=font(17), anchor="lm")
    y += 60
    pen.rectangle([2, y + 5, 32, y + 21], outline=goal_color(0), width=3)
    pen.text((46, y + 13), "what counts (the team isn't told)", fill=INK, font=font(17), anchor="lm")
    verdict(pen, 10, y + 43, True, 20)
    verdict(pen, 30, y + 43, False, 20)
    pen.text((46, y + 43), "where a goal was declared", fill=INK, font=font(17), anchor="lm")
    return y + 64
