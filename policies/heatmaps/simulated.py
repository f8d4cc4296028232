"""A simulated image-text encoder: similarity of the names of what a strip shows to the goal's category.

It stands for a CLIP-like model where no weights are at hand: what is seen is read from the semantic image,
names are compared by the shipped MiniLM table, and noise is added. A kitchen's furniture raises the heat of a
toaster because the names are related, which is what a learned assigner can use before anything is detected.
A goal's embedding stands for what a text or image tower would say of it: the vector of its category's name,
with noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame
from policies.heatmaps.name_vectors import name_vector, unit
from policies.text_similarity import TextSimilarity
from policies.visible import pixel_counts


@dataclass(frozen=True)
class SimulatedEncoderConfig:
    """The noise model (ours)."""

    noise: float = 0.04
    """Standard deviation of a strip's similarity."""
    habit: float = 0.05
    """Standard deviation of the persistent error of an (instance, goal) pair, and of each entry of a goal's
    embedding, which makes its cosine to any other vector err by as much."""
    full_share: float = 0.03
    """An instance that fills this share of a strip counts in full."""
    context: float = 0.4
    """Weight of everything in view against the single best match."""


class SimulatedEncoder:
    """`Encoder` that reads the semantic image."""

    needs_semantic, needs_rgb = True, False
    min_width = goal_image = 0
    name = space = "simulated"

    def __init__(self, config: SimulatedEncoderConfig | None = None) -> None:
        self.config = config or SimulatedEncoderConfig()

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """Tabulate the similarity of every instance to every goal.

        Raises:
            ValueError: without the truth there is nothing to simulate from.
        """
        if truth is None:
            raise ValueError("the simulated encoder needs the episode's truth")
        similarity, instances = TextSimilarity(), truth.sim.scene.instances
        self._labels = truth.labels
        rng = np.random.default_rng([seed, 21])
        self._noise = np.random.default_rng([seed, 22])
        size = max(instances, default=0) + 1
        self.table = np.zeros((len(goals), size))
        for j, goal in enumerate(truth.episode.goals):
            for item in instances.values():
                if not item.structure:
                    self.table[j, item.id] = similarity(goal.category, item.category)
        self.table += rng.normal(0, self.config.habit, self.table.shape) * (self.table > 0)
        self.table = np.clip(self.table, 0, 1)
        self._matters = self.table.max(0) > 0
        vectors = np.array([name_vector(goal.category) for goal in truth.episode.goals])
        errors = np.random.default_rng([seed, 23]).normal(0, self.config.habit, vectors.shape)
        self._embeddings = unit(vectors + errors * vectors.any(1, keepdims=True)).astype(np.float32)

    def embeddings(self) -> np.ndarray:
        """(M, 32) float32: see `policies.heatmaps.name_vectors`; the noise is drawn once an episode."""
        return self._embeddings

    def similarity(self, frames: Sequence[Frame], strips: int) -> np.ndarray:
        """(n, M, strips): the best match, and the mean over what is in view, by area."""
        out = np.zeros((len(frames), len(self.table), strips))
        for i, frame in enumerate(frames):
            out[i] = self._strips(frame, strips)
        return np.clip(out + self._noise.normal(0, self.config.noise, out.shape), 0, 1)

    def _strips(self, frame: Frame, strips: int) -> np.ndarray:
        """(M, strips) of one frame, without noise."""
        semantic = self._labels(frame)
        assert semantic is not None, "the simulated encoder needs an environment with semantic=True"
        counts = pixel_counts(frame.depth, semantic, strips, self.table.shape[1])
        seen = np.flatnonzero(counts.any(0) & self._matters)
        share = counts[:, seen] / counts.sum(1)[:, None]
        weight = np.minimum(share / self.config.full_share, 1.0)
        values = self.table[:, seen]
        best = (values[:, None] * weight).max(-1, initial=0.0)
        mean = values @ share.T / np.maximum(share.sum(1), 1e-9)
        return (1 - self.config.context) * best + self.config.context * mean
