"""The action mask inside the observation, where PettingZoo's classic games and Tianshou look for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from hm3dm3_env.wrappers.base import ObservationWrapper


class mask_to_obs_v0(ObservationWrapper):
    """Observations as `{"observation": what it was, "action_mask": (A,) int8}`; infos keep the mask too."""

    def make_space(self, agent: str) -> spaces.Dict:
        """A Dict of the wrapped space and a Box of 0 and 1 for each action."""
        actions = int(self.env.action_space(agent).n)
        mask = spaces.Box(0, 1, (actions,), np.int8)
        return spaces.Dict({"observation": self.env.observation_space(agent), "action_mask": mask})

    def view(self, agent: str, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        """The pair, with a mask of its own."""
        return {"observation": observation, "action_mask": info["action_mask"].copy()}
