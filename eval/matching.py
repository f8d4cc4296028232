"""Do local features tell the photographed thing from others? Pairs of goal images and frames, scored.

    python -m eval.matching data=data split=val out=out/matching
    python -m eval.matching 'matchers=[xfeat,aliked_lightglue]' goals=20

For image goals of a split: frames of the photographed instance from several distances, frames of another
instance of its category in the house, and frames of elsewhere, in which it is not. Each matcher's matches are
scored with each way to verify them (`policies.recognition.config.CheckConfig.kind`), which makes a row. A
row's threshold is the score that only `rate` of the frames of other things exceed. table.txt, roc.png and
pictures of matches are written. The truth chooses and judges the frames; the matchers do not see it.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from eval.claim import claim
from eval.matching_report import KINDS, report
from hm3dm3_env.cli import command
from hm3dm3_env.episodes.goals import photo_camera
from hm3dm3_env.episodes.schema import Episode, Goal, load_split, split_digest
from hm3dm3_env.files import data_root, json_bytes, write_atomic
from hm3dm3_env.geometry import Pose, heading_to
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from policies.recognition.config import CHECKS, MATCHERS, MatchingConfig, PlaceConfig

TRIES, ELSEWHERE = 300, 40
"""Random places of a floor that are tried for frames of an instance, and of elsewhere (ours)."""
SMALLEST = 64
"""Pixels that the sides of frames must have, as those of photos: networks halve them several times (ours)."""
_LOOK = Camera(54, 96)
"""The camera's field of view with few pixels, to find out what a place shows."""
_SETTINGS = {"xfeat": "xfeat", "aliked_lightglue": "aliked", "superglue": "superglue"}
"""The field of `MatchingConfig` with a matcher's settings."""


@dataclass(frozen=True)
class MatchingEvalConfig:
    """Which pairs, and what scores them. Numbers are ours."""

    data: str = "data"
    split: str = "val"
    goals: int = 60
    """Photographed instances, spread evenly over the split."""
    matchers: tuple[str, ...] = ("xfeat",)
    """Of xfeat, aliked_lightglue, superglue."""
    checks: tuple[str, ...] = CHECKS
    """Ways to verify: pose, fundamental, none."""
    rate: float = 0.02
    """Share of the frames of other things that a threshold lets through."""
    bands: tuple[float, ...] = (0.0, 1.5, 2.5, 4.0)
    """Edges of the classes of distance, metres in the plane to the instance's middle; a frame for each."""
    aside_deg: float = 15.0
    """Frames look up to this much beside the instance."""
    visible: float = 0.01
    """Share of the frame that an instance fills at least; more than 0."""
    twins: int = 2
    """Frames of other instances of the category, where the house has any."""
    elsewhere: int = 3
    """Frames in which the instance is not. `twins` and `elsewhere` are not both 0: without frames of other
    things there is no threshold."""
    near: float = 0.5
    """The recognised place is right within this of the instance's box, metres."""
    pictures: int = 12
    """Goals with pictures of their matches."""
    threads: int = 1
    """Of torch, as in eval.benchmark."""
    seed: int = 0
    out: str = "out/matching"
    camera: Camera = field(default_factory=Camera)
    matching: MatchingConfig = field(default_factory=MatchingConfig)
    """Settings of the matchers; `kind` and `check.kind` are set by `matchers` and `checks`."""
    place: PlaceConfig = field(default_factory=PlaceConfig)

    def __post_init__(self) -> None:
        for name, known in (("matchers", MATCHERS), ("checks", CHECKS)):
            values = tuple(getattr(self, name))
            object.__setattr__(self, name, values)
            if not values or set(values) - set(known) or len(set(values)) < len(values):
                raise ValueError(f"{name}: some of {', '.join(known)}, each once, not {list(values)}")
        object.__setattr__(self, "bands", tuple(self.bands))
        if min(self.goals, self.threads) < 1 or min(self.twins, self.elsewhere, self.pictures, self.seed) < 0:
            raise ValueError(
                "goals and threads must be at least 1, twins, elsewhere, pictures, seed not negative"
            )
        if not self.twins and not self.elsewhere:
            raise ValueError("twins and elsewhere are both 0: frames of other things are needed, raise one")
        rising = all(low < high for low, high in zip(self.bands, self.bands[1:]))  # false for NaN
        if len(self.bands) < 2 or not rising or self.bands[0] < 0:
            raise ValueError(f"bands: rising distances, not {list(self.bands)}")
        if not 0 <= self.rate < 1:
            raise ValueError(f"rate={self.rate}: must be at least 0 and less than 1")
        if not 0 < self.visible < 1:
            raise ValueError(f"visible={self.visible}: a share of the frame, more than 0 and less than 1")
        if not 0 <= self.aside_deg <= 180 or not self.near >= 0:
            raise ValueError(
                f"aside_deg={self.aside_deg} must be 0 to 180 degrees, near={self.near} not negative, metres"
            )
        if min(self.camera.width, self.camera.height) < SMALLEST:
            raise ValueError(
                f"camera.width={self.camera.width} camera.height={self.camera.height}: "
                f"matchers need frames of at least {SMALLEST} x {SMALLEST} pixels"
            )
        for kind in self.matchers:
            name = _SETTINGS[kind]
            points, least = getattr(self.matching, name).keypoints, self.matching.check.least
            if points < least:
                raise ValueError(
                    f"matching.{name}.keypoints={points}: at least {least}, matches that a verification "
                    "needs (matching.check.least)"
                )


@dataclass(frozen=True)
class Shot:
    """A frame to match with a photo: kind "same", "twin" or "elsewhere", and the metres in the plane to the
    instance that it looks at (elsewhere: to the photographed one)."""

    kind: str
    pose: Pose
    distance: float


def evaluate(config: MatchingEvalConfig) -> dict[str, Any]:
    """Score what is missing or damaged, write table.txt, summary.json, roc.png and pictures, and return the
    summary: a row for each matcher and check.

    Raises:
        EpisodeError: the split is missing. ValueError: no image goals, matchers that cannot be made, or
            results of other settings in `out`.
    """
    import torch

    from policies.recognition.matching.base import load_matcher

    torch.set_num_threads(config.threads)
    matchers = {kind: load_matcher(replace(config.matching, kind=kind)) for kind in config.matchers}
    chosen = _goals(config)
    out = Path(config.out)
    _claim(config, out)
    sim = EmbeddedSimulator()
    loaded: Path | None = None
    rows: list[dict[str, Any]] = []
    bar = tqdm(total=len(chosen) * len(matchers), desc="match", unit="goal", smoothing=0.05)
    for number, (episode, goal) in enumerate(chosen):
        files = {k: out / "pairs" / k / f"{episode.scene.name}-{goal.object_id}.json" for k in matchers}
        known = {k: _read(path, config.checks) for k, path in files.items()}
        if None in known.values():
            if loaded != episode.scene:
                sim.load(episode.scene)
                loaded = episode.scene
            photo, shots, frames = _pairs(config, sim, episode, goal, number)
            item = sim.scene.instances[goal.object_id]
            for kind, path in files.items():
                if known[kind] is None:
                    drawn = out / "pictures" / path.stem if number < config.pictures else None
                    found = _score(config, kind, matchers[kind], photo, shots, frames, item, drawn)
                    write_atomic(path, json_bytes(found, 1))
                    known[kind] = found
        for kind, scored in known.items():
            rows += [{**row, "matcher": kind} for row in scored or []]
            bar.update()
    bar.close()
    sim.close()
    return report(config, rows, "python -m eval.matching " + shlex.join(sys.argv[1:]))


def _read(path: Path, checks: Sequence[str]) -> list[dict[str, Any]] | None:
    """The records of a file of pairs; None where there is no file, or one that is damaged."""
    try:
        rows = json.loads(path.read_bytes())
        if not isinstance(rows, list):
            raise ValueError("no list")
        for row in rows:
            numbers = [row["distance"], row["matches"], *(row["score"][check] for check in checks)]
            numbers += [row["off"][check] for check in checks if row["score"][check] > 0]
            numbers += [row["seconds"][name] for name in ("features", "match", *checks)]
            if not all(type(n) in (int, float) and -inf < n < inf for n in numbers):
                raise ValueError("what should be a number is none")
            if row["kind"] not in KINDS:
                raise ValueError(f"kind is {row['kind']!r}")
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        print(f"{path}: damaged ({type(error).__name__}: {error}); scored again", file=sys.stderr)
        return None
    return rows


def _claim(config: MatchingEvalConfig, out: Path) -> None:
    """Refuse a folder with results of other settings; more matchers and pictures may be added."""
    free = ("matchers", "rate", "pictures", "threads", "out", "data")
    settings = {key: value for key, value in asdict(config).items() if key not in free}
    settings["episodes"] = split_digest(data_root(config.data), config.split)
    claim(out, settings)


def _goals(config: MatchingEvalConfig) -> list[tuple[Episode, Goal]]:
    """Different photographed instances, evenly spread over the split."""
    found: dict[tuple[str, int], tuple[Episode, Goal]] = {}
    for episode in load_split(data_root(config.data), config.split):
        for goal in episode.goals:
            if goal.image is not None:
                found.setdefault((str(episode.scene), goal.object_id), (episode, goal))
    goals = list(found.values())
    if not goals:
        raise ValueError(f"split {config.split!r}: no image goals")
    count = min(config.goals, len(goals))
    return [goals[i * len(goals) // count] for i in range(count)]


def _pairs(
    config: MatchingEvalConfig, sim: EmbeddedSimulator, episode: Episode, goal: Goal, number: int
) -> tuple[np.ndarray, list[Shot], list[Frame]]:
    """The photo of a goal, and frames to match it with."""
    assert goal.image is not None
    rng = np.random.default_rng([config.seed, number])
    pose, camera = photo_camera(goal.image, config.matching.photo)
    photo = sim.render([pose], camera)[0].rgb
    assert photo is not None
    item = sim.scene.instances[goal.object_id]
    shots = list(_of(config, sim, item, episode, "same", rng))
    twins = [
        other
        for other in sim.scene.of_category(goal.category)
        if other.id not in goal.acceptable and abs(other.low[1] - episode.floor_height) < 2.5
    ]
    for i in rng.permutation(len(twins))[: config.twins]:
        views = list(_of(config, sim, twins[i], episode, "twin", rng))
        shares = _shares(sim, [view.pose for view in views], item.id)
        views = [view for view, share in zip(views, shares) if share == 0]  # the right one is not there too
        if views:
            shots.append(views[rng.integers(len(views))])
    shots += _others(config, sim, item, episode, rng)
    return photo, shots, sim.render([shot.pose for shot in shots], config.camera)


def _of(
    config: MatchingEvalConfig,
    sim: EmbeddedSimulator,
    item: Instance,
    episode: Episode,
    kind: str,
    rng: np.random.Generator,
) -> Iterator[Shot]:
    """A frame that shows an instance from each class of distance, where one is found."""
    shots = []
    for _ in range(TRIES):
        place = sim.navigator.random_point(rng, episode.floor)
        aside = np.radians(rng.uniform(-config.aside_deg, config.aside_deg))
        far = float(np.hypot(*(place - item.center)[[0, 2]]))
        if config.bands[0] <= far < config.bands[-1]:
            heading = heading_to(place, item.center) + aside
            shots.append(Shot(kind, _standing(place, heading), far))
    seen = _shares(sim, [shot.pose for shot in shots], item.id, within=True) >= config.visible
    for low, high in zip(config.bands[:-1], config.bands[1:]):
        fitting = [shot for shot, good in zip(shots, seen) if good and low <= shot.distance < high]
        yield from fitting[:1]


def _others(
    config: MatchingEvalConfig,
    sim: EmbeddedSimulator,
    item: Instance,
    episode: Episode,
    rng: np.random.Generator,
) -> list[Shot]:
    """Frames of the floor without an instance."""
    poses = []
    for _ in range(ELSEWHERE if config.elsewhere else 0):
        place = sim.navigator.random_point(rng, episode.floor)
        poses.append(_standing(place, rng.uniform(-np.pi, np.pi)))
    free = [pose for pose, share in zip(poses, _shares(sim, poses, item.id)) if share == 0]
    return [
        Shot("elsewhere", pose, float(np.hypot(*(pose.position - item.center)[[0, 2]])))
        for pose in free[: config.elsewhere]
    ]


def _standing(place: np.ndarray, heading: float) -> Pose:
    return Pose(float(place[0]), float(place[1]), float(place[2]), float(heading))


def _shares(sim: EmbeddedSimulator, poses: Sequence[Pose], identity: int, within: bool = False) -> np.ndarray:
    """(P,) share of the frame that an instance fills; `within`: within the depth that the camera has."""
    frames = sim.render(poses, _LOOK, rgb=False, semantic=True) if poses else []
    return np.array([((f.semantic == identity) & ((f.depth > 0) | (not within))).mean() for f in frames])


def _score(
    config: MatchingEvalConfig,
    kind: str,
    matcher: Any,
    photo: np.ndarray,
    shots: Sequence[Shot],
    frames: Sequence[Frame],
    item: Instance,
    drawn: Path | None,
) -> list[dict[str, Any]]:
    """A record a pair: its scores, how far the recognised places are from the instance, and seconds."""
    from eval.matching_report import draw
    from policies.recognition.matching.geometry import verify
    from policies.recognition.place import place_pixels

    start = time.perf_counter()
    mine = matcher.features([photo])[0]
    extract = [time.perf_counter() - start]
    rows = []
    for number, (shot, frame) in enumerate(zip(shots, frames)):
        start = time.perf_counter()
        theirs = matcher.features([frame.rgb])[0]
        extract.append(time.perf_counter() - start)
        start = time.perf_counter()
        matches = matcher.match(mine, theirs)
        row: dict[str, Any] = {
            "kind": shot.kind,
            "distance": shot.distance,
            "matches": len(matches),
            "seconds": {"features": extract[-1], "match": time.perf_counter() - start},
            "score": {},
            "off": {},
        }
        for check in config.checks:
            start = time.perf_counter()
            seen = verify(replace(config.matching.check, kind=check), matches, photo, frame)
            row["seconds"][check] = time.perf_counter() - start
            place = None if seen is None else place_pixels(frame, seen.rows, seen.columns, config.place)
            row["score"][check] = 0.0 if seen is None or place is None else seen.score
            if place is not None:
                gap = np.maximum(np.maximum(item.low - place.point, place.point - item.high), 0)
                row["off"][check] = float(np.linalg.norm(gap))
            if drawn is not None and check == config.checks[0]:
                text = f"{kind}, {shot.kind} at {shot.distance:.1f} m: {row['score'][check]:.1f} ({check})"
                draw(drawn / f"{kind}-{number}-{shot.kind}.png", photo, frame, matches, seen, text)
        rows.append(row)
    return rows


main = command(MatchingEvalConfig, "matching", evaluate)

if __name__ == "__main__":
    main()
