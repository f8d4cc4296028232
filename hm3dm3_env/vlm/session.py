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
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hm3dm3_env.cli import build
from hm3dm3_env.files import json_bytes
from hm3dm3_env.shared import Privileged
from hm3dm3_env.vlm.client import Asked, Usage, Vlm, message
from hm3dm3_env.vlm.config import VlmConfig, VlmError
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.recorded import Recorded
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
from hm3dm3_env.vlm.timing import Pacer

Json = dict[str, Any]
KINDS = ("auto", "simulated", "openai", "replay")
OWN = ("model", "temperature", "max_tokens", "extra", "price_in", "price_out")
"""What a level of questions may have of its own."""


@dataclass(frozen=True)
class VlmChoice(VlmConfig):
    """A simulated VLM (no endpoint needed), or a real one behind an OpenAI-compatible endpoint."""

    kind: str = "auto"
    """auto: openai where base_url is given, else simulated; simulated; openai: any endpoint that speaks
    OpenAI's chat completions, at base_url; replay: none, answers come from records."""
    replay: str = ""
    """For kind replay: a record, or a folder of them (<out>/records/<method>)."""
    levels: dict[str, Any] = field(default_factory=dict)
    """For levels of questions that go to another model, or are asked otherwise: {lavira_m3.vision: {model:
    small}}. What can be changed: model, temperature, max_tokens, extra, price_in, price_out. Not for the
    simulated model."""
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
        if (self.kind == "replay") != bool(self.replay):
            raise ValueError("vlm.kind=replay and vlm.replay=<record or folder of records> go together")
        for level, own in self.levels.items():
            if not level:
                raise ValueError("vlm.levels: a level needs a name, such as lavira_m3.vision")
            unknown = sorted(map(str, set(own) - set(OWN))) if isinstance(own, Mapping) else [repr(own)]
            if unknown:
                raise ValueError(
                    f"vlm.levels: {level}: {', '.join(unknown)} is nothing that a level can have of its own; "
                    f"what can is {', '.join(OWN)}"
                )
        if self.levels and self.is_simulated:
            raise ValueError("vlm.levels: the simulated model is one; give vlm.base_url, or no levels")
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
        if self.kind == "replay":
            return {"kind": "replay", "replay": self.replay}
        if self.is_simulated:
            return {"kind": "simulated", **super().public(), "simulated": asdict(self.simulated)}
        levels = {
            level: {name: value for name, value in own.items() if not name.startswith("price_")}
            for level, own in self.levels.items()
        }
        return {"kind": "openai", **super().public(), "levels": levels}

    def of_level(self, level: str) -> VlmConfig:
        """How questions of a level are asked.

        Raises:
            ValueError: what the level has of its own cannot be.
        """
        own = {f.name: getattr(self, f.name) for f in fields(VlmConfig)}
        try:
            return build(VlmConfig, **{**own, **self.levels.get(level, {})})
        except ValueError as error:
            raise ValueError(f"vlm.levels: {level}: {error}") from error


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
        self._recorded: Recorded | None = None
        if config.kind == "replay":
            self._recorded = Recorded(config.replay)
            self.name = ""
        elif config.is_simulated:
            self._session = endpoint().session(config.simulated)
            self.name = NAME
            config = replace(config, kind="openai", base_url=self._session.url, model=NAME, key_from="")
        else:
            self.name = config.model
        self._asking, self._pacer = config, Pacer(config.requests_per_minute)
        self._clients: dict[str, Vlm] = {}
        if self._recorded is None:
            for level in ("", *config.levels):  # what cannot be asked ends here
                self._client(level)
        self._pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="vlm")
        self._told, self._in_a_row = False, 0
        self.begin("", 0, {}, None)

    def _client(self, level: str) -> Vlm:
        key = level if level in self._asking.levels else ""  # which is no level
        if key not in self._clients:
            self._clients[key] = Vlm(self._asking.of_level(key), self._pacer)
        return self._clients[key]

    def begin(
        self, episode: str, seed: int, answers: Mapping[str, Answer], truth: Privileged | None
    ) -> None:
        """A new episode: counts start at 0. What the simulated model says comes from `answers` (by level) and
        the truth, its random numbers from `seed`; others hear of neither.

        Raises:
            ReplayError: there is no record of the episode to replay.
        """
        if self._session is not None:
            self._session.begin(seed, answers, truth)
        if self._recorded is not None and episode:
            self._recorded.begin(episode)
            self.name = self._recorded.name
        self._episode, self._play = episode, uuid.uuid4().hex
        self._texts: dict[str, int] = {}
        self._levels: dict[str, Json] = {}
        self._transcript: list[Json] = []
        self.seconds: dict[str, list[float]] = {}

    def ask(self, questions: Sequence[Question]) -> list[Json | VlmError]:
        """Asks all at once, at most `concurrency` at a time; answers or errors, in the order of the
        questions.

        Raises:
            VlmError: no answer came `give_up` times in a row.
        """
        shown = [[_shown(message_) for message_ in question.said] for question in questions]
        if self._recorded is not None:
            found = [
                self._recorded.next(q.step, q.by, q.level, said, q.schema)
                for q, said in zip(questions, shown)
            ]
        else:
            found = self._all(questions, shown)
        answers: list[Json | VlmError] = []
        for question, said, asked in zip(questions, shown, found):
            self.seconds.setdefault(question.level, []).append(asked.seconds)
            if self._recorded is None:
                self._keep(question, said, asked)
                self._watch(question, asked)
            answers.append(asked.error or VlmError("no answer") if asked.answer is None else asked.answer)
        return answers

    def _all(self, questions: Sequence[Question], shown: Sequence[list[Json]]) -> list[Asked]:
        """Asks all at once; equal questions one after the other, so that which of them gets which answer does
        not depend on threads."""
        alike: dict[bytes, list[int]] = {}
        for i, (question, said) in enumerate(zip(questions, shown)):
            alike.setdefault(json_bytes([question.level, said, question.schema]), []).append(i)
        groups = list(alike.values())
        answers = self._pool.map(lambda group: [self._one(questions[i]) for i in group], groups)
        found = {i: asked for group, said in zip(groups, answers) for i, asked in zip(group, said)}
        return [found[i] for i in range(len(questions))]

    def _one(self, question: Question) -> Asked:
        chat = [
            message(said.role, *(p.pixels if isinstance(p, Picture) else p for p in said.parts))
            for said in question.said
        ]
        headers = {LEVEL: question.level, EPISODE: self._episode, PLAY: self._play}
        return self._client(question.level).asked(chat, question.schema, headers)

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
        has every call, its texts as numbers of `texts`, its pictures by reference.

        Raises:
            ReplayError: the record that was replayed has more calls.
        """
        if self._recorded is not None:
            return self._recorded.whole()
        total = _nothing()
        for level in self._levels.values():
            for name in total:
                total[name] += level[name]
        return {
            "name": self.name,
            **total,
            "levels": self._levels,
            "texts": list(self._texts),
            "transcript": self._transcript,
        }

    def _keep(self, question: Question, said: list[Json], asked: Asked) -> None:
        """Counts a call, and adds it to the transcript; its pictures are let go of."""
        level = self._levels.setdefault(question.level, _nothing())
        used = {"calls": 1, "failed": int(asked.answer is None), **asdict(asked.usage)}
        for name, value in used.items():
            level[name] += value
        for message_ in said:
            message_["parts"] = [
                self._texts.setdefault(part, len(self._texts)) if isinstance(part, str) else part
                for part in message_["parts"]
            ]
        error = None if asked.error is None else f"{type(asked.error).__name__}: {asked.error}"
        self._transcript.append(
            {
                "step": question.step,
                "by": question.by,
                "level": question.level,
                "said": said,
                "unfit": asked.unfit,
                "answer": asked.answer,
                "error": error,
            }
        )


def _nothing() -> Json:
    """The counts of no calls."""
    return {"calls": 0, "failed": 0, **asdict(Usage())}


def _shown(said: Said) -> Json:
    """A message with its pictures by reference."""
    parts: list[str | Json] = []
    for part in said.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        height, width = part.pixels.shape[:2]
        digest = hashlib.sha256(part.pixels.tobytes()).hexdigest()[:16]
        parts.append({"image": part.ref, "sha256": digest, "size": [width, height]})
    return {"role": said.role, "parts": parts}
