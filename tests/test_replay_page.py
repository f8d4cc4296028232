"""The page about an episode: it needs nothing else, tells all that the record tells, refuses broken ones."""

from __future__ import annotations

import base64
import copy
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eval.replay import PageConfig, named, write_page
from eval.replay_page import board, moments, page
from eval.replay_pictures import PICTURE_SIDE, Album
from eval.replay_story import read_story
from hm3dm3_env.episodes.schema import EpisodeError
from hm3dm3_env.files import sha256
from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.render.playback import Replay
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from policies.frontier_policy import FrontierPolicy

HOSTILE = "</script><img src=x onerror=alert(1)><!-- \"quotes\" & 'more' {{data}} <!--script-->"
VIEW = Camera(36, 64)


@pytest.fixture(scope="module")
def plain(play_rooms: Callable[..., EpisodeRecord], rooms_episodes: list[Any]) -> EpisodeRecord:
    """An episode with an image goal, without a transcript."""
    index = next(i for i, e in enumerate(rooms_episodes) if any(g.image for g in e.goals))
    return play_rooms(FrontierPolicy(), index)


@pytest.fixture(scope="module")
def photo(plain: EpisodeRecord) -> int:
    """Number of the image goal."""
    return next(j for j, goal in enumerate(plain.goals) if goal["modality"] == "IIN")


def call(step: int, by: str, parts: list[Any], **change: Any) -> dict[str, Any]:
    """An entry of a transcript."""
    said = [{"role": "system", "parts": [0]}, {"role": "user", "parts": parts}]
    common = {"level": "walk.language", "unfit": [], "answer": {"go": "left"}, "error": None}
    return {"step": step, "by": by, "said": said, **common, **change}


@pytest.fixture(scope="module")
def told(plain: EpisodeRecord, photo: int) -> EpisodeRecord:
    """The same episode with calls, decisions and claims."""
    view = {"image": "robot_0 step 3"}
    transcript = [
        call(3, "robot_0", [1, view]),
        call(3, "robot_1", [2, view, {"image": f"goal {photo} | robot_1 step 3 box 2 2 20 30"}]),
        call(5, "team", [2, {"image": "map step 5"}], unfit=[{"text": HOSTILE, "reason": "no JSON"}]),
        call(7, "robot_1", [1], level="walk.vision", answer=None, error="VlmError: " + HOSTILE),
    ]
    vlm = {
        "name": "simulated", "calls": 4, "failed": 1, "tokens_in": 40, "tokens_out": 8,
        "levels": {"walk.language": {"calls": 3}, "walk.vision": {"calls": 1, "tokens_in": 7}},
        "texts": ["You lead a robot.", HOSTILE, "And now?"], "transcript": transcript,
    }  # fmt: skip
    decisions = [
        {"step": 4, "robot": 1, "action": "go_to", "goal": 0, "target": [0.5, -0.5], "until": 6},
        {"step": 9, "robot": 0, "action": "explore", "goal": None},
    ]
    claims = [
        {"step": 2, "robot": 0, "goal": 1}, {"step": 4, "robot": 1, "goal": 1},
        {"step": 6, "robot": 0, "goal": None},
    ]  # fmt: skip
    return replace(
        plain,
        declarations=[{"step": 8, "agent": 1, "goal": 1, "right": False, "distance": 2.5}],
        method_record={"vlm": vlm, "decisions": decisions, "claims": claims, "note": HOSTILE},
    )


@pytest.fixture(scope="module")
def shown(told: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> str:
    """Its page."""
    return page(Replay(told, data, rooms_sim), 10).decode()


def content(text: str) -> dict[str, Any]:
    """The data of a page, as a browser finds them."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', text, re.S)
    assert found
    return json.loads(found[1])


def pixels(uri: str) -> np.ndarray:
    """What a data URI shows."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGB"))


def test_needs_nothing_else(plain: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> None:
    text = page(Replay(plain, data, rooms_sim), 10).decode()
    assert "://" not in text and not re.search(r"""(src|href)\s*=\s*["']""", text)
    assert "@import" not in text and "url(" not in text and "innerHTML" not in text
    assert "default-src &#x27;none&#x27;" in text
    for kind in ("style", "script"):
        inner = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.S)
        assert inner is not None
        digest = base64.b64encode(bytes.fromhex(sha256(inner[1].encode()))).decode()
        assert f"{kind}-src &#x27;sha256-{digest}&#x27;" in text  # else the browser refuses it


def test_hostile_texts_stay_texts(shown: str) -> None:
    start = shown.index('id="data">') + len('id="data">')
    assert shown.count("</script") == 2 and "onerror" not in shown[:start]
    data = shown[start : shown.index("</script", start)]
    assert "<" not in data and "onerror" in data
    told = content(shown)
    assert told["texts"][1] == told["rest"]["note"] == HOSTILE
    assert told["calls"][2]["unfit"][0]["text"] == HOSTILE and told["calls"][3]["error"].endswith(HOSTILE)


def test_a_hostile_name(told: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> None:
    text = page(Replay(replace(told, method=HOSTILE), data, rooms_sim), 50).decode()
    assert text.count("</script") == 2 and content(text)["title"].startswith(HOSTILE)
    assert text.count("<title>") == text.count("</title>") == 1


def test_all_calls_are_told(shown: str, told: EpisodeRecord) -> None:
    made, kept = content(shown)["calls"], told.method_record["vlm"]["transcript"]
    assert [c["robot"] for c in made] == [0, 1, None, 1]
    for mine, his in zip(made, kept, strict=True):
        assert all(mine[key] == his[key] for key in ("step", "level", "unfit", "answer", "error"))
        for said, was in zip(mine["said"], his["said"], strict=True):
            refs = [p if isinstance(p, int) else p["ref"] for p in said["parts"]]
            assert said["role"] == was["role"]
            assert refs == [p if isinstance(p, int) else p["image"] for p in was["parts"]]
    counts = content(shown)["counts"]
    assert counts["columns"] == ["calls", "failed", "tokens_in", "tokens_out"]
    assert counts["rows"] == [
        ["walk.language", 3, None, None, None], ["walk.vision", 1, None, 7, None], ["all", 4, 1, 40, 8],
    ]  # fmt: skip


def test_pictures_are_made_again_and_kept_once(
    shown: str, told: EpisodeRecord, photo: int, data: Path, rooms_sim: EmbeddedSimulator
) -> None:
    made = content(shown)
    first, second, third = (c["said"][1]["parts"] for c in made["calls"][:3])
    assert first[1]["image"] == second[1]["image"]  # the same picture twice
    moment = next(m for m in made["moments"] if m["step"] == 3)
    assert moment["views"][0]["image"] == first[1]["image"]  # and it is what the robot saw then
    assert len(set(made["images"])) == len(made["images"])
    want = Replay(told, data, rooms_sim).frames(3, VIEW, [0])[0].rgb
    got = pixels(made["images"][first[1]["image"]])
    assert got.shape == want.shape and np.abs(got.astype(int) - want).mean() < 6
    boxed = pixels(made["images"][second[2]["image"]])
    assert boxed.shape == (64, 64 + 8 + 36, 3)
    assert third[1]["image"] is None and "cannot bring it back" in third[1]["note"]
    assert made["goals"][photo]["photo"] is not None
    assert [g["photo"] is None for g in made["goals"]] == [g["modality"] != "IIN" for g in told.goals]


def test_says_whether_pixels_are_those_that_were_sent(
    told: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator
) -> None:
    replayed = Replay(told, data, rooms_sim)
    digest = sha256(replayed.frames(3, VIEW, [0])[0].rgb.tobytes())[:16]
    ref = {"image": "robot_0 step 3", "size": [36, 64]}
    parts = [{**ref, "sha256": digest}, {**ref, "sha256": "0" * 16}, {**ref, "size": [72, 128]}]
    vlm = {**told.method_record["vlm"], "transcript": [call(3, "robot_0", parts)]}
    text = page(Replay(replace(told, method_record={"vlm": vlm}), data, rooms_sim), 50).decode()
    notes = [part["note"] for part in content(text)["calls"][0]["said"][1]["parts"]]
    assert "very pixels" in notes[0] and "rounded poses" in notes[1] and "72 x 128" in notes[2]


def test_moments(told: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> None:
    replayed, story = Replay(told, data, rooms_sim), read_story(told)
    steps = moments(replayed, story, 10**6)
    assert {0, 2, 3, 4, 5, 6, 7, 8, 9, told.steps} == set(steps) and steps == sorted(steps)
    closer = moments(replayed, story, 1)
    moving = {s for s in range(told.steps + 1) if replayed.moved(s)}
    assert set(closer) == set(steps) | moving


def test_board(told: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> None:
    replayed, story = Replay(told, data, rooms_sim), read_story(told)
    rows = {step: board(replayed, story, step)[1] for step in (1, 2, 5, 6, 8)}
    assert rows[1] == {"state": "looking", "words": "unresolved"}
    assert rows[2]["words"] == "claimed by R0 (since step 2)"
    assert rows[5]["words"] == "claimed by R0 (since step 2) and R1 (since step 4)"
    assert rows[6]["words"] == "claimed by R1 (since step 4)"
    assert rows[8] == {"state": "wrong", "words": "wrong (2.5 m off), declared by R1 at step 8"}
    assert story.current(3, told.agents)[1] is None and story.current(6, told.agents)[1] == 0
    assert story.current(7, told.agents)[1] is None and story.current(told.steps, told.agents)[0] == 1


def test_assignments_are_claims_too(plain: EpisodeRecord) -> None:
    log = [{"step": 1, "event": "idle", "goals": [0, None]}, {"step": 4, "event": "idle", "goals": [0, 1]}]
    story = read_story(replace(plain, method_record={"assignments": log}))
    assert story.claimed(0, 2) == [(None, 0)] * 2 and story.claimed(4, 2) == [(0, 1), (1, 4)]


def test_record_without_a_transcript(plain: EpisodeRecord, data: Path, rooms_sim: EmbeddedSimulator) -> None:
    vlm = {"name": "old", "calls": 3, "failed": 0, "tokens_in": 1, "tokens_out": 2}
    for remembered in ({}, {"vlm": vlm}, {"decisions": {"count": 3}, "claims": [1, 2]}):
        record = replace(plain, method_record=remembered)
        made = content(page(Replay(record, data, rooms_sim), 20).decode())
        assert made["calls"] == [] and made["moments"][-1]["step"] == record.steps
        assert made["rest"] == {k: v for k, v in remembered.items() if k != "vlm"}  # odd things are quoted
        assert len(made["moments"][0]["views"]) == record.agents
        drawn = pixels(made["images"][made["moments"][-1]["map"]])
        assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 5


BROKEN: list[tuple[tuple[Any, ...], Any, str]] = [
    (("vlm",), 3, r"method_record\.vlm: 3"),
    (("vlm", "texts"), [1], r"method_record\.vlm\.texts\[0\]"),
    (("vlm", "transcript"), {}, r"method_record\.vlm\.transcript: "),
    (("vlm", "transcript", 1, "step"), 9999, r"transcript\[1\]\.step: no step 9999"),
    (("vlm", "transcript", 1, "by"), "robot_9", r"transcript\[1\]\.by: no robot 9"),
    (("vlm", "transcript", 1, "by"), "nobody", r"transcript\[1\]\.by: 'nobody'"),
    (("vlm", "transcript", 0, "answer"), "left", r"transcript\[0\]\.answer: 'left'"),
    (("vlm", "transcript", 0, "said", 1, "parts", 0), 3, r"\.said\[1\]\.parts\[0\]: no text 3"),
    (("vlm", "transcript", 0, "said", 1, "parts", 1), {"image": "robot_9 step 1"}, "'robot_9 step 1'"),
    (("vlm", "transcript", 0, "said", 1, "parts", 1), {"image": "goal 77"}, "no such image goal"),
    (("claims", 0, "goal"), 9, r"method_record\.claims\[0\]\.goal: no goal 9"),
    (("claims", 0, "robot"), None, r"method_record\.claims\[0\]\.robot: no robot None"),
    (("decisions", 0, "step"), -1, r"method_record\.decisions\[0\]\.step: no step -1"),
    (("assignments",), [{"step": 0, "goals": "all"}], r"method_record\.assignments\[0\]\.goals"),
    (("note",), float("nan"), "NaN"),
]


@pytest.mark.parametrize(("where", "value", "message"), BROKEN, ids=[str(i) for i in range(len(BROKEN))])
def test_broken_records(
    told: EpisodeRecord, data: Path, tmp_path: Path, where: tuple[Any, ...], value: Any, message: str
) -> None:
    remembered = copy.deepcopy(told.method_record)
    inner: Any = remembered
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    text = json.dumps({**vars(told), "method_record": remembered})
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(RecordError, match=message) as caught:
        write_page(PageConfig(str(tmp_path / "e.json"), str(data), str(tmp_path / "out")))
    assert "e.json: " in str(caught.value) and not (tmp_path / "out").exists()


def test_a_call_without_a_field(told: EpisodeRecord) -> None:
    remembered = copy.deepcopy(told.method_record)
    del remembered["vlm"]["transcript"][2]["level"]
    with pytest.raises(RecordError, match=r"transcript\[2\]: lacks 'level'"):
        read_story(replace(told, method_record=remembered))


def test_same_bytes_and_one_file(told: EpisodeRecord, shown: str, data: Path, tmp_path: Path) -> None:
    told.save(tmp_path / "e.json")
    path = write_page(PageConfig(str(tmp_path / "e.json"), str(data), str(tmp_path / "out")))
    assert path.read_bytes() == shown.encode()
    assert [p.name for p in path.parent.iterdir()] == [f"test-{told.episode}.html"]
    with pytest.raises(EpisodeError):
        write_page(PageConfig(str(tmp_path / "e.json"), str(tmp_path), str(tmp_path / "out")))


def test_album_shrinks() -> None:
    album = Album()
    wide = np.random.default_rng(0).integers(0, 255, (300, 900, 3), np.uint8)
    number = album.photo(wide, PICTURE_SIDE)
    assert album.photo(wide, PICTURE_SIDE) == number and len(album.uris) == 1
    assert pixels(album.uris[number]).shape[1] == PICTURE_SIDE


def test_named(tmp_path: Path) -> None:
    odd = tmp_path / "a=b's.json"
    odd.write_text("{}")
    assert named(["a/e.json", "data=d"]) == ["record='a/e.json'", "data=d"]
    assert named([str(odd)]) == [f"record='{tmp_path}/a=b\\'s.json'"]
    assert named(["--config-name", "mine", "--help"]) == ["--config-name", "mine", "--help"]
    with pytest.raises(ValueError, match="one record at a time"):
        named(["a.json", "b.json"])
    with pytest.raises(ValueError, match="every must be at least 1"):
        PageConfig(every=0)


def test_command_line(told: EpisodeRecord, data: Path, tmp_path: Path) -> None:
    told.save(tmp_path / "it's.json")
    command = [sys.executable, "-m", "eval.replay", f"data={data}", f"out={tmp_path / 'out'}", "every=50"]
    done = subprocess.run([*command, str(tmp_path / "it's.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_bytes().startswith(b"<!DOCTYPE html>")
    failed = subprocess.run([*command, str(tmp_path / "none.json")], capture_output=True, text=True)
    assert failed.returncode == 2 and "none.json: no such record" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_script_has_no_syntax_error() -> None:
    script = Path(__file__).parents[1] / "eval" / "page" / "page.js"
    done = subprocess.run(["node", "--check", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
