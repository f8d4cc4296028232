"""The declaration gate: is this thing the goal, and is it near enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hm3dm3_env.shared import TeamGoal
from hm3dm3_env.vlm.session import Question, Said
from policies.lavira_m3.board import said
from policies.lavira_m3.views import View, optics

LEVEL = "lavira_m3.identity"

SYSTEM = """You judge whether the thing in a red frame is the goal that a robot looks for. A declaration \
cannot be taken back, so be strict.
- Goal by category: is the thing of that category?
- Goal by description: go through the description and check every attribute on its own: kind, colour, \
material, size, what it stands next to or on, room. All must hold.
- Goal by photo: the photo of the goal is on the left, what the robot sees is to the right of it. \
Is it the very same thing, and not only one of the same kind? Compare shape, colour, and what is around it.

Answer with one JSON object and nothing else: {"checks": [{"attribute": "...", "holds": true}], "same": \
true, "confidence": 0.0}. checks lists what you compared, same is your judgement, and confidence, from 0 to \
1, says how sure you are of it."""
"""The instructions (ours)."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "checks": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"attribute": {"type": "string"}, "holds": {"type": "boolean"}},
                "required": ["attribute", "holds"],
                "additionalProperties": False,
            },
        },
        "same": {"type": "boolean"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["checks", "same", "confidence"],
    "additionalProperties": False,
}
"""Of an answer."""


@dataclass(frozen=True)
class Verdict:
    """A judgement: whether it is the goal, and the confidence in that, 0..1."""

    same: bool
    confidence: float

    def passes(self, confident: float) -> bool:
        """Whether it lets a declaration pass."""
        return self.same and self.confidence >= confident


def question(view: View, step: int, box: tuple[int, int, int, int], goal: int, what: TeamGoal) -> Question:
    """Asks whether the thing in a box (pixels of the view) is a goal; the photo of an image goal stands
    beside the view."""
    frame = view.frame
    left, top, right, bottom = box
    text = (
        f"goal_{goal} is {said(what)}. The robot's picture, {optics(frame.camera)}, {view.where()}; "
        f"red frame: left {left}, top {top}, right {right}, bottom {bottom} pixels of it."
    )
    if what.image is not None:
        text += " It stands to the right of the photo, scaled to one height with it."
    picture = view.boxed(box, what.image, goal)
    chat = (Said("system", (SYSTEM,)), Said("user", (text, picture)))
    return Question(LEVEL, f"robot_{view.robot}", step, chat, SCHEMA)


def verdict(answer: Mapping[str, Any]) -> Verdict:
    """An answer that fits the schema; one attribute that does not hold, or none that was checked, is a no,
    whatever `same` says."""
    held = bool(answer["checks"]) and all(check["holds"] for check in answer["checks"])
    return Verdict(bool(answer["same"] and held), float(answer["confidence"]))
