"""One episode as a page of HTML that needs nothing else: the data, put together, and the page around them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from tqdm import tqdm

from eval.replay_pictures import Pictures
from eval.replay_story import Story, read_story
from hm3dm3_env.metrics import row
from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.render.panels import agent_color, goal_color, known_bounds
from hm3dm3_env.render.playback import Replay, outcome

COUNTS = (
    "calls", "failed", "unfit", "requests", "retries", "refused", "errors", "lost", "tokens_in",
    "tokens_out", "cost",
)  # fmt: skip
"""What a method counts of its calls, in the order of the table."""
VERSION = 1
"""Of the form of the data in a page."""


def page(replay: Replay, every: int) -> bytes:
    """The page about an episode; the same record and data give the same bytes.

    Args:
        every: between the steps at which something happened, every n-th step in which a robot moves is shown.

    Raises:
        RecordError: the record contradicts itself; the message names the field.
    """
    story = read_story(replay.record)
    data = _data(replay, story, every)
    try:
        text = json.dumps(data, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise RecordError(
            f"record of episode {replay.record.episode}: it holds NaN or Infinity, which are no JSON; "
            "play the episode again"
        ) from error
    return _html(f"{replay.record.method}, {replay.record.episode}", text)


def moments(replay: Replay, story: Story, every: int) -> list[int]:
    """The steps that a page shows: the first and the last, all at which something happened, and between them
    every n-th step in which a robot moves."""
    declared = {d["step"] for d in replay.record.declarations}
    moving = [s for s in range(replay.steps + 1) if replay.moved(s)]
    return sorted({0, replay.steps, *declared, *story.steps(), *moving[::every]})


def board(replay: Replay, story: Story, step: int) -> list[dict[str, str]]:
    """(M,) how each goal stands after a step: `state` (looking, claimed, found, wrong) and `words`."""
    rows = [{"state": "looking", "words": "unresolved"} for _ in replay.goals]
    claims: list[list[str]] = [[] for _ in rows]
    for k, (goal, since) in enumerate(story.claimed(step, replay.record.agents)):
        if goal is not None and replay.alive[step][k]:
            claims[goal].append(f"R{k} (since step {since})")
    for j, names in enumerate(claims):
        if names:
            rows[j] = {"state": "claimed", "words": f"claimed by {' and '.join(names)}"}
    for d in replay.record.declarations:
        if d["step"] <= step:
            words = f"{outcome(d)}, declared by R{d['agent']} at step {d['step']}"
            rows[d["goal"]] = {"state": "found" if d["right"] else "wrong", "words": words}
    return rows


def _data(replay: Replay, story: Story, every: int) -> dict[str, Any]:
    record, pictures = replay.record, Pictures(replay, story)
    steps = moments(replay, story, every)
    with tqdm(total=len(steps) + len(story.calls), desc=f"pictures {record.episode}", unit="picture") as bar:
        shown, calls, waiting = [], [], list(enumerate(story.calls))
        shared_map, done, bounds = replay.new_map(), -1, known_bounds(replay.map_at(replay.steps))
        for step in steps:
            for s in range(done + 1, step + 1):
                replay.explore(shared_map, s)
            done = step
            views = [
                {"image": pictures.view(k, step), "note": _note(replay, k, step)}
                for k in range(record.agents)
            ]
            shown.append(
                {
                    "step": step,
                    "map": pictures.map(shared_map, step, bounds),
                    "views": views,
                    "board": board(replay, story, step),
                    "follows": story.current(step, record.agents),
                }
            )
            bar.update()
            while waiting and waiting[0][1]["step"] == step:
                calls.append(_call(pictures, *waiting.pop(0)))
                bar.update()
    return {
        "version": VERSION,
        "title": f"{record.method}, {record.episode}",
        "facts": _facts(record, story),
        "counts": _counts(story),
        "robots": [_hex(agent_color(k)) for k in range(record.agents)],
        "goals": [
            {
                "color": _hex(goal_color(j)),
                "modality": goal.modality,
                "text": goal.text or f"photo of: {record.goals[j].get('category', '')}",
                "photo": pictures.goal_photo(j),
            }
            for j, goal in enumerate(replay.goals)
        ],
        "declarations": [
            {"robot": d["agent"], "words": outcome(d), **{key: d[key] for key in ("step", "goal", "right")}}
            for d in sorted(record.declarations, key=lambda d: d["step"])
        ],
        "moments": shown,
        "texts": list(story.texts),
        "calls": calls,
        "decisions": list(story.decisions),
        "assignments": list(story.assignments),
        "rest": dict(story.rest),
        "images": pictures.album.uris,
    }


def _call(pictures: Pictures, number: int, call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of the transcript, with numbers of pictures in place of references."""
    robot = None if call["by"] == "team" else int(call["by"].removeprefix("robot_"))
    said = []
    for m, message in enumerate(call["said"]):
        parts = []
        for p, part in enumerate(message["parts"]):
            where = (
                f"record of episode {pictures.replay.record.episode}: a call of step {call['step']} "
                f"({call['level']}, method_record.vlm.transcript): said[{m}].parts[{p}].image"
            )
            parts.append(part if isinstance(part, int) else pictures.shown(part, where))
        said.append({"role": message["role"], "parts": parts})
    kept = {key: call[key] for key in ("step", "level", "unfit", "answer", "error")}
    return {"number": number, "robot": robot, "said": said, **kept}


def _note(replay: Replay, robot: int, step: int) -> str:
    """How far a robot has walked, what it does next, and whether it still may."""
    points = [replay.poses[s][robot] for s in range(step + 1)]
    walked = sum(((a.x - b.x) ** 2 + (a.z - b.z) ** 2) ** 0.5 for a, b in zip(points, points[1:]))
    if not replay.alive[step][robot]:
        return f"walked {walked:.1f} m, out of budget"
    after = f", then {replay.record.actions[step][robot]}" if step < replay.steps else ""
    return f"walked {walked:.1f} m{after}"


def _facts(record: EpisodeRecord, story: Story) -> list[list[str]]:
    """[name, value] of the header."""
    numbers = row(record)
    drawn = "" if record.simulator == "embedded" else " (pictures here: embedded)"
    return [
        ["method", record.method + (" (privileged)" if record.privileged else "")],
        ["episode", record.episode],
        ["scene", record.scene],
        ["split", record.split],
        ["seed", str(record.seed)],
        ["VLM", str(story.vlm.get("name", "none"))],
        ["recogniser", str(record.recogniser)],
        ["camera", record.camera],
        ["simulator", f"{record.simulator}{drawn}"],
        ["found", f"{sum(record.found())} of {len(record.goals)}"],
        ["makespan", f"{max(record.path):.1f} m (oracle's d*: {record.makespan:.1f} m)"],
        ["SPL", f"{numbers['spl']:.3f}"],
        ["steps", f"{record.steps}, ended {record.ended}"],
    ]


def _counts(story: Story) -> dict[str, Any]:
    """The table of calls: `columns`, and `rows` of a level's name and its numbers (None: not counted)."""
    groups = {**{str(k): v for k, v in sorted(story.vlm.get("levels", {}).items())}, "all": story.vlm}
    columns = [name for name in COUNTS if any(_is_number(group.get(name)) for group in groups.values())]
    rows: Sequence[list[Any]] = [
        [level, *(group.get(name) if _is_number(group.get(name)) else None for name in columns)]
        for level, group in groups.items()
    ]
    return {"columns": columns, "rows": rows if columns else []}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _hex(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def _html(title: str, data: str) -> bytes:
    """The page: style, script and data stand in it, and its policy forbids all else. No "<" of the data is
    left, so that nothing in them can end the element that they stand in."""
    folder = files("eval") / "page"
    style, script = ((folder / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    policy = f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}"
    text = (folder / "page.html").read_text("utf-8")
    parts = {
        "title": html.escape(title),
        "policy": html.escape(policy),
        "style": style,
        "script": script,
        "data": data.replace("<", "\\u003c"),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part, 1)
    return text.encode()


def _digest(text: str) -> str:
    """How a page's policy names the one style or script that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
