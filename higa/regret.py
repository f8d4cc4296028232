"""How much worse than the oracle's an assignment is, from what samples store: metres of makespan.

Stored is, for each robot, what every first goal costs the team (`higa.labels.Label`): the makespan of the
rest of the episode if this robot goes there first and all else is as good as can be. From this:

* The **regret of a robot** is the cost of what it was given (`idle_costs` if that is no goal) less the
  smallest of its costs. It is 0 if the robot's part can still belong to a best plan. Differences are cut at
  `MOST`, so that choices that can never end well (infinite costs) count as much as the worst that a team can
  walk.
* The **regret of an assignment** is the mean over the robots that are not out of budget. The oracle's own
  label has nearly 0 (`oracle.solve_and_price` says why not exactly).
* The **team's least regret** is the largest of its robots' regrets. Each robot's cost supposes that the
  others do their best, so the makespan that the whole assignment leads to is at least this much above the
  smallest: a lower bound. The joint regret itself is not stored, and not claimed.

Shapes: N samples, K robots, M goals, padded; `active` and `open` are False on padding.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from higa.assign import DECODERS

MOST = 40.0
"""Metres at which a regret is cut (ours; 99 of 100 choices in generated houses are below 15)."""


def decode(
    scores: np.ndarray, active: np.ndarray, opened: np.ndarray, decoder: str = "hungarian"
) -> np.ndarray:
    """(N, K) int64 goal of each robot, -1: none; the decoder of `higa.assign` on each of (N, K, M) scores."""
    chosen = np.full(active.shape, -1, np.int64)
    for row, (values, robots, goals) in enumerate(zip(scores, active, opened)):
        assigned = DECODERS[decoder](values, robots, goals)
        chosen[row] = [-1 if goal is None else goal for goal in assigned]
    return chosen


def robot_regrets(
    chosen: np.ndarray, costs: np.ndarray, idle_costs: np.ndarray, active: np.ndarray
) -> np.ndarray:
    """(N, K) metres, 0 to MOST; nan for robots that are out.

    Args:
        chosen: (N, K) goal of each robot, -1: none.
        costs: (N, K, M) and idle_costs: (N, K), as in `Label`.

    Raises:
        ValueError: a robot was given a goal that is out.
    """
    choices = np.concatenate([costs, idle_costs[..., None]], -1).astype(float)
    best = np.where(np.isnan(choices), np.inf, choices).min(-1)
    column = np.where(chosen < 0, costs.shape[-1], chosen)
    cost = np.take_along_axis(choices, column[..., None], -1)[..., 0]
    usable = active & np.isfinite(best)
    if (wrong := np.argwhere(usable & np.isnan(cost))).size:
        raise ValueError(f"row {wrong[0][0]}: robot {wrong[0][1]} was given a goal that is out")
    regret = np.where(usable, cost, np.nan) - np.where(usable, best, 0.0)
    return np.clip(regret, 0.0, MOST)


def regrets(regret: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N,) regret of each assignment and (N,) the team's least regret, of (N, K) `robot_regrets`; metres.

    Raises:
        ValueError: a row without any robot that can act.
    """
    known = ~np.isnan(regret)
    if not known.any(1).all():
        raise ValueError(
            f"row {int((~known.any(1)).argmax())}: no robot has a choice; keep labelled rows only"
        )
    values = np.where(known, regret, 0.0)
    return values.sum(1) / known.sum(1), values.max(1)


def agreement(chosen: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(N,) share of the robots with a label (N, K) (-1: none) that `chosen` (N, K) gives just this goal; nan
    where no robot has one."""
    labelled = label >= 0
    with np.errstate(invalid="ignore"):
        return ((chosen == label) & labelled).sum(1) / labelled.sum(1)


def least_assignments(
    costs: np.ndarray, idle_costs: np.ndarray, active: np.ndarray, opened: np.ndarray
) -> np.ndarray:
    """(N, K) the assignments with the least regret of all that a decoder can give: one robot a goal, as many
    robots with a goal as can be. What remains of regret is the price of that form; privileged.

    Args:
        costs: (N, K, M) and idle_costs: (N, K), as in `Label`.
    """
    chosen = np.full(active.shape, -1, np.int64)
    best = np.fmin(np.fmin.reduce(costs, -1, initial=np.inf), idle_costs)
    for row in range(len(active)):
        robots, goals = np.flatnonzero(active[row]), np.flatnonzero(opened[row])
        idle = np.repeat(idle_costs[row, robots, None], max(len(robots) - len(goals), 0), 1)
        price = np.concatenate([costs[row][np.ix_(robots, goals)], idle], 1) - best[row, robots, None]
        for k, j in zip(*linear_sum_assignment(np.clip(price, 0.0, MOST))):
            chosen[row, robots[k]] = goals[j] if j < len(goals) else -1
    return chosen
