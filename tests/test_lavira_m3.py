"""LaViRA-M3: its three levels, the gate, the channels between robots, and whole episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED, UNKNOWN, MapConfig, SharedMap
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.shared import TeamGoal
from hm3dm3_env.sim.base import Body, Camera, Frame
from hm3dm3_env.vlm.pictures import compose
from hm3dm3_env.vlm.session import VlmChoice
from hm3dm3_env.vlm.simulated import SimulatedVlmConfig
from policies.base import make_policy
from policies.lavira_m3 import division, identity, language, vision
from policies.lavira_m3.board import Board, Dismissed
from policies.lavira_m3.brain import Brain, latest
from policies.lavira_m3.config import LaviraM3Config
from policies.lavira_m3.language import Place, Situation
from policies.lavira_m3.policy import LaviraM3Policy
from policies.lavira_m3.robot import ARRIVED, BLOCKED, LATE, STUCK, go
from policies.lavira_m3.team import Team
from policies.lavira_m3.views import View, visible
from policies.walker import Walker

Play = Callable[..., EpisodeRecord]
CAMERA = Camera(width=40, height=30, hfov_deg=90.0)
SURE = VlmChoice(simulated=SimulatedVlmConfig(wrong_direction=0.0, wrong_identity=0.0, malformed=0.0))
"""A simulated model that makes no mistakes."""


def view(depth: float | np.ndarray = 2.0, name: str = "front", pose: Pose | None = None) -> View:
    deep = np.broadcast_to(np.asarray(depth, np.float32), (30, 40)).copy()
    rgb = np.full((30, 40, 3), 90, np.uint8)
    return View(name, 0, 5, Frame(pose or Pose(1.0, 0.0, 2.0), CAMERA, deep, rgb))


def situation(**changes: Any) -> Situation:
    start = Situation(
        robot=0, step=5, pose=Pose(1.0, 0.0, 2.0), actions_left=400, camera=CAMERA, views=[view()],
        ends=[[(0.25, 3.0)]], board=["goal_0: any sofa; unresolved"], wanted=[0, 2], photos=[], teammates=[],
        history=[], places=[Place("place_3", np.array([4.0, 0, 2.0]), 2)], turn=True,
    )  # fmt: skip
    return replace(start, **changes)


def said(question: Any) -> str:
    return "\n".join(part for message in question.said for part in message.parts if isinstance(part, str))


# -- language ----------------------------------------------------------------------------------------------


def test_only_what_can_be_done_is_on_offer() -> None:
    offer = language.schema(situation())["properties"]
    assert offer["action"]["enum"] == list(language.ACTIONS[:3]) + ["turn_around", "backtrack"]
    assert offer["goal"]["enum"] == ["none", "goal_0", "goal_2"]
    assert offer["view"]["enum"] == ["none", "front"]
    less = language.schema(situation(wanted=[], places=[], turn=False))["properties"]
    assert less["action"]["enum"] == ["explore", "go_to"] and less["place"]["enum"] == ["none"]


def test_what_a_robot_is_told() -> None:
    text = said(language.question(situation(teammates=["robot_1 at x 0.0, z 0.0: I saw a bed."])))
    for line in (
        "You are robot_0, at x 1.00, z 2.00, heading 0.0. Step 5, 400 actions left.",
        "goal_0: any sofa; unresolved",
        "robot_1 at x 0.0, z 0.0: I saw a bed.",
        "place_3 at x 4.0, z 2.0, 3.0 m off: 2 unexplored places seen from there",
        "View front, from x 1.00, z 2.00, heading 0.0; unexplored 3.0 m off at 25% of the width:",
    ):
        assert line in text.splitlines()
    assert "teammates" not in said(language.question(situation())).partition("Your last")[0].splitlines()


def answer(**fields: str) -> dict[str, str]:
    whole = {"progress": " I  was\nthere. ", "reason": "r", "action": "explore"}
    return {**whole, **dict.fromkeys(("view", "goal", "thing", "where", "place"), "none"), **fields}


def test_decisions_are_read_kindly() -> None:
    now = situation(views=[view(), view(name="left")], ends=[[], []])
    said_ = answer(action="inspect", view="left", goal="goal_2", thing="bed", where="right")
    read = language.decision(said_, now)
    assert (read.action, read.view, read.goal, read.thing, read.where) == ("inspect", 1, 2, "bed", "right")
    assert read.progress == "I was there."
    assert language.decision(answer(action="inspect", thing="bed"), now).action == "go_to"
    assert language.decision(answer(action="go_to"), now).thing == "way on"
    assert language.decision(answer(action="backtrack"), now).action == "explore"
    back = language.decision(answer(action="backtrack", place="place_3"), now)
    assert (back.action, back.place) == ("backtrack", 0)
    assert language.decision(answer(goal="goal_0"), now).goal is None  # not what exploring needs


# -- vision ------------------------------------------------------------------------------------------------


def test_boxes_become_pixels() -> None:
    frame = view().frame
    found = {"found": True, "left": 250, "top": 0, "right": 750, "bottom": 1000}
    assert vision.box_of(found, frame) == (10, 0, 30, 30)
    turned = {"found": True, "left": 750, "top": 1000, "right": 250, "bottom": 0}
    assert vision.box_of(turned, frame) == (10, 0, 30, 30)
    for edge in (0, 1000):  # a point, even on the rim, is a pixel
        left, top, right, bottom = vision.box_of(  # type: ignore[misc]
            {"found": True, **dict.fromkeys(vision.SIDES, edge)}, frame
        )
        assert 0 <= left < right <= 40 and 0 <= top < bottom <= 30
    assert vision.box_of({**found, "found": False}, frame) is None


def test_a_thing_is_where_its_middle_is() -> None:
    depth = np.full((30, 40), 4.0, np.float32)
    depth[10:20, 15:25] = 2.0
    target = vision.thing_at(view(depth).frame, (15, 10, 25, 20))
    assert target is not None and target.depth == 2.0
    np.testing.assert_allclose(target.point[[0, 2]], [1.0, 0.0], atol=0.2)  # 2 m ahead, along -z
    depth[10:20, 15:25] = 0.0
    assert vision.thing_at(view(depth).frame, (15, 10, 25, 20)) is None  # out of the camera's range


def test_the_nearest_part_of_a_large_thing() -> None:
    """A bed from its foot to its head: the middle of the box is far, its foot is near."""
    depth = np.full((30, 40), 4.0, np.float32)
    depth[10:30, 5:35] = np.linspace(3.4, 0.9, 20, dtype=np.float32)[:, None]
    box = (5, 10, 35, 30)
    middle, foot = (vision.thing_at(view(depth).frame, box, nearest) for nearest in (False, True))
    assert middle is not None and foot is not None
    assert middle.depth == pytest.approx(2.1, abs=0.2) and foot.depth == pytest.approx(1.55, abs=0.15)
    assert foot.depth < middle.depth and foot.point[2] > middle.point[2] + 0.3  # the robot looks along -z
    assert foot.point[0] == pytest.approx(1.0, abs=0.1)  # near the middle of the box all the same


def test_a_piece_of_floor_is_at_the_lower_edge_of_its_box() -> None:
    depth = np.full((30, 40), 4.0, np.float32)
    depth[24:, :] = 1.5
    near, far = (vision.floor_at(view(depth).frame, (18, 5, 22, row)) for row in (28, 20))
    assert (near.depth, far.depth) == (1.5, 4.0)
    beyond = vision.floor_at(view(0.0).frame, (18, 5, 22, 16))
    assert beyond is not None and beyond.depth == CAMERA.max_depth
    assert vision.floor_at(view(0.0).frame, (18, 5, 22, 28)) is None  # something too near


def test_what_a_view_shows() -> None:
    places = np.array([[1.0, 0, 0.5], [1.0, 0, -2.0], [1.0, 0, 5.0], [0.2, 0, 1.0], [9.0, 0, 1.9]])
    seen = visible(view(2.0), places)  # a wall 2 m ahead hides what is 4 m away; the rest is behind or aside
    assert [number for number, *_ in seen] == [3, 0]
    assert seen[0][1:] == pytest.approx((0.1, np.hypot(0.8, 1.0)))
    assert seen[1][1:] == pytest.approx((0.5, 1.5))
    far = np.array([[1.0, 0, -2.0], [1.0, 0, -3.5]])  # 4 m off, and beyond the camera's range
    assert [number for number, *_ in visible(view(0.0), far)] == [1]  # near floor without depth is hidden


# -- the gate ----------------------------------------------------------------------------------------------


def judged(**changes: Any) -> identity.Verdict:
    whole = {"checks": [{"attribute": "colour", "holds": True}], "same": True, "confidence": 0.9}
    jsonschema.validate({**whole, **changes}, identity.SCHEMA)
    return identity.verdict({**whole, **changes})


def test_the_gate_wants_a_confident_yes_and_every_attribute() -> None:
    assert judged().passes(0.7)
    assert not judged(confidence=0.6).passes(0.7)
    assert not judged(same=False).passes(0.7)
    assert not judged(checks=[{"attribute": "colour", "holds": False}]).passes(0.0)
    with pytest.raises(jsonschema.ValidationError):
        judged(checks=[])
    unchecked = {"checks": [], "same": True, "confidence": 0.9}
    assert not identity.verdict(unchecked).passes(0.0)


def test_photos_stand_beside_the_view() -> None:
    photo = np.zeros((60, 60, 3), np.uint8)
    asked = identity.question(view(), 9, (10, 10, 20, 20), 2, TeamGoal("IIN", "", photo))
    picture = asked.said[1].parts[1]
    assert not isinstance(picture, str)
    assert picture.ref == "goal 2 | robot_0 step 5 box 10 10 20 20"
    assert picture.pixels.shape == (60, 60 + 8 + 80, 3)  # the view grows to the photo's height
    assert "to the right of the photo, scaled" in said(asked)
    alone = identity.question(view(), 9, (10, 10, 20, 20), 0, TeamGoal("TN", "the red sofa", None))
    picture = alone.said[1].parts[1]
    assert not isinstance(picture, str) and picture.pixels.shape == (30, 40, 3)
    assert (picture.pixels[10, 10:21] == (230, 30, 30)).all() and "the red sofa" in said(alone)


# -- board, division ---------------------------------------------------------------------------------------

GOALS = [TeamGoal("ON", "sofa", None), TeamGoal("TN", "the red\nbed", None), TeamGoal("IIN", "", None)]


def filled(shared: bool) -> Board:
    board = Board(GOALS, shared)
    board.claim(1, 0, 4)
    board.declared[1] = [1]
    board.dismissed.append(Dismissed(2, "lamp", np.array([1.0, 0, -2.0]), 1))
    return board


def test_a_shared_board_tells_all_and_a_lonely_one_only_the_own() -> None:
    assert filled(True).lines(0) == [
        "goal_0: any sofa; unresolved, claimed by robot_1",
        "goal_1: this one thing: the red bed; found, declared by robot_1",
        "goal_2: the very thing in its photo; unresolved",
        "not goal_2: the lamp at x 1.0, z -2.0, says robot_1",
    ]
    assert all(line.endswith("; unresolved") for line in filled(False).lines(0))
    assert filled(False).lines(1) == filled(True).lines(1)  # robot_1 did it all itself
    assert filled(True).wanted(0) == [0, 2] and filled(False).wanted(0) == [0, 1, 2]


def test_claims_are_logged_when_they_change() -> None:
    board = filled(True)
    board.claim(1, 0, 5)
    board.claim(1, None, 6)
    board.claim(1, None, 7)
    assert board.log == [{"step": 4, "robot": 1, "goal": 0}, {"step": 6, "robot": 1, "goal": None}]


def test_goals_are_divided_by_chances_and_evenly() -> None:
    likely = {0: np.array([0.9, 0.8, 0.1, 0.2, 0.1]), 2: np.array([0.8, 0.1, 0.2, 0.1, 0.3])}
    own = division.divide(likely, 5)
    assert own[0][0] == 1 and own[2][0] == 0  # 0.8 + 0.8 beats 0.9 + 0.1
    assert sorted(own[0] + own[2]) == [0, 1, 2, 3, 4] and {len(v) for v in own.values()} == {2, 3}
    assert division.chances(None, 3).tolist() == [0.5] * 3
    board = Board(GOALS, True, own={0: [1], 1: [0, 2]})
    assert board.wanted(0) == [1] and [line[:6] for line in board.lines(1)] == ["goal_0", "goal_2"]


# -- robot action ------------------------------------------------------------------------------------------


class Rails:
    """A walker on open floor: forward is a quarter metre along -z, unless something holds the robot."""

    def __init__(self, end: float = 100.0, held: bool = False, walls: bool = False) -> None:
        self.pose, self.end, self.held, self.walls = Pose(0.0, 0.0, 0.0), end, held, walls

    @property
    def shared(self) -> Any:
        return SimpleNamespace(poses=[self.pose], body=Body())

    def escaping(self, agent: int) -> bool:
        return False

    def walled_in(self, agent: int) -> bool:
        return self.walls

    def level(self, agent: int) -> int | None:
        return None

    def walk(self, agent: int, point: np.ndarray, slack: float) -> int | None:
        if -self.pose.z >= self.end:
            return None
        if not self.held:
            self.pose = replace(self.pose, z=self.pose.z - 0.25)
        return 1


@pytest.mark.parametrize(
    ("rails", "steps", "ended", "actions"),
    [
        (Rails(), 15, ARRIVED, 6),  # 2 m less the 0.5 m that are near enough
        (Rails(), 4, LATE, 4),
        (Rails(end=1.25), 15, ARRIVED, 5),  # the map ends within what is left over
        (Rails(end=0.5), 15, BLOCKED, 2),
        (Rails(held=True), 15, STUCK, 8),
        (Rails(held=True), 5, STUCK, 5),
        (Rails(end=0.0, walls=True), 15, STUCK, 6),  # five turns and a step
    ],
)
def test_how_going_somewhere_ends(rails: Any, steps: int, ended: str, actions: int) -> None:
    way, taken = go(rails, 0, np.array([0.0, 0, -2.0]), 0.5, 0.3, steps), 0
    while True:
        try:
            next(way)
            taken += 1
        except StopIteration as stop:
            assert stop.value == ended
            break
    assert taken == actions


# -- episodes ----------------------------------------------------------------------------------------------


def decisions(record: EpisodeRecord) -> Counter:
    return Counter(entry["action"] for entry in record.method_record["decisions"])


def test_plays_to_the_end_and_again_the_same(play_rooms: Play) -> None:
    for index in (0, 3, 7):
        record = play_rooms(make_policy("lavira_m3"), index, seed=2)
        assert record.ended in ("resolved", "exhausted") and not record.privileged
        assert record.recogniser == "VLM simulated" and record.encoder == "none"
        assert {"inspect", "explore"} <= set(decisions(record))
        assert play_rooms(make_policy("lavira_m3"), index, seed=2).to_bytes() == record.to_bytes()


def test_without_mistakes_and_walking_in_nearly_all_is_found(play_rooms: Play, rooms_episodes: list) -> None:
    config = {"walk_in": True}
    records = [play_rooms(make_policy("lavira_m3", config), i, vlm=SURE) for i in range(len(rooms_episodes))]
    found = [f for record in records for f in record.found()]
    assert sum(found) / len(found) > 0.8
    assert all(d["right"] or d["distance"] is not None for r in records for d in r.declarations)
    assert all(r.method_record["gates"]["passed"] >= len(r.declarations) for r in records)


def test_config_errors() -> None:
    for config, words in (
        ({"assignment": "random"}, "assignment.*random.*free, fixed"),
        ({"near": 3.0}, "near.*gate_depth=2"),
        ({"confident": 1.5}, "confident.*0..1"),
        ({"steps": 0}, "steps"),
        ({"history": -1}, "history"),
        ({"stop": 0.0}, "stop"),
    ):
        with pytest.raises(ValueError, match=words):
            make_policy("lavira_m3", config)


def told(record: EpisodeRecord, level: str) -> list[str]:
    """The user's text of every question of a level."""
    vlm = record.method_record["vlm"]
    return [
        "\n".join(vlm["texts"][part] for part in call["said"][1]["parts"] if isinstance(part, int))
        for call in vlm["transcript"]
        if call["level"] == level
    ]


def test_channels_are_in_the_prompts_or_not(play_rooms: Play) -> None:
    whole = play_rooms(LaviraM3Policy(), 3)
    assert any("claimed by" in text for text in told(whole, language.LEVEL))
    assert any("declared by" in text for text in told(whole, language.LEVEL))
    assert all("Your teammates:" in text for text in told(whole, language.LEVEL))
    silent = play_rooms(LaviraM3Policy(LaviraM3Config(progress=False)), 3)
    assert not any("Your teammates:" in text for text in told(silent, language.LEVEL))
    alone = play_rooms(LaviraM3Policy(LaviraM3Config(board=False)), 3)
    for call, text in zip(
        [c for c in alone.method_record["vlm"]["transcript"] if c["level"] == language.LEVEL],
        told(alone, language.LEVEL),
    ):
        for line in text.splitlines():
            if line.startswith("goal_") and "robot_" in line:
                assert line.endswith(f"by {call['by']}")


def test_a_fixed_assignment_holds(play_rooms: Play) -> None:
    policy = LaviraM3Policy(LaviraM3Config(assignment="fixed"))
    record = play_rooms(policy, 3)
    own = policy.team.board.own
    assert sorted(j for goals in own.values() for j in goals) == list(range(len(record.goals)))
    assert all(d["goal"] in own[d["agent"]] for d in record.declarations)
    assert len(told(record, division.LEVEL)) == record.agents


def test_nothing_is_declared_from_beyond_the_gate(play_rooms: Play) -> None:
    """The judged box is at most 2 m away, and each declaration follows a judgement that passed."""
    record = play_rooms(LaviraM3Policy(), 3, vlm=SURE)
    judged_ = [c for c in record.method_record["vlm"]["transcript"] if c["level"] == identity.LEVEL]
    for declared in record.declarations:
        by = f"robot_{declared['agent']}"
        before = [c for c in judged_ if c["step"] <= declared["step"] and c["by"] == by]
        assert before[-1]["answer"]["same"] and before[-1]["answer"]["confidence"] >= 0.7
        assert f"goal_{declared['goal']} is" in told_of(record, before[-1])
    assert record.declarations


def told_of(record: EpisodeRecord, call: dict[str, Any]) -> str:
    texts = record.method_record["vlm"]["texts"]
    return "\n".join(texts[part] for part in call["said"][1]["parts"] if isinstance(part, int))


def test_a_model_that_never_answers_leaves_a_frontier_team(play_rooms: Play) -> None:
    noise = SimulatedVlmConfig(malformed=1.0)
    record = play_rooms(LaviraM3Policy(), 3, vlm=VlmChoice(simulated=noise, give_up=0))
    vlm = record.method_record["vlm"]
    assert vlm["failed"] == vlm["calls"] > 0 and vlm["fallbacks"] > 0 and not record.declarations
    assert max(record.path) > 3


def test_robots_that_get_nowhere_do_not_ask_for_ever(
    play_rooms: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ways that nothing leads along, a robot takes actions for the questions that it asks."""
    monkeypatch.setattr(Walker, "walk", lambda *_: None)
    record = play_rooms(LaviraM3Policy(), 3)
    assert record.ended == "exhausted" and record.method_record["vlm"]["fallbacks"] > 5
    asked = Counter(call["by"] for call in record.method_record["vlm"]["transcript"])
    assert max(asked.values()) < 1.5 * record.steps


def in_room(shared: Any) -> Team:
    team = Team(shared, LaviraM3Config())
    team.walker.planner.update()
    return team


def test_known_floor_is_looked_at_again_once_there_are_no_frontiers() -> None:
    shared_map = SharedMap(MapConfig(size=16.0), np.zeros(3), 0.0)
    shared_map.cells[:] = OCCUPIED
    shared_map.cells[100:220, 100:220] = FREE  # a room of 6 m, x and z from -3 to 3 m
    shared_map.box[:] = 95, 225, 95, 225
    shared: Any = SimpleNamespace(map=shared_map, body=Body(), poses=[Pose(0.0, 0.0, 0.0)], goals=GOALS)
    team = in_room(shared)
    places = team.ends()
    assert len(places) == 16 and np.abs(places[:, [0, 2]]).max() < 3
    team.looked.append(np.array([-2.0, 0, -2.0]))
    team.give_up(np.array([2.0, 0, 2.0]), 1.0)
    left = team.ends()
    assert 8 < len(left) < 15 and np.hypot(left[:, 0] + 2, left[:, 2] + 2).min() >= 2
    shared_map.cells[150:170, 220:300] = UNKNOWN  # a way out
    (frontier,) = in_room(shared).ends()  # which come first
    assert frontier[0] > 2.5


def walked_in(play_rooms: Play, index: int, **noise: float) -> EpisodeRecord:
    vlm = VlmChoice(simulated=SimulatedVlmConfig(malformed=0.0, **noise))
    return play_rooms(LaviraM3Policy(LaviraM3Config(walk_in=True)), index, vlm=vlm)


def test_a_model_that_mistakes_everything_finds_next_to_nothing(play_rooms: Play) -> None:
    """Every judgement is the wrong way round; what is found is so because it stands beside what was taken for
    it."""
    found = {}
    for rate in (0.0, 1.0):
        records = [walked_in(play_rooms, i, wrong_direction=0.0, wrong_identity=rate) for i in (0, 3, 7)]
        found[rate] = sum(sum(record.found()) for record in records)
        declined = sum(record.method_record["gates"]["declined"] for record in records)
    assert found[1.0] < found[0.0] / 3 and declined > 5


def test_wrong_directions_cost_only_ways(play_rooms: Play) -> None:
    changed = 0
    for index in (1, 4, 7):
        straight, astray = (
            walked_in(play_rooms, index, wrong_direction=rate, wrong_identity=0.0) for rate in (0.0, 1.0)
        )
        changed += straight.poses != astray.poses
        assert all(d["right"] for d in [*straight.declarations, *astray.declarations])
    assert changed


def test_an_endpoint_with_many_faults_is_survived_and_counted(play_rooms: Play) -> None:
    noise = SimulatedVlmConfig(timeouts=0.2, delay=9.0, malformed=0.1, refused=0.05, retry_after=0.001)
    faulty = VlmChoice(simulated=noise, timeout=0.3, retries=1, give_up=0)
    record = play_rooms(LaviraM3Policy(), 2, vlm=faulty)
    used = record.method_record["vlm"]
    assert record.ended in ("resolved", "exhausted") and sum(record.found()) > 0
    assert used["lost"] > 0 and used["unfit"] > 0 and used["refused"] > 0 and used["failed"] < used["calls"]
    levels = used["levels"].values()
    for name in ("calls", "requests", "retries", "lost", "unfit", "refused", "failed", "tokens_in"):
        assert sum(level[name] for level in levels) == used[name]


def test_what_is_said_of_declarations_is_what_happened(play_rooms: Play) -> None:
    """Every entry "declared" is a declaration of the record, but for those that say that they had no effect,
    which only robots without a board make."""
    repeated = {True: 0, False: 0}
    for board in repeated:
        for index in range(8):
            record = play_rooms(LaviraM3Policy(LaviraM3Config(board=board)), index)
            said, gates = record.method_record["decisions"], record.method_record["gates"]
            declared = [d for d in said if d["result"].startswith("declared")]
            took = [(d["robot"], d["goal"]) for d in declared if "no_effect" not in d]
            assert sorted(took) == sorted((d["agent"], d["goal"]) for d in record.declarations)
            assert gates["repeated"] == len(declared) - len(took)
            assert gates["passed"] >= len(declared) and gates["judged"] == gates["passed"] + gates["declined"]
            repeated[board] += gates["repeated"]
    assert repeated[True] == 0 and repeated[False] > 0


def test_a_decision_lasts_to_the_end_of_the_episode_or_of_the_robot(play_rooms: Play) -> None:
    unfinished = 0
    for index in range(4):
        record = play_rooms(LaviraM3Policy(), index)
        latest_of = {entry["robot"]: entry for entry in record.method_record["decisions"]}
        for k, entry in latest_of.items():
            if entry["result"] == "not finished":
                assert {actions[k] for actions in record.actions[entry["until"] + 1 :]} <= {"wait"}
                unfinished += entry["until"] > entry["step"]
    assert unfinished


def black(height: int, width: int) -> np.ndarray:
    return np.zeros((height, width, 3), np.uint8)


def test_pictures_can_be_made_again_from_their_references(play_rooms: Play) -> None:
    kinds = set()
    for call in play_rooms(LaviraM3Policy(), 3).method_record["vlm"]["transcript"]:
        for part in call["said"][1]["parts"]:
            if isinstance(part, dict):
                made = compose(part["image"], lambda *_: black(64, 36), lambda _: black(224, 224))
                assert list(made.pixels.shape[1::-1]) == part["size"]
                kinds.add("|" in part["image"] or part["image"].split()[0].partition("_")[0])
    assert kinds == {"robot", "goal", True}


def test_the_latest_are_all_of_them_while_there_are_few() -> None:
    for have in range(12):
        items = list(range(have))
        assert [len(latest(items, count)) for count in (0, 6, 9)] == [0, min(have, 6), min(have, 9)]
        assert latest(items, 6) == items[-6:]


def test_robots_remember_as_many_places_as_they_should() -> None:
    team: Any = SimpleNamespace(config=LaviraM3Config(waypoints=8))
    brain = Brain(team, 0)
    for step in range(14):
        pose = Pose(3.0 * step, 0.0, 0.0)
        team.shared = SimpleNamespace(poses=[pose])
        brain._remember([view(pose=pose)])
        assert len(brain.spots) == min(step + 1, 9)  # eight to go back to, and where it is
    assert [spot.name for spot in brain.spots] == [f"place_{n}" for n in range(5, 14)]


def test_robots_are_told_of_their_last_decisions(play_rooms: Play) -> None:
    record = play_rooms(LaviraM3Policy(), 3)
    calls = [c for c in record.method_record["vlm"]["transcript"] if c["level"] == language.LEVEL]
    counts = set()
    for call, text in zip(calls, told(record, language.LEVEL)):
        lines = text.partition("Your last decisions:\n")[2].splitlines()
        shown = sum(line.startswith("step ") for line in lines)
        done = [
            d
            for d in record.method_record["decisions"]
            if f"robot_{d['robot']}" == call["by"] and d["action"] != "backtrack"
        ]
        before = sum(d["until"] <= call["step"] and d["step"] < call["step"] for d in done)
        assert shown >= min(before, 6)
        counts.add(shown)
    assert {4, 5, 6} <= counts
