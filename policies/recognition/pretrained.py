"""Recognition by pretrained models: OWLv2 for categories, OWLv2 and CLIP for descriptions, local features for
photos. It looks at colours and depth and knows nothing of the scene.

Modalities that `PretrainedConfig.only` leaves out are seen to by another recogniser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import cache
from math import degrees
from typing import TYPE_CHECKING

import numpy as np
import torch

from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame
from policies.heatmaps.config import EncoderError, OpenClipConfig
from policies.recent import Recent
from policies.recognition.base import Candidate, Recognizer
from policies.recognition.config import (
    EXTRA,
    MODALITIES,
    WHERE,
    OwlConfig,
    PretrainedConfig,
    RecognizerError,
)  # fmt: skip
from policies.recognition.matching.base import Features, load_matcher
from policies.recognition.place import Box, grown, place_box, place_pixels

if TYPE_CHECKING:  # each modality asks for its own packages only
    from policies.heatmaps.open_clip import OpenClipEncoder
    from policies.recognition.owl import OwlDetector


class PretrainedRecognizer:
    """`Recognizer` made of pretrained models, and of `rest` for the modalities that are left out."""

    needs_rgb = True

    def __init__(self, config: PretrainedConfig | None = None, rest: Recognizer | None = None) -> None:
        """Load the models that the modalities need; robots, episodes and recognisers share them.

        Raises:
            RecognizerError: packages or weights that are missing or do not fit.
        """
        self.config = config or PretrainedConfig()
        chosen = self.config.only
        others = [m for m in MODALITIES if m not in chosen]
        if others and rest is None:
            raise RecognizerError(f"{WHERE}.only={list(chosen)}: nobody sees to {', '.join(others)}")
        self._rest = rest if others else None
        self._owl = load_detector(self.config.owl) if {"ON", "TN"} & set(chosen) else None
        self._clip = load_crop_clip(self.config.clip) if "TN" in chosen else None
        self._matcher = load_matcher(self.config.matching) if "IIN" in chosen else None
        self.needs_semantic = self._rest is not None and self._rest.needs_semantic
        self.privileged = self._rest is not None and self._rest.privileged
        self.min_width = max(self.config.min_width, self._rest.min_width if self._rest else 0)
        self.goal_image = self.config.matching.photo if "IIN" in chosen else 0
        self.name = self._title(others)
        self._photos: Recent[Features] = Recent(self.config.matching.cache)
        self._texts: Recent[np.ndarray] = Recent(self.config.owl.cache)

    def _title(self, others: list[str]) -> str:
        owl = self.config.owl.model.rstrip("/").rsplit("/", 1)[-1]
        check = self.config.matching.check.kind
        parts = {"ON": owl, "IIN": self.config.matching.kind + ("" if check == "pose" else f" ({check})")}
        if self._clip is not None:
            parts["TN"] = f"{owl} + {self._clip.name.removeprefix('open_clip/')}"
        said = [f"{m}: {parts[m]}" for m in self.config.only]
        if self._rest is not None:
            said.append(f"{', '.join(others)}: {self._rest.name}")
        return f"pretrained ({'; '.join(said)})"

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """A new episode. Only the recogniser of the modalities left out uses the seed and the truth.

        Raises:
            RecognizerError: an image goal without its image.
        """
        self._goals = goals
        self._pictured: dict[int, Features] = {}
        self._mine = [goal.modality in self.config.only for goal in goals]
        self._memory = _Memory(self.config)
        for j, (goal, mine) in enumerate(zip(goals, self._mine)):
            if mine and goal.modality == "IIN":
                self._pictured[j] = self._photo(goal)
            elif mine:
                assert self._owl is not None
                self._owl.query(goal.modality, goal.text)
                if goal.modality == "TN":
                    self._description(goal.text)
        if self._rest is not None:
            self._rest.reset(goals, seed, truth)

    def candidates(self, frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        """Boxes and matched places of each frame whose score reaches `thresholds.emit`."""
        wanted = [j for j, left in enumerate(unresolved) if left and self._mine[j]]
        found = [self._memory.recall(frame, wanted) for frame in frames]
        fresh = [i for i, known in enumerate(found) if known is None]
        if fresh and wanted:
            for i, seen in zip(fresh, self._look([frames[i] for i in fresh], wanted)):
                found[i] = seen
                self._memory.keep(frames[i], wanted, seen)
        mine = [list(seen or ()) for seen in found]
        if self._rest is None:
            return mine
        left = [bool(u) and not m for u, m in zip(unresolved, self._mine)]
        return [a + b for a, b in zip(mine, self._rest.candidates(frames, left))]

    def _look(self, frames: Sequence[Frame], wanted: Sequence[int]) -> list[list[Candidate]]:
        """What models see of the wanted goals in frames of new poses."""
        for frame in frames:
            assert frame.rgb is not None, "the pretrained recogniser needs an environment with rgb"
        found: list[list[Candidate]] = [[] for _ in frames]
        named = [j for j in wanted if self._goals[j].modality != "IIN"]
        pictured = [j for j in wanted if self._goals[j].modality == "IIN"]
        if named:
            self._detect(frames, named, found)
        if pictured:
            self._match(frames, pictured, found)
        return found

    # -- categories and descriptions -----------------------------------------------------------------------

    def _detect(self, frames: Sequence[Frame], goals: Sequence[int], found: list[list[Candidate]]) -> None:
        assert self._owl is not None
        config, limits = self.config, self.config.thresholds
        told = [self._goals[j] for j in goals]
        queries = torch.stack([self._owl.query(goal.modality, goal.text) for goal in told])
        images = [frame.rgb for frame in frames if frame.rgb is not None]
        boxes = self._owl.detect(images, queries, min(config.owl.propose, limits.on.threshold / 2))
        described: list[tuple[int, int, Box]] = []
        for i, each in enumerate(boxes):
            for j, goal, mine in zip(goals, told, each):
                for box, confidence in mine:
                    if goal.modality == "ON":
                        self._add(found[i], frames[i], j, limits.on(confidence), box)
                    elif confidence >= config.owl.propose:
                        described.append((i, j, box))
        if described:
            assert self._clip is not None
            crops = [self._crop(frames[i], box) for i, _, box in described]
            for vector, (i, j, box) in zip(self._clip.images(crops), described):
                cosine = float(vector @ self._description(self._goals[j].text))
                self._add(found[i], frames[i], j, limits.tn(cosine), box)

    def _crop(self, frame: Frame, box: Box) -> np.ndarray:
        assert frame.rgb is not None
        height, width = frame.depth.shape
        left, top, right, bottom = grown(box, self.config.owl.grow, width, height)
        return frame.rgb[top:bottom, left:right]

    def _description(self, text: str) -> np.ndarray:
        """(D,) CLIP's embedding of a description, from memory where it is known."""
        clip = self._clip
        assert clip is not None
        return self._texts.of(text, lambda: clip.texts([text])[0])

    def _add(self, found: list[Candidate], frame: Frame, goal: int, score: float, box: Box) -> None:
        if score < self.config.thresholds.emit:
            return
        place = place_box(frame, box, self.config.place)
        if place is not None:
            found.append(Candidate(goal, score, place.point, box, place.distance))

    # -- photos --------------------------------------------------------------------------------------------

    def _photo(self, goal: TeamGoal) -> Features:
        """The features of a goal's image, from memory where it is known. Images are looked at one by one, so
        that nothing depends on which others were there."""
        matcher, image = self._matcher, goal.image
        assert matcher is not None
        if image is None:
            raise RecognizerError("an image goal came without its image; the pretrained recogniser needs it")
        key = (image.shape, hashlib.sha256(image.tobytes()).digest())
        return self._photos.of(key, lambda: matcher.features([image])[0])

    def _match(self, frames: Sequence[Frame], goals: Sequence[int], found: list[list[Candidate]]) -> None:
        from policies.recognition.matching.geometry import verify  # OpenCV is needed only here

        assert self._matcher is not None
        config = self.config.matching
        scale = self.config.thresholds.of(config.check.kind, config.kind)
        for start in range(0, len(frames), config.batch):
            group = frames[start : start + config.batch]
            images = [frame.rgb for frame in group if frame.rgb is not None]
            for i, features in enumerate(self._matcher.features(images), start):
                for j in goals:
                    image, matches = self._goals[j].image, self._matcher.match(self._pictured[j], features)
                    assert image is not None
                    seen = verify(config.check, matches, image, frames[i])
                    if seen is None or scale(seen.score) < self.config.thresholds.emit:
                        continue
                    place = place_pixels(frames[i], seen.rows, seen.columns, self.config.place)
                    if place is not None:
                        box = _around(seen.rows, seen.columns)
                        found[i].append(Candidate(j, scale(seen.score), place.point, box, place.distance))


class _Memory:
    """What was seen of which goals, by pose, in an episode."""

    def __init__(self, config: PretrainedConfig) -> None:
        self.config = config.memory
        self._seen: dict[Hashable, tuple[Hashable, frozenset[int], list[Candidate]]] = {}

    def recall(self, frame: Frame, wanted: Sequence[int]) -> list[Candidate] | None:
        """What a frame like this showed of the wanted goals; None where it must be looked at."""
        if not self.config.metres or not self.config.degrees:
            return None
        pose, goals, seen = self._seen.get(self._cell(frame), (None, frozenset(), []))
        mine = [candidate for candidate in seen if candidate.goal in wanted]
        if pose is None or not goals.issuperset(wanted):
            return None
        near = any(candidate.distance <= self.config.near for candidate in mine)
        return None if near and pose != (frame.pose, frame.camera) else mine

    def keep(self, frame: Frame, wanted: Sequence[int], seen: list[Candidate]) -> None:
        """Remember what a frame showed of the wanted goals."""
        if self.config.metres and self.config.degrees:
            self._seen[self._cell(frame)] = ((frame.pose, frame.camera), frozenset(wanted), seen)

    def _cell(self, frame: Frame) -> Hashable:
        pose, metres = frame.pose, self.config.metres
        turns = [degrees(pose.heading) % 360, degrees(pose.pitch) % 360]
        count = max(1, round(360 / self.config.degrees))
        angles = [round(turn / self.config.degrees) % count for turn in turns]
        return (*(round(v / metres) for v in (pose.x, pose.y, pose.z)), *angles, frame.camera)


@cache
def load_detector(config: OwlConfig) -> OwlDetector:
    """The detector of a config; the same one for the same config.

    Raises:
        RecognizerError: transformers is missing, or weights that cannot be had or do not fit.
    """
    try:
        from policies.recognition.owl import OwlDetector
    except ImportError as error:
        raise RecognizerError(f"{WHERE}.owl needs {error.name or 'transformers'}: {EXTRA}") from error
    return OwlDetector(config)


@cache
def load_crop_clip(config: OpenClipConfig) -> OpenClipEncoder:
    """The CLIP of a config that compares crops and descriptions; the same one for the same config.

    Raises:
        RecognizerError: open_clip is missing, or weights that cannot be had or do not fit.
    """
    try:
        from policies.heatmaps.open_clip import OpenClipEncoder

        return OpenClipEncoder(config)
    except ImportError as error:
        raise RecognizerError(f"{WHERE}.clip needs {error.name or 'open_clip'}: {EXTRA}") from error
    except EncoderError as error:
        raise RecognizerError(str(error).replace("eyes.encoder.open_clip", f"{WHERE}.clip")) from error


def _around(rows: np.ndarray, columns: np.ndarray) -> Box:
    """The box around most of some pixels: 5% on each side may stray."""
    left, right = np.percentile(columns, [5, 95])
    top, bottom = np.percentile(rows, [5, 95])
    return int(left), int(top), int(right) + 1, int(bottom) + 1
