"""Answers from the transcript of a record: an episode plays again without any endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hm3dm3_env.record import load_record
from hm3dm3_env.vlm.client import Asked
from hm3dm3_env.vlm.config import NoFittingAnswer, VlmError
from hm3dm3_env.vlm.transcript import SCHEMA, misfit, quote

Json = dict[str, Any]
ADVICE = "another release, other settings or other data; replay with those that it was recorded with"


class ReplayError(ValueError):
    """What is asked is not what the record was asked, or there is no such record."""


class Recorded:
    """The transcripts of a record, or of a folder of records.

    Attributes:
        name: of the model that answered.

    Raises:
        ReplayError: nothing is there.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        if not self._path.exists():
            raise ReplayError(f"vlm.replay: {path} is not there; give a record, or a folder of them")
        self.name = ""

    def begin(self, episode: str) -> None:
        """Start with the record of an episode.

        Raises:
            ReplayError: there is none, or one without a transcript.
            RecordError: it cannot be read.
        """
        file = self._path / f"{episode}.json" if self._path.is_dir() else self._path
        if not file.exists():
            raise ReplayError(f"vlm.replay: {file} is not there: no record of episode {episode} to replay")
        record = load_record(file)
        if record.episode != episode:
            raise ReplayError(f"vlm.replay: {file} is of episode {record.episode}, not {episode}")
        vlm = record.method_record.get("vlm")
        if not isinstance(vlm, Mapping) or not vlm.keys() >= {"name", "levels", "texts", "transcript"}:
            raise ReplayError(f"vlm.replay: {file} has no transcript of a vision-language model")
        wrong = misfit(vlm, SCHEMA)
        if wrong is not None:
            raise ReplayError(f"vlm.replay: {file}: method_record.vlm.{wrong[0]}: {wrong[1]}; it is damaged")
        self._file, self._vlm, self._number, self.name = file, dict(vlm), 0, str(vlm["name"])

    def next(self, step: int, by: str, level: str, said: list[Json], schema: Mapping[str, Any]) -> Asked:
        """What came of the next question.

        Args:
            said: its messages, with texts in full and pictures by reference.
            schema: that the answer must fit.

        Raises:
            ReplayError: another question was asked here, or none, or the answer does not fit.
        """
        where = f"{self._file}: call {self._number} of the transcript"
        calls = self._vlm["transcript"]
        if self._number >= len(calls):
            raise ReplayError(f"{where}: there is none, and now {by} asks at step {step}")
        then = calls[self._number]
        self._number += 1
        for name, now in (("step", step), ("by", by), ("level", level)):
            if then.get(name) != now:
                raise ReplayError(f"{where}: {name} was {then.get(name)!r}, and is {now!r} now: {ADVICE}")
        before = self._said(then, where)
        if before != said:
            raise ReplayError(f"{where}: {by} is told {_other(before, said)} at step {step} now: {ADVICE}")
        answer, error = then["answer"], then["error"]
        if (answer is None) == (error is None):
            raise ReplayError(f"{where}: it has an answer and an error, or neither; it is damaged")
        wrong = None if answer is None else misfit(answer, schema)
        if wrong is not None:
            raise ReplayError(f"{where}: answer.{wrong[0]}: {wrong[1]}; it is damaged")
        return Asked(answer, _error(error), list(then["unfit"]))

    def _said(self, call: Json, where: str) -> list[Json]:
        """The messages of a call of the transcript, with texts in full."""
        texts = self._vlm["texts"]
        try:
            return [
                {**said, "parts": [texts[p] if isinstance(p, int) else p for p in said["parts"]]}
                for said in call["said"]
            ]
        except IndexError:
            raise ReplayError(f"{where}: a text that it names is not in texts; it is damaged") from None

    def whole(self) -> Json:
        """What the record says was asked and used.

        Raises:
            ReplayError: not all of it was asked again.
        """
        left = len(self._vlm["transcript"]) - self._number
        if left:
            raise ReplayError(f"{self._file}: {left} calls of the transcript were not asked again")
        return self._vlm


def _other(before: list[Json], now: list[Json]) -> str:
    """What is told now, where it first differs from what was told before."""
    old, new = ([part for said in told for part in said["parts"]] for told in (before, now))
    for was, part in zip(old, new):
        if part != was and isinstance(part, str) and isinstance(was, str):
            lines = zip_longest(was.splitlines(), part.splitlines(), fillvalue="(nothing)")
            a, b = next((pair for pair in lines if pair[0] != pair[1]), (was, part))
            return f"{quote(b)} in place of {quote(a)}"
        if part != was:
            return f"another picture: {quote(part)} in place of {quote(was)}"
    return f"{len(new)} texts and pictures in place of {len(old)}"


def _error(text: str | None) -> VlmError | None:
    if text is None:
        return None
    kind, _, words = text.partition(": ")
    return (NoFittingAnswer if kind == NoFittingAnswer.__name__ else VlmError)(words)
