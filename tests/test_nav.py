"""Training the body for maps: the task, its teacher, DAgger and PPO, small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import sha256
from hm3dm3_env.sim.base import Camera
from policies.navigation.base import NO_ACTION
from policies.navigation.map_network import DEPTH_SHAPE, MapNetworkConfig
from policies.navigation.map_policy import STOP, MapPolicy
from policies.navigation.surroundings import CHANNELS
from train.nav import NavConfig, NavDaggerConfig, PpoConfig, mirrored, split_houses, train
from train.nav_data import INPUTS, fresh, play_search, read_shard
from train.nav_task import SearchConfig, SearchTask

SMALL = Camera(27, 48)


def search(data: Path | str, split: str = "rooms", **kwargs: int) -> SearchConfig:
    return SearchConfig(split=split, data=str(data), camera=SMALL, **{"steps": 120, **kwargs})


def test_the_teacher_finds_every_goal(data: Path, rooms_episodes: list[Episode]) -> None:
    task = SearchTask(search(data, steps=400))
    policy = fresh(task.config)
    task.begin(rooms_episodes[0], policy, 0)
    while not task.over:
        robots = task.acting()
        rows = task.observe(robots) if robots else {}
        for name in INPUTS if robots else ():
            assert len(rows[name]) == len(robots)
        labels = {k: task.teacher(k) for k in robots}
        before, found = list(task.goals), task.step({k: max(label, STOP) for k, label in labels.items()})
        for k in found:  # found means: it looked around, and the object had been seen
            assert labels[k] == STOP and task.found[before[k]] and task.seen[before[k]]
    assert all(task.found) and task.progress.found >= len(task.found)
    assert task.progress.tried >= task.progress.found and task.progress.walked > 0


def test_looking_around_elsewhere_finds_nothing(data: Path, rooms_episodes: list[Episode]) -> None:
    task = SearchTask(search(data, steps=40))
    task.begin(rooms_episodes[0], fresh(task.config), 0)
    where = list(task.env.poses)
    while not task.over:
        task.step(dict.fromkeys(task.acting(), STOP))
    assert [(p.x, p.z) for p in task.env.poses] == [(p.x, p.z) for p in where]
    if not any(task.seen):
        assert not any(task.found)


def test_steps_are_labelled_and_the_same_for_one_seed(data: Path, rooms_episodes: list[Episode]) -> None:
    names = [e.id for e in rooms_episodes[:2]]
    first, progress = play_search(search(data), names, "", 1.0, 3)
    again, _ = play_search(search(data), names, "", 1.0, 3)
    n = len(first["label"])
    assert n > 50 and set(np.unique(first["label"])) <= {0, 1, 2, 3} and len(np.unique(first["label"])) == 4
    side = MapNetworkConfig().side
    assert first["near"].shape == first["far"].shape == (n, len(CHANNELS), side, side)
    assert first["depth"].shape == (n, *DEPTH_SHAPE) and first["goal"].shape == (n, 32)
    for name in (*INPUTS, "label"):
        assert np.array_equal(first[name], again[name])
    assert progress.found > 0
    # where the teacher drove, the next step's last action is what it said
    followed = (first["previous"][1:, 0] == first["label"][:-1]).mean()
    assert followed > 0.2


def test_a_mirror_twice_is_no_mirror(data: Path, rooms_episodes: list[Episode]) -> None:
    arrays, _ = play_search(search(data), [rooms_episodes[0].id], "", 1.0, 0)
    rows = {name: torch.from_numpy(arrays[name][:32].astype(np.float32)) for name in INPUTS}
    rows["previous"] = rows["previous"].long()
    label, all_rows = (
        torch.from_numpy(arrays["label"][:32].astype(np.int64)),
        torch.ones(32, dtype=torch.bool),
    )
    once, mirror_label = mirrored(rows, label, all_rows)
    twice, back = mirrored(once, mirror_label, all_rows)
    assert torch.equal(back, label) and all(torch.equal(twice[name], rows[name]) for name in INPUTS)
    assert torch.equal(once["near"][..., 0], rows["near"][..., -1])
    assert not torch.equal(mirror_label, label)
    left = label == 2
    assert (mirror_label[left] == 3).all() and (mirror_label[label < 2] == label[label < 2]).all()
    assert torch.equal(once["previous"] == NO_ACTION, rows["previous"] == NO_ACTION)
    none, same = mirrored(rows, label, ~all_rows)
    assert torch.equal(same, label) and torch.equal(none["far"], rows["far"])


def config(houses: str, out: Path, **kwargs: object) -> NavConfig:
    return NavConfig(
        out=str(out), search=search(houses, "train", steps=40), held_out=2, workers=1, tracking="off",
        dagger=NavDaggerConfig(teacher=(1.0, 0.0), episodes=2, held_out_episodes=1, epochs=1, batch=32),
        ppo=PpoConfig(steps=96, teams=2, rollout=16, batch=16), **kwargs,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.fixture(scope="module")
def learned(houses: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(config(houses, tmp_path_factory.mktemp("nav") / "nav.pt"))


def test_dagger_keeps_what_is_finished(houses: str, learned: Path) -> None:
    log = learned.parent / "nav-log"
    shards = sorted(log.glob("round-*/*.npz"))
    assert {path.parent.name for path in shards} == {"round-0", "round-1"}
    assert (log / "curves.png").stat().st_size > 1000
    digest, times = sha256(learned.read_bytes()), [p.stat().st_mtime_ns for p in shards]
    learned.unlink()
    (log / "round-1.pt").unlink()  # as if killed in the last training
    assert sha256(train(config(houses, learned)).read_bytes()) == digest
    assert [p.stat().st_mtime_ns for p in shards] == times
    assert read_shard(shards[0])[1].tried > 0
    policy = MapPolicy.load(learned)
    assert policy.space == "simulated"


def test_other_settings_make_other_shards(houses: str, learned: Path) -> None:
    shard = sorted((learned.parent / "nav-log").glob("round-0/*.npz"))[0]
    before = shard.read_bytes()
    shard.write_bytes(before[:100])
    with pytest.raises(ValueError, match="a damaged shard"):
        train(config(houses, learned))
    other = config(houses, learned)
    train(replace(other, seed=1))
    assert len(shard.read_bytes()) > 100 and shard.read_bytes() != before


def test_ppo_goes_on_where_it_was_killed(houses: str, learned: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    settings = config(houses, tmp_path / "ppo.pt", stage="ppo", start=str(learned))
    first = train(settings)
    saved = list((tmp_path / "ppo-log").glob("*.zip"))
    assert len(saved) == 1
    policy, start = MapPolicy.load(first), MapPolicy.load(learned)
    changed = [not torch.equal(a, b) for a, b in zip(policy.network.parameters(), start.network.parameters())]
    assert any(changed)
    rows = (tmp_path / "ppo-log" / "metrics.jsonl").read_text().splitlines()
    first.unlink()
    train(settings)  # from the last save: only the last update is played again
    assert (tmp_path / "ppo-log" / "metrics.jsonl").read_text().splitlines()[: len(rows) - 1] == rows[:-1]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"stage": "walk"}, "stage=walk: is neither dagger nor ppo"),
        ({"stage": "ppo"}, "give start=<file>"),
        ({"held_out": 1}, "held_out=1: must be at least 2"),
    ],
)
def test_wrong_settings_are_named(houses: str, tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(replace(config(houses, tmp_path / "x.pt"), **changes))


def test_one_house_is_not_enough(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 houses, 2 are needed"):
        split_houses(replace(config("", tmp_path / "x.pt"), search=search(data)))
    with pytest.raises(ValueError, match="is a folder"):
        train(config("", tmp_path))
