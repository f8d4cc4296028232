"""The privileged oracle: true places, the assignment behind d*, shortest paths. The ceiling of every
table."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, radians
from typing import Any

import numpy as np

from hm3dm3_env.geometry import Pose, wrap
from hm3dm3_env.oracle import reach_on, solve
from hm3dm3_env.shared import SharedState
from hm3dm3_env.sim.base import Navigator
from hm3dm3_env.task import WAIT, declare
from policies.base import TeamTask
from policies.planner import FORWARD, LEFT, RIGHT

DECLARE_WITHIN = 0.9
"""Declares at this geodesic distance to an acceptable viewpoint, metres: inside the 1 m that counts
(ours)."""
TURN_COST = 0.03
"""Metres of progress that one turn action is worth when a heading is chosen (ours)."""


class OraclePolicy:
    """Each robot walks its oracle tour; it never looks at a frame."""

    privileged = True

    def reset(self, task: TeamTask) -> None:
        """Solve the assignment from the starts.

        Raises:
            ValueError: without the truth.
        """
        if task.privileged is None:
            raise ValueError("the oracle needs the episode's truth")
        self.navigator, episode = task.privileged.navigator, task.privileged.episode
        self.viewpoints = episode.viewpoints
        starts = [tuple(p.position) for p in task.shared.poses]
        self.plan = solve(starts, len(self.viewpoints), reach_on(self.navigator, self.viewpoints))
        self.tours = [list(tour) for tour in self.plan.tours]

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """Declare within reach, else take the heading that brings the next goal nearest."""
        actions = {}
        for k, pose in enumerate(shared.poses):
            tour = self.tours[k]
            while tour and not shared.unresolved[tour[0]]:
                tour.pop(0)
            action = WAIT
            if tour and shared.alive[k]:
                action = towards(self.navigator, pose, self.viewpoints[tour[0]]) or declare(tour[0])
            actions[f"robot_{k}"] = action
        return actions

    def record(self) -> dict[str, Any]:
        """The tours."""
        return {
            "tours": [list(t) for t in self.plan.tours],
            "lengths": [round(v, 4) for v in self.plan.lengths],
        }


def towards(navigator: Navigator, pose: Pose, targets: np.ndarray) -> int | None:
    """The action that brings the nearest of (T, 3) targets nearer; None within DECLARE_WITHIN of one."""
    if navigator.distance(pose.position[None], targets)[0] <= DECLARE_WITHIN:
        return None
    turn = radians(30.0)
    headings = [wrap(pose.heading + turn * i) for i in range(12)]
    ends = [navigator.step(Pose(pose.x, pose.y, pose.z, h), "move_forward") for h in headings]
    distances = navigator.distance(np.stack([e.position for e in ends]), targets)
    stuck = np.array([np.hypot(e.x - pose.x, e.z - pose.z) < 0.05 for e in ends])
    turns = np.array([min(i, 12 - i) for i in range(12)])
    best = int((distances + TURN_COST * turns + 10.0 * stuck).argmin())
    error = wrap(headings[best] - pose.heading)
    if abs(error) < turn / 2:
        return FORWARD
    return LEFT if error > 0 or abs(error) > pi - 1e-6 else RIGHT
