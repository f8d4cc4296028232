"""Metrics of a training run: always a JSONL file and a picture; Weights & Biases if it is installed,
offline by default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast

from hm3dm3_env.files import write_atomic

TRACKING = ("offline", "online", "off")
CURVES = {"loss": "", "accuracy": "", "regret": " (m)", "found": " (share of searches)", "reward": " a step"}
"""What is drawn over epochs, and its unit."""


class Tracker:
    """Log of one run in a folder: `metrics.jsonl`, a picture of curves, and a wandb run below it."""

    def __init__(self, folder: Path, name: str, mode: str, config: dict[str, Any]) -> None:
        if mode not in TRACKING:
            raise ValueError(f"tracking: {mode!r} is none of {', '.join(TRACKING)}")
        self.folder, self.path = folder, folder / "metrics.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.rows: list[dict[str, Any]] = []
        self._wandb = None
        if mode != "off":
            try:
                import wandb
            except ImportError:
                return  # an extra: pip install hm3dm3[track]
            settings = wandb.Settings(console="off", silent=True)
            self._wandb = wandb.init(
                project="hm3dm3",
                name=name,
                dir=str(folder),
                mode=cast(Literal["offline", "online"], mode),
                config=config,
                settings=settings,
            )

    def keep(self, rows: list[dict[str, Any]]) -> None:
        """Start from the rows of an interrupted run."""
        self.rows = list(rows)
        write_atomic(self.path, "".join(json.dumps(row) + "\n" for row in self.rows).encode())

    def log(self, row: dict[str, Any]) -> None:
        """Append one row of numbers."""
        self.rows.append(row)
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        if self._wandb is not None:
            self._wandb.log(row)

    def close(self, picture: str = "curves.png", over: str = "epoch") -> None:
        """Draw the curves and end the run."""
        draw_curves(self.rows, self.folder / picture, over)
        if self._wandb is not None:
            self._wandb.finish()


def draw_curves(rows: list[dict[str, Any]], path: Path, over: str = "epoch") -> None:
    """Loss, accuracy and regret over epochs (or rounds), training and held out, as far as rows have them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = {
        what: {part: _points(rows, over, f"{part}_{what}") for part in ("train", "held_out")}
        for what in CURVES
    }
    shown = [what for what, parts in lines.items() if any(parts.values())] or ["loss"]
    figure, axes = pyplot.subplots(1, len(shown), figsize=(4.2 * len(shown), 3.4), squeeze=False)
    for axis, what in zip(axes[0], shown):
        for part, points in lines[what].items():
            if points:
                axis.plot(
                    *zip(*points), marker="o" if len(points) < 8 else None, label=part.replace("_", " ")
                )
                axis.legend()
        axis.set_xlabel(over)
        axis.set_ylabel(what + CURVES[what])
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _points(rows: list[dict[str, Any]], over: str, key: str) -> list[tuple[float, float]]:
    return [(row[over], row[key]) for row in rows if row.get(key) is not None]
