"""Which body searches: the planner on frontiers, or one of DAgRL's two, behind one configuration.

A learned body drives a robot while it looks for its goal. When the detector has a candidate for that goal,
the hand-over in `crew` takes the robot over; when it comes back without the goal, the body starts anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hm3dm3_env.shared import SharedState
from hm3dm3_env.task import WAIT
from policies.base import TeamTask
from policies.crew import Crew
from policies.navigation.base import NO_ACTION, NavigationPolicy, Views

SHIPPED = Path(__file__).parent / "map_dagrl.pt"
"""The weights of the body for maps that come with the package; `about` in them says which command made
them."""
KINDS = ("planner", "map", "ovon")


@dataclass(frozen=True)
class BodyConfig:
    """Who drives a robot that looks for its goal."""

    kind: str = "map"
    """planner: to the frontier that is best by distance, heat and teammates. map: DAgRL on crops of the map.
    ovon: DAgRL on frames, with a published checkpoint."""
    checkpoint: str = ""
    """Weights of a learned body; "" for map: those that ship with the package."""
    goals: str = ""
    """ovon: where the goals' embeddings come from (see `OvonPolicy.load`); "": SigLIP's text tower."""
    sample: bool = True
    """Draw actions from the policy, as it was trained; otherwise take the most probable one."""
    device: str = "cpu"
    """Of the learned body; a team's step is too small for a GPU to be worth the way."""
    patience: int = 24
    """A learned body that got nowhere (`progress`) in so many of its steps is helped out by the planner for
    as many; so is one that bumped three times in a row (ours)."""
    progress: float = 0.75
    """Metres that count as getting somewhere."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"body.kind: {self.kind!r} is none of {', '.join(KINDS)}")
        if self.kind == "ovon" and not self.checkpoint:
            raise ValueError("body.kind=ovon needs body.checkpoint=<dagrl.pth>")
        if self.patience < 2 or self.progress <= 0:
            raise ValueError(
                f"body: patience must be at least 2 and progress more than 0, not {self.patience} and "
                f"{self.progress}"
            )


def load_body(config: BodyConfig) -> NavigationPolicy | None:
    """The learned body of a config; None: the planner.

    Raises:
        ValueError, FileNotFoundError, ImportError: weights or a library that it needs.
    """
    if config.kind == "planner":
        return None
    if config.kind == "map":
        from policies.navigation.map_policy import MapPolicy  # torch is needed only here

        return MapPolicy.load(config.checkpoint or SHIPPED, config.sample, config.device)
    from policies.navigation.ovon import OvonPolicy
    from policies.navigation.siglip import TEXT_MODEL

    return OvonPolicy.load(config.checkpoint, config.goals or TEXT_MODEL, config.sample, device=config.device)


def weights_of(config: BodyConfig) -> list[Path]:
    """The files of weights that a body is loaded from."""
    if config.kind == "planner":
        return []
    return [Path(config.checkpoint) if config.checkpoint else SHIPPED]


class Driver:
    """A learned body in one episode: its views, its restarts, and what happens when it gets stuck."""

    def __init__(self, config: BodyConfig, policy: NavigationPolicy, task: TeamTask, crew: Crew) -> None:
        self.config, self.policy, self.crew = config, policy, crew
        agents = task.shared.agents
        policy.reset(agents, np.random.default_rng(task.rng.integers(2**63)))
        self._views = MapViews(policy, task, crew) if config.kind == "map" else _FrameViews(policy, task)
        self._goal: list[int | None] = [None] * agents
        self._track: list[list[np.ndarray]] = [[] for _ in range(agents)]
        """Where a robot was at each step that the body drove it, the last `patience` of them."""
        self._helped = [0] * agents

    def look(self, shared: SharedState) -> None:
        """Every step, before `act`."""
        self._views.look(shared)

    def helped(self, agent: int) -> bool:
        """Whether the planner should drive a robot at this step; counts down."""
        if self.crew.robots[agent].bumps >= 3:
            self._help(agent)
        if self._helped[agent] == 0:
            return False
        self._helped[agent] -= 1
        return True

    def _help(self, agent: int) -> None:
        self._helped[agent] = self.config.patience
        self._track[agent] = []

    def act(self, shared: SharedState, searching: Mapping[int, int | None]) -> dict[int, int | None]:
        """The action of each robot that searches for a goal (robot -> goal or None); None where the body
        wants to look around."""
        robots = list(searching)
        if not robots:
            return {}
        anew = [k for k in robots if searching[k] != self._goal[k] or not self._track[k]]
        self.policy.restart(anew)
        for k in robots:
            self._goal[k] = searching[k]
            self._track[k] = [*self._track[k], shared.poses[k].position][-self.config.patience :]
        previous = np.array([NO_ACTION if k in anew else self.crew.robots[k].last_action for k in robots])
        moves = self.policy.act(robots, self._views.of(shared, robots, searching, previous))
        out: dict[int, int | None] = {}
        for k, action, arrived in zip(robots, moves.actions.tolist(), moves.arrived):
            out[k] = None if arrived or action == WAIT else action
            been = np.array(self._track[k])[:, ::2]
            if len(been) == self.config.patience and np.ptp(been, 0).max() < self.config.progress:
                self._help(k)
        return out

    def left(self, agent: int) -> None:
        """The body does not drive this robot at this step: its next one is a new beginning."""
        self._track[agent] = []


class MapViews:
    """Views of `MapPolicy` in one episode."""

    def __init__(self, policy: NavigationPolicy, task: TeamTask, crew: Crew) -> None:
        from policies.navigation.map_policy import MapPolicy
        from policies.navigation.surroundings import Surroundings

        assert isinstance(policy, MapPolicy)
        self.crew = crew
        self.surroundings = Surroundings(policy.surroundings, crew.planner, task.shared.agents)
        size = policy.network.config.goal
        same = task.encoder.space == policy.space
        self.goals = task.encoder.embeddings() if same else np.zeros((len(task.shared.goals), size))
        self.nothing = np.zeros(size, np.float32)

    def look(self, shared: SharedState) -> None:
        """Every step, before `of`."""
        self.surroundings.update(shared.poses, shared.step)

    def of(
        self, shared: SharedState, robots: list[int], goals: Mapping[int, int | None], previous: np.ndarray
    ) -> Views:
        """Views of `robots` that look for `goals` (robot -> goal or None); `previous` as of `Views`."""
        edges = self.crew.frontiers(fresh=False).points
        way = self.crew.planner.field_to(shared.poses[robots[0]], edges)
        crops = [
            self.surroundings.crops(k, shared.poses, edges, way, self.crew.heat, goals[k]) for k in robots
        ]
        given = [goals[k] for k in robots]
        return Views(
            [self.nothing if goal is None else self.goals[goal] for goal in given],
            previous,
            depth=np.stack([shared.frames[k].depth for k in robots]),
            near=np.stack([near for near, _ in crops]),
            far=np.stack([far for _, far in crops]),
        )


class _FrameViews:
    """Views of `OvonPolicy`: frames, and the goals' words or the embeddings of their photos."""

    def __init__(self, policy: NavigationPolicy, task: TeamTask) -> None:
        from policies.navigation.ovon import OvonPolicy

        assert isinstance(policy, OvonPolicy)
        if any(frame.rgb is None for frame in task.shared.frames):
            raise ValueError(
                "body.kind=ovon looks at frames: give observation.keys=[pose,alive,goal_unresolved,rgb] "
                "camera.width=360 camera.height=640"
            )
        self.goals = [
            goal.text if goal.image is None else policy.embed_image(goal.image) for goal in task.shared.goals
        ]

    def look(self, shared: SharedState) -> None:
        pass

    def of(
        self, shared: SharedState, robots: list[int], goals: Mapping[int, int | None], previous: np.ndarray
    ) -> Views:
        frames = [frame for k in robots if (frame := shared.frames[k].rgb) is not None]
        given = ["" if goal is None else self.goals[goal] for goal in (goals[k] for k in robots)]
        return Views(given, previous, rgb=np.stack(frames))
