"""Settings of LaViRA-M3; every ablation is one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from policies.frontiers import FrontierConfig
from policies.planner import PlannerConfig

ASSIGNMENTS = ("free", "fixed")
PARTS = ("middle", "nearest")


@dataclass(frozen=True)
class LaviraM3Config:
    """The channels between teammates, the gate before a declaration, and how robots move. The instructions to
    the model are the same whatever is told: rows of an ablation differ in what robots know, and in nothing
    else."""

    board: bool = True
    """Tell robots which goals are declared, and who goes for which. False: a robot knows only of its own
    declarations (the paper's "no goal board")."""
    progress: bool = True
    """Show robots what their teammates say of their progress. False: the paper's "no progress analysis"."""
    assignment: str = "free"
    """free: robots choose goals as they go (the paper: no enforced division of labour). fixed: at the start
    the model says how likely each goal is near each robot, the Hungarian method divides the goals by that,
    and a robot stays with its own: it waits when they are done, and nobody takes over from a robot that
    cannot move any more (what the paper's fixed assignment goes by is not known; this is ours)."""
    walk_in: bool = False
    """Walk up to what was judged to be the goal before declaring it, as far as the map allows, since a
    declaration counts within 1 m of a viewpoint. False is the method as published: it declares from up to
    `gate_depth`."""
    gate_depth: float = 2.0
    """Nothing farther away than this is declared, metres of depth (the paper)."""
    part: str = "middle"
    """What of a thing a robot goes to, and must be within `gate_depth`: its middle, or what is nearest of it
    (both ours). A robot beside a large thing, such as a bed, may be too far from its middle, and circles it
    in vain."""
    confident: float = 0.7
    """Judgements count from this confidence on, 0 to 1 (ours)."""
    near: float = 1.8
    """A candidate is judged from within this, metres in the plane: `gate_depth` and a margin (ours)."""
    stop: float = 0.6
    """How close `walk_in` walks to the seen surface, metres (ours)."""
    steps: int = 15
    """Actions of a robot on the way to a target before it decides again (LaViRA); more than it takes to turn
    around."""
    arrive: float = 0.75
    """A target is reached within this, metres (LaViRA)."""
    first_turn: bool = True
    """Robots turn around before their first decision, as all methods here do (ours)."""
    ends: bool = True
    """Tell the model where in each view, and how far off, the shared map ends in unexplored floor (ours: the
    team has the map, and the model reads texts better than maps)."""
    patrol_cell: float = 1.5
    """With no frontier left, known floor counts as unexplored at places this far apart, metres, ..."""
    patrol_gap: float = 2.0
    """... that are at least this far from where a robot turned around, metres (both as the other methods
    have it)."""
    history: int = 6
    """So many of its latest decisions a robot is reminded of (ours)."""
    waypoints: int = 8
    """So many of a robot's latest places are on offer to go back to (ours)."""
    replan: int = 15
    """Steps after which a path is planned again."""
    planner: PlannerConfig = field(default_factory=lambda: PlannerConfig(solver="fast_marching"))
    frontiers: FrontierConfig = field(default_factory=FrontierConfig)

    def __post_init__(self) -> None:
        if self.assignment not in ASSIGNMENTS:
            raise ValueError(f"assignment: {self.assignment!r} is none of {', '.join(ASSIGNMENTS)}")
        if self.part not in PARTS:
            raise ValueError(f"part: {self.part!r} is none of {', '.join(PARTS)}")
        for name in ("gate_depth", "near", "stop", "arrive", "patrol_cell", "patrol_gap"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} must be a positive number of metres, not {getattr(self, name):g}")
        for name, most in (("near", "gate_depth"), ("stop", "near")):
            if getattr(self, name) > getattr(self, most):
                limit = f"{most}={getattr(self, most):g} m"
                raise ValueError(f"{name} must be at most {limit}, not {getattr(self, name):g}")
        if not 0 <= self.confident <= 1:
            raise ValueError(f"confident is a confidence in 0..1, not {self.confident:g}")
        if min(self.steps, self.replan) < 1:
            raise ValueError("steps and replan must be at least 1")
        if min(self.history, self.waypoints) < 0:
            raise ValueError("history and waypoints must not be negative")
