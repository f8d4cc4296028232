"""The rules of an episode: budgets, declarations, endings, rewards. Pure: no simulator, no rendering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MOVES = ("wait", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
MAX_GOALS = 5
"""M_max of the benchmark: actions declare_0 ... declare_4."""
ACTIONS = MOVES + tuple(f"declare_{j}" for j in range(MAX_GOALS))
WAIT = 0


def declare(goal: int) -> int:
    """The action number that declares a goal."""
    return len(MOVES) + goal


@dataclass(frozen=True)
class RewardConfig:
    """Team reward for MARL training; no part of the benchmark (ours). Every agent gets the same number."""

    kind: str = "team"
    """"team" or "none" (zeros)."""
    right: float = 1.0
    """For a right declaration, divided by M."""
    wrong: float = -0.25
    """For a wrong declaration, divided by M."""
    step: float = -0.001
    """Every step."""
    shaping: float = 0.0
    """Times the metres by which the nearest agent's geodesic distance fell, summed over the goals that are
    still unresolved, over M."""

    def __post_init__(self) -> None:
        if self.kind not in ("team", "none"):
            raise ValueError(f"task.reward.kind must be 'team' or 'none', not {self.kind!r}")


@dataclass(frozen=True)
class TaskConfig:
    """Budgets and success, with the benchmark's numbers."""

    max_actions: int = 500
    """Actions an agent may spend, waiting included (the paper)."""
    budget_factor: float = 3.0
    """Path length an agent may walk, in units of d* (the paper)."""
    success_distance: float = 1.0
    """A declaration succeeds within this of an acceptable viewpoint, metres (the paper), geodesic (ours)."""
    agent_collisions: bool = False
    """Whether agents block each other (ours: off, as the paper has no collisions)."""
    reward: RewardConfig = field(default_factory=RewardConfig)

    def __post_init__(self) -> None:
        if self.max_actions < 1 or self.budget_factor <= 0 or self.success_distance < 0:
            raise ValueError(
                "task needs max_actions >= 1, budget_factor > 0 and success_distance >= 0, not "
                f"{self.max_actions}, {self.budget_factor} and {self.success_distance}"
            )


@dataclass(frozen=True)
class Declaration:
    """One declaration that counted: the verdict is for the record and never shown to the team."""

    step: int
    agent: int
    goal: int
    right: bool
    distance: float
    """Geodesic metres to the nearest acceptable viewpoint."""


class Rules:
    """The state of one episode's rules.

    Attributes:
        alive: (K,) whether an agent may still act.
        unresolved: (M,) whether a goal is still on the list.
        actions, path: (K,) actions spent and metres walked.
        declarations: in the order made.
    """

    def __init__(self, config: TaskConfig, agents: int, goals: int, makespan: float) -> None:
        self.config = config
        self.max_path = config.budget_factor * makespan
        self.alive = [True] * agents
        self.unresolved = [True] * goals
        self.actions = [0] * agents
        self.path = [0.0] * agents
        self.path_at_last_success = [0.0] * agents
        self.declarations: list[Declaration] = []
        self.steps = 0

    @property
    def over(self) -> bool:
        """All goals declared, or all agents out of budget."""
        return self.resolved or not any(self.alive)

    @property
    def resolved(self) -> bool:
        """Every goal has been declared, rightly or not."""
        return not any(self.unresolved)

    @property
    def found(self) -> int:
        """Goals declared rightly."""
        return sum(d.right for d in self.declarations)

    def legal(self, agent: int) -> list[int]:
        """(A,) 0/1: which actions make sense; an agent out of budget can only wait."""
        if not self.alive[agent] or self.over:
            return [1] + [0] * (len(ACTIONS) - 1)
        goals = [int(j < len(self.unresolved) and self.unresolved[j]) for j in range(MAX_GOALS)]
        return [1] * len(MOVES) + goals

    def effective(self, agent: int, action: int) -> str:
        """The action that really happens: an illegal one is a wait."""
        legal = 0 <= action < len(ACTIONS) and self.legal(agent)[action]
        return ACTIONS[action] if legal else "wait"

    def advance(
        self, names: Sequence[str], moved: Sequence[float], distance_to: Callable[[int, int], float]
    ) -> float:
        """Account for one lockstep step.

        Args:
            names: (K,) effective actions.
            moved: (K,) metres walked in this step.
            distance_to: (agent, goal) -> geodesic metres from where the agent stands to the goal's
                viewpoints.

        Returns:
            The reward of declarations and of the step, without shaping.
        """
        reward = self.config.reward.step
        self.steps += 1
        acted = list(self.alive)
        for agent in range(len(names)):
            if acted[agent]:
                self.actions[agent] += 1
                self.path[agent] += moved[agent]
        for agent, name in enumerate(names):
            if acted[agent] and name.startswith("declare_"):
                reward += self._declare(agent, int(name.rpartition("_")[2]), distance_to)
        for agent in range(len(names)):
            spent = self.actions[agent] >= self.config.max_actions or self.path[agent] >= self.max_path - 1e-9
            self.alive[agent] = acted[agent] and not spent
        return reward if self.config.reward.kind == "team" else 0.0

    def _declare(self, agent: int, goal: int, distance_to: Callable[[int, int], float]) -> float:
        if goal >= len(self.unresolved) or not self.unresolved[goal]:
            return 0.0
        distance = distance_to(agent, goal)
        right = distance <= self.config.success_distance
        self.unresolved[goal] = False
        self.declarations.append(Declaration(self.steps, agent, goal, right, distance))
        if right:
            self.path_at_last_success = list(self.path)
        reward = self.config.reward
        return (reward.right if right else reward.wrong) / len(self.unresolved)
