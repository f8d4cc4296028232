"""Behaviour cloning: fit the assigner to the oracle's labels of a data set.

python -m train.bc dataset=out/samples out=out/bc.pt
torchrun --nproc_per_node=2 -m train.bc dataset=out/samples out=out/bc.pt      one process a GPU (or CPU core)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hm3dm3_env.cli import command
from train.parallel import disbanded, leads
from train.samples import open_samples
from train.trainer import TrainConfig, check_out, fit


@dataclass(frozen=True)
class BcConfig:
    """What to train on, and where to put the weights."""

    dataset: str = "out/samples"
    out: str = "out/bc.pt"
    train: TrainConfig = field(default_factory=TrainConfig)


def clone(config: BcConfig) -> Path:
    """Train and return the checkpoint's path.

    Raises:
        ShardError: no samples, or damaged ones. ValueError: none has a label, or `out` cannot be written.
    """
    check_out(Path(config.out))
    samples = open_samples(config.dataset, last_round=0)
    if leads():
        print(f"behaviour cloning on {len(samples)} samples of {config.dataset}")
    path = fit(samples, Path(config.out), config.train, {"stage": "bc"})
    if leads():
        print(f"checkpoint: {path}   curves: {path.parent / (path.stem + '-log')}/curves.png")
    return path


main = command(BcConfig, "bc", disbanded(clone))

if __name__ == "__main__":
    main()
