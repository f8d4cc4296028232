"""Draw the episodes of one scene: goals of distinct categories, separated starts, and the oracle makespan."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hm3dm3_env.episodes.describe import describe
from hm3dm3_env.episodes.goals import GoalConfig, GoalFinder
from hm3dm3_env.episodes.wording import TEMPLATES
from hm3dm3_env.geometry import to_quaternion
from hm3dm3_env.oracle import reach_on, solve
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.embedded import EmbeddedSimulator

MODALITIES = ("ON", "TN", "IIN")
_LATTICE, _LATTICE_MOST = 6, 250
"""Where chance finds no separated starts, every sixth cell (0.3 m) is tried, and so many at most (ours)."""

TEMPLATE_GAP = 14
"""So many descriptions in a row have sentences of different templates (ours). An episode has three at most,
so that four episodes may be dropped between two that are then neighbours."""


@dataclass(frozen=True)
class SamplingConfig:
    """What an episode looks like. The paper's numbers unless marked."""

    agents: tuple[int, ...] = (2, 3, 4)
    goals: tuple[int, ...] = (3, 4, 5)
    separation: float = 3.0
    """Geodesic metres between starts where the floor allows (ours)."""
    viewpoint_gap: float = 1.0
    """Geodesic metres from every start to the nearest acceptable viewpoint, at least (ours, as HM3D-OVON's
    1 m)."""
    max_distance: float = 30.0
    """Geodesic metres from every start to every goal, at most (HM3D-OVON)."""
    min_island_radius: float = 1.5
    """Metres (HM3D-OVON)."""
    max_height_span: float = 0.25
    """Of the path from a start to a goal, metres: one floor (HM3D-OVON)."""
    min_makespan: float = 3.0
    """Episodes with a smaller d* are drawn again: 3 d* would leave no room to search (ours), metres."""
    tries: int = 40
    """Draws before an episode is given up (ours)."""


@dataclass(frozen=True)
class EpisodePlan:
    """What episode `index` of a split must be: K agents and one goal a modality in `modalities`.

    `templates` has the number of a sentence in `wording.TEMPLATES` for each goal that is a description, and
    -1, which stands for any, for the others.
    """

    index: int
    agents: int
    modalities: tuple[str, ...]
    templates: tuple[int, ...] = ()


def plan_split(seed: int, episodes: int, config: SamplingConfig) -> list[EpisodePlan]:
    """The plans of a whole split: K and M cycle in shuffled blocks, and modalities are dealt in shuffled
    triples, so that any prefix of the split is balanced to within one goal a modality. Sentence templates are
    dealt by `deal_templates`."""
    rng = np.random.default_rng([seed, 1])

    def stream(values: Sequence[Any]):
        while True:
            yield from (values[i] for i in rng.permutation(len(values)))

    agents, goals, modalities = stream(config.agents), stream(config.goals), stream(MODALITIES)
    templates = deal_templates(len(TEMPLATES), np.random.default_rng([seed, 4]))
    plans = []
    for i in range(episodes):
        team, mine = next(agents), tuple(next(modalities) for _ in range(next(goals)))
        plans.append(EpisodePlan(i, team, mine, tuple(next(templates) if m == "TN" else -1 for m in mine)))
    return plans


def deal_templates(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Numbers below `count` without end, in shuffled blocks of all of them; any `TEMPLATE_GAP` in a row
    differ. So neighbours differ also where a few episodes between them are dropped."""
    dealt = deque[int](maxlen=min(TEMPLATE_GAP, count) - 1)
    while True:
        block = list(range(count))
        while block:
            free = [number for number in block if number not in dealt]
            number = free[rng.integers(len(free))]
            block.remove(number)
            dealt.append(number)
            yield number


class NoEpisode(Exception):
    """This floor cannot give the episode asked for; the text says why."""


def plain_goal(modality: str, item: Instance) -> dict[str, Any]:
    """What every stored goal has: by name, and this object alone counts."""
    return {
        "modality": modality,
        "category": item.category,
        "text": item.category,
        "object_id": item.id,
        "acceptable": [item.id],
    }


class SceneSampler:
    """Episodes of one scene, drawn one after the other with the scene's own random numbers."""

    def __init__(
        self, sim: EmbeddedSimulator, goals: GoalConfig, config: SamplingConfig, seed: int, scene: int
    ) -> None:
        self.sim, self.config = sim, config
        self.rng = np.random.default_rng([seed, 2, scene])
        self.uses: Counter[str] = Counter()
        self.template: int | None = None  # of the description being made
        self.finders = [
            MainIslandFinder(sim, floor, goals, seed) for floor in range(len(sim.navigator.floors))
        ]
        self.finders = [f for f in self.finders if f.radius >= config.min_island_radius]

    def sample(self, plan: EpisodePlan, split: str) -> dict[str, Any]:
        """The episode of a plan as a dict of the file format.

        Raises:
            NoEpisode: not within `tries` draws.
        """
        if not self.finders:
            raise NoEpisode("no floor with an island of radius 1.5 m")
        reason = ""
        for _ in range(self.config.tries):
            finder = self.finders[self.rng.integers(len(self.finders))]
            try:
                goals = self._goals(finder, plan)
                return self._episode(finder, plan, goals, split)
            except NoEpisode as error:
                reason = str(error)
        raise NoEpisode(reason)

    def _goals(self, finder: MainIslandFinder, plan: EpisodePlan) -> list[dict[str, Any]]:
        taken: set[str] = set()
        goals = []
        for j, modality in enumerate(plan.modalities):
            dealt = plan.templates[j] if j < len(plan.templates) else -1
            self.template = dealt if dealt >= 0 else None
            goal = self._goal(finder, modality, taken)
            taken.add(goal["category"])
            goals.append(goal)
        return goals

    def _goal(self, finder: MainIslandFinder, modality: str, taken: set[str]) -> dict[str, Any]:
        by_category: dict[str, list[Instance]] = {}
        for item in finder.candidates():
            by_category.setdefault(item.category, []).append(item)
        names = sorted(set(by_category) - taken)
        if names:
            weights = np.array([1.0 / (1 + self.uses[name]) ** 2 for name in names])
            for pick in self.rng.choice(len(names), len(names), replace=False, p=weights / weights.sum()):
                items = by_category[names[pick]]
                for i in self.rng.permutation(len(items)):
                    goal = self._try_goal(finder, modality, items[i], items)
                    if goal is not None:
                        self.uses[names[pick]] += 1
                        return goal
        raise NoEpisode(f"no {modality} goal of another category left on the floor")

    def _try_goal(self, finder: MainIslandFinder, modality: str, item: Instance,
                  twins: Sequence[Instance]) -> dict[str, Any] | None:
        if finder.viewpoints(item.id) is None:
            return None
        goal = plain_goal(modality, item)
        if modality == "ON":
            goal["acceptable"] = [other.id for other in twins if finder.viewpoints(other.id) is not None]
        elif modality == "TN":
            said = describe(item, finder.instances, self.rng, self.template)
            if said is None:
                return None
            goal |= {"text": said.text, "predicates": [[p.kind, p.value] for p in said.predicates]}
        else:
            photo = finder.photo(item.id)
            if photo is None:
                return None
            goal |= {
                "text": "",
                "image": {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(photo).items()},
            }
        return goal

    def _episode(
        self, finder: MainIslandFinder, plan: EpisodePlan, goals: list[dict[str, Any]], split: str
    ) -> dict[str, Any]:
        seen = [[finder.viewpoints(i) for i in goal["acceptable"]] for goal in goals]
        viewpoints = [np.concatenate([v.positions for v in mine if v is not None]) for mine in seen]
        starts = self._starts(finder, plan.agents, viewpoints)
        oracle = solve([tuple(s) for s in starts], len(goals), reach_on(self.sim.navigator, viewpoints))
        if not np.isfinite(oracle.makespan):
            raise NoEpisode("a goal is out of reach")
        if oracle.makespan < self.config.min_makespan:
            raise NoEpisode(f"d* below {self.config.min_makespan} m")
        headings = self.rng.uniform(-np.pi, np.pi, len(starts))
        return {
            "episode_id": f"{split}-{plan.index:05d}",
            "index": plan.index,
            "floor": finder.floor,
            "floor_height": round(float(finder.height), 4),
            "starts": [
                {
                    "position": [round(float(v), 4) for v in p],
                    "rotation": [round(v, 6) for v in to_quaternion(h)],
                }
                for p, h in zip(starts, headings)
            ],
            "goals": goals,
            "makespan": round(oracle.makespan, 4),
            "oracle_owner": list(oracle.owner),
        }

    def _starts(self, finder: MainIslandFinder, count: int, viewpoints: Sequence[np.ndarray]) -> np.ndarray:
        """(count, 3) starts by farthest-point sampling among random places that keep the distances."""
        pool = [
            p
            for p in (finder.random_place(self.rng) for _ in range(12 + 6 * count))
            if finder._stand(p) and self._may_start(p, viewpoints)
        ]
        if len(pool) < count:
            raise NoEpisode("too few places at 1 to 30 m from the goals")
        points = np.array(pool)
        chosen = [0]
        gaps = self.sim.navigator.distance(points, points[:1])
        nearest = np.inf
        while len(chosen) < count:
            far = np.flatnonzero(gaps >= self.config.separation)
            pick = (
                int(far[self.rng.integers(len(far))])
                if len(far) and len(chosen) == count - 1
                else int(gaps.argmax())
            )
            nearest = min(nearest, float(gaps[pick]))
            chosen.append(pick)
            gaps = np.minimum(gaps, self.sim.navigator.distance(points, points[pick : pick + 1]))
        if nearest >= self.config.separation:
            return points[chosen]
        apart = self._apart(finder, count, viewpoints)  # the first place can be a bad one to begin with
        if apart is not None:
            return apart
        if nearest < 0.5:
            raise NoEpisode("no room for separated starts")
        return points[chosen]

    def _apart(
        self, finder: MainIslandFinder, count: int, viewpoints: Sequence[np.ndarray]
    ) -> np.ndarray | None:
        """(count, 3) starts at least `separation` apart, looked for all over the island; None: no room."""
        config, distance = self.config, self.sim.navigator.distance
        places = finder.lattice()
        for seen in viewpoints:
            away = distance(places, seen)
            places = places[(away >= config.viewpoint_gap) & (away <= config.max_distance)]
            if len(places) < count:
                return None
        places = places[np.linspace(0, len(places) - 1, min(len(places), _LATTICE_MOST)).astype(int)]
        places = places[self.rng.permutation(len(places))]
        far = np.stack([distance(places, place[None]) for place in places]) >= config.separation
        chosen = mutual(far & far.T, count)
        if chosen is None or not all(self._may_start(places[i], viewpoints) for i in chosen):
            return None
        return places[chosen]

    def _may_start(self, point: np.ndarray, viewpoints: Sequence[np.ndarray]) -> bool:
        for mine in viewpoints:
            distance = self.sim.navigator.distance(point[None], mine)[0]
            if not self.config.viewpoint_gap <= distance <= self.config.max_distance:
                return False
            if np.ptp(self.sim.navigator.path(point, mine)[:, 1]) > self.config.max_height_span:
                return False
        return True


class MainIslandFinder(GoalFinder):
    """A `GoalFinder` that stands on the largest island of its floor only."""

    def __init__(self, sim: EmbeddedSimulator, floor: int, config: GoalConfig, seed: int) -> None:
        level = sim.navigator.levels[floor]
        sizes = np.bincount(level.islands.ravel())
        sizes[0] = 0
        self.label = int(sizes.argmax())
        rows, columns = np.nonzero(level.islands == self.label)
        self.cells = np.stack([rows, columns], 1)
        center = sim.navigator.center(floor, self.cells[0])
        self.radius = sim.navigator.island_radius(center) if sizes.any() else 0.0
        super().__init__(sim, floor, config, seed)

    def _stand(self, point: np.ndarray) -> bool:
        return super()._stand(point) and self.sim.navigator.island(point) == self.label

    def lattice(self) -> np.ndarray:
        """(P, 3) places all over the island, `_LATTICE` cells apart, rounded as they will be stored."""
        some = self.cells[(self.cells % _LATTICE == 0).all(1)]
        places = self.sim.navigator.center(self.floor, some).round(4).reshape(-1, 3)
        return places[[self._stand(place) for place in places]] if len(places) else places

    def random_place(self, rng: np.random.Generator) -> np.ndarray:
        """(3,) a uniform place on the island, rounded as it will be stored."""
        point = self.sim.navigator.center(self.floor, self.cells[rng.integers(len(self.cells))])
        return point.round(4)


def mutual(related: np.ndarray, count: int) -> list[int] | None:
    """The first `count` indices that are all related to each other, by a symmetric (N, N) bool table, or
    None."""

    def extend(chosen: list[int], left: np.ndarray) -> list[int] | None:
        if len(chosen) == count:
            return chosen
        for k, i in enumerate(left):
            rest = left[k + 1 :]
            found = extend([*chosen, int(i)], rest[related[i, rest]])
            if found is not None:
                return found
        return None

    return extend([], np.arange(len(related)))
