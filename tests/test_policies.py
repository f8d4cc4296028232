"""The registry, and whole episodes in the two rooms with every method that needs no weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import numpy as np
import pytest

from hm3dm3_env import metrics
from hm3dm3_env.geometry import heading_to
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.shared import SharedState, TeamGoal
from hm3dm3_env.task import MOVES
from policies import base
from policies.base import TeamTask, available, make_policy, policy_class
from policies.crew import Crew, CrewConfig, nearest_free
from policies.eyes import EyesConfig
from policies.frontier_policy import FrontierPolicy
from policies.planner import LEFT
from policies.random_policy import RandomPolicy
from policies.recognition.simulated import SimulatedRecognizerConfig
from policies.recognition.tracker import Track
from policies.rollout import episode_seed

PLAIN = ("random", "frontier", "higa_rule")
Play = Callable[..., EpisodeRecord]


class Spy:
    """Wraps a policy and keeps what it was given."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.privileged = policy, policy.privileged
        self.tasks: list[TeamTask] = []
        self.seen: list[SharedState] = []

    def reset(self, task: TeamTask) -> None:
        self.tasks.append(task)
        self.policy.reset(task)

    def act(self, observations: Any, shared: SharedState) -> dict[str, int]:
        self.seen.append(shared)
        return self.policy.act(observations, shared)

    def record(self) -> dict[str, Any]:
        return self.policy.record()


# -- the registry ------------------------------------------------------------------------------------------


def test_built_in_methods() -> None:
    assert {"random", "oracle", "frontier", "higa", "higa_rule", "higa_oracle"} <= set(available())
    for name in available():
        assert isinstance(policy_class(name).privileged, bool)  # type: ignore[attr-defined]
    told = [name for name in available() if policy_class(name).privileged]  # type: ignore[attr-defined]
    assert told == ["higa_oracle", "oracle"]


def test_methods_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "tests.test_policies:Elsewhere", base.GROUP)
    monkeypatch.setattr(base, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    assert "elsewhere" in available() and "random" in available()
    assert isinstance(make_policy("elsewhere"), Elsewhere)


class Elsewhere(RandomPolicy):
    """Stands for a method in somebody else's package."""


def test_unknown_method() -> None:
    with pytest.raises(ValueError, match=r"'rnadom'.*frontier.*random.*hm3dm3\.policies"):
        policy_class("rnadom")


@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("random", {"speed": 1}, "random.*no config.*speed"),
        ("frontier", {"crew": {"stopp": 1}}, "stopp"),
        ("frontier", {"crew": {"stop": "near"}}, "near"),
        ("higa_rule", {"decoder": "auction"}, "decoder.*auction.*greedy.*hungarian"),
        ("higa", {"checkpoint": "gone.pt"}, "gone.pt: no such checkpoint.*train.bc"),
        ("higa_rule", {"crew": {"planner": {"wings": True}}}, "wings"),
    ],
)
def test_config_errors_name_the_key(name: str, config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_policy(name, config)


def test_configs_arrive() -> None:
    policy = make_policy("frontier", {"crew": {"stop": 0.9, "planner": {"solver": "fast_marching"}}})
    assert isinstance(policy, FrontierPolicy)
    assert policy.config.crew.stop == 0.9 and policy.config.crew.planner.solver == "fast_marching"
    assert policy.config.crew.use_heat is False  # what was not given keeps the method's own default


# -- whole episodes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAIN)
def test_plays_to_the_end(name: str, play_rooms: Play) -> None:
    for index in (0, 2, 7):
        record = play_rooms(make_policy(name), index)
        assert record.ended in ("resolved", "exhausted") and 0 < record.steps <= 500
        assert (record.ended == "resolved") == (len(record.declarations) == len(record.goals))
        assert not record.privileged and record.recogniser == "simulated"
        assert max(record.path) <= 3 * record.makespan + 0.25


def test_frontier_with_perfect_eyes_finds_nearly_all(play_rooms: Play, rooms_episodes: list) -> None:
    eyes = EyesConfig(recogniser="perfect")
    records = [play_rooms(make_policy("frontier"), i, eyes=eyes) for i in range(len(rooms_episodes))]
    summary = metrics.summarise(records)
    assert summary["sr"] > 0.85 and summary["recogniser"] == "perfect"


def test_oracle_finds_all(play_rooms: Play, rooms_episodes: list) -> None:
    records = [play_rooms(make_policy("oracle"), i) for i in range(len(rooms_episodes))]
    for record in records:
        assert all(record.found()) and record.privileged and record.recogniser == "none"
        tours = record.method_record["tours"]
        assert sorted(j for tour in tours for j in tour) == list(range(len(record.goals)))
        assert max(record.method_record["lengths"]) == pytest.approx(record.makespan, abs=1e-3)
    summary = metrics.summarise(records)
    assert summary["spl"] >= 0.75 and summary["wrong"] == 0


def test_random_draws_only_legal_actions(play_rooms: Play) -> None:
    spy = Spy(make_policy("random"))
    drawn: list[int] = []

    def act(observations: Any, shared: SharedState) -> dict[str, int]:
        actions = spy.policy.act(observations, shared)
        for k, action in enumerate(actions.values()):
            assert shared.alive[k] or action == 0
            if action >= len(MOVES):
                assert shared.unresolved[action - len(MOVES)]
            drawn.append(action)
        return actions

    spy.act = act  # type: ignore[method-assign]
    for seed in range(8):
        play_rooms(spy, 1, seed=seed)
    assert set(range(len(MOVES))) <= set(drawn)


@pytest.mark.parametrize("name", [*PLAIN, "oracle"])
def test_same_seed_same_bytes(name: str, play_rooms: Play) -> None:
    first, again = (play_rooms(make_policy(name), 3, seed=4).to_bytes() for _ in range(2))
    assert first == again
    reused = make_policy(name)  # neither do earlier episodes with the same policy object matter
    play_rooms(reused, 1, seed=1)
    assert play_rooms(reused, 3, seed=4).to_bytes() == first


@pytest.mark.parametrize("name", ["random", "frontier"])
def test_another_seed_another_episode(name: str, play_rooms: Play) -> None:
    records = {play_rooms(make_policy(name), 3, seed=s).to_bytes() for s in (4, 5)}
    assert len(records) == 2


def test_episode_seeds_depend_on_run_and_episode() -> None:
    seeds = {episode_seed(s, e) for s in range(20) for e in ("a-00000", "a-00001", "b-00000")}
    assert len(seeds) == 60 and episode_seed(3, "a-00001") == episode_seed(3, "a-00001")


# -- who may know what -------------------------------------------------------------------------------------


def test_the_team_is_told_no_more_than_the_benchmark_says() -> None:
    assert {f.name for f in fields(SharedState)} == {
        "goals", "unresolved", "poses", "alive", "frames", "map", "actions_left", "step", "camera", "body"
    }  # fmt: skip
    assert {f.name for f in fields(TeamGoal)} == {"modality", "text", "image"}


@pytest.mark.parametrize("name", [*PLAIN, "oracle"])
def test_only_privileged_methods_get_the_truth(name: str, play_rooms: Play) -> None:
    spy = Spy(make_policy(name))
    play_rooms(spy, 0)
    assert [task.privileged is not None for task in spy.tasks] == [spy.privileged] == [name == "oracle"]


def test_verdicts_are_not_told(play_rooms: Play) -> None:
    """A goal leaves the list whether its declaration was right or wrong; nothing else differs."""
    spy = Spy(make_policy("random"))
    record = play_rooms(spy, 1, seed=2)
    wrong = [d for d in record.declarations if not d["right"]]
    assert wrong
    for shared in spy.seen:
        resolved = {d["goal"] for d in record.declarations if d["step"] <= shared.step}
        assert [j not in resolved for j in range(len(record.goals))] == shared.unresolved


def test_image_goals_come_without_words(play_rooms: Play, rooms_episodes: list) -> None:
    spy = Spy(make_policy("random"))
    play_rooms(spy, 0)
    for told, goal in zip(spy.seen[0].goals, rooms_episodes[0].goals):
        assert told.modality == goal.modality
        if goal.modality == "IIN":
            assert told.text == "" and told.image is not None and told.image.dtype == np.uint8
        else:
            assert told.text and told.image is None


@pytest.mark.parametrize("name", ["oracle"])
def test_privileged_methods_need_the_truth(name: str, play_rooms: Play) -> None:
    spy = Spy(make_policy(name))
    spy.privileged = False
    with pytest.raises(ValueError, match="truth"):
        play_rooms(spy, 0)


# -- the lower level ---------------------------------------------------------------------------------------


def crew_after(play_rooms: Play, steps: int) -> tuple[Crew, SharedState]:
    """The lower level of the frontier method after some steps of an episode."""

    class Stop(Exception):
        pass

    spy = Spy(make_policy("frontier"))

    def watch(shared: SharedState) -> None:
        if shared.step == steps:
            raise Stop

    with pytest.raises(Stop):
        play_rooms(spy, 3, watch=watch)
    shared = spy.seen[-1]
    return spy.policy.crew, shared


def far_track(crew: Crew, shared: SharedState) -> Track:
    """A certain candidate on known floor, well away from robot 0."""
    field = crew.field(0)
    cells = np.argwhere(np.isfinite(field.distance) & (field.distance > 1.5))
    spot = crew.planner.map.to_world(cells[len(cells) // 2] * 2 + field.corner)
    track = Track(0, spot, [0.9], [0.9], 1.0)
    crew.tracker.tracks[0].append(track)
    return track


def test_a_peek_at_one_candidate_does_not_count_for_another(play_rooms: Play) -> None:
    crew, shared = crew_after(play_rooms, 20)
    track = far_track(crew, shared)
    pose = shared.poses[0]  # it looks at the candidate, from afar
    shared.poses[0] = replace(pose, heading=heading_to(pose.position, track.point))
    crew.robots[0].track, crew.robots[0].peeks = Track(1, shared.poses[0].position, [0.9]), 1
    action = crew.approach(0, track)
    assert action is not None and action < len(MOVES)  # it goes there, and does not declare from here
    assert track in crew.tracker.tracks[0]


def test_a_finished_frontier_is_out_at_once(play_rooms: Play) -> None:
    crew, _ = crew_after(play_rooms, 12)
    points = crew.frontiers().points
    assert len(points)
    crew.walk = lambda *_: None  # type: ignore[method-assign]  # out of reach
    crew.config = CrewConfig(arrive=0.0, use_heat=False)
    assert crew.explore(0, points[0]) is None
    left = crew.frontiers().points
    assert not (left == points[0]).all(1).any() and crew.still_there(points[0]) is False


def test_every_robot_looks_around_first(play_rooms: Play) -> None:
    """With eyes that see no goal: a goal in sight comes before looking around."""

    class Stop(Exception):
        pass

    poses = []

    def watch(shared: SharedState) -> None:
        poses.append(list(shared.poses))
        if shared.step == turns:
            raise Stop

    turns = CrewConfig().first_scan
    blind = EyesConfig(simulated=SimulatedRecognizerConfig(min_share=2.0))
    with pytest.raises(Stop):
        play_rooms(make_policy("frontier"), 3, eyes=blind, watch=watch)
    for track in zip(*poses):
        assert len({(pose.x, pose.z) for pose in track}) == 1
        turned = np.diff(np.unwrap([pose.heading for pose in track]))
        np.testing.assert_allclose(turned, np.radians(30), atol=1e-6)
    assert LEFT == MOVES.index("turn_left") and len(poses) == turns + 1


def test_nearest_free() -> None:
    points = np.array([[0.0, 0, 0], [3, 0, 0], [9, 0, 0]])
    assert nearest_free([1.0, 2.0, 3.0], points, []) == 0
    assert nearest_free([1.0, 2.0, 3.0], points, [np.array([0.4, 0, 0])]) == 1
    assert nearest_free([1.0, np.inf, np.inf], points, [points[0]]) == 0  # rather together than nowhere
    assert nearest_free([np.inf] * 3, points, []) is None and nearest_free([], points[:0], []) is None
