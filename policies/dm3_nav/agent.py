"""One robot of DM3-Nav: its own map, goal board, candidates and intents; it knows of others what it heard."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import declare
from policies.base import TeamTask
from policies.crew import Crew, CrewConfig
from policies.dm3_nav.message import Message, merge, patch_of
from policies.frontier_policy import last_resort, search

FAR = 5000.0
"""Metres to a frontier that a teammate cannot reach on this robot's map (DM3-Nav: 100000 cells of 5 cm)."""


@dataclass(frozen=True)
class Dm3NavConfig:
    """DM3-Nav's numbers, as its release has them, and the shared lower level."""

    range: float = 5.0
    """Robots closer than this hear each other, metres (DM3-Nav; inf: always)."""
    period: int = 1
    """Steps between two messages (DM3-Nav)."""
    map_period: int = 11
    """Steps between two maps for the same robot; one is sent at first contact (DM3-Nav: when more than 10
    have passed)."""
    remember: int = 3
    """Steps for which the place and intents of another robot count after they were heard (DM3-Nav)."""
    block: int = 20
    """Steps for which a goal that another robot goes for is left to it (DM3-Nav)."""
    intent_radius: float = 1.0
    """A frontier this close to the one that another robot goes to counts as the same, metres (ours)."""
    intent_weight: float = 0.25
    """What the utility of such a frontier is multiplied by (ours; 1: only places count, as in DM3-Nav's
    release, which does not send frontiers)."""
    told: bool = False
    """Take the benchmark's list of open goals, which all robots get at once, instead of the robot's own board
    (own declarations and what it heard of)."""
    crew: CrewConfig = field(default_factory=lambda: CrewConfig(use_heat=False))

    def __post_init__(self) -> None:
        if not self.range >= 0 or min(self.period, self.map_period) < 1 or min(self.remember, self.block) < 0:
            raise ValueError(
                "range, remember and block must not be negative, period and map_period at least 1: "
                f"{self.range}, {self.remember}, {self.block}, {self.period}, {self.map_period}"
            )
        if not 0 <= self.intent_weight <= 1 or self.intent_radius < 0:
            raise ValueError(
                "intent_weight must be 0 to 1 and intent_radius not negative: "
                f"{self.intent_weight}, {self.intent_radius}"
            )


class Agent:
    """A robot by itself.

    Attributes:
        map: what it has seen or was sent.
        done: (M,) goals that it knows to be declared.
        goal, score, target: its intents: the goal whose candidate it goes for (None: it explores), the
            candidate's score, and the frontier that it goes to.
        heard: the last message of every robot that it met.
    """

    def __init__(self, number: int, task: TeamTask, config: Dm3NavConfig) -> None:
        shared = task.shared
        self.number, self.config = number, config
        self.map = SharedMap(shared.map.config, np.zeros(3), shared.map.floor)
        self.map.origin = shared.map.origin.copy()
        self.done = [False] * len(shared.goals)
        self.goal: int | None = None
        self.score = 0.0
        self.targets: list[np.ndarray | None] = [None]
        self.heard: dict[int, Message] = {}
        self.blocked: dict[int, int] = {}
        self.maps_sent: dict[int, int] = {}
        self.last: Pose | None = None
        self.view = self._own(shared)
        self.crew = Crew(replace(task, shared=self.view), config.crew)

    def _own(self, shared: SharedState) -> SharedState:
        """What this robot knows of the team's state: its own part."""
        k = self.number
        return replace(
            shared,
            unresolved=list(shared.unresolved) if self.config.told else [not done for done in self.done],
            poses=[shared.poses[k]],
            alive=[shared.alive[k]],
            frames=[shared.frames[k]],
            actions_left=[shared.actions_left[k]],
            map=self.map,
        )

    # -- seeing and hearing --------------------------------------------------------------------------------

    def look(self, shared: SharedState) -> None:
        """Fold its own frame into its own map, and look for candidates."""
        pose = shared.poses[self.number]
        if pose != self.last:
            self.map.update(shared.frames[self.number])
            self.map.mark_free(pose.position, shared.body.radius)
            self.last = pose
        self.view = self._own(shared)
        self.crew.look(self.view)

    def message(self, to: int) -> Message:
        """What it tells robot `to` now."""
        step = self.view.step
        due = to not in self.maps_sent or step - self.maps_sent[to] >= self.config.map_period
        if due:
            self.maps_sent[to] = step
        position = self.view.poses[0].position
        patch = patch_of(self.map) if due else None
        frontier = None if self.goal is not None else self.targets[0]
        return Message(self.number, step, position, tuple(self.done), self.goal, self.score, frontier, patch)

    def hear(self, message: Message) -> None:
        """Take in what another robot says: its board, its map, its intents."""
        self.heard[message.sender] = message
        self.done = [mine or other for mine, other in zip(self.done, message.done)]
        if not self.config.told:
            self.view.unresolved = [not done for done in self.done]
        if message.patch is not None:
            merge(self.map, message.patch)
            self.crew.map_changed()
        if message.goal is None:
            return
        mine = (self.score, -self.number) if message.goal == self.goal else None
        if mine is None or mine < (message.score, -message.sender):  # the lower score yields
            self.blocked[message.goal] = self.view.step + self.config.block
            if mine is not None:
                self.goal = None

    # -- deciding ------------------------------------------------------------------------------------------

    def act(self) -> int:
        """Go for the first open goal with an accepted candidate that nobody else goes for, else explore."""
        action = self._act()
        for goal in range(len(self.done)):
            if action == declare(goal):
                self.done[goal] = True
        return self.crew.chosen(0, action)

    def _act(self) -> int:
        while True:
            self._choose_goal()
            if self.goal is None:
                break
            action = self.crew.pursue(0, self.goal)
            if action is not None:
                track = self.crew.tracker.best(self.goal)
                assert track is not None
                self.score = track.score
                return action
        action = search(self.crew, 0, self.targets, self.target)
        return last_resort(self.crew, 0, self.view) if action is None else action

    def _choose_goal(self) -> None:
        step, best = self.view.step, self.crew.tracker.best

        def possible(goal: int) -> bool:
            free = self.blocked.get(goal, -1) < step
            return self.view.unresolved[goal] and free and best(goal) is not None

        if self.goal is None or not possible(self.goal):
            self.goal = next((j for j in range(len(self.done)) if possible(j)), None)
        self.score = 0.0 if self.goal is None else self.score

    def target(self) -> np.ndarray | None:
        """Keep the frontier while it is there, else the one with the highest utility."""
        current = self.targets[0]
        if current is not None and self.crew.still_there(current):
            return current
        points, distances = self.crew.options(0)
        self.targets[0] = None
        if len(points):
            order = np.lexsort((distances, -self.utility(points, distances)))
            self.targets[0] = points[order[min(self._before_me(), len(order) - 1)]]
        return self.targets[0]

    def utility(self, points: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """(P,) of (P, 3) frontiers at (P,) metres: how much closer it is than the closest other robot, and
        less where one goes already. With nobody heard, the nearest has the highest."""
        others = self.neighbours()
        if not others:
            return 1 / (distances + 1)
        fields = [self.crew.planner.field(replace(self.view.poses[0], x=m.position[0], z=m.position[2]))
                  for m in others]  # fmt: skip
        theirs = np.min([self.crew.planner.distances(field, points) for field in fields], 0)
        utility = (np.minimum(theirs, FAR) + 1e-4) / (distances + 1e-5)
        for m in others:
            if m.frontier is not None:
                gap = np.hypot(points[:, 0] - m.frontier[0], points[:, 2] - m.frontier[2])
                utility = utility * np.where(gap <= self.config.intent_radius, self.config.intent_weight, 1)
        return utility

    def neighbours(self) -> list[Message]:
        """The last messages of robots that were heard recently."""
        return [m for m in self.heard.values() if self.view.step - m.step <= self.config.remember]

    def _before_me(self) -> int:
        """Robots with lower numbers in this robot's cell: they choose first."""
        here = self.map.to_cell(self.view.poses[0].position)
        return sum(
            m.sender < self.number and bool((self.map.to_cell(m.position) == here).all())
            for m in self.neighbours()
        )
