"""What the wrappers share: attributes that PettingZoo's own base does not forward."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from pettingzoo.utils import BaseParallelWrapper


class Wrapper(BaseParallelWrapper):
    """A `BaseParallelWrapper` through which `max_cycles` can be set, not only read."""

    @property
    def max_cycles(self) -> int | None:
        """Steps after which every episode is cut."""
        return self.env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self.env.max_cycles = value

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state()`."""
        return self.env.state_space


class ObservationWrapper(Wrapper):
    """A wrapper that changes observations only: implement `view` and `make_space`."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._spaces = {name: self.make_space(name) for name in env.possible_agents}

    def make_space(self, agent: str) -> spaces.Space:
        """The new space of a robot."""
        raise NotImplementedError

    def view(self, agent: str, observation: Any, info: dict[str, Any]) -> Any:
        """The new observation of a robot."""
        raise NotImplementedError

    def observation_space(self, agent: str) -> spaces.Space:
        """The same object for a robot for ever."""
        return self._spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Start an episode."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return {name: self.view(name, value, infos[name]) for name, value in observations.items()}, infos

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """One lockstep step."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        seen = {name: self.view(name, value, infos[name]) for name, value in observations.items()}
        return seen, rewards, terminated, truncated, infos
