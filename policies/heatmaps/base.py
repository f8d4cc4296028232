"""Encoders for heat maps: how much each part of a frame looks like each goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame


class Encoder(Protocol):
    """Image-goal similarity. `name` goes into every table."""

    name: str
    needs_semantic: bool
    needs_rgb: bool

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """A new episode; `truth` is for simulated encoders."""

    def similarity(self, frame: Frame, strips: int) -> np.ndarray:
        """(M, strips) similarity in 0..1 of each goal to each vertical strip of the frame, left to right."""
