"""The oracle makespan: cases by hand, and properties that every instance has."""

from __future__ import annotations

from itertools import permutations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm3dm3_env.oracle import (
    EXACT_LIMIT,
    Reach,
    nearest_neighbour_tour,
    reach_on,
    solve,
    solve_and_price,
)
from hm3dm3_env.sim.embedded import EmbeddedSimulator


def on_line(*goals: float | tuple[float, ...]) -> Reach:
    """Places are numbers on a line; a goal is one place or several."""

    def reach(place: float, goal: int) -> tuple[float, float]:
        places = goals[goal] if isinstance(goals[goal], tuple) else (goals[goal],)
        best = min(places, key=lambda p: (abs(p - place), p))  # type: ignore[union-attr]
        return abs(best - place), best

    return reach


class Plane:
    """A random instance in the plane: K starts and M goals of up to 3 viewpoints, no two distances equal."""

    def __init__(self, seed: int, agents: int, goals: int) -> None:
        rng = np.random.default_rng(seed)
        self.starts = [tuple(p) for p in rng.random((agents, 2)) * 10]
        self.goals = [rng.random((rng.integers(1, 4), 2)) * 10 for _ in range(goals)]

    def reach(self, place: tuple[float, ...], goal: int) -> tuple[float, tuple[float, ...]]:
        gaps = np.linalg.norm(self.goals[goal] - place, axis=1)
        return float(gaps.min()), tuple(self.goals[goal][gaps.argmin()])

    def solve(self, **keywords: int) -> float:
        return solve(self.starts, len(self.goals), self.reach, **keywords).makespan


INSTANCES = st.builds(Plane, st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 5))


# -- by hand -----------------------------------------------------------------------------------------------


def test_tour_goes_to_the_nearest_goal_left() -> None:
    assert nearest_neighbour_tour(0.0, [0, 1, 2], on_line(5.0, -1.0, 2.0)) == (1 + 3 + 3, (1, 2, 0))
    assert nearest_neighbour_tour(0.0, [], on_line()) == (0.0, ())


def test_ties_go_to_the_lower_goal() -> None:
    assert nearest_neighbour_tour(0.0, [1, 0], on_line(-1.0, 1.0)) == (3.0, (0, 1))


def test_nearest_neighbour_is_not_optimal_and_that_is_the_definition() -> None:
    reach = on_line(-1.0, 0.9, 3.0)  # best is -1 first: 1 + 4 = 5; nearest first: 0.9 + 1.9 + 4
    assert nearest_neighbour_tour(0.0, [0, 1, 2], reach)[0] == pytest.approx(0.9 + 1.9 + 4)


def test_two_agents_share() -> None:
    result = solve([0.0, 10.0], 3, on_line(1.0, 9.0, 12.0))
    assert result.owner == (0, 1, 1)
    assert result.tours == ((0,), (1, 2)) and result.lengths == (1.0, 4.0) and result.makespan == 4.0


def test_the_makespan_counts_and_then_the_total() -> None:
    result = solve([0.0, 100.0], 2, on_line(3.0, 4.0))  # the far one would only lengthen it
    assert result.owner == (0, 0) and result.makespan == 4.0 and result.lengths == (4.0, 0.0)
    tied = solve([0.0, 0.0], 2, on_line(5.0, 5.0))
    assert tied.owner == (0, 0)  # same makespan, smaller total


def test_equal_plans_go_to_the_lower_owners() -> None:
    assert solve([0.0, 0.0], 2, on_line(-5.0, 5.0)).owner == (0, 1)


def test_the_viewpoint_reached_is_where_the_next_leg_starts() -> None:
    reach = on_line((-2.0, 3.0), 4.0)  # goal 0 is reached at -2; from there goal 1 is 6 away
    assert solve([0.0], 2, reach).makespan == 2 + 6
    assert solve([1.0], 2, reach).makespan == 2 + 1


def test_without_goals() -> None:
    result = solve([0.0, 1.0], 0, on_line())
    assert (result.makespan, result.owner, result.tours) == (0.0, (), ((), ()))


def test_without_agents() -> None:
    with pytest.raises(ValueError, match="at least one agent"):
        solve([], 2, on_line(1.0, 2.0))


def test_unreachable_goals() -> None:
    def reach(place: int, goal: int) -> tuple[float, int]:
        return (inf, place) if goal == 1 or place == 9 else (1.0, place)

    assert solve([0, 9], 2, reach).makespan == inf
    assert solve([0, 9], 1, reach).owner == (0,)  # only agent 0 can get there


def test_places_may_be_arrays() -> None:
    plane = Plane(3, 2, 3)
    as_arrays = solve([np.array(s) for s in plane.starts], 3, plane.reach)
    assert as_arrays.makespan == plane.solve()


def test_enumeration_stops_at_the_papers_limit() -> None:
    assert EXACT_LIMIT == 100_000
    assert 4**5 <= EXACT_LIMIT < 8**6


# -- properties --------------------------------------------------------------------------------------------


@given(INSTANCES)
@settings(max_examples=60, deadline=None)
def test_no_single_plan_is_better(plane: Plane) -> None:
    best = solve(plane.starts, len(plane.goals), plane.reach)
    agents, goals = len(plane.starts), len(plane.goals)
    plans = []
    for owner in product(range(agents), repeat=goals):
        lengths = [
            nearest_neighbour_tour(plane.starts[k], [j for j in range(goals) if owner[j] == k], plane.reach)[
                0
            ]
            for k in range(agents)
        ]
        plans.append(max(lengths))
    assert best.makespan == pytest.approx(min(plans))
    assert best.makespan == max(best.lengths)


@given(INSTANCES)
@settings(max_examples=60, deadline=None)
def test_every_goal_is_in_one_tour(plane: Plane) -> None:
    result = solve(plane.starts, len(plane.goals), plane.reach)
    assert sorted(j for tour in result.tours for j in tour) == list(range(len(plane.goals)))
    for agent, tour in enumerate(result.tours):
        assert all(result.owner[j] == agent for j in tour)
        assert nearest_neighbour_tour(plane.starts[agent], tour, plane.reach) == (
            pytest.approx(result.lengths[agent]), tour)


@given(INSTANCES, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_names_do_not_matter(plane: Plane, random) -> None:
    before = plane.solve()
    random.shuffle(plane.starts)
    random.shuffle(plane.goals)
    assert plane.solve() == pytest.approx(before)


@given(INSTANCES)
@settings(max_examples=60, deadline=None)
def test_greedy_is_never_better(plane: Plane) -> None:
    assert plane.solve(exact_limit=0) >= plane.solve() - 1e-9


@given(INSTANCES, st.tuples(st.floats(0, 10), st.floats(0, 10)))
@settings(max_examples=60, deadline=None)
def test_another_agent_never_hurts(plane: Plane, start: tuple[float, float]) -> None:
    before = plane.solve()
    plane.starts.append(start)
    assert plane.solve() <= before + 1e-9


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_too_many_plans_to_enumerate(seed: int) -> None:
    plane = Plane(seed, 8, 6)
    assert 8**6 > EXACT_LIMIT
    result = solve(plane.starts, 6, plane.reach)
    greedy = solve(plane.starts, 6, plane.reach, exact_limit=0)
    assert result == greedy
    exact = solve(plane.starts, 6, plane.reach, exact_limit=8**6)
    assert exact.makespan <= result.makespan + 1e-9
    alone = min(nearest_neighbour_tour(s, range(6), plane.reach)[0] for s in plane.starts)
    assert result.makespan <= alone + 1e-9


def test_greedy_by_hand() -> None:
    result = solve([0.0, 10.0], 2, on_line(1.0, 12.0), exact_limit=0)
    assert result.owner == (0, 1) and result.makespan == 2.0
    assert solve([0.0], 0, on_line(), exact_limit=-1).makespan == 0.0


def test_it_is_no_lower_bound_but_an_upper_one() -> None:
    plane = Plane(11, 2, 4)
    truth = inf
    for owner in product(range(2), repeat=4):
        longest = 0.0
        for k in range(2):
            mine = [j for j in range(4) if owner[j] == k]
            tours = []
            for order in permutations(mine):
                place, length = plane.starts[k], 0.0
                for j in order:
                    leg, place = plane.reach(place, j)
                    length += leg
                tours.append(length)
            longest = max(longest, min(tours))
        truth = min(truth, longest)
    assert plane.solve() >= truth - 1e-9


# -- on the walkable grid ----------------------------------------------------------------------------------


def test_on_the_navigator(rooms_sim: EmbeddedSimulator) -> None:
    navigator = rooms_sim.navigator
    a, b, c = (np.array(p) for p in ([1.0, 0, -2.0], [3.0, 0, -2.0], [8.0, 0, -1.0]))
    reach = reach_on(navigator, [np.stack([a, c]), b[None]])
    distance, place = reach((2.0, 0.0, -2.0), 0)
    assert distance == pytest.approx(1.0, abs=1e-6) and place == pytest.approx(tuple(a))
    far, place = reach((7.0, 0.0, -1.0), 0)
    assert far == pytest.approx(1.0, abs=1e-6) and place == pytest.approx(tuple(c))
    result = solve([(2.0, 0.0, -2.0)], 2, reach)
    assert result.makespan == pytest.approx(1 + 2, abs=1e-3)  # 1 m to either, then back over the start


# -- what a choice costs -----------------------------------------------------------------------------------


def test_costs_by_hand() -> None:
    _, costs, idle = solve_and_price([0.0, 10.0], 2, on_line(1.0, 9.0))
    assert costs.tolist() == [[1.0, 9.0], [9.0, 1.0]]  # both swapped: 9; one robot for both: 1 + 8 as well
    assert idle.tolist() == [9.0, 9.0]
    _, costs, idle = solve_and_price([0.0], 2, on_line(1.0, -3.0))
    assert costs.tolist() == [[5.0, 7.0]] and idle.tolist() == [inf]
    _, costs, idle = solve_and_price([0.0, 1.0], 0, on_line())
    assert costs.shape == (2, 0) and idle.tolist() == [0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(INSTANCES)
def test_costs_of_choices(plane: Plane) -> None:
    agents, goals = len(plane.starts), len(plane.goals)
    best, costs, idle = solve_and_price(plane.starts, goals, plane.reach)
    want, rest = np.full((agents, goals), inf), np.full(agents, inf)
    for owner in product(range(agents), repeat=goals):
        parts = [[j for j in range(goals) if owner[j] == k] for k in range(agents)]
        tours = [
            nearest_neighbour_tour(start, part, plane.reach)[0] for start, part in zip(plane.starts, parts)
        ]
        for k in range(agents):
            others = max([tours[i] for i in range(agents) if i != k], default=0.0)
            if not parts[k]:
                rest[k] = min(rest[k], others)
            for j in parts[k]:
                leg, place = plane.reach(plane.starts[k], j)
                on = nearest_neighbour_tour(place, [i for i in parts[k] if i != j], plane.reach)[0]
                want[k, j] = min(want[k, j], max(others, leg + on))
    np.testing.assert_allclose(costs, want)
    np.testing.assert_allclose(idle, rest)
    assert best == solve(plane.starts, goals, plane.reach)
    for k, tour in enumerate(best.tours):
        assert (costs[k, tour[0]] if tour else idle[k]) <= best.makespan + 1e-9


def test_costs_of_too_many_or_no_choices() -> None:
    with pytest.raises(ValueError, match="at least one agent"):
        solve_and_price([], 2, on_line(1.0, 2.0))
    with pytest.raises(ValueError, match="more than 100000"):
        solve_and_price([0.0] * 10, 6, on_line(*range(6)))
