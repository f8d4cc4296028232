"""Data collection: play episodes with a mixture of assigners, and keep every decision with the oracle's
label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from higa.assign import DECODERS, rule_scores
from higa.features import Decision, decision
from higa.policy import HigaBase, HigaConfig
from hm3dm3_env.oracle import reach_on, solve
from hm3dm3_env.shared import Privileged, SharedState
from policies.base import TeamTask


@dataclass(frozen=True)
class MixtureConfig:
    """Who decides where the robots really go; the rest goes to the learner (or, without one, the
    hand-designed rule)."""

    oracle: float = 0.6
    """Share of decisions that follow the oracle's assignment."""
    random: float = 0.2
    """Share of decisions with a random assignment (perturbed oracle)."""
    snapshots: int = 0
    """Label the state every so many steps too, without assigning anew (0: at the three events only, as the
    paper's data set). Small runs get more out of an episode this way."""


@dataclass
class Sample:
    """One decision with its label: `label` (K,) is the first goal of each robot's oracle tour, -1 if it has
    none."""

    inputs: Decision
    label: np.ndarray
    assigned: list[int | None]
    event: str
    step: int
    episode: str
    scene: str
    oracle_makespan: float
    """Of the rest of the episode from here, metres."""


def oracle_label(truth: Privileged, shared: SharedState) -> tuple[np.ndarray, float]:
    """(K,) first goals of the best assignment of the goals left to the robots left (-1: none), and its
    makespan."""
    robots = [k for k, alive in enumerate(shared.alive) if alive]
    goals = [j for j, left in enumerate(shared.unresolved) if left]
    label = np.full(shared.agents, -1)
    if not robots or not goals:
        return label, 0.0
    reach = reach_on(truth.navigator, [truth.episode.viewpoints[j] for j in goals])
    best = solve([tuple(shared.poses[k].position) for k in robots], len(goals), reach)
    for k, tour in zip(robots, best.tours):
        if tour:
            label[k] = goals[tour[0]]
    return label, best.makespan


class CollectingPolicy(HigaBase):
    """HiGA whose assignments come from a mixture of oracle, chance and learner; it sees the truth to label
    states."""

    privileged = True

    def __init__(self, mixture: MixtureConfig, model: Any = None, config: HigaConfig | None = None) -> None:
        super().__init__(config)
        self.mixture, self.model = mixture, model
        self.samples: list[Sample] = []

    def reset(self, task: TeamTask) -> None:
        """A new episode; samples of the last one are dropped.

        Raises:
            ValueError: without the truth.
        """
        if task.privileged is None:
            raise ValueError("labels need the episode's truth")
        super().reset(task)
        self.sampled = 0
        self.truth, self.rng, self.samples = task.privileged, task.rng, []

    def scores(self, inputs: Decision) -> np.ndarray:
        """The learner's, or the rule's."""
        return rule_scores(inputs) if self.model is None else self.model.scores(inputs)

    def choose(self, inputs: Decision, shared: SharedState) -> list[int | None]:
        """Label the state, then let one of the three decide."""
        label, makespan = oracle_label(self.truth, shared)
        draw = self.rng.random()
        decode = DECODERS[self.config.decoder]
        if draw < self.mixture.oracle:
            chosen: list[int | None] = [None if j < 0 else int(j) for j in label]
        elif draw < self.mixture.oracle + self.mixture.random:
            chosen = decode(self.rng.random(inputs.pairs.shape[:2]), inputs.active, inputs.open)
        else:
            chosen = decode(self.scores(inputs), inputs.active, inputs.open)
        self._keep(inputs, label, chosen, shared, makespan)
        return chosen

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """As HiGA; states in between are labelled every `snapshots` steps."""
        actions = super().act(observations, shared)
        every = self.mixture.snapshots
        if every and self.log and shared.step - self.sampled >= every:
            inputs = decision(self.crew, shared, self.assigned, self.config.features)
            label, makespan = oracle_label(self.truth, shared)
            self._keep(inputs, label, self.assigned, shared, makespan, "snapshot")
        return actions

    def _keep(
        self,
        inputs: Decision,
        label: np.ndarray,
        assigned: list[int | None],
        shared: SharedState,
        makespan: float,
        event: str = "",
    ) -> None:
        self.sampled = shared.step
        if (label >= 0).any():
            episode = self.truth.episode
            self.samples.append(
                Sample(
                    inputs,
                    label,
                    list(assigned),
                    event,
                    shared.step,
                    episode.id,
                    episode.scene.name,
                    float(makespan),
                )
            )

    def _assign(self, event: str, shared: SharedState) -> None:
        count = len(self.samples)
        super()._assign(event, shared)
        for sample in self.samples[count:]:
            sample.event = event
