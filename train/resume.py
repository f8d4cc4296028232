"""The state of a training run after its last finished epoch, and how a killed run finds it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hm3dm3_env.files import write_atomic


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        epoch: finished epochs; rows: their metrics.
        best: weights of the best epoch so far; best_row: its metrics (empty: none yet).
    """

    epoch: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    best_row: dict[str, Any] = field(default_factory=dict)


def save_progress(
    path: Path, key: str, progress: Progress, model: nn.Module, optimizer: Any, schedule: Any
) -> None:
    """Write everything that the next epoch needs, atomically."""
    buffer = io.BytesIO()
    torch.save(
        {
            "key": key,
            "epoch": progress.epoch,
            "rows": json.dumps(progress.rows),
            "best": progress.best,
            "best_row": json.dumps(progress.best_row),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
        },
        buffer,
    )
    write_atomic(path, buffer.getvalue())


def saved(path: Path, key: str) -> bytes:
    """The file of a run with this key; empty if there is none: of other settings or samples, or damaged."""
    try:
        data = path.read_bytes()
        value = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        return data if value.get("key") == key else b""
    except Exception:  # torch raises many kinds for damaged files; one is as good as none
        return b""


def restore(data: bytes, model: nn.Module, optimizer: Any, schedule: Any) -> Progress:
    """Set model, optimizer and schedule to what `saved` found (nothing: leave them)."""
    if not data:
        return Progress()
    value = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    model.load_state_dict(value["model"])
    optimizer.load_state_dict(value["optimizer"])
    schedule.load_state_dict(value["schedule"])
    return Progress(value["epoch"], json.loads(value["rows"]), value["best"], json.loads(value["best_row"]))
