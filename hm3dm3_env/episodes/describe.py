"""Descriptions of one instance, built from predicates and proven unique by evaluating them on every
instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hm3dm3_env.episodes.english import spoken
from hm3dm3_env.episodes.wording import TEMPLATES, Alone, awkward, realise
from hm3dm3_env.scenes.hm3dsem import Instance

NEXT_TO = 0.6
"""Two objects are next to each other when their boxes are this close in the plane, metres (ours)."""
SIZE_MARGIN = 1.25
"""The largest of a category is this much larger (by volume) than the second, likewise the smallest (ours)."""
MAX_PREDICATES = 3
"""Predicates beside the category in one description (ours)."""
MAX_BYTES = 128
"""Longest text in UTF-8: what `observe.ObservationConfig.text_bytes` shows of it by default."""
_ROUNDING = 1e-6
"""Distances (metres) and ratios that differ by less are the same."""
_MORE = (0.7, 0.35)
"""How often a description states one fact more than it must, and another one (ours)."""
_LANDMARK_MIN = 0.35
"""Neighbours smaller than this make poor landmarks, metres (ours)."""
_FLAT = 0.1
"""Lower things that lie above or below another (a rug under a table) are not said to be next to it, metres
(ours)."""


@dataclass(frozen=True)
class Predicate:
    """A checkable statement about an instance: `kind` is category, colour, material, size, next_to, on or
    room."""

    kind: str
    value: str

    def holds(self, item: Instance, floor: Sequence[Instance]) -> bool:
        """Whether it is true of `item` among the instances of its floor."""
        return _CHECKS[self.kind](item, self.value, floor)


def _gap(a: Instance, b: Instance) -> float:
    """Distance between two boxes in the plane, metres."""
    gap = np.maximum(np.maximum(a.low - b.high, b.low - a.high), 0)
    return float(np.hypot(gap[0], gap[2]))


def _next_to(item: Instance, value: str, floor: Sequence[Instance]) -> bool:
    return any(o.id != item.id and o.category == value and _gap(item, o) <= NEXT_TO + _ROUNDING
               and not _rests_on(item, o) and _apart_vertically(item, o) < 0.3 - _ROUNDING for o in floor)


def _apart_vertically(a: Instance, b: Instance) -> float:
    return float(max(a.low[1] - b.high[1], b.low[1] - a.high[1], 0))


def _rests_on(item: Instance, other: Instance) -> bool:
    inside = (other.low[[0, 2]] <= item.center[[0, 2]]).all() and (
        item.center[[0, 2]] <= other.high[[0, 2]]
    ).all()
    return bool(inside and item.low[1] > other.low[1] + 0.2 and abs(item.low[1] - other.high[1]) < 0.12)


def _on(item: Instance, value: str, floor: Sequence[Instance]) -> bool:
    return any(o.id != item.id and o.category == value and _rests_on(item, o) for o in floor)


def _size(item: Instance, value: str, floor: Sequence[Instance]) -> bool:
    others = [float(np.prod(o.size)) for o in floor if o.category == item.category and o.id != item.id]
    mine = float(np.prod(item.size))
    if not others:
        return False
    margin = SIZE_MARGIN * (1 - _ROUNDING)
    return mine >= max(others) * margin if value == "largest" else mine * margin <= min(others)


_CHECKS = {
    "category": lambda item, value, floor: item.category == value,
    "colour": lambda item, value, floor: item.colour == value,
    "material": lambda item, value, floor: item.material == value,
    "room": lambda item, value, floor: item.room == value,
    "size": _size, "next_to": _next_to, "on": _on,
}


KINDS = tuple(_CHECKS)
"""All kinds of predicates."""


@dataclass(frozen=True)
class Description:
    """A text and the predicates that it states; together they are true of one instance of the floor only."""

    text: str
    predicates: tuple[Predicate, ...]


def statements(item: Instance, floor: Sequence[Instance]) -> list[Predicate]:
    """What can be truly said of an instance, beside its category."""
    found = []
    if item.colour:
        found.append(Predicate("colour", item.colour))
    if item.material:
        found.append(Predicate("material", item.material))
    found += [Predicate("size", value) for value in ("largest", "smallest") if _size(item, value, floor)]
    for other in sorted(floor, key=lambda o: (o.category, o.id)):
        if other.id == item.id or other.structure or other.category == item.category:
            continue
        if _rests_on(item, other):
            found.append(Predicate("on", other.category))
        elif _landmark(item, other) and _next_to(item, other.category, floor):
            found.append(Predicate("next_to", other.category))
    if item.room:
        found.append(Predicate("room", item.room))
    return list(dict.fromkeys(found))


def _landmark(item: Instance, other: Instance) -> bool:
    """Whether people would say where an item is by another thing that may be next to it."""
    over = _gap(item, other) == 0 and min(item.size[1], other.size[1]) < _FLAT
    seen = item.region == other.region and float(other.size.max()) >= _LANDMARK_MIN
    return seen and not over and not _rests_on(other, item)


def satisfying(predicates: Sequence[Predicate], floor: Sequence[Instance]) -> list[int]:
    """Ids of all instances of the floor of which every predicate is true."""
    return [item.id for item in floor if all(p.holds(item, floor) for p in predicates)]


def describe(
    item: Instance, floor: Sequence[Instance], rng: np.random.Generator, template: int | None = None
) -> Description | None:
    """A description that is true of `item` alone, with as few predicates as possible but at least one.

    `template` is the number of the sentence in `wording.TEMPLATES` (None: drawn). Returns None where three
    predicates do not tell it apart, or no good sentence of `MAX_BYTES` says them.
    """
    category = Predicate("category", item.category)
    true_of_it = statements(item, floor)
    # names that are said alike ("chair" and "chair /otherroom") are told apart too
    rivals = [other for other in floor if spoken(other.category) == spoken(item.category)]
    alone = alone_on(floor)
    number = int(rng.integers(len(TEMPLATES))) if template is None else template
    for worst in (0, 1):
        for count in range(1, MAX_PREDICATES + 1):
            options = [
                group
                for group in combinations(true_of_it, count)
                if len({p.kind for p in group}) == count
                and awkward(_said(category, group)) <= worst
                and [o.id for o in rivals if all(p.holds(o, floor) for p in group)] == [item.id]
            ]
            for i in rng.permutation(len(options)):
                group = _with_more(category, options[i], true_of_it, rng)
                text = realise(number, _said(category, group), alone, rng)
                if len(text.encode()) <= MAX_BYTES:
                    return Description(text, (category, *group))
    return None


def _with_more(
    category: Predicate,
    group: tuple[Predicate, ...],
    true_of_it: Sequence[Predicate],
    rng: np.random.Generator,
) -> tuple[Predicate, ...]:
    """People say more than they must: a group with a colour, material or room more, or two."""
    for chance in _MORE:
        extra = [
            p
            for p in true_of_it
            if p.kind in ("colour", "material", "room")
            and all(p.kind != q.kind for q in group)
            and not awkward(said := _said(category, [*group, p]))
            and not ("colour" in said and said.get("material", "").endswith(" wood"))  # a wood has its colour
        ]
        if len(group) < MAX_PREDICATES and extra and rng.random() < chance:
            group = (*group, extra[rng.integers(len(extra))])
    return group


def alone_on(floor: Sequence[Instance]) -> Alone:
    """The categories and the rooms that a floor has once: a sentence says "the" before them."""
    names = Counter(spoken(item.category) for item in floor)
    rooms = Counter(room for room, _ in {(item.room, item.region) for item in floor})
    return Alone(
        frozenset(item.category for item in floor if names[spoken(item.category)] == 1),
        frozenset(room for room, count in rooms.items() if count == 1),
    )


def _said(category: Predicate, group: Sequence[Predicate]) -> dict[str, str]:
    return {p.kind: p.value for p in (category, *group)}
