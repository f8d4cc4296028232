"""The config of an environment."""

from __future__ import annotations

from dataclasses import dataclass, field

from hm3dm3_env.mapping import MapConfig
from hm3dm3_env.observe import ObservationConfig
from hm3dm3_env.sim.base import Body, Camera
from hm3dm3_env.sim.make import SimConfig
from hm3dm3_env.task import TaskConfig


@dataclass(frozen=True)
class EnvConfig:
    """Everything about an environment; the defaults are the benchmark's numbers."""

    split: str = "mini"
    """Which episodes; "mini" (2 small houses) is built on first use, other splits by episodes.generate."""
    data: str = "data"
    """Root of scenes/ and episodes/ (environment variable HM3DM3_DATA overrides the default)."""
    max_agents: int = 4
    """Robots in the team; episodes with fewer are padded with robots that are not alive."""
    max_cycles: int | None = None
    """Stop every episode after this many steps (none: the benchmark's budgets alone)."""
    camera: Camera = field(default_factory=Camera)
    body: Body = field(default_factory=Body)
    sim: SimConfig = field(default_factory=SimConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    map: MapConfig = field(default_factory=MapConfig)
    observation: ObservationConfig = field(default_factory=ObservationConfig)
    semantic: bool = False
    """Give frames a semantic image (for simulated recognisers; never part of an observation)."""
    goal_image: int = 0
    """Side of the goal images that policies and recognisers get, pixels (0: as in observations).
    Observations have theirs at observation.image_size all the same."""

    def __post_init__(self) -> None:
        if self.goal_image < 0:
            raise ValueError(f"goal_image: must be a number of pixels, or 0, not {self.goal_image}")
