"""One robot of a LaViRA-M3 team: look, decide, point, go; and the gate before a declaration.

A brain is a generator. It yields a `Question` and gets the answer (or the error in its place), an action and
goes on at the next step, or `LATER` where it waits for what its teammates say at the same step.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from hm3dm3_env.geometry import Pose, plan
from hm3dm3_env.task import WAIT, declare
from hm3dm3_env.vlm.config import VlmError
from hm3dm3_env.vlm.pictures import photos
from policies.lavira_m3 import division, identity, language, vision
from policies.lavira_m3.board import Dismissed
from policies.lavira_m3.language import Decision, Place, Situation
from policies.lavira_m3.robot import ARRIVED, BLOCKED, FREE, LATE, STUCK, gap, go, turn_to
from policies.lavira_m3.team import Team
from policies.lavira_m3.views import NAMES, View
from policies.lavira_m3.vision import Target
from policies.planner import LEFT

T = TypeVar("T")
LATER = "later"
UNFINISHED = "not finished"
Life = Generator[Any, Any, Any]
APART = 1.5
"""Places where a robot decided are kept when they are this far apart, metres (ours)."""
IDLE = 3
"""After so many decisions in a row that lead to no action, a robot goes to the nearest unexplored place
(ours)."""
LOOKS = 3
"""So often a robot tries to get within the gate's depth of what it inspects (ours)."""
AROUND = 1.0
"""Frontiers within this of a turn-around, or of where a robot arrived, were looked at, metres (ours)."""


@dataclass
class _Spot:
    """A place where a robot decided, with what it saw there."""

    name: str
    point: np.ndarray
    views: list[View]


@dataclass
class Brain:
    """The mind of one robot for one episode; see `life`."""

    team: Team
    agent: int
    history: list[str] = field(default_factory=list)
    spots: list[_Spot] = field(default_factory=list)
    around: list[View] = field(default_factory=list)
    """The views of the robot's last turn-around."""
    entry: dict[str, Any] | None = None
    """Of the record: the robot's latest decision."""
    _named: int = 0

    # -- the loop ------------------------------------------------------------------------------------------

    def life(self) -> Life:
        """The robot's whole episode."""
        team, config, idle = self.team, self.team.config, 0
        if config.first_turn:
            yield from self._turn_around()
        if config.assignment == "fixed":
            yield from self._divide()
        while True:
            if not team.board.wanted(self.agent):
                yield WAIT
                continue
            started = team.shared.step
            found = None if idle >= IDLE else (yield from self._decide())
            if found is None:
                entry = self._note("explore", None, "", "no usable answer: the nearest unexplored place", "")
                result = yield from self._fall_back(entry)
            else:
                chosen, views = found
                entry = self._note(chosen.action, chosen.goal, chosen.thing, chosen.reason, chosen.progress)
                result = yield from self._do(chosen, views, entry)
            entry |= {"result": result, "until": team.shared.step}
            took = team.shared.step - started
            idle = 0 if took else idle + 1
            what = entry["action"] if found is None else _summary(found[0], found[1])
            self.history.append(f"step {started}: {what} -> {result}, {took} steps")
            if idle > IDLE:  # nor did that: other views may help
                idle = 0
                yield LEFT

    @property
    def _pose(self) -> Pose:
        return self.team.shared.poses[self.agent]

    def _note(self, action: str, goal: int | None, thing: str, reason: str, progress: str) -> dict[str, Any]:
        """A new entry of the record."""
        step = self.team.shared.step
        entry = {
            "step": step, "robot": self.agent, "action": action, "goal": goal, "thing": thing,
            "reason": reason, "progress": progress, "target": None, "result": UNFINISHED, "until": step,
        }  # fmt: skip
        self.team.decisions.append(entry)
        self.entry = entry
        return entry

    def lasts(self) -> None:
        """A new step of the robot's: its decision lasts until then, unless it came to an end."""
        if self.entry is not None and self.entry["result"] == UNFINISHED:
            self.entry["until"] = self.team.shared.step

    def _look(self, name: str = NAMES[0]) -> View:
        return View(name, self.agent, self.team.shared.step, self.team.shared.frames[self.agent])

    def _views(self) -> list[View]:
        """What it decides on: a turn-around, where it has not moved since, else what is in front of it."""
        still = self.around and gap(self.around[0].frame.pose.position, self._pose.position) < 0.05
        return self.around if still else [self._look()]

    # -- deciding ------------------------------------------------------------------------------------------

    def _decide(self) -> Life:
        """Asks what to do: (decision, the views that it is about), or None without an answer. Going back to a
        place is asking again with what was seen there."""
        views = self._views()
        self._remember(views)
        situation = self._situation(views, True)
        chosen = yield from self._choose(situation)
        if chosen is None or chosen.action != "backtrack":
            return None if chosen is None else (chosen, views)
        name = situation.places[chosen.place].name
        spot = next(s for s in self.spots if s.name == name)
        self._note("backtrack", None, name, chosen.reason, chosen.progress)["result"] = "chose anew"
        chosen = yield from self._choose(self._situation(spot.views, False))
        return None if chosen is None else (chosen, spot.views)

    def _choose(self, situation: Situation) -> Life:
        """Asks once: the decision, of whose progress teammates hear; None without an answer."""
        answer = yield language.question(situation)
        if isinstance(answer, VlmError):
            return None
        chosen = language.decision(answer, situation)
        self.team.progress[self.agent] = chosen.progress
        return chosen

    def _situation(self, views: list[View], here: bool) -> Situation:
        team, shared, config = self.team, self.team.shared, self.team.config
        wanted = team.board.wanted(self.agent)
        places = []
        for spot in self.spots if here else []:
            if gap(spot.point, self._pose.position) >= APART:
                places.append(Place(spot.name, spot.point, team.ends_of(spot.views) if config.ends else None))
        return Situation(
            robot=self.agent,
            step=shared.step,
            pose=self._pose,
            actions_left=shared.actions_left[self.agent],
            camera=shared.camera,
            views=views,
            ends=[team.ends_in(view) for view in views],
            board=team.board.lines(self.agent),
            wanted=wanted,
            photos=photos(shared.goals, wanted),
            teammates=team.teammates(self.agent),
            history=latest(self.history, config.history),
            places=places,
            turn=here and len(views) == 1,
        )

    def _remember(self, views: list[View]) -> None:
        """Keep where the robot decides, and what it sees there."""
        here = self._pose.position
        near = [spot for spot in self.spots if gap(spot.point, here) < APART]
        if near:
            if len(views) >= len(near[0].views):
                near[0].point, near[0].views = here, views
            return
        self.spots.append(_Spot(f"place_{self._named}", here, views))
        self._named += 1
        self.spots = latest(self.spots, self.team.config.waypoints + 1)  # where it is now is not on offer

    # -- doing ---------------------------------------------------------------------------------------------

    def _do(self, chosen: Decision, views: list[View], entry: dict[str, Any]) -> Life:
        """Carries a decision out; returns how it ended."""
        if chosen.action == "turn_around":
            yield from self._turn_around()
            return "looked in four directions"
        assert chosen.view is not None
        view = views[chosen.view]
        if chosen.action == "inspect":
            assert chosen.goal is not None
            self.team.board.claim(self.agent, chosen.goal, self.team.shared.step)
            result = yield from self._inspect(view, chosen, entry)
            self.team.board.claim(self.agent, None, self.team.shared.step)
            return result
        return (yield from self._advance(view, chosen, entry))

    def _advance(self, view: View, chosen: Decision, entry: dict[str, Any]) -> Life:
        """Explores, or goes to something that leads on. An unexplored place that this does not get rid of,
        since nothing leads there or nothing more is seen of it from nearby, counts as explored."""
        team, explores = self.team, chosen.action == "explore"
        ends = team.ends_in(view)
        target = yield from self._point_at(view, vision.way_on(ends) if explores else _meant(chosen), True)
        share = 0.5 if target is None else (target.box[0] + target.box[2]) / 2 / view.frame.camera.width
        if explores and ends:
            share = ends[0][0]
        meant = team.end_towards(view, share)
        result = "nothing to go to was found in the picture"
        if target is not None:
            result = yield from self._go(target.point, entry, team.config.arrive, 0.5)
        if meant is not None:
            here = gap(meant, self._pose.position) < AROUND
            if here or result not in (ARRIVED, LATE):
                team.give_up(meant, team.config.frontiers.done_radius)
        return result

    def _go(self, point: np.ndarray, entry: dict[str, Any], near: float, slack: float) -> Life:
        """Goes to a place; what cannot be reached does not count as unexplored any more."""
        team, walker = self.team, self.team.walker
        entry["target"] = plan(point)
        team.going[self.agent] = point
        ended = yield from go(walker, self.agent, point, near, slack, team.config.steps)
        team.going.pop(self.agent, None)
        if ended in (BLOCKED, STUCK):
            team.give_up(point, team.config.frontiers.done_radius)
        return ended

    def _fall_back(self, entry: dict[str, Any]) -> Life:
        """To the nearest unexplored place, without the model; where it can get to none, a few turns and a
        step bring it to other views."""
        point = self.team.nearest_end(self.agent)
        self.team.fallbacks += 1
        if point is None:
            yield from FREE
            return "nothing unexplored can be reached: turned and took a step"
        ended = yield from self._go(point, entry, self.team.config.arrive, 0.5)
        if ended == ARRIVED:
            yield from self._turn_around()
        return ended

    def _turn_around(self) -> Life:
        """Three quarter turns to the left, and what is seen from each."""
        quarter = max(1, round(90 / self.team.shared.body.turn_deg))
        views = [self._look()]
        for name in NAMES[1:]:
            for _ in range(quarter):
                yield LEFT
            views.append(self._look(name))
        self.around = views
        self.team.looked.append(self._pose.position)
        self.team.give_up(self._pose.position, AROUND)

    def _point_at(self, view: View, meant: str, floor: bool = False) -> Life:
        """Asks where in a view something is; the place that depth gives, or None."""
        answer = yield vision.question(view, self.team.shared.step, meant)
        box = None if isinstance(answer, VlmError) else vision.box_of(answer, view.frame)
        if box is None:
            return None
        if floor:
            return vision.floor_at(view.frame, box)
        return vision.thing_at(view.frame, box, self.team.config.part == "nearest")

    # -- the gate ------------------------------------------------------------------------------------------

    def _inspect(self, view: View, chosen: Decision, entry: dict[str, Any]) -> Life:
        """Goes near a thing, judges it, and declares it if it is the goal; returns how it ended."""
        team, config = self.team, self.team.config
        goal, gates = chosen.goal, self.team.gates
        assert goal is not None
        target: Target | None = yield from self._point_at(view, _meant(chosen))
        if target is None:
            gates.lost += 1
            return f"the {chosen.thing} was not found in the picture, or out of the range of depth"
        near, looks = config.near, 0
        while view.frame.pose != self._pose or target.depth > config.gate_depth:
            if looks == LOOKS:
                gates.lost += 1
                return f"could not get near the {chosen.thing}"
            looks += 1
            ended = yield from self._approach(target.point, goal, entry, near)
            if ended is not None:
                gates.found += ended == _FOUND
                gates.lost += ended not in (_FOUND, LATE)
                return ended
            view = self._look()
            seen = yield from self._point_at(view, f"the {chosen.thing}, near the middle of the picture")
            if seen is None:
                gates.lost += 1
                return f"lost the {chosen.thing} from sight"
            target, near = seen, max(near - 0.5, config.stop)
        answer = yield identity.question(view, team.shared.step, target.box, goal, team.shared.goals[goal])
        if isinstance(answer, VlmError):
            return "no judgement"
        verdict = identity.verdict(answer)
        passes = verdict.passes(config.confident)
        gates.judged += 1
        gates.passed += passes
        gates.declined += not passes
        if not passes:
            team.board.dismissed.append(Dismissed(goal, chosen.thing, target.point, self.agent))
            return f"judged not to be goal_{goal}"
        if config.walk_in:
            yield from self._approach(target.point, goal, entry, config.stop)
        if goal not in team.board.wanted(self.agent):  # by a teammate, on the way or at this very step
            gates.found += 1
            return _FOUND
        before = team.board.declared.setdefault(goal, [])
        if before:
            gates.repeated += 1
            entry["no_effect"] = f"robot_{before[0]} had declared goal_{goal}"
        before.append(self.agent)
        entry["result"] = f"declared goal_{goal}"  # this may be the episode's last step
        yield declare(goal)
        return entry["result"]

    def _approach(self, point: np.ndarray, goal: int, entry: dict[str, Any], near: float) -> Life:
        """Goes near a thing and faces it: None when it is there, else why it is not. It ends early when the
        goal is found elsewhere, as far as the robot knows."""
        entry["target"] = plan(point)
        way = go(self.team.walker, self.agent, point, near, 1.2, 2 * self.team.config.steps)
        while True:
            try:
                action = next(way)
            except StopIteration as stop:
                ended: str = stop.value
                break
            if goal not in self.team.board.wanted(self.agent):
                return _FOUND
            yield action
        if ended != ARRIVED:
            return ended
        yield from turn_to(self.team.walker, self.agent, point)
        return None

    # -- fixed assignment ----------------------------------------------------------------------------------

    def _divide(self) -> Life:
        """Says how likely each goal is near here, and waits until the goals are divided."""
        team, goals = self.team, self.team.shared.goals
        views = self._views()
        shown = photos(goals, range(len(goals)))
        step, lines = team.shared.step, team.board.lines(self.agent)
        answer = yield division.question(views, team.shared.camera, step, lines, shown)
        said = None if isinstance(answer, VlmError) else answer
        team.likely[self.agent] = division.chances(said, len(goals))
        while not team.board.own:
            living = {k for k, alive in enumerate(team.shared.alive) if alive}
            if living <= team.likely.keys():
                team.board.own = division.divide({k: team.likely[k] for k in living}, len(goals))
            else:
                yield LATER


_FOUND = "a teammate found it"


def latest(items: list[T], count: int) -> list[T]:
    """The last `count` of some things, all of them where there are fewer."""
    return items[max(len(items) - count, 0) :]


def _meant(chosen: Decision) -> str:
    """A thing in words for who points at it."""
    side = f", in the {chosen.where} of the picture" if chosen.where else ""
    return f"the {chosen.thing}{side}"


def _summary(chosen: Decision, views: list[View]) -> str:
    """A decision in a few words."""
    if chosen.action == "turn_around":
        return "turn_around"
    assert chosen.view is not None
    thing = f" the {chosen.thing}" if chosen.thing else ""
    goal = "" if chosen.goal is None else f" for goal_{chosen.goal}"
    return f"{chosen.action}{thing}{goal}, view {views[chosen.view].name}"
