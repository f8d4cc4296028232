"""Samples as pictures: python -m train.dataset inspect dataset=out/samples.

A picture holds all that one decision is made from, and its label: the map with robots, frontiers and
candidates, the heat of every goal, and what every choice would cost.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from tqdm import tqdm

from hm3dm3_env.files import write_atomic
from hm3dm3_env.render.panels import agent_color, goal_color
from train.shards import read_table, shard_rows, whole_files

_MARGIN = 2
"""Cells around what is known that a picture shows."""
_PAPER = {"fc": "white", "ec": "none", "alpha": 0.75, "pad": 1}
"""The ground of a text on the map."""
_OUT = (0.5, 0.5, 0.5)
"""The colour of a robot that may not act."""


@dataclass(frozen=True)
class InspectConfig:
    """Which samples to draw."""

    dataset: str = "out/samples"
    out: str = "out/samples-pictures"
    count: int = 8
    round: int | None = None
    """Only of this DAgger round."""
    seed: int = 0


def draw_samples(config: InspectConfig) -> list[Path]:
    """Draw `count` samples, chosen at random, and return the pictures.

    Raises:
        ShardError: no samples, or damaged ones.
        ValueError: a count below 1, a negative seed, or no such round.
    """
    for name, least in (("count", 1), ("seed", 0)):
        if getattr(config, name) < least:
            raise ValueError(f"{name}: {getattr(config, name)}: must be at least {least}")
    files = whole_files(config.dataset)
    there = sorted({int(path.parent.name.removeprefix("round=")) for path in files})
    if config.round is not None:
        files = [path for path in files if path.parent.name == f"round={config.round:02d}"]
    if not files:
        raise ValueError(f"round: {config.dataset} has no round {config.round}; it has {there}")
    rows = np.array([shard_rows(path) for path in files])
    ends = np.cumsum(rows)
    chosen = np.sort(np.random.default_rng(config.seed).permutation(ends[-1])[: config.count])
    pictures = []
    for index in tqdm(chosen, desc="draw", unit="sample"):
        number = int(np.searchsorted(ends, index, "right"))
        value = read_table(files[number]).slice(int(index - ends[number] + rows[number]), 1).to_pylist()[0]
        round_name = files[number].parent.name.replace("=", "-")
        name = f"{round_name}-{files[number].stem}-{value['episode']}-step-{value['step']:03d}.png"
        path = Path(config.out) / name
        write_atomic(path, picture(value))
        pictures.append(path)
    print(f"{len(pictures)} of {ends[-1]} samples: {config.out}")
    return pictures


def picture(row: dict[str, Any]) -> bytes:
    """A PNG of one row of a shard, as a dict of its columns."""
    k, m, side = row["robots"], row["goals"], row["grid_side"]
    grid = np.frombuffer(row["grid"], np.uint8).reshape(-1, side, side) / 255
    heat = np.frombuffer(row["heat"], np.uint8).reshape(m, side, side) / 255
    poses = np.array(row["poses"]).reshape(k, 5)
    half = side * row["grid_cell"] / 2
    x, z = row["grid_center"]
    extent = (x - half, x + half, z + half, z - half)
    rows, columns = np.nonzero(grid[0] < 0.999)
    bounds = (
        x - half + (columns.min(initial=side) - _MARGIN) * row["grid_cell"],
        x - half + (columns.max(initial=0) + 1 + _MARGIN) * row["grid_cell"],
        z - half + (rows.max(initial=0) + 1 + _MARGIN) * row["grid_cell"],
        z - half + (rows.min(initial=side) - _MARGIN) * row["grid_cell"],
    )
    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure((max(2.6 * m, 10.5), 7.6), layout="constrained")
        figure.suptitle(
            f"{row['episode']} in {row['scene']}, step {row['step']}, event: {row['event']}", fontsize=11
        )
        above, below = figure.subfigures(2, 1, height_ratios=(1.6, 1))
        left, right = above.subplots(1, 2, width_ratios=(1.25, 1))
        _map(left, grid, row, poses, extent, bounds)
        _costs(right, row)
        below.suptitle("heat: where each goal may be (bright: likely; grey: unknown)", fontsize=9)
        for j, axes in enumerate(np.atleast_1d(below.subplots(1, m))):
            shown = np.ma.masked_where(grid[0] > 0.999, heat[j])
            axes.set_facecolor("0.9")
            axes.imshow(shown, extent=extent, cmap="inferno", vmin=0, vmax=max(heat.max(), 0.01))
            _robots(axes, poses, row["active"], 0.5)
            _window(axes, bounds)
            axes.set_title(_goal(row, j), color=_color(goal_color(j)), fontsize=8)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def _color(color: Sequence[int]) -> tuple[float, float, float]:
    r, g, b = (value / 255 for value in color[:3])
    return r, g, b


def _goal(row: dict[str, Any], j: int) -> str:
    text = row["goal_text"][j] or "(an image)"
    state = "" if row["open"][j] else " (off the list)"
    return textwrap.fill(f"{j} {row['goal_modality'][j]}{state}: {text}", 34, max_lines=2, placeholder=" …")


def _window(axes: Axes, bounds: tuple[float, float, float, float]) -> None:
    axes.set_xlim(bounds[0], bounds[1])
    axes.set_ylim(bounds[2], bounds[3])
    axes.set_xticks([])
    axes.set_yticks([])


def _map(
    axes: Axes,
    grid: np.ndarray,
    row: dict[str, Any],
    poses: np.ndarray,
    extent: tuple[float, float, float, float],
    bounds: tuple[float, float, float, float],
) -> None:
    fine = np.frombuffer(row["map"], np.uint8).reshape(row["map_side"], -1)
    axes.imshow(np.array([0.78, 1.0, 0.25])[fine], extent=extent, cmap="gray", vmin=0, vmax=1)
    cell, half = row["grid_cell"], row["grid_side"] * row["grid_cell"] / 2
    u, v = np.nonzero(grid[4])
    corner_x, corner_z = row["grid_center"][0] - half, row["grid_center"][1] - half
    axes.scatter(
        corner_x + (v + 0.5) * cell, corner_z + (u + 0.5) * cell, marker="s", s=26, facecolors="none",
        edgecolors="tab:blue", label="frontier",
    )  # fmt: skip
    best = {found["goal"]: found for found in sorted(row["candidates"], key=lambda found: found["score"])}
    for found in row["candidates"]:
        color = _color(goal_color(found["goal"]))
        axes.scatter(found["x"], found["z"], marker="X", s=70, color=color, edgecolors="white", zorder=4)
        if found is best[found["goal"]]:
            axes.annotate(
                f"{found['goal']}: {found['score']:.2f}", (found["x"], found["z"]), color=color, fontsize=8,
                xytext=(5, 5), textcoords="offset points", zorder=5, bbox=_PAPER,
            )  # fmt: skip
    _robots(axes, poses, row["active"], 0.9)
    for k, (px, _, pz, *_) in enumerate(poses):
        goal = row["label"][k]
        text = f"R{k}" + (f" → {goal}" if goal >= 0 else "" if row["active"][k] else " (out)")
        axes.annotate(
            text, (px, pz), fontsize=9, fontweight="bold", xytext=(7, -12), textcoords="offset points",
            color=_color(agent_color(k)) if row["active"][k] else _OUT, bbox=_PAPER, zorder=6,
        )  # fmt: skip
    _window(axes, bounds)
    axes.plot([bounds[0] + 0.5, bounds[0] + 2.5], [bounds[2] - 0.5] * 2, color="black", lw=2)
    axes.annotate("2 m", (bounds[0] + 2.7, bounds[2] - 0.5), va="center", fontsize=8)
    axes.set_title("shared map, frontiers (□), candidates (X: goal and score), oracle's choice", fontsize=9)


def _robots(axes: Axes, poses: np.ndarray, active: Sequence[bool], length: float) -> None:
    for k, (x, _, z, heading, _) in enumerate(poses):
        color = _color(agent_color(k)) if active[k] else _OUT
        axes.scatter(x, z, s=45 * length, color=color, zorder=4)
        axes.annotate(
            "", (x - np.sin(heading) * length, z - np.cos(heading) * length), (x, z),
            arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2 * length}, zorder=4,
        )  # fmt: skip


def _costs(axes: Axes, row: dict[str, Any]) -> None:
    """Robots by goals (and idle): metres that the rest of the episode takes after each choice."""
    k, m = row["robots"], row["goals"]
    costs = np.column_stack([np.array(row["costs"]).reshape(k, m), row["idle_costs"]])
    extra = costs - row["oracle_makespan"]
    shown = np.ma.masked_invalid(extra)
    axes.set_facecolor("0.9")
    worst = max(float(shown.max()) if shown.count() else 1.0, 1.0)
    axes.imshow(shown, cmap="RdYlGn_r", vmin=0, vmax=worst, aspect="auto", alpha=0.6)
    for i in range(k):
        for j in range(m + 1):
            cost = costs[i, j]
            text = "-" if np.isnan(cost) else "∞" if np.isinf(cost) else f"{cost:.1f}"
            chosen = row["label"][i] == j if j < m else row["label"][i] < 0 and row["active"][i]
            done = row["assigned"][i] == j if j < m else row["assigned"][i] < 0 and row["active"][i]
            axes.text(j, i, text, ha="center", va="center", fontweight="bold" if chosen else "normal")
            if chosen:
                axes.add_patch(_frame(j, i, 0.46, "black", "-"))
            if done:
                axes.add_patch(_frame(j, i, 0.40, "tab:blue", "--"))
    axes.set_xticks(range(m + 1), [*(f"goal {j}" for j in range(m)), "no goal"])
    axes.set_yticks(range(k), [f"R{i}" for i in range(k)])
    for i, label in enumerate(axes.get_yticklabels()):
        label.set_color(_color(agent_color(i)) if row["active"][i] else _OUT)
    axes.set_title(
        f"makespan after each choice, metres (best: {row['oracle_makespan']:.1f})\n"
        "framed: the oracle's choice; dashed: what was done\n∞: somebody must go; -: no choice",
        fontsize=9,
    )


def _frame(j: int, i: int, half: float, color: str, style: str) -> Rectangle:
    return Rectangle((j - half, i - half), 2 * half, 2 * half, fill=False, ec=color, ls=style, lw=1.8)
