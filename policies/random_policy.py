"""Uniformly random legal actions: the floor of every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import MOVES, WAIT
from policies.base import TeamTask


class RandomPolicy:
    """Every robot that may act draws among its moves and the declarations of unresolved goals."""

    privileged = False

    def reset(self, task: TeamTask) -> None:
        """Keep the generator."""
        self.rng = task.rng

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """One draw a robot."""
        legal = [*range(len(MOVES)), *(len(MOVES) + j for j, left in enumerate(shared.unresolved) if left)]
        return {
            f"robot_{k}": int(self.rng.choice(legal)) if alive else WAIT
            for k, alive in enumerate(shared.alive)
        }

    def record(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}
