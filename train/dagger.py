"""DAgger: roll the learner out, label the states it visits with the oracle, aggregate, retrain; three rounds.

    python -m train.dagger collect.out=out/samples start=out/bc.pt out=out/dagger.pt

Round 0 of the data set is the behaviour-cloning data; rounds 1.. are added beside it. Finished rounds are
kept, so a killed run continues. The scenes that `start` held out stay held out. All rounds' checkpoints are
compared on the held-out samples of all rounds, and the one with the least regret becomes `out`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from higa.checkpoint import load, save
from higa.samples import SampleSet
from hm3dm3_env.cli import command
from hm3dm3_env.files import sha256
from train.dataset import DatasetConfig, collect
from train.learner import evaluate
from train.parallel import Team, disbanded
from train.samples import open_samples
from train.tracking import Tracker
from train.trainer import TrainConfig, check_out, fit


@dataclass(frozen=True)
class DaggerConfig:
    """Rounds, mixture and data."""

    start: str = "out/bc.pt"
    """The checkpoint that is rolled out in round 1."""
    out: str = "out/dagger.pt"
    rounds: int = 3
    """At most; see patience. The paper's number."""
    patience: int = 0
    """Stop after so many rounds in a row without less regret on held-out scenes (0: never)."""
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
        for name, least in (("rounds", 1), ("samples", 1), ("patience", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")
        if not self.oracle_share or not all(0 <= share <= 1 for share in self.oracle_share):
            raise ValueError(
                f"oracle_share={list(self.oracle_share)}: must be one share a round, each between 0 and 1"
            )

    def share(self, number: int) -> float:
        """Share of decisions that follow the oracle in round `number`, 1 for the first."""
        return self.oracle_share[min(number, len(self.oracle_share)) - 1]


def dagger(config: DaggerConfig) -> Path:
    """Run all rounds and return the best checkpoint's path; its `about` says under `dagger` what every round
    was made from, what it is worth, and which one was chosen.

    Raises:
        CheckpointError, ShardError: what it starts from is missing. ValueError: `out` cannot be written.
    """
    out = Path(config.out)
    check_out(out)
    files = [Path(config.start)]
    held = load(files[0], "cpu")[1].get("scenes", {}).get("held_out", [])
    team = Team(config.train.device)
    rows: list[dict[str, Any]] = []
    for number in range(1, config.rounds + 1):
        if team.leads:
            collect(_collection(config, number, files[-1]))
        team.told(None)
        samples = open_samples(config.collect.out, last_round=number)
        if team.leads:
            print(f"DAgger round {number}: training on {len(samples)} samples")
        files.append(_fit(config, number, samples, files[-1], held))
        if team.leads:
            rows = _compare(files, samples.labelled().split(0.0, held)[1], config.train)
            print(f"DAgger round {number}: {_said(rows[-1])}")
        if team.told(_stale(rows, config.patience)):
            break
    if team.leads:
        _finish(config, files, rows)
    team.told(None)
    return out


def _collection(config: DaggerConfig, number: int, learner: Path) -> DatasetConfig:
    """What a round collects."""
    mixture = replace(config.collect.mixture, oracle=config.share(number), random=0.0)
    return replace(
        config.collect, size=config.samples, round=number, checkpoint=str(learner), mixture=mixture
    )


def _fit(config: DaggerConfig, number: int, samples: SampleSet, last: Path, held: list[str]) -> Path:
    """Train a round; scenes that shaped the weights it starts from count as trained on."""
    out = Path(config.out)
    model, about = load(last, "cpu")
    warm = config.warm_start
    return fit(
        samples,
        out.with_name(f"{out.stem}-round{number}.pt"),
        config.train,
        {"stage": f"dagger {number}", "learner": sha256(last.read_bytes())},
        model if warm else None,
        held,
        about.get("scenes", {}).get("train", []) if warm else (),
    )


def _compare(files: list[Path], held: SampleSet, config: TrainConfig) -> list[dict[str, Any]]:
    """A row a checkpoint, 0 for the one at the start: its training, and its worth on the same held-out
    rows."""
    rows = []
    for number, path in enumerate(files):
        model, about = load(path, config.device)
        best = about.get("best", {})
        trained = {name: best[name] for name in ("train_loss", "train_accuracy") if name in best and number}
        worth = evaluate(model, held, config.batch, next(model.parameters()).device)
        rows.append({"round": number, "checkpoint": sha256(path.read_bytes()), **trained, **worth})
    return rows


def _best(rows: list[dict[str, Any]]) -> int:
    """The first round, 1 or later, with the least regret; without held-out samples the last one."""
    if "held_out_regret" not in rows[-1]:
        return len(rows) - 1
    return min(range(1, len(rows)), key=lambda number: (rows[number]["held_out_regret"], number))


def _stale(rows: list[dict[str, Any]], patience: int) -> bool:
    """Whether the last `patience` rounds are no better than one before them, the start included."""
    if not patience or not rows or "held_out_regret" not in rows[-1]:
        return False
    regrets = [row["held_out_regret"] for row in rows]
    return len(regrets) - 1 - regrets.index(min(regrets)) >= patience


def _said(row: dict[str, Any]) -> str:
    if "held_out_regret" not in row:
        return "no held-out samples to measure it on"
    return f"{row['held_out_regret']:.3f} m of regret on held-out scenes"


def _finish(config: DaggerConfig, files: list[Path], rows: list[dict[str, Any]]) -> None:
    """Write `out`, the metrics over rounds and their picture."""
    out, chosen = Path(config.out), _best(rows)
    model, about = load(files[chosen], "cpu")
    history = [
        {**row, "oracle_share": config.share(row["round"]) if row["round"] else None, "file": path.name}
        for row, path in zip(rows, files)
    ]
    save(out, model, {**about, "dagger": {"chosen": chosen, "rounds": history}})
    tracker = Tracker(
        out.parent / f"{out.stem}-log", out.stem, config.train.tracking, {"chosen": chosen, "out": out.name}
    )
    tracker.keep([])
    for row in rows:
        tracker.log({key: value for key, value in row.items() if key != "checkpoint"})
    tracker.close("rounds.png", "round")
    if "held_out_regret" in rows[0] and rows[0]["held_out_regret"] < rows[chosen]["held_out_regret"]:
        print(f"note: {files[0]}, from which DAgger started, has less regret: {_said(rows[0])}")
    print(
        f"checkpoint: {out} (round {chosen}: {_said(rows[chosen])})   "
        f"curves: {out.parent / (out.stem + '-log')}/rounds.png"
    )


main = command(DaggerConfig, "dagger", disbanded(dagger))

if __name__ == "__main__":
    main()
