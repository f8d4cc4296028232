"""Supervised training of the assigner: plain torch, in one process or several, resumable after every epoch,
the same bytes for the same seed."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from higa.checkpoint import save
from higa.network import Assigner, AssignerConfig
from higa.samples import SampleSet
from hm3dm3_env.files import json_bytes, sha256
from train.learner import PRECISIONS, Learner, evaluate
from train.loss import LossConfig
from train.parallel import Team
from train.resume import Progress, restore, save_progress, saved
from train.tracking import Tracker

SELECT = ("regret", "loss")


@dataclass(frozen=True)
class TrainConfig:
    """How the assigner is trained (ours)."""

    epochs: int = 12
    """At most; see patience."""
    patience: int = 0
    """Stop after so many epochs without a better one on held-out scenes (0: never)."""
    select: str = "regret"
    """What makes an epoch the best on held-out scenes: regret (metres, see higa.regret) or loss."""
    batch: int = 64
    """Samples a step, all processes together."""
    lr: float = 1e-3
    """Peak of a one-cycle schedule (AdamW)."""
    weight_decay: float = 0.02
    augment: bool = True
    """Mirror and turn every sample at random."""
    held_out: float = 0.15
    """Share of scenes whose samples are never trained on, at most 0.5 (see `SampleSet.split`); the epoch that
    is best there is kept."""
    seed: int = 0
    device: str = "auto"
    threads: int = 1
    """CPU threads of torch; more can change results by rounding, and stall when others want the cores."""
    precision: str = "float32"
    """float32, or bfloat16: matrix products in half precision (autocast), on GPUs and on CPUs that have
    it."""
    compile: bool = False
    """Let torch.compile fuse the network; needs a C++ compiler, and pays only in long runs."""
    tracking: str = "offline"
    """wandb: offline, online or off."""
    loss: LossConfig = field(default_factory=LossConfig)
    network: AssignerConfig = field(default_factory=AssignerConfig)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("threads", 1), ("seed", 0), ("weight_decay", 0),
                            ("patience", 0)):  # fmt: skip
            if not getattr(self, name) >= least:
                raise ValueError(f"train.{name}={getattr(self, name)}: must be at least {least}")
        if not 0 < self.lr < math.inf:
            raise ValueError(f"train.lr={self.lr}: must be more than 0")
        for name, known in (("select", SELECT), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise ValueError(f"train.{name}={getattr(self, name)}: is none of {', '.join(known)}")
        net = self.network
        for name in ("width", "layers", "heads", "mlp", "grid", "patch"):
            if getattr(net, name) < 1:
                raise ValueError(f"train.network.{name}={getattr(net, name)}: must be at least 1")
        if net.width % net.heads:
            raise ValueError(f"train.network.heads={net.heads}: must divide train.network.width={net.width}")
        if net.grid % net.patch:
            raise ValueError(f"train.network.patch={net.patch}: must divide train.network.grid={net.grid}")
        if not 0 <= net.dropout < 1:
            raise ValueError(f"train.network.dropout={net.dropout}: must be at least 0 and less than 1")
        if not 0 <= self.held_out <= 0.5:
            raise ValueError(f"train.held_out={self.held_out}: must lie between 0 and 0.5")


def fit(
    samples: SampleSet,
    out: Path,
    config: TrainConfig,
    about: dict[str, Any],
    start: Assigner | None = None,
    held_out: Collection[str] | None = None,
    seen: Collection[str] = (),
) -> Path:
    """Train and write `out`; an interrupted run with the same settings and samples goes on where it stopped.

    Under torchrun all processes call it; process 0 alone writes.

    Args:
        about: what the checkpoint says of itself; added are the settings, the best epoch's metrics, the
            digest of the samples, and under `scenes` the names of those trained on and of those held out.
        start: weights to begin with (default: fresh ones), which `seen` scenes have shaped.
        held_out: names of the scenes to hold out (default: a share of all, see `SampleSet.split`).

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
    if start is not None and start.config != config.network:
        raise ValueError(
            "train.network: the weights to start from have other sizes; "
            f"give the same: {' '.join(f'train.network.{k}={v}' for k, v in asdict(start.config).items())}"
        )
    train, held = samples.split(config.held_out, held_out)
    if not len(train):
        raise ValueError("every sample is of a held-out scene: none is left to train on")
    about = {
        **about,
        "train": asdict(config),
        "rows": len(train),
        "held_out_rows": len(held),
        "samples": samples.digest(),
        "scenes": {"train": sorted({*train.names(), *seen}), "held_out": held.names()},
    }
    team = Team(config.device)
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    learner = Learner(train, config, team, start)
    key = sha256(json_bytes([about, start is not None and _weights(start), team.size]))
    folder = out.parent / f"{out.stem}-log"
    data = team.told(saved(folder / "last.pt", key) if team.leads else b"")
    progress = restore(data, learner.model, learner.optimizer, learner.schedule)
    tracker = Tracker(folder, out.stem, config.tracking, about) if team.leads else None
    if tracker:
        tracker.keep(progress.rows)
    bar = tqdm(
        range(progress.epoch, config.epochs),
        desc=f"train {out.stem}",
        unit="epoch",
        initial=progress.epoch,
        total=config.epochs,
        disable=not team.leads,
    )
    for epoch in bar:
        if team.told(_stale(progress, config)):
            break
        row = learner.epoch(epoch)
        if tracker:
            row |= evaluate(learner.model, held, config.batch, team.device, config.precision)
            if not progress.best_row or _score(row, config) < _score(progress.best_row, config):
                progress.best_row = row
                progress.best = {k: v.detach().cpu().clone() for k, v in learner.model.state_dict().items()}
            progress.epoch = epoch + 1
            progress.rows.append(row)
            tracker.log(row)
            save_progress(
                folder / "last.pt", key, progress, learner.model, learner.optimizer, learner.schedule
            )
            bar.set_postfix(
                {k.replace("held_out", "val"): f"{v:.3f}" for k, v in row.items() if k != "epoch"}
            )
    bar.close()
    if tracker:
        learner.model.load_state_dict(progress.best)
        save(out, learner.model, {**about, "best": progress.best_row})
        tracker.close()
    team.told(None)  # the file is there when anybody goes on
    return out


def _score(row: dict[str, Any], config: TrainConfig) -> float:
    """What the best epoch has least of."""
    return row.get(f"held_out_{config.select}", row["train_loss"])


def _stale(progress: Progress, config: TrainConfig) -> bool:
    """Whether the best epoch lies too far back, where scenes are held out."""
    best = progress.best_row
    return bool(
        config.patience
        and f"held_out_{config.select}" in best
        and progress.epoch - best["epoch"] >= config.patience
    )


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


def _weights(model: Assigner) -> str:
    return sha256(b"".join(value.detach().cpu().numpy().tobytes() for value in model.state_dict().values()))
