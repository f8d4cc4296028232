"""What the simulated VLM says to Co-NavGPT2: it stands for a model that follows the instructions.

It knows what it is asked and nothing else: it reads the text of the request. A frontier costs a robot its
distance, less `PULL` metres times the score of the best thing that was seen at it (falling to nothing
`NEAR` metres away), less `STAY` metres where the robot is under way to it. Every robot gets another
frontier while there are enough, so that the sum is smallest. It does not look at the picture and knows
nothing of homes: what a real model adds by common sense, or misreads in a picture, is not simulated. A
wrong choice is any other frontier in the robot's reach.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from hm3dm3_env.vlm.simulated import Heard, texts

PULL, NEAR, STAY = 6.0, 3.0, 1.0
"""Metres (ours)."""
_NUMBER = r"(-?\d+\.\d+)"
_FAR = 1e6


def answer(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    """The answer to a request of `prompt.chat`; wrong choices are drawn robot by robot.

    Raises:
        ValueError: the request has no robots or frontiers.
    """
    said = "\n".join(texts(heard.request))
    ways = {
        found[1]: {name: float(metres) for name, metres in re.findall(rf"(frontier_\d+) {_NUMBER}", found[3])}
        for found in re.finditer(r"^(robot_\d+) at (.*); metres to (.*)$", said, re.MULTILINE)
    }
    under_way = dict(re.findall(r"^(robot_\d+) at .*, under way to (frontier_\d+);", said, re.MULTILINE))
    places = _places(rf"^(frontier_\d+) at x {_NUMBER}, z {_NUMBER}:()", said)
    seen = _places(rf"^perhaps (goal_\d+) at x {_NUMBER}, z {_NUMBER}: score (\d+\.\d+)$", said)
    if not ways or not places:
        raise ValueError("the text has no line for a robot or a frontier")
    names, robots = [name for name, *_ in places], list(ways)
    cost = np.full((len(robots), len(names)), _FAR)
    for f, (name, x, z, _) in enumerate(places):
        near = [float(score) * max(0.0, 1 - np.hypot(x - u, z - v) / NEAR) for _, u, v, score in seen]
        for i, robot in enumerate(robots):
            if name in ways[robot]:
                stay = STAY * (under_way.get(robot) == name)
                cost[i, f] = ways[robot][name] - PULL * max(near, default=0.0) - stay
    rounds = -(-len(robots) // len(names))
    rows, columns = linear_sum_assignment(np.tile(cost, rounds))
    said_to = {robots[i]: names[c % len(names)] for i, c in zip(rows, columns)}
    for i, robot in enumerate(robots):
        if said_to[robot] not in ways[robot]:  # not enough in its reach for one each
            said_to[robot] = names[int(cost[i].argmin())]
        others = [name for name in ways[robot] if name != said_to[robot]]
        if rng.random() < heard.noise.wrong_direction and others:
            said_to[robot] = others[int(rng.integers(len(others)))]
    return {**said_to, "reason": "short ways, and where something was seen that may be a goal"}


def _places(pattern: str, said: str) -> list[tuple[str, float, float, str]]:
    return [(name, float(x), float(z), rest) for name, x, z, rest in re.findall(pattern, said, re.MULTILINE)]
