"""The language action: from what a robot sees and knows to what it does next, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import degrees
from typing import Any

import numpy as np

from hm3dm3_env.geometry import Pose, wrap
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import Question, Said
from policies.lavira_m3.robot import gap
from policies.lavira_m3.views import View, optics

LEVEL = "lavira_m3.language"
ACTIONS = ("explore", "go_to", "inspect", "turn_around", "backtrack")
SIDES = ("left", "middle", "right")
"""Where in a picture something is, by thirds of its width."""
NONE = "none"

SYSTEM = """You steer one robot of a team that searches one floor of a building for several goals. Every \
robot has a camera and a model like you; all share one map. A goal is any thing of a category, one described \
thing, or the very thing in a photo. It is declared by another step, once you inspect it from nearby.

You get the goals, what your teammates say, your own last decisions, places where you were, and your views. \
Positions are metres on the floor, x to the east and z to the south; headings are degrees, 0 is north and \
they grow to the left. Choose what to do next:
- explore: walk on in the direction of a view, into what nobody has seen yet. Give the view.
- inspect: go to a thing in a view that may be a goal that nobody has found, to judge it from nearby. Give \
the view, the goal, the thing in one to three words, and where in the picture it is.
- go_to: walk to a thing in a view that is no goal but leads on, such as a doorway. Give the view, the \
thing, and where in the picture it is.
- turn_around: look in all four directions from here, when what you see does not suffice.
- backtrack: choose anew from the views of a place where you were. Give the place.

Guide lines:
- A thing that may be a goal comes first, unless it was judged before or a teammate goes for that goal.
- Go where a goal is likely: rooms have their things. Unexplored places that are near cost little; once the \
map shows all, they are floor where nobody has looked around.
- Do not search where a teammate searches or has searched.
- Do not repeat a decision that came to nothing.

Answer with one JSON object and nothing else: {"progress": "two or three sentences for your teammates: where \
you were, what you saw, what you go for now", "reason": "one sentence", "action": "...", "view": "...", \
"goal": "...", "thing": "...", "where": "...", "place": "..."}. What an action does not need is "none"."""
"""The instructions (ours)."""


@dataclass(frozen=True)
class Place:
    """Somewhere a robot decided before: its name, (3,) position, and how many unexplored places its views
    show (None: not told)."""

    name: str
    point: np.ndarray
    ends: int | None


@dataclass(frozen=True)
class Situation:
    """What a robot decides on.

    Attributes:
        robot, step, pose, actions_left: who, when, where, and the actions it may still spend.
        camera: of its views.
        views: the front view, or four of a turn-around, here or at a place that it went back to in mind.
        ends: for each view, (share of the width from the left, metres) of the unexplored places in it.
        board: lines on the goals.
        wanted: goals that are looked for.
        photos: parts that show the photos of image goals.
        teammates: what each teammate says, with its place; empty without progress analysis.
        history: the robot's last decisions and what came of them.
        places: where it can go back to.
        turn: whether it may turn around: not where it just did.
    """

    robot: int
    step: int
    pose: Pose
    actions_left: int
    camera: Camera
    views: Sequence[View]
    ends: Sequence[Sequence[tuple[float, float]]]
    board: Sequence[str]
    wanted: Sequence[int]
    photos: Sequence[str | Picture]
    teammates: Sequence[str]
    history: Sequence[str]
    places: Sequence[Place]
    turn: bool


@dataclass(frozen=True)
class Decision:
    """What a robot does next.

    Attributes:
        action: one of ACTIONS.
        view: number of the chosen view.
        goal: what it inspects for.
        thing, where: what it goes to, and in which part of the picture (one of SIDES, or "").
        place: number of the place to go back to.
        progress, reason: in the model's words.
    """

    action: str
    view: int | None
    goal: int | None
    thing: str
    where: str
    place: int | None
    progress: str
    reason: str


def question(situation: Situation) -> Question:
    """What the model is asked."""
    parts: list[str | Picture] = ["\n".join(_lines(situation))]
    for view, ends in zip(situation.views, situation.ends):
        parts += [f"View {view.name}, {view.where()}{_open_ends(ends)}:", view.picture()]
    said = (Said("system", (SYSTEM,)), Said("user", (*parts, *situation.photos)))
    by = f"robot_{situation.robot}"
    return Question(LEVEL, by, situation.step, said, schema(situation))


def schema(situation: Situation) -> dict[str, Any]:
    """The JSON schema of an answer: only what can be done now is on offer."""
    actions = ["explore", "go_to", *(["inspect"] if situation.wanted else [])]
    actions += [*(["turn_around"] if situation.turn else []), *(["backtrack"] if situation.places else [])]
    properties = {
        "progress": {"type": "string"},
        "reason": {"type": "string"},
        "action": _enum(actions),
        "view": _enum([NONE, *(view.name for view in situation.views)]),
        "goal": _enum([NONE, *(f"goal_{j}" for j in situation.wanted)]),
        "thing": {"type": "string"},
        "where": _enum([NONE, *SIDES]),
        "place": _enum([NONE, *(place.name for place in situation.places)]),
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def decision(answer: Mapping[str, Any], situation: Situation) -> Decision:
    """An answer that fits the schema, read kindly: without a view the first one is meant, a thing that is to
    be inspected for no goal is gone to, and going back to no place is exploring."""
    views, places = [v.name for v in situation.views], [p.name for p in situation.places]
    action, view, place = answer["action"], answer["view"], answer["place"]
    goal = None if answer["goal"] == NONE else int(answer["goal"].removeprefix("goal_"))
    if action == "inspect" and goal is None:
        action = "go_to"
    if action == "backtrack" and place == NONE:
        action = "explore"
    thing = "" if answer["thing"] == NONE else " ".join(answer["thing"].split())[:80]
    if action in ("go_to", "inspect") and not thing:
        thing = "thing" if action == "inspect" else "way on"
    return Decision(
        action=action,
        view=views.index(view) if view != NONE else 0,
        goal=goal if action == "inspect" else None,
        thing=thing if action in ("go_to", "inspect") else "",
        where="" if answer["where"] == NONE else answer["where"],
        place=places.index(place) if action == "backtrack" else None,
        progress=" ".join(answer["progress"].split())[:600],
        reason=" ".join(answer["reason"].split())[:300],
    )


def _enum(names: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(names)}


def _lines(now: Situation) -> list[str]:
    pose = now.pose
    lines = [
        f"You are robot_{now.robot}, at x {pose.x:.2f}, z {pose.z:.2f}, heading "
        f"{degrees(wrap(pose.heading)):.1f}. Step {now.step}, {now.actions_left} actions left.",
        "",
        "Goals:",
        *now.board,
    ]
    if now.teammates:
        lines += ["", "Your teammates:", *now.teammates]
    lines += ["", "Your last decisions:", *(now.history or ["none yet"])]
    if now.places:
        lines += ["", "Places where you were:"]
        for place in now.places:
            metres = gap(place.point, pose.position)
            seen = "" if place.ends is None else ": all explored there"
            if place.ends:
                seen = f": {place.ends} unexplored places seen from there"
            lines.append(
                f"{place.name} at x {place.point[0]:.1f}, z {place.point[2]:.1f}, {metres:.1f} m off{seen}"
            )
    return [*lines, "", f"Your views, {optics(now.camera)}:"]


def _open_ends(ends: Sequence[tuple[float, float]]) -> str:
    if not ends:
        return ""
    places = ", ".join(f"{metres:.1f} m off at {share:.0%} of the width" for share, metres in ends)
    return f"; unexplored {places}"
