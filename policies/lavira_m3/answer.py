"""What the simulated model says to LaViRA-M3: it stands for a model that follows the instructions.

It reads the text of a request, as any model would, and in place of the picture it looks at the scene's truth
from where the text says that the picture was taken: which things a view shows, and where its floor is. It
knows nothing of what no view shows; it does not know homes, so that all unexplored places are alike to it. In
full (all numbers are ours):

- Language: a visible thing of a wanted goal's category may be that goal (a glance does not tell twins apart),
  unless it was dismissed or a teammate goes for the goal; the nearest one is inspected. Else the cheapest
  unexplored place wins: its metres, `AVOID` more where a teammate says that it goes, `LURE` less where a
  teammate says that it saw what may be a wanted goal, and `RETURN` more to think back to a place. Where no
  view shows an unexplored place, it turns around, goes back, or wanders. At the rate `wrong_direction` it
  takes any other way instead.
- Vision: the box of the thing of that name that is nearest to the place in the picture that was named; for
  the way on, a piece of floor as close to what is meant as the view shows any, or what is lowest there.
- Identity: the truth of the thing in the box. At the rate `wrong_identity`, drawn once an episode for a pair
  of goal and thing, a judgement is the wrong way round: the goal is not recognised, or a thing of its
  category, or one with a similar name (`ALIKE`), is taken for it, and looking again does not help.
- Division: 0.9 for a goal in sight, else more the more alike its name and those of visible things are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hm3dm3_env.episodes.describe import Predicate
from hm3dm3_env.episodes.schema import Goal
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged
from hm3dm3_env.sim.base import Frame
from hm3dm3_env.vlm.simulated import Answer, Heard
from policies.lavira_m3 import division, identity, language, vision
from policies.lavira_m3.language import NONE, SIDES
from policies.lavira_m3.robot import gap
from policies.lavira_m3.sight import (
    DOORS,
    NUMBER,
    PLACE,
    Seen,
    Thing,
    allowed,
    along,
    outside,
    things_in,
    truth_of,
    user_text,
    views_of,
)
from policies.text_similarity import TextSimilarity
from policies.visible import floor_instances

AVOID, LURE, RETURN, NEARBY = 4.0, 3.0, 3.0, 3.0
"""Metres: see the module; what is within NEARBY of a place counts as there."""
ALIKE = 0.6
"""Names from this similarity on can be taken for each other."""
FLAT = 0.12
"""What is within this of the floor's height is floor, metres."""
GIVE_UP = 2
"""After so many inspections for a goal that came to nothing, as far as the history goes, it is left alone."""
_similar = TextSimilarity()


@dataclass(frozen=True)
class _Way:
    """Somewhere to search: metres, view or place, and how far from the left edge."""

    cost: float
    view: Seen | None
    place: str
    share: float
    point: np.ndarray


# -- language ----------------------------------------------------------------------------------------------


def _language(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    truth, text = truth_of(heard), user_text(heard)
    me = re.search(rf"^You are robot_(\d+), at {PLACE}", text, re.MULTILINE)
    if me is None:
        raise ValueError("no robot says where it is")
    views = views_of(truth, text)
    told = _Told(heard, text, me[1])
    here = f"I am at x {float(me[2]):.1f}, z {float(me[3]):.1f}"
    names: set[str] = set()
    maybe: dict[int, np.ndarray] = {}
    best: tuple[int, Thing, Seen] | None = None
    things = [things_in(truth, view.frame) for view in views]
    for view, shown in zip(views, things):
        for thing in shown:
            names.add(thing.item.category)
            for j in told.wanted:
                if not told.may_be(j, truth.episode.goals[j], thing):
                    continue
                maybe.setdefault(j, thing.point)
                free = j not in told.claimed and told.failed[j] < GIVE_UP
                if free and (best is None or thing.metres < best[1].metres):
                    best = j, thing, view
    sights = [f"{here}, and I see {', '.join(sorted(names)) or 'nothing of note'}."]
    sights += [f"What may be goal_{j} is at {_at(point)}." for j, point in maybe.items()]
    if best is not None:
        j, thing, view = best
        going = f"I go for goal_{j}, to {_at(thing.point)}."
        return _answer("inspect", [*sights, going], "it may be the goal", view=view.name, goal=f"goal_{j}",
                       thing=thing.item.category, where=_side(thing.share))  # fmt: skip
    return _search(views, things, told, sights, rng)


def _search(
    views: Sequence[Seen],
    things: Sequence[Sequence[Thing]],
    told: _Told,
    sights: list[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Where to search, with nothing in sight to inspect; `things` are those of each view."""
    ways = []
    for view in views:
        for share, metres in view.ends:
            point = along(view.frame, share, metres)
            ways.append(_Way(metres + told.bias(point), view, NONE, share, point))
    turn = "turn_around" in allowed(told.heard)
    if turn and not ways:
        return _answer("turn_around", [*sights, "I look around."], "nothing unexplored in front of me")
    spots = rf"^(place_\d+) at {PLACE}, {NUMBER} m off: (\d+) unexplored"
    for name, x, z, metres, _ in re.findall(spots, told.text, re.MULTILINE):
        point = _point(x, z)
        ways.append(_Way(float(metres) + RETURN + told.bias(point), None, name, 0.5, point))
    if not ways:
        view = views[int(rng.integers(len(views)))]
        ways = [_Way(0.0, view, NONE, 0.5, along(view.frame, 0.5, 3.0))]
    ways.sort(key=lambda way: way.cost)
    pick = 0
    if rng.random() < told.heard.noise.wrong_direction and len(ways) > 1:
        pick = int(rng.integers(1, len(ways)))
    way = ways[pick]
    words = [*sights, f"I explore towards {_at(way.point)}."]
    if way.view is None:
        return _answer("backtrack", words, "more is unexplored there", place=way.place)
    for thing in things[views.index(way.view)]:
        if thing.item.category in DOORS and abs(thing.share - way.share) < 0.1:
            return _answer("go_to", words, "it leads on", view=way.view.name, thing=thing.item.category,
                           where=_side(thing.share))  # fmt: skip
    return _answer("explore", words, "the nearest unexplored place", view=way.view.name)


class _Told:
    """What the text of a language request says."""

    def __init__(self, heard: Heard, text: str, me: str) -> None:
        self.heard, self.text = heard, text
        board = re.findall(r"^goal_(\d+): .*; unresolved(?:, claimed by (.*))?$", text, re.MULTILINE)
        self.wanted = [int(j) for j, _ in board]
        self.claimed = {int(j) for j, by in board if set(re.findall(r"robot_(\d+)", by)) - {me}}
        gone = re.findall(rf"^not goal_(\d+): .* at {PLACE}, says", text, re.MULTILINE)
        self.dismissed = [(int(j), _point(x, z)) for j, x, z in gone]
        failed = re.findall(r"for goal_(\d+),.* -> (?:lost|blocked|stuck|could|the |ran)", text)
        self.failed = Counter(map(int, failed))
        mates = "\n".join(re.findall(r"^robot_\d+ at x .*$", text, re.MULTILINE))
        self.going = _places(rf"(?:towards|go for goal_\d+, to) {PLACE}", mates)
        lures = re.findall(rf"may be goal_(\d+) is at {PLACE}", mates)
        self.lures = [_point(x, z) for j, x, z in lures if self._free(int(j))]

    def _free(self, goal: int) -> bool:
        return goal in self.wanted and goal not in self.claimed

    def bias(self, point: np.ndarray) -> float:
        """Metres that what teammates say adds to the way to a place."""
        avoid = AVOID * any(gap(point, place) < NEARBY for place in self.going)
        return avoid - LURE * any(gap(point, place) < NEARBY for place in self.lures)

    def may_be(self, j: int, goal: Goal, thing: Thing) -> bool:
        """Whether a thing looks like a goal at a glance, and was not dismissed as it."""
        item = thing.item
        alike = item.category == goal.category or item.id in goal.acceptable
        if not alike and not (_confusable(goal, item) and _mistaken(self.heard, j, item)):
            return False
        return not any(other == j and outside(item, place) < 0.4 for other, place in self.dismissed)


# -- vision ------------------------------------------------------------------------------------------------


def _vision(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    truth, text = truth_of(heard), user_text(heard)
    (view,) = views_of(truth, text)
    meant = text.partition("What is meant: ")[2].rstrip(".")
    if meant.startswith(vision.FLOOR):
        box = _floor_box(view.frame, re.search(rf"towards (\d+)% of the width, {NUMBER} m", meant))
    else:
        box = _thing_box(truth, view.frame, meant)
    if box is None:
        return {"found": False, **dict.fromkeys(vision.SIDES, 0)}
    return {"found": True, **dict(zip(vision.SIDES, box))}


def _floor_box(frame: Frame, wish: re.Match[str] | None) -> tuple[int, ...] | None:
    """The piece of floor that is nearest to what is wished, else the farthest one. A narrow place shows no
    floor at all: then what is lowest in the picture in that direction."""
    rows, columns = np.nonzero(frame.depth > 0)
    if not len(rows):
        return None
    points = frame.points(rows, columns)
    gaps = np.hypot(points[:, 0] - frame.pose.x, points[:, 2] - frame.pose.z)
    floor = np.abs(points[:, 1] - frame.pose.y) < FLAT
    width, height = frame.camera.width, frame.camera.height
    share = 0.5 if wish is None else int(wish[1]) / 100
    if not floor.any():
        pick = int((np.abs((columns + 0.5) / width - share) + 1 - rows / height).argmin())
    elif wish is None:
        pick = int(np.where(floor, gaps, -1).argmax())
    else:
        aim = along(frame, share, float(wish[2]))
        off = np.hypot(points[:, 0] - aim[0], points[:, 2] - aim[2])
        pick = int(np.where(floor, off, np.inf).argmin())
    left, right = columns[pick] / width, (columns[pick] + 1) / width
    bottom = (rows[pick] + 1) / height
    return _box(left - 0.02, bottom - 0.03, right + 0.02, bottom)


def _thing_box(truth: Privileged, frame: Frame, meant: str) -> tuple[int, ...] | None:
    """The box of the thing of a name that is nearest to the part of the picture that is named."""
    name, _, where = meant.removeprefix("the ").partition(", ")
    aim = next((SIDES.index(side) / 3 + 1 / 6 for side in SIDES if side in where.split()), 0.5)
    fitting = [thing for thing in things_in(truth, frame) if thing.item.category == name]
    if not fitting:
        return None
    thing = min(fitting, key=lambda t: abs(t.share - aim))
    assert frame.semantic is not None
    rows, columns = np.nonzero((frame.semantic == thing.item.id) & (frame.depth > 0))
    width, height = frame.camera.width, frame.camera.height
    right, bottom = (columns.max() + 1) / width, (rows.max() + 1) / height
    return _box(columns.min() / width, rows.min() / height, right, bottom)


def _box(*sides: float) -> tuple[int, ...]:
    return tuple(int(round(min(max(side, 0.0), 1.0) * vision.SCALE)) for side in sides)


# -- identity ----------------------------------------------------------------------------------------------


def _identity(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    truth, text = truth_of(heard), user_text(heard)
    (view,) = views_of(truth, text)
    found = re.search(r"red frame: left (\d+), top (\d+), right (\d+), bottom (\d+)", text)
    about = re.search(r"^goal_(\d+) is ", text, re.MULTILINE)
    if found is None or about is None:
        raise ValueError("no goal or no frame is named")
    j, (left, top, right, bottom) = int(about[1]), (int(v) for v in found.groups())
    goal, item = truth.episode.goals[j], _framed(truth, view.frame, left, top, right, bottom)
    same = item is not None and _judged(heard, j, goal, item)
    held = {"kind": item is not None and (item.category == goal.category or same)}
    if goal.modality == "TN" and item is not None:
        floor = floor_instances(truth)
        predicates = [Predicate(kind, value) for kind, value in goal.predicates]
        own = {f"{p.kind} {p.value}": p.holds(item, floor) for p in predicates if p.kind != "category"}
        if same:
            own = dict.fromkeys(own, True)
        elif all(own.values()):  # the goal itself, not recognised
            own = dict.fromkeys(own, False)
        held |= own
    elif goal.modality == "IIN":
        held["the very same"] = same
    checks = [{"attribute": name, "holds": bool(holds)} for name, holds in held.items()]
    return {"checks": checks, "same": bool(same), "confidence": round(float(rng.uniform(0.75, 0.95)), 2)}


def _framed(truth: Privileged, frame: Frame, left: int, top: int, right: int, bottom: int) -> Instance | None:
    """The thing that most of the inner half of a frame shows."""
    assert frame.semantic is not None
    inset_x, inset_y = (right - left) // 4, (bottom - top) // 4
    inner = frame.semantic[top + inset_y : bottom - inset_y, left + inset_x : right - inset_x]
    things = truth.sim.scene.instances
    ids, counts = np.unique(inner, return_counts=True)
    known = [(count, i) for i, count in zip(ids, counts) if i in things and not things[i].structure]
    return things[max(known)[1]] if known else None


def _judged(heard: Heard, j: int, goal: Goal, item: Instance) -> bool:
    """Whether a thing is taken for a goal."""
    if item.id in goal.acceptable:
        return not _mistaken(heard, j, item)
    return _confusable(goal, item) and _mistaken(heard, j, item)


def _confusable(goal: Goal, item: Instance) -> bool:
    return not item.structure and _similar(goal.category, item.category) >= ALIKE


def _mistaken(heard: Heard, j: int, item: Instance) -> bool:
    """Whether the pair of a goal and a thing is one that is judged the wrong way round in this episode."""
    rng = np.random.default_rng([heard.seed, 41, j, item.id])
    return bool(rng.random() < heard.noise.wrong_identity)


# -- division ----------------------------------------------------------------------------------------------


def _division(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    truth, text = truth_of(heard), user_text(heard)
    seen = [thing.item for view in views_of(truth, text) for thing in things_in(truth, view.frame)]
    chances = {}
    for j in re.findall(r"^goal_(\d+): ", text, re.MULTILINE):
        goal = truth.episode.goals[int(j)]
        near = max((_similar(goal.category, item.category) for item in seen), default=0.0)
        sure = any(item.id in goal.acceptable for item in seen)
        chances[f"goal_{j}"] = 0.9 if sure else round(0.1 + 0.4 * near, 3)
    return chances


def _point(x: str, z: str) -> np.ndarray:
    return np.array([float(x), 0.0, float(z)])


def _places(pattern: str, text: str) -> list[np.ndarray]:
    return [_point(x, z) for x, z in re.findall(pattern, text)]


def _at(point: np.ndarray) -> str:
    return f"x {point[0]:.1f}, z {point[2]:.1f}"


def _side(share: float) -> str:
    return SIDES[min(int(share * 3), 2)]


def _answer(action: str, progress: Sequence[str], reason: str, **chosen: str) -> dict[str, Any]:
    rest = {name: chosen.get(name, NONE) for name in ("view", "goal", "thing", "where", "place")}
    return {"progress": " ".join(progress), "reason": reason, "action": action, **rest}


ANSWERS: dict[str, Answer] = {
    language.LEVEL: _language,
    vision.LEVEL: _vision,
    identity.LEVEL: _identity,
    division.LEVEL: _division,
}
"""What the simulated model says, by level."""
