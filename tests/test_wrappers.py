"""The wrappers: what each changes, and that it leaves the rest alone."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import parallel_api_test, parallel_seed_test

from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.task import declare
from hm3dm3_env.wrappers import flatten_obs_v0, mask_to_obs_v0, remove_finished_agents_v0
from tests.conftest import flat

Make = Callable[..., HM3DM3ParallelEnv]
WRAPPERS = {
    "flat": flatten_obs_v0,
    "masked": mask_to_obs_v0,
    "strict": remove_finished_agents_v0,
    "all": lambda env: mask_to_obs_v0(flatten_obs_v0(remove_finished_agents_v0(env))),
}


@pytest.fixture(params=WRAPPERS)
def wrap(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return WRAPPERS[request.param]


def test_parallel_api(make_env: Make, wrap: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(wrap(make_env(max_agents=2, task={"max_actions": 40})), num_cycles=100)
        # with budgets that run out one by one
        parallel_api_test(wrap(make_env(max_agents=2, task={"budget_factor": 0.5})), num_cycles=100)


def test_parallel_seed(make_env: Make, wrap: Callable) -> None:
    parallel_seed_test(lambda: wrap(make_env(task={"max_actions": 20})), num_cycles=30)


def test_what_is_forwarded(make_env: Make, wrap: Callable) -> None:
    env = make_env("rgb_array")
    wrapped = wrap(env)
    assert wrapped.unwrapped is env and wrapped.state_space is env.state_space
    assert wrapped.possible_agents == env.possible_agents and wrapped.metadata == env.metadata
    assert wrapped.render_mode == "rgb_array"
    observations, _ = wrapped.reset(seed=0, options={"num_agents": 2})
    assert len(env.episode.starts) == 2 and wrapped.unwrapped.episode.id == env.episode.id
    assert (wrapped.state() == env.state()).all() and wrapped.render().ndim == 3
    for name, mine in observations.items():
        assert wrapped.observation_space(name) is wrapped.observation_space(name)
        assert wrapped.observation_space(name).contains(mine)
        assert wrapped.action_space(name) is env.action_space(name)
    wrapped.max_cycles = 7
    assert env.max_cycles == wrapped.max_cycles == 7
    wrapped.close()
    wrapped.close()


def test_pickled(make_env: Make, wrap: Callable) -> None:
    env = wrap(make_env(task={"max_actions": 15}))
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 2))
    copy = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        a, b = env.step(dict.fromkeys(env.agents, 1)), copy.step(dict.fromkeys(copy.agents, 1))
        assert flat(a) == flat(b)


def test_flat(make_env: Make) -> None:
    env = make_env()
    wrapped, plain = flatten_obs_v0(env), make_env()
    space = wrapped.observation_space("robot_0")
    assert isinstance(space, spaces.Box) and space.dtype == np.float32 and space.is_bounded()
    assert space is not wrapped.observation_space("robot_1")
    seen, original = wrapped.reset(seed=0)[0], plain.reset(seed=0)[0]
    for name in seen:
        assert (
            seen[name].shape == space.shape and seen[name].dtype == np.float32 and space.contains(seen[name])
        )
        position = 0
        for key, leaf in env.observation_space(name).spaces.items():
            part = seen[name][position : position + int(np.prod(leaf.shape))]
            scale = 255 if leaf.dtype == np.uint8 else 1
            np.testing.assert_allclose(part * scale, original[name][key].ravel(), atol=1e-3)
            position += len(part)
        assert position == len(seen[name])
    assert wrapped.step({})[0]["robot_0"].shape == space.shape


def test_masked(make_env: Make) -> None:
    wrapped = mask_to_obs_v0(make_env())
    space = wrapped.observation_space("robot_0")
    assert isinstance(space, spaces.Dict) and set(space.spaces) == {"observation", "action_mask"}
    seen, infos = wrapped.reset(seed=0)
    while wrapped.agents:
        for name in seen:
            assert (seen[name]["action_mask"] == infos[name]["action_mask"]).all()
            assert seen[name]["action_mask"] is not infos[name]["action_mask"]
            assert seen[name]["action_mask"].dtype == np.int8
        goal = int(np.argmax(seen["robot_0"]["action_mask"][declare(0) :]))
        seen, *_, infos = wrapped.step({"robot_0": declare(goal)})
    assert seen["robot_0"]["action_mask"].tolist() == [1] + [0] * 10


def test_strict_robots_leave_one_by_one(make_env: Make) -> None:
    wrapped = remove_finished_agents_v0(make_env(task={"max_actions": 30}))
    wrapped.reset(seed=0, options={"num_agents": 3})
    rules = wrapped.unwrapped.rules
    rules.actions[1] = 27  # as if it had acted before
    left: dict[str, int] = {}
    for step in range(1, 31):
        live = list(wrapped.agents)
        observations, rewards, terminated, truncated, infos = wrapped.step({})
        for part in (observations, rewards, terminated, truncated, infos):
            assert list(part) == live
        assert not any(terminated.values())
        left |= {name: step for name in live if truncated[name]}
        assert wrapped.agents == [name for name in live if not truncated[name]]
    assert left == {"robot_0": 30, "robot_1": 3, "robot_2": 30} and not wrapped.agents
    assert wrapped.step({}) == ({}, {}, {}, {}, {})
    assert wrapped.reset(seed=0, options={"num_agents": 3})[0].keys() == {"robot_0", "robot_1", "robot_2"}


def test_strict_success_terminates_those_still_there(make_env: Make) -> None:
    wrapped = remove_finished_agents_v0(make_env())
    wrapped.reset(seed=0, options={"num_agents": 2})
    wrapped.unwrapped.rules.actions[1] = 499
    goals = len(wrapped.unwrapped.episode.goals)
    for j in range(goals):
        _, _, terminated, truncated, _ = wrapped.step({"robot_0": declare(j)})
    assert terminated == {"robot_0": True} and truncated == {"robot_0": False} and not wrapped.agents


def test_strict_the_last_declaration_with_the_last_action(make_env: Make) -> None:
    wrapped = remove_finished_agents_v0(make_env(task={"max_actions": 5}))
    episode = next(e for e in wrapped.unwrapped.episodes if len(e.goals) == 5)
    wrapped.reset(seed=0, options={"episode": episode.id})
    for j in range(5):
        _, _, terminated, truncated, _ = wrapped.step({"robot_0": declare(j)})
    assert all(terminated.values()) and not any(truncated.values()) and not wrapped.agents
