"""VLFM for a team: frontiers by how much what is seen there looks like a goal.

VLFM (Yokoyama et al.) is one robot's method for one goal. What was adapted:

- A value map for each goal, filled by all robots: the frame's similarity to the goal, folded in with a
  confidence of cos**2 across the field of view (floor 0.25) and confidence-weighted averages: `HeatMaps`,
  with one value a frame as in VLFM, and the encoder that HiGA's heat maps use. With open_clip, VLFM's words
  are `eyes.encoder.open_clip.templates=["Seems like there is {} ahead."]`, and `rows=1 crop=1` there make the
  value that of the whole frame; by default it is the best of two crops.
- The value of a frontier is, for each goal, the median of the positive values within 0.5 m; for the team the
  largest over the goals still looked for (`combine`).
- VLFM knows no teammates: all robots would go to one frontier. They choose in turn, and one within `spread`
  of a teammate's is taken only when there is no other.
- A robot keeps its frontier while there is one within `frontiers.done_radius` (0.7 m; VLFM: 0.5) and its
  value does not fall by more than 0.01.
- VLFM's acyclic enforcer, which is to stop robots that go back and forth between two frontiers, never fires
  as published (it compares objects by identity). Ours does what it was meant to: a robot does not choose the
  same frontier from the same place with the same two best values twice, unless all are so; then it takes the
  closest, as VLFM's comment says, not the farthest, as its code does.
- Candidates, approach and declaration are the lower level that all methods share. VLFM's detector and its
  point-goal network are not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hm3dm3_env.shared import SharedState
from policies.base import TeamTask
from policies.crew import CrewConfig, near_any
from policies.frontier_policy import FrontierPolicy
from policies.heatmaps.maps import HeatConfig

COMBINE = ("max", "mean")


@dataclass(frozen=True)
class VlfmConfig:
    """VLFM's numbers, and the shared lower level."""

    radius: float = 0.5
    """The value of a frontier is read within this, metres (VLFM)."""
    combine: str = "max"
    """How the values of the goals become one: max or mean (ours)."""
    keep: float = 0.01
    """A frontier is kept while its value falls by less than this from step to step (VLFM)."""
    travel: float = 0.0
    """What a metre on the way takes off a frontier's value when one is chosen (VLFM: nothing)."""
    acyclic: bool = True
    """Do not repeat a choice in the same circumstances (VLFM's intent, not its effect)."""
    spread: float = 1.0
    """Robots stay this far from teammates' frontiers while there are others, metres (ours; 0: they do not
    care)."""
    crew: CrewConfig = field(default_factory=lambda: CrewConfig(heat=HeatConfig(strips=1, decay=1.0)))

    def __post_init__(self) -> None:
        if self.combine not in COMBINE:
            raise ValueError(f"combine: {self.combine!r} is none of {', '.join(COMBINE)}")
        if not self.radius > 0 or not min(self.spread, self.travel) >= 0:
            raise ValueError(
                "radius must be positive, spread and travel not negative: "
                f"{self.radius}, {self.spread}, {self.travel}"
            )
        if not self.crew.use_heat:
            raise ValueError("crew.use_heat: vlfm has nothing to go by without heat maps; leave it on")


class VlfmPolicy(FrontierPolicy):
    """The frontier with the highest value; the nearest robot takes an accepted candidate."""

    Config = VlfmConfig

    def reset(self, task: TeamTask) -> None:
        """A new episode."""
        super().reset(task)
        self.last = [-np.inf] * task.shared.agents
        self.chosen: list[set[Any]] = [set() for _ in range(task.shared.agents)]

    def target(self, k: int, shared: SharedState) -> np.ndarray | None:
        """Keep the frontier while it is as good as it was, else the best that is not a repetition."""
        current = self.targets[k]
        if current is not None and self.crew.still_there(current):
            value = float(self.values(current[None], shared)[0])
            if value + self.config.keep > self.last[k]:
                self.last[k] = value
                return current
        points, distances = self.crew.options(k)
        self.targets[k] = None
        if len(points):
            values = self.values(points, shared)
            pick = self._choose(k, points, values, distances, shared)
            self.targets[k], self.last[k] = points[pick], float(values[pick])
        return self.targets[k]

    def values(self, points: np.ndarray, shared: SharedState) -> np.ndarray:
        """(P,) of (P, 3) frontiers, for the goals that are still looked for; -1 where nothing is known."""
        assert self.crew.heat is not None
        values = self.crew.heat.median(points, self.config.radius)[np.array(shared.unresolved)]
        if self.config.combine == "max":
            return values.max(0)
        known = values >= 0
        return np.where(known.any(0), (values * known).sum(0) / np.maximum(known.sum(0), 1), -1.0)

    def _choose(
        self, k: int, points: np.ndarray, values: np.ndarray, distances: np.ndarray, shared: SharedState
    ) -> int:
        taken = np.array([near_any(p, self.others(k), self.config.spread) for p in points])
        worth = values - self.config.travel * distances
        order = np.lexsort((distances, -worth, taken))  # free ones first, then by value, then the nearer
        if not self.config.acyclic:
            return int(order[0])
        pose, best = shared.poses[k], tuple(np.sort(values)[::-1][:2].round(6).tolist())
        here = (round(pose.x, 2), round(pose.z, 2))
        keys = [(here, tuple(p[[0, 2]].round(2).tolist()), best) for p in points]
        fresh = [int(i) for i in order if keys[i] not in self.chosen[k]]
        pick = fresh[0] if fresh else int(np.lexsort((distances, taken))[0])
        self.chosen[k].add(keys[pick])
        return pick
