"""HM3D-M3: teams of robots look for goals given as categories, descriptions and images, in indoor scans.

    import hm3dm3_env
    env = hm3dm3_env.parallel_env(split="mini", camera={"width": 72, "height": 128})

Importing registers `hm3d_m3_v0` with PettingZoo (1.27 or later) and `HM3D-M3-v0` with Gymnasium.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def parallel_env(render_mode: str | None = None, **config: Any) -> Any:
    """A PettingZoo `ParallelEnv`; see `hm3dm3_env.env.parallel_env`."""
    from hm3dm3_env.env import parallel_env as make

    return make(render_mode, **config)


def team_env(render_mode: str | None = None, **config: Any) -> Any:
    """The whole team as one Gymnasium environment; see `hm3dm3_env.team_env.TeamEnv`."""
    from hm3dm3_env.team_env import team_env as make

    return make(render_mode, **config)


def _register() -> None:
    try:
        import gymnasium
        import pettingzoo
    except ModuleNotFoundError:  # a simulator's own interpreter (sim/worker.py) has numpy only
        return

    if "HM3D-M3-v0" not in gymnasium.registry:
        gymnasium.register("HM3D-M3-v0", entry_point="hm3dm3_env.team_env:team_env")
    if hasattr(pettingzoo, "register") and "hm3d_m3-v0" not in pettingzoo.parallel_registry:
        pettingzoo.register("parallel", "hm3d_m3_v0", entry_point="hm3dm3_env.env:parallel_env")


_register()
