"""Co-NavGPT2: what its VLM is told, what its simulated one says, and whole episodes with endpoints that work,
fail, and talk nonsense."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.benchmark import BenchmarkConfig, evaluate
from hm3dm3_env.cli import build
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED, MapConfig, SharedMap
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.render.panels import INK, MapView, agent_color, goal_color
from hm3dm3_env.shared import SharedState, TeamGoal
from hm3dm3_env.sim.base import Body, Camera
from hm3dm3_env.vlm.client import Vlm, message
from hm3dm3_env.vlm.config import VlmError
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import EpisodeVlm, Said, VlmChoice
from hm3dm3_env.vlm.simulated import Heard, SimulatedEndpoint, SimulatedVlmConfig, images, texts
from hm3dm3_env.vlm.text import fitting
from policies import rollout
from policies.base import make_policy
from policies.co_navgpt2 import picture, prompt
from policies.co_navgpt2.answer import answer
from policies.co_navgpt2.policy import CoNavGpt2Policy
from policies.co_navgpt2.prompt import LEVEL, Assignment, Seen
from policies.crew import Crew
from policies.eyes import EyesConfig, make_eyes

Play = Callable[..., EpisodeRecord]
CLEAN = {"wrong_direction": 0.0, "malformed": 0.0}
PICTURE = Picture(np.zeros((300, 300, 3), np.uint8), "map step 40")
PHOTO = np.full((32, 32, 3), 90, np.uint8)


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def make(**config: Any) -> Any:
    """The policy."""
    return make_policy("co_navgpt2", config)


def model(noise: Mapping[str, Any] | None = None, **settings: Any) -> VlmChoice:
    """A simulated VLM that fails as `noise` says (default: never)."""
    return build(VlmChoice, **{"simulated": {**CLEAN, **(noise or {})}, "give_up": 0, **settings})


def heard(chat: tuple[Said, ...], wrong: float = 0.0) -> Heard:
    """What the simulated VLM gets of a chat."""
    noise = SimulatedVlmConfig(wrong_direction=wrong)
    return Heard({"messages": messages(chat)}, LEVEL, None, 0, noise)


def messages(chat: tuple[Said, ...]) -> list[dict[str, Any]]:
    """A chat as it is sent."""
    return [
        message(said.role, *(p.pixels if isinstance(p, Picture) else p for p in said.parts)) for said in chat
    ]


# -- a situation drawn by hand -----------------------------------------------------------------------------


def situation(robots: int = 3) -> SharedState:
    """A known room of 10 x 6 m, with robots in a row, and one goal of each kind and one that was declared."""
    shared = SharedMap(MapConfig(size=24.0), np.zeros(3), 0.0)
    for low, high, value in (((-5, -3), (5, 3), OCCUPIED), ((-4.9, -2.9), (4.9, 2.9), FREE)):
        (r0, c0), (r1, c1) = shared.to_cell(np.array([[low[0], 0, low[1]], [high[0], 0, high[1]]]))
        shared.cells[r0:r1, c0:c1] = value
        shared.box[:] = (
            min(shared.box[0], r0),
            max(shared.box[1], r1),
            min(shared.box[2], c0),
            max(shared.box[3], c1),
        )
    goals = [
        TeamGoal("ON", "potted plant", None), TeamGoal("TN", "the red\nchair", None),
        TeamGoal("IIN", "", PHOTO), TeamGoal("ON", "sofa", None),
    ]  # fmt: skip
    poses = [Pose(-3.0 + 2 * k, 0.0, 1.0, k * np.pi / 2) for k in range(robots)]
    return SharedState(goals, [True, True, True, False], poses, [True] * robots, [], shared, [9] * robots, 40,
                       Camera(), Body())  # fmt: skip


def question(**changes: Any) -> Assignment:
    """Robots 0 and 2 are free, robot 1 goes to goal 1; robot 2 does not reach the first of 3 frontiers."""
    usual: dict[str, Any] = {
        "robots": [0, 2],
        "busy": {1: 1},
        "points": np.array([[-4.0, 0, -2.0], [0.0, 0, -2.5], [4.0, 0, 2.0]]),
        "sizes": np.array([2.0, 1.25, 0.5]),
        "distances": np.array([[3.2, 4.6, 7.1], [np.inf, 3.6, 3.2]]),
        "going": [None, 1],
        "seen": [Seen(1, np.array([-1.0, 0.9, 2.0]), 0.8), Seen(0, np.array([3.5, 0.2, 1.5]), 0.41)],
    }
    return Assignment(**{**usual, **changes})


def test_the_text_says_it_all() -> None:
    assert prompt.text(question(), situation(), True) == "\n".join([
        "Step 40.",
        "",
        "Free robots:",
        "robot_0 at x -3.0, z 1.0 faces up; metres to frontier_0 3.2, frontier_1 4.6, frontier_2 7.1",
        "robot_2 at x 1.0, z 1.0 faces down, under way to frontier_1; "
        "metres to frontier_0 out of reach, frontier_1 3.6, frontier_2 3.2",
        "",
        "Robots that go to what may be a goal, and need no frontier:",
        "robot_1 at x -1.0, z 1.0 faces left, goes to goal_1",
        "",
        "Frontiers:",
        "frontier_0 at x -4.0, z -2.0: 2.0 m long",
        "frontier_1 at x 0.0, z -2.5: 1.2 m long",
        "frontier_2 at x 4.0, z 2.0: 0.5 m long",
        "",
        "Goals still to be found:",
        "goal_0: any potted plant",
        "goal_1: this one thing: the red chair",
        "goal_2: the thing in its photo below",
        "",
        "Seen so far:",
        "perhaps goal_1 at x -1.0, z 2.0: score 0.80",
        "perhaps goal_0 at x 3.5, z 1.5: score 0.41",
    ])  # fmt: skip
    bare = prompt.text(question(busy={}, seen=[]), situation(), False)
    assert "Robots that go to" not in bare and "goal_2: a thing that only a photo shows" in bare
    assert bare.endswith("Seen so far:\nnothing that may be one of them") and "sofa" not in bare


def test_headings_are_directions_of_the_picture() -> None:
    shared = situation()
    for degrees, word in (
        (0, "up"),
        (90, "left"),
        (-90, "right"),
        (180, "down"),
        (-45, "up right"),
        (350, "up"),
    ):
        shared.poses[0] = replace(shared.poses[0], heading=float(np.radians(degrees)))
        assert f"z 1.0 faces {word};" in prompt.text(question(), shared, True)


@pytest.mark.parametrize("photos", [True, False])
def test_pictures_of_a_request(photos: bool) -> None:
    shared = situation()
    image = Picture(picture.draw(question(), shared, 480), "map step 40")
    request = {"messages": messages(prompt.chat(question(), shared, image, photos))}
    assert [part["role"] for part in request["messages"]] == ["system", "user"]
    assert [i.size for i in images(request)] == [(480, 480), (32, 32)][: 1 + photos]
    assert texts(request)[0] == prompt.SYSTEM and texts(request)[1] == prompt.text(question(), shared, photos)
    assert texts(request)[2:] == ["The photo of goal_2:"] * photos
    shared.unresolved[2] = False
    assert len(images({"messages": messages(prompt.chat(question(), shared, image, True))})) == 1


GOOD = {"robot_0": "frontier_0", "robot_2": "frontier_2", "reason": "near"}


def test_the_schema_takes_good_answers_alone() -> None:
    form = prompt.schema(question())
    assert prompt.chosen(fitting(json.dumps(GOOD), form), question()) == [0, 2]
    for change, words in (
        ({"robot_2": "frontier_0"}, "robot_2"),  # out of its reach
        ({"robot_0": "frontier_3"}, "robot_0"),
        ({"robot_0": "Frontier 1"}, "robot_0"),
        ({"robot_0": 1}, "robot_0"),
        ({"robot_1": "frontier_1"}, "robot_1"),  # has something to do
        ({"reason": 3}, "reason"),
        ({"robot_2": None}, "robot_2"),
    ):
        with pytest.raises(ValueError, match=words):
            fitting(json.dumps(GOOD | change), form)
    for name in GOOD:
        with pytest.raises(ValueError, match=f"'{name}' is a required property"):
            fitting(json.dumps({k: v for k, v in GOOD.items() if k != name}), form)


# -- the picture -------------------------------------------------------------------------------------------


def share(image: np.ndarray, xy: tuple[float, float], color: Sequence[int], reach: int) -> float:
    """How much of the square around a pixel has a colour."""
    x, y = round(xy[0]), round(xy[1])
    block = image[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1].astype(int)
    return float((np.abs(block - np.array(color)).max(-1) <= 8).mean())


@pytest.mark.parametrize("side", [300, 640])
def test_the_picture_shows_what_the_text_says(side: int) -> None:
    shared, asked = situation(), question()
    shared.alive[1] = False
    image = picture.draw(asked, shared, side)
    assert image.shape == (side, side, 3) and image.dtype == np.uint8
    view = MapView(shared.map, side)
    for k, pose in enumerate(shared.poses):
        assert (share(image, view.xy(pose.x, pose.z), agent_color(k), 8) > 0.2) == (k != 1)
    for point in asked.points:
        assert share(image, view.xy(point[0], point[2]), INK, 9) > 0.35
    for seen in asked.seen:
        assert share(image, view.xy(seen.point[0], seen.point[2]), goal_color(seen.goal), 9) > 0.35
    assert share(image, view.xy(3.0, -1.0), (255, 255, 255), 4) == 1  # floor
    empty = picture.draw(question(points=asked.points[:0], sizes=asked.sizes[:0], seen=[]), shared, side)
    assert share(empty, view.xy(0.0, -2.5), INK, 9) == 0 == share(empty, view.xy(3.5, 1.5), goal_color(0), 9)


def test_marks_do_not_hide_each_other() -> None:
    """Three frontiers within 0.3 m, at a robot: all discs can be read."""
    shared = situation()
    points = np.array([[1.0, 0, 1.0], [1.1, 0, 1.0], [1.0, 0, 1.2]])
    pale = picture.draw(question(points=points[:0], seen=[]), shared, 640)
    image = picture.draw(question(points=points, seen=[]), shared, 640)
    ink = [(np.abs(i.astype(int) - np.array(INK)).max(-1) <= 8).sum() for i in (pale, image)]
    one = picture.draw(question(points=np.array([[4.0, 0, -1.0]]), seen=[]), shared, 640)
    disc = (np.abs(one.astype(int) - np.array(INK)).max(-1) <= 8).sum() - ink[0]
    assert ink[1] - ink[0] > 2.7 * disc
    robot = MapView(shared.map, 640).xy(1.0, 1.0)
    assert share(image, robot, agent_color(2), 8) > 0.9 * share(pale, robot, agent_color(2), 8)


# -- the simulated VLM -------------------------------------------------------------------------------------


def say(asked: Assignment, wrong: float = 0.0, seed: int = 0) -> dict[str, str]:
    """What the simulated VLM says, without its reason."""
    shared = situation(5)
    chat = prompt.chat(asked, shared, PICTURE, False)
    said = answer(heard(chat, wrong), np.random.default_rng(seed))
    assert fitting(json.dumps(said), prompt.schema(asked)) == said
    return {name: place for name, place in said.items() if name != "reason"}


def plain(distances: list[list[float]], **changes: Any) -> Assignment:
    robots, count = list(range(len(distances))), len(distances[0])
    points = np.array([[6.0 * f, 0.0, 0.0] for f in range(count)])
    usual = {"robots": robots, "busy": {}, "points": points, "sizes": np.ones(count), "seen": []}
    going = [None] * len(robots)
    return Assignment(**{**usual, "distances": np.array(distances, float), "going": going, **changes})  # type: ignore[arg-type]


def test_it_assigns_by_distance_and_spreads_out() -> None:
    assert say(plain([[2, 9, 5]])) == {"robot_0": "frontier_0"}
    assert say(plain([[2, 9], [1, 3]])) == {"robot_0": "frontier_0", "robot_1": "frontier_1"}
    assert say(plain([[2, np.inf], [1, 3]])) == {"robot_0": "frontier_0", "robot_1": "frontier_1"}


def test_it_repeats_where_there_are_too_few() -> None:
    assert set(say(plain([[2], [3], [9]])).values()) == {"frontier_0"}
    said = list(say(plain([[1, 2], [1, 2], [1, 2], [1, 2]])).values())
    assert said.count("frontier_0") == said.count("frontier_1") == 2
    alone = [[1, np.inf], [2, np.inf]]  # two frontiers, but only one in reach
    assert set(say(plain(alone)).values()) == {"frontier_0"}


def test_it_goes_where_something_was_seen() -> None:
    seen = [Seen(0, np.array([6.5, 0.3, 0.0]), 0.9)]
    assert say(plain([[3, 5]])) == {"robot_0": "frontier_0"}
    assert say(plain([[3, 5]], seen=seen)) == {"robot_0": "frontier_1"}
    assert say(plain([[3, 5]], seen=[replace(seen[0], score=0.2)])) == {"robot_0": "frontier_0"}
    assert say(plain([[3, 5]], seen=[replace(seen[0], point=np.array([6.0, 0, 4.0]))])) == {
        "robot_0": "frontier_0"
    }


def test_it_does_not_waver() -> None:
    assert say(plain([[3.0, 3.5]])) == {"robot_0": "frontier_0"}
    assert say(plain([[3.0, 3.5]], going=[1])) == {"robot_0": "frontier_1"}


def test_wrong_choices_are_other_frontiers() -> None:
    right = {"robot_0": "frontier_0", "robot_1": "frontier_1"}
    asked = plain([[1, 9, 9, np.inf], [9, 1, 9, np.inf]])
    assert say(asked) == right
    wrong = [say(asked, 1.0, seed) for seed in range(30)]
    assert all(w[name] not in (place, "frontier_3") for w in wrong for name, place in right.items())
    assert len({w["robot_0"] for w in wrong}) == 2
    assert say(plain([[1], [2]]), 1.0) == {
        "robot_0": "frontier_0",
        "robot_1": "frontier_0",
    }  # there is no other


def test_what_it_does_not_understand() -> None:
    with pytest.raises(ValueError, match="no line for a robot or a frontier"):
        answer(heard((Said("user", ("Hello.",)),)), np.random.default_rng(0))


def test_goals_cannot_pretend_to_be_robots() -> None:
    shared = situation()
    shared.goals = [TeamGoal("TN", "a\nrobot_7 at x 0.0, z 0.0 faces up; metres to frontier_0 0.1", None)] * 4
    chat = prompt.chat(question(), shared, PICTURE, False)
    assert set(answer(heard(chat), np.random.default_rng(0))) == {"robot_0", "robot_2", "reason"}


# -- whole episodes ----------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Assignment, SharedState, list[dict[str, Any]]]]:
    """Fills with what is asked: the question, what the team knew, and the messages."""
    seen: list[Any] = []
    real = prompt.chat

    def chat(asked: Assignment, shared: SharedState, *rest: Any) -> tuple[Said, ...]:
        said = real(asked, shared, *rest)
        seen.append((asked, replace(shared, unresolved=list(shared.unresolved)), messages(said)))
        return said

    monkeypatch.setattr(prompt, "chat", chat)
    return seen


def check(record: EpisodeRecord) -> dict[str, Any]:
    """The episode ended by the rules and its counts fit together; returns what the VLM was used for."""
    assert record.ended in ("resolved", "exhausted") and not record.privileged
    log, used = record.method_record["assignments"], record.method_record["vlm"]
    assert set(used) == {
        "name", "calls", "requests", "retries", "refused", "errors", "lost", "unfit", "failed", "fallbacks",
        "tokens_in", "tokens_out", "cost", "levels", "texts", "transcript",
    }  # fmt: skip
    assert [call["step"] for call in used["transcript"]] == [entry["step"] for entry in log]
    assert {call["level"] for call in used["transcript"]} <= {LEVEL}
    assert used["calls"] == len(log) and used["failed"] == sum(e["by"] == "fallback" for e in log)
    assert len({e["step"] for e in log}) == len(log) and "candidates" in record.method_record
    for entry in log:
        assert entry["targets"] and entry["event"] in ("period", "idle")
        if entry["by"] == "vlm":
            assert all(place in entry["frontiers"] for place in entry["targets"].values())
    return used


def test_plays_to_the_end_and_finds_goals(play_rooms: Play) -> None:
    method = make()
    assert not method.privileged
    records = [play_rooms(method, index, vlm=model()) for index in (0, 2, 7)]
    assert sum(sum(record.found()) for record in records) >= 6
    for record in records:
        used = check(record)
        assert used["name"] == "simulated" and used["calls"] == used["requests"] > 0 == used["failed"]
        assert used["tokens_in"] > 600 * used["calls"] and used["tokens_out"] > 10 * used["calls"]


NOISE = {"wrong_direction": 0.4, "malformed": 0.3, "refused": 0.2, "retry_after": 0.001}


def test_same_seed_same_bytes(play_rooms: Play) -> None:
    noisy = model(NOISE)
    first, again = (play_rooms(make(replan=4), 1, seed=4, vlm=noisy).to_bytes() for _ in range(2))
    assert first == again
    reused = make(replan=4)  # neither do earlier episodes with the same policy object matter
    play_rooms(reused, 4, seed=1, vlm=noisy)
    assert play_rooms(reused, 1, seed=4, vlm=noisy).to_bytes() == first
    assert play_rooms(make(replan=4), 1, seed=4, vlm=model()).to_bytes() != first


@pytest.mark.parametrize(
    ("noise", "vlm"),
    [
        ({"timeouts": 1.0, "delay": 9.0}, {"timeout": 0.05, "retries": 0}),
        ({"malformed": 1.0}, {"answers": 2}),
        ({"refused": 1.0, "retry_after": 0.001}, {"retries": 1}),
    ],
    ids=["timeout", "malformed", "refused"],
)
def test_an_endpoint_that_always_fails(
    noise: dict[str, Any], vlm: dict[str, Any], play_rooms: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    record = play_rooms(make(replan=40), 2, vlm=model(noise, **vlm))
    used = check(record)
    assert used["failed"] == used["calls"] > 0 and used["fallbacks"] >= used["calls"]
    assert used["requests"] == used["calls"] * (1 if "timeout" in vlm else 2)
    assert used["unfit"] == (2 * used["calls"] if "malformed" in noise else 0)
    assert used["retries"] == (used["calls"] if "refused" in noise else 0)
    assert used["refused"] == (2 * used["calls"] if "refused" in noise else 0)
    assert used["lost"] == (used["calls"] if "timeout" in vlm else 0)
    assert sum(record.found()) > 0  # the robots look all the same
    assert capsys.readouterr().err.count("it goes on without this answer") == 1


def test_an_endpoint_that_fails_now_and_then(play_rooms: Play) -> None:
    record = play_rooms(make(replan=4), 1, vlm=model({"malformed": 0.5}, answers=1))
    used = check(record)
    assert 0 < used["failed"] < used["calls"] and used["unfit"] == used["failed"]
    assert {e["by"] for e in record.method_record["assignments"]} == {"vlm", "fallback"}


def test_an_endpoint_that_dies_in_the_middle(play_rooms: Play) -> None:
    server = SimulatedEndpoint()
    where = model(base_url=answering(server), model="mine", retries=0)
    method = make(replan=4)

    def watch(shared: SharedState) -> None:
        if shared.step == 20:
            server.close()

    record = play_rooms(method, 2, watch=watch, vlm=where)
    server.close()
    used = check(record)
    assert 0 < used["failed"] < used["calls"] and used["fallbacks"] > 0 and used["name"] == "mine"
    assert all((e["by"] == "vlm") == (e["step"] < 20) for e in record.method_record["assignments"])


def answering(server: SimulatedEndpoint) -> str:
    """The base URL of a server that answers as the simulated VLM does."""
    made = server.session()
    made.begin(0, CoNavGpt2Policy.answers, None)
    return made.url


def test_a_dead_endpoint_is_given_up(data: Path, rooms_episodes: list[Episode], play_with: Play) -> None:
    """Questions are counted over episodes; an answer begins the count anew."""
    silent = {"malformed": 1.0}
    calls = check(play_with(make(), 2, vlm=EpisodeVlm(model(silent, answers=1))))["calls"]
    vlm = EpisodeVlm(model(silent, answers=1, give_up=calls + 2))
    assert check(play_with(make(), 2, vlm=vlm))["failed"] == calls
    words = rf"no answer to {calls + 2} questions in a row .*is not JSON.*run again"
    with pytest.raises(VlmError, match=words):
        play_with(make(), 1, vlm=vlm)
    assert vlm.record()["calls"] == 2


def every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other question comes to nothing."""
    right, count = Vlm._complete, [0]

    def complete(self: Vlm, *rest: Any) -> tuple[str, bool]:
        count[0] += 1
        if count[0] % 2:
            raise VlmError("no")
        return right(self, *rest)

    monkeypatch.setattr(Vlm, "_complete", complete)


def test_answers_in_between_go_on(play_rooms: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    every_other(monkeypatch)
    assert check(play_rooms(make(replan=4), 2, vlm=model(give_up=2)))["failed"] > 2


def test_an_evaluation_ends_with_its_server_and_goes_on_later(data: Path, tmp_path: Path) -> None:
    def run(server: SimulatedEndpoint, limit: int) -> None:
        vlm = {"base_url": answering(server), "model": "mine", "retries": 0, "give_up": 2}
        variants = {"mine": {"policy": "co_navgpt2", "vlm": vlm}}
        evaluate(BenchmarkConfig(
            method="mine", variants=variants, split="rooms", data=str(data), limit=limit, pictures=0,
            camera=Camera(18, 32), workers=1, out=str(tmp_path),
        ))  # fmt: skip

    def kept() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / "records" / "mine").glob("rooms-*.json")}

    one, two = SimulatedEndpoint(), SimulatedEndpoint()
    run(one, 1)
    first = kept()
    one.close()
    with pytest.raises(VlmError, match="in a row .*mine: .* cannot be reached in 1 try .*refused.; start"):
        run(one, 2)
    assert len(first) == 1 and kept() == first
    run(two, 2)
    two.close()
    assert len(kept()) == 2 and kept().items() > first.items()
    for record in kept().values():
        assert json.loads(record)["method_record"]["vlm"]["failed"] == 0


def said_by(monkeypatch: pytest.MonkeyPatch, other: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Makes the simulated VLM answer as `other` says, which gets the right answer."""
    said = {LEVEL: lambda heard, rng: other(answer(heard, rng))}
    monkeypatch.setattr(CoNavGpt2Policy, "answers", said)


def test_frontiers_that_do_not_exist(play_rooms: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    said_by(monkeypatch, lambda right: right | {name: "frontier_99" for name in right if name != "reason"})
    used = check(play_rooms(make(), 2, vlm=model()))
    assert (
        used["failed"] == used["calls"] > 0 and used["unfit"] == 2 * used["calls"] and used["fallbacks"] > 0
    )


def test_answers_that_leave_robots_out(play_rooms: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    said_by(monkeypatch, lambda right: {"reason": "none"})
    used = check(play_rooms(make(), 2, vlm=model(answers=1)))
    assert used["failed"] == used["calls"] == used["unfit"] > 0


def test_answers_that_repeat_a_frontier_are_followed_and_counted(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_to_one(right: dict[str, Any]) -> dict[str, Any]:
        robots = [name for name in right if name != "reason"]
        return right | dict.fromkeys(robots, right[robots[0]])

    said_by(monkeypatch, all_to_one)
    record = play_rooms(make(), 0, vlm=model())
    used, log = check(record), record.method_record["assignments"]
    followed = [e for e in log if e["by"] == "vlm" and len(e["targets"]) > 1]
    assert followed and all(len({tuple(p) for p in e["targets"].values()}) == 1 for e in followed)
    enough = [e for e in followed if len(e["frontiers"]) >= len(e["targets"])]
    assert record.method_record["repeated"] == len(enough) > 0 and used["calls"] == len(log)
    monkeypatch.undo()
    assert play_rooms(make(), 0, vlm=model()).method_record["repeated"] == 0


def test_without_an_answer_robots_keep_their_frontiers(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call in the middle fails: frontiers that are still there are kept, the others are replaced."""
    method, kept, real = make(replan=4), [], CoNavGpt2Policy._fall_back

    def fall_back(self: CoNavGpt2Policy, asked: Assignment) -> None:
        before = {k: self.targets[k] for k in asked.robots if not self._lost(k)}
        count = self.fallbacks
        real(self, asked)
        assert self.fallbacks - count == len(asked.robots)
        for k in asked.robots:
            if k in before:
                kept.append(k)
                assert self.targets[k] is before[k]
            else:
                assert self.targets[k] is not None and self.crew.still_there(self.targets[k])

    every_other(monkeypatch)
    monkeypatch.setattr(CoNavGpt2Policy, "_fall_back", fall_back)
    play_rooms(method, 2, vlm=model())
    assert len(kept) > 2


def test_when_it_is_asked(play_rooms: Play) -> None:
    counts = {}
    for replan in (5, 25, 10_000):
        record = play_rooms(make(replan=replan), 3, vlm=model())
        log = record.method_record["assignments"]
        counts[replan] = check(record)["calls"]
        assert log[0]["step"] >= 1 and log[0]["event"] == "period"  # robots have looked around, or one has
        for before, entry in zip(log, log[1:]):
            assert (entry["step"] - before["step"] >= replan) == (entry["event"] == "period")
    assert counts[5] > counts[25] >= counts[10_000]


def test_robots_under_way_are_asked_about_in_time(play_rooms: Play) -> None:
    """Nobody goes to a frontier for longer than `replan` steps without a question."""
    method = make(replan=6)
    searching: list[int] = []

    def watch(shared: SharedState) -> None:
        robots = method.crew.robots if shared.step else []
        if any(r.stage == "search" and alive for r, alive in zip(robots, shared.alive)):
            searching.append(shared.step - 1)

    record = play_rooms(method, 2, watch=watch, vlm=model())
    steps = np.array([e["step"] for e in record.method_record["assignments"]])
    last = [int((s - steps[steps <= s]).min(initial=99)) for s in searching if s <= steps[-1]]
    assert last and max(last) < 6


def test_it_is_asked_once_a_step(play_rooms: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frontiers turn out to be out of reach: robots choose others in the same step without more questions."""
    real, refused = Crew.explore, []

    def explore(self: Crew, agent: int, point: np.ndarray) -> int | None:
        step = self.shared.step
        if step % 9 == 5 and refused.count((step, agent)) < 2:
            refused.append((step, agent))
            self._finish(point)
            return None
        return real(self, agent, point)

    monkeypatch.setattr(Crew, "explore", explore)
    record = play_rooms(make(), 1, vlm=model())
    used = check(record)
    assert refused and used["failed"] == 0 and used["fallbacks"] > 0


@pytest.fixture(scope="module")
def play_with(data: Path, rooms_episodes: list[Episode]) -> Play:
    """Plays a policy in an episode with some robots and goals of one of the split."""
    eyes = make_eyes(EyesConfig())
    config = EnvConfig(split="rooms", data=str(data), camera=Camera(18, 32), observation=rollout.BRIEF)
    env = rollout.make_env(config, *eyes)

    def play(
        method: Any,
        index: int,
        robots: int = 9,
        goals: int = 9,
        name: str = "test",
        vlm: EpisodeVlm | None = None,
    ) -> EpisodeRecord:
        base = rooms_episodes[index]
        episode = replace(base, starts=base.starts[:robots], goals=base.goals[:goals])
        return rollout.play(env, method, episode, eyes, name, 0, vlm=vlm)

    return play


def test_workers_write_the_same_bytes(data: Path, tmp_path: Path, play_with: Play) -> None:
    alone, noisy = make(replan=4), model(NOISE)
    evaluate(BenchmarkConfig(
        method="noisy", variants={"noisy": {"policy": "co_navgpt2", "replan": 4}}, split="rooms",
        data=str(data), vlm=noisy, limit=2, pictures=0, camera=Camera(18, 32), workers=2, out=str(tmp_path),
    ))  # fmt: skip
    files = sorted((tmp_path / "records" / "noisy").glob("rooms-*.json"))
    for index in (1, 0):  # in the other order, by one policy
        record = play_with(alone, index, name="noisy", vlm=EpisodeVlm(noisy))
        assert record.to_bytes() == files[index].read_bytes() and check(record)["unfit"] > 0


@pytest.mark.parametrize(
    ("index", "robots", "goals"), [(1, 1, 3), (3, 2, 5), (5, 3, 4), (8, 4, 3)], ids=lambda value: str(value)
)
def test_teams_and_goals(index: int, robots: int, goals: int, play_with: Play, asked: list[Any]) -> None:
    record = play_with(make(), index, robots, goals)
    check(record)
    assert record.agents == robots and len(record.goals) == goals
    assert asked
    for question, shared, _ in asked:
        assert set(question.robots) | set(question.busy) <= {k for k in range(robots) if shared.alive[k]}
        assert not set(question.robots) & set(question.busy)
        assert np.isfinite(question.distances).any(1).all()


def test_what_is_asked_in_an_episode(
    play_rooms: Play, rooms_episodes: list[Episode], asked: list[Any]
) -> None:
    """No more than the team knows: no category of a photo, no id, no verdict; at most so many frontiers."""
    method = make(frontiers=2, candidates=3, picture=320)
    for index in (1, 2):
        asked.clear()
        play_rooms(method, index)
        episode = rooms_episodes[index]
        assert asked
        for question, shared, sent in asked:
            assert len(question.points) <= 2 and (np.diff(question.sizes) <= 0).all()
            assert all(shared.unresolved[s.goal] for s in question.seen) and len(question.seen) <= 3
            said = texts({"messages": sent})[1]
            pictures = images({"messages": sent})
            photos = [g for g, left in zip(episode.goals, shared.unresolved) if left and g.modality == "IIN"]
            assert pictures[0].size == (320, 320) and len(pictures) == 1 + len(photos)
            for j, goal in enumerate(episode.goals):
                assert (f"\ngoal_{j}: " in said) == shared.unresolved[j]
                if goal.modality == "IIN":
                    others = " ".join(g.text for g in episode.goals)
                    assert goal.category not in said or goal.category in others
                elif shared.unresolved[j]:
                    assert goal.text in said
            for word in ("object", "viewpoint", "found", "wrong", "d*"):
                assert word not in said.replace("Goals still to be found", "")


def test_photos_can_be_left_out(play_rooms: Play, asked: list[Any]) -> None:
    play_rooms(make(photos=False), 2)
    assert asked and all(len(images({"messages": sent})) == 1 for *_, sent in asked)


# -- settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"replan": 0}, "replan and frontiers must be at least 1"),
        ({"frontiers": 0}, "replan and frontiers must be at least 1"),
        ({"picture": 100}, "picture must be 300 to 4096 pixels, not 100"),
        ({"crew": {"frontiers": {"cluster": -1.0}}}, "frontiers.cluster"),
        ({"words": True}, "words"),
    ],
)
def test_config_errors(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_policy("co_navgpt2", config)


def test_frontiers_are_clustered_unless_told_otherwise() -> None:
    assert make().config.crew.frontiers.cluster == make(crew={"stop": 0.9}).config.crew.frontiers.cluster > 0
    assert make(crew={"frontiers": {"cluster": 0.0}}).config.crew.frontiers.cluster == 0


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **kinds: Any) -> Any:
        if name == "openai":
            raise ImportError(name)
        return real(name, *rest, **kinds)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(VlmError, match=r"pip install 'hm3dm3\[vlm\]'"):
        EpisodeVlm(model())
