"""The goal board: every goal's state, who goes for it, and what was judged not to be it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hm3dm3_env.shared import TeamGoal


@dataclass(frozen=True)
class Dismissed:
    """Something that a robot looked at from nearby and judged not to be a goal: (3,) place."""

    goal: int
    thing: str
    point: np.ndarray
    robot: int


@dataclass
class Board:
    """The state of all goals.

    Attributes:
        goals: (M,) what to find.
        shared: whether robots see each other's entries; without, each has only its own.
        declared: goal -> the robots that declared it.
        claims: robot -> the goal that it goes for.
        own: robot -> its goals, where they were divided (empty: all are everybody's).
        log: changes of claims, for the record.
    """

    goals: Sequence[TeamGoal]
    shared: bool
    declared: dict[int, list[int]] = field(default_factory=dict)
    claims: dict[int, int] = field(default_factory=dict)
    dismissed: list[Dismissed] = field(default_factory=list)
    own: dict[int, list[int]] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)

    def wanted(self, robot: int) -> list[int]:
        """The goals that a robot still has to look for, as far as it knows."""
        mine = self.own.get(robot, range(len(self.goals)))
        return [j for j in mine if not self._done(j, robot)]

    def _done(self, goal: int, robot: int) -> bool:
        by = self.declared.get(goal, [])
        return bool(by) if self.shared else robot in by

    def claim(self, robot: int, goal: int | None, step: int) -> None:
        """A robot goes for a goal from now on, or for none."""
        if self.claims.get(robot) == goal:
            return
        self.claims.pop(robot, None)
        if goal is not None:
            self.claims[robot] = goal
        self.log.append({"step": step, "robot": robot, "goal": goal})

    def lines(self, robot: int) -> list[str]:
        """The board as a robot reads it: a line for each goal, then what was dismissed."""
        text = []
        for j in range(len(self.goals)):
            if self.own and j not in self.own.get(robot, []):
                continue
            text.append(f"goal_{j}: {said(self.goals[j])}; {self._state(j, robot)}")
        for d in self.dismissed:
            if self.shared or d.robot == robot:
                place = f"x {d.point[0]:.1f}, z {d.point[2]:.1f}"
                text.append(f"not goal_{d.goal}: the {d.thing} at {place}, says robot_{d.robot}")
        return text

    def _state(self, goal: int, robot: int) -> str:
        if self._done(goal, robot):
            by = self.declared[goal][0] if self.shared else robot
            return f"found, declared by robot_{by}"
        going = [k for k, j in self.claims.items() if j == goal and (self.shared or k == robot)]
        if going:
            return f"unresolved, claimed by {' and '.join(f'robot_{k}' for k in sorted(going))}"
        return "unresolved"


def said(goal: TeamGoal) -> str:
    """A goal in words, on one line."""
    words = " ".join(goal.text.split())
    if goal.modality == "IIN":
        return "the very thing in its photo"
    return f"any {words}" if goal.modality == "ON" else f"this one thing: {words}"
