"""Starts, viewpoints and distances of an episode, checked by questions to the navigator alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from hm3dm3_env.episodes.audit.findings import Report, Settings
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.embedded import EmbeddedSimulator

TOLERANCE = 2e-3
"""Lengths in files are rounded to 0.1 mm and legs add up, metres (ours)."""
LEAST_GAP = 0.5
"""Starts are never nearer than this, however small the floor, metres (ours)."""
TIE = 1e-4
"""Viewpoints whose distances differ by less than this may be taken for one another, metres (ours)."""
CLEAR = 0.2
"""Starts that are too near count as a fault where others could be farther apart by this much more, metres
(ours)."""
SEARCH_CELL, SEARCH_PLACES = 0.5, 240
"""Grid on which better starts are looked for, metres, and how many places of it at most (ours)."""


class PlaceCheck:
    """Checks of the episodes of one scene; what is asked twice is worked out once."""

    def __init__(self, sim: EmbeddedSimulator, settings: Settings, report: Report) -> None:
        self.sim, self.settings, self.report = sim, settings, report
        self.navigator = sim.navigator
        self.bad: set[tuple[int, int]] = set()
        """(object, viewpoint) that are no places to look from."""
        self._done: set[tuple[int, int]] = set()

    def check(self, episode: Episode) -> dict[str, float | list[float]]:
        """Check one episode; returns its distances for the figures."""
        floors = self.navigator.floors
        if episode.floor >= len(floors) or abs(floors[episode.floor] - episode.floor_height) > 0.02:
            listed = ", ".join(f"{height:.2f}" for height in floors)
            self._add(
                "floor",
                episode,
                "floor",
                f"floor {episode.floor} at {episode.floor_height:g} m is not one of the scene's ({listed} m)",
            )
            return {}
        starts = np.array([pose.position for pose in episode.starts])
        standing = self._starts(episode, starts)
        self._viewpoints(episode, starts, standing)
        return {
            **self._distances(episode, starts),
            **self._separation(episode, starts),
            "makespan": episode.makespan,
        }

    def _add(self, kind: str, episode: Episode, where: str, text: str) -> None:
        self.report.add(kind, episode.id, where, text)

    def _starts(self, episode: Episode, starts: np.ndarray) -> bool:
        """Whether all starts are places to stand; and whether they share one island of enough size."""
        good = True
        for k, (pose, point) in enumerate(zip(episode.starts, starts)):
            where = f"starts.{k}.position"
            if not self.navigator.is_navigable(point):
                self._add("start", episode, where, f"nobody can stand at {_at(point)}")
                good = False
            elif self.navigator.floor_of(point) != episode.floor:
                floor = self.navigator.floor_of(point)
                self._add("start", episode, where, f"is on floor {floor}, not {episode.floor}")
                good = False
            if abs(pose.pitch) > 1e-3:
                self._add(
                    "start",
                    episode,
                    f"starts.{k}.rotation",
                    f"pitch is {np.degrees(pose.pitch):.1f} degrees, not 0",
                )
        if good:
            islands = [self.navigator.island(point) for point in starts]
            if len(set(islands)) > 1:
                self._add("island", episode, "starts", f"starts are on islands {islands}")
            radius, least = self.navigator.island_radius(starts[0]), self.settings.sampling.min_island_radius
            if radius < least:
                self._add(
                    "island", episode, "starts", f"the island's radius is {radius:.2f} m, below {least:g}"
                )
        return good

    def _viewpoints(self, episode: Episode, starts: np.ndarray, standing: bool) -> None:
        """Standable, on the floor and its island, near the object's box; once an object and island."""
        island = self.navigator.island(starts[0]) if standing else 0
        for j, goal in enumerate(episode.goals):
            for identity in goal.acceptable:
                item = self.sim.scene.instances.get(identity)
                if item is None or (identity, island) in self._done:
                    continue
                self._done.add((identity, island))
                for v, point in enumerate(episode.objects[identity].viewpoints):
                    fault = None if (identity, v) in self.bad else self._fault(episode, item, point, island)
                    if fault is not None:
                        self.bad.add((identity, v))
                        self._add(
                            fault[0], episode, f"goals.{j}: objects.{identity}.viewpoints.{v}", fault[1]
                        )

    def _fault(
        self, episode: Episode, item: Instance, point: np.ndarray, island: int
    ) -> tuple[str, str] | None:
        """Kind and text of what is wrong with a viewpoint; island 0 is not compared."""
        if not self.navigator.is_navigable(point):
            return "viewpoint", f"nobody can stand at {_at(point)}"
        if self.navigator.floor_of(point) != episode.floor:
            return "viewpoint", f"is not on floor {episode.floor}"
        if island and self.navigator.island(point) != island:
            return "island", f"is on island {self.navigator.island(point)}, the starts on {island}"
        beside = [max(item.low[axis] - point[axis], 0.0, point[axis] - item.high[axis]) for axis in (0, 2)]
        gap, reach = float(np.hypot(*beside)), self.settings.goals.viewpoint_reach
        if gap > reach + TOLERANCE:
            return "viewpoint", f"{gap:.2f} m from the object's box, more than {reach:g}"
        return None

    def _distances(self, episode: Episode, starts: np.ndarray) -> dict[str, float | list[float]]:
        """Reach, range and height of every way from a start to a goal; then d*."""
        sampling = self.settings.sampling
        table = np.stack([self.navigator.distance(starts, seen) for seen in episode.viewpoints], 1)
        for k, j in product(range(len(starts)), range(len(episode.goals))):
            where = f"goals.{j} from starts.{k}"
            if not np.isfinite(table[k, j]):
                self._add("unreachable", episode, where, "there is no way")
                continue
            if not sampling.viewpoint_gap - TOLERANCE <= table[k, j] <= sampling.max_distance + TOLERANCE:
                self._add(
                    "distance",
                    episode,
                    where,
                    f"{table[k, j]:.2f} m, not {sampling.viewpoint_gap:g} to {sampling.max_distance:g}",
                )
            heights = self.navigator.path(starts[k], episode.viewpoints[j])[:, 1]
            if np.ptp(heights) > sampling.max_height_span + TOLERANCE:
                self._add(
                    "height span",
                    episode,
                    where,
                    f"{np.ptp(heights):.2f} m, more than {sampling.max_height_span:g}",
                )
        if np.isfinite(table).all():
            self._makespan(episode, starts)
        return {"distances": [round(float(d), 3) for d in table.ravel() if np.isfinite(d)]}

    def _makespan(self, episode: Episode, starts: np.ndarray) -> None:
        low, high = brute_force(Legs(self.sim, episode), len(starts))
        if not low - TOLERANCE <= episode.makespan <= high + TOLERANCE:
            found = f"{low:.4f}" if high - low < TIE else f"{low:.4f} to {high:.4f}"
            self._add(
                "makespan", episode, "makespan", f"is {episode.makespan:.4f} m, brute force finds {found}"
            )
        elif episode.makespan < self.settings.sampling.min_makespan - TOLERANCE:
            self._add(
                "makespan",
                episode,
                "makespan",
                f"is {episode.makespan:.2f} m, below {self.settings.sampling.min_makespan:g}",
            )

    def _separation(self, episode: Episode, starts: np.ndarray) -> dict[str, float | list[float]]:
        """The smallest distance between two starts, and whether the floor has room for a larger one."""
        if len(starts) < 2:
            return {}
        gaps = np.stack([self.navigator.distance(starts, point[None]) for point in starts])
        nearest = float(gaps[~np.eye(len(starts), dtype=bool)].min())
        wanted = self.settings.sampling.separation
        if nearest < LEAST_GAP - TOLERANCE:
            self._add(
                "separation",
                episode,
                "starts",
                f"two starts are {nearest:.2f} m apart, less than {LEAST_GAP:g}",
            )
        elif nearest < wanted - TOLERANCE:
            better = self._apart(episode, len(starts), wanted + CLEAR)
            if better is not None:
                self._add(
                    "separation",
                    episode,
                    "starts",
                    f"two starts are {nearest:.2f} m apart, less than {wanted:g}, "
                    f"though the floor has room: {', '.join(_at(point) for point in better)}",
                )
        return {"gap": round(nearest, 3)}

    def _apart(self, episode: Episode, count: int, wanted: float) -> np.ndarray | None:
        """(count, 3) places on a grid that keep all distances and are `wanted` apart; None: not found."""
        places = self._grid(episode)
        for seen in episode.viewpoints:
            if len(places):
                away = self.navigator.distance(places, seen)
                sampling = self.settings.sampling
                places = places[(away >= sampling.viewpoint_gap) & (away <= sampling.max_distance)]
        if len(places) < count:
            return None
        places = places[np.linspace(0, len(places) - 1, min(len(places), SEARCH_PLACES)).astype(int)]
        far = np.stack([self.navigator.distance(places, point[None]) for point in places]) >= wanted
        chosen = _clique(far, count, [], np.ones(len(places), bool))
        return None if chosen is None else places[chosen]

    def _grid(self, episode: Episode) -> np.ndarray:
        """(P, 3) places to stand on the starts' island, a grid of `SEARCH_CELL`."""
        corners = self.sim.scene.triangles.reshape(-1, 3)
        low, high = corners.min(0), corners.max(0)
        island = self.navigator.island(episode.starts[0].position)
        found = [
            np.array([x, episode.floor_height, z])
            for x in np.arange(low[0] + SEARCH_CELL / 2, high[0], SEARCH_CELL)
            for z in np.arange(low[2] + SEARCH_CELL / 2, high[2], SEARCH_CELL)
        ]
        good = [
            p
            for p in found
            if self.navigator.is_navigable(p)
            and self.navigator.floor_of(p) == episode.floor
            and self.navigator.island(p) == island
        ]
        return np.array(good).reshape(-1, 3)


class Legs:
    """Distances between an episode's places, each asked for backwards: from all viewpoints to the place."""

    def __init__(self, sim: EmbeddedSimulator, episode: Episode) -> None:
        self.navigator, self.episode = sim.navigator, episode
        self._known: dict[tuple[int, int, int], list[tuple[float, int]]] = {}

    def _point(self, goal: int, index: int) -> np.ndarray:
        return self.episode.starts[index].position if goal < 0 else self.episode.viewpoints[goal][index]

    def to(self, place: tuple[int, int], goal: int) -> list[tuple[float, int]]:
        """(metres, viewpoint) of the goal's viewpoints that are nearest to a place; ties within `TIE` too.

        A place is (goal, viewpoint), or (-1, start)."""
        key = (*place, goal)
        if key not in self._known:
            away = self.navigator.distance(self.episode.viewpoints[goal], self._point(*place)[None])
            near = np.flatnonzero(away <= away.min() + TIE)
            self._known[key] = [(float(away[v]), int(v)) for v in near]
        return self._known[key]

    @property
    def goals(self) -> int:
        """How many goals there are."""
        return len(self.episode.goals)


def tour_lengths(legs: Legs, place: tuple[int, int], left: frozenset[int]) -> tuple[float, float]:
    """Shortest and longest length of the open nearest-neighbour tours over the goals left; they differ only
    where several viewpoints or goals are equally near."""
    if not left:
        return 0.0, 0.0
    options = [(length, (goal, v)) for goal in sorted(left) for length, v in legs.to(place, goal)]
    nearest = min(length for length, _ in options)
    ends = [
        (length, *tour_lengths(legs, there, left - {there[0]}))
        for length, there in options
        if length <= nearest + TIE
    ]
    return min(a + b for a, b, _ in ends), max(a + c for a, _, c in ends)


def brute_force(legs: Legs, agents: int) -> tuple[float, float]:
    """d* in metres, as the smallest and largest value that ties allow: all agents**goals assignments."""
    known: dict[tuple[int, frozenset[int]], tuple[float, float]] = {}
    best = (np.inf, np.inf)
    for owner in product(range(agents), repeat=legs.goals):
        ends = []
        for k in range(agents):
            mine = frozenset(j for j, agent in enumerate(owner) if agent == k)
            if (k, mine) not in known:
                known[k, mine] = tour_lengths(legs, (-1, k), mine)
            ends.append(known[k, mine])
        best = (min(best[0], max(low for low, _ in ends)), min(best[1], max(high for _, high in ends)))
    return float(best[0]), float(best[1])


def _clique(far: np.ndarray, count: int, chosen: Sequence[int], open_: np.ndarray) -> list[int] | None:
    """`count` indices that are far from each other, or None."""
    if len(chosen) == count:
        return list(chosen)
    for i in np.flatnonzero(open_):
        if not chosen or i > chosen[-1]:
            found = _clique(far, count, [*chosen, int(i)], open_ & far[i])
            if found is not None:
                return found
    return None


def _at(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in point) + ")"
