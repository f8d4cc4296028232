"""The lower level that map-based methods share: eyes, map, frontiers, and the skills explore, approach, scan.

A method decides who goes for what; the crew turns that into actions. The hand-over from searching to
declaring is here, in one place. Its states are a robot's `stage`: it searches (and scans on arrival) until
the detector has an accepted candidate for its goal (`TrackerConfig.accept`), approaches the candidate's point
on a planned path up to `CrewConfig.stop`, verifies it by the looks from within `TrackerConfig.close`
(`TrackerConfig.verify`), and declares it, or rejects it, forgets its place and searches on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import declare
from policies.base import TeamTask
from policies.frontiers import FrontierConfig, Frontiers, find_frontiers, known_floor
from policies.heatmaps.maps import HeatConfig, HeatMaps
from policies.planner import LEFT, LOOK_DOWN, PlannerConfig, face
from policies.recognition.tracker import Track, Tracker, TrackerConfig
from policies.walker import Legs, Walker


@dataclass(frozen=True)
class CrewConfig:
    """The shared lower level (ours)."""

    planner: PlannerConfig = field(default_factory=PlannerConfig)
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    frontiers: FrontierConfig = field(default_factory=FrontierConfig)
    heat: HeatConfig = field(default_factory=HeatConfig)
    use_heat: bool = True
    """Keep heat maps (methods that never look at them turn them off)."""
    first_scan: int = 11
    """Turns of 30 degrees with which every robot starts."""
    arrival_scan: int = 11
    """Turns at a frontier that was reached."""
    arrive: float = 0.5
    """A frontier is reached within this, metres."""
    stop: float = 0.6
    """Stop in front of a candidate within this of the seen surface, metres."""
    replan: int = 15
    """Steps after which a path is planned again; one that becomes blocked is planned again at once."""
    refresh: int = 3
    """Steps for which known frontiers are good enough to keep going to one (a new choice looks again)."""
    detour: float = 5.0
    """Metres that a frontier costs extra when no known floor leads to any."""
    patrol_cell: float = 1.5
    """With no frontier left, robots look around again at places this far apart, metres ..."""
    patrol_gap: float = 2.0
    """... that are at least this far from where somebody looked around, metres."""
    desperate: float = 0.35
    """With no frontier left, candidates from this score on are accepted and declared."""


STAGES = ("scan", "search", "help", "approach", "verify", "declare", "wait")
"""What a robot may be doing; help: the planner drives where a learned body got stuck."""


@dataclass
class _Robot(Legs):
    scan: int = 0
    stage: str = "scan"
    """One of STAGES: what its last action was for."""
    track: Track | None = None
    peeks: int = 0


class Crew(Walker):
    """The state of the lower level for one episode."""

    def __init__(self, task: TeamTask, config: CrewConfig) -> None:
        shared = task.shared
        super().__init__(shared, config.planner, config.replan)
        self.config, self.recognizer, self.encoder = config, task.recognizer, task.encoder
        self.tracker = Tracker(config.tracker, len(shared.goals))
        self.heat = HeatMaps(config.heat, shared.map, len(shared.goals)) if config.use_heat else None
        self.robots = [_Robot(scan=config.first_scan) for _ in shared.poses]
        self._legs = [*self.robots]
        self.done: list[np.ndarray] = []
        self.looked: list[np.ndarray] = [p.position for p in shared.poses]
        self._frontiers: Frontiers | None = None
        self._frontiers_step = -1

    # -- seeing --------------------------------------------------------------------------------------------

    def look(self, shared: SharedState) -> bool:
        """Take in the step's frames; returns whether a goal got its first accepted candidate."""
        fresh = [shared.frames[k] for k in self.arrived(shared)]
        appeared = False
        for seen in self.recognizer.candidates(fresh, shared.unresolved) if fresh else []:
            appeared |= self.tracker.update(seen)
        if self.heat is not None:
            self.heat.update(fresh, self.encoder)
        self.planner.update()
        return appeared

    def frontiers(self, fresh: bool = True) -> Frontiers:
        """Frontiers that are still worth a trip: of this step, or (not `fresh`) of at most `refresh` steps
        ago."""
        age = self.shared.step - self._frontiers_step
        if self._frontiers is None or age >= (1 if fresh else self.config.refresh):
            self._frontiers_step = self.shared.step
            window = self.shared.map.window(0.5)
            passable = ~self.planner.grown[window]
            found = find_frontiers(self.shared.map, passable, window, self.config.frontiers)
            radius = self.config.frontiers.done_radius
            keep = np.array([not near_any(p, self.done, radius) for p in found.points], bool)
            self._frontiers = Frontiers(found.points[keep], found.sizes[keep]) if len(keep) else found
            if not len(self._frontiers.points):
                self._frontiers = self._patrol(window)
        return self._frontiers

    def _patrol(self, window: tuple[slice, slice]) -> Frontiers:
        """Places to look around again once all is explored: known floor that nobody scanned from nearby."""
        floor = known_floor(self.shared.map, ~self.planner.grown[window], window, self.config.patrol_cell)
        points = [
            p
            for p in floor
            if not near_any(p, self.looked, self.config.patrol_gap)
            and not near_any(p, self.done, self.config.frontiers.done_radius)
        ]
        return Frontiers(np.array(points).reshape(-1, 3), np.zeros(len(points)))

    def options(self, agent: int) -> tuple[np.ndarray, np.ndarray]:
        """(P, 3) places that a robot may explore, and (P,) metres to them; what nobody can reach is given
        up."""
        points, distances = self.frontiers().points, self.frontier_distances(agent)
        reachable = np.isfinite(distances)
        if len(points) and not reachable.any():
            living = [k for k, alive in enumerate(self.shared.alive) if alive]
            lost = np.all([~np.isfinite(self.frontier_distances(k)) for k in living], 0)
            self.done.extend(points[lost])
            self._frontiers = None
        return points[reachable], distances[reachable]

    def still_there(self, point: np.ndarray) -> bool:
        """Whether there is still a frontier at or near a point."""
        points = self.frontiers(fresh=False).points
        gaps = np.hypot(points[:, 0] - point[0], points[:, 2] - point[2])
        return bool(len(points) and gaps.min() < self.config.frontiers.done_radius)

    def frontier_distances(self, agent: int) -> np.ndarray:
        """(F,) metres from a robot to each frontier; with `detour` added where it must hope for unknown
        floor, inf: never."""
        points = self.frontiers().points
        distances = self.planner.distances(self.field(agent), points)
        for hope in (1, 2):
            if len(points) and not np.isfinite(distances).any():
                through = self.planner.distances(self.field(agent, hope), points)
                distances = through + hope * self.config.detour
        return distances

    # -- doing ---------------------------------------------------------------------------------------------

    def scanning(self, agent: int) -> bool:
        """Whether a robot is in the middle of looking around."""
        return self.robots[agent].scan > 0

    def scan(self, agent: int) -> int:
        """One turn of looking around, with a level camera."""
        self.robots[agent].stage = "scan"
        level = self.level(agent)
        if level is not None:
            return level
        self.robots[agent].scan -= 1
        return LEFT

    def look_around(self, agent: int) -> int:
        """Begin to look around; the frontiers within `arrive` are done with."""
        here = self.shared.poses[agent].position
        for point in self.frontiers(fresh=False).points:
            if self.at(agent, point):
                self._finish(point)
        self.looked.append(here)
        self.robots[agent].path, self.robots[agent].scan = None, self.config.arrival_scan
        return self.scan(agent)

    def explore(self, agent: int, point: np.ndarray) -> int | None:
        """The action towards a frontier; None when it was reached and looked at, or cannot be reached."""
        robot = self.robots[agent]
        robot.track, robot.stage = None, "search"
        level = self.level(agent)
        if level is not None:
            return level
        if self.at(agent, point):
            self._finish(point)
            return self.look_around(agent)
        action = self.walk(agent, point)
        if action is None:
            self._finish(point)
        return action

    def at(self, agent: int, point: np.ndarray) -> bool:
        """Whether a robot has arrived at a frontier."""
        pose = self.shared.poses[agent]
        return bool(np.hypot(pose.x - point[0], pose.z - point[2]) <= self.config.arrive)

    def looked_from(self, agent: int, radius: float) -> bool:
        """Whether somebody looked around within `radius` metres of a robot."""
        return near_any(self.shared.poses[agent].position, self.looked, radius)

    def _finish(self, point: np.ndarray) -> None:
        """Nobody goes to this frontier again, from this very step on."""
        self.done.append(point)
        self._frontiers = None

    def approach(self, agent: int, track: Track, verify: float | None = None) -> int | None:
        """The action towards a candidate, up to its declaration; None when it was rejected or cannot be
        reached."""
        robot, pose = self.robots[agent], self.shared.poses[agent]
        if robot.track is not track:  # what was peeked at another candidate tells nothing about this one
            robot.track, robot.peeks = track, 0
        robot.stage = "approach"
        gap = np.hypot(pose.x - track.point[0], pose.z - track.point[2])
        if gap > self.config.stop and robot.peeks == 0:
            action = self.level(agent) or self.walk(agent, track.point, slack=1.2)
            if action is not None:
                return action
        robot.stage = "verify"
        turn = face(pose, track.point, self.config.planner.aim_deg)
        if turn is not None and gap > 0.1:
            return turn
        verdict = self.tracker.verified(track)
        if verify is not None and track.scores:
            verdict = track.score >= verify
        if verdict is None and robot.peeks < 2:  # too close to see it: look down
            robot.peeks += 1
            return LOOK_DOWN
        robot.peeks, robot.path = 0, None
        if verdict:
            robot.stage = "declare"
            return declare(track.goal)
        self.tracker.reject(track)
        return None

    def pursue(self, agent: int, goal: int) -> int | None:
        """The action towards the best accepted candidate for a goal; those that are rejected or out of reach
        make room for the next. None: there is none left."""
        while (track := self.tracker.best(goal)) is not None:
            action = self.approach(agent, track)
            if action is not None:
                return action
            if track in self.tracker.tracks[goal]:
                self.tracker.reject(track)  # out of reach
        return None


def near_any(point: np.ndarray, places: Sequence[np.ndarray], radius: float) -> bool:
    """Whether a point is within `radius` metres of one of the places, in the plane."""
    return any(np.hypot(point[0] - p[0], point[2] - p[2]) < radius for p in places)


def nearest_free(
    distances: Sequence[float] | np.ndarray, points: np.ndarray, taken: Sequence[np.ndarray], gap: float = 1.0
) -> int | None:
    """Index of the nearest reachable point that is not within `gap` of a taken one, else of the nearest;
    None if none."""
    distances = np.asarray(distances, float)
    if not len(distances) or not np.isfinite(distances).any():
        return None
    free = np.array([not near_any(p, taken, gap) for p in points])
    masked = np.where(free, distances, np.inf)
    return int(masked.argmin() if np.isfinite(masked).any() else distances.argmin())
