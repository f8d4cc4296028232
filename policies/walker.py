"""Walking on the shared map: plans, steps along them, bumps and how to get free. What methods with a planner
share, whatever their eyes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hm3dm3_env.geometry import Pose, forward
from hm3dm3_env.shared import SharedState
from policies.planner import FORWARD, LEFT, LOOK_DOWN, LOOK_UP, RIGHT, Field, MapPlanner, PlannerConfig

POCKET = 0.5
"""Square metres: no home has a room so small (ours)."""


@dataclass
class Legs:
    """One robot's way, and what its last steps met."""

    path: np.ndarray | None = None
    goal_point: np.ndarray | None = None
    age: int = 0
    crossed: int = 0
    """Grown cells on what is left of the path; it is blocked when there are more."""
    last: Pose | None = None
    last_action: int = 0
    bumps: int = 0
    """In a row."""
    escape: list[int] = field(default_factory=list)
    """Actions that free a robot that bumped."""


class Walker:
    """The ways of a team's robots for one episode.

    Attributes:
        planner: on the shared map.
        replan: steps after which a path is planned again; one that becomes blocked is planned again at once.
    """

    def __init__(self, shared: SharedState, config: PlannerConfig, replan: int) -> None:
        self.planner, self.replan = MapPlanner(shared.map, shared.body, config), replan
        self.shared = shared
        self._legs: list[Legs] = [Legs() for _ in shared.poses]
        self._fields: dict[tuple[int, int], Field] = {}

    def arrived(self, shared: SharedState) -> list[int]:
        """A new step: notices bumps. Returns the living robots whose pose is new, all of them at first."""
        self.shared, self._fields, fresh = shared, {}, []
        for k, (legs, pose) in enumerate(zip(self._legs, shared.poses)):
            if legs.last is not None and legs.last_action == FORWARD:
                self._feel(legs, pose)
            if shared.alive[k] and pose != legs.last:
                fresh.append(k)
            legs.last = pose
        return fresh

    def map_changed(self) -> None:
        """Take in that the map grew."""
        self._fields = {}
        self.planner.update()

    def _feel(self, legs: Legs, pose: Pose) -> None:
        """A forward that hardly moved was a bump: what is ahead blocks, whatever the depth said. After n
        bumps in a row a robot turns n times, to alternating sides, before it goes on."""
        assert legs.last is not None
        if np.hypot(pose.x - legs.last.x, pose.z - legs.last.z) >= 0.1:
            legs.bumps = 0
        else:
            legs.bumps += 1
            legs.path = None
            side, turns = (LEFT if legs.bumps % 2 else RIGHT), legs.bumps
            if legs.bumps > 6:  # five of twelve directions at a time visits them all
                side, turns = LEFT, 5
            legs.escape = [side] * turns + [FORWARD]
            reach = self.shared.body.radius + self.shared.map.cell
            self.shared.map.mark_occupied(pose.position + forward(pose.heading) * reach)

    def field(self, agent: int, hope: int = 0) -> Field:
        """Distances from a robot (see `MapPlanner.field`), once a step."""
        key = (agent, hope)
        if key not in self._fields:
            self._fields[key] = self.planner.field(self.shared.poses[agent], hope)
        return self._fields[key]

    def escaping(self, agent: int) -> bool:
        """Whether a robot is about to get free of what it bumped into."""
        return bool(self._legs[agent].escape)

    def walled_in(self, agent: int) -> bool:
        """Whether the map leaves a robot nowhere to go but a `POCKET`, as after bumps in a narrow place."""
        side = self.shared.map.cell * self.planner.config.coarsen
        return bool(np.isfinite(self.field(agent, 2).distance).sum() * side**2 <= POCKET)

    def chosen(self, agent: int, action: int) -> int:
        """Remember what a robot does, to notice bumps."""
        self._legs[agent].last_action = action
        return action

    def level(self, agent: int) -> int | None:
        """The action back to a level camera; None if it is level."""
        pose = self.shared.poses[agent]
        return LOOK_UP if pose.pitch < -0.1 else LOOK_DOWN if pose.pitch > 0.1 else None

    def walk(self, agent: int, point: np.ndarray, slack: float = 0.3) -> int | None:
        """The next action on the way to a (3,) point, as near as `slack` metres; where no known floor leads
        there, over unknown floor. None: it is reached, or nothing leads there."""
        legs, pose = self._legs[agent], self.shared.poses[agent]
        if legs.escape:
            return legs.escape.pop(0)
        crossed = 0 if legs.path is None else self.planner.crossed(legs.path)
        stale = (
            legs.path is None
            or legs.age >= self.replan
            or legs.goal_point is None
            or np.hypot(*(legs.goal_point - point)[[0, 2]]) > 0.25
            or crossed > legs.crossed
        )
        if stale:
            path = np.zeros((0, 3))
            for hope in range(3):
                if not len(path):
                    path = self.planner.route(pose, point, slack, hope)
            if not len(path):
                return None
            legs.path, legs.goal_point, legs.age = path, point, 0
            crossed = self.planner.crossed(path)
        assert legs.path is not None
        legs.crossed = crossed
        legs.age += 1
        action, legs.path = self.planner.steer(pose, legs.path)
        if action is None:
            legs.path = None
        return action
