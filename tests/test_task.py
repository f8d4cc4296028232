"""The rules of an episode, without a simulator."""

from __future__ import annotations

from math import inf

import pytest

from hm3dm3_env.cli import build
from hm3dm3_env.task import ACTIONS, MAX_GOALS, MOVES, WAIT, RewardConfig, Rules, TaskConfig, declare


def rules(agents: int = 2, goals: int = 3, makespan: float = 10.0, **config) -> Rules:
    return Rules(build(TaskConfig, **config), agents, goals, makespan)


def play(game: Rules, *names: str, moved: tuple[float, ...] | None = None, distance: float = 0.5) -> float:
    return game.advance(names, moved or (0.0,) * len(names), lambda agent, goal: distance)


def numbers(game: Rules, *actions: int) -> list[str]:
    return [game.effective(agent, action) for agent, action in enumerate(actions)]


def test_the_benchmarks_numbers() -> None:
    config = TaskConfig()
    assert (config.max_actions, config.budget_factor, config.success_distance) == (500, 3.0, 1.0)
    assert not config.agent_collisions and MAX_GOALS == 5
    assert ACTIONS[: len(MOVES)] == (
        "wait",
        "move_forward",
        "turn_left",
        "turn_right",
        "look_up",
        "look_down",
    )
    assert [ACTIONS[declare(j)] for j in range(5)] == [f"declare_{j}" for j in range(5)]


# -- budgets -----------------------------------------------------------------------------------------------


def test_500_actions_waiting_included() -> None:
    game = rules()
    for _ in range(499):
        play(game, "wait", "turn_left")
    assert game.alive == [True, True] and not game.over
    play(game, "wait", "wait")
    assert game.alive == [False, False] and game.over and not game.resolved
    assert game.actions == [500, 500] and game.steps == 500


def test_three_times_the_makespan() -> None:
    game = rules(makespan=1.0)
    for _ in range(11):
        play(game, "move_forward", "wait", moved=(0.25, 0.0))
    assert game.path == [2.75, 0.0] and game.alive == [True, True]
    play(game, "move_forward", "wait", moved=(0.25, 0.0))
    assert game.alive == [False, True]  # 3.0 m walked: this one is done, the other goes on
    assert not game.over


def test_rounding_does_not_give_a_step_more() -> None:
    game = rules(makespan=0.1)
    play(game, "move_forward", "wait", moved=(0.3 - 1e-12, 0.0))
    assert game.alive == [False, True]


def test_an_inert_agent_spends_nothing_and_can_only_wait() -> None:
    game = rules(max_actions=1, makespan=10.0)
    game.alive[1] = False
    assert game.legal(1) == [1] + [0] * 10
    assert numbers(game, WAIT, declare(0)) == ["wait", "wait"]
    play(game, "wait", "declare_0", moved=(0.0, 0.25))
    assert game.actions == [1, 0] and game.path == [0.0, 0.0] and game.unresolved == [True] * 3


def test_a_bump_costs_the_action_but_no_path() -> None:
    game = rules()
    play(game, "move_forward", "wait", moved=(0.0, 0.0))
    assert game.actions == [1, 1] and game.path == [0.0, 0.0]


def test_the_last_action_still_counts() -> None:
    game = rules(agents=1, max_actions=1)
    play(game, "declare_1")
    assert game.declarations[0].right and game.alive == [False] and game.over


# -- declarations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("distance", "right"), [(0.0, True), (1.0, True), (1.0001, False), (inf, False)])
def test_within_a_metre(distance: float, right: bool) -> None:
    game = rules()
    play(game, "declare_2", "wait", distance=distance)
    (made,) = game.declarations
    assert (made.step, made.agent, made.goal, made.right, made.distance) == (1, 0, 2, right, distance)
    assert game.unresolved == [True, True, False]  # gone from the list, right or wrong
    assert game.found == int(right)


def test_a_second_declaration_costs_only_the_action() -> None:
    game = rules()
    play(game, "declare_0", "wait", distance=5.0)
    assert game.legal(0)[declare(0)] == 0 and game.effective(0, declare(0)) == "wait"
    reward = play(game, "declare_0", "wait", distance=0.0)  # even when it gets through
    assert reward == pytest.approx(-0.001) and len(game.declarations) == 1 and game.found == 0
    assert game.actions == [2, 2] and game.unresolved == [False, True, True]


def test_same_goal_in_the_same_step_goes_to_the_first_agent() -> None:
    game = rules()
    asked = []

    def distance(agent: int, goal: int) -> float:
        asked.append((agent, goal))
        return (5.0, 0.1)[agent]

    game.advance(["declare_1", "declare_1"], [0.0, 0.0], distance)
    assert asked == [(0, 1)] and len(game.declarations) == 1 and not game.declarations[0].right


def test_different_goals_in_the_same_step_both_count_in_order() -> None:
    game = rules()
    play(game, "declare_2", "declare_0")
    assert [(d.agent, d.goal) for d in game.declarations] == [(0, 2), (1, 0)]


def test_path_at_the_last_success() -> None:
    game = rules()
    play(game, "move_forward", "move_forward", moved=(0.25, 0.2))
    play(game, "declare_0", "move_forward", moved=(0.0, 0.25))
    play(game, "move_forward", "declare_1", moved=(0.25, 0.0), distance=9.0)
    assert game.path_at_last_success == [0.25, 0.45] and game.path == [0.5, 0.45]


# -- what is legal -----------------------------------------------------------------------------------------


def test_legal_actions() -> None:
    game = rules(goals=3)
    assert game.legal(0) == [1] * 6 + [1, 1, 1, 0, 0]
    play(game, "declare_1", "wait")
    assert game.legal(1) == [1] * 6 + [1, 0, 1, 0, 0]


@pytest.mark.parametrize("action", [-1, 11, 999, declare(3), declare(4)])
def test_illegal_actions_are_waits(action: int) -> None:
    assert rules(goals=3).effective(0, action) == "wait"


def test_a_declaration_of_no_goal_does_nothing() -> None:
    game = rules(goals=2)
    play(game, "declare_4", "wait")
    assert not game.declarations and game.unresolved == [True, True]


# -- endings -----------------------------------------------------------------------------------------------


def test_ends_when_everything_is_declared() -> None:
    game = rules(goals=2)
    play(game, "declare_0", "declare_1", distance=7.0)
    assert game.over and game.resolved and game.found == 0 and game.alive == [True, True]
    assert game.legal(0) == [1] + [0] * 10


def test_goes_on_while_one_can_act() -> None:
    game = rules(max_actions=3)
    game.alive[0] = False
    for _ in range(2):
        play(game, "wait", "wait")
        assert not game.over
    play(game, "wait", "wait")
    assert game.over and game.actions == [0, 3]


# -- rewards -----------------------------------------------------------------------------------------------


def test_rewards() -> None:
    assert play(rules(), "wait", "turn_left") == pytest.approx(-0.001)
    assert play(rules(), "declare_0", "wait") == pytest.approx(1 / 3 - 0.001)
    assert play(rules(), "declare_0", "wait", distance=2.0) == pytest.approx(-0.25 / 3 - 0.001)
    assert play(rules(goals=2), "declare_0", "declare_1") == pytest.approx(1 - 0.001)


def test_own_rewards_and_none() -> None:
    own = {"right": 10.0, "wrong": -1.0, "step": 0.0}
    assert play(rules(reward=own), "declare_0", "wait") == pytest.approx(10 / 3)
    assert play(rules(reward={"kind": "none"}), "declare_0", "wait") == 0.0


def test_bad_configs() -> None:
    with pytest.raises(ValueError, match="reward.kind"):
        RewardConfig(kind="sparse")
    for wrong in ({"max_actions": 0}, {"budget_factor": 0.0}, {"success_distance": -1.0}):
        with pytest.raises(ValueError, match="max_actions >= 1"):
            TaskConfig(**wrong)
    with pytest.raises(ValueError, match="TaskConfig.*max_action"):
        build(TaskConfig, max_action=3)
