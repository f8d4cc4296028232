"""HiGA as a TeamPolicy: an assigner above, DAgRL with a detector below.

Goals are assigned anew when a goal is found, a robot is idle, or a candidate appears, and at no other time.
A robot searches for its goal with the body of `HigaConfig.body`; what happens from the moment on at which the
detector has a candidate is the hand-over in `policies.crew`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from higa.assign import DECODERS, rule_scores
from higa.features import Decision, FeatureConfig, decision, frontier_costs
from higa.labels import Label, LabelConfig, oracle_label
from hm3dm3_env.shared import Privileged, SharedState
from hm3dm3_env.task import WAIT
from policies.base import TeamTask
from policies.crew import STAGES, Crew, CrewConfig
from policies.frontier_policy import candidate_record, last_resort, search
from policies.navigation.body import BodyConfig, Driver, load_body, weights_of

SHIPPED = Path(__file__).parent / "assigner.pt"
"""The assigner's weights that come with the package; `about` in them says which command made them."""
REASSIGN = ("events", "every_step", "never")


@dataclass(frozen=True)
class HigaConfig:
    """HiGA and its ablations (ours where the paper is silent)."""

    checkpoint: str = ""
    """Weights of the assigner (method higa); "": those that ship with the package."""
    device: str = "auto"
    decoder: str = "hungarian"
    """hungarian or greedy."""
    reassign: str = "events"
    """events: at the three events. every_step. never: a robot keeps its goal until it is off the list; only
    robots without one are given one."""
    crowd: float = 4.0
    """Metres that a frontier near a teammate's target costs extra."""
    crowd_radius: float = 2.0
    """Metres."""
    idle_wait: int = 10
    """Steps between two re-assignments that only idle robots ask for."""
    label: LabelConfig = field(default_factory=LabelConfig)
    """Of the oracle's assignments (method higa_oracle, and data collection)."""
    body: BodyConfig = field(default_factory=BodyConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    crew: CrewConfig = field(default_factory=CrewConfig)

    def __post_init__(self) -> None:
        if self.decoder not in DECODERS:
            raise ValueError(f"decoder: {self.decoder!r} is none of {', '.join(sorted(DECODERS))}")
        if self.reassign not in REASSIGN:
            raise ValueError(f"reassign: {self.reassign!r} is none of {', '.join(REASSIGN)}")


class HigaBase:
    """Everything but the scores."""

    privileged = False
    Config = HigaConfig

    def __init__(self, config: HigaConfig | None = None) -> None:
        self.config = config or HigaConfig()
        self.body = load_body(self.config.body)
        self.weights = list(weights_of(self.config.body))

    def scores(self, inputs: Decision) -> np.ndarray:
        """(K, M) scores of robot-goal pairs."""
        raise NotImplementedError

    def reset(self, task: TeamTask) -> None:
        """A new episode."""
        self.crew = Crew(task, self.config.crew)
        self.driver = Driver(self.config.body, self.body, task, self.crew) if self.body is not None else None
        self.stages: Counter[str] = Counter()
        self.assigned: list[int | None] = [None] * task.shared.agents
        self.targets: list[np.ndarray | None] = [None] * task.shared.agents
        self.idle = [True] * task.shared.agents
        self.unresolved = list(task.shared.unresolved)
        self.last_event = -(10**6)
        self.log: list[dict[str, Any]] = []

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """Re-assign if one of the three events happened, then act on the assignment."""
        appeared = self.crew.look(shared)
        if self.driver is not None:
            self.driver.look(shared)
        event = self._event(appeared, shared)
        if event:
            self._assign(event, shared)
        actions = [self._pursue(k, shared) if alive else WAIT for k, alive in enumerate(shared.alive)]
        self._search(actions, shared)
        for k, alive in enumerate(shared.alive):
            self.crew.chosen(k, actions[k] or WAIT)
            self.stages[self.crew.robots[k].stage] += alive
        return {f"robot_{k}": action or WAIT for k, action in enumerate(actions)}

    # -- the upper level -----------------------------------------------------------------------------------

    def _event(self, appeared: bool, shared: SharedState) -> str:
        found = shared.unresolved != self.unresolved
        self.unresolved = list(shared.unresolved)
        if all(self.crew.scanning(k) for k, alive in enumerate(shared.alive) if alive) and not self.log:
            return ""  # nobody has looked around yet
        if self.config.reassign == "every_step":
            return "step"
        if found:
            return "found"
        if appeared:
            return "candidate"
        idle = any(
            self.idle[k] and not self.crew.scanning(k) for k, alive in enumerate(shared.alive) if alive
        )
        return "idle" if idle and shared.step - self.last_event >= self.config.idle_wait else ""

    def _assign(self, event: str, shared: SharedState) -> None:
        inputs = decision(self.crew, shared, self.assigned, self.config.features)
        held: dict[int, int] = {}
        if self.config.reassign == "never":
            held = {k: j for k, j in enumerate(self.assigned) if j is not None and shared.unresolved[j]}
            inputs = replace(inputs, active=inputs.active.copy(), open=inputs.open.copy())
            inputs.active[list(held)], inputs.open[list(held.values())] = False, False
        new = self.choose(inputs, shared)
        for k, j in held.items():
            new[k] = j if shared.alive[k] else None
        for k, goal in enumerate(new):
            if goal != self.assigned[k]:
                self.targets[k] = None
        self.assigned, self.idle, self.last_event = new, [False] * len(new), shared.step
        self.log.append({"step": shared.step, "event": event, "goals": new})

    def choose(self, inputs: Decision, shared: SharedState) -> list[int | None]:
        """The assignment: scores, decoded. Data collection overrides this."""
        return DECODERS[self.config.decoder](self.scores(inputs), inputs.active, inputs.open)

    def label(self, truth: Privileged, shared: SharedState) -> Label:
        """What the oracle would do now."""
        accepted = [self.crew.tracker.best(j) is not None for j in range(len(shared.goals))]
        return oracle_label(truth, shared, accepted, self.config.label)

    # -- the lower level -----------------------------------------------------------------------------------

    def _pursue(self, k: int, shared: SharedState) -> int | None:
        """The action towards a candidate for a robot's goal; None: it has to search."""
        crew, goal = self.crew, self.assigned[k]
        if goal is not None and not shared.unresolved[goal]:
            goal = self.assigned[k] = None
        return None if goal is None else crew.pursue(k, goal)

    def _search(self, actions: list[int | None], shared: SharedState) -> None:
        """Fill in the actions of the robots that have to search: by the learned body if there is one, and
        there is something left to explore."""
        driver, crew = self.driver, self.crew
        driven: dict[int, int | None] = {}
        for k, action in enumerate(actions):
            if driver is not None and action is None and not crew.scanning(k):
                crew.robots[k].track = None
                actions[k] = action = crew.level(k)
                if action is None and len(crew.frontiers(fresh=False).points) and not driver.helped(k):
                    driven[k] = self.assigned[k]
                    continue
            if driver is not None:
                driver.left(k)
            if action is None:
                actions[k] = self.plan(k, shared)
        if driver is None:
            return
        for k, action in driver.act(shared, driven).items():
            crew.robots[k].stage, crew.robots[k].path = "search", None
            if action is None:
                again = crew.looked_from(k, self.config.body.progress)
                action = self.plan(k, shared) if again else crew.look_around(k)
            actions[k] = action

    def plan(self, k: int, shared: SharedState) -> int:
        """The planner's action of a robot that has to search."""
        crew, goal = self.crew, self.assigned[k]
        action = search(crew, k, self.targets, lambda: self.target(k, goal))
        if action is None:
            self.idle[k] = True
            return last_resort(crew, k, shared)
        if self.driver is not None and crew.robots[k].stage == "search":
            crew.robots[k].stage = "help"
        return action

    def target(self, k: int, goal: int | None) -> np.ndarray | None:
        """Keep the frontier while it is there, else the best by distance, the goal's heat, and teammates."""
        current = self.targets[k]
        if current is not None and self.crew.still_there(current):
            return current
        self.targets[k] = None
        points, distances = self.crew.options(k)
        if len(points):
            costs = distances
            if goal is not None and self.crew.heat is not None:
                costs = frontier_costs(
                    distances, self.crew.heat.near(points)[goal], self.config.features.heat_gain
                )
            for i, other in enumerate(self.targets):
                if i != k and other is not None:
                    near = (
                        np.hypot(points[:, 0] - other[0], points[:, 2] - other[2]) < self.config.crowd_radius
                    )
                    costs = costs + self.config.crowd * near
            self.targets[k] = points[int(costs.argmin())]
        return self.targets[k]

    def record(self) -> dict[str, Any]:
        """Every assignment with its event, the robots' steps by stage, and the candidates at the end."""
        stages = {name: self.stages[name] for name in STAGES}
        return {"assignments": self.log, "stages": stages, **candidate_record(self.crew)}


class HigaRulePolicy(HigaBase):
    """HiGA with the hand-designed rule in place of the network."""

    def scores(self, inputs: Decision) -> np.ndarray:
        """See `rule_scores`."""
        return rule_scores(inputs)


class HigaOraclePolicy(HigaBase):
    """HiGA with the oracle's assignments (privileged): what assigning as the labels say is worth to this
    lower level. It looks with the recogniser, as the others."""

    privileged, sees = True, True

    def reset(self, task: TeamTask) -> None:
        """A new episode.

        Raises:
            ValueError: without the truth.
        """
        if task.privileged is None:
            raise ValueError("method higa_oracle needs the episode's truth")
        super().reset(task)
        self.truth = task.privileged

    def choose(self, inputs: Decision, shared: SharedState) -> list[int | None]:
        """The label of the state."""
        return [None if j < 0 else int(j) for j in self.label(self.truth, shared).first]


class HigaPolicy(HigaBase):
    """HiGA with a trained assigner."""

    def __init__(self, config: HigaConfig | None = None) -> None:
        super().__init__(config)
        from higa.checkpoint import load  # torch is needed only here

        path = Path(self.config.checkpoint or SHIPPED)
        self.model = load(path, self.config.device)[0]
        self.weights.append(path)

    def scores(self, inputs: Decision) -> np.ndarray:
        """The network's."""
        return self.model.scores(inputs)
