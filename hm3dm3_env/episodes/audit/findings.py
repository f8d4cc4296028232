"""What an audit finds: violations, each naming scene, episode and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hm3dm3_env.cli import build
from hm3dm3_env.episodes.goals import GoalConfig
from hm3dm3_env.episodes.sampler import SamplingConfig
from hm3dm3_env.sim.base import Body

KINDS = {
    "file": "a file of the split is missing, broken or not listed",
    "format": "an episode or object that cannot be read",
    "scene": "a scene's folder is missing or cannot be read",
    "scene changed": "a scene's files are not those that the split was made for",
    "shared scene": "a scene is in another split too",
    "duplicate": "an episode id or index appears twice",
    "count": "episodes are missing that the header doesn't list as dropped",
    "balance": "the modalities' totals differ by more than one goal and 1%",
    "dangling object": "a goal names an object that the file or the scene does not have",
    "object": "category or place of an object are not those in the scene",
    "structure": "a goal is a part of the building",
    "team size": "the number of agents is not one of the split's",
    "goal count": "the number of goals is not one of the split's",
    "category": "two goals of an episode share a category, or an acceptable object has another",
    "modality": "a goal's text, image or acceptable objects do not fit its modality",
    "missing instance": "an object of the category that can be seen does not count for a category goal",
    "floor": "the floor's number or height is not one of the scene's",
    "start": "nobody can stand at a start, or it looks up or down",
    "island": "starts and viewpoints are not on one island, or it is too small",
    "viewpoint": "nobody can stand at a viewpoint, or it is too far from the object",
    "viewpoint coverage": "the object does not fill enough of the frame from a viewpoint",
    "unreachable": "a goal cannot be reached from a start",
    "distance": "a start is too near to or too far from a goal",
    "height span": "the way to a goal leaves the floor's height",
    "separation": "starts are nearer to each other than the floor demands",
    "makespan": "d* is not what brute force finds, or below the split's least",
    "photo": "the camera of an image goal is not where or what it must be",
    "photo coverage": "the photo does not show enough of the object",
    "description": "a description is not true of its object alone, says what its predicates don't, or is no "
    "good English",
    "wording": "a description is worded like the one before it in the split",
}
"""All kinds of violations, with what they mean."""


@dataclass(frozen=True, order=True)
class Violation:
    """One claim that does not hold: `kind` of `KINDS`, where it is made, and what was found instead."""

    kind: str
    scene: str
    episode: str
    field: str
    text: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.scene, self.episode, self.field) if part)
        return f"{self.kind}: {where}: {self.text}"


@dataclass(frozen=True)
class Settings:
    """What a split claims to follow: the generator's settings that its header stores."""

    goals: GoalConfig
    sampling: SamplingConfig
    body: Body
    imported: bool = False
    """Made from another benchmark's files: photos and descriptions are not ours to vouch for."""
    rephrased: bool = False
    """A language model rewrote some descriptions; these are free wordings, read as such."""

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Settings:
        """From a header; what it doesn't say is the default.

        Raises:
            ValueError: a setting that this release doesn't know.
        """
        stored = header.get("settings", {})
        # splits older than the setting were made when no navigator joined parts
        body = {"narrow_passages": "none", **stored.get("body", {})}
        return cls(
            build(GoalConfig, **stored.get("goals", {})),
            build(SamplingConfig, **stored.get("sampling", {})),
            build(Body, **body),
            bool(header.get("imported")),
            bool(header.get("rephrased")),
        )


@dataclass
class Report:
    """What was found in one scene.

    Attributes:
        violations: all of them.
        facts: one dict an episode with the numbers for the distributions, and the skeletons of its
            descriptions.
        cards: what the page shows of sampled episodes; pictures are data URIs.
        seconds: what it took.
    """

    scene: str
    violations: list[Violation] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    cards: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, kind: str, episode: str, where: str, text: str) -> None:
        """Note a violation of a kind in `KINDS`."""
        assert kind in KINDS, kind
        self.violations.append(Violation(kind, self.scene, episode, where, text))
