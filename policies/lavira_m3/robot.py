"""The robot action: going to a place on the shared map, until it is reached, blocked, or takes too long."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil

import numpy as np

from policies.planner import FORWARD, LEFT, face
from policies.walker import Walker

ARRIVED, BLOCKED, STUCK, LATE = "arrived", "blocked", "stuck", "ran out of steps"
"""How going to a place ends."""
PATIENCE = 2
"""Actions beside those of half a turn in which a robot that goes somewhere must get 0.2 m from where it was,
else it is stuck (ours); what it takes to get free after a bump does not count."""
FREE = (LEFT,) * 5 + (FORWARD,)
"""What a robot does where nothing leads on: five of twelve directions at a time visit them all (ours)."""


def go(
    walker: Walker, agent: int, point: np.ndarray, near: float, slack: float, steps: int
) -> Generator[int, None, str]:
    """Yields the actions of a robot on its way to a (3,) place, and returns how it ended.

    Args:
        near: the place is reached within this, metres in the plane.
        slack: where the place itself cannot be stood on, how far off the way may end, metres.
        steps: at most so many actions, and those that free a robot that is walled in.
    """
    start = anchor = walker.shared.poses[agent].position
    waited, patience = 0, half_turn(walker) + PATIENCE
    for _ in range(steps):
        here = walker.shared.poses[agent].position
        if gap(here, point) <= near:
            return ARRIVED
        if gap(here, anchor) > 0.2:
            anchor, waited = here, 0
        waited += not walker.escaping(agent)
        if waited > patience:
            return STUCK
        action = walker.level(agent) or walker.walk(agent, point, slack)
        if action is None and walker.walled_in(agent):
            yield from FREE
            return STUCK
        if action is None:  # at the end of the way: as near as the map allows
            return ARRIVED if gap(here, point) <= near + slack else BLOCKED
        yield action
    return LATE if gap(walker.shared.poses[agent].position, start) > 0.2 else STUCK


def turn_to(walker: Walker, agent: int, point: np.ndarray) -> Generator[int, None, None]:
    """Yields the turns after which a robot faces a (3,) place."""
    for _ in range(half_turn(walker)):
        turn = face(walker.shared.poses[agent], point, walker.planner.config.aim_deg)
        if turn is None:
            return
        yield turn


def half_turn(walker: Walker) -> int:
    """The actions that turn a robot around."""
    return ceil(180 / walker.shared.body.turn_deg)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """Metres between two (3,) places in the plane."""
    return float(np.hypot(a[0] - b[0], a[2] - b[2]))
