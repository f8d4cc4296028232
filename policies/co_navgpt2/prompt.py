"""What Co-NavGPT2's VLM is asked, and how its answer must look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from hm3dm3_env.shared import SharedState
from hm3dm3_env.vlm import pictures
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import Said

LEVEL = "co_navgpt2.assign"

SYSTEM = """You lead a team of robots that search one floor of a building for several goals. They share \
a map.

The first picture is that map from above. White is known floor, dark grey are walls and furniture, light \
grey is unknown. x grows to the right and z downwards, in metres. A coloured arrow R0, R1, ... is a robot \
and points where it looks. A black disc F0, F1, ... is a frontier: a place where known floor meets the \
unknown. A robot that goes there sees what is behind it. A coloured square is something that was seen and \
may be the goal with the number on it.

Give each free robot a frontier, so that all goals are found soon:
- Near frontiers save time; long ones open more space.
- Go where a goal is likely, by what the map shows of the rooms and by what was seen; scores run from 0 \
(surely not the goal) to 1.
- Spread out: two robots get the same frontier only where there are fewer frontiers than free robots.
- A robot that is under way keeps its frontier unless another one is clearly better.

Answer with one JSON object and nothing else, such as {"robot_0": "frontier_2", "robot_1": "frontier_0", \
"reason": "..."}: every free robot with a frontier that is in its reach, and one short sentence that says \
why."""
"""The instructions (ours; the original's words are not used)."""
DIRECTIONS = ("up", "up left", "left", "down left", "down", "down right", "right", "up right")
"""In the picture, by eighths of a turn of the heading."""


@dataclass(frozen=True)
class Seen:
    """A candidate: goal number, (3,) place, and score in 0..1."""

    goal: int
    point: np.ndarray
    score: float


@dataclass(frozen=True)
class Assignment:
    """One assignment to make.

    Attributes:
        robots: (R,) numbers of the free robots.
        busy: robot -> goal of those that go to a candidate.
        points, sizes: (F, 3) places and (F,) metres of the frontiers on offer.
        distances: (R, F) metres on foot; inf: out of reach. Each robot reaches one at least.
        going: (R,) the frontier that a robot is under way to, or None.
        seen: candidates of goals that are still looked for.
    """

    robots: Sequence[int]
    busy: Mapping[int, int]
    points: np.ndarray
    sizes: np.ndarray
    distances: np.ndarray
    going: Sequence[int | None]
    seen: Sequence[Seen]


def chat(question: Assignment, shared: SharedState, picture: Picture, photos: bool) -> tuple[Said, ...]:
    """The messages: instructions, then the text with the picture of the map, then photos of image goals
    (`photos`)."""
    shown = pictures.photos(shared.goals, _wanted(shared)) if photos else []
    return Said("system", (SYSTEM,)), Said("user", (text(question, shared, photos), picture, *shown))


def text(question: Assignment, shared: SharedState, photos: bool) -> str:
    """The situation in words, a line for each robot, frontier, goal, and thing seen."""
    lines = [f"Step {shared.step}.", "", "Free robots:"]
    for k, distances, going in zip(question.robots, question.distances, question.going):
        ways = [
            f"frontier_{f} {distance:.1f}" if np.isfinite(distance) else f"frontier_{f} out of reach"
            for f, distance in enumerate(distances)
        ]
        under_way = "" if going is None else f", under way to frontier_{going}"
        lines.append(f"robot_{k} {_robot(shared, k)}{under_way}; metres to {', '.join(ways)}")
    if question.busy:
        lines += ["", "Robots that go to what may be a goal, and need no frontier:"]
        busy = sorted(question.busy.items())
        lines += [f"robot_{k} {_robot(shared, k)}, goes to goal_{j}" for k, j in busy]
    lines += ["", "Frontiers:"]
    offer = enumerate(zip(question.points, question.sizes))
    lines += [f"frontier_{f} {_place(point)}: {size:.1f} m long" for f, (point, size) in offer]
    lines += ["", "Goals still to be found:"]
    lines += [f"goal_{j}: {_goal(shared, j, photos)}" for j in _wanted(shared)]
    lines += ["", "Seen so far:"]
    lines += [f"perhaps goal_{s.goal} {_place(s.point)}: score {s.score:.2f}" for s in question.seen]
    return "\n".join(lines if question.seen else [*lines, "nothing that may be one of them"])


def schema(question: Assignment) -> dict[str, Any]:
    """The JSON schema of an answer: every free robot with a frontier in its reach, and a reason."""
    reachable = {
        f"robot_{k}": {"type": "string", "enum": [f"frontier_{f}" for f in np.flatnonzero(np.isfinite(row))]}
        for k, row in zip(question.robots, question.distances)
    }
    properties = {**reachable, "reason": {"type": "string"}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def chosen(answer: Mapping[str, Any], question: Assignment) -> list[int]:
    """(R,) the frontiers that an answer gives to the free robots; it fits the schema."""
    return [int(answer[f"robot_{k}"].removeprefix("frontier_")) for k in question.robots]


def _wanted(shared: SharedState) -> list[int]:
    return [j for j, left in enumerate(shared.unresolved) if left]


def _robot(shared: SharedState, k: int) -> str:
    pose = shared.poses[k]
    return f"{_place(pose.position)} faces {DIRECTIONS[round(pose.heading / (pi / 4)) % 8]}"


def _place(point: np.ndarray) -> str:
    return f"at x {point[0]:.1f}, z {point[2]:.1f}"


def _goal(shared: SharedState, j: int, photos: bool) -> str:
    goal = shared.goals[j]
    if goal.modality == "IIN":
        return "the thing in its photo below" if photos else "a thing that only a photo shows"
    words = " ".join(goal.text.split())  # on one line, whatever it holds
    return f"any {words}" if goal.modality == "ON" else f"this one thing: {words}"
