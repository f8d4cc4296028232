"""Dividing the goals once at the start, for the ablation with a fixed assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from hm3dm3_env.sim.base import Camera
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import Question, Said
from policies.lavira_m3.views import View, optics

LEVEL = "lavira_m3.division"

SYSTEM = """A team of robots divides several goals before it searches a building. For each goal, say how \
likely it is to be found near this robot, from 0 to 1, by its views: whether it is in sight, and whether it \
belongs into such rooms.

Answer with one JSON object and nothing else: {"goal_0": 0.5, "goal_1": 0.2, ...}."""
"""The instructions (ours)."""


def question(
    views: Sequence[View], camera: Camera, step: int, board: Sequence[str], photos: Sequence[str | Picture]
) -> Question:
    """Asks how likely each goal is near the robot that took the views."""
    parts: list[str | Picture] = ["\n".join(["Goals:", *board, "", f"Views, {optics(camera)}:"])]
    for view in views:
        parts += [f"View {view.name}, {view.where()}:", view.picture()]
    names = [line.partition(":")[0] for line in board if line.startswith("goal_")]
    chance = {"type": "number", "minimum": 0, "maximum": 1}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: chance for name in names},
        "required": names,
        "additionalProperties": False,
    }
    chat = (Said("system", (SYSTEM,)), Said("user", (*parts, *photos)))
    return Question(LEVEL, f"robot_{views[0].robot}", step, chat, schema)


def chances(answer: Mapping[str, Any] | None, goals: int) -> np.ndarray:
    """(M,) chances of an answer that fits the schema; all alike without an answer."""
    if answer is None:
        return np.full(goals, 0.5)
    return np.array([float(answer[f"goal_{j}"]) for j in range(goals)])


def divide(likely: Mapping[int, np.ndarray], goals: int) -> dict[int, list[int]]:
    """Robot -> its goals: the Hungarian method on robots' (M,) chances, round by round until all goals are
    given, so that the numbers of goals differ by one at most."""
    robots, left = sorted(likely), list(range(goals))
    own: dict[int, list[int]] = {k: [] for k in robots}
    while left:
        gains = np.array([[likely[k][j] for j in left] for k in robots])
        rows, columns = linear_sum_assignment(gains, maximize=True)
        for row, column in zip(rows, columns):
            own[robots[row]].append(left[column])
        given = {left[c] for c in columns}
        left = [j for j in left if j not in given]
    return own
