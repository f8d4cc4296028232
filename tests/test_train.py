"""Labels, sample files, behaviour cloning, DAgger in the two rooms; killed runs end with the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from higa import checkpoint
from higa.features import Decision
from higa.network import Assigner, AssignerConfig
from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import sha256
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.sim.base import Camera
from tests.processes import kill_when
from train import trainer
from train.bc import BcConfig, clone
from train.collect import CollectingPolicy, MixtureConfig, oracle_label
from train.dagger import DaggerConfig, dagger
from train.dataset import DatasetConfig, collect
from train.shards import SCHEMA, ShardError, read_shard, shard_bytes, shard_files, write_shard
from train.tracking import Tracker
from train.trainer import TrainConfig, fit, load_rows, split_rows

NET = AssignerConfig(width=16, layers=1, heads=2, mlp=32)
TRAIN = TrainConfig(epochs=6, batch=8, device="cpu", threads=1, tracking="off", network=NET)


@pytest.fixture(scope="module")
def config(data: Path, tmp_path_factory: pytest.TempPathFactory) -> DatasetConfig:
    """At least 24 samples, one episode a shard, in this process."""
    return DatasetConfig(
        size=24, out=str(tmp_path_factory.mktemp("samples") / "set"), data=str(data), split="rooms",
        episodes_per_shard=1, workers=1, camera=Camera(36, 64),
    )  # fmt: skip


@pytest.fixture(scope="module")
def samples(config: DatasetConfig) -> Path:
    """The data set of `config`."""
    return collect(config)


def files(folder: Path | str) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*.*")) if p.is_file()
    }


def same(a: Decision, b: Decision) -> bool:
    return all(
        np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(vars(a).values(), vars(b).values())
    )


def weights(path: Path) -> dict[str, torch.Tensor]:
    return checkpoint.load(path, "cpu")[0].state_dict()


def equal_weights(a: Path, b: Path) -> bool:
    x, y = weights(a), weights(b)
    return x.keys() == y.keys() and all(torch.equal(x[name], y[name]) for name in x)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120)


# -- labels ------------------------------------------------------------------------------------------------


def brute_force(episode: Episode, env: HM3DM3ParallelEnv, robots: list[int], goals: list[int]):
    """All divisions of the goals: (makespan, total, first goal of each robot) of the best."""
    navigator, found = env.sim.navigator, []
    for owners in product(robots, repeat=len(goals)):
        lengths: dict[int, float] = {}
        first: dict[int, int] = {}
        for k in robots:
            place, left, lengths[k] = env.poses[k].position, [j for j, o in zip(goals, owners) if o == k], 0.0
            while left:
                legs = [float(navigator.distance(place[None], episode.viewpoints[j])[0]) for j in left]
                nearest = left.pop(int(np.argmin(legs)))
                first.setdefault(k, nearest)
                lengths[k] += min(legs)
                place = navigator.path(place, episode.viewpoints[nearest])[-1]
        found.append((round(max(lengths.values()), 6), round(sum(lengths.values()), 6), first))
    return min(found, key=lambda item: item[:2])


@pytest.mark.parametrize(
    ("index", "alive", "unresolved"),
    [
        (2, [True, True], [True] * 4),
        (3, [True, True], [True, False, True, True, False]),
        (6, [True, False, True], [True, True, False, True]),
        (0, [False, True, False, False], [True, True, True]),
    ],
)
def test_labels_are_the_first_goals_of_the_best_tours(
    index: int, alive: list[bool], unresolved: list[bool], make_env: Callable, rooms_episodes: list[Episode]
) -> None:
    env, episode = make_env(), rooms_episodes[index]
    env.begin(episode)
    shared = env.shared
    shared.alive, shared.unresolved = alive, unresolved
    label, makespan = oracle_label(env.privileged, shared)
    robots, goals = np.flatnonzero(alive).tolist(), np.flatnonzero(unresolved).tolist()
    best, _, first = brute_force(episode, env, robots, goals)
    assert makespan == pytest.approx(best, abs=1e-4)
    assert {k: j for k, j in enumerate(label) if j >= 0} == first
    if all(alive) and all(unresolved):
        assert makespan == pytest.approx(episode.makespan, abs=1e-3)
    env.close()


def test_nothing_to_label(make_env: Callable, rooms_episodes: list[Episode]) -> None:
    env = make_env()
    env.begin(rooms_episodes[0])
    shared = env.shared
    shared.unresolved = [False] * 3
    label, makespan = oracle_label(env.privileged, shared)
    assert label.tolist() == [-1] * 4 and makespan == 0
    shared.unresolved, shared.alive = [True] * 3, [False] * 4
    assert oracle_label(env.privileged, shared)[0].tolist() == [-1] * 4
    env.close()


def test_the_mixture_decides(play_rooms: Callable[..., EpisodeRecord]) -> None:
    followed = {}
    for name, mixture in {
        "oracle": MixtureConfig(1.0, 0.0), "random": MixtureConfig(0.0, 1.0), "rule": MixtureConfig(0.0, 0.0)
    }.items():  # fmt: skip
        hits = []
        for index in (2, 3, 7):
            policy = CollectingPolicy(mixture)
            record = play_rooms(policy, index, seed=1)
            assert record.privileged and policy.samples
            for s in policy.samples:
                hits.append([-1 if j is None else j for j in s.assigned] == s.label.tolist())
                assert s.event in ("found", "candidate", "idle") and s.episode == record.episode
                assert s.label.shape == (record.agents,) and s.label.max() < len(record.goals)
                assert all(s.inputs.open[j] for j in s.label if j >= 0)
                assert all(s.inputs.active[k] for k, j in enumerate(s.label) if j >= 0)
        followed[name] = np.mean(hits)
    assert followed["oracle"] == 1.0 and followed["random"] < 0.7 and followed["rule"] < 1.0


# -- sample files ------------------------------------------------------------------------------------------


def test_shards_round_trip(play_rooms: Callable[..., EpisodeRecord], tmp_path: Path) -> None:
    policy = CollectingPolicy(MixtureConfig())
    record = play_rooms(policy, 3)
    path = tmp_path / "part.parquet"
    write_shard(path, policy.samples, 7)
    rows = read_shard(path)
    assert len(rows) == len(policy.samples) > 3
    for (inputs, label, scene), sample in zip(rows, policy.samples):
        assert (
            same(inputs, sample.inputs) and label.tolist() == sample.label.tolist() and scene == record.scene
        )
    assert shard_bytes(policy.samples, 7) == path.read_bytes()
    assert read_shard(tmp_path / "part.parquet")[0][1].dtype == np.int64


def test_shards_are_plain_parquet(samples: Path) -> None:
    table = pq.read_table(shard_files(samples)[0], partitioning=None)
    assert table.schema.equals(SCHEMA, check_metadata=False)
    row = table.to_pylist()[0]
    k, m, g = row["robots"], row["goals"], row["grid_side"]
    assert len(row["grid"]) == 5 * g * g and len(row["heat"]) == m * g * g
    assert len(row["agent_features"]) == 5 * k and len(row["goal_features"]) == 7 * m
    assert len(row["pair_features"]) == 9 * k * m
    assert len(row["label"]) == len(row["assigned"]) == len(row["active"]) == k and len(row["open"]) == m
    whole = pq.read_table(samples / "data")  # all rounds at once, the round as a column
    info = json.loads((samples / "meta" / "info.json").read_text())
    assert whole.num_rows == info["samples"] and set(whole.column("round").to_pylist()) == {0}
    assert set(info["columns"]) >= {"grid", "heat", "pair_features", "label"}


def test_damaged_shards(samples: Path, tmp_path: Path) -> None:
    whole = shard_files(samples)[0].read_bytes()
    for damage in (b"", b"no parquet", whole[: len(whole) // 2], whole[:-4] + b"XXXX"):
        path = tmp_path / "part-00000.parquet"
        path.write_bytes(damage)
        with pytest.raises(ShardError, match=r"part-00000\.parquet.*delete it and run train\.dataset"):
            read_shard(path)
    table = pq.read_table(shard_files(samples)[0], partitioning=None)
    pq.write_table(table.replace_schema_metadata({"schema_version": "99"}), path)
    with pytest.raises(ShardError, match="version 99"):
        read_shard(path)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(ShardError, match="version"):
        read_shard(path)


def test_no_samples(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=r"no samples.*train\.dataset"):
        shard_files(tmp_path)


# -- collecting --------------------------------------------------------------------------------------------


def test_data_set(config: DatasetConfig, samples: Path) -> None:
    info = json.loads((samples / "meta" / "info.json").read_text())
    shards = shard_files(samples)
    assert [s["file"] for s in info["shards"]] == [str(p.relative_to(samples)) for p in shards]
    for entry, path in zip(info["shards"], shards):
        assert entry["sha256"] == sha256(path.read_bytes()) and entry["rows"] == len(read_shard(path))
    assert config.size <= info["samples"] < config.size + info["shards"][-1]["rows"]
    rows = load_rows(samples)
    assert len(rows) == info["samples"] and all((label >= 0).any() for _, label, _ in rows)


def test_any_number_of_workers(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    two = collect(replace(config, workers=2, out=str(tmp_path / "two")))
    assert files(two) == files(samples)


def test_more_of_the_same(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    """Several passes over the split, and a smaller set that is grown later."""
    small = replace(config, limit=2, size=10, out=str(tmp_path / "grown"))
    collect(small)
    first = files(small.out)
    collect(replace(small, size=30))
    grown = files(small.out)
    assert {k: v for k, v in first.items() if k.startswith("data")}.items() <= grown.items()
    once = collect(replace(small, size=30, out=str(tmp_path / "once")))
    assert files(once) == grown
    parts = [v for k, v in sorted(grown.items()) if k.startswith("data")]
    assert len(set(parts)) == len(parts) > 2  # the second pass has other random numbers


def test_finished_shards_are_kept(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    again = replace(config, out=str(tmp_path / "again"))
    for name, content in files(samples).items():
        path = tmp_path / "again" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    kept, lost = shard_files(again.out)[0], shard_files(again.out)[1]
    lost.unlink()
    before = kept.stat().st_mtime_ns
    collect(again)
    assert kept.stat().st_mtime_ns == before and files(again.out) == files(samples)


def test_killed_collection_continues(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    arguments = [
        "train.dataset", "size=24", f"out={out}", f"data={config.data}", "split=rooms",
        "episodes_per_shard=1", "workers=1", "camera.width=36", "camera.height=64",
    ]  # fmt: skip
    kill_when(arguments, lambda: bool(list(out.glob("data/round=00/part-*.parquet"))))
    assert not (out / "meta" / "info.json").exists()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    kept = {name: content for name, content in files(out).items() if not name.endswith(".tmp")}
    assert kept == files(samples)


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"mixture": MixtureConfig(0.5, 0.1)}, {"limit": 3}, {"camera": Camera(48, 64)}]
)
def test_other_settings_need_another_folder(
    change: dict[str, Any], config: DatasetConfig, samples: Path
) -> None:
    before = files(samples)
    with pytest.raises(ShardError, match=r"round-00\.json.*other settings.*out="):
        collect(replace(config, **change))
    assert files(samples) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit": 0}, "limit"),
        ({"episodes_per_shard": 0}, "episodes_per_shard"),
        ({"split": "nowhere"}, "nowhere"),
        ({"checkpoint": "none.pt"}, r"none\.pt"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str, config: DatasetConfig, tmp_path: Path) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        collect(replace(config, out=str(tmp_path / "bad"), **change))
    assert not (tmp_path / "bad").exists()


# -- behaviour cloning -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cloned(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of `samples`."""
    return clone(BcConfig(str(samples), str(tmp_path_factory.mktemp("bc") / "bc.pt"), TRAIN))


def test_cloning(cloned: Path, samples: Path) -> None:
    model, about = checkpoint.load(cloned, "cpu")
    assert model.config == NET and about["stage"] == "bc" and about["rows"] == len(load_rows(samples))
    assert about["train"] == asdict(TRAIN)
    rows = [
        json.loads(line) for line in (cloned.parent / "bc-log" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [row["epoch"] for row in rows] == list(range(1, 7))
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert about["best"] == min(rows, key=lambda row: row["train_loss"])
    picture = (cloned.parent / "bc-log" / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    first, label, _ = load_rows(samples)[0]
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
        trainer.loss_and_accuracy,
        [0],
    )

    def failing(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == 14:
            raise KeyboardInterrupt
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "loss_and_accuracy", failing)
        with pytest.raises(KeyboardInterrupt):
            clone(config)
    done = len((tmp_path / "bc-log" / "metrics.jsonl").read_text().splitlines())
    assert 0 < done < TRAIN.epochs and not (tmp_path / "bc.pt").exists()
    calls[0] = 100
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "loss_and_accuracy", failing)
        clone(config)
    per_epoch = -(-len(load_rows(samples)) // TRAIN.batch)
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
    done = run(*arguments)
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


def test_held_out_scenes(samples: Path, tmp_path: Path) -> None:
    inputs, label, _ = load_rows(samples)[0]
    rows = [(inputs, label, f"house-{i // 3}") for i in range(30)]
    train, held = split_rows(rows, 0.2)
    assert {r[2] for r in train}.isdisjoint(r[2] for r in held) and len(train) + len(held) == 30
    assert len({r[2] for r in held}) == 2
    assert split_rows(rows, 0.0) == (rows, []) and split_rows(rows[:9], 0.5) == (rows[:9], [])
    fit(rows, tmp_path / "held.pt", TRAIN, {"stage": "test"})
    about = checkpoint.load(tmp_path / "held.pt", "cpu")[1]
    assert about["held_out_rows"] > 0 and "held_out_loss" in about["best"]


def test_training_errors(samples: Path, tmp_path: Path) -> None:
    inputs, label, scene = load_rows(samples)[0]
    with pytest.raises(ValueError, match="no labelled samples"):
        fit([(inputs, np.full_like(label, -1), scene)], tmp_path / "x.pt", TRAIN, {})
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
    done = run(module, "--help")
    assert done.returncode == 0 and "seed" in done.stdout


def test_command_line_errors(tmp_path: Path) -> None:
    done = run("train.bc", f"dataset={tmp_path}", f"out={tmp_path / 'bc.pt'}")
    assert done.returncode == 2 and "error:" in done.stderr and "train.dataset" in done.stderr
    assert "Traceback" not in done.stderr


# -- DAgger ------------------------------------------------------------------------------------------------


def test_dagger(config: DatasetConfig, samples: Path, cloned: Path, tmp_path: Path) -> None:
    for name, content in files(samples).items():
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    settings = DaggerConfig(
        start=str(cloned), out=str(tmp_path / "dagger.pt"), rounds=2, samples=6, oracle_share=(0.3, 0.0),
        collect=replace(config, out=str(tmp_path / "set")), train=replace(TRAIN, epochs=2),
    )  # fmt: skip
    out = dagger(settings)
    parts = sorted({p.parent.name for p in shard_files(tmp_path / "set")})
    assert parts == ["round=00", "round=01", "round=02"]
    counts = [len(load_rows(tmp_path / "set", last_round=n)) for n in range(3)]
    assert counts[0] == len(load_rows(samples)) and counts[1] >= counts[0] + 6 and counts[2] >= counts[1] + 6
    assert out.read_bytes() == (tmp_path / "dagger-round2.pt").read_bytes()
    about = checkpoint.load(out, "cpu")[1]
    assert about["stage"] == "dagger 2" and about["rows"] == counts[2]
    stamps = [json.loads((tmp_path / "set" / "meta" / f"round-{n:02d}.json").read_text()) for n in range(3)]
    assert [s["learner"] for s in stamps] == [
        "", sha256(cloned.read_bytes()), sha256((tmp_path / "dagger-round1.pt").read_bytes())
    ]  # fmt: skip
    assert [s["mixture"]["oracle"] for s in stamps] == [0.6, 0.3, 0.0]
    rows = {n: pq.read_table(tmp_path / "set" / "data" / parts[n], partitioning=None) for n in range(3)}
    assert rows[0].column("seed")[0] != rows[1].column("seed")[0]
    before = files(tmp_path)
    dagger(settings)  # a second run has nothing to collect or to train, and changes nothing
    after = files(tmp_path)
    assert {k: v for k, v in after.items() if not k.endswith(".png")} == {
        k: v for k, v in before.items() if not k.endswith(".png")
    }


def test_dagger_needs_a_start(config: DatasetConfig, tmp_path: Path) -> None:
    settings = DaggerConfig(start=str(tmp_path / "none.pt"), out=str(tmp_path / "d.pt"), rounds=1, samples=4)
    with pytest.raises((ValueError, FileNotFoundError), match=r"none\.pt"):
        dagger(replace(settings, collect=replace(config, out=str(tmp_path / "set"))))


@pytest.mark.parametrize("epochs", [1, 4, 5, 11])
def test_short_runs(epochs: int, samples: Path, tmp_path: Path) -> None:
    """One batch an epoch: torch's schedule fails at some short lengths."""
    fit(load_rows(samples)[:4], tmp_path / "short.pt", replace(TRAIN, epochs=epochs), {})
    assert checkpoint.load(tmp_path / "short.pt", "cpu")[1]["train"]["epochs"] == epochs


def test_warm_starts_matter(samples: Path, cloned: Path, tmp_path: Path) -> None:
    rows, one = load_rows(samples), replace(TRAIN, epochs=1, lr=1e-6)
    start: Assigner = checkpoint.load(cloned, "cpu")[0]
    warm, cold = fit(rows, tmp_path / "warm.pt", one, {}, start), fit(rows, tmp_path / "cold.pt", one, {})
    loss = [checkpoint.load(path, "cpu")[1]["best"]["train_loss"] for path in (warm, cold)]
    assert loss[0] < loss[1]
