"""EGO-Swarm as a team that explores: the nearest frontier, pushed away from teammates and from where they go.

EGO-Swarm (Zhou et al.) plans trajectories of drones: every other drone's predicted place repels a trajectory
with (C - d)**2 where it passes at a distance d below a clearance C. The benchmark's paper uses it as frontier
coordination by "geometric repulsion"; how, it does not say. Our adaptation keeps the term and applies it to
the choice of frontiers. Robot i takes the frontier f with the smallest

    u_i(f) = d_i(f) + weight * sum over teammates j of max(0, C - min(|f - p_j|, |f - g_j|))**2

where d_i is the distance over known floor, p_j where teammate j is and g_j the frontier that it goes to. The
drones' own smoothness and feasibility terms have no counterpart with discrete actions. There is nothing
semantic in the search. Robots that are out of actions repel nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hm3dm3_env.shared import SharedState
from policies.crew import CrewConfig
from policies.frontier_policy import FrontierPolicy


@dataclass(frozen=True)
class EgoSwarmConfig:
    """The repulsion, and the shared lower level."""

    clearance: float = 4.0
    """C, metres (ours: rooms are about this wide)."""
    weight: float = 0.2
    """Metres of detour for a square metre of violated clearance (ours: a teammate on the spot outweighs 3.2 m
    of travel). 0: nearest frontier, without coordination."""
    crew: CrewConfig = field(default_factory=lambda: CrewConfig(use_heat=False))

    def __post_init__(self) -> None:
        if self.clearance < 0 or self.weight < 0:
            raise ValueError(
                f"clearance and weight must not be negative, not {self.clearance} and {self.weight}"
            )


class EgoSwarmPolicy(FrontierPolicy):
    """Nearest frontiers with repulsion; the nearest robot takes an accepted candidate."""

    Config = EgoSwarmConfig

    def target(self, k: int, shared: SharedState) -> np.ndarray | None:
        """Keep the frontier while it is there, else the one with the smallest u."""
        current = self.targets[k]
        if current is None or not self.crew.still_there(current):
            points, distances = self.crew.options(k)
            self.targets[k] = None
            if len(points):
                costs = distances + self.repulsion(k, points, shared)
                self.targets[k] = points[int(costs.argmin())]
        return self.targets[k]

    def repulsion(self, k: int, points: np.ndarray, shared: SharedState) -> np.ndarray:
        """(P,) metres that the teammates of a robot add to (P, 3) frontiers."""
        total = np.zeros(len(points))
        for j, pose in enumerate(shared.poses):
            if j == k or not shared.alive[j]:
                continue
            gap = np.hypot(points[:, 0] - pose.x, points[:, 2] - pose.z)
            intent = self.targets[j]
            if intent is not None:
                gap = np.minimum(gap, np.hypot(points[:, 0] - intent[0], points[:, 2] - intent[2]))
            total += np.maximum(0.0, self.config.clearance - gap) ** 2
        return self.config.weight * total
