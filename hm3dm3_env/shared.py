"""What a team of robots knows: the goals, everybody's posed frames, and the shared map. Policies get this.

Nothing here tells a verdict, a viewpoint, d* or an object id. `Privileged` does, and only methods that say
they are privileged (and simulated recognisers, which are the noisy eyes and not the method) are given it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.sim.base import Body, Camera, Frame, Navigator, Simulator


@dataclass(frozen=True)
class TeamGoal:
    """A goal as the team is told: modality ("ON", "TN", "IIN"), its text ("" for an image), its image
    (S, S, 3) uint8."""

    modality: str
    text: str
    image: np.ndarray | None


@dataclass
class SharedState:
    """The team's knowledge at one step.

    Attributes:
        goals: (M,) what to find; `unresolved` (M,) whether it is still on the list.
        poses, alive, frames: (K,) an entry an agent; frames never carry a semantic image here.
        map: the shared occupancy map.
        actions_left: (K,) actions each agent may still spend. Its path budget depends on d* and is not told.
        step: lockstep steps so far.
    """

    goals: Sequence[TeamGoal]
    unresolved: list[bool]
    poses: list[Pose]
    alive: list[bool]
    frames: list[Frame]
    map: SharedMap
    actions_left: list[int]
    step: int
    camera: Camera
    body: Body

    @property
    def agents(self) -> int:
        """K of this episode."""
        return len(self.poses)


@dataclass(frozen=True)
class Privileged:
    """The truth: the episode with its viewpoints, the simulator, its navigator, and what frames really show.

    `labels(frame)` is the (H, W) semantic image behind one of the step's frames (None: not rendered).
    """

    episode: Episode
    sim: Simulator
    labels: Callable[[Frame], np.ndarray | None] = lambda frame: frame.semantic

    @property
    def navigator(self) -> Navigator:
        """Of the current scene."""
        return self.sim.navigator
