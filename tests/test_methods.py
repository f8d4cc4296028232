"""The adapted methods that need no VLM: what they choose, what they exchange, and what nobody can reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hm3dm3_env.episodes.schema import Episode, Goal
from hm3dm3_env.mapping import FREE, OCCUPIED, MapConfig, SharedMap
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged, SharedState
from hm3dm3_env.sim.base import Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.task import WAIT
from policies.base import available, make_policy, policy_class
from policies.dm3_nav.agent import Agent
from policies.dm3_nav.message import MapPatch, Message, merge, patch_of
from policies.dm3_nav.policy import Dm3NavPolicy
from policies.ego_swarm import EgoSwarmPolicy
from policies.eyes import EyesConfig
from policies.heatmaps.maps import HeatConfig, HeatMaps
from policies.recognition.tracker import Track
from policies.vlfm import VlfmPolicy

Play = Callable[..., EpisodeRecord]
METHODS = ("vlfm", "ego_swarm", "dm3_nav")
PERFECT = EyesConfig(recogniser="perfect")


class Stop(Exception):
    """Ends an episode in the middle."""


def after(policy: Any, play_rooms: Play, steps: int, **options: Any) -> SharedState:
    """Plays some steps; the state then, before the policy's next decision."""
    last: list[SharedState] = []

    def watch(shared: SharedState) -> None:
        last[:] = [shared]
        if shared.step == steps:
            raise Stop

    with pytest.raises(Stop):
        play_rooms(policy, options.pop("index", 3), watch=watch, **options)
    return last[0]


@pytest.mark.parametrize("name", METHODS)
def test_plays_to_the_end_and_again_the_same(name: str, play_rooms: Play) -> None:
    for index in (0, 3, 7):
        record = play_rooms(make_policy(name), index, seed=2)
        assert record.ended in ("resolved", "exhausted") and not record.privileged
        assert record.declarations and max(record.path) <= 3 * record.makespan + 0.25
        assert play_rooms(make_policy(name), index, seed=2).to_bytes() == record.to_bytes()


@pytest.mark.parametrize("name", METHODS)
def test_with_perfect_eyes_nearly_all_is_found(name: str, play_rooms: Play, rooms_episodes: list) -> None:
    records = [play_rooms(make_policy(name), i, eyes=PERFECT) for i in range(len(rooms_episodes))]
    found = [f for record in records for f in record.found()]
    assert sum(found) / len(found) > 0.8
    assert {record.agents for record in records} == {2, 3, 4}
    assert {len(record.goals) for record in records} == {3, 4, 5}


@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("ego_swarm", {"weight": -1.0}, "weight.*negative"),
        ("vlfm", {"combine": "sum"}, "combine.*sum.*max, mean"),
        ("vlfm", {"crew": {"use_heat": False}}, "crew.use_heat"),
        ("vlfm", {"radius": 0.0}, "radius"),
        ("dm3_nav", {"period": 0}, "period"),
        ("dm3_nav", {"range": float("nan")}, "range"),
        ("dm3_nav", {"intent_weight": 2.0}, "intent_weight"),
    ],
)
def test_config_errors(name: str, config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_policy(name, config)


# -- EGO-Swarm ---------------------------------------------------------------------------------------------


def test_repulsion(play_rooms: Play) -> None:
    policy = EgoSwarmPolicy()
    shared = after(policy, play_rooms, 2)
    here = shared.poses[1].position
    points = here + np.array([[0.0, 0, 0], [1.0, 0, 0], [100.0, 0, 0]])
    policy.targets = [None] * shared.agents
    alone = replace(shared, alive=[k < 2 for k in range(shared.agents)])
    np.testing.assert_allclose(policy.repulsion(0, points, alone), [0.2 * 16, 0.2 * 9, 0], atol=1e-9)
    policy.targets[1] = points[2]  # where it goes repels as where it is
    np.testing.assert_allclose(policy.repulsion(0, points, alone), [3.2, 1.8, 3.2], atol=1e-9)
    dead = replace(shared, alive=[k == 0 for k in range(shared.agents)])
    assert not policy.repulsion(0, points, dead).any()


def test_a_teammate_on_the_spot_is_worth_a_detour(play_rooms: Play) -> None:
    """Two frontiers, the nearer one under a teammate: the farther one wins within 3.2 m of extra way."""
    policy = EgoSwarmPolicy()
    shared = after(policy, play_rooms, 2)
    crew: Any = policy.crew
    mate = shared.poses[1].position
    points = mate + np.array([[0.0, 0, 0], [30.0, 0, 0]])
    alone = replace(shared, alive=[k < 2 for k in range(shared.agents)])
    for extra, chosen in ((3.0, 1), (3.4, 0)):
        crew.options = lambda k, extra=extra: (points, np.array([5.0, 5.0 + extra]))
        policy.targets = [None] * shared.agents
        np.testing.assert_array_equal(policy.target(0, alone), points[chosen])
    policy.config = replace(policy.config, weight=0.0)
    policy.targets = [None] * shared.agents
    np.testing.assert_array_equal(policy.target(0, alone), points[0])


# -- VLFM --------------------------------------------------------------------------------------------------


def test_the_value_of_a_frontier_is_a_median() -> None:
    heat = HeatMaps(HeatConfig(cell=0.25), SharedMap(MapConfig(size=16.0), np.zeros(3), 0.0), 2)
    row, column = heat.cells(np.array([1.0, 0, 2.0]))
    heat.value[0, row - 1 : row + 2, column - 1 : column + 2] = [[0, 0.2, 0], [0.4, 0.9, 0], [0, 0, 0]]
    heat.value[0, row + 4, column] = 1.0  # a metre away
    middle = np.array([[heat.origin[0] + (column + 0.5) * 0.25, 0, heat.origin[1] + (row + 0.5) * 0.25]])
    assert heat.median(middle, 0.5).tolist() == [[pytest.approx(0.4)], [-1.0]]
    assert heat.median(middle, 1.01)[0, 0] == pytest.approx(np.median([0.2, 0.4, 0.9, 1.0]))
    assert heat.median(np.zeros((0, 3)), 0.5).shape == (2, 0)


class Valued(VlfmPolicy):
    """VLFM whose values are given."""

    def values(self, points: np.ndarray, shared: SharedState) -> np.ndarray:
        return np.array([self.given[round(float(x), 3)] for x in points[:, 0]])


def valued(play_rooms: Play, **config: Any) -> tuple[Any, SharedState, np.ndarray]:
    """A policy in the middle of an episode, three frontiers, the nearest with the lowest value."""
    policy: Any = Valued(replace(VlfmPolicy.Config(), **config))
    policy.given = {}
    shared = after(policy, play_rooms, 2)
    points = np.array([[100.0, 0, 0], [110.0, 0, 0], [120.0, 0, 0]])
    policy.given = {100.0: 0.2, 110.0: 0.9, 120.0: 0.5}
    policy.crew.options = lambda k: (points, np.array([1.0, 2.0, 3.0]))
    policy.targets = [None] * shared.agents
    return policy, shared, points


def test_the_best_value_wins_and_teammates_keep_apart(play_rooms: Play) -> None:
    policy, shared, points = valued(play_rooms)
    assert policy.target(0, shared)[0] == 110 and policy.target(1, shared)[0] == 120
    policy, shared, points = valued(play_rooms, travel=0.8)  # 0.2 at 1 m beats 0.9 at 2 m
    assert policy.target(0, shared)[0] == 100
    policy, shared, points = valued(play_rooms, spread=0.0)
    assert policy.target(0, shared)[0] == 110 and policy.target(1, shared)[0] == 110


def test_a_frontier_is_kept_while_its_value_lasts(play_rooms: Play) -> None:
    policy, shared, points = valued(play_rooms)
    policy.target(0, shared)
    policy.crew.still_there = lambda point: True
    policy.given[120.0] = 0.95
    assert policy.target(0, shared)[0] == 110
    policy.given[110.0] = 0.895  # not worse by 0.01
    assert policy.target(0, shared)[0] == 110
    policy.given[110.0] = 0.8
    assert policy.target(0, shared)[0] == 120


def test_unknown_values_do_not_count_in_a_mean(play_rooms: Play) -> None:
    policy = VlfmPolicy(VlfmPolicy.Config(combine="mean"))
    shared = after(policy, play_rooms, 2)
    known = np.full((len(shared.goals), 3), -1.0)
    known[0] = [0.9, 0.2, -1.0]
    known[1] = [-1.0, 0.4, -1.0]
    policy.crew.heat.median = lambda points, radius: known  # type: ignore[method-assign, union-attr]
    shared = replace(shared, unresolved=[True] * len(shared.goals))
    assert policy.values(np.zeros((3, 3)), shared) == pytest.approx([0.9, 0.3, -1.0])


@pytest.mark.parametrize("name", ["frontier", "ego_swarm", "vlfm"])
def test_nobody_keeps_away_from_where_nobody_goes(name: str, play_rooms: Play) -> None:
    """Robots that are out of actions or approach a candidate go to no frontier."""
    policy: Any = make_policy(name)
    alive: list[bool] = []

    def watch(shared: SharedState) -> None:
        for k, target in enumerate(policy.targets if shared.step else ()):
            assert target is None or alive[k] and k not in policy.taken
        alive[:] = shared.alive

    play_rooms(policy, 3, watch=watch)
    assert not all(alive)


def test_choices_do_not_go_in_circles(play_rooms: Play) -> None:
    picks = {}
    for acyclic in (True, False):
        policy, shared, points = valued(play_rooms, acyclic=acyclic)
        policy.crew.still_there = lambda point: False
        picks[acyclic] = [int(policy.target(0, shared)[0]) for _ in range(5)]
    assert picks[True] == [110, 120, 100, 100, 100] and picks[False] == [110] * 5  # then the closest


# -- DM3-Nav -----------------------------------------------------------------------------------------------


def test_merged_maps() -> None:
    own = SharedMap(MapConfig(size=4.0), np.zeros(3), 0.0)
    other = SharedMap(MapConfig(size=4.0), np.zeros(3), 0.0)
    merge(own, patch_of(other))  # nothing known: nothing changes
    assert not own.cells.any() and own.window(0.0)[0].start >= own.window(0.0)[0].stop
    own.mark_free(np.array([0.5, 0, 0.5]), 0.3)
    other.mark_free(np.array([-0.5, 0, 0.5]), 0.3)
    other.mark_occupied(np.array([0.5, 0, 0.5]))
    expected = np.maximum(own.cells, other.cells)
    patch = patch_of(other)
    merge(own, patch)
    np.testing.assert_array_equal(own.cells, expected)
    assert {int(v) for v in np.unique(own.cells)} == {0, FREE, OCCUPIED}
    known = np.argwhere(own.cells)
    rows, columns = own.window(0.0)
    assert [rows.start, columns.start] == known.min(0).tolist()
    assert [rows.stop, columns.stop] == (known.max(0) + 1).tolist()
    other.cells[:] = 7  # what was sent is a copy
    assert patch.cells.max() == OCCUPIED


class Checked(Dm3NavPolicy):
    """Compares the robots' maps with the shared one after every exchange."""

    compared = 0
    bumps: list[tuple[int, int]]

    def _exchange(self, living: list[Agent], shared: SharedState) -> None:
        super()._exchange(living, shared)
        expected = shared.map.cells.copy()
        for cell in self.bumps:
            expected[cell] = OCCUPIED
        for agent in living:
            np.testing.assert_array_equal(agent.map.cells, expected)
        self.compared += 1


def test_with_infinite_range_every_map_is_the_shared_map(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what robots bumped into, which they mark on their own."""
    policy = Checked(Dm3NavPolicy.Config(range=float("inf"), map_period=1))
    policy.bumps, mark = [], SharedMap.mark_occupied

    def bump(own: SharedMap, position: np.ndarray) -> None:
        policy.bumps.append(tuple(own.to_cell(position).tolist()))
        mark(own, position)

    monkeypatch.setattr(SharedMap, "mark_occupied", bump)
    play_rooms(policy, 3, eyes=PERFECT)
    assert policy.compared > 20 and policy.sent["maps"] == policy.sent["messages"] > 0


class OnlyOne(Dm3NavPolicy):
    """All robots but one stand still, and see nothing."""

    def act(self, observations: Any, shared: SharedState) -> dict[str, int]:
        alive = [k == 0 and shared.alive[0] for k in range(shared.agents)]
        actions = super().act(observations, replace(shared, alive=alive))
        assert all(action == WAIT for name, action in actions.items() if name != "robot_0")
        return actions


def test_a_robot_that_is_cut_off_still_plays(play_rooms: Play) -> None:
    """Out of range nothing of the others matters: robot 0 does what it does when they are not there."""
    config = Dm3NavPolicy.Config(range=0.0)
    team, alone = (play_rooms(kind(config), 3, eyes=PERFECT) for kind in (Dm3NavPolicy, OnlyOne))
    assert team.method_record["sent"] == {"messages": 0, "maps": 0, "map_cells": 0}
    mine, same = ([step[0] for step in record.poses] for record in (team, alone))
    steps = min(len(mine), len(same))
    assert steps > 20 and mine[:steps] == same[:steps] and mine[0] != mine[steps - 1]
    assert any(alone.found())


def told(sender: int, shared: SharedState, **changes: Any) -> Message:
    nothing = (False,) * len(shared.goals)
    message = Message(sender, shared.step, shared.poses[sender].position, nothing, None, 0.0, None)
    return replace(message, **changes)


def met(play_rooms: Play, steps: int = 14) -> tuple[Agent, SharedState]:
    """Robot 0 in the middle of an episode, out of everybody's range."""
    policy = Dm3NavPolicy(Dm3NavPolicy.Config(range=0.0))
    shared = after(policy, play_rooms, steps, eyes=EyesConfig())
    agent = policy.agents[0]
    agent.look(shared)
    return agent, shared


def test_boards_spread(play_rooms: Play) -> None:
    agent, shared = met(play_rooms)
    done = tuple(j == 1 for j in range(len(shared.goals)))
    agent.hear(told(1, shared, done=done))
    assert agent.done == list(done) and agent.view.unresolved == [not d for d in done]
    assert agent.message(2).done == done  # and on, to robots that have not met robot 1


def test_of_two_robots_with_one_goal_the_less_sure_one_yields(play_rooms: Play) -> None:
    agent, shared = met(play_rooms)
    agent.goal, agent.score = 0, 0.7
    agent.hear(told(1, shared, goal=0, score=0.6))
    assert agent.goal == 0 and not agent.blocked
    agent.hear(told(1, shared, goal=0, score=0.7))  # the lower number keeps it
    assert agent.goal == 0
    agent.hear(told(1, shared, goal=0, score=0.8))
    assert agent.goal is None and agent.blocked == {0: shared.step + 20}
    spot = shared.poses[0].position + np.array([0.5, 0, 0])
    agent.crew.tracker.tracks = [[] for _ in shared.goals]
    agent.crew.tracker.tracks[0] = [Track(0, spot, [0.9], [0.9], 1.0)]
    agent._choose_goal()
    assert agent.goal is None
    agent.view.step += 21
    agent._choose_goal()
    assert agent.goal == 0


def test_maps_are_sent_at_first_contact_and_now_and_then(play_rooms: Play) -> None:
    agent, shared = met(play_rooms)
    sent = []
    for step in range(shared.step, shared.step + 21):
        agent.view.step = step
        sent.append(agent.message(1).patch is not None)
    assert [i for i, with_map in enumerate(sent) if with_map] == [0, 11]
    assert agent.message(2).patch is not None  # another robot, first contact
    agent.hear(told(1, shared, patch=MapPatch((0, 0), np.full((2, 2), FREE, np.uint8))))
    assert (agent.map.cells[:2, :2] == FREE).all()


def test_utility_prefers_what_is_closer_to_me_than_to_others(play_rooms: Play) -> None:
    agent, shared = met(play_rooms)
    here = shared.poses[0].position
    field = agent.crew.field(0)
    reached = np.argwhere(np.isfinite(field.distance))
    places = agent.map.to_world(reached * 2 + field.corner)
    far = places[int(np.hypot(*(places - here)[:, [0, 2]].T).argmax())]
    points = np.stack([here, far])
    distances = agent.crew.planner.distances(field, points)
    assert agent.utility(points, distances).argmax() == 0  # nobody heard: the nearest
    agent.hear(told(1, shared, position=here))
    even = agent.utility(points, distances)
    assert even[1] == pytest.approx(1, rel=1e-3)  # as far for both
    agent.hear(told(1, shared, position=here, frontier=far))
    assert agent.utility(points, distances)[1] == pytest.approx(even[1] * 0.25)
    agent.view.step += 4  # heard too long ago
    assert not agent.neighbours()


# -- what nobody can reach ---------------------------------------------------------------------------------

TRUTH = (Episode, Goal, Privileged, Instance, EmbeddedSimulator)


def reachable(root: Any) -> Iterator[Any]:
    """Everything that hangs on an object by attributes and containers (not what functions close over)."""
    seen, todo = set(), [root]
    while todo:
        item = todo.pop()
        if (
            id(item) in seen
            or isinstance(item, (str, bytes, int, float, bool, type(None), np.ndarray, type))
            or isinstance(item, ModuleType)
        ):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, dict):
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            todo += list(item)
        elif not callable(item) or hasattr(item, "__dict__"):
            todo += list(getattr(item, "__dict__", {}).values())
            if is_dataclass(item):
                todo += [getattr(item, f.name) for f in fields(item)]
        if isinstance(item, MethodType):  # a bound method leads back to its object
            todo.append(item.__self__)


class Planted:
    """Wraps a policy; collects whatever of the truth hangs on what it is given, and on itself."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.privileged, self.found = policy, policy.privileged, []
        for name in ("answers", "recognises_by_vlm", "goal_image"):
            if hasattr(policy, name):
                setattr(self, name, getattr(policy, name))

    def _search(self, *things: Any) -> None:
        self.found += [type(x).__name__ for x in reachable(things) if isinstance(x, TRUTH)]
        self.found += ["labels" for x in reachable(things) if isinstance(x, Frame) and x.semantic is not None]

    def reset(self, task: Any) -> None:
        self._search(task)
        self.policy.reset(task)

    def act(self, observations: Any, shared: SharedState) -> dict[str, int]:
        actions = self.policy.act(observations, shared)
        if shared.step % 10 == 0:
            self._search(observations, shared, self.policy)
        return actions

    def record(self) -> dict[str, Any]:
        return self.policy.record()


class TwoFaced(Planted):
    """Says that it is privileged while it is given things, and later that it is not."""

    def act(self, observations: Any, shared: SharedState) -> dict[str, int]:
        self.privileged = False
        return self.policy.act(observations, shared)


def test_who_was_told_the_truth_is_marked(play_rooms: Play) -> None:
    assert play_rooms(TwoFaced(make_policy("oracle")), 0).privileged


def test_asking_again_tells_nothing_new(play_rooms: Play) -> None:
    """Noise cannot be averaged away by looking at one frame many times, nor worked out from a seed."""
    keep: list[Any] = []

    class Asks(Planted):
        def reset(self, task: Any) -> None:
            keep[:] = [task]
            super().reset(task)

    asks = Asks(make_policy("frontier"))
    shared = after(asks, play_rooms, 3)
    detector, wanted = keep[0].recognizer, shared.unresolved
    best = max(range(shared.agents), key=lambda k: len(detector.candidates([shared.frames[k]], wanted)[0]))
    shared.frames[0], shared.frames[best] = shared.frames[best], shared.frames[0]
    (once,) = detector.candidates(shared.frames[:1], wanted)
    assert once
    for _ in range(3):
        again = detector.candidates(shared.frames, wanted)
        assert [(c.goal, c.score) for c in again[0]] == [(c.goal, c.score) for c in once]
    nothing = [False] * len(wanted)
    assert detector.candidates(shared.frames, nothing) == [[] for _ in shared.frames]
    frame = replace(shared.frames[0])  # one that nobody asked about, goal by goal
    apart = [
        detector.candidates([frame], [i == j for i in range(len(wanted))])[0] for j in range(len(wanted))
    ]
    assert [{c.goal for c in found} - {j} for j, found in enumerate(apart)] == [set()] * len(wanted)
    (whole,) = detector.candidates([frame], [True] * len(wanted))
    assert sorted(c.score for c in whole) == sorted(c.score for found in apart for c in found)
    entropy = keep[0].rng.bit_generator.seed_seq.entropy
    assert entropy > 2**64  # a digest
    first = keep[0].rng.spawn(1)[0].random()
    after(asks, play_rooms, 1, index=4)
    assert keep[0].rng.spawn(1)[0].random() != first


def test_the_search_for_the_truth_finds_it(rooms_episodes: list[Episode]) -> None:
    holder = SimpleNamespace(a=[{"b": (rooms_episodes[0],)}])
    assert any(isinstance(x, Episode) for x in reachable(holder))
    assert any(isinstance(x, Episode) for x in reachable(SimpleNamespace(f=Holder(rooms_episodes[0]).method)))


class Holder:
    """Something with the truth behind a method."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def method(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("name", sorted(available()))
def test_only_privileged_methods_can_reach_the_truth(name: str, play_rooms: Play) -> None:
    """No episode, goal, object, simulator or semantic image hangs on anything that other methods hold."""
    spy = Planted(make_policy(name))
    play_rooms(spy, 3)
    assert bool(spy.found) == policy_class(name).privileged, spy.found[:5]  # type: ignore[attr-defined]
