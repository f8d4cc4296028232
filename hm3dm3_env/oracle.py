"""The oracle makespan d*: how far the best division of the goals makes a team walk that knows the places.

An assignment gives every goal to one agent; an agent's cost is its open nearest-neighbour tour over its goals
(geodesic; start, nearest acceptable viewpoint, next ...); the makespan is the largest cost. All K**M
assignments are tried up to `EXACT_LIMIT`, else a load-balanced greedy one is taken. Tours are
nearest-neighbour, so d* is an upper bound on the true optimum; budget and metrics both use it (the paper's
definition).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from hm3dm3_env.sim.base import Navigator

EXACT_LIMIT = 100_000
"""Largest K**M that is enumerated (the paper's number)."""

Tour = Callable[[int, frozenset[int]], tuple[float, tuple[int, ...]]]
"""(agent, goals) -> (length, order) of its nearest-neighbour tour."""
Reach = Callable[[Any, int], tuple[float, Any]]
"""(place, goal) -> (geodesic metres to the goal's nearest acceptable viewpoint, that viewpoint)."""


@dataclass(frozen=True)
class Oracle:
    """The best assignment found.

    Attributes:
        makespan: metres; inf if some goal cannot be reached by anybody.
        owner: (M,) the agent of each goal.
        tours: (K,) goals of each agent, in the order visited.
        lengths: (K,) metres of each tour.
    """

    makespan: float
    owner: tuple[int, ...]
    tours: tuple[tuple[int, ...], ...]
    lengths: tuple[float, ...]


def nearest_neighbour_tour(start: Any, goals: Sequence[int], reach: Reach) -> tuple[float, tuple[int, ...]]:
    """Length and order of the open tour that always goes to the nearest goal left; ties go to the lower goal.

    The next leg starts at the viewpoint that was reached.
    """
    left, place, length, order = sorted(goals), start, 0.0, []
    while left:
        legs = [(*reach(place, goal), goal) for goal in left]
        distance, place, goal = min(legs, key=lambda leg: (leg[0], leg[2]))
        length += distance
        order.append(goal)
        left.remove(goal)
    return length, tuple(order)


def solve(starts: Sequence[Any], goals: int, reach: Reach, exact_limit: int = EXACT_LIMIT) -> Oracle:
    """The assignment of `goals` goals to the agents at `starts` with the smallest makespan.

    Ties: smaller total length, then the lexicographically smaller owner tuple. Without goals the makespan
    is 0.

    Raises:
        ValueError: no agents.
    """
    agents = len(starts)
    if agents == 0:
        raise ValueError("an assignment needs at least one agent")
    reach = _remembered(reach)
    return _solve(starts, goals, reach, _tours(starts, reach), exact_limit)


def _solve(starts: Sequence[Any], goals: int, reach: Reach, tour: Tour, exact_limit: int) -> Oracle:
    agents = len(starts)
    if agents**goals <= exact_limit:
        owner = _enumerate(agents, goals, tour)
    else:
        owner = _greedy(starts, goals, reach, tour)
    parts = [tour(k, frozenset(j for j in range(goals) if owner[j] == k)) for k in range(agents)]
    lengths = tuple(length for length, _ in parts)
    return Oracle(max(lengths), owner, tuple(order for _, order in parts), lengths)


def _remembered(reach: Reach) -> Reach:
    """The same, asked only once for every place and goal."""
    memory: dict[Any, tuple[float, Any]] = {}

    def known(place: Any, goal: int) -> tuple[float, Any]:
        key = (tuple(place) if isinstance(place, np.ndarray) else place, goal)
        if key not in memory:
            memory[key] = reach(place, goal)
        return memory[key]

    return known


def _tours(starts: Sequence[Any], reach: Reach) -> Tour:
    memory: dict[tuple[int, frozenset[int]], tuple[float, tuple[int, ...]]] = {}

    def tour(agent: int, goals: frozenset[int]) -> tuple[float, tuple[int, ...]]:
        if (agent, goals) not in memory:
            memory[agent, goals] = nearest_neighbour_tour(starts[agent], sorted(goals), reach)
        return memory[agent, goals]

    return tour


def solve_and_price(
    starts: Sequence[Any], goals: int, reach: Reach
) -> tuple[Oracle, np.ndarray, np.ndarray]:
    """`solve`, and what every first choice costs the team if all else is done as well as can be.

    Returns:
        The best assignment; (K, M) metres: the smallest makespan of all assignments in which agent k goes to
        goal j first, and on to the nearest of its other goals; and (K,) the same with no goal for agent k.
        inf: impossible. The smallest of an agent's entries is at most `solve`'s makespan, and can be below
        it: a tour that does not begin with the nearest goal may be the shorter one.

    Raises:
        ValueError: no agents, or more than EXACT_LIMIT assignments.
    """
    agents = len(starts)
    if agents == 0:
        raise ValueError("an assignment needs at least one agent")
    if agents**goals > EXACT_LIMIT:
        raise ValueError(f"{agents} agents and {goals} goals have more than {EXACT_LIMIT} assignments")
    reach = _remembered(reach)
    tour = _tours(starts, reach)
    best = _solve(starts, goals, reach, tour, EXACT_LIMIT)
    owners, parts, lengths = _assignments(agents, goals, tour)
    costs, idle = np.full((agents, goals), inf), np.full(agents, inf)
    for k in range(agents):
        others = np.delete(lengths, k, 1).max(1, initial=0.0)
        idle[k] = others[parts[:, k] == 0].min(initial=inf)
        for j in range(goals):
            mine = owners[:, j] == k
            first, place = reach(starts[k], j)
            forced = {
                mask: first + nearest_neighbour_tour(place, _members(mask & ~(1 << j), goals), reach)[0]
                for mask in np.unique(parts[mine, k]).tolist()
            }
            own = np.array([forced[mask] for mask in parts[mine, k].tolist()])
            costs[k, j] = np.maximum(own, others[mine]).min()
    return best, costs, idle


def _members(mask: int, goals: int) -> list[int]:
    return [j for j in range(goals) if mask >> j & 1]


def _assignments(agents: int, goals: int, tour: Callable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All N = K**M assignments: (N, M) owners, (N, K) each agent's goals as bits, (N, K) tour lengths."""
    lengths = np.array(
        [
            [tour(k, frozenset(_members(mask, goals)))[0] for mask in range(1 << goals)]
            for k in range(agents)
        ]
    )
    codes = np.arange(agents**goals)
    owners = (
        np.stack([codes // agents ** (goals - 1 - j) % agents for j in range(goals)], 1)
        if goals
        else np.zeros((1, 0), int)
    )
    bits = 1 << np.arange(goals)
    parts = np.stack([((owners == k) * bits).sum(1) for k in range(agents)], 1)
    return owners, parts, np.stack([lengths[k, parts[:, k]] for k in range(agents)], 1)


def _enumerate(agents: int, goals: int, tour: Callable) -> tuple[int, ...]:
    """The best of all assignments; the lexicographically first of equals."""
    owners, _, lengths = _assignments(agents, goals, tour)
    makespan, total = lengths.max(1), lengths.sum(1)
    best = np.lexsort((np.arange(len(owners)), np.round(total, 9), np.round(makespan, 9)))[0]
    return tuple(int(k) for k in owners[best])


def _greedy(starts: Sequence[Any], goals: int, reach: Reach, tour: Callable) -> tuple[int, ...]:
    """Load-balanced: goals farthest from everybody first, each to the agent whose tour stays shortest."""
    agents = len(starts)
    near = [min(reach(start, j)[0] for start in starts) for j in range(goals)]
    owned: list[frozenset[int]] = [frozenset() for _ in range(agents)]
    owner = [0] * goals
    for j in sorted(range(goals), key=lambda j: (-near[j] if near[j] < inf else 0.0, j)):
        k = min(range(agents), key=lambda k: (tour(k, owned[k] | {j})[0], k))
        owned[k] |= {j}
        owner[j] = k
    return tuple(owner)


def reach_on(navigator: Navigator, viewpoints: Sequence[np.ndarray]) -> Reach:
    """The `Reach` of goals given as (V_j, 3) viewpoint sets, by a navigator's geodesics from (3,) places."""

    def reach(place: Any, goal: int) -> tuple[float, tuple[float, ...]]:
        point = np.asarray(place, float)
        distance = float(navigator.distance(point[None], viewpoints[goal])[0])
        path = navigator.path(point, viewpoints[goal])
        return distance, tuple(path[-1] if len(path) else point)

    return reach
