"""Data collection: play episodes with a mixture of assigners, and keep every decision with the oracle's
label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from higa.assign import DECODERS, rule_scores
from higa.features import Decision, decision, fine_map, window_center
from higa.labels import Label
from higa.policy import HigaBase, HigaConfig
from hm3dm3_env.shared import SharedState
from policies.base import TeamTask

MAP_CELL = 0.25
"""Metres a cell of the map that is stored beside the network's coarser grid (ours)."""


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

    def __post_init__(self) -> None:
        if not (self.oracle >= 0 and self.random >= 0 and self.oracle + self.random <= 1 + 1e-9):
            raise ValueError(
                f"mixture.oracle={self.oracle}, mixture.random={self.random}: "
                "must not be negative, nor more than 1 together"
            )
        if self.snapshots < 0:
            raise ValueError(f"mixture.snapshots={self.snapshots}: must be at least 0")


@dataclass
class Sample:
    """One decision with its label.

    Attributes:
        assigned: (K,) what was really done, None: no goal.
        event: found, candidate, idle, or snapshot.
        poses: (K, 5) x, y, z, heading, pitch in the world; metres and radians.
        center: (2,) x and z of the middle of the grids of `inputs`; cell: metres a cell of theirs.
        map: (S, S) uint8, the same window in cells of MAP_CELL: 0 unknown, 1 free, 2 occupied.
        candidates: (C, 6) goal, mean score, x, y, z, and from how near it was seen.
        goals: (M,) modality and text of each goal, as the team got them.
    """

    inputs: Decision
    label: Label
    assigned: list[int | None]
    event: str
    step: int
    episode: str
    scene: str
    poses: np.ndarray
    center: np.ndarray
    cell: float
    map: np.ndarray
    candidates: np.ndarray
    goals: list[tuple[str, str]]


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
        label = self.label(self.truth, shared)
        draw = self.rng.random()
        decode = DECODERS[self.config.decoder]
        if draw < self.mixture.oracle:
            chosen: list[int | None] = [None if j < 0 else int(j) for j in label.first]
        elif draw < self.mixture.oracle + self.mixture.random:
            chosen = decode(self.rng.random(inputs.pairs.shape[:2]), inputs.active, inputs.open)
        else:
            chosen = decode(self.scores(inputs), inputs.active, inputs.open)
        self._keep(inputs, label, chosen, shared)
        return chosen

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """As HiGA; states in between are labelled every `snapshots` steps."""
        actions = super().act(observations, shared)
        every = self.mixture.snapshots
        if every and self.log and shared.step - self.sampled >= every:
            inputs = decision(self.crew, shared, self.assigned, self.config.features)
            self._keep(inputs, self.label(self.truth, shared), self.assigned, shared, "snapshot")
        return actions

    def _keep(
        self,
        inputs: Decision,
        label: Label,
        assigned: list[int | None],
        shared: SharedState,
        event: str = "",
    ) -> None:
        self.sampled = shared.step
        if not (label.first >= 0).any() or not np.isfinite(label.makespan):
            return  # nothing to assign, or a goal that nobody can reach: every assignment is as bad
        episode, features = self.truth.episode, self.config.features
        center = window_center(shared.map)
        side = round(features.grid * features.cell / MAP_CELL)
        self.samples.append(
            Sample(
                inputs,
                label,
                list(assigned),
                event,
                shared.step,
                episode.id,
                episode.scene.name,
                np.array([[p.x, p.y, p.z, p.heading, p.pitch] for p in shared.poses]),
                center,
                features.cell,
                fine_map(shared.map, center, side, MAP_CELL),
                np.array(
                    [
                        [track.goal, track.score, *track.point, track.nearest]
                        for tracks in self.crew.tracker.tracks
                        for track in tracks
                    ]
                ).reshape(-1, 6),
                [(goal.modality, goal.text) for goal in shared.goals],
            )
        )

    def _assign(self, event: str, shared: SharedState) -> None:
        count = len(self.samples)
        super()._assign(event, shared)
        for sample in self.samples[count:]:
            sample.event = event
