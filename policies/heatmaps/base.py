"""Encoders for heat maps: how much each part of a frame looks like each goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame


class Similarity(Protocol):
    """What a policy gets of an encoder."""

    name: str
    space: str
    """The space that embeddings live in; vectors of different spaces must not be compared or mixed."""

    def similarity(self, frames: Sequence[Frame], strips: int) -> np.ndarray:
        """(n, M, strips) similarity in 0..1 of each goal to each vertical strip of each frame, left to right.
        The frames of a step come in one call, in the robots' order."""

    def embeddings(self) -> np.ndarray:
        """(M, D) float32, the goals of the episode in the encoder's own space: unit vectors; zeros where
        nothing is known of a goal. D depends on the encoder only."""


class Encoder(Similarity, Protocol):
    """Image-goal similarity. `name` goes into every table."""

    needs_semantic: bool
    needs_rgb: bool
    min_width: int
    """Narrowest frame that it works with, pixels (0: any)."""
    goal_image: int
    """Side of the goal images that it needs, pixels (0: none)."""

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """A new episode; `truth` is for simulated encoders."""
