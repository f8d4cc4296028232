"""The task in which DAgRL's body for maps is trained: a team, each robot with a goal of its own to find.

There is no detector here. A robot's goal is found when it looks around within `DECLARE_WITHIN` of a viewpoint
after some robot has seen the object; then it gets another one. Looking around (eleven turns) is one action of
the body, played out by the lower level, as in HiGA.

The teacher is HM3D-OVON's in kind: the shortest path to a goal that was seen, exploration of frontiers else;
the frontier is the one that HiGA's planner would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from higa.policy import HigaBase, HigaConfig
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.shared import TeamGoal
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.task import WAIT, TaskConfig
from policies.base import TeamTask
from policies.heatmaps.simulated import SimulatedEncoder, SimulatedEncoderConfig
from policies.navigation.base import NO_ACTION
from policies.navigation.body import BodyConfig, MapViews
from policies.navigation.map_policy import STOP, TO_OURS, MapPolicy, from_ours
from policies.oracle_policy import DECLARE_WITHIN, towards
from policies.recognition.base import Candidate
from policies.rollout import SMALL, make_env


@dataclass(frozen=True)
class SearchConfig:
    """Episodes and how they are played (ours)."""

    split: str = "train"
    data: str = "data"
    steps: int = 250
    """Actions a robot has."""
    robots: int = 0
    """Only the first so many robots of an episode, 0: all."""
    seen: float = 0.01
    """Share of a frame that a goal's object fills when it counts as seen (OVON's failure measure)."""
    camera: Camera = field(default_factory=lambda: SMALL)
    encoder: SimulatedEncoderConfig = field(default_factory=SimulatedEncoderConfig)


class _Blind:
    """A recogniser that never sees anything: this task has its own rule of what is found."""

    name, needs_semantic, needs_rgb, min_width, goal_image, privileged = "none", True, False, 0, 0, True

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: object) -> None:
        pass

    def candidates(self, frames: Sequence[Frame], unresolved: Sequence[bool]) -> list[list[Candidate]]:
        return [[] for _ in frames]


@dataclass
class Progress:
    """What became of an episode's searches.

    Attributes:
        tried, found: searches begun and ended with success.
        walked: metres of all robots.
    """

    tried: int = 0
    found: int = 0
    walked: float = 0.0


class SearchTask:
    """One environment, one episode at a time.

    Attributes:
        goals: (K,) what each robot looks for.
        progress: of this episode.
    """

    space = SimulatedEncoder.space

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.eyes = _Blind(), SimulatedEncoder(config.encoder)
        task = TaskConfig(max_actions=config.steps, budget_factor=1e6)
        settings = EnvConfig(split=config.split, data=config.data, camera=config.camera, task=task)
        self.env = make_env(settings, *self.eyes)

    def begin(self, episode: Episode, policy: MapPolicy, seed: int) -> None:
        """Start an episode with everybody's first look around done."""
        starts = episode.starts[: self.config.robots or None]
        self.env.begin(replace(episode, starts=starts))
        truth, shared = self.env.privileged, self.env.shared
        self.rng = np.random.default_rng([seed, 41])
        for eye in self.eyes:
            eye.reset(shared.goals, seed, truth)
        task = TeamTask(shared, *self.eyes, np.random.default_rng([seed, 42]), truth)
        self.team = HigaBase(HigaConfig(body=BodyConfig(kind="planner")))
        self.team.reset(task)
        self.crew, self.policy = self.team.crew, policy
        policy.reset(len(starts), np.random.default_rng([seed, 43]))
        self.views = MapViews(policy, task, self.crew)
        self.acceptable = [np.array(goal.acceptable) for goal in episode.goals]
        self.seen = [False] * len(episode.goals)
        self.found = [False] * len(episode.goals)
        self.progress = Progress()
        order = self.rng.permutation(len(episode.goals))
        self.goals = [int(order[k % len(order)]) for k in range(len(starts))]
        self.progress.tried = len(starts)
        self.previous = np.full(len(starts), NO_ACTION)
        self._look()
        while not self.over and any(self.crew.scanning(k) for k in range(len(starts))):
            self._advance({})

    @property
    def over(self) -> bool:
        """Whether the robots are out of actions, or everything is found."""
        return self.env.rules.over or all(self.found)

    def distance(self, agent: int) -> float:
        """Geodesic metres from a robot to its goal."""
        shared = self.env.shared
        points = shared.poses[agent].position[None]
        viewpoints = self.env.privileged.episode.viewpoints[self.goals[agent]]
        return float(self.env.privileged.navigator.distance(points, viewpoints)[0])

    def acting(self) -> list[int]:
        """Robots that choose at this step: all that are not looking around."""
        return [k for k in range(len(self.goals)) if not self.crew.scanning(k)]

    def observe(self, robots: list[int]) -> dict[str, np.ndarray]:
        """The network's inputs, a row a robot (see `MapNetwork`)."""
        for k in robots:
            self.team.assigned[k] = self.goals[k]
        wanted: dict[int, int | None] = {k: self.goals[k] for k in robots}
        views = self.views.of(self.env.shared, robots, wanted, self.previous[robots])
        return self.policy.observe(robots, views)

    def teacher(self, agent: int) -> int:
        """The network's number of what the teacher would do; NO_ACTION where it does not know."""
        shared, goal, crew = self.env.shared, self.goals[agent], self.crew
        if self.seen[goal]:
            truth = self.env.privileged
            action = towards(truth.navigator, shared.poses[agent], truth.episode.viewpoints[goal])
            return STOP if action is None else from_ours(action)
        for _ in range(3):
            point = self.team.target(agent, goal)
            if point is None:
                return NO_ACTION
            if crew.at(agent, point):
                return STOP
            action = crew.explore(agent, point)
            if action is not None:
                return from_ours(action)
            self.team.targets[agent] = None
        return NO_ACTION

    def step(self, chosen: dict[int, int]) -> list[int]:
        """Play the network's actions of the robots that choose; returns the robots that found their goals."""
        found, actions = [], {}
        for k, action in chosen.items():
            if action != STOP:
                actions[k] = int(TO_OURS[action])
                continue
            actions[k] = self.crew.look_around(k)
            goal = self.goals[k]
            if self.seen[goal] and self.distance(k) <= DECLARE_WITHIN:
                found.append(k)
                self.crew.robots[k].scan = 0
                actions[k] = WAIT
        for k in chosen:
            self.previous[k] = actions[k]
        self._advance(actions)
        for goal in {self.goals[k] for k in found}:
            self.found[goal] = True
            for k, mine in enumerate(self.goals):
                if mine == goal and not all(self.found):
                    self._renew(k)
        self.progress.found += len(found)
        return found

    def _renew(self, agent: int) -> None:
        """Another goal for a robot, if possible one that nobody looks for."""
        left = [j for j, found in enumerate(self.found) if not found]
        free = [j for j in left if j not in self.goals]
        self.goals[agent] = int(self.rng.choice(free or left))
        self.progress.tried += 1
        self.team.targets[agent] = None
        self.policy.restart([agent])
        self.previous[agent] = NO_ACTION

    def _advance(self, actions: dict[int, int]) -> None:
        before = list(self.env.poses)
        given = []
        for k in range(len(self.goals)):
            if k not in actions:
                actions[k] = self.crew.scan(k) if self.crew.scanning(k) else WAIT
                self.previous[k] = actions[k]
            given.append(self.crew.chosen(k, actions[k]))
        self.env.advance(given)
        for a, b in zip(before, self.env.poses):
            self.progress.walked += float(np.hypot(a.x - b.x, a.z - b.z))
        self._look()

    def _look(self) -> None:
        shared = self.env.shared
        self.crew.look(shared)
        for robot in self.crew.robots:
            robot.escape = []  # the body has to free itself
        self.views.look(shared)
        for frame in self.env.frames:
            if frame.semantic is None:
                continue
            for j, ids in enumerate(self.acceptable):
                if not self.seen[j]:
                    share = np.isin(frame.semantic, ids).mean()
                    self.seen[j] = bool(share >= self.config.seen)
