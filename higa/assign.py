"""From scores to an assignment, and the hand-designed rule that HiGA's network is compared with."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from higa.features import Decision

_FORBIDDEN = 1e6


def hungarian(scores: np.ndarray, active: np.ndarray, open_goals: np.ndarray) -> list[int | None]:
    """(K,) goal of each robot, at most one robot a goal, with the largest sum of (K, M) scores.

    Robots that are not active and goals that are not open are left out; with more robots than goals, some
    robots get None.
    """
    usable = active[:, None] & open_goals[None]
    cost = np.where(usable, -np.asarray(scores, float), _FORBIDDEN)
    assignment: list[int | None] = [None] * len(active)
    for k, j in zip(*linear_sum_assignment(cost)):
        if usable[k, j]:
            assignment[int(k)] = int(j)
    return assignment


def greedy(scores: np.ndarray, active: np.ndarray, open_goals: np.ndarray) -> list[int | None]:
    """As `hungarian`, but the best pair first, then the best of the rest, and so on."""
    left = np.where(active[:, None] & open_goals[None], np.asarray(scores, float), -np.inf)
    assignment: list[int | None] = [None] * len(active)
    while len(left) and left.size and np.isfinite(left.max()):
        k, j = np.unravel_index(left.argmax(), left.shape)
        assignment[int(k)] = int(j)
        left[k, :] = -np.inf
        left[:, j] = -np.inf
    return assignment


DECODERS = {"hungarian": hungarian, "greedy": greedy}


def rule_scores(inputs: Decision) -> np.ndarray:
    """(K, M) scores of the hand-designed rule: minus the metres to an accepted candidate (less 10 m for its
    certainty), else the utility of the goal's best frontier: nearness and heat, equally scaled (ours)."""
    accepted, distance, utility = inputs.pairs[..., 0], inputs.pairs[..., 2] * 20, inputs.pairs[..., 6] * 20
    return np.where(accepted > 0, 10.0 - distance, utility)
