"""The operating point of the eyes: recall and precision of a recogniser, by range and size, per modality.

    python -m eval.recognition data=data split=val every=20 out=out/recognition
    python -m eval.recognition eyes.recogniser=perfect

Episodes are played with nearest-frontier exploration, and every frame that the recogniser is shown is
compared with the truth. A look is a frame in which an acceptable instance of an open goal fills at least
`visible` of the pixels; it is a hit when a candidate with a score of at least `accept` lies at that instance.
Precision is the share of such candidates that lie at an acceptable instance. Goals are shown until they are
declared, so things that are recognised at once count less often than things that never are. Range is the
depth of what is seen of an instance, or the way in the plane to a candidate; size is the share of the frame
that the instance's pixels, or the candidate's box, fill. It takes any eyes:
eyes.recogniser=pretrained and so on.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.metrics import MODALITIES
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Camera, Frame
from policies.eyes import EyesConfig, make_eyes
from policies.frontier_policy import FrontierPolicy
from policies.recognition.base import Candidate, Recognizer
from policies.recognition.tracker import TrackerConfig
from policies.rollout import BRIEF, SMALL, make_env, play
from policies.visible import pixel_counts

RANGES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
"""Edges of the classes of distance, metres; the last is as far as depth reaches."""
SIZES = (0.0, 0.002, 0.005, 0.01, 0.03, 1.0)
"""Edges of the classes of size, as shares of the frame."""


@dataclass(frozen=True)
class RecognitionConfig:
    """Which episodes, and what counts."""

    data: str = "data"
    split: str = "val"
    every: int = 20
    """Only every n-th episode."""
    accept: float = TrackerConfig.accept
    """Score from which on a candidate counts."""
    visible: float = 0.0005
    """Share of the frame that an instance fills at least in a look (ours)."""
    near: float = 0.5
    """A candidate lies at an instance when its point is within this of the instance's box, metres (ours)."""
    out: str = "out/recognition"
    seed: int = 0
    camera: Camera = field(default_factory=lambda: SMALL)
    eyes: EyesConfig = field(default_factory=EyesConfig)

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every}: must be at least 1")
        if not 0 < self.visible < 1 or not self.near > 0:
            raise ValueError(
                f"visible must be between 0 and 1, near positive; not {self.visible}, {self.near}"
            )


class _Examiner:
    """The eyes under examination: says what they say, and notes whether it is true."""

    def __init__(self, eyes: Recognizer, config: RecognitionConfig) -> None:
        self.eyes, self.config = eyes, config
        self.name, self.privileged = eyes.name, True
        self.needs_semantic, self.needs_rgb = True, eyes.needs_rgb
        self.min_width, self.goal_image = eyes.min_width, eyes.goal_image
        self.looks: list[tuple[str, float, float, bool]] = []  # modality, metres, share of the frame, hit
        self.claims: list[tuple[str, float, float, bool]] = []  # modality, metres, share, right

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        assert truth is not None
        self.truth, self.goals = truth, goals
        self.eyes.reset(goals, seed, truth)

    def candidates(self, frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        found = self.eyes.candidates(frames, unresolved)
        for frame, candidates in zip(frames, found, strict=True):
            self._note(frame, unresolved, [c for c in candidates if c.score >= self.config.accept])
        return found

    def _note(self, frame: Frame, unresolved: Sequence[bool], claims: Sequence[Candidate]) -> None:
        instances, labels = self.truth.sim.scene.instances, self.truth.labels(frame)
        assert labels is not None
        share = pixel_counts(frame.depth, labels, 1, max(instances, default=0) + 1)[0] / labels.size
        for j, goal in enumerate(self.truth.episode.goals):
            mine = [c for c in claims if c.goal == j]
            right = [instances[i] for i in goal.acceptable]
            for c in mine:
                area = (c.box[2] - c.box[0]) * (c.box[3] - c.box[1]) / labels.size
                hit = any(self._at(c, item) for item in right)
                self.claims.append((goal.modality, c.distance, area, hit))
            for item in right if unresolved[j] else ():
                if share[item.id] >= self.config.visible:
                    depth = frame.depth[(labels == item.id) & (frame.depth > 0)]
                    hit = any(self._at(c, item) for c in mine)
                    self.looks.append((goal.modality, float(np.median(depth)), float(share[item.id]), hit))

    def _at(self, candidate: Candidate, item: Instance) -> bool:
        gap = np.maximum(0, np.maximum(item.low - candidate.point, candidate.point - item.high))
        return bool(np.linalg.norm(gap) <= self.config.near)


def examine(config: RecognitionConfig) -> dict[str, Any]:
    """Play, compare, write summary.json, table.txt and operating_point.png, and return the summary: for each
    modality {"recall", "looks", "precision", "claims", "by_range", "by_size"}; the last two are lists of
    {"low", "high", "recall", "looks", "precision", "claims"}. A rate of nothing is None.

    Raises:
        EpisodeError: the split is missing. ValueError: eyes that cannot be made.
    """
    recognizer, encoder = make_eyes(config.eyes)
    eyes = _Examiner(recognizer, config)
    env = make_env(
        EnvConfig(split=config.split, data=config.data, camera=config.camera, observation=BRIEF),
        eyes,
        encoder,
    )
    episodes = env.episodes[:: config.every]
    if not episodes:
        raise ValueError(f"split {config.split!r}: no episodes")
    for episode in tqdm(episodes, desc="examine", unit="episode"):
        play(env, FrontierPolicy(), episode, (eyes, encoder), "recognition", config.seed)
    env.close()
    summary = {name: _summary(name, eyes) for name in MODALITIES}
    out, camera = Path(config.out), f"{config.camera.width}x{config.camera.height}@{config.camera.hfov_deg:g}"
    write_atomic(out / "summary.json", json_bytes(summary, 1))
    head = (
        f"split {config.split}, {len(episodes)} episodes, seed {config.seed}, camera {camera}, "
        f"recogniser {recognizer.name}; candidates from a score of {config.accept:g}"
    )
    lines = [
        head,
        "",
        *_table(summary),
        "made by: python -m eval.recognition " + shlex.join(sys.argv[1:]),
        "",
    ]
    write_atomic(out / "table.txt", "\n".join(lines).encode())
    print("\n".join(lines))
    _picture(summary, head, out / "operating_point.png")
    print(f"picture: {out / 'operating_point.png'}")
    return summary


def _summary(modality: str, eyes: _Examiner) -> dict[str, Any]:
    looks = [look[1:] for look in eyes.looks if look[0] == modality]
    claims = [claim[1:] for claim in eyes.claims if claim[0] == modality]

    def rates(keep: Callable[[tuple[float, float, bool]], bool]) -> dict[str, Any]:
        hits = [look[2] for look in looks if keep(look)]
        right = [claim[2] for claim in claims if keep(claim)]
        return {
            "recall": sum(hits) / len(hits) if hits else None,
            "looks": len(hits),
            "precision": sum(right) / len(right) if right else None,
            "claims": len(right),
        }

    def classes(column: int, edges: Sequence[float]) -> list[dict[str, Any]]:
        found = []
        for low, high in zip(edges, edges[1:]):
            end = np.inf if high == edges[-1] else high
            found.append(
                {"low": low, "high": high, **rates(lambda x, low=low, end=end: low <= x[column] < end)}
            )  # type: ignore[misc]
        return found

    return {**rates(lambda _: True), "by_range": classes(0, RANGES), "by_size": classes(1, SIZES)}


def _table(summary: dict[str, Any]) -> list[str]:
    lines = ["                       recall of looks            precision of candidates"]
    for name, s in summary.items():
        lines.append(f"{name:21}  {_rate(s['recall'], s['looks'])}  {_rate(s['precision'], s['claims'])}")
        for title, key, unit, scale in (("", "by_range", "m", 1), ("", "by_size", "% of frame", 100)):
            for c in s[key]:
                label = f"  {c['low'] * scale:g}-{c['high'] * scale:g} {unit}{title}"
                lines.append(
                    f"{label:21}  {_rate(c['recall'], c['looks'])}  {_rate(c['precision'], c['claims'])}"
                )
        lines.append("")
    return lines


def _rate(share: float | None, count: int) -> str:
    text = "-" if share is None else f"{100 * share:.1f}%"
    return f"{text:>7} of {count:<6d}      "


def _picture(summary: dict[str, Any], title: str, path: Path) -> None:
    import io

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharey=True, layout="constrained")
    for column, (key, label, scale) in enumerate(
        (("by_range", "distance, m", 1.0), ("by_size", "share of the frame, %", 100.0))
    ):
        for row, rate in enumerate(("recall", "precision")):
            axis = axes[row, column]
            for name, s in summary.items():
                names = [f"{c['low'] * scale:g}-{c['high'] * scale:g}" for c in s[key]]
                values = [np.nan if c[rate] is None else c[rate] for c in s[key]]
                axis.plot(names, values, marker="o", label=name)
            axis.set(xlabel=label, ylabel=rate, ylim=(-0.03, 1.03))
            axis.grid(alpha=0.3)
    axes[0, 0].legend()
    figure.suptitle(title, fontsize=9, wrap=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    write_atomic(path, buffer.getvalue())


main = command(RecognitionConfig, "recognition", examine)

if __name__ == "__main__":
    main()
