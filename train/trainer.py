"""Supervised training of the assigner: plain torch, resumable after every epoch, the same bytes for the
same seed."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from higa.checkpoint import pick_device, save
from higa.network import Assigner, AssignerConfig, loss_and_accuracy
from hm3dm3_env.files import json_bytes, sha256, write_atomic
from train.samples import SampleSet
from train.tracking import Tracker

SHORTEST_CYCLE = 10
"""Steps: torch divides by zero in a shorter one; runs that are shorter do not finish it."""


@dataclass(frozen=True)
class TrainConfig:
    """How the assigner is trained (ours)."""

    epochs: int = 30
    batch: int = 64
    lr: float = 1e-3
    """Peak of a one-cycle schedule (AdamW)."""
    weight_decay: float = 0.02
    held_out: float = 0.15
    """Share of scenes whose samples are never trained on, at most 0.5 (see `SampleSet.split`); the epoch that
    is best there is kept."""
    seed: int = 0
    device: str = "auto"
    threads: int = 1
    """CPU threads of torch; more can change results by rounding, and stall when others want the cores."""
    tracking: str = "offline"
    """wandb: offline, online or off."""
    network: AssignerConfig = field(default_factory=AssignerConfig)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("threads", 1), ("seed", 0), ("weight_decay", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"train.{name}={getattr(self, name)}: must be at least {least}")
        if not 0 < self.lr < math.inf:
            raise ValueError(f"train.lr={self.lr}: must be more than 0")
        net = self.network
        for name in ("width", "layers", "heads", "mlp", "grid", "patch"):
            if getattr(net, name) < 1:
                raise ValueError(f"train.network.{name}={getattr(net, name)}: must be at least 1")
        if net.width % net.heads:
            raise ValueError(f"train.network.heads={net.heads}: must divide train.network.width={net.width}")
        if net.grid % net.patch:
            raise ValueError(f"train.network.patch={net.patch}: must divide train.network.grid={net.grid}")
        if not 0 <= self.held_out <= 0.5:
            raise ValueError(f"train.held_out={self.held_out}: must lie between 0 and 0.5")


def fit(
    samples: SampleSet, out: Path, config: TrainConfig, about: dict[str, Any], start: Assigner | None = None
) -> Path:
    """Train and write `out`; an interrupted run with the same settings and samples goes on where it stopped.

    Args:
        start: weights to begin with (default: fresh ones).

    Raises:
        ValueError: no sample with a label, samples with grids of another size, or `out` cannot be written.
    """
    check_out(out)
    samples = samples.labelled()
    if not len(samples):
        raise ValueError("no labelled samples to train on")
    side = samples.arrays["grid"].shape[-1]
    if side != config.network.grid:
        raise ValueError(
            f"train.network.grid={config.network.grid}: the samples' grids have {side} cells a side; "
            f"give train.network.grid={side}"
        )
    train, held = samples.split(config.held_out)
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    device = pick_device(config.device)
    model = Assigner(config.network)
    if start is not None:
        model.load_state_dict(start.state_dict())
    model.to(device)
    steps = -(-len(train) // config.batch)
    optimizer = torch.optim.AdamW(model.parameters(), config.lr, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, config.lr, total_steps=max(config.epochs * steps, SHORTEST_CYCLE), pct_start=0.2
    )
    key = sha256(
        json_bytes(
            [asdict(config), about, len(samples), samples.digest(), start is not None and _weights(start)]
        )
    )
    tracker = Tracker(out.parent / f"{out.stem}-log", out.stem, config.tracking, {**asdict(config), **about})
    state = _Resume(out.parent / f"{out.stem}-log" / "last.pt", key)
    first, best = state.load(model, optimizer, schedule, tracker)
    bar = tqdm(
        range(first, config.epochs),
        desc=f"train {out.stem}",
        unit="epoch",
        initial=first,
        total=config.epochs,
    )
    for epoch in bar:
        order = np.random.default_rng([config.seed, epoch]).permutation(len(train))
        model.train()
        totals = np.zeros(2)
        for i in range(steps):
            rows = order[i * config.batch : (i + 1) * config.batch]
            data = train.batch(rows).to(device)
            loss, accuracy = loss_and_accuracy(model(data), data)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            totals += np.array([loss.item(), accuracy.item()]) * len(rows) / len(train)
        row: dict[str, Any] = {
            "epoch": epoch + 1,
            "train_loss": float(totals[0]),
            "train_accuracy": float(totals[1]),
        }
        row |= evaluate(model, held, config.batch, device) if len(held) else {}
        tracker.log(row)
        score = row.get("held_out_loss", row["train_loss"])
        if best is None or score < best[0]:
            best = (
                score,
                {name: value.detach().cpu().clone() for name, value in model.state_dict().items()},
                row,
            )
        state.save(epoch + 1, model, optimizer, schedule, best, tracker.rows)
        bar.set_postfix({k.replace("held_out", "val"): f"{v:.3f}" for k, v in row.items() if k != "epoch"})
    assert best is not None
    model.load_state_dict(best[1])
    save(
        out,
        model,
        {**about, "train": asdict(config), "rows": len(train), "held_out_rows": len(held), "best": best[2]},
    )
    tracker.close()
    return out


def check_out(path: Path) -> None:
    """Make sure before the work that a checkpoint can be written there.

    Raises:
        ValueError: it is a folder, or its folder cannot be made.
    """
    if path.is_dir():
        raise ValueError(f"out={path}: is a folder; give the file to write, {path / 'name.pt'} for example")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"out={path}: {path.parent} cannot be made ({error.strerror})") from error


def evaluate(model: Assigner, samples: SampleSet, batch: int, device: torch.device) -> dict[str, float]:
    """Loss and accuracy on held-out samples."""
    model.eval()
    totals = np.zeros(2)
    with torch.inference_mode():
        for i in range(0, len(samples), batch):
            rows = np.arange(i, min(i + batch, len(samples)))
            data = samples.batch(rows).to(device)
            loss, accuracy = loss_and_accuracy(model(data), data)
            totals += np.array([loss.item(), accuracy.item()]) * len(rows) / len(samples)
    return {"held_out_loss": float(totals[0]), "held_out_accuracy": float(totals[1])}


def _weights(model: Assigner) -> str:
    return sha256(b"".join(value.detach().cpu().numpy().tobytes() for value in model.state_dict().values()))


class _Resume:
    """The state after the last finished epoch, usable only by a run with the same key."""

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key

    def load(self, model, optimizer, schedule, tracker: Tracker) -> tuple[int, Any]:
        if not self.path.exists():
            tracker.keep([])
            return 0, None
        try:
            value = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception:  # a damaged file is as good as none
            value = {}
        if value.get("key") != self.key:
            tracker.keep([])
            return 0, None
        model.load_state_dict(value["model"])
        optimizer.load_state_dict(value["optimizer"])
        schedule.load_state_dict(value["schedule"])
        tracker.keep(json.loads(value["rows"]))
        return value["epoch"], (value["best_score"], value["best_weights"], json.loads(value["best_row"]))

    def save(self, epoch: int, model, optimizer, schedule, best, rows) -> None:
        buffer = io.BytesIO()
        torch.save(
            {
                "key": self.key,
                "epoch": epoch,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "best_score": best[0],
                "best_weights": best[1],
                "best_row": json.dumps(best[2]),
                "rows": json.dumps(rows),
            },
            buffer,
        )
        write_atomic(self.path, buffer.getvalue())
