"""How fast the environment is on one core of this machine, and where the time goes.

    python -m hm3dm3_env.benchmark_speed
    python -m hm3dm3_env.benchmark_speed seconds=10 data=data

Steps of a team of three in the mini split (built on first use), with different frames and observations.
Everything printed was measured in the run that prints it. Each part is timed around its own calls, and its
share is of the same wall clock that gives the steps per second; timing costs a few microseconds a step.
`python -m hm3dm3_env.sim.benchmark` measures the simulator alone: loading, memory, and beside habitat-sim.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported: its libraries read these once

import platform  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from importlib.metadata import version  # noqa: E402
from time import perf_counter  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from hm3dm3_env.env import HM3DM3ParallelEnv, parallel_env  # noqa: E402
from hm3dm3_env.observe import KEYS  # noqa: E402
from hm3dm3_env.sim.embedded import EmbeddedSimulator  # noqa: E402
from hm3dm3_env.task import MOVES  # noqa: E402
from hm3dm3_env.workers import cpu_model  # noqa: E402

AGENTS = 3
BASE = ("pose", "alive", "goal_unresolved")
PARTS = ("Embree", "ids", "shading", "map update", "observations", "rules, navigation")


@dataclass(frozen=True)
class Row:
    """One kind of step: what is rendered and observed, and what it should reach on a core of our machine."""

    name: str
    width: int
    height: int
    keys: tuple[str, ...]
    semantic: bool = False
    least_rate: float = 0.0
    """Team steps per second."""
    least_trace: float = 0.0
    """Share of the time that is Embree's own: the physical limit here, the rest is ours."""


ROWS = (
    Row("depth, ids", 64, 64, (*BASE, "depth"), True, least_rate=300),
    Row("rgb, depth", 128, 128, (*BASE, "rgb", "depth"), least_rate=60),
    Row("everything", 128, 128, KEYS),
    Row("depth", 256, 256, (*BASE, "depth"), least_trace=0.5),
    Row("rgb, depth", 256, 256, (*BASE, "rgb", "depth"), least_trace=0.4),
    Row("everything", 360, 640, KEYS),
)
PACKAGES = ("numpy", "numba", "embreex", "pettingzoo", "gymnasium")
SETTINGS = ("seconds", "data")


class Clock:
    """Adds up the time spent inside the functions that it wraps."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def wrap(self, owner: Any, name: str, part: str) -> None:
        """Replace a method of `owner` by one that is timed."""
        inner: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **keywords: Any) -> Any:
            begin = perf_counter()
            try:
                return inner(*args, **keywords)
            finally:
                self.spent[part] = self.spent.get(part, 0.0) + perf_counter() - begin

        setattr(owner, name, timed)


def instrument(env: HM3DM3ParallelEnv, clock: Clock) -> None:
    """Time the parts of an environment that has been reset."""
    assert isinstance(env.sim, EmbeddedSimulator)
    clock.wrap(env, "_look", "look")
    clock.wrap(env, "observations", "observations")
    clock.wrap(env, "_infos", "observations")
    clock.wrap(env.sim, "_shade", "shading")
    clock.wrap(env.sim, "_labels", "ids")
    tracer = env.sim._loaded.tracer
    tracer.__dict__.pop("cameras", None)  # the scene is a new one only if it was not loaded before
    clock.wrap(tracer, "cameras", "Embree")
    clock.wrap(env.map, "update", "map update")
    clock.wrap(env.map, "mark_free", "map update")
    clock.wrap(env, "advance", "advance")


def measure(data: str, row: Row, seconds: float) -> tuple[float, dict[str, float]]:
    """Team steps per second, and the share of each part, over at least `seconds` of stepping.

    Robots act at random among the moves: every step renders whoever moved, as in an evaluation. Resets are
    not counted.
    """
    env = parallel_env(
        split="mini",
        data=data,
        max_agents=AGENTS,
        camera={"width": row.width, "height": row.height},
        observation={"keys": list(row.keys)},
        semantic=row.semantic,
    )
    rng = np.random.default_rng(0)
    clock, wall, steps, options = Clock(), 0.0, 0, {"num_agents": AGENTS}
    env.reset(seed=0, options=options)
    for _ in range(5):  # compile and fill caches
        env.step({name: int(rng.integers(1, len(MOVES))) for name in env.agents})
    env.reset(options=options)
    while wall < seconds:
        env.close()  # a fresh simulator and map have no timers on them yet
        for name in ("_look", "observations", "_infos", "advance"):
            env.__dict__.pop(name, None)
        env.reset(options=options)
        env.step({})
        instrument(env, clock)
        begin = perf_counter()
        while env.agents and wall + perf_counter() - begin < seconds:
            env.step({name: int(rng.integers(1, len(MOVES))) for name in env.agents})
            steps += 1
        wall += perf_counter() - begin
    spent = clock.spent
    parts = {name: spent.get(name, 0.0) for name in PARTS[:-1]}
    parts["rules, navigation"] = spent["advance"] - spent["look"]
    return steps / wall, {name: value / wall for name, value in parts.items()}


def _verdict(row: Row, rate: float, trace: float) -> tuple[bool, str]:
    if row.least_rate:
        reached, limit = rate >= row.least_rate, f"{row.least_rate:g}/s"
    elif row.least_trace:
        reached, limit = trace >= row.least_trace, f"Embree {row.least_trace:.0%}"
    else:
        return True, ""
    return reached, f"   {'reaches' if reached else 'MISSES'} {limit}"


def main(arguments: list[str]) -> int:
    """Print the table."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    unknown = set(given) - set(SETTINGS)
    try:
        seconds = float(given.get("seconds", 5))
    except ValueError:
        seconds = -1.0
    if unknown or not 0 < seconds < float("inf"):
        print("usage: python -m hm3dm3_env.benchmark_speed [seconds=5] [data=data]", file=sys.stderr)
        return 2
    if hasattr(os, "sched_setaffinity"):  # Embree has threads of its own; this keeps them on one core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    data = given.get("data", "data")
    parallel_env(split="mini", data=data).episodes  # noqa: B018 (builds them where they are missing)
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"{cpu_model()}, one core; Python {platform.python_version()}, {packages}")
    print(f"K = {AGENTS}, mini split, random moves, {seconds:g} s a row\n")
    titles = "".join(f"{name:>18}" for name in (*PARTS, "rest"))
    print(f"{'frames':>9}  {'observed':12}{'team steps/s':>13}{titles}")
    reached = True
    for row in ROWS:
        rate, shares = measure(data, row, seconds)
        cells = "".join(f"{share:>18.0%}" for share in (*shares.values(), 1 - sum(shares.values())))
        good, note = _verdict(row, rate, shares["Embree"])
        reached &= good
        print(f"{f'{row.width}x{row.height}':>9}  {row.name:12}{rate:>13.1f}{cells}{note}", flush=True)
    if not reached:
        print("\nMISSED: slower than on the machine that the limits were set for, or slower than before")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
