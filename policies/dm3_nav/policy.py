"""DM3-Nav as a TeamPolicy: the robots of `agent`, and the radio between them.

DM3-Nav (decentralised multi-agent, multi-modal, multi-object navigation) has no centre: each robot keeps its
own map and list of goals, tells robots within a few metres where it is, what it goes for and what is done,
and now and then sends its map. What was adapted:

- Perception, planner and skills are those that all methods share, so that only coordination differs. A robot
  uses them on its own map, which only its own frames and received maps fill; the benchmark's shared map
  serves as the common coordinate frame and is not looked at.
- Frontier i's utility is DM3-Nav's ratio of distances, (closest other robot's) / (own), on the robot's own
  map. The benchmark's paper adds that frontiers are weighted by teammates' intents: messages carry the
  frontier that a robot goes to, and `intent_weight` discounts frontiers near it.
- Maps are merged without registration: the benchmark gives all robots one frame (in DM3-Nav's simulations
  the transform is the identity as well).
- A robot keeps its frontier while it is there, as all methods here do.
- With `range: inf`, `map_period: 1` every map is the shared map, but for what a robot felt by bumping, and
  the last frame of one that is out of actions, which sends nothing any more.

The class below moves messages and nothing else: no decision of a robot reads another's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import WAIT
from policies.base import TeamTask
from policies.dm3_nav.agent import Agent, Dm3NavConfig
from policies.frontier_policy import candidate_record


class Dm3NavPolicy:
    """K robots, each with its own map, board and intents."""

    privileged = False
    Config = Dm3NavConfig

    def __init__(self, config: Dm3NavConfig | None = None) -> None:
        self.config = config or Dm3NavConfig()

    def reset(self, task: TeamTask) -> None:
        """A new episode."""
        self.agents = [Agent(k, task, self.config) for k in range(task.shared.agents)]
        self.sent = {"messages": 0, "maps": 0, "map_cells": 0}

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """Everybody looks, then talks, then decides."""
        living = [agent for agent in self.agents if shared.alive[agent.number]]
        for agent in living:
            agent.look(shared)
        if shared.step % self.config.period == 0:
            self._exchange(living, shared)
        actions = {f"robot_{agent.number}": WAIT for agent in self.agents}
        return actions | {f"robot_{agent.number}": agent.act() for agent in living}

    def _exchange(self, living: list[Agent], shared: SharedState) -> None:
        """Messages between all that are in range, written before any is read."""
        mail = []
        for a in living:
            for b in living:
                p, q = shared.poses[a.number], shared.poses[b.number]
                if a is not b and np.hypot(p.x - q.x, p.z - q.z) <= self.config.range:
                    mail.append((b, a.message(b.number)))
        for receiver, message in mail:
            receiver.hear(message)
            self.sent["messages"] += 1
            if message.patch is not None:
                self.sent["maps"] += 1
                self.sent["map_cells"] += message.patch.cells.size

    def record(self) -> dict[str, Any]:
        """What was sent, how much of the floor each robot knew, and where candidates were seen at the end."""
        known = [round(agent.map.explored_area(), 2) for agent in self.agents]
        candidates = [c for agent in self.agents for c in candidate_record(agent.crew)["candidates"]]
        return {"sent": self.sent, "known_area": known, "candidates": candidates}
