"""Metrics of a training run: always a JSONL file and a picture; Weights & Biases if it is installed,
offline by default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast

TRACKING = ("offline", "online", "off")


class Tracker:
    """Log of one run in a folder: `metrics.jsonl`, `curves.png`, and a wandb run below it."""

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
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    def log(self, row: dict[str, Any]) -> None:
        """Append one row of numbers."""
        self.rows.append(row)
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        if self._wandb is not None:
            self._wandb.log(row)

    def close(self) -> None:
        """Draw the curves and end the run."""
        draw_curves(self.rows, self.folder / "curves.png")
        if self._wandb is not None:
            self._wandb.finish()


def draw_curves(rows: list[dict[str, Any]], path: Path) -> None:
    """Loss and accuracy over epochs, training and held out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4))
    for axis, what in zip(axes, ("loss", "accuracy")):
        for part in ("train", "held_out"):
            points = [
                (row["epoch"], row[f"{part}_{what}"]) for row in rows if row.get(f"{part}_{what}") is not None
            ]
            if points:
                axis.plot(*zip(*points), label=part.replace("_", " "))
        axis.set_xlabel("epoch")
        axis.set_ylabel(what)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
