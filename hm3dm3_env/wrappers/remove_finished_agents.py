"""PettingZoo's strict form: a robot that can do nothing more is truncated once and leaves `agents`."""

from __future__ import annotations

from typing import Any

from hm3dm3_env.wrappers.base import Wrapper


class remove_finished_agents_v0(Wrapper):
    """Robots out of budget are truncated once and then gone; robots beyond the episode's K never appear.

    Many libraries cannot take changing teams; the environment itself keeps everybody listed for them.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.agents: list[str] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Start an episode."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self.agents = self._alive()
        return self._of(self.agents, observations), self._of(self.agents, infos)

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """One lockstep step of those still in `agents`."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        live = self.agents
        results = self.env.step(self._of(live, actions))
        observations, rewards, terminated, truncated, infos = (self._of(live, part) for part in results)
        alive = self._alive()
        for name in live:
            if name not in alive and not terminated[name]:
                truncated[name] = True
        self.agents = [name for name in live if not (terminated[name] or truncated[name])]
        return observations, rewards, terminated, truncated, infos

    def _alive(self) -> list[str]:
        return [name for name, alive in zip(self.env.possible_agents, self.unwrapped.rules.alive) if alive]

    @staticmethod
    def _of(names: list[str], values: dict[str, Any]) -> dict[str, Any]:
        return {name: values[name] for name in names if name in values}
