"""Descriptions of one instance, built from predicates and proven unique by evaluating them on every
instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hm3dm3_env.scenes.hm3dsem import Instance

NEXT_TO = 0.6
"""Two objects are next to each other when their boxes are this close in the plane, metres (ours)."""
SIZE_MARGIN = 1.25
"""The largest of a category is this much larger (by volume) than the second, likewise the smallest (ours)."""
MAX_PREDICATES = 3
"""Predicates beside the category in one description (ours)."""
_LANDMARK_MIN = 0.35
"""Neighbours smaller than this make poor landmarks, metres (ours)."""


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
    return any(o.id != item.id and o.category == value and _gap(item, o) <= NEXT_TO and not _rests_on(item, o)
               and item.low[1] < o.high[1] + 0.3 and o.low[1] < item.high[1] + 0.3 for o in floor)


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
    return mine >= max(others) * SIZE_MARGIN if value == "largest" else mine * SIZE_MARGIN <= min(others)


_CHECKS = {
    "category": lambda item, value, floor: item.category == value,
    "colour": lambda item, value, floor: item.colour == value,
    "material": lambda item, value, floor: item.material == value,
    "room": lambda item, value, floor: item.room == value,
    "size": _size, "next_to": _next_to, "on": _on,
}


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
        elif other.size.max() >= _LANDMARK_MIN and _next_to(item, other.category, floor):
            found.append(Predicate("next_to", other.category))
    if item.room:
        found.append(Predicate("room", item.room))
    return list(dict.fromkeys(found))


def satisfying(predicates: Sequence[Predicate], floor: Sequence[Instance]) -> list[int]:
    """Ids of all instances of the floor of which every predicate is true."""
    return [item.id for item in floor if all(p.holds(item, floor) for p in predicates)]


def describe(item: Instance, floor: Sequence[Instance], rng: np.random.Generator) -> Description | None:
    """A description that is true of `item` alone, with as few predicates as possible but at least one.

    Returns None where three predicates do not tell it apart.
    """
    category = Predicate("category", item.category)
    true_of_it = statements(item, floor)
    for count in range(1, MAX_PREDICATES + 1):
        options = [
            group
            for group in combinations(true_of_it, count)
            if len({p.kind for p in group}) == count and satisfying([category, *group], floor) == [item.id]
        ]
        if options:
            group = options[rng.integers(len(options))]
            extra = [
                p for p in true_of_it if p.kind in ("colour", "room") and all(p.kind != q.kind for q in group)
            ]
            if count == 1 and extra and rng.random() < 0.7:  # people say more than they must
                group = (*group, extra[rng.integers(len(extra))])
            return Description(_sentence(item.category, group, rng), (category, *group))
    return None


def article(phrase: str) -> str:
    """The phrase with "a" or "an" before it."""
    return (
        "an "
        if phrase[:1].lower() in "aeiou" and not phrase.startswith(("uni", "use", "eu", "one"))
        else "a "
    ) + phrase


def _sentence(category: str, group: Sequence[Predicate], rng: np.random.Generator) -> str:
    said = {p.kind: p.value for p in group}
    words = [said[kind] for kind in ("size", "colour", "material") if kind in said]
    noun = " ".join([*words, category])
    places = []
    if "on" in said:
        places.append(f"on the {said['on']}" if rng.random() < 0.5 else f"on top of the {said['on']}")
    if "next_to" in said:
        verb = ("next to", "beside", "close to")[rng.integers(3)]
        places.append(f"{verb} {article(said['next_to'])}")
    if "room" in said:
        places.append(f"in the {said['room']}")
    opening = ("the", "find the", "look for the")[rng.integers(3)]
    return " ".join([opening, noun, *places])
