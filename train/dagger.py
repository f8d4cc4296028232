"""DAgger: roll the learner out, label the states it visits with the oracle, aggregate, retrain; three rounds.

    python -m train.dagger collect.out=out/samples start=out/bc.pt out=out/dagger.pt

Round 0 of the data set is the behaviour-cloning data; rounds 1.. are added beside it. Finished rounds are
kept, so a killed run continues.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from higa.checkpoint import load
from hm3dm3_env.cli import command
from hm3dm3_env.files import write_atomic
from train.dataset import DatasetConfig, collect
from train.samples import open_samples
from train.trainer import TrainConfig, check_out, fit


@dataclass(frozen=True)
class DaggerConfig:
    """Rounds, mixture and data."""

    start: str = "out/bc.pt"
    """The checkpoint that is rolled out in round 1."""
    out: str = "out/dagger.pt"
    rounds: int = 3
    """The paper's number."""
    samples: int = 500
    """New samples a round."""
    oracle_share: tuple[float, ...] = (0.3, 0.1, 0.0)
    """Share of decisions that still follow the oracle, by round (ours); the last value goes on."""
    warm_start: bool = True
    """Begin each round's training with the last round's weights (False: train afresh)."""
    collect: DatasetConfig = field(default_factory=DatasetConfig)
    """Where samples come from; its size, round, checkpoint and mixture are set here, by round."""
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        for name in ("rounds", "samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")
        if not self.oracle_share or not all(0 <= share <= 1 for share in self.oracle_share):
            raise ValueError(
                f"oracle_share={list(self.oracle_share)}: must be one share a round, each between 0 and 1"
            )


def dagger(config: DaggerConfig) -> Path:
    """Run all rounds and return the last checkpoint's path.

    Raises:
        CheckpointError, ShardError: what it starts from is missing. ValueError: `out` cannot be written.
    """
    out, current = Path(config.out), Path(config.start)
    check_out(out)
    load(current, "cpu")
    for number in range(1, config.rounds + 1):
        share = config.oracle_share[min(number, len(config.oracle_share)) - 1]
        collect(
            replace(
                config.collect,
                size=config.samples,
                round=number,
                checkpoint=str(current),
                mixture=replace(config.collect.mixture, oracle=share, random=0.0),
            )
        )
        samples = open_samples(config.collect.out, last_round=number)
        print(f"DAgger round {number}: training on {len(samples)} samples")
        start = load(current, "cpu")[0] if config.warm_start else None
        current = fit(
            samples,
            out.with_name(f"{out.stem}-round{number}.pt"),
            config.train,
            {"stage": f"dagger {number}"},
            start,
        )
    write_atomic(out, current.read_bytes())
    print(f"checkpoint: {out}")
    return out


main = command(DaggerConfig, "dagger", dagger)

if __name__ == "__main__":
    main()
