"""The PettingZoo environment against what MARL libraries need of one."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from math import hypot
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, bombardment_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import BaseWrapper, parallel_to_aec

import hm3dm3_env
from hm3dm3_env.env import HM3DM3ParallelEnv, data_root, parallel_env
from hm3dm3_env.episodes.schema import EpisodeError
from hm3dm3_env.geometry import Pose
from hm3dm3_env.observe import KEYS
from hm3dm3_env.task import ACTIONS, MAX_GOALS, declare
from tests.conftest import SMALL, flat

Make = Callable[..., HM3DM3ParallelEnv]
WAIT, FORWARD, LEFT = 0, 1, 2
MEANT = (
    "Observation is not a NumPy array",
    "probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)
"""PettingZoo's warnings about dict observations, which are meant."""


def play(
    env: HM3DM3ParallelEnv, seed: int | None = None, steps: int = 1000, **options: Any
) -> list[list[bytes]]:
    """A whole episode with seeded random actions (illegal ones too), as bytes a step."""
    rng = np.random.default_rng(7)
    log = [flat(env.reset(seed=seed, options=options))]
    for _ in range(steps):
        if not env.agents:
            break
        actions = {
            name: rng.choice(len(ACTIONS), p=[0.05, 0.45, 0.2, 0.2, 0.04, 0.04, *[0.004] * 5])
            for name in env.agents
        }
        log.append([*flat(env.step(actions)), env.state().tobytes()])
    return log


def digest(env: HM3DM3ParallelEnv) -> str:
    """Of 60 steps."""
    return hashlib.sha256(b"".join(part for step in play(env, 11, steps=60) for part in step)).hexdigest()


# -- PettingZoo's own tests --------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [2, 4])
def test_parallel_api(make_env: Make, agents: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(make_env(max_agents=agents, task={"max_actions": 60}), num_cycles=150)


def test_parallel_seed(make_env: Make) -> None:
    parallel_seed_test(lambda: make_env(task={"max_actions": 30}), num_cycles=50)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_aec_api(make_env: Make, seed: int) -> None:
    env = parallel_to_aec(make_env(task={"max_actions": 20 + seed}))
    env.reset(seed=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=60)
    ours = [str(w.message) for w in caught if not any(part in str(w.message) for part in MEANT)]
    assert not ours  # dict observations are meant; nothing else is warned about


def test_aec_seed(make_env: Make) -> None:
    seed_test(lambda: parallel_to_aec(make_env(task={"max_actions": 20})), num_cycles=30)


def test_aec_state(make_env: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state_test(
            parallel_to_aec(make_env(task={"max_actions": 20})),
            make_env(task={"max_actions": 20}),
            num_cycles=30,
        )


class Seen(BaseWrapper):
    """PettingZoo up to 1.27 expects in its bombardment test that step() returns an observation."""

    def step(self, action: Any) -> Any:  # type: ignore[override]
        super().step(action)
        return self.last()[0]


def test_bombardment(make_env: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in MEANT:
            warnings.filterwarnings("ignore", message=part)
        bombardment_test(Seen(parallel_to_aec(make_env())), cycles=12)


# -- spaces and what is in them ----------------------------------------------------------------------------


def test_spaces_are_known_before_a_scene(make_env: Make) -> None:
    env = make_env(data="/nowhere", split="none")  # nothing is read in the constructor
    names = [f"robot_{k}" for k in range(4)]
    assert env.possible_agents == names and env.agents == []
    for name in names:
        space = env.observation_space(name)
        assert space is env.observation_space(name) and env.action_space(name) is env.action_space(name)
        assert isinstance(space, spaces.Dict) and set(space.spaces) == set(KEYS)
        for leaf in space.spaces.values():
            assert isinstance(leaf, spaces.Box) and leaf.is_bounded()
        assert space == env.observation_space("robot_0")
        assert env.action_space(name) == spaces.Discrete(11)
    assert env.observation_space("robot_0") is not env.observation_space("robot_1")
    assert env.action_space("robot_0") is not env.action_space("robot_1")
    assert env.state_space.contains(env.state())
    with pytest.raises(EpisodeError, match="no such file"):
        env.reset()


def test_metadata(make_env: Make) -> None:
    env = make_env()
    assert env.metadata["name"] == "hm3d_m3_v0" and env.metadata["is_parallelizable"]
    assert env.metadata["render_modes"] == ["rgb_array"] and env.metadata["render_fps"] > 0
    assert env.render_mode is None and env.unwrapped is env and env.max_cycles is None
    env.max_cycles = 5
    assert len(play(env, 0)) == 6


def test_observations_are_in_their_spaces_and_fresh(make_env: Make) -> None:
    env = make_env()
    rng = np.random.default_rng(0)
    last, _ = env.reset(seed=0)
    for _ in range(40):
        for name, mine in last.items():
            assert env.observation_space(name).contains(mine)
            for key, leaf in env.observation_space(name).spaces.items():
                assert mine[key].dtype == leaf.dtype and mine[key].shape == leaf.shape
        before = pickle.dumps(last)
        seen = env.step({name: int(rng.integers(1, 6)) for name in env.agents})[0]
        assert pickle.dumps(last) == before  # the old ones are untouched
        for name in seen:
            for key in KEYS:
                assert not np.shares_memory(seen[name][key], last[name][key])
                assert not any(
                    np.shares_memory(seen[name][key], seen[other][key]) for other in seen if other != name
                )
        for array in seen["robot_0"].values():
            array[...] = 0  # a learner may scribble on its own
        last = env.step({})[0]
        assert last["robot_0"]["alive"][0] == 1
        assert env.state_space.contains(env.state())


def test_infos_are_numbers_with_the_same_keys(make_env: Make) -> None:
    env = make_env(task={"max_actions": 15})
    _, infos = env.reset(seed=0)
    while True:
        for info in infos.values():
            assert set(info) == {"action_mask", "actions_left", "step"}
            assert info["action_mask"].dtype == np.int8 and info["action_mask"].shape == (11,)
            assert type(info["actions_left"]) is int and type(info["step"]) is int
        if not env.agents:
            break
        live = list(env.agents)
        observations, rewards, terminated, truncated, infos = env.step({})
        for part in (observations, rewards, terminated, truncated, infos):
            assert list(part) == live
        assert {type(v) for v in rewards.values()} == {float}
        assert {type(v) for part in (terminated, truncated) for v in part.values()} == {bool}


def test_goals_as_the_team_is_told(make_env: Make) -> None:
    env = make_env()
    for episode in env.episodes:
        seen = env.reset(seed=0, options={"episode": episode.id})[0]["robot_0"]
        for j in range(MAX_GOALS):
            text = bytes(seen["goal_text"][j]).rstrip(b"\0").decode()
            image = seen["goal_image"][:, j * 64 : (j + 1) * 64]
            if j >= len(episode.goals):
                assert not seen["goal_modality"][j].any() and not text and not image.any()
                assert seen["goal_unresolved"][j] == 0
                continue
            goal = episode.goals[j]
            assert seen["goal_modality"][j].tolist() == [goal.modality == m for m in ("ON", "TN", "IIN")]
            assert text == goal.text and image.any() == (goal.modality == "IIN")
            assert seen["goal_unresolved"][j] == 1


def test_larger_goal_images_leave_observations_as_they_are(make_env: Make) -> None:
    small, large = make_env(), make_env(goal_image=160)
    images = 0
    for episode in small.episodes:
        told, same = (env.reset(options={"episode": episode.id})[0] for env in (small, large))
        assert flat(told) == flat(same)
        for mine, bigger in zip(small.shared.goals, large.shared.goals):
            assert (mine.modality, mine.text) == (bigger.modality, bigger.text)
            assert (mine.image is None) == (bigger.image is None)
            if mine.image is not None:
                assert mine.image.shape == (64, 64, 3) and bigger.image.shape == (160, 160, 3)
                images += 1
                photos = mine.image, bigger.image  # the same photo: average colours of 8 x 8 blocks
                blocks = [p.reshape(8, len(p) // 8, 8, len(p) // 8, 3).mean((1, 3)) for p in photos]
                assert np.abs(blocks[0] - blocks[1]).mean() < 6
    assert images
    with pytest.raises(ValueError, match="goal_image"):
        make_env(goal_image=-1)


def test_chosen_keys(make_env: Make) -> None:
    env = make_env(observation={"keys": ["pose", "map"], "map_size": 16})
    seen = env.reset(seed=0)[0]["robot_0"]
    assert list(seen) == ["pose", "map"] and seen["map"].shape == (16, 16, 3)
    assert env.observation_space("robot_0").contains(seen)
    assert env.frames[0].rgb is None  # nobody looks at colours: they are not rendered


# -- determinism -------------------------------------------------------------------------------------------


def test_whole_episodes_are_the_same_bytes(make_env: Make) -> None:
    a, b = make_env(task={"max_actions": 40}), make_env(task={"max_actions": 40})
    first, second = (
        [play(a, 3), play(a), play(a)],
        [play(b, 3), play(b), play(b)],
    )  # later resets continue the stream
    assert first == second
    assert play(a, 3) == first[0]
    assert first[0] != first[1]


def test_same_bytes_in_another_process(make_env: Make, data: Path) -> None:
    code = (
        "import sys, tests.test_env as t; "
        "print(t.digest(t.parallel_env(split='rooms', data=sys.argv[1], camera=t.SMALL)))"
    )
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", code, str(data)]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert printed.split()[-1] == digest(make_env())


def test_global_random_state_is_not_touched(make_env: Make) -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr,index] # noqa: NPY002
    first = play(make_env(task={"max_actions": 20}), 3)
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index] # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert play(make_env(task={"max_actions": 20}), 3) == first


def test_unseeded_resets_differ(make_env: Make) -> None:
    assert len({make_env().reset()[0]["robot_0"]["pose"].tobytes() for _ in range(12)}) > 1


def test_pickled_before_reset(make_env: Make) -> None:
    env = make_env(task={"max_actions": 20})
    copy = pickle.loads(pickle.dumps(env))
    assert play(copy, 5) == play(env, 5)


def test_pickled_in_the_middle(make_env: Make) -> None:
    env = make_env(render_mode="rgb_array", task={"max_actions": 30})
    play(env, 5, steps=12)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.agents == env.agents and (copy.state() == env.state()).all()
    rng = np.random.default_rng(1)
    while env.agents:
        actions = {name: int(rng.integers(11)) for name in env.agents}
        assert flat(copy.step(actions)) == flat(env.step(actions))
        assert copy.render().tobytes() == env.render().tobytes()
    assert play(copy) == play(env)  # and the generator went along


def test_closed_twice_and_used_again(make_env: Make) -> None:
    env = make_env(task={"max_actions": 10})
    log = play(env, 1)
    env.close()
    env.close()
    assert play(env, 1) == log


# -- actions -----------------------------------------------------------------------------------------------


def test_action_masks(make_env: Make) -> None:
    env = make_env(task={"max_actions": 8})
    _, infos = env.reset(seed=0, options={"num_agents": 2})
    goals = len(env.episode.goals)
    expected = [1] * 6 + [1] * goals + [0] * (5 - goals)
    assert infos["robot_0"]["action_mask"].tolist() == expected
    for robot in ("robot_2", "robot_3"):
        assert infos[robot]["action_mask"].tolist() == [1] + [0] * 10 and infos[robot]["actions_left"] == 0
    *_, infos = env.step({"robot_0": declare(1)})
    expected[declare(1)] = 0
    assert infos["robot_0"]["action_mask"].tolist() == infos["robot_1"]["action_mask"].tolist() == expected
    assert infos["robot_0"]["actions_left"] == 7 and infos["robot_0"]["step"] == 1


def test_illegal_missing_and_array_actions(make_env: Make) -> None:
    env = make_env()
    first, _ = env.reset(seed=0, options={"num_agents": 2})
    goals = len(env.episode.goals)
    pose = [first["robot_0"]["pose"].tolist(), first["robot_1"]["pose"].tolist()]
    for actions in ({"robot_0": 11, "robot_1": -1}, {}, {"robot_3": FORWARD, "nobody": FORWARD},
                    *([{"robot_0": declare(goals)}] if goals < 5 else [])):
        seen = env.step(actions)[0]
        assert [seen["robot_0"]["pose"].tolist(), seen["robot_1"]["pose"].tolist()] == pose
    assert (
        env.rules.actions == [env.rules.steps] * 2 and not env.rules.declarations
    )  # they cost what waiting costs
    turned = env.step({"robot_0": np.array(LEFT), "robot_1": np.int64(LEFT)})[0]
    assert turned["robot_0"]["pose"][3] != pose[0][3] and turned["robot_1"]["pose"][3] != pose[1][3]


def test_moves_reach_the_world(make_env: Make) -> None:
    env = make_env()
    before = env.reset(seed=0)[0]["robot_0"]["pose"]
    for action in range(6):
        env.step({"robot_0": action})
    assert env._log_actions[0][0] == "wait" and env._log_actions[5][0] == "look_down"
    assert env.poses[0].pitch == 0 and hypot(env.poses[0].x - before[0], env.poses[0].z - before[2]) <= 0.26


# -- endings -----------------------------------------------------------------------------------------------


def test_all_end_together_when_everything_is_declared(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=0)
    for j in range(len(env.episode.goals)):
        assert env.agents == env.possible_agents
        _, _, terminated, truncated, infos = env.step({"robot_0": declare(j)})
    assert all(terminated.values()) and not any(truncated.values()) and len(terminated) == 4
    assert all(info["action_mask"].tolist() == [1] + [0] * 10 for info in infos.values())
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {}) and env.step({"robot_0": 1}) == ({}, {}, {}, {}, {})


def test_all_end_together_when_budgets_are_spent(make_env: Make) -> None:
    env = make_env(task={"max_actions": 12})
    env.reset(seed=0)
    for step in range(12):
        assert env.agents == env.possible_agents, step
        _, _, terminated, truncated, _ = env.step({})
    assert all(truncated.values()) and not any(terminated.values()) and env.agents == []


def test_max_cycles_truncates(make_env: Make) -> None:
    env = make_env(max_cycles=3)
    env.reset(seed=0)
    for _ in range(3):
        _, _, terminated, truncated, _ = env.step({})
    assert all(truncated.values()) and not any(terminated.values()) and env.agents == []


def test_out_of_path_a_robot_stays_and_can_only_wait(make_env: Make) -> None:
    env = make_env(task={"budget_factor": 0.01})
    first, _ = env.reset(seed=0)
    robot = next(f"robot_{k}" for k in range(len(env.poses)))
    for _ in range(12):  # turn until the way is free
        seen, *_, infos = env.step({robot: FORWARD})
        if seen[robot]["alive"][0] == 0:
            break
        env.step({robot: LEFT})
    assert seen[robot]["alive"][0] == 0 and seen["robot_1"]["team_alive"][0] == 0
    assert infos[robot]["action_mask"].tolist() == [1] + [0] * 10
    spent, pose = env.rules.actions[0], seen[robot]["pose"]
    seen = env.step({robot: LEFT})[0]
    seen = env.step({robot: declare(0)})[0]
    assert (seen[robot]["pose"] == pose).all() and env.rules.actions[0] == spent and robot in env.agents
    assert seen[robot]["goal_unresolved"][0] == 1


# -- padding and options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_fewer_robots_are_padded(make_env: Make, agents: int) -> None:
    env = make_env()
    seen, _ = env.reset(seed=1, options={"num_agents": agents})
    assert len(env.episode.starts) == agents and env.agents == env.possible_agents
    for k, mine in enumerate(seen.values()):
        assert mine["alive"][0] == float(k < agents)
        assert mine["team_alive"].tolist() == [1.0] * agents + [0.0] * (4 - agents)
        assert mine["rgb"].any() == (k < agents) and mine["map"].any() == (k < agents)
        assert (mine["team_poses"][agents:] == 0).all()
    env.step({f"robot_{k}": FORWARD for k in range(4)})
    assert len(env.rules.actions) == agents
    assert env.state_space.contains(env.state())


def test_options(make_env: Make) -> None:
    env = make_env()
    for episode in env.episodes[:4]:
        env.reset(seed=0, options={"episode": episode.id})
        assert env.episode.id == episode.id
    env.reset(options={"scene": env.episode.scene.name, "num_agents": 3, "colour": "blue"})
    assert len(env.episode.starts) == 3
    env.reset(options=None)
    env.reset(options={"episode": None})


@pytest.mark.parametrize(
    "options", [{"episode": "rooms-99999"}, {"scene": "nowhere"}, {"num_agents": 1}, {"num_agents": 7}]
)
def test_options_that_nothing_fits(make_env: Make, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="split 'rooms' has no episode with"):
        make_env().reset(seed=0, options=options)


def test_only_episodes_that_fit_the_team(make_env: Make) -> None:
    env = make_env(max_agents=2)
    for _ in range(6):
        env.reset()
        assert len(env.episode.starts) == 2
    with pytest.raises(ValueError, match="at most max_agents"):
        make_env(max_agents=1).reset()
    with pytest.raises(ValueError, match="takes at most 2"):
        env.begin(next(e for e in env.episodes if len(e.starts) == 4))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_agents": 0}, "max_agents must be 1 to 8"),
        ({"max_agents": 9}, "max_agents"),
        ({"max_agents": "many"}, "Integer"),
        ({"splt": "val"}, "splt"),
        ({"camera": {"widht": 3}}, "widht"),
        ({"camera": {"width": 0}}, "camera size"),
        ({"camera": {"hfov_deg": 180}}, "hfov_deg"),
        ({"camera": {"min_depth": 6}}, "min_depth < max_depth"),
        ({"camera": 3}, "Camera"),
        ({"render_mode": "human"}, "render_mode must be"),
        ({"max_cycles": 0}, "max_cycles"),
        ({"observation": {"keys": ["smell"]}}, r"unknown \['smell'\]"),
        ({"observation": {"map_size": 0}}, "map_size"),
        ({"map": {"cell": 0}}, "cell"),
        ({"body": {"radius": -1}}, "body"),
        ({"task": {"budget_factor": 0}}, "budget_factor"),
        ({"task": {"reward": {"kind": "sparse"}}}, "reward.kind"),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parallel_env(**wrong)


def test_the_data_folder_can_come_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_root("data") == Path("data")
    monkeypatch.setenv("HM3DM3_DATA", "/somewhere")
    assert data_root("data") == Path("/somewhere") and data_root("mine") == Path("mine")


# -- rewards and secrets -----------------------------------------------------------------------------------


def test_team_reward(make_env: Make) -> None:
    for near, right in ((1000.0, True), (0.0, False)):
        env = make_env(task={"success_distance": near})
        env.reset(seed=0)
        rewards = env.step({"robot_1": declare(0)})[1]
        expected = (1.0 if right else -0.25) / len(env.episode.goals) - 0.001
        team = len(env.poses)
        wanted = {name: expected if k < team else 0.0 for k, name in enumerate(env.possible_agents)}
        assert rewards == pytest.approx(wanted)  # robots that are not in the episode get nothing
        assert env.record("m", 0).found()[0] is right


def test_shaping_pays_for_progress_only(make_env: Make) -> None:
    env = make_env(task={"reward": {"shaping": 1.0, "step": 0.0, "right": 0.0, "wrong": 0.0}})
    env.reset(seed=2)
    goals = len(env.episode.goals)
    start, total, rng = sum(env._nearest()), 0.0, np.random.default_rng(0)
    for _ in range(60):
        actions = {name: int(rng.choice([FORWARD, FORWARD, FORWARD, LEFT])) for name in env.agents}
        total += env.step(actions)[1]["robot_0"]
    assert total == pytest.approx((start - sum(env._nearest())) / goals, abs=1e-6) and total != 0
    for j in range(goals - 1):
        assert env.step({"robot_0": declare(j)})[1]["robot_0"] == pytest.approx(0, abs=1e-9)


def test_verdicts_are_seen_nowhere(make_env: Make) -> None:
    """Two worlds that differ in nothing but the verdicts look the same to the team."""
    always, never = (make_env("rgb_array", task={"success_distance": near, "reward": {"kind": "none"}})
                     for near in (1000.0, 0.0))
    for env in (always, never):
        env.reset(seed=4)
    rng = np.random.default_rng(0)
    for step in range(30):
        actions = {name: int(rng.integers(1, 6)) for name in always.agents}
        if step % 8 == 3:
            actions["robot_0"] = declare(step // 8)
        a, b = always.step(actions), never.step(actions)
        assert flat(a) == flat(b)
        assert set(a[1].values()) <= {0.0}
        assert (always.state() == never.state()).all() and (always.render() == never.render()).all()
        mine, other = always.shared, never.shared
        assert (mine.unresolved, mine.alive, mine.poses, mine.actions_left) == (
            other.unresolved, other.alive, other.poses, other.actions_left)
        if not always.agents:
            break
    assert always.rules.found > 0 == never.rules.found


def test_nothing_privileged_is_handed_out(make_env: Make) -> None:
    env = make_env(semantic=True)  # for simulated recognisers; never in an observation
    seen, infos = env.reset(seed=0)
    assert set(seen["robot_0"]) == set(KEYS) and "semantic" not in KEYS
    assert set(infos["robot_0"]) == {"action_mask", "actions_left", "step"}
    told = {name for goal in env.shared.goals for name in vars(goal)}
    assert told == {"modality", "text", "image"}
    assert not {"episode", "makespan", "viewpoints", "objects", "rules", "declarations"} & set(
        vars(env.shared)
    )


def test_same_goals_with_another_truth_look_the_same(make_env: Make) -> None:
    """d* and object ids are in nothing that the team sees (while no budget runs out)."""
    import dataclasses

    env, other = make_env(), make_env()
    episode = env.episodes[3]
    lied = dataclasses.replace(episode, makespan=episode.makespan * 2, goals=tuple(
        dataclasses.replace(g, object_id=-1) for g in episode.goals))
    env.begin(episode)
    other.begin(lied)
    for _ in range(5):
        assert flat(env.step({"robot_0": LEFT})) == flat(other.step({"robot_0": LEFT}))


# -- the rest ----------------------------------------------------------------------------------------------


def test_render(make_env: Make) -> None:
    env = make_env("rgb_array")
    assert env.render() is None  # nothing to show before the first reset
    env.reset(seed=0)
    first = env.render()
    assert first is not None and first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    assert first.shape[0] % 2 == 0 and first.shape[1] % 2 == 0 and len(np.unique(first)) > 20
    env.step({name: FORWARD for name in env.agents})
    env.step({name: LEFT for name in env.agents})
    assert env.render().shape == first.shape and (env.render() != first).any()
    silent = make_env()
    silent.reset(seed=0)
    assert silent.render() is None


@pytest.mark.parametrize("block", [True, False])
def test_robots_block_each_other_only_if_asked(make_env: Make, block: bool) -> None:
    env = make_env(task={"agent_collisions": block})
    env.reset(seed=0, options={"num_agents": 2})
    env.poses[0], env.poses[1] = Pose(2.5, 0.0, -1.7, 0.0), Pose(2.5, 0.0, -2.2, 0.0)  # one behind the other
    env.step({"robot_0": FORWARD})
    assert env.poses[0].z == pytest.approx(-1.7 if block else -1.95)
    env.step({"robot_1": FORWARD})
    assert env.poses[1].z == pytest.approx(-2.45)


def test_the_record_tells_the_episode(make_env: Make) -> None:
    env = make_env(task={"success_distance": 1000.0})
    env.reset(seed=0, options={"num_agents": 2})
    env.step({"robot_0": FORWARD, "robot_1": LEFT})
    for j in range(len(env.episode.goals)):
        env.step({"robot_1": declare(j)})
    record = env.record("m", 3)
    assert record.ended == "resolved" and all(record.found()) and record.steps == 1 + len(env.episode.goals)
    assert len(record.poses) == record.steps + 1 and record.agents == 2
    assert record.actions[0] == ["move_forward", "turn_left"] and record.actions[1] == ["wait", "declare_0"]
    assert record.makespan == env.episode.makespan and record.path[1] == 0


def test_shared_map_grows(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=0)
    before = env.shared.map.explored_area()
    for _ in range(12):
        env.step({name: LEFT for name in env.agents})
    assert env.shared.map.explored_area() > before > 0


# -- Gymnasium and the registries --------------------------------------------------------------------------


def test_team_env(data: Path) -> None:
    env = hm3dm3_env.team_env(split="rooms", data=str(data), camera=SMALL, task={"max_actions": 30})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", message=".*environment being checked.*|.*different from the unwrapped.*"
        )
        check_env(env, skip_render_check=True)
    seen, info = env.reset(seed=0)
    assert env.observation_space.contains(seen) and info["action_mask"].shape == (4, 11)
    steps, done = 0, False
    while not done:
        seen, reward, terminated, truncated, info = env.step(np.zeros(4, int))
        steps, done = steps + 1, terminated or truncated
    assert steps == 30 and truncated and reward == pytest.approx(-0.001)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(np.zeros(4, int))
    env.close()
    env.close()


def test_registered_with_gymnasium(data: Path) -> None:
    env = gymnasium.make("HM3D-M3-v0", split="rooms", data=str(data), camera=SMALL)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen) and env.action_space.nvec.tolist() == [11] * 4  # type: ignore[attr-defined]
    env.close()


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27 has no registry")
def test_registered_with_pettingzoo(data: Path) -> None:
    env = pettingzoo.make("parallel", "hm3d_m3_v0", split="rooms", data=str(data), camera=SMALL, max_cycles=2)
    assert isinstance(env.unwrapped, HM3DM3ParallelEnv) and env.unwrapped.max_cycles == 2
    env.reset(seed=0)


def test_importing_twice_registers_once() -> None:
    hm3dm3_env._register()
    assert "HM3D-M3-v0" in gymnasium.registry
