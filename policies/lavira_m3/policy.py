"""LaViRA-M3: a training-free team; each robot is led by a vision-language model on three levels.

- *Language action* (`language.py`): from views, the goal board, what teammates say and a short history to
  explore, go to a thing, inspect a candidate, turn around, or backtrack.
- *Vision action* (`vision.py`): from a view and what is meant in it to a box, and by depth to a place.
- *Robot action* (`robot.py`): fast marching on the shared map to that place, until it is reached, blocked, or
  a budget of actions is spent.

`identity.py` is the gate before a declaration, `board.py` the goal board, `brain.py` one robot, and
`answer.py` what the simulated model says. The paper's summary names these parts; details are LaViRA's where
it is known (boxes in thousandths, the lower edge for where to walk, 15 steps, 0.75 m) and ours elsewhere:

- Robots that decide at a step are asked together, in rounds: in a later round of the step a robot knows what
  teammates said in an earlier one. A robot that is under way is not asked.
- A turn-around takes nine turns, and its four views are looked at without turning back to them.
- Going back means choosing anew from what was seen at a place, not walking there first (LaViRA).
- Things that were judged not to be a goal stand on the board with their place.
- Once the map has no frontiers left, floor that nobody has looked around on counts as unexplored.
- Where no answer comes, or three decisions in a row lead to no action, a robot goes to the nearest unexplored
  place that no teammate goes to; such fallbacks are counted.
- LaViRA asks twice before it stops; here the gate is the second question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import WAIT
from hm3dm3_env.vlm.session import Question
from policies.base import TeamTask
from policies.lavira_m3.answer import ANSWERS
from policies.lavira_m3.brain import LATER, Brain, Life
from policies.lavira_m3.config import LaviraM3Config
from policies.lavira_m3.robot import PATIENCE
from policies.lavira_m3.team import Team


class LaviraM3Policy:
    """The robots' brains, and who asks for them all at once."""

    privileged = False
    recognises_by_vlm = True
    answers = ANSWERS
    goal_image = 224
    """Side of the photos of image goals, pixels (ours; 64 tokens of Qwen-VL)."""
    Config = LaviraM3Config

    def __init__(self, config: LaviraM3Config | None = None) -> None:
        self.config = config or LaviraM3Config()

    def reset(self, task: TeamTask) -> None:
        """A new episode.

        Raises:
            ValueError: the robots cannot turn around within the budget of `steps`.
        """
        assert task.vlm is not None, "LaViRA-M3 needs a VLM"
        turn = task.shared.body.turn_deg
        if self.config.steps * turn <= 180:
            few = f"steps={self.config.steps} is too few with body.turn_deg={turn:g}"
            enough = int(180 / turn) + PATIENCE
            raise ValueError(f"lavira_m3: {few} to turn around and go; set steps to {enough} or more")
        self.vlm, self.team = task.vlm, Team(task.shared, self.config)
        self.brains = [Brain(self.team, k) for k in range(task.shared.agents)]
        self.lives: list[Life] = [brain.life() for brain in self.brains]

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """Every living robot's next action; the questions of a round are asked together."""
        self.team.arrived(shared)
        replies: dict[int, Any] = {k: None for k, alive in enumerate(shared.alive) if alive}
        actions = {f"robot_{k}": self.team.walker.chosen(k, WAIT) for k in range(shared.agents)}
        for k in replies:
            self.brains[k].lasts()
        while replies:
            questions: dict[int, Question] = {}
            waiting: dict[int, Any] = {}
            for k, reply in replies.items():
                said = self.lives[k].send(reply)
                if isinstance(said, Question):
                    questions[k] = said
                elif said == LATER:
                    waiting[k] = None
                else:
                    actions[f"robot_{k}"] = self.team.walker.chosen(k, said)
            if questions:
                waiting |= dict(zip(questions, self.vlm.ask(list(questions.values()))))
            replies = dict(sorted(waiting.items()))
        return actions

    def record(self) -> dict[str, Any]:
        """Every decision with its reason and result, who claimed what, what the gate did, and how often
        robots went their own way (`vlm.fallbacks`)."""
        return {
            "vlm": {"fallbacks": self.team.fallbacks},
            "decisions": self.team.decisions,
            "claims": self.team.board.log,
            "gates": asdict(self.team.gates),
        }
