"""One vector an observation, for networks and libraries that take nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from hm3dm3_env.wrappers.base import ObservationWrapper


class flatten_obs_v0(ObservationWrapper):
    """Observations as one float32 vector: the keys in the order of the wrapped space, each raveled.

    uint8 leaves (images, text bytes) are divided by 255, so that they lie in 0..1; floats stay as they are.
    Pictures make long vectors: choose keys and sizes in `observation` and `camera` first.
    """

    def make_space(self, agent: str) -> spaces.Box:
        """A 1-D float32 Box with the bounds of its parts."""
        leaves = [(leaf, _scale(leaf)) for leaf in self.env.observation_space(agent).spaces.values()]
        low = np.concatenate([leaf.low.ravel() * scale for leaf, scale in leaves]).astype(np.float32)
        high = np.concatenate([leaf.high.ravel() * scale for leaf, scale in leaves]).astype(np.float32)
        return spaces.Box(low, high, dtype=np.float32)

    def view(self, agent: str, observation: Any, info: dict[str, Any]) -> np.ndarray:
        """(N,) float32."""
        leaves = self.env.observation_space(agent).spaces
        parts = [observation[key].ravel() * _scale(leaf) for key, leaf in leaves.items()]
        return np.concatenate(parts).astype(np.float32)


def _scale(leaf: spaces.Box) -> np.float32:
    return np.float32(1 / 255 if leaf.dtype == np.uint8 else 1)
