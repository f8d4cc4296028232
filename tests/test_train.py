"""Labels, sample files, behaviour cloning, DAgger in the two rooms; killed runs end with the same bytes."""

from __future__ import annotations

import json
import shutil
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
from higa.features import Decision, FeatureConfig
from higa.network import Assigner, AssignerConfig, collate
from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import sha256
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.sim.base import Camera
from tests.processes import kill_when
from train import benchmark, dataset, trainer
from train.bc import BcConfig, clone
from train.benchmark import DataBenchmarkConfig, measure
from train.collect import CollectingPolicy, MixtureConfig, oracle_label
from train.dagger import DaggerConfig, dagger
from train.dataset import DatasetConfig, collect
from train.samples import SampleSet, open_samples
from train.shards import SCHEMA, ShardError, read_table, shard_bytes, shard_files, write_shard
from train.tracking import Tracker
from train.trainer import TrainConfig, fit

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
    label = oracle_label(env.privileged, shared)
    robots, goals = np.flatnonzero(alive).tolist(), np.flatnonzero(unresolved).tolist()
    best, _, first = brute_force(episode, env, robots, goals)
    assert label.makespan == pytest.approx(best, abs=1e-4)
    assert {k: j for k, j in enumerate(label.first) if j >= 0} == first
    if all(alive) and all(unresolved):
        assert label.makespan == pytest.approx(episode.makespan, abs=1e-3)
    choice = np.outer(alive, unresolved)
    assert np.isfinite(label.costs[choice]).all() and np.isnan(label.costs[~choice]).all()
    assert (np.isnan(label.idle_costs) == ~np.array(alive)).all()
    for k, j in enumerate(label.first):  # what the oracle does costs no more than its makespan
        if alive[k]:
            assert (label.costs[k, j] if j >= 0 else label.idle_costs[k]) <= best + 1e-4
    if len(robots) == 1:
        assert label.idle_costs[robots[0]] == np.inf
    env.close()


def test_nothing_to_label(make_env: Callable, rooms_episodes: list[Episode]) -> None:
    env = make_env()
    env.begin(rooms_episodes[0])
    shared = env.shared
    shared.unresolved = [False] * 3
    label = oracle_label(env.privileged, shared)
    assert label.first.tolist() == [-1] * 4 and label.makespan == 0 and np.isnan(label.costs).all()
    shared.unresolved, shared.alive = [True] * 3, [False] * 4
    assert oracle_label(env.privileged, shared).first.tolist() == [-1] * 4
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
                hits.append([-1 if j is None else j for j in s.assigned] == s.label.first.tolist())
                assert s.event in ("found", "candidate", "idle") and s.episode == record.episode
                first = s.label.first
                assert first.shape == (record.agents,) and first.max() < len(record.goals)
                assert all(s.inputs.open[j] for j in first if j >= 0)
                assert all(s.inputs.active[k] for k, j in enumerate(first) if j >= 0)
        followed[name] = np.mean(hits)
    assert followed["oracle"] == 1.0 and followed["random"] < 0.7 and followed["rule"] < 1.0


# -- sample files ------------------------------------------------------------------------------------------


def test_shards_round_trip(play_rooms: Callable[..., EpisodeRecord], tmp_path: Path) -> None:
    written = []
    for number, index in enumerate((3, 6)):  # teams and lists of different sizes
        policy = CollectingPolicy(MixtureConfig())
        play_rooms(policy, index)
        path = tmp_path / "data" / "round=00" / f"part-{number:05d}.parquet"
        write_shard(path, policy.samples, 7)
        assert shard_bytes(policy.samples, 7) == path.read_bytes()
        written += policy.samples
    read = open_samples(tmp_path)
    assert len(read) == len(written) > 6 and len({len(s.inputs.open) for s in written}) > 1
    for i, sample in enumerate(written):
        inputs, label = read.decision(i)
        assert same(inputs, sample.inputs) and label.tolist() == sample.label.first.tolist()
        assert read.scenes[i] == sample.scene and label.dtype == np.int64
        row, (k, m) = read[i], sample.label.costs.shape
        np.testing.assert_array_equal(row["costs"][:k, :m], sample.label.costs.astype(np.float32))
        np.testing.assert_array_equal(row["idle_costs"][:k], sample.label.idle_costs.astype(np.float32))
        assert not row["active"][k:].any() and not row["open"][m:].any() and (row["label"][k:] == -1).all()


def test_batches_are_collated_decisions(samples: Path) -> None:
    read = open_samples(samples)
    rows = np.array([5, 0, len(read) - 1])
    batch = read.batch(rows)
    alone = collate(*(list(part) for part in zip(*(read.decision(i) for i in rows))))
    for name, value in vars(alone).items():
        padded = getattr(batch, name)[tuple(slice(size) for size in value.shape)]
        assert torch.equal(padded, value), name
        assert padded.dtype == value.dtype
    few = read.subset(np.arange(4)[::-1])
    assert len(few) == 4 and torch.equal(few.batch(np.array([0])).pairs, read.batch(np.array([3])).pairs)
    assert few.digest() != read.digest() == open_samples(samples).digest()
    loader = torch.utils.data.DataLoader(few, batch_size=2)
    assert [len(part["grid"]) for part in loader] == [2, 2]


def test_shards_are_plain_parquet(samples: Path) -> None:
    table = pq.read_table(shard_files(samples)[0], partitioning=None)
    assert table.schema.equals(SCHEMA, check_metadata=False)
    row = table.to_pylist()[0]
    k, m, g = row["robots"], row["goals"], row["grid_side"]
    assert len(row["grid"]) == 5 * g * g and len(row["heat"]) == m * g * g
    assert len(row["map"]) == row["map_side"] ** 2 and set(row["map"]) <= {0, 1, 2}
    assert len(row["agent_features"]) == 5 * k and len(row["goal_features"]) == 7 * m
    assert len(row["pair_features"]) == 9 * k * m and len(row["poses"]) == 5 * k
    assert len(row["label"]) == len(row["assigned"]) == len(row["active"]) == k and len(row["open"]) == m
    assert len(row["costs"]) == k * m and len(row["idle_costs"]) == k
    assert len(row["goal_text"]) == len(row["goal_modality"]) == m
    assert all(bool(text) == (kind != "IIN") for text, kind in zip(row["goal_text"], row["goal_modality"]))
    whole = pq.read_table(samples / "data")  # all rounds at once, the round as a column
    info = json.loads((samples / "meta" / "info.json").read_text())
    assert whole.num_rows == info["samples"] and set(whole.column("round").to_pylist()) == {0}
    assert set(info["columns"]) == set(SCHEMA.names) - {
        "scene", "episode", "step", "robots", "goals", "grid_side", "map_side"
    }  # fmt: skip


def test_places_of_a_row_agree(samples: Path) -> None:
    """Robots and candidates lie where the map says there is something."""
    seen = 0
    for row in pq.read_table(samples / "data").to_pylist():
        fine = np.frombuffer(row["map"], np.uint8).reshape(row["map_side"], -1)
        cell = row["grid_side"] * row["grid_cell"] / row["map_side"]
        corner = np.array(row["grid_center"]) - row["grid_side"] * row["grid_cell"] / 2
        for x, _, z, *_ in np.array(row["poses"]).reshape(-1, 5):
            column, line = ((np.array([x, z]) - corner) / cell).astype(int)
            assert fine[line, column] != 0
        for found in row["candidates"]:
            assert 0 <= found["goal"] < row["goals"] and 0 < found["score"] <= 1 and found["distance"] < 8
            column, line = ((np.array([found["x"], found["z"]]) - corner) / cell).astype(int)
            assert fine[max(line - 2, 0) : line + 3, max(column - 2, 0) : column + 3].any()
            seen += 1
        costs = np.array(row["costs"]).reshape(row["robots"], row["goals"])
        for k, j in enumerate(row["label"]):
            assert j < 0 or costs[k, j] <= row["oracle_makespan"] + 1e-4
    assert seen > 5


def test_damaged_shards(samples: Path, tmp_path: Path) -> None:
    whole = shard_files(samples)[0].read_bytes()
    for damage in (b"", b"no parquet", whole[: len(whole) // 2], whole[:-4] + b"XXXX"):
        path = tmp_path / "part-00000.parquet"
        path.write_bytes(damage)
        with pytest.raises(ShardError, match=r"part-00000\.parquet.*delete it and run train\.dataset"):
            read_table(path)
    table = pq.read_table(shard_files(samples)[0], partitioning=None)
    pq.write_table(table.replace_schema_metadata({"schema_version": "99"}), path)
    with pytest.raises(ShardError, match="version 99"):
        read_table(path)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(ShardError, match="version"):
        read_table(path)
    good = pq.read_table(shard_files(samples)[0], partitioning=None)
    cut = good.set_column(
        good.schema.get_field_index("heat"), "heat", pa.array([b"short"] * len(good), pa.binary())
    )
    bad = tmp_path / "set" / "data" / "round=00" / "part-00000.parquet"
    bad.parent.mkdir(parents=True)
    pq.write_table(cut, bad)
    with pytest.raises(ShardError, match=r"part-00000\.parquet: heat: \d+ values, \d+ expected"):
        open_samples(tmp_path / "set")


def test_grids_of_one_size(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    other = replace(config, size=1, limit=1, out=str(tmp_path / "set"), features=FeatureConfig(grid=16))
    collect(other)
    one = collect(replace(config, size=1, limit=1, round=1, out=str(tmp_path / "set")))
    with pytest.raises(ShardError, match=r"grid_side.*features\.grid"):
        open_samples(one)
    assert len(open_samples(one, last_round=0)) > 0


def test_no_samples(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=r"no samples.*train\.dataset"):
        shard_files(tmp_path)


# -- collecting --------------------------------------------------------------------------------------------


def test_data_set(config: DatasetConfig, samples: Path) -> None:
    info = json.loads((samples / "meta" / "info.json").read_text())
    shards = shard_files(samples)
    read = open_samples(samples)
    assert [s["file"] for s in info["shards"]] == [str(p.relative_to(samples)) for p in shards]
    for entry, path in zip(info["shards"], shards):
        assert entry["sha256"] == sha256(path.read_bytes()) and entry["rows"] == len(read_table(path))
    assert config.size <= info["samples"] < config.size + info["shards"][-1]["rows"]
    assert len(read) == len(read.labelled()) == info["samples"] and set(read.scenes) == set(info["scenes"])
    for name in ("event", "robots", "goals"):
        assert sum(info["counts"][name].values()) == info["samples"]
    assert set(info["counts"]["event"]) <= {"found", "candidate", "idle"}


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


def test_a_smaller_run_deletes_nothing(config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    shutil.copytree(samples, out)
    collect(replace(config, size=3, out=str(out)))
    assert files(out) == files(samples)


def test_shards_hold_one_scene_each() -> None:
    class Stub:
        def __init__(self, number: int, scene: str) -> None:
            self.id, self.scene = f"e{number}", Path(scene)

    episodes = [Stub(i, "abc"[i % 3]) for i in range(23)]
    chunks = dataset._chunks(episodes, 3)  # type: ignore[arg-type]
    assert [name for name, _ in chunks] == list("abcabcabc")
    assert sorted(e for _, ids in chunks for e in ids) == sorted(e.id for e in episodes)
    assert {len(ids) for _, ids in chunks} == {2, 3}
    config = DatasetConfig()
    jobs = [dataset._job(config, chunks, n) for n in range(18)]
    assert {job.episodes for job in jobs[:9]} == {ids for _, ids in chunks}  # a pass plays everything once
    assert jobs[0].seed == jobs[8].seed != jobs[9].seed
    assert [job.episodes for job in jobs[:9]] != [job.episodes for job in jobs[9:]]


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


def test_pictures(samples: Path, tmp_path: Path) -> None:
    done = run("train.dataset", "inspect", f"dataset={samples}", f"out={tmp_path / 'look'}", "count=3")
    assert done.returncode == 0, done.stderr
    pictures = sorted((tmp_path / "look").glob("*.png"))
    assert len(pictures) == 3 and all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
    assert len({p.read_bytes() for p in pictures}) == 3
    for arguments, words in (
        (["count=0"], "count: 0"), (["round=4"], "no round 4"), ([f"dataset={tmp_path}"], "no samples"),
    ):  # fmt: skip
        bad = run("train.dataset", "inspect", f"dataset={samples}", f"out={tmp_path / 'bad'}", *arguments)
        assert bad.returncode == 2 and words in bad.stderr and not (tmp_path / "bad").exists()


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
    counts = [len(open_samples(tmp_path / "set", last_round=n)) for n in range(3)]
    assert counts[0] == len(open_samples(samples))
    assert counts[1] >= counts[0] + 6 and counts[2] >= counts[1] + 6
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
    fit(open_samples(samples).subset(np.arange(4)), tmp_path / "short.pt", replace(TRAIN, epochs=epochs), {})
    assert checkpoint.load(tmp_path / "short.pt", "cpu")[1]["train"]["epochs"] == epochs


def test_warm_starts_matter(samples: Path, cloned: Path, tmp_path: Path) -> None:
    rows, one = open_samples(samples), replace(TRAIN, epochs=1, lr=1e-6)
    start: Assigner = checkpoint.load(cloned, "cpu")[0]
    warm, cold = fit(rows, tmp_path / "warm.pt", one, {}, start), fit(rows, tmp_path / "cold.pt", one, {})
    loss = [checkpoint.load(path, "cpu")[1]["best"]["train_loss"] for path in (warm, cold)]
    assert loss[0] < loss[1]


# -- what it costs -----------------------------------------------------------------------------------------


def test_the_benchmark_measures_a_small_run(tmp_path: Path) -> None:
    config = DataBenchmarkConfig(
        str(tmp_path / "all"), houses=1, episodes=3, train_houses=1, train_episodes=4, samples=5, workers=1
    )
    report = measure(config)
    assert (tmp_path / "all" / "report.txt").read_text() == report + "\n"
    assert (tmp_path / "all" / "samples" / "meta" / "info.json").exists()
    assert "3 episodes, 1 houses" in report and "at full size" in report and "(least 3000)" in report
    with pytest.raises(ValueError, match="exists; name a new folder"):
        measure(config)


def test_figures_say_whether_they_keep_their_limit() -> None:
    assert benchmark._row("x", "y", 2.0, "min", 0.1, 30.0).endswith("at full size 20.0   reached (most 30)")
    late = benchmark._row("x", "y", 45.0, "min", 1.0, 30.0)
    assert late.endswith("NOT reached, 1.50 times the limit (most 30)")
