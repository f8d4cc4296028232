"""Candidates over time: what is seen at one place is one candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.recognition.base import Candidate


@dataclass(frozen=True)
class TrackerConfig:
    """When a candidate counts (ours; scores of the recogniser in 0..1)."""

    accept: float = 0.55
    """Mean score from which a candidate is worth going to."""
    verify: float = 0.55
    """Mean of the scores seen from close by from which it is declared."""
    close: float = 2.0
    """From close by means within this, metres."""
    merge: float = 0.8
    """Sightings within this of a candidate belong to it, metres."""
    reject_radius: float = 0.8
    """Nothing is accepted for a goal within this of a place where verification failed, metres."""
    memory: int = 8
    """Sightings that a candidate's mean runs over."""


@dataclass(eq=False)
class Track:
    """A candidate for one goal: place, recent scores, and scores from close by."""

    goal: int
    point: np.ndarray
    scores: list[float] = field(default_factory=list)
    close_scores: list[float] = field(default_factory=list)
    nearest: float = np.inf

    @property
    def score(self) -> float:
        """Mean of the recent scores."""
        return sum(self.scores) / len(self.scores)


class Tracker:
    """All candidates of an episode."""

    def __init__(self, config: TrackerConfig, goals: int) -> None:
        self.config = config
        self.tracks: list[list[Track]] = [[] for _ in range(goals)]
        self.rejected: list[list[np.ndarray]] = [[] for _ in range(goals)]

    def update(self, candidates: Sequence[Candidate]) -> bool:
        """Add the candidates of one frame; returns whether some goal has a newly accepted candidate."""
        if not candidates:
            return False
        before = [self.best(j) is not None for j in range(len(self.tracks))]
        for candidate in candidates:
            self._add(candidate)
        return any(self.best(j) is not None and not before[j] for j in range(len(self.tracks)))

    def _add(self, seen: Candidate) -> None:
        config = self.config
        if any(_near(p, seen.point, config.reject_radius) for p in self.rejected[seen.goal]):
            return
        tracks = self.tracks[seen.goal]
        near = [t for t in tracks if _near(t.point, seen.point, config.merge)]
        if near:
            track = min(near, key=lambda t: float(np.linalg.norm(t.point - seen.point)))
        else:
            track = Track(seen.goal, seen.point)
            tracks.append(track)
        if seen.distance < track.nearest:
            track.nearest, track.point = seen.distance, seen.point
        track.scores = [*track.scores, seen.score][-config.memory :]
        if seen.distance <= config.close:
            track.close_scores = [*track.close_scores, seen.score][-config.memory :]

    def best(self, goal: int, threshold: float | None = None) -> Track | None:
        """The best candidate of a goal with at least the threshold's score (default: `accept`), or None."""
        limit = self.config.accept if threshold is None else threshold
        good = [t for t in self.tracks[goal] if t.score >= limit]
        return max(good, key=lambda t: t.score) if good else None

    def verified(self, track: Track) -> bool | None:
        """Whether the looks from close by confirm a candidate; None while there was none."""
        return (
            None
            if not track.close_scores
            else sum(track.close_scores) / len(track.close_scores) >= self.config.verify
        )

    def reject(self, track: Track) -> None:
        """Verification failed: forget the candidate and its place."""
        self.rejected[track.goal].append(track.point)
        self.tracks[track.goal] = [
            t for t in self.tracks[track.goal] if not _near(t.point, track.point, self.config.reject_radius)
        ]


def _near(a: np.ndarray, b: np.ndarray, radius: float) -> bool:
    return bool(np.hypot(a[0] - b[0], a[2] - b[2]) <= radius)
