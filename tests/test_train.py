"""Behaviour cloning and DAgger in the two rooms; killed runs end with the same bytes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from higa import checkpoint
from higa.network import Assigner, AssignerConfig
from hm3dm3_env.files import sha256
from tests.processes import files_below, kill_when, run_module
from train import learner
from train.bc import BcConfig, clone
from train.dagger import DaggerConfig, dagger
from train.dataset import DatasetConfig
from train.samples import SampleSet, open_samples
from train.shards import ShardError, shard_files
from train.tracking import Tracker
from train.trainer import TrainConfig, fit

NET = AssignerConfig(width=16, layers=1, heads=2, mlp=32)
TRAIN = TrainConfig(epochs=6, batch=8, device="cpu", threads=1, tracking="off", network=NET)


def weights(path: Path) -> dict[str, torch.Tensor]:
    return checkpoint.load(path, "cpu")[0].state_dict()


def equal_weights(a: Path, b: Path) -> bool:
    x, y = weights(a), weights(b)
    return x.keys() == y.keys() and all(torch.equal(x[name], y[name]) for name in x)


# -- behaviour cloning -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cloned(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of `samples`."""
    return clone(BcConfig(str(samples), str(tmp_path_factory.mktemp("bc") / "bc.pt"), TRAIN))


def test_cloning(cloned: Path, samples: Path) -> None:
    model, about = checkpoint.load(cloned, "cpu")
    assert model.config == NET and about["stage"] == "bc" and about["rows"] == len(open_samples(samples))
    assert about["train"] == asdict(TRAIN)
    rows = [
        json.loads(line) for line in (cloned.parent / "bc-log" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [row["epoch"] for row in rows] == list(range(1, 7))
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert about["best"] == min(rows, key=lambda row: row["train_loss"])
    picture = (cloned.parent / "bc-log" / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    first, label = open_samples(samples).decision(0)
    assert model.scores(first).shape == (len(label), len(first.open))


def test_same_seed_same_weights(cloned: Path, samples: Path, tmp_path: Path) -> None:
    again = clone(BcConfig(str(samples), str(tmp_path / "bc.pt"), TRAIN))
    assert again.read_bytes() == cloned.read_bytes()
    other = clone(BcConfig(str(samples), str(tmp_path / "other.pt"), replace(TRAIN, seed=1)))
    assert not equal_weights(other, cloned)


def test_interrupted_training_continues(
    cloned: Path, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, plain, calls = (
        BcConfig(str(samples), str(tmp_path / "bc.pt"), TRAIN),
        learner.loss_sum,
        [0],
    )

    def failing(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == 14:
            raise KeyboardInterrupt
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(learner, "loss_sum", failing)
        with pytest.raises(KeyboardInterrupt):
            clone(config)
    done = len((tmp_path / "bc-log" / "metrics.jsonl").read_text().splitlines())
    assert 0 < done < TRAIN.epochs and not (tmp_path / "bc.pt").exists()
    calls[0] = 100
    with monkeypatch.context() as patch:
        patch.setattr(learner, "loss_sum", failing)
        clone(config)
    per_epoch = -(-len(open_samples(samples)) // TRAIN.batch)
    assert calls[0] - 100 == per_epoch * (TRAIN.epochs - done)  # it did not begin anew
    assert (tmp_path / "bc.pt").read_bytes() == cloned.read_bytes()
    log = "bc-log/metrics.jsonl"
    assert (tmp_path / log).read_text() == (cloned.parent / log).read_text()


def test_killed_training_continues(samples: Path, tmp_path: Path) -> None:
    settings = replace(TRAIN, epochs=60)
    whole = clone(BcConfig(str(samples), str(tmp_path / "whole.pt"), settings))
    out, log = tmp_path / "killed.pt", tmp_path / "killed-log" / "metrics.jsonl"
    arguments = [
        "train.bc", f"dataset={samples}", f"out={out}", "train.epochs=60", "train.batch=8",
        "train.device=cpu", "train.threads=1", "train.tracking=off", "train.network.width=16",
        "train.network.layers=1", "train.network.heads=2", "train.network.mlp=32",
    ]  # fmt: skip
    kill_when(arguments, lambda: log.exists() and log.read_bytes().count(b"\n") >= 5)
    assert not out.exists()
    done = run_module(*arguments)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("change", [{"lr": 5e-4}, {"epochs": 7}])
def test_other_settings_begin_anew(change: dict[str, Any], samples: Path, tmp_path: Path) -> None:
    clone(BcConfig(str(samples), str(tmp_path / "bc.pt"), TRAIN))
    clone(BcConfig(str(samples), str(tmp_path / "bc.pt"), replace(TRAIN, **change)))
    fresh = clone(BcConfig(str(samples), str(tmp_path / "fresh.pt"), replace(TRAIN, **change)))
    assert equal_weights(tmp_path / "bc.pt", fresh)


def test_a_damaged_resume_file_is_as_good_as_none(cloned: Path, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "bc-log").mkdir()
    (tmp_path / "bc-log" / "last.pt").write_bytes(b"damaged")
    again = clone(BcConfig(str(samples), str(tmp_path / "bc.pt"), TRAIN))
    assert again.read_bytes() == cloned.read_bytes()


def renamed(samples: Path, scenes: list[str]) -> SampleSet:
    """As many of the samples as there are names, as if they came from these scenes."""
    read = open_samples(samples)
    rows = np.arange(len(scenes)) % len(read)
    arrays = {name: array[rows] for name, array in read.arrays.items()}
    return SampleSet(arrays, read.sizes[rows], np.array(scenes, object))


def test_held_out_scenes(samples: Path, tmp_path: Path) -> None:
    rows = renamed(samples, [f"house-{i // 3}" for i in range(30)])
    train, held = rows.split(0.2)
    names = [set(part.scenes[part.rows]) for part in (train, held)]
    assert names[0].isdisjoint(names[1]) and len(train) + len(held) == 30 and len(names[1]) == 2
    assert [len(part) for part in rows.split(0.0)] == [30, 0]
    assert [len(part) for part in rows.subset(np.arange(9)).split(0.5)] == [9, 0]
    fit(rows, tmp_path / "held.pt", TRAIN, {"stage": "test"})
    about = checkpoint.load(tmp_path / "held.pt", "cpu")[1]
    assert about["held_out_rows"] > 0 and "held_out_loss" in about["best"]


def test_training_errors(samples: Path, tmp_path: Path) -> None:
    rows = open_samples(samples)
    rows.arrays["label"][:] = -1
    with pytest.raises(ValueError, match="no labelled samples"):
        fit(rows, tmp_path / "x.pt", TRAIN, {})
    with pytest.raises(ValueError, match="tracking.*'sometimes'.*offline, online, off"):
        clone(BcConfig(str(samples), str(tmp_path / "x.pt"), replace(TRAIN, tracking="sometimes")))
    with pytest.raises(ValueError, match="epochs"):
        replace(TRAIN, epochs=0)
    with pytest.raises(ShardError, match="no samples"):
        clone(BcConfig(str(tmp_path), str(tmp_path / "x.pt"), TRAIN))
    assert not (tmp_path / "x.pt").exists()


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_without_wandb(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)  # as if it were not installed
    tracker = Tracker(tmp_path / "log", "run", mode, {})
    tracker.keep([{"epoch": 1, "train_loss": 2.0, "train_accuracy": 0.1}])
    tracker.log({"epoch": 2, "train_loss": 1.0, "train_accuracy": 0.2})
    tracker.close()
    assert len((tmp_path / "log" / "metrics.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "log" / "curves.png").stat().st_size > 1000


@pytest.mark.parametrize("module", ["train.bc", "train.dataset", "train.dagger"])
def test_help(module: str) -> None:
    done = run_module(module, "--help")
    assert done.returncode == 0 and "seed" in done.stdout


def test_command_line_errors(tmp_path: Path) -> None:
    done = run_module("train.bc", f"dataset={tmp_path}", f"out={tmp_path / 'bc.pt'}")
    assert done.returncode == 2 and "error:" in done.stderr and "train.dataset" in done.stderr
    assert "Traceback" not in done.stderr


# -- DAgger ------------------------------------------------------------------------------------------------


def test_dagger(collect_config: DatasetConfig, samples: Path, cloned: Path, tmp_path: Path) -> None:
    for name, content in files_below(samples).items():
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    settings = DaggerConfig(
        start=str(cloned), out=str(tmp_path / "dagger.pt"), rounds=2, samples=6, oracle_share=(0.3, 0.0),
        collect=replace(collect_config, out=str(tmp_path / "set")), train=replace(TRAIN, epochs=2),
    )  # fmt: skip
    out = dagger(settings)
    parts = sorted({p.parent.name for p in shard_files(tmp_path / "set")})
    assert parts == ["round=00", "round=01", "round=02"]
    counts = [len(open_samples(tmp_path / "set", last_round=n)) for n in range(3)]
    assert counts[0] == len(open_samples(samples))
    assert counts[1] >= counts[0] + 6 and counts[2] >= counts[1] + 6
    assert equal_weights(out, tmp_path / "dagger-round2.pt")
    about = checkpoint.load(out, "cpu")[1]
    assert about["stage"] == "dagger 2" and about["rows"] == counts[2]
    parts_of = [cloned, tmp_path / "dagger-round1.pt", tmp_path / "dagger-round2.pt"]
    assert about["dagger"]["chosen"] == 2
    history = about["dagger"]["rounds"]
    assert [row["checkpoint"] for row in history] == [sha256(path.read_bytes()) for path in parts_of]
    assert [row["oracle_share"] for row in history] == [None, 0.3, 0.0]
    assert about["learner"] == history[1]["checkpoint"]
    stamps = [json.loads((tmp_path / "set" / "meta" / f"round-{n:02d}.json").read_text()) for n in range(3)]
    assert [s["learner"] for s in stamps] == [
        "", sha256(cloned.read_bytes()), sha256((tmp_path / "dagger-round1.pt").read_bytes())
    ]  # fmt: skip
    assert [s["mixture"]["oracle"] for s in stamps] == [0.6, 0.3, 0.0]
    rows = {n: pq.read_table(tmp_path / "set" / "data" / parts[n], partitioning=None) for n in range(3)}
    assert rows[0].column("seed")[0] != rows[1].column("seed")[0]
    before = files_below(tmp_path)
    dagger(settings)  # a second run has nothing to collect or to train, and changes nothing
    after = files_below(tmp_path)
    assert {k: v for k, v in after.items() if not k.endswith(".png")} == {
        k: v for k, v in before.items() if not k.endswith(".png")
    }


def test_dagger_needs_a_start(collect_config: DatasetConfig, tmp_path: Path) -> None:
    settings = DaggerConfig(start=str(tmp_path / "none.pt"), out=str(tmp_path / "d.pt"), rounds=1, samples=4)
    with pytest.raises((ValueError, FileNotFoundError), match=r"none\.pt"):
        dagger(replace(settings, collect=replace(collect_config, out=str(tmp_path / "set"))))


@pytest.mark.parametrize("epochs", [1, 4, 5, 11])
def test_short_runs(epochs: int, samples: Path, tmp_path: Path) -> None:
    """One batch an epoch: torch's schedule fails at some short lengths."""
    fit(open_samples(samples).subset(np.arange(4)), tmp_path / "short.pt", replace(TRAIN, epochs=epochs), {})
    assert checkpoint.load(tmp_path / "short.pt", "cpu")[1]["train"]["epochs"] == epochs


def test_warm_starts_matter(samples: Path, cloned: Path, tmp_path: Path) -> None:
    rows, one = open_samples(samples), replace(TRAIN, epochs=1, lr=1e-6)
    start: Assigner = checkpoint.load(cloned, "cpu")[0]
    warm, cold = fit(rows, tmp_path / "warm.pt", one, {}, start), fit(rows, tmp_path / "cold.pt", one, {})
    loss = [checkpoint.load(path, "cpu")[1]["best"]["train_loss"] for path in (warm, cold)]
    assert loss[0] < loss[1]


