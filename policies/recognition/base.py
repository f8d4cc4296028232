"""Recognition: from a frame to candidates for goals. One module of eyes for all methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame


@dataclass(frozen=True)
class Candidate:
    """Something that may be a goal.

    Attributes:
        goal: index of the goal.
        score: 0..1, comparable between goals; what counts as accepted is the caller's threshold.
        point: (3,) world position of the seen surface, from depth.
        box: (left, top, right, bottom) pixels in the frame.
        distance: metres from the camera to `point`, in the plane.
    """

    goal: int
    score: float
    point: np.ndarray
    box: tuple[int, int, int, int]
    distance: float


class Detector(Protocol):
    """What a policy gets of a recogniser."""

    name: str

    def candidates(self, frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        """What each frame shows of the goals that are still looked for. The frames of a step come in one
        call, in the robots' order, so that models see them in one batch."""


class Recognizer(Detector, Protocol):
    """The eyes. `name` goes into every table."""

    needs_semantic: bool
    """Whether frames must carry a semantic image."""
    needs_rgb: bool
    min_width: int
    """Narrowest frame that it works with, pixels (0: any)."""
    goal_image: int
    """Side of the goal images that it needs, pixels (0: none)."""
    privileged: bool
    """Whether it knows the truth without noise; methods that look with it are marked."""

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """A new episode; `truth` is for simulated eyes."""
