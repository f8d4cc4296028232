"""Descriptions rewritten by a language model: a real server on loopback plays the model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hm3dm3_env.episodes import rephrase as module
from hm3dm3_env.episodes.audit.run import AuditConfig, find
from hm3dm3_env.episodes.pointnav import export_split
from hm3dm3_env.episodes.rephrase import RephraseConfig, rephrase
from hm3dm3_env.episodes.schema import EpisodeError, load_split, read_header, read_json
from hm3dm3_env.files import gzip_json_bytes
from hm3dm3_env.vlm.config import VlmConfig, VlmError
from tests.processes import files_below
from tests.vlm_server import Json, Reply, VlmServer, refuse


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def root(data: Path, tmp_path: Path) -> Path:
    """The split "rooms", to be rewritten; scenes are not copied."""
    shutil.copytree(data / "episodes", tmp_path / "episodes")
    (tmp_path / "scenes").symlink_to(data / "scenes")
    return tmp_path


def facts(request: Json) -> list[str]:
    """The facts of a request as phrases: "it is next to sofa" -> "next to a sofa"."""
    listed = request["messages"][1]["content"].split("Facts:\n")[1].splitlines()
    said = []
    for line in (entry.removeprefix("- ") for entry in listed):
        start, _, value = line.partition(": ")
        for words, form in (
            ("it is next to ", "next to a {}"),
            ("it is on ", "on a {}"),
            ("it is in ", "in the {}"),
        ):
            if line.startswith(words):
                said.append(form.format(line.removeprefix(words)))
        if line.startswith("of its kind it is the "):
            said.append(line.removeprefix("of its kind it is the "))
        if start in ("category", "colour", "material"):
            said.append(value)
    return said


def honest(request: Json, number: int) -> Reply:
    """Says all facts in a row."""
    said = facts(request)
    return Reply(json.dumps({"text": f"Could somebody see {', '.join(said[1:])}: the {said[0]}?"}))


def run(root: Path, server: VlmServer, **changes: Any) -> Path:
    vlm = VlmConfig(server.url, "tiny", retries=1, timeout=20.0)
    return rephrase(
        RephraseConfig(**{"split": "rooms", "data": str(root), "vlm": vlm, "parallel": 2, **changes})
    )


def described(root: Path, split: str) -> list[Any]:
    return [goal for e in load_split(root, split) for goal in e.goals if goal.modality == "TN"]


def files(root: Path) -> dict[str, bytes]:
    return files_below(root / "episodes" / "rooms_rephrased")


def test_good_texts_are_taken(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with VlmServer(honest) as server:
        path = run(root, server)
    old, new = described(root, "rooms"), described(root, "rooms_rephrased")
    assert len(server.requests) == len(old) == len(new) >= 9
    for before, after in zip(old, new):
        assert after.text.startswith("Could somebody see ") and after.predicates == before.predicates
        assert after.object_id == before.object_id and after.acceptable == before.acceptable
    assert [g.text for e in load_split(root, "rooms") for g in e.goals if g.modality != "TN"] == [
        g.text for e in load_split(root, "rooms_rephrased") for g in e.goals if g.modality != "TN"
    ]
    raw = read_json(next((path.parent / "content").iterdir()))
    kept = [g["template_text"] for e in raw["episodes"] for g in e["goals"] if "template_text" in g]
    assert kept == [goal.text for goal in old]
    about = read_header(root, "rooms_rephrased")["rephrased"]
    assert about["split"] == "rooms" and about["rewritten"] == len(old) and about["kept"] == 0
    assert about["vlm"]["model"] == "tiny" and "127.0.0.1" not in json.dumps(about)
    printed = capsys.readouterr().out
    assert f"{len(old)} descriptions rewritten, 0 kept" in printed and f"{len(old)} requests" in printed
    config = AuditConfig(split="rooms_rephrased", data=str(root), sample=0, workers=1, viewpoints=1)
    assert find(config)[2] == []


def test_the_audit_reads_them_too(root: Path) -> None:
    with VlmServer(honest) as server:
        path = next((run(root, server).parent / "content").iterdir())
    value = read_json(path)
    goal = next(g for e in value["episodes"] for g in e["goals"] if "template_text" in g)
    goal["text"] = goal["text"].replace("the ", "the purple ", 1)
    path.write_bytes(gzip_json_bytes(value))
    config = AuditConfig(split="rooms_rephrased", data=str(root), sample=0, workers=1, viewpoints=1)
    found = find(config)[2]
    assert [v.kind for v in found] == ["description"] and "mentions 'purple'" in found[0].text


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda said: said[:1] + said[2:], "leaves out"),
        (lambda said: [*said, "near a grand piano in the garage"], "garage"),
        (lambda said: [*said, "on the left"], "mentions 'left'"),
        (lambda said: [*said, "not purple"], "'not', 'purple'"),
        (lambda said: ["please"] * 20 + said[1:] + said[:1], "more than 128"),
    ],
)
def test_texts_that_say_something_else_are_refused(root: Path, spoil: Callable, reason: str) -> None:
    def wrong(request: Json, number: int) -> Reply:
        said = spoil(facts(request))
        return Reply(json.dumps({"text": f"The {' '.join(said[1:])} {said[0]}."}))

    with VlmServer(wrong) as server:
        run(root, server)
    old = described(root, "rooms")
    assert [g.text for g in described(root, "rooms_rephrased")] == [g.text for g in old]
    about = read_header(root, "rooms_rephrased")["rephrased"]
    assert (about["rewritten"], about["kept"], about["refused"]) == (0, len(old), 2 * len(old))
    assert len(server.requests) == 2 * len(old)
    again = [r["messages"] for r in server.requests if len(r["messages"]) == 4]
    assert len(again) == len(old) and all("refused" in chat[3]["content"] for chat in again)
    assert any(reason in chat[3]["content"] for chat in again)


def test_a_second_text_can_be_good(root: Path) -> None:
    def learns(request: Json, number: int) -> Reply:
        return honest(request, number) if len(request["messages"]) == 4 else Reply('{"text": "A chair."}')

    with VlmServer(learns) as server:
        run(root, server)
    about = read_header(root, "rooms_rephrased")["rephrased"]
    assert about["kept"] == 0 and about["rewritten"] == about["refused"] == len(described(root, "rooms"))


def test_the_same_text_is_no_new_one(root: Path) -> None:
    def parrot(request: Json, number: int) -> Reply:
        text = request["messages"][1]["content"].split("\n")[0].removeprefix("Description: ")
        return Reply(json.dumps({"text": text}))

    with VlmServer(parrot) as server:
        run(root, server)
    assert read_header(root, "rooms_rephrased")["rephrased"]["rewritten"] == 0


def test_answers_without_json_leave_the_old_text(root: Path) -> None:
    with VlmServer(lambda request, number: Reply("I would rather not.")) as server:
        run(root, server)
    old = described(root, "rooms")
    assert [g.text for g in described(root, "rooms_rephrased")] == [g.text for g in old]
    assert len(server.requests) == 2 * len(old)


def test_the_same_answers_give_the_same_bytes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(root / "episodes", other / "episodes")
    (other / "scenes").symlink_to(root / "scenes")
    with VlmServer(honest) as server:
        run(root, server, parallel=1)
    with VlmServer(honest) as server:
        run(other, server, parallel=5)
    assert files(root) == files(other) and len(files(root)) == 2


@pytest.fixture
def two_scenes(root: Path, data: Path) -> Path:
    """The split over two scenes, the second a copy of the first under another name."""
    (root / "scenes").unlink()
    shutil.copytree(data / "scenes", root / "scenes")
    header, content = read_header(root, "rooms"), root / "episodes" / "rooms" / "content"
    first, second = header["scenes"][0], "t00001-" + header["scenes"][0].split("-")[1]
    shutil.copytree(root / "scenes" / "rooms" / first, root / "scenes" / "rooms" / second)
    value = read_json(content / f"{first}.json.gz")
    for episode in value["episodes"]:
        episode |= {"episode_id": episode["episode_id"] + "b", "index": episode["index"] + 100}
    (content / f"{second}.json.gz").write_bytes(gzip_json_bytes({**value, "scene": second}))
    header["scenes"].append(second)
    (root / "episodes" / "rooms" / "rooms.json.gz").write_bytes(gzip_json_bytes(header))
    return root


def test_it_goes_on_where_it_was_stopped(two_scenes: Path) -> None:
    """The server fails in the second scene; the first is not asked for again, unless something changed."""
    root, half = two_scenes, len(described(two_scenes, "rooms")) // 2
    with VlmServer(honest) as server:
        run(root, server)
    expected = files(root)
    shutil.rmtree(root / "episodes" / "rooms_rephrased")
    with VlmServer(lambda request, n: honest(request, n) if n < half else refuse(400)) as server:
        with pytest.raises(VlmError, match="status 400"):
            run(root, server, parallel=1)
    assert len(files(root)) == 1
    with VlmServer(honest) as server:
        run(root, server)
        assert len(server.requests) == half and files(root) == expected
        run(root, server)
        assert len(server.requests) == half and files(root) == expected
        rephrase(RephraseConfig("rooms", data=str(root), vlm=VlmConfig(server.url, "other")))
        assert len(server.requests) == 3 * half
        path = sorted((root / "episodes" / "rooms" / "content").iterdir())[0]
        value = read_json(path)
        value["dropped"] = ["something"]
        path.write_bytes(gzip_json_bytes(value))
        rephrase(RephraseConfig("rooms", data=str(root), vlm=VlmConfig(server.url, "other")))
        assert len(server.requests) == 4 * half
    header = read_header(root, "rooms")
    header["scenes"].pop()
    (root / "episodes" / "rooms" / "rooms.json.gz").write_bytes(gzip_json_bytes(header))
    with VlmServer(honest) as server:
        rephrase(RephraseConfig("rooms", data=str(root), vlm=VlmConfig(server.url, "other")))
    assert len(server.requests) == 0 and len(files(root)) == 2


def test_texts_of_other_data_sets_are_left_alone(root: Path) -> None:
    path = next((root / "episodes" / "rooms" / "content").iterdir())
    value = read_json(path)
    for goal in (goal for episode in value["episodes"] for goal in episode["goals"]):
        goal.pop("predicates", None)
    path.write_bytes(gzip_json_bytes(value))
    with VlmServer(honest) as server:
        run(root, server)
    about = read_header(root, "rooms_rephrased")["rephrased"]
    assert not server.requests and about["without predicates"] == len(described(root, "rooms"))


def test_the_command(root: Path) -> None:
    """As people start it: bad settings end in one line."""
    with VlmServer(honest) as server:
        for extra, code in (([f"vlm.base_url={server.url}", "vlm.model=tiny"], 0), (["vlm.model=tiny"], 2)):
            done = subprocess.run(
                [sys.executable, "-m", module.__name__, "split=rooms", f"data={root}", "out=again", *extra],
                capture_output=True,
                text=True,
                cwd=Path(__file__).parents[1],
            )
            assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: vlm.base_url is not set; give, for example")
    assert len(described(root, "again")) == len(server.requests)


def test_other_splits_are_not_written_over(root: Path) -> None:
    with VlmServer(honest) as server:
        run(root, server, out="first")
        shutil.copytree(root / "episodes" / "rooms", root / "episodes" / "kept")
        (root / "episodes" / "kept" / "rooms.json.gz").rename(root / "episodes" / "kept" / "kept.json.gz")
        before = files_below(root / "episodes" / "kept")
        with pytest.raises(EpisodeError, match=r"kept\.json\.gz: rephrased: missing.*another out="):
            run(root, server, out="kept")
        assert files_below(root / "episodes" / "kept") == before
        run(root, server, out="first")  # one of its own may be made again


def test_a_split_without_episodes(root: Path) -> None:
    folder = root / "episodes" / "rooms"
    for path in (folder / "content").iterdir():
        path.write_bytes(gzip_json_bytes({**read_json(path), "episodes": []}))
    with VlmServer(honest) as server, pytest.raises(EpisodeError, match=r"rooms\.json\.gz: no episodes"):
        run(root, server)
    with pytest.raises(EpisodeError, match=r"rooms\.json\.gz: no episodes"):
        export_split(root, "rooms", root / "out.json.gz")
    assert [v.text for v in find(AuditConfig("rooms", str(root), sample=0, workers=1))[2]] == [
        "the split has no episodes"
    ]


def test_a_damaged_mark_is_as_good_as_none(root: Path) -> None:
    with VlmServer(honest) as server:
        run(root, server)
        first = files(root)
        for path in (root / "episodes" / "rooms_rephrased" / "content").iterdir():
            path.write_bytes(gzip_json_bytes({**read_json(path), "rephrased": 3}))
        run(root, server)
    assert files(root) == first


def test_errors_of_the_endpoint_and_of_files(root: Path) -> None:
    with VlmServer(lambda request, number: refuse(401, "bad key")) as server:
        with pytest.raises(VlmError, match="status 401: 'bad key'"):
            run(root, server)
        assert not (root / "episodes" / "rooms_rephrased" / "rooms_rephrased.json.gz").exists()
        with pytest.raises(EpisodeError, match="no such file"):
            run(root, server, split="none")
        for out in ("../up", "a/b", ".hidden", "a\\b"):
            with pytest.raises(EpisodeError, match=r"out=.*must be a split's name"):
                run(root, server, out=out)
    for changes, wrong in (
        ({"parallel": 0}, "at least 1"),
        ({"out": "rooms"}, "must not be the split itself"),
    ):
        with pytest.raises(ValueError, match=wrong):
            RephraseConfig(split="rooms", **changes)
    with pytest.raises(VlmError, match="vlm.base_url is not set"):
        rephrase(RephraseConfig(split="rooms", data=str(root)))
