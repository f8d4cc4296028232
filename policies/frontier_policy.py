"""Nearest-frontier exploration: no semantics in the search, recognition only to declare what comes into
view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import WAIT
from policies.base import TeamTask
from policies.crew import Crew, CrewConfig, nearest_free
from policies.planner import LEFT


@dataclass(frozen=True)
class FrontierPolicyConfig:
    """Nothing but the lower level, and how far teammates keep apart."""

    spread: float = 1.0
    """A frontier within this of a teammate's is taken only when there is no other, metres (0: nobody cares
    where teammates go, exploration without coordination)."""
    crew: CrewConfig = field(default_factory=lambda: CrewConfig(use_heat=False))


class FrontierPolicy:
    """Each robot goes to the nearest frontier that no teammate goes to; the nearest robot takes an accepted
    candidate."""

    privileged = False
    Config: type = FrontierPolicyConfig

    def __init__(self, config: Any = None) -> None:
        self.config = config or self.Config()

    def reset(self, task: TeamTask) -> None:
        """A new episode."""
        self.crew = Crew(task, self.config.crew)
        self.targets: list[np.ndarray | None] = [None] * task.shared.agents
        self.taken: dict[int, int] = {}

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """Candidates first, then frontiers."""
        self.crew.look(shared)
        self._share_candidates(shared)
        for k, alive in enumerate(shared.alive):
            if not alive or k in self.taken:
                self.targets[k] = None  # it goes to no frontier, so teammates need not keep away from one
        actions = {}
        for k, alive in enumerate(shared.alive):
            action = self._act(k, shared) if alive else WAIT
            actions[f"robot_{k}"] = self.crew.chosen(k, action)
        return actions

    def _share_candidates(self, shared: SharedState) -> None:
        """Keep who approaches what; give new candidates to the nearest robot without one."""
        self.taken = {
            k: j
            for k, j in self.taken.items()
            if shared.alive[k] and shared.unresolved[j] and self.crew.tracker.best(j) is not None
        }
        for j, left in enumerate(shared.unresolved):
            best = self.crew.tracker.best(j) if left and j not in self.taken.values() else None
            free = [k for k, alive in enumerate(shared.alive) if alive and k not in self.taken]
            if best is None or not free:
                continue
            gaps = [
                float(np.hypot(shared.poses[k].x - best.point[0], shared.poses[k].z - best.point[2]))
                for k in free
            ]
            self.taken[free[int(np.argmin(gaps))]] = j

    def _act(self, k: int, shared: SharedState) -> int:
        crew = self.crew
        if k in self.taken:
            action = crew.pursue(k, self.taken[k])
            if action is not None:
                return action
            del self.taken[k]
        action = search(crew, k, self.targets, lambda: self.target(k, shared))
        if action is not None:
            return action
        return last_resort(crew, k, shared)

    def target(self, k: int, shared: SharedState) -> np.ndarray | None:
        """Keep the frontier while it is there, else the nearest that is free."""
        current = self.targets[k]
        if current is None or not self.crew.still_there(current):
            points, distances = self.crew.options(k)
            pick = nearest_free(distances, points, self.others(k), self.config.spread)
            self.targets[k] = None if pick is None else points[pick]
        return self.targets[k]

    def others(self, k: int) -> list[np.ndarray]:
        """Where the teammates of a robot are going."""
        return [t for i, t in enumerate(self.targets) if i != k and t is not None]

    def record(self) -> dict[str, Any]:
        """Where candidates were seen at the end."""
        return candidate_record(self.crew)


def search(
    crew: Crew, k: int, targets: list[np.ndarray | None], choose: Callable[[], np.ndarray | None]
) -> int | None:
    """Look around if a robot is at it, else go to the place that `choose` names (it keeps `targets[k]`); a
    place that turns out finished or out of reach makes room for another choice. None: nothing to search."""
    if crew.scanning(k):
        return crew.scan(k)
    for _ in range(3):
        point = choose()
        if point is None:
            return None
        action = crew.explore(k, point)
        if action is not None:
            return action
        targets[k] = None
    return None


def last_resort(crew: Crew, k: int, shared: SharedState) -> int:
    """No frontier is left: go for the best doubtful candidate, if any, else wait (or turn, while there are
    frontiers)."""
    config = crew.config
    crew.robots[k].stage = "wait"
    if len(crew.frontiers().points):
        return LEFT
    for _ in range(4):
        doubtful = [
            t
            for j, left in enumerate(shared.unresolved)
            if left
            for t in [crew.tracker.best(j, config.desperate)]
            if t is not None
        ]
        if not doubtful:
            return WAIT
        track = max(doubtful, key=lambda t: t.score)
        action = crew.approach(k, track, verify=config.desperate)
        if action is not None:
            return action
        if track in crew.tracker.tracks[track.goal]:
            crew.tracker.reject(track)
    crew.robots[k].stage = "wait"
    return WAIT


def candidate_record(crew: Crew) -> dict[str, Any]:
    """The candidates at the end of an episode: goal, place, score."""
    return {
        "candidates": [
            {
                "goal": t.goal,
                "x": round(float(t.point[0]), 3),
                "z": round(float(t.point[2]), 3),
                "score": round(t.score, 3),
            }
            for tracks in crew.tracker.tracks
            for t in tracks
        ]
    }
