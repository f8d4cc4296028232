"""Train every learned row of HiGA's table, several seeds each, from one data set.

    python -m train.dataset data=data out=out/samples size=20000
    python -m train.ablations dataset=out/samples data=data out=out/ablations
    python -m eval.benchmark --config-name ablations data=data

Behaviour cloning with all inputs, without heat maps and without the map; then DAgger from each seed's clone,
with rounds of its own. Two trainings run at a time; what is finished is kept, so a killed run continues.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.workers import run_all
from train.bc import BcConfig, clone
from train.dagger import DaggerConfig, dagger
from train.trainer import TrainConfig

INPUTS = {"bc": {}, "no-heat": {"use_heat": False}, "no-map": {"use_map": False}}
"""Rows of behaviour cloning, and what they change in the network."""


@dataclass(frozen=True)
class AblationsConfig:
    """What to train on, and how often."""

    dataset: str = "out/samples"
    out: str = "out/ablations"
    seeds: int = 3
    workers: int = 2
    """Trainings at a time."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """Of behaviour cloning; the seeds are set here."""
    dagger: DaggerConfig = field(default_factory=DaggerConfig)
    """Its start, out, seeds and the folder of its samples are set here."""

    def __post_init__(self) -> None:
        for name in ("seeds", "workers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")


def train_all(config: AblationsConfig) -> Path:
    """Train what is missing; returns the folder of the checkpoints.

    Raises:
        ShardError, ValueError: as of `train.bc` and `train.dagger`.
    """
    out = Path(config.out)
    clones, learners = [], []
    for seed in range(config.seeds):
        for name, change in INPUTS.items():
            network = replace(config.train.network, **change)
            settings = replace(config.train, seed=seed, network=network)
            clones.append((clone, BcConfig(config.dataset, str(out / f"{name}-{seed}.pt"), settings)))
        samples = out / f"samples-{seed}"
        learners.append(
            (
                _dagger,
                config.dataset,
                replace(
                    config.dagger,
                    start=str(out / f"bc-{seed}.pt"),
                    out=str(out / f"dagger-{seed}.pt"),
                    collect=replace(config.dagger.collect, out=str(samples), seed=seed),
                    train=replace(config.dagger.train, seed=seed),
                ),
            )
        )
    _run(config, clones, "behaviour cloning")
    _run(config, learners, "dagger")
    return out


def _dagger(dataset: str, config: DaggerConfig) -> Path:
    """DAgger beside a copy of the data set, since its rounds are added there."""
    folder = Path(config.collect.out)
    if not folder.exists():
        half = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(dataset, half)
        half.rename(folder)
    return dagger(config)


def _run(config: AblationsConfig, jobs: list[tuple[Callable[..., Path], Any]], what: str) -> None:
    """Jobs (function, arguments ...) in processes of their own; the first error ends all."""
    todo = [job for job in jobs if not Path(job[-1].out).exists()]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(todo), desc=what, unit="training")
    run_all(config.workers, todo, lambda _: bar.update())
    bar.close()


main = command(AblationsConfig, "train_ablations", train_all)

if __name__ == "__main__":
    main()
