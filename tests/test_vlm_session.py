"""What an episode asks of a VLM: several models, replay from records, the server of its own, and runs of the
benchmark with all that."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.benchmark import BenchmarkConfig, evaluate
from hm3dm3_env.cli import build
from hm3dm3_env.record import EpisodeRecord, load_record
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.vlm.config import VlmError
from hm3dm3_env.vlm.recorded import ReplayError
from hm3dm3_env.vlm.session import EpisodeVlm, Question, Said, VlmChoice
from policies.base import make_policy
from policies.vlm_server import VlmServerConfig, serve
from tests.vlm_server import Reply, VlmServer

Play = Callable[..., EpisodeRecord]
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
NOISE = {"wrong_direction": 0.3, "malformed": 0.3, "refused": 0.2, "retry_after": 0.001}
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def question(level: str, text: str = "How many?") -> Question:
    return Question(level, "team", 3, (Said("user", (text,)),), SCHEMA)


# -- models by level ---------------------------------------------------------------------------------------


def test_levels_can_go_to_other_models() -> None:
    with VlmServer(lambda request, number: Reply('{"n": 4}')) as server:
        own = {"a.small": {"model": "tiny", "max_tokens": 9, "price_in": 1.0}}
        vlm = EpisodeVlm(build(VlmChoice, base_url=server.url, model="large", levels=own))
        vlm.begin("val-00000", 0, {}, None)
        assert vlm.ask([question("a.big"), question("a.small"), question("a.big")]) == [{"n": 4}] * 3
    sent = sorted((r["model"], r["max_tokens"]) for r in server.requests)
    assert sent == [("large", 1024), ("large", 1024), ("tiny", 9)]
    used = vlm.record()
    assert used["name"] == "large" and used["levels"]["a.small"]["cost"] == pytest.approx(100 / 1e6)
    assert (used["levels"]["a.big"]["calls"], used["levels"]["a.big"]["cost"], used["calls"]) == (2, 0, 3)


def test_settings_of_levels() -> None:
    for levels, words in (
        ({"a.b": {"retries": 3}}, "vlm.levels: a.b: retries is nothing that a level can have of its own"),
        ({"a.b": "tiny"}, "vlm.levels: a.b: 'tiny' is nothing"),
        ({"": {"model": "tiny"}}, "vlm.levels: a level needs a name"),
    ):
        with pytest.raises(ValueError, match=words):
            build(VlmChoice, base_url="http://127.0.0.1:1/v1", model="m", levels=levels)
    with pytest.raises(ValueError, match="vlm.levels: the simulated model is one;"):
        build(VlmChoice, levels={"a.b": {"model": "tiny"}})
    for own in ({"temperature": -1}, {"temperature": "hot"}, {"max_tokens": 1.5}, {"extra": "x"}):
        config = build(VlmChoice, base_url="http://127.0.0.1:1/v1", model="m", levels={"a.b": own})
        with pytest.raises(ValueError, match="vlm.levels: a.b: .*"):
            EpisodeVlm(config)


# -- replay ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(play_rooms: Play, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record of a noisy episode of LaViRA-M3, in which some questions got no answer."""
    folder = tmp_path_factory.mktemp("recorded")
    vlm = build(VlmChoice, simulated=NOISE, retries=1, answers=1, give_up=0)
    record = play_rooms(make_policy("lavira_m3"), 3, vlm=vlm)
    used = record.method_record["vlm"]
    assert 0 < used["failed"] < used["calls"] and used["refused"] and used["fallbacks"]
    record.save(folder / f"{record.episode}.json")
    return folder


def only(folder: Path) -> Path:
    (file,) = folder.glob("rooms-*.json")
    return file


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_an_episode_replays_to_the_same_bytes(whole: bool, recorded: Path, play_rooms: Play) -> None:
    path = recorded if whole else only(recorded)
    again = play_rooms(make_policy("lavira_m3"), 3, vlm=VlmChoice(kind="replay", replay=str(path)))
    assert again.to_bytes() == only(recorded).read_bytes()


def changed(recorded: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> VlmChoice:
    value = json.loads(only(recorded).read_text())
    change(value["method_record"]["vlm"])
    (folder / only(recorded).name).write_text(json.dumps(value))
    return VlmChoice(kind="replay", replay=str(folder))


def picture(vlm: dict[str, Any]) -> None:
    parts = vlm["transcript"][0]["said"][1]["parts"]
    next(part for part in parts if isinstance(part, dict))["image"] = "elsewhere"


def answered(vlm: dict[str, Any]) -> dict[str, Any]:
    """The first call of the language level that was answered."""
    calls = (c for c in vlm["transcript"] if c["level"] == "lavira_m3.language" and c["answer"])
    return next(calls)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda vlm: vlm["transcript"].pop(), "call .* there is none, and now robot_"),
        (
            lambda vlm: vlm["transcript"].append(vlm["transcript"][0]),
            "1 calls of the transcript were not asked",
        ),
        (
            lambda vlm: vlm["transcript"][1].update(by="robot_7"),
            "call 1 .*by was 'robot_7', and is 'robot_1'",
        ),
        (lambda vlm: vlm["texts"].__setitem__(1, "?"), "call 0 .*robot_0 is told 'You .* in place of '.'"),
        (picture, "call 0 .*robot_0 is told another picture: .*'robot_0 step 0'.* in place of .*'elsewhere'"),
        (
            lambda vlm: vlm["transcript"][0]["said"][1]["parts"].pop(),
            r"told \d+ texts and pictures in place of",
        ),
        (
            lambda vlm: vlm["transcript"][0]["said"][0].update(parts=[10**6]),
            "call 0 .*a text that it names is not in texts",
        ),
        (lambda vlm: vlm.pop("transcript"), "has no transcript"),
        (lambda vlm: vlm.update(transcript=[5]), r"vlm\.transcript\[0\]: 5 does not fit type"),
        (lambda vlm: vlm.update(texts=[5]), r"vlm\.texts\[0\]: 5 does not fit type"),
        (lambda vlm: vlm["transcript"][2].update(unfit=5), r"transcript\[2\]\.unfit: 5 does not fit type"),
        (lambda vlm: vlm["transcript"][0].update(error=7), r"transcript\[0\]\.error: 7 does not fit type"),
        (lambda vlm: vlm["transcript"][0].update(answer=[1]), r"\[0\]\.answer: \[1\] does not fit type"),
        (lambda vlm: vlm["transcript"][0].pop("said"), r"transcript\[0\]: lacks 'said'"),
        (lambda vlm: answered(vlm).update(answer={}), "call .*: answer.: lacks .*; it is damaged"),
        (lambda vlm: answered(vlm).update(error="VlmError: no"), "it has an answer and an error"),
        (
            lambda vlm: answered(vlm)["answer"].update(action="fly"),
            r"call .*: answer.action: 'fly' does not fit enum",
        ),
    ],
)
def test_what_does_not_fit_its_record(
    change: Any, words: str, recorded: Path, tmp_path: Path, play_rooms: Play
) -> None:
    with pytest.raises(ReplayError, match=words):
        play_rooms(make_policy("lavira_m3"), 3, vlm=changed(recorded, tmp_path, change))


def test_other_settings_do_not_replay(recorded: Path, play_rooms: Play) -> None:
    choice = VlmChoice(kind="replay", replay=str(recorded))
    with pytest.raises(ReplayError, match="other settings"):
        play_rooms(make_policy("lavira_m3", {"progress": False}), 3, vlm=choice)
    with pytest.raises(ReplayError, match="no record of episode rooms-.* to replay"):
        play_rooms(make_policy("lavira_m3"), 2, vlm=choice)
    for kind, path in (("replay", ""), ("auto", "somewhere")):
        with pytest.raises(ValueError, match="vlm.kind=replay and vlm.replay"):
            VlmChoice(kind=kind, replay=path)
    with pytest.raises(ReplayError, match="nowhere is not there"):
        EpisodeVlm(VlmChoice(kind="replay", replay="nowhere"))


# -- the benchmark -----------------------------------------------------------------------------------------


def run(data: Path, out: Path, **config: Any) -> dict[str, Any]:
    usual = {"split": "rooms", "data": str(data), "camera": Camera(36, 64), "pictures": 0, "workers": 1}
    return evaluate(BenchmarkConfig(**{**usual, "limit": 1, "out": str(out), **config}))


def test_variants_have_cameras_and_models_of_their_own(data: Path, tmp_path: Path) -> None:
    method, wide = ["narrow", "wide", "frontier"], {"width": 48, "height": 36, "hfov_deg": 79.0}
    variants = {
        "narrow": {"policy": "lavira_m3"},
        "wide": {"policy": "lavira_m3", "camera": wide, "vlm": {"simulated": {"wrong_identity": 1.0}}},
    }
    summary = run(data, tmp_path, method=method, variants=variants)
    assert [summary[name]["camera"] for name in method] == ["36x64@42", "48x36@79", "36x64@42"]
    settings = {
        name: json.loads((tmp_path / "records" / name / "settings.json").read_text()) for name in method
    }
    assert settings["wide"]["camera"]["hfov_deg"] == 79.0 and settings["narrow"]["camera"]["hfov_deg"] == 42.0
    assert settings["wide"]["vlm"]["simulated"]["wrong_identity"] == 1.0 and "vlm" not in settings["frontier"]
    table = (tmp_path / "table.txt").read_text()
    assert "48x36@79" in table and "VLM simulated" in table and "VLM by level of questions" in table
    costs = json.loads((tmp_path / "costs.json").read_text())["methods"]
    levels = costs["narrow"]["levels"]
    assert {"lavira_m3.language", "lavira_m3.vision"} <= set(levels) and not costs["frontier"]["levels"]
    assert sum(use["calls"] for use in levels.values()) == costs["narrow"]["vlm_calls"]
    assert all(use["seconds"] > 0 and use["tokens_in"] > 0 for use in levels.values())
    with pytest.raises(ValueError, match="variants.narrow.camera: .*hfov"):
        run(
            data,
            tmp_path / "b",
            method="narrow",
            variants={"narrow": {**variants["narrow"], "camera": {"hfov_deg": 0}}},
        )
    with pytest.raises(ValueError, match="variants.narrow.vlm are settings"):
        run(data, tmp_path / "b", method="narrow", variants={"narrow": {**variants["narrow"], "vlm": "gpt"}})


def test_a_run_needs_an_endpoint_that_can_be_one(data: Path, tmp_path: Path) -> None:
    with pytest.raises(VlmError, match="vlm.model is not set"):
        run(data, tmp_path, method="lavira_m3", vlm=VlmChoice(base_url="http://127.0.0.1:1/v1"))
    assert not (tmp_path / "records").exists()
    choice = VlmChoice(base_url="http://127.0.0.1:1/v1", model="m")
    assert run(data, tmp_path, method="frontier", vlm=choice)  # asks none
    levels = {"lavira_m3.visoin": {"model": "small"}}
    with pytest.raises(ValueError, match="no method here asks questions 'lavira_m3.visoin'; they"):
        run(data, tmp_path, method="lavira_m3", vlm=replace(choice, levels=levels))


@pytest.fixture
def served(data: Path) -> Iterator[str]:
    """The simulated VLM in a process of its own: its base URL."""
    command = [sys.executable, "-m", "policies.vlm_server", f"data={data}", "split=rooms", "port=0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("vlm.base_url=http://127.0.0.1:") and line.endswith(
                "/v1 vlm.model=simulated\n"
            )
            yield line.split()[0].partition("=")[2]
        finally:
            server.terminate()


def test_a_port_that_is_taken(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port: 127.0.0.1:{port} cannot be served .*; give another"):
            serve(VlmServerConfig(data=str(data), split="rooms", port=port))


def test_two_values_are_enough(data: Path, tmp_path: Path, served: str) -> None:
    """A run against a server that knows the scenes itself; and it replays without the server."""
    two = VlmChoice(base_url=served, model="simulated")
    run(data, tmp_path / "a", method=["lavira_m3", "co_navgpt2"], vlm=two, limit=2, workers=2)
    files = sorted((tmp_path / "a" / "records").glob("*/rooms-*.json"))
    assert len(files) == 4
    for file in files:
        used = load_record(file).method_record["vlm"]
        assert used["name"] == "simulated" and used["calls"] > used["failed"] == 0
    replay = VlmChoice(kind="replay", replay=str(tmp_path / "a" / "records" / "lavira_m3"))
    run(data, tmp_path / "b", method="lavira_m3", vlm=replay, limit=2)
    for file in sorted((tmp_path / "a" / "records" / "lavira_m3").glob("rooms-*.json")):
        assert (tmp_path / "b" / "records" / "lavira_m3" / file.name).read_bytes() == file.read_bytes()
    vlm = EpisodeVlm(two)
    vlm.begin("val-99999", 0, {}, None)
    (said,) = vlm.ask([question("lavira_m3.vision")])
    assert isinstance(said, VlmError) and "no episode 'val-99999' in split 'rooms' here" in str(said)
