"""Labels, sample files, and their collection in the two rooms; killed runs end with the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from higa.features import Decision, FeatureConfig
from higa.labels import LabelConfig, oracle_label
from higa.network import collate
from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import sha256
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.sim.base import Camera
from tests.processes import files_below, kill_when, run_module
from train import benchmark, dataset
from train.benchmark import DataBenchmarkConfig, measure
from train.collect import CollectingPolicy, MixtureConfig
from train.dataset import DatasetConfig, collect
from train.samples import open_samples
from train.shards import SCHEMA, ShardError, read_table, shard_bytes, shard_files, write_shard


def same(a: Decision, b: Decision) -> bool:
    return all(
        np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(vars(a).values(), vars(b).values())
    )


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
    label = oracle_label(env.privileged, shared, [False] * len(unresolved), LabelConfig(search=0))
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


def test_goals_that_must_be_searched_for_come_after_candidates(
    make_env: Callable, rooms_episodes: list[Episode]
) -> None:
    env, episode = make_env(), rooms_episodes[0]
    env.begin(episode)
    goals = len(episode.goals)
    for seen in range(goals):
        accepted = [j == seen for j in range(goals)]
        label = oracle_label(env.privileged, env.shared, accepted, LabelConfig(search=1000))
        assert seen in label.first  # somebody goes there, and first
        assert label.makespan >= 1000
        assert oracle_label(env.privileged, env.shared, [True] * goals, LabelConfig()).makespan < 1000
    with pytest.raises(ValueError, match="label.search=-1"):
        LabelConfig(search=-1)
    env.close()


def test_nothing_to_label(make_env: Callable, rooms_episodes: list[Episode]) -> None:
    env = make_env()
    env.begin(rooms_episodes[0])
    shared = env.shared
    shared.unresolved = [False] * 3
    label = oracle_label(env.privileged, shared, [True] * 3, LabelConfig())
    assert label.first.tolist() == [-1] * 4 and label.makespan == 0 and np.isnan(label.costs).all()
    shared.unresolved, shared.alive = [True] * 3, [False] * 4
    assert oracle_label(env.privileged, shared, [True] * 3, LabelConfig()).first.tolist() == [-1] * 4
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
        assert padded.dtype == value.dtype
        if name not in ("costs", "idle_costs"):  # a decision does not know them
            assert torch.equal(padded, value), name
    for name in ("costs", "idle_costs"):
        np.testing.assert_array_equal(getattr(batch, name), [read[i][name] for i in rows])
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


def test_grids_of_one_size(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    small = FeatureConfig(grid=16)
    other = replace(collect_config, size=1, limit=1, out=str(tmp_path / "set"), features=small)
    collect(other)
    one = collect(replace(collect_config, size=1, limit=1, round=1, out=str(tmp_path / "set")))
    with pytest.raises(ShardError, match=r"grid_side.*features\.grid"):
        open_samples(one)
    assert len(open_samples(one, last_round=0)) > 0


def test_no_samples(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=r"no samples.*train\.dataset"):
        shard_files(tmp_path)


# -- collecting --------------------------------------------------------------------------------------------


def test_data_set(collect_config: DatasetConfig, samples: Path) -> None:
    info = json.loads((samples / "meta" / "info.json").read_text())
    shards = shard_files(samples)
    read = open_samples(samples)
    assert [s["file"] for s in info["shards"]] == [str(p.relative_to(samples)) for p in shards]
    for entry, path in zip(info["shards"], shards):
        assert entry["sha256"] == sha256(path.read_bytes()) and entry["rows"] == len(read_table(path))
    assert collect_config.size <= info["samples"] < collect_config.size + info["shards"][-1]["rows"]
    assert len(read) == len(read.labelled()) == info["samples"] and set(read.scenes) == set(info["scenes"])
    for name in ("event", "robots", "goals"):
        assert sum(info["counts"][name].values()) == info["samples"]
    assert set(info["counts"]["event"]) <= {"found", "candidate", "idle"}


def test_any_number_of_workers(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    two = collect(replace(collect_config, workers=2, out=str(tmp_path / "two")))
    assert files_below(two) == files_below(samples)


def test_more_of_the_same(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    """Several passes over the split, and a smaller set that is grown later."""
    small = replace(collect_config, limit=2, size=10, out=str(tmp_path / "grown"))
    collect(small)
    first = files_below(small.out)
    collect(replace(small, size=150))
    grown = files_below(small.out)
    assert {k: v for k, v in first.items() if k.startswith("data")}.items() <= grown.items()
    once = collect(replace(small, size=150, out=str(tmp_path / "once")))
    assert files_below(once) == grown
    parts = [v for k, v in sorted(grown.items()) if k.startswith("data")]
    assert len(set(parts)) == len(parts) > 2  # the second pass has other random numbers


def test_a_smaller_run_deletes_nothing(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    shutil.copytree(samples, out)
    collect(replace(collect_config, size=3, out=str(out)))
    assert files_below(out) == files_below(samples)


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


def test_finished_shards_are_kept(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    again = replace(collect_config, out=str(tmp_path / "again"))
    for name, content in files_below(samples).items():
        path = tmp_path / "again" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    kept, lost = shard_files(again.out)[0], shard_files(again.out)[1]
    lost.unlink()
    before = kept.stat().st_mtime_ns
    collect(again)
    assert kept.stat().st_mtime_ns == before and files_below(again.out) == files_below(samples)


def test_killed_collection_continues(collect_config: DatasetConfig, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    arguments = [
        "train.dataset", "size=24", f"out={out}", f"data={collect_config.data}", "split=rooms",
        "episodes_per_shard=1", "workers=1", "camera.width=36", "camera.height=64",
    ]  # fmt: skip
    kill_when(arguments, lambda: bool(list(out.glob("data/round=00/part-*.parquet"))))
    assert not (out / "meta" / "info.json").exists()
    done = run_module(*arguments)
    assert done.returncode == 0, done.stderr
    kept = {name: content for name, content in files_below(out).items() if not name.endswith(".tmp")}
    assert kept == files_below(samples)


def test_pictures(samples: Path, tmp_path: Path) -> None:
    done = run_module("train.dataset", "inspect", f"dataset={samples}", f"out={tmp_path / 'look'}", "count=3")
    assert done.returncode == 0, done.stderr
    pictures = sorted((tmp_path / "look").glob("*.png"))
    assert len(pictures) == 3 and all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
    assert len({p.read_bytes() for p in pictures}) == 3
    for arguments, words in (
        (["count=0"], "count: 0"), (["round=4"], "no round 4; it has [0]"),
        ([f"dataset={tmp_path}"], "no samples"),
    ):  # fmt: skip
        inspect = ("inspect", f"dataset={samples}", f"out={tmp_path / 'bad'}", *arguments)
        bad = run_module("train.dataset", *inspect)
        assert bad.returncode == 2 and words in bad.stderr and not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"mixture": MixtureConfig(0.5, 0.1)}, {"limit": 3}, {"camera": Camera(48, 64)}]
)
def test_other_settings_need_another_folder(
    change: dict[str, Any], collect_config: DatasetConfig, samples: Path
) -> None:
    before = files_below(samples)
    with pytest.raises(ShardError, match=r"round-00\.json.*other settings.*out="):
        collect(replace(collect_config, **change))
    assert files_below(samples) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit": 0}, "limit"),
        ({"episodes_per_shard": 0}, "episodes_per_shard"),
        ({"split": "nowhere"}, "nowhere"),
        ({"checkpoint": "none.pt"}, r"none\.pt: no such checkpoint"),
        ({"size": 0}, "size=0"),
        ({"workers": 0}, "workers=0"),
        ({"seed": -1}, "seed=-1"),
        ({"round": -1}, "round=-1"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str, collect_config: DatasetConfig, tmp_path: Path) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        collect(replace(collect_config, out=str(tmp_path / "bad"), **change))
    assert not (tmp_path / "bad").exists()


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
