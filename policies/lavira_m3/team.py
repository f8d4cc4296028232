"""What the robots of a LaViRA-M3 team have in common in an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hm3dm3_env.shared import SharedState
from policies.crew import near_any, nearest_free
from policies.frontiers import find_frontiers, known_floor
from policies.lavira_m3.board import Board
from policies.lavira_m3.config import LaviraM3Config
from policies.lavira_m3.views import View, visible
from policies.walker import Walker

SHOWN = 4
"""Unexplored places that are told of a view, the nearest ones (ours)."""

ASIDE = 0.15
"""Of a view's width: what is so far aside of where a robot goes is something else (ours)."""


@dataclass
class Gates:
    """What came of inspections.

    Attributes:
        judged: things that were judged; `passed` of them, and `declined` or judged with too little
            confidence.
        lost: inspections that lost their thing on the way, or could not get near it.
        found: those that ended since a teammate had declared the goal, before or after the judgement.
        repeated: declarations without effect: a teammate's stood already, and the robot was not told (no
            board).
    """

    judged: int = 0
    passed: int = 0
    declined: int = 0
    lost: int = 0
    found: int = 0
    repeated: int = 0


class Team:
    """The shared map's planner, the board, and what robots say.

    Attributes:
        progress: robot -> what it says of its progress.
        going: robot -> (3,) place that it goes to.
        looked: (3,) places where robots turned around.
        likely: robot -> (M,) chances of the goals, until they are divided.
        decisions: what was decided, for the record.
        fallbacks: ways that robots chose without an answer.
    """

    def __init__(self, shared: SharedState, config: LaviraM3Config) -> None:
        self.config, self.shared = config, shared
        self.walker = Walker(shared, config.planner, config.replan)
        self.board = Board(shared.goals, config.board)
        self.progress: dict[int, str] = {}
        self.going: dict[int, np.ndarray] = {}
        self.looked: list[np.ndarray] = []
        self.likely: dict[int, np.ndarray] = {}
        self.decisions: list[dict[str, Any]] = []
        self.gates, self.fallbacks = Gates(), 0
        self._given_up: list[np.ndarray] = []
        self._ends: np.ndarray | None = None

    def arrived(self, shared: SharedState) -> None:
        """A new step."""
        self.shared, self._ends = shared, None
        self.walker.arrived(shared)
        self.walker.planner.update()
        for k, alive in enumerate(shared.alive):
            if not alive:
                self.board.claim(k, None, shared.step)
                self.going.pop(k, None)

    # -- what is unexplored --------------------------------------------------------------------------------

    def ends(self) -> np.ndarray:
        """(F, 3) the unexplored places: frontiers of the shared map that nobody has given up; where there are
        none, known floor far from where robots turned around."""
        if self._ends is None:
            window, config = self.shared.map.window(0.5), self.config
            passable = ~self.walker.planner.grown[window]
            found = find_frontiers(self.shared.map, passable, window, config.frontiers).points
            self._ends = self._not_given_up(found)
            if not len(self._ends):
                floor = known_floor(self.shared.map, passable, window, config.patrol_cell)
                far = [not near_any(point, self.looked, config.patrol_gap) for point in floor]
                self._ends = self._not_given_up(floor[np.array(far, bool)])
        return self._ends

    def _not_given_up(self, points: np.ndarray) -> np.ndarray:
        radius = self.config.frontiers.done_radius
        return points[np.array([not near_any(point, self._given_up, radius) for point in points], bool)]

    def give_up(self, point: np.ndarray, radius: float) -> None:
        """The unexplored places within `radius` metres of a place were looked at, or cannot be reached."""
        gaps = np.hypot(self.ends()[:, 0] - point[0], self.ends()[:, 2] - point[2])
        self._given_up.extend(self.ends()[gaps <= radius])
        self._ends = None

    def ends_in(self, view: View) -> list[tuple[float, float]]:
        """The unexplored places in a view: (share of its width from the left, metres), nearest first."""
        if not self.config.ends:
            return []
        return [(share, metres) for _, share, metres in visible(view, self.ends())][:SHOWN]

    def end_towards(self, view: View, share: float) -> np.ndarray | None:
        """(3,) the nearest unexplored place of a view within `ASIDE` of a direction in it (0..1 of its
        width), or None."""
        near = [number for number, at, _ in visible(view, self.ends()) if abs(at - share) < ASIDE]
        return self.ends()[near[0]] if near else None

    def ends_of(self, views: list[View]) -> int:
        """How many unexplored places some views show together."""
        return len({number for view in views for number, *_ in visible(view, self.ends())})

    def nearest_end(self, agent: int) -> np.ndarray | None:
        """The nearest unexplored place for a robot that no teammate goes to: its way without an answer."""
        points = self.ends()
        others = [place for k, place in self.going.items() if k != agent]
        for hope in range(3):
            distances = self.walker.planner.distances(self.walker.field(agent, hope), points)
            pick = nearest_free(distances, points, others)
            if pick is not None:
                return points[pick]
        return None

    # -- what is told --------------------------------------------------------------------------------------

    def teammates(self, agent: int) -> list[str]:
        """What the teammates of a robot say of their progress, a line each; nothing without that channel."""
        if not self.config.progress:
            return []
        lines = []
        for k, pose in enumerate(self.shared.poses):
            if k != agent:
                state = "" if self.shared.alive[k] else ", cannot move any more"
                words = self.progress.get(k, "has said nothing yet")
                lines.append(f"robot_{k} at x {pose.x:.1f}, z {pose.z:.1f}{state}: {words}")
        return lines
