"""Descriptions, proved again: the stored predicates are read by rules of their own and tried on every object.

What the predicates mean is part of the format, so the distances are those of `describe`; the code is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hm3dm3_env.episodes.audit.reading import forms, read
from hm3dm3_env.episodes.describe import NEXT_TO, SIZE_MARGIN
from hm3dm3_env.scenes.hm3dsem import Instance

SLACK = 1e-6
"""Boxes are exact; only rounding is forgiven, metres."""


class FloorBoxes:
    """The objects of one floor as arrays, for predicates; `once` says which kinds and rooms it has alone."""

    def __init__(self, items: Sequence[Instance]) -> None:
        self.ids = [item.id for item in items]
        self.low = np.array([item.low for item in items]).reshape(-1, 3)
        self.high = np.array([item.high for item in items]).reshape(-1, 3)
        self.words = {
            kind: np.array([getattr(item, kind) for item in items], dtype=object)
            for kind in ("category", "colour", "material", "room")
        }
        self.volume = np.prod(self.high - self.low, 1)
        names = Counter((forms(item.category) or [item.category])[0] for item in items)
        rooms = Counter(room for room, _ in {(item.room, item.region) for item in items})
        self.once = {
            ("category", item.category): names[(forms(item.category) or [item.category])[0]] == 1
            for item in items
        } | {("room", room): count == 1 for room, count in rooms.items()}

    def true_of(self, kind: str, value: str) -> np.ndarray:
        """(N,) bool: the objects of which a predicate is true.

        Raises:
            ValueError: an unknown kind, or a size that is neither largest nor smallest.
        """
        if kind in self.words:
            return np.array([word == value for word in self.words[kind]], bool)
        if kind == "next_to":
            return self._any(self._beside() & ~self._on(), value)
        if kind == "on":
            return self._any(self._on(), value)
        if kind == "size" and value in ("largest", "smallest"):
            return self._extreme(value == "largest")
        raise ValueError(f"unknown predicate {kind} {value!r}")

    def _any(self, relation: np.ndarray, category: str) -> np.ndarray:
        """Rows that have the relation to another object of a category."""
        relation = relation & (self.words["category"] == category)[None]
        np.fill_diagonal(relation, False)
        return np.asarray(relation.any(1))

    def _apart(self, axis: int) -> np.ndarray:
        """(N, N) distance between boxes along an axis."""
        low, high = self.low[:, axis], self.high[:, axis]
        return np.maximum(0.0, np.maximum(low[:, None] - high[None], low[None] - high[:, None]))

    def _beside(self) -> np.ndarray:
        level = self._apart(1) < 0.3 - SLACK
        return level & (self._apart(0) ** 2 + self._apart(2) ** 2 <= (NEXT_TO + SLACK) ** 2)

    def _on(self) -> np.ndarray:
        """(N, N): the row's middle is above the column's box, and it stands on its top."""
        middle = (self.low + self.high) / 2
        over = np.ones((len(self.ids),) * 2, bool)
        for axis in (0, 2):
            over &= (middle[:, None, axis] >= self.low[None, :, axis]) & (
                middle[:, None, axis] <= self.high[None, :, axis]
            )
        bottom = self.low[:, None, 1]
        return over & (abs(bottom - self.high[None, :, 1]) < 0.12) & (bottom > self.low[None, :, 1] + 0.2)

    def _extreme(self, largest: bool) -> np.ndarray:
        result = np.zeros(len(self.ids), bool)
        for name in set(self.words["category"]):
            mine = np.flatnonzero(self.words["category"] == name)
            if len(mine) < 2:
                continue
            order = mine[np.argsort(self.volume[mine])]
            first, second = (order[-1], order[-2]) if largest else (order[0], order[1])
            ratio = self.volume[[first, second]]
            result[first] = ratio.max() >= ratio.min() * SIZE_MARGIN * (1 - SLACK)
        return result


def description_faults(
    floor: FloorBoxes, target: int, category: str, text: str, predicates: Sequence[tuple[str, str]]
) -> list[str]:
    """What is wrong with a description of object `target`, one sentence each."""
    said = read(text, category, predicates, floor.once)
    faults = predicate_faults(floor, target, category, predicates)
    faults += [f"the text leaves out {kind} {value!r}" for kind, value in said.missing]
    if said.rest:
        faults.append(f"the text says {' '.join(said.rest)!r}, the predicates don't")
    return faults + [f"the text is no good English: {fault}" for fault in said.faults]


def predicate_faults(
    floor: FloorBoxes, target: int, category: str, predicates: Sequence[tuple[str, str]]
) -> list[str]:
    """What is wrong with the predicates themselves: they must be true of object `target` alone."""
    faults = []
    if ("category", category) not in predicates:
        faults.append(f"predicates don't name the category {category!r}")
    if len(predicates) < 2:
        faults.append("nothing is said beside the category")
    possible = np.ones(len(floor.ids), bool)
    for kind, value in predicates:
        try:
            possible &= floor.true_of(kind, value)
        except ValueError as error:
            faults.append(str(error))
    fitting = [identity for identity, good in zip(floor.ids, possible) if good]
    if fitting != [target]:
        faults.append(f"predicates are true of objects {fitting}, not of {target} alone")
    return faults
