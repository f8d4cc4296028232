"""Ways of training: several processes, half precision, torch.compile, early stops, and what is held out."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from higa import checkpoint
from higa.network import AssignerConfig
from higa.samples import SampleSet
from tests.processes import run_module
from train import dagger as dagger_module
from train import learner
from train.dagger import DaggerConfig
from train.loss import LossConfig
from train.samples import open_samples
from train.tracking import draw_curves
from train.trainer import TrainConfig, fit

NET = AssignerConfig(width=16, layers=1, heads=2, mlp=32)
TRAIN = TrainConfig(epochs=3, batch=7, device="cpu", threads=1, tracking="off", network=NET)


def spread(samples: Path, houses: int = 6) -> SampleSet:
    """The samples, as if they came from several scenes."""
    read = open_samples(samples)
    return SampleSet(
        read.arrays, read.sizes, np.array([f"house-{i % houses}" for i in range(len(read))], object)
    )


def log(out: Path) -> list[dict[str, Any]]:
    path = out.parent / f"{out.stem}-log" / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_two_processes_train_as_one(samples: Path, tmp_path: Path) -> None:
    """Global batches of 7 in shares of 4 and 3, and the last one of an epoch smaller still."""
    arguments = [
        "train.bc", f"dataset={samples}", "train.epochs=2", "train.batch=7", "train.device=cpu",
        "train.tracking=off", "train.loss.by_cost=true", "train.network.width=16", "train.network.layers=1",
        "train.network.heads=2", "train.network.mlp=32",
    ]  # fmt: skip
    done = run_module(*arguments, f"out={tmp_path / 'one.pt'}")
    assert done.returncode == 0, done.stderr
    torchrun = ["torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m"]
    done = run_module(*torchrun, *arguments, f"out={tmp_path / 'two.pt'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("checkpoint:") == 1  # one of them speaks
    one, two = (checkpoint.load(tmp_path / f"{name}.pt", "cpu")[0].state_dict() for name in ("one", "two"))
    for name, value in one.items():
        if name == "score.2.bias":
            continue  # the loss does not depend on it: its gradient is rounding, which Adam scales up
        other = two[name]
        if name.endswith("in_proj_bias"):  # nor on the biases of keys
            value, other = (torch.cat([v[:16], v[32:]]) for v in (value, other))
        torch.testing.assert_close(value, other, atol=2e-5, rtol=1e-4)
    rows = [log(tmp_path / f"{name}.pt") for name in ("one", "two")]
    for a, b in zip(*rows, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-4)
        assert a["train_accuracy"] == b["train_accuracy"]


def test_half_precision(samples: Path, tmp_path: Path) -> None:
    full = fit(spread(samples), tmp_path / "full.pt", TRAIN, {})
    half = fit(spread(samples), tmp_path / "half.pt", replace(TRAIN, precision="bfloat16"), {})
    a, b = (checkpoint.load(path, "cpu")[0].state_dict() for path in (full, half))
    assert all(value.dtype == torch.float32 for value in b.values())
    assert any(not torch.equal(a[name], b[name]) for name in a)
    assert log(half)[-1]["train_loss"] == pytest.approx(log(full)[-1]["train_loss"], abs=0.1)


def test_without_a_compiler(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def broken(model: Any) -> Any:
        def call(batch: Any) -> Any:
            raise RuntimeError("no C++ compiler\nand much more")

        return call

    plain = fit(spread(samples), tmp_path / "plain.pt", TRAIN, {})
    monkeypatch.setattr(learner.torch, "compile", broken)
    config = replace(TRAIN, compile=True)
    fit(spread(samples), tmp_path / "compiled.pt", config, {})
    said = capsys.readouterr().out
    assert "torch.compile does not work here (RuntimeError: no C++ compiler); training goes on" in said
    assert "much more" not in said
    assert log(tmp_path / "compiled.pt") == log(plain)


def test_the_best_epoch_is_that_of_least_regret(samples: Path, tmp_path: Path) -> None:
    rows, config = spread(samples), replace(TRAIN, epochs=6, held_out=0.34)
    for select in ("regret", "loss"):
        out = fit(rows, tmp_path / f"{select}.pt", replace(config, select=select), {})
        about = checkpoint.load(out, "cpu")[1]
        assert about["best"] == min(log(out), key=lambda row: row[f"held_out_{select}"])
        model, held = checkpoint.load(out, "cpu")[0], rows.labelled().split(0.34)[1]
        again = learner.evaluate(model, held, 64, torch.device("cpu"))
        assert again["held_out_regret"] == pytest.approx(about["best"]["held_out_regret"], abs=1e-4)
        assert about["scenes"]["held_out"] == held.names() == ["house-0", "house-3"]
        assert not set(about["scenes"]["train"]) & set(held.names())


def test_patience(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regrets 3, 2, 2.5, 2, 1: with patience 2 the run ends after the fourth epoch; resuming it adds none."""
    regrets = iter([3.0, 2.0, 2.5, 2.0, 1.0])
    monkeypatch.setattr("train.trainer.evaluate", lambda *_: {"held_out_regret": next(regrets)})
    config = replace(TRAIN, epochs=5, patience=2, held_out=0.34)
    out = fit(spread(samples), tmp_path / "a.pt", config, {})
    assert [row["held_out_regret"] for row in log(out)] == [3.0, 2.0, 2.5, 2.0]
    assert checkpoint.load(out, "cpu")[1]["best"]["epoch"] == 2
    before = out.read_bytes()
    fit(spread(samples), out, config, {})
    assert out.read_bytes() == before and len(log(out)) == 4


def test_scenes_stay_held_out(samples: Path, tmp_path: Path) -> None:
    """Weights from elsewhere: their scenes count as trained on, and the scenes named are held out."""
    rows = spread(samples)
    first = fit(rows, tmp_path / "a.pt", TRAIN, {}, held_out=["house-1"])
    model, about = checkpoint.load(first, "cpu")
    assert about["scenes"]["held_out"] == ["house-1"]
    second = fit(rows.subset(rows.scenes != "house-5"), tmp_path / "b.pt", TRAIN, {}, model, ["house-1"],
                 about["scenes"]["train"])  # fmt: skip
    assert checkpoint.load(second, "cpu")[1]["scenes"] == about["scenes"]
    with pytest.raises(ValueError, match="every sample is of a held-out scene"):
        fit(rows, tmp_path / "c.pt", TRAIN, {}, held_out=rows.names())
    with pytest.raises(ValueError, match=r"start from have other sizes.*train\.network\.width=16"):
        fit(rows, tmp_path / "d.pt", replace(TRAIN, network=replace(NET, width=32)), {}, model)


@pytest.mark.parametrize(
    "change", [{"select": "luck"}, {"precision": "float8"}, {"patience": -1}, {"batch": 0}]
)
def test_settings_that_cannot_be(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"train.{next(iter(change))}="):
        replace(TRAIN, **change)
    with pytest.raises(ValueError, match="dropout"):
        replace(TRAIN, network=replace(NET, dropout=1.0))


@pytest.mark.parametrize("change", [{"augment": False}, {"loss": LossConfig(by_cost=True)}])
def test_settings_change_what_is_learnt(change: dict[str, Any], samples: Path, tmp_path: Path) -> None:
    a, b = (
        fit(spread(samples), tmp_path / name, config, {})
        for name, config in (("a.pt", TRAIN), ("b.pt", replace(TRAIN, **change)))
    )
    x, y = (checkpoint.load(path, "cpu")[0].state_dict() for path in (a, b))
    assert any(not torch.equal(x[name], y[name]) for name in x)


def test_dagger_keeps_the_best_round(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Rounds of regret 2, 1, 1.5 from a start of 3: with patience 1 the third is the last, the second is
    kept."""
    start = fit(spread(samples), tmp_path / "bc.pt", replace(TRAIN, epochs=1), {}, held_out=["house-2"])
    worth = [3.0, 2.0, 1.0, 1.5, 0.1]

    def compared(files: list[Path], held: SampleSet, config: TrainConfig) -> list[dict[str, Any]]:
        assert held.names() == ["house-2"]
        return [
            {"round": n, "checkpoint": path.name, "held_out_regret": worth[n]} for n, path in enumerate(files)
        ]

    monkeypatch.setattr(dagger_module, "collect", lambda config: None)
    monkeypatch.setattr(dagger_module, "open_samples", lambda *_, **__: spread(samples))
    monkeypatch.setattr(dagger_module, "_compare", compared)
    config = DaggerConfig(
        str(start), str(tmp_path / "d.pt"), rounds=4, patience=1, train=replace(TRAIN, epochs=1)
    )
    out = dagger_module.dagger(config)
    about = checkpoint.load(out, "cpu")[1]
    assert about["stage"] == "dagger 2" and about["dagger"]["chosen"] == 2
    assert [row["file"] for row in about["dagger"]["rounds"]] == [
        "bc.pt", "d-round1.pt", "d-round2.pt", "d-round3.pt"
    ]  # fmt: skip
    assert about["scenes"]["held_out"] == ["house-2"] and "house-2" not in about["scenes"]["train"]
    assert [row["held_out_regret"] for row in log(out)] == worth[:4]
    assert (tmp_path / "d-log" / "rounds.png").read_bytes().startswith(b"\x89PNG")
    assert "round 2: 1.000 m of regret" in capsys.readouterr().out


def test_curves_show_regret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"epoch": n, "train_loss": 1 / n, "held_out_regret": 2.0 / n} for n in (1, 2, 3)]
    draw_curves(rows, tmp_path / "with.png")
    draw_curves(
        [{k: v for k, v in row.items() if k != "held_out_regret"} for row in rows], tmp_path / "no.png"
    )
    sizes = [(tmp_path / name).stat().st_size for name in ("with.png", "no.png")]
    assert sizes[0] > 1.3 * sizes[1]
    assert "matplotlib" in sys.modules
