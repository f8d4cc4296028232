"""What the oracle would do in a state: the label of a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hm3dm3_env.oracle import reach_on, solve_and_price
from hm3dm3_env.shared import Privileged, SharedState


@dataclass(frozen=True)
class Label:
    """What the oracle says of a state, with all K robots and M goals; metres.

    Attributes:
        first: (K,) int64, the first goal of each robot's tour in the best assignment; -1: none.
        costs: (K, M) makespan of the rest of the episode if a robot goes to a goal first and all else is as
            good as can be (see `oracle.solve_and_price`); nan where the robot or the goal is out.
        idle_costs: (K,) the same if a robot gets no goal; inf where somebody must go, nan as above.
        makespan: of the best assignment.

    Metres include `LabelConfig.search`.
    """

    first: np.ndarray
    costs: np.ndarray
    idle_costs: np.ndarray
    makespan: float


@dataclass(frozen=True)
class LabelConfig:
    """What the oracle knows of the lower level."""

    search: float = 15.0
    """Metres that a goal without an accepted candidate costs on top of the way to it: robots do not know
    where it is and have to search. 0 is the paper's label, which sends robots past candidates that they could
    declare to goals that they cannot find: with the planner as the body, following it finds fewer goals than
    the hand-designed rule (ours: about twice the way between two frontiers)."""

    def __post_init__(self) -> None:
        if not 0 <= self.search < np.inf:
            raise ValueError(f"label.search={self.search}: must be at least 0, and finite")


def oracle_label(
    truth: Privileged, shared: SharedState, accepted: Sequence[bool], config: LabelConfig
) -> Label:
    """The label of the state: the goals left, divided among the robots left.

    Args:
        accepted: (M,) whether a goal has an accepted candidate.
    """
    robots = [k for k, alive in enumerate(shared.alive) if alive]
    goals = [j for j, left in enumerate(shared.unresolved) if left]
    first = np.full(shared.agents, -1)
    costs, idle = np.full((shared.agents, len(shared.unresolved)), np.nan), np.full(shared.agents, np.nan)
    if not robots or not goals:
        return Label(first, costs, idle, 0.0)
    walk = reach_on(truth.navigator, [truth.episode.viewpoints[j] for j in goals])

    def reach(place: Any, goal: int) -> tuple[float, Any]:
        distance, end = walk(place, goal)
        return distance + (0.0 if accepted[goals[goal]] else config.search), end

    starts = [tuple(shared.poses[k].position) for k in robots]
    best, prices, rest = solve_and_price(starts, len(goals), reach)
    for k, tour in zip(robots, best.tours):
        if tour:
            first[k] = goals[tour[0]]
    costs[np.ix_(robots, goals)], idle[robots] = prices, rest
    return Label(first, costs, idle, float(best.makespan))
