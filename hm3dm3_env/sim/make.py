"""Which simulator, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hm3dm3_env.sim.base import Body, Simulator
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.habitat import HabitatSimulator
from hm3dm3_env.sim.process import ProcessSimulator

BACKENDS = ("embedded", "habitat")
NAVMESHES = ("computed", "scene")


@dataclass(frozen=True)
class SimConfig:
    """The simulator. `python -m hm3dm3_env.sim.doctor` tells which settings work on a machine."""

    backend: str = "embedded"
    """embedded (CPU, pip only), or habitat (habitat-sim)."""
    python: str = ""
    """Interpreter that has the backend, e.g. the python of a conda environment; empty: this process."""
    navmesh: str = "computed"
    """computed: the walkable surface for this body, from the mesh (HM3D-OVON recomputes it too); scene: the
    .navmesh file in the scene's folder, made for the body of its makers."""
    gpu_device: int = -1
    """habitat: the GPU that renders; -1: the CPU."""
    memory_gb: float = 4.0
    """embedded: scenes stay loaded, least recently used ones go, until they fit into this (ours)."""
    cache: str = ""
    """embedded: folder where large scenes are kept prepared, which makes loading them several times faster;
    empty: HM3DM3_CACHE, else hm3dm3 in the user's cache folder; "none": nowhere."""
    cache_gb: float = 20.0
    """Size of that folder (ours; a scan of a million triangles and 60 textures of 1024 x 1024 takes 0.5)."""
    start_timeout: float = 600.0
    """With python=: seconds that starting it or loading a scene may take (ours)."""
    timeout: float = 60.0
    """With python=: seconds that any other request may take (ours)."""

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ValueError(f"sim.backend: {self.backend!r} is none of {', '.join(BACKENDS)}")
        if self.navmesh not in NAVMESHES:
            raise ValueError(f"sim.navmesh: {self.navmesh!r} is none of {', '.join(NAVMESHES)}")
        if min(self.memory_gb, self.cache_gb, self.start_timeout, self.timeout) <= 0:
            raise ValueError("sim: memory_gb, cache_gb, start_timeout and timeout must be positive")


def make_simulator(config: SimConfig, body: Body) -> Simulator:
    """The simulator of a config.

    Raises:
        ValueError: its interpreter cannot be started, or lacks the backend.
        SimulatorDied: its interpreter ended while it started.
    """
    if config.backend == "habitat":
        options: dict[str, Any] = {"gpu_device": config.gpu_device, "navmesh": config.navmesh}
    else:
        options = {
            "navmesh": config.navmesh,
            "memory_gb": config.memory_gb,
            "cache": None if config.cache == "none" else config.cache,
            "cache_gb": config.cache_gb,
        }
    if config.python:
        return ProcessSimulator(
            config.backend, config.python, body, options, config.start_timeout, config.timeout
        )
    if config.backend == "habitat":
        return HabitatSimulator(body, **options)
    return EmbeddedSimulator(body, **options)
