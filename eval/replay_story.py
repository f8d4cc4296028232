"""What a method wrote into a record, read and checked: calls of a VLM, decisions, claims, assignments.

Calls are the benchmark's own form, and are checked as a whole. `decisions` and `claims` are the method's:
where they have another form than the one below they are only quoted, like everything else that it remembers.

    decisions   [{"step", "robot", ...}]    the rest is shown; "target": [x, z], metres, is drawn
    claims      [{"step", "robot", "goal"}]    from that step on the robot goes for the goal (null: none)
    assignments [{"step", "goals": [per robot]}]   the same for the whole team; other fields are shown
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.vlm.transcript import COUNT, SCHEMA, misfit, quote

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_RECORD = {
    "type": "object",
    "properties": {
        **{
            name: {"type": "string"}
            for name in ("split", "episode", "scene", "method", "camera", "recogniser", "ended")
        },
        "goals": {"type": "array", "items": {"type": "object"}},
        "actions": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "declarations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["step", "agent", "goal", "right", "distance"],
                "properties": {
                    **{name: COUNT for name in ("step", "agent", "goal")},
                    "right": {"type": "boolean"},
                    "distance": {"type": ["number", "null"]},
                },
            },
        },
        "path": _NUMBERS,
        "path_at_last_success": _NUMBERS,
        "makespan": {"type": "number"},
        "floor_height": {"type": "number"},
        "method_record": {"type": "object", "properties": {"vlm": SCHEMA}},
    },
}


@dataclass(frozen=True)
class Story:
    """The method's side of an episode.

    Attributes:
        vlm: counts of calls, tokens and so on, without the transcript; {} for a method that asked none.
        texts: what the parts of `calls` that are numbers stand for.
        calls: the transcript, in order of time.
        decisions, claims, assignments: as in the module's text, in order of time; [] where there are none.
        rest: all else that the method remembers.
    """

    vlm: Mapping[str, Any]
    texts: Sequence[str]
    calls: Sequence[Mapping[str, Any]]
    decisions: Sequence[Mapping[str, Any]]
    claims: Sequence[Mapping[str, Any]]
    assignments: Sequence[Mapping[str, Any]]
    rest: Mapping[str, Any]

    def steps(self) -> set[int]:
        """The steps at which anything of it happened."""
        parts = (self.calls, self.decisions, self.claims, self.assignments)
        return {entry["step"] for part in parts for entry in part}

    def claimed(self, step: int, robots: int) -> list[tuple[int | None, int]]:
        """(K,) what each robot goes for after a step, and since which step: (None, 0) for nothing."""
        going: list[tuple[int | None, int]] = [(None, 0)] * robots
        if self.claims:
            for entry in self.claims:
                if entry["step"] <= step:
                    going[entry["robot"]] = (entry["goal"], entry["step"])
            return going
        for entry in self.assignments:
            for k, goal in enumerate(entry.get("goals", ())):
                if entry["step"] <= step and goal != going[k][0]:
                    going[k] = (goal, entry["step"])
        return going

    def current(self, step: int, robots: int) -> list[int | None]:
        """(K,) the number of the decision that each robot follows at a step; None before its first, and after
        the step `until` which it lasted."""
        last: list[int | None] = [None] * robots
        for i, entry in enumerate(self.decisions):
            if entry["step"] <= step and entry.get("robot") is not None:
                last[entry["robot"]] = i
        for k, number in enumerate(last):
            until = None if number is None else self.decisions[number].get("until")
            if isinstance(until, int) and until < step:
                last[k] = None
        return last


def read_story(record: EpisodeRecord) -> Story:
    """Check a record and take the method's side out of it.

    Raises:
        RecordError: names the field that is broken.
    """
    _fits(vars(record), _RECORD, record)
    remembered = dict(record.method_record)
    vlm = dict(remembered.pop("vlm", {}))
    texts, calls = vlm.pop("texts", []), vlm.pop("transcript", [])
    for i, call in enumerate(calls):
        _check_call(record, call, texts, f"method_record.vlm.transcript[{i}]")
    decisions = _take(record, remembered, "decisions", {"robot"}, optional=frozenset({"goal"}))
    claims = _take(record, remembered, "claims", {"robot", "goal"})
    assignments = _take(record, remembered, "assignments", set())
    for i, entry in enumerate(assignments):
        goals, where = entry.get("goals", []), f"method_record.assignments[{i}].goals"
        if not isinstance(goals, list) or len(goals) > record.agents:
            raise _broken(record, where, f"{quote(goals)} is no list of {record.agents} robots' goals")
        for goal in goals:
            _check_number(record, goal, len(record.goals), where, "goal", none=True)
    return Story(
        vlm, texts, _ordered(calls), _ordered(decisions), _ordered(claims), _ordered(assignments), remembered
    )


def _ordered(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(entries, key=lambda entry: entry["step"])


def _fits(value: Any, schema: Mapping[str, Any], record: EpisodeRecord) -> None:
    wrong = misfit(value, schema)
    if wrong is not None:
        raise _broken(record, *wrong)


def _check_call(record: EpisodeRecord, call: Mapping[str, Any], texts: Sequence[str], where: str) -> None:
    _check_number(record, call["step"], record.steps + 1, f"{where}.step", "step")
    if call["by"] != "team":
        _check_number(record, int(call["by"].removeprefix("robot_")), record.agents, f"{where}.by", "robot")
    for m, message in enumerate(call["said"]):
        for p, part in enumerate(message["parts"]):
            if isinstance(part, int):
                _check_number(record, part, len(texts), f"{where}.said[{m}].parts[{p}]", "text")


def _take(
    record: EpisodeRecord,
    remembered: dict[str, Any],
    name: str,
    needs: set[str],
    optional: frozenset[str] = frozenset(),
) -> list[Mapping[str, Any]]:
    """The entries of a list that has the form of the module's text, taken out of what is remembered; [] where
    there is none. Numbers of steps, robots and goals must be those of the episode."""
    entries = remembered.get(name)
    if not isinstance(entries, list) or not all(
        isinstance(entry, Mapping) and entry.keys() >= {"step"} | needs for entry in entries
    ):
        return []
    limits = {"step": record.steps + 1, "robot": record.agents, "goal": len(record.goals)}
    for i, entry in enumerate(entries):
        for key in sorted({"step"} | needs | (optional & entry.keys())):
            _check_number(
                record, entry[key], limits[key], f"method_record.{name}[{i}].{key}", key, none=key == "goal"
            )
    return remembered.pop(name)


def _check_number(
    record: EpisodeRecord, value: Any, limit: int, where: str, kind: str, none: bool = False
) -> None:
    if none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < limit:
        known = f"0 to {limit - 1}" if limit else "none"
        raise _broken(record, where, f"no {kind} {quote(value)}; the record has {known}")


def _broken(record: EpisodeRecord, where: str, what: str) -> RecordError:
    return RecordError(f"record of episode {quote(record.episode)}: {where}: {what}; play the episode again")
