"""How fast the environment is on one core of this machine, and where the time goes.

    python -m hm3dm3_env.benchmark_speed
    python -m hm3dm3_env.benchmark_speed seconds=10 data=data

Steps of a team of three with full observations in the mini split (built on first use). Everything printed
was measured in the run that prints it. Each part is timed around its own calls, and its share is of the
same wall clock that gives the steps per second; timing costs a few microseconds a step.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported: its libraries read these once

import platform  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from importlib.metadata import version  # noqa: E402
from time import perf_counter  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from hm3dm3_env.env import HM3DM3ParallelEnv, parallel_env  # noqa: E402
from hm3dm3_env.sim.embedded import EmbeddedSimulator  # noqa: E402
from hm3dm3_env.task import MOVES  # noqa: E402

AGENTS = 3
SIZES = ((128, 128), (360, 640))
"""Width and height of the frames, pixels."""
PARTS = ("render: rays", "render: shading", "map update", "observations", "rules, navigation")
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
    clock.wrap(env.sim, "render", "render")
    clock.wrap(env.sim, "_shade", "render: shading")
    clock.wrap(env.map, "update", "map update")
    clock.wrap(env.map, "mark_free", "map update")
    clock.wrap(env, "advance", "advance")


def measure(data: str, width: int, height: int, seconds: float) -> tuple[float, dict[str, float]]:
    """Team steps per second, and the share of each part, over at least `seconds` of stepping.

    Robots act at random among the moves: every step renders whoever moved, as in an evaluation. Resets are
    not counted.
    """
    env = parallel_env(split="mini", data=data, max_agents=AGENTS, camera={"width": width, "height": height})
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
    parts = {
        "render: rays": spent["render"] - spent["render: shading"],
        "render: shading": spent["render: shading"],
        "map update": spent["map update"],
        "observations": spent["observations"],
        "rules, navigation": spent["advance"] - spent["look"],
    }
    return steps / wall, {name: value / wall for name, value in parts.items()}


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


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
    print(f"K = {AGENTS}, mini split, full observations, random moves, {seconds:g} s a row\n")
    print(f"{'frames':>10}{'team steps/s':>14}" + "".join(f"{name:>19}" for name in (*PARTS, "rest")))
    for width, height in SIZES:
        rate, shares = measure(data, width, height, seconds)
        values = [*(shares[name] for name in PARTS), 1 - sum(shares.values())]
        cells = "".join(f"{value:>19.0%}" for value in values)
        print(f"{f'{width}x{height}':>10}{rate:>14.1f}{cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
