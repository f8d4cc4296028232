"""The eyes of an evaluation: which recogniser and encoder, and what of them a policy gets to hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from hm3dm3_env.sim.base import Frame
from policies.heatmaps.base import Encoder, Similarity
from policies.heatmaps.config import EncoderConfig, make_encoder
from policies.recognition.base import Candidate, Detector, Recognizer
from policies.recognition.config import EXTRA, PretrainedConfig, RecognizerError
from policies.recognition.simulated import PERFECT, SimulatedRecognizer, SimulatedRecognizerConfig

REMEMBERED = 32
"""Asking again about one of so many latest frames tells nothing new (ours: some steps of a large team)."""
RECOGNISERS = ("simulated", "perfect", "pretrained")


@dataclass(frozen=True)
class EyesConfig:
    """Which recogniser and encoder."""

    recogniser: str = "simulated"
    """simulated, perfect (no noise), or pretrained (models; hm3dm3[recognition])."""
    simulated: SimulatedRecognizerConfig = field(default_factory=SimulatedRecognizerConfig)
    """The simulated one's noise."""
    pretrained: PretrainedConfig = field(default_factory=PretrainedConfig)
    """The pretrained one's models and thresholds."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    """What makes the heat maps."""


def make_eyes(config: EyesConfig) -> tuple[Recognizer, Encoder]:
    """The recogniser and the encoder of a config.

    Raises:
        ValueError: an unknown recogniser or encoder, or one that cannot be made (`RecognizerError`,
            `EncoderError`).
    """
    if config.recogniser not in RECOGNISERS:
        raise RecognizerError(
            f"eyes.recogniser: {config.recogniser!r} is not available; use one of {', '.join(RECOGNISERS)}"
        )
    return _make_recognizer(config), make_encoder(config.encoder)


def _make_recognizer(config: EyesConfig) -> Recognizer:
    simulated = SimulatedRecognizer(PERFECT if config.recogniser == "perfect" else config.simulated)
    if config.recogniser != "pretrained":
        return simulated
    try:
        from policies.recognition.pretrained import PretrainedRecognizer  # torch is needed only here
    except ImportError as error:
        raise RecognizerError(f"eyes.recogniser=pretrained needs {error.name or 'torch'}: {EXTRA}") from error
    return PretrainedRecognizer(config.pretrained, simulated)


@dataclass
class Clock:
    """Where the time of an episode's decisions went.

    Attributes:
        total: seconds in the policy's `act`, the eyes included.
        eyes: seconds of them in the recogniser and the encoder.
        steps: team steps decided.
        vlm: level of a question to a vision-language model -> seconds that each took.
    """

    total: float = 0.0
    eyes: float = 0.0
    steps: int = 0
    vlm: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Times one decision."""
        start = time.perf_counter()
        yield
        self.total += time.perf_counter() - start
        self.steps += 1

    @contextmanager
    def look(self) -> Iterator[None]:
        """Times one look."""
        start = time.perf_counter()
        yield
        self.eyes += time.perf_counter() - start


@dataclass
class _Look:
    """What was asked about a frame: goals, and the answer."""

    frame: Frame
    asked: set[int] = field(default_factory=set)
    found: list[Candidate] = field(default_factory=list)


@dataclass
class _DetectorView:
    name: str
    candidates: Callable[[Sequence[Frame], Sequence[bool]], list[list[Candidate]]]


@dataclass
class _SimilarityView:
    name: str
    space: str
    similarity: Callable[[Sequence[Frame], int], np.ndarray]
    embeddings: Callable[[], np.ndarray]


def shielded(eyes: tuple[Recognizer, Encoder], clock: Clock) -> tuple[Detector, Similarity]:
    """The eyes as a policy gets them: what they say, and nothing of what simulated ones know; timed. Who asks
    again about a frame hears the same again, so that noise cannot be averaged away."""
    recognizer, encoder = eyes

    looks: list[_Look] = []

    def candidates(frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        with clock.look():
            known = {id(look.frame): look for look in looks}
            mine = [known.setdefault(id(frame), _Look(frame)) for frame in frames]
            looks[:] = [*known.values()][-REMEMBERED:]
            todo: dict[tuple[bool, ...], dict[int, _Look]] = {}  # frames of a question go in one call
            for look in mine:
                need = tuple(bool(open_) and j not in look.asked for j, open_ in enumerate(unresolved))
                if any(need):
                    todo.setdefault(need, {})[id(look)] = look
            for need, group in todo.items():
                found = recognizer.candidates([look.frame for look in group.values()], need)
                for look, seen in zip(group.values(), found, strict=True):
                    look.found += seen
                    look.asked |= {j for j, asked in enumerate(need) if asked}
            return [[c for c in look.found if unresolved[c.goal]] for look in mine]

    def similarity(frames: Sequence[Frame], strips: int) -> np.ndarray:
        with clock.look():
            return encoder.similarity(frames, strips)

    return (
        _DetectorView(recognizer.name, candidates),
        _SimilarityView(encoder.name, encoder.space, similarity, lambda: encoder.embeddings()),
    )
