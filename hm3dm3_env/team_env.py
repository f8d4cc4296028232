"""The whole team as one Gymnasium environment: joint observations, joint actions, one reward."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hm3dm3_env.env import HM3DM3ParallelEnv, parallel_env


class TeamEnv(gymnasium.Env):
    """`HM3DM3ParallelEnv` for single-agent libraries.

    The action is `MultiDiscrete([11] * N)`, one entry a robot. The observation is a flat dict with the keys
    of the parallel environment prefixed by the robot ("robot_0/depth"). `info["action_mask"]` is (N, 11)
    int8.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(self, env: HM3DM3ParallelEnv) -> None:
        self.env = env
        self.render_mode = env.render_mode
        names = env.possible_agents
        self.observation_space = spaces.Dict(
            {
                f"{name}/{key}": space
                for name in names
                for key, space in env.observation_space(name).spaces.items()
            }
        )
        self.action_space = spaces.MultiDiscrete([int(env.action_space(name).n) for name in names])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; see `HM3DM3ParallelEnv.reset`."""
        super().reset(seed=seed)
        observations, infos = self.env.reset(seed, options)
        return self._joint(observations), self._info(infos)

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """One lockstep step of the team."""
        names = self.env.possible_agents
        if not self.env.agents:
            raise RuntimeError("the episode is over; call reset()")
        observations, rewards, terminated, truncated, infos = self.env.step(
            {n: int(a) for n, a in zip(names, action)}
        )
        return (
            self._joint(observations),
            max(rewards.values(), key=abs),  # robots out of budget get 0, all others the team's
            terminated[names[0]],
            truncated[names[0]],
            self._info(infos),
        )

    @staticmethod
    def _joint(observations: dict[str, Any]) -> dict[str, Any]:
        return {f"{name}/{key}": value for name, mine in observations.items() for key, value in mine.items()}

    @staticmethod
    def _info(infos: dict[str, Any]) -> dict[str, Any]:
        return {"action_mask": np.stack([info["action_mask"] for info in infos.values()])}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """See `HM3DM3ParallelEnv.render`."""
        return self.env.render()

    def close(self) -> None:
        """Let the simulator go."""
        self.env.close()


def team_env(render_mode: str | None = None, **config: Any) -> TeamEnv:
    """A `TeamEnv` from the same keyword arguments as `parallel_env`."""
    return TeamEnv(parallel_env(render_mode, **config))
