"""HiGA with learned bodies, and the ways to re-assign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from higa.policy import HigaConfig, HigaRulePolicy
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.task import WAIT
from policies.base import make_policy
from policies.crew import STAGES
from policies.navigation import body
from policies.navigation.base import Moves, NavigationPolicy, Views
from policies.navigation.body import BodyConfig
from policies.navigation.map_network import MapNetwork, MapNetworkConfig
from policies.navigation.map_policy import MapPolicy
from policies.navigation.ovon import OvonPolicy
from policies.planner import FORWARD, LEFT
from tests.small_ovon import CONFIG, make_network

Play = Callable[..., EpisodeRecord]


@pytest.fixture
def weights(tmp_path: Path) -> str:
    """An untrained body for maps."""
    torch.manual_seed(0)
    network = MapNetwork(MapNetworkConfig(width=16, heads=2, layers=1, mlp=16))
    MapPolicy(network, "simulated").save(tmp_path / "map.pt", {})
    return str(tmp_path / "map.pt")


def steps(record: EpisodeRecord) -> dict[str, int]:
    return record.method_record["stages"]


def test_a_learned_body_searches_and_the_hand_over_declares(play_rooms: Play, weights: str) -> None:
    policy = make_policy("higa_rule", {"body": {"kind": "map", "checkpoint": weights}})
    record = play_rooms(policy)
    again = play_rooms(make_policy("higa_rule", {"body": {"kind": "map", "checkpoint": weights}}))
    assert record.actions == again.actions and record.method_record == again.method_record
    assert set(steps(record)) == set(STAGES)
    assert steps(record)["search"] > 0 and steps(record)["declare"] == len(record.declarations) > 0
    planned = play_rooms(make_policy("higa_rule", {"body": {"kind": "planner"}}))
    assert steps(planned)["help"] == 0 and planned.actions != record.actions


class Scripted(NavigationPolicy):
    """A body that always does the same; it remembers how it was called."""

    def __init__(self, action: int, arrived: bool = False) -> None:
        self.action, self.arrived = action, arrived
        self.restarted: list[list[int]] = []
        self.calls: list[tuple[list[int], Views]] = []

    def reset(self, robots: int, rng: np.random.Generator) -> None:
        self.robots = robots

    def restart(self, robots: Any) -> None:
        self.restarted.append(list(robots))

    def act(self, robots: Any, views: Views) -> Moves:
        self.calls.append((list(robots), views))
        n = len(robots)
        return Moves(np.full(n, WAIT if self.arrived else self.action), np.full(n, self.arrived))


class _NoViews:
    def __init__(self, *args: Any) -> None:
        pass

    def look(self, shared: Any) -> None:
        pass

    def of(self, shared: Any, robots: list[int], goals: Any, previous: np.ndarray) -> Views:
        return Views([""] * len(robots), previous)


def scripted(monkeypatch: pytest.MonkeyPatch, own: Scripted, **config: Any) -> HigaRulePolicy:
    monkeypatch.setattr(body, "MapViews", _NoViews)
    policy = HigaRulePolicy(HigaConfig(body=BodyConfig(kind="planner")))
    policy.config = replace(policy.config, body=BodyConfig(kind="map", **config))
    policy.body = own
    return policy


def test_a_body_that_turns_on_the_spot_is_helped_out(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Scripted(LEFT)
    record = play_rooms(scripted(monkeypatch, own, patience=6))
    count = steps(record)
    assert count["help"] > 0 and count["search"] > 0
    assert record.found().count(True) > 0  # the planner got it there
    assert max(record.path) > 1.0
    for robots, views in own.calls:
        assert len(set(robots)) == len(robots) and len(views.goals) == len(robots)
    assert len([r for r in own.restarted if r]) > 1  # it begins anew after each help


def test_a_body_that_runs_into_walls_is_helped_out(play_rooms: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    record = play_rooms(scripted(monkeypatch, Scripted(FORWARD)))
    assert steps(record)["help"] > 0 and record.found().count(True) > 0


def test_arriving_means_looking_around_once_at_a_place(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = play_rooms(scripted(monkeypatch, Scripted(LEFT, arrived=True)))
    count = steps(record)
    assert count["search"] == 0 or count["help"] > 0  # a second look around at a place is not granted
    assert count["scan"] > 0 and max(record.path) > 1.0


def test_frames_go_to_the_body_that_looks_at_them(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch, make_env: Callable[..., Any]
) -> None:
    config = replace(CONFIG, goal_features=CONFIG.image_features)
    own = OvonPolicy(make_network(config), goals=_Words(config.goal_features))
    policy = HigaRulePolicy(HigaConfig(body=BodyConfig(kind="planner")))
    policy.config = replace(policy.config, body=BodyConfig(kind="ovon", checkpoint="given"))
    policy.body = own
    with pytest.raises(ValueError, match=r"body.kind=ovon looks at frames: give observation.keys=\[pose"):
        play_rooms(policy, keys=("pose",))
    record = play_rooms(policy, keys=("pose", "rgb"))
    assert steps(record)["search"] > 0
    photo = np.zeros((64, 64, 3), np.uint8)
    assert own.embed_image(photo).shape == (config.goal_features,)
    with pytest.raises(ValueError, match="towers of one space"):
        OvonPolicy(make_network()).embed_image(photo)


class _Words:
    def __init__(self, size: int) -> None:
        self.size = size

    def embed(self, words: str) -> np.ndarray:
        return np.full(self.size, len(words) / 10, np.float32)


@pytest.mark.parametrize(
    "config, message",
    [
        ({"body": {"kind": "legs"}}, "body.kind: 'legs' is none of planner, map, ovon"),
        ({"body": {"kind": "ovon"}}, "body.kind=ovon needs body.checkpoint"),
        ({"body": {"patience": 1}}, "patience must be at least 2"),
        ({"reassign": "daily"}, "reassign: 'daily' is none of events, every_step, never"),
        ({"decoder": "luck"}, "decoder: 'luck' is none of greedy, hungarian"),
        ({"body": {"kind": "map", "checkpoint": "gone.pt"}}, "gone.pt: no such checkpoint"),
    ],
)
def test_wrong_settings_are_named(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_policy("higa_rule", config)


def test_every_step_and_never(play_rooms: Play) -> None:
    logs = {
        how: play_rooms(make_policy("higa_rule", {"reassign": how, "body": {"kind": "planner"}}))
        for how in ("events", "every_step", "never")
    }
    rows = {how: record.method_record["assignments"] for how, record in logs.items()}
    assert len(rows["every_step"]) > len(rows["events"]) and {r["event"] for r in rows["every_step"]} == {
        "step"
    }
    held: dict[int, int] = {}
    off = {d["goal"]: d["step"] for d in logs["never"].declarations}
    for row in rows["never"]:
        for k, goal in enumerate(row["goals"]):
            if k in held and off.get(held[k], 10**6) >= row["step"] and goal is not None:
                assert goal == held[k]
            if goal is not None:
                held[k] = goal
    assert any(
        a is not None and b is not None and a != b
        for before, after in zip(rows["events"], rows["events"][1:])
        for a, b in zip(before["goals"], after["goals"])
    )
