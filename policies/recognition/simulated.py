"""Simulated recognition: the semantic image seen through a documented noise model.

For each goal and each visible instance, the score is

    match + habit + flicker - 0.3 (1 - q)

where `match` is the mean for that kind of pair (the right instance, a twin of its category, a similar
category), `habit` is drawn once an episode for the pair (an instance that is mistaken once is mistaken
again: looking twice does not average it away), `flicker` is drawn for each frame, and q in 0..1 falls for
instances that fill little of the frame.

Numbers are ours. The paper says that HiGA misses 62% of the goals, mostly for perception, and finds 53% of
the category, about 42% of the description and 19% of the image goals; the defaults are set so that HiGA as it
ships comes out near that on generated houses. Most misses are things that are never recognised, since the
paper calls its failures complementary to those of LaViRA-M3, which mostly declares wrongly.
`python -m eval.recognition` prints the recall and precision that this amounts to. `PERFECT` has no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hm3dm3_env.episodes.describe import Predicate
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame
from policies.recognition.base import Candidate
from policies.text_similarity import TextSimilarity
from policies.visible import floor_instances, pixel_counts, surface_point


@dataclass(frozen=True)
class SimulatedRecognizerConfig:
    """The noise model; scores are in 0..1."""

    match_on: float = 0.64
    """Mean score of an acceptable instance of a category goal."""
    match_tn: float = 0.55
    """Of the described instance."""
    match_iin: float = 0.45
    """Of the photographed instance."""
    twin_tn: float = 0.28
    """Of another instance of the category, plus `twin_tn_agree` times the share of predicates it
    satisfies."""
    twin_tn_agree: float = 0.25
    twin_iin: float = 0.42
    """Of another instance of the photographed one's category."""
    confused: float = 0.75
    """Of an instance of another category, times how far its name's similarity exceeds 0.5 (0 to 1)."""
    habit: float = 0.15
    """Standard deviation of a pair's persistent error."""
    flicker: float = 0.06
    """Standard deviation of a frame's error."""
    full_share: float = 0.01
    """An instance that fills this share of the frame is seen as well as can be."""
    min_share: float = 0.0008
    """Below this share of the frame nothing is seen."""
    emit: float = 0.25
    """Candidates with lower scores are not reported."""
    point_noise: float = 0.02
    """Relative error of a candidate's distance (standard deviation)."""


PERFECT = SimulatedRecognizerConfig(
    match_on=1.0,
    match_tn=1.0,
    match_iin=1.0,
    twin_tn=0.0,
    twin_tn_agree=0.0,
    twin_iin=0.0,
    confused=0.0,
    habit=0.0,
    flicker=0.0,
    full_share=0.0005,
    point_noise=0.0,
)
"""No noise at all: for the privileged-recognition ablation."""


class SimulatedRecognizer:
    """`Recognizer` that reads the semantic image."""

    needs_semantic, needs_rgb = True, False
    min_width = goal_image = 0

    def __init__(self, config: SimulatedRecognizerConfig | None = None) -> None:
        self.config = config or SimulatedRecognizerConfig()
        self.privileged = self.config == PERFECT
        self.name = "perfect" if self.privileged else "simulated"
        self.similarity = TextSimilarity()

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """Draw the habits of the episode.

        Raises:
            ValueError: without the truth there is nothing to simulate from.
        """
        if truth is None:
            raise ValueError("the simulated recogniser needs the episode's truth")
        scene = truth.sim.scene
        self.instances, self._labels = scene.instances, truth.labels
        rng = np.random.default_rng([seed, 11])
        self._flicker = np.random.default_rng([seed, 12])
        size = max(self.instances, default=0) + 1
        self.match = np.full((len(goals), size), -1.0)
        floor = floor_instances(truth)
        for j, goal in enumerate(truth.episode.goals):
            predicates = [Predicate(kind, value) for kind, value in goal.predicates]
            for item in self.instances.values():
                mean = self._mean(goal, item, predicates, floor)
                if mean > 0:
                    self.match[j, item.id] = mean
        self.match[self.match > 0] += rng.normal(0, self.config.habit, self.match.shape)[self.match > 0]
        self._matches = (self.match > 0).any(0)

    def _mean(
        self, goal, item: Instance, predicates: Sequence[Predicate], floor: Sequence[Instance]
    ) -> float:
        config = self.config
        if item.id in goal.acceptable:
            return {"ON": config.match_on, "TN": config.match_tn, "IIN": config.match_iin}[goal.modality]
        if item.structure:
            return 0.0
        if item.category == goal.category:
            if goal.modality == "TN":
                agree = [p.holds(item, floor) for p in predicates if p.kind != "category"]
                return config.twin_tn + config.twin_tn_agree * (sum(agree) / len(agree) if agree else 1.0)
            return config.twin_iin if goal.modality == "IIN" else config.match_on
        return config.confused * max(0.0, (self.similarity(goal.category, item.category) - 0.5) * 2)

    def candidates(self, frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        """Visible instances of each frame whose score reaches `emit`, at most one per goal and instance."""
        return [self._look(frame, unresolved) for frame in frames]

    def _look(self, frame: Frame, unresolved: Sequence[bool]) -> list[Candidate]:
        semantic = self._labels(frame)
        assert semantic is not None, "the simulated recogniser needs an environment with semantic=True"
        config = self.config
        share = pixel_counts(frame.depth, semantic, 1, self.match.shape[1])[0] / semantic.size
        found = []
        for identity in np.flatnonzero((share >= config.min_share) & self._matches):
            quality = min(1.0, share[identity] / config.full_share)
            flicker = self._flicker.normal(0, 1.0, len(unresolved)) * config.flicker
            place = None
            for j, wanted in enumerate(unresolved):
                if not wanted or self.match[j, identity] <= 0:
                    continue
                score = float(self.match[j, identity] + flicker[j] - 0.3 * (1 - quality))
                if score < config.emit:
                    continue
                if place is None:
                    place = self._place(frame, (semantic == identity) & (frame.depth > 0))
                found.append(Candidate(j, min(score, 1.0), *place))
        return found

    def _place(self, frame: Frame, mask: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int, int], float]:
        """A robust surface point, the box, and the distance."""
        rows, columns = np.nonzero(mask)
        point = surface_point(frame, mask)
        eye = frame.camera.eye(frame.pose)
        point = eye + (point - eye) * (1 + self._flicker.normal() * self.config.point_noise)
        box = (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
        return point, box, float(np.hypot(point[0] - eye[0], point[2] - eye[2]))
