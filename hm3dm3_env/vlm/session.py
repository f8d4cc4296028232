"""What an episode asks of a vision-language model: which one, all questions of a step at once, counted by
level, and every call in a transcript.

    vlm = EpisodeVlm(VlmChoice())                    # the simulated model
    vlm.begin("val-00000", seed, answers, truth)     # a new episode
    vlm.ask([Question("my_method.where", "robot_0", 12, (Said("user", ("Where to?", picture)),), schema)])
    vlm.record()

Methods get a `VlmView` of it, on which nothing of the truth hangs that the simulated model answers from.
"""

from __future__ import annotations

import hashlib
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hm3dm3_env.shared import Privileged
from hm3dm3_env.vlm.client import Asked, Usage, Vlm, VlmConfig, VlmError, message
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.simulated import (
    EPISODE,
    LEVEL,
    NAME,
    PLAY,
    Answer,
    Session,
    SimulatedVlmConfig,
    endpoint,
)

Json = dict[str, Any]
KINDS = ("auto", "simulated", "openai")


@dataclass(frozen=True)
class VlmChoice(VlmConfig):
    """A simulated VLM (no endpoint needed), or a real one behind an OpenAI-compatible endpoint."""

    kind: str = "auto"
    """auto: openai where base_url is given, else simulated; simulated; openai: any endpoint that speaks
    OpenAI's chat completions, at base_url."""
    simulated: SimulatedVlmConfig = field(default_factory=SimulatedVlmConfig)
    """What goes wrong with the simulated one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in KINDS:
            raise ValueError(f"vlm.kind is {self.kind!r}, must be one of {', '.join(KINDS)}")
        if self.kind == "auto" and self.model and not self.base_url:
            raise ValueError(
                f"vlm.model={self.model} needs vlm.base_url, such as vlm.base_url=http://127.0.0.1:8000/v1; "
                "leave both out for the simulated model"
            )
        noise = self.simulated
        if self.is_simulated and noise.timeouts and noise.delay <= self.timeout:
            raise ValueError(
                f"vlm.simulated.delay: {noise.delay:g} s is no time-out for a client that waits "
                f"vlm.timeout={self.timeout:g} s; lower vlm.timeout, or raise the delay"
            )

    @property
    def is_simulated(self) -> bool:
        """Whether the simulated model answers."""
        return self.kind == "simulated" or (self.kind == "auto" and not self.base_url)

    def public(self) -> Json:
        """What decides the answers, for files; see `VlmConfig.public`."""
        if self.is_simulated:
            return {"kind": "simulated", **super().public(), "simulated": asdict(self.simulated)}
        return {"kind": "openai", **super().public()}


@dataclass(frozen=True)
class Said:
    """One message of a chat: role (system, user), and texts and pictures in order."""

    role: str
    parts: tuple[str | Picture, ...]


@dataclass(frozen=True)
class Question:
    """A question to the model.

    Attributes:
        level: which kind it is ("lavira_m3.vision"): use is counted by it.
        by, step: who asks ("robot_0", "team"), and when.
        said: the chat.
        schema: JSON schema that the answer must fit.
    """

    level: str
    by: str
    step: int
    said: tuple[Said, ...]
    schema: Mapping[str, Any]


@dataclass
class VlmView:
    """What a method gets of a VLM. `ask` asks several questions at once, and gives the answers in their
    order; the error in place of one that did not come."""

    name: str
    ask: Callable[[Sequence[Question]], list[Json | VlmError]]


class EpisodeVlm:
    """A VLM, and what one episode asked of it.

    Attributes:
        name: "simulated", or the model's name.
        seconds: level -> how long each of its questions took.

    Raises:
        VlmError: no endpoint or model is given, one that cannot be, or there is no openai library.
    """

    def __init__(self, config: VlmChoice) -> None:
        self.config = config
        self._session: Session | None = None
        own = {f.name: getattr(config, f.name) for f in fields(VlmConfig)}
        if config.is_simulated:
            self._session = endpoint().session(config.simulated)
            own |= {"base_url": self._session.url, "model": NAME, "key_from": ""}
        self.name = NAME if config.is_simulated else config.model
        self._vlm = Vlm(VlmConfig(**own))
        self._pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="vlm")
        self._told, self._in_a_row = False, 0
        self.begin("", 0, {}, None)

    def begin(self, episode: str, seed: int, answers: Mapping[str, Answer], truth: Privileged | None) -> None:
        """A new episode: counts start at 0. What the simulated model says comes from `answers` (by level) and
        the truth, its random numbers from `seed`; others hear of neither."""
        if self._session is not None:
            self._session.begin(seed, answers, truth)
        self._episode, self._play = episode, uuid.uuid4().hex
        self._texts: dict[str, int] = {}
        self._calls: list[tuple[Question, Asked]] = []
        self.seconds: dict[str, list[float]] = {}

    def ask(self, questions: Sequence[Question]) -> list[Json | VlmError]:
        """Asks all at once, at most `concurrency` at a time; answers or errors, in the order of the
        questions.

        Raises:
            VlmError: no answer came `give_up` times in a row.
        """
        answers: list[Json | VlmError] = []
        for question, asked in zip(questions, self._pool.map(self._one, questions)):
            self._calls.append((question, asked))
            self.seconds.setdefault(question.level, []).append(asked.seconds)
            self._watch(question, asked)
            answers.append(asked.error or VlmError("no answer") if asked.answer is None else asked.answer)
        return answers

    def _one(self, question: Question) -> Asked:
        chat = [
            message(said.role, *(p.pixels if isinstance(p, Picture) else p for p in said.parts))
            for said in question.said
        ]
        headers = {LEVEL: question.level, EPISODE: self._episode, PLAY: self._play}
        return self._vlm.asked(chat, question.schema, headers)

    def _watch(self, question: Question, asked: Asked) -> None:
        """The first failure is said aloud; the last of `give_up` in a row ends the run."""
        if asked.error is None:
            self._in_a_row = 0
            return
        self._in_a_row += 1
        method = question.level.partition(".")[0]
        if 0 < self.config.give_up <= self._in_a_row:
            many = f"{self._in_a_row} questions in a row (vlm.give_up={self.config.give_up})"
            advice = "with a server that answers, run again: eval.benchmark keeps finished episodes"
            raise VlmError(f"{method}: no answer to {many}: {asked.error}; {advice}") from asked.error
        if not self._told:
            print(f"{method}: {asked.error}; it goes on without this answer", file=sys.stderr)
        self._told = True

    def view(self) -> VlmView:
        """What a method gets."""
        return VlmView(self.name, lambda questions: self.ask(questions))

    def record(self) -> Json:
        """What the episode asked and used; see the fields of `Usage`. Under `levels` by level; `transcript`
        has every call, its texts as numbers of `texts`, its pictures by reference."""
        levels: dict[str, Json] = {}
        transcript = []
        for question, asked in self._calls:
            level = levels.setdefault(question.level, {"calls": 0, "failed": 0, **asdict(Usage())})
            level["calls"] += 1
            level["failed"] += asked.answer is None
            for name, value in asdict(asked.usage).items():
                level[name] += value
            transcript.append(self._entry(question, asked))
        total = {"calls": 0, "failed": 0, **asdict(Usage())}
        for level in levels.values():
            for name in total:
                total[name] += level[name]
        return {
            "name": self.name,
            **total,
            "levels": levels,
            "texts": list(self._texts),
            "transcript": transcript,
        }

    def _entry(self, question: Question, asked: Asked) -> Json:
        said = [{"role": s.role, "parts": [self._reference(part) for part in s.parts]} for s in question.said]
        error = None if asked.error is None else f"{type(asked.error).__name__}: {asked.error}"
        return {
            "step": question.step,
            "by": question.by,
            "level": question.level,
            "said": said,
            "unfit": asked.unfit,
            "answer": asked.answer,
            "error": error,
        }

    def _reference(self, part: str | Picture) -> int | Json:
        if isinstance(part, str):
            return self._texts.setdefault(part, len(self._texts))
        height, width = part.pixels.shape[:2]
        digest = hashlib.sha256(part.pixels.tobytes()).hexdigest()[:16]
        return {"image": part.ref, "sha256": digest, "size": [width, height]}
