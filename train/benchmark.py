"""What the benchmark's data cost on this machine: a split, training samples, and feeding them to a learner.

    python -m train.benchmark                                      full size: about two hours on 2 cores
    python -m train.benchmark houses=6 episodes=160 train_houses=12 train_episodes=240 samples=2000

Every figure is measured by running the commands themselves into a new folder, one after the other; at other
than full size, the report says what full size would take at the measured rate.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from hm3dm3_env.cli import command
from hm3dm3_env.files import write_atomic
from hm3dm3_env.workers import cpu_model
from train.samples import open_samples

FULL_EPISODES, FULL_SAMPLES = 1000, 100_000
LIMITS = {"episodes": 30.0, "samples": 90.0, "disk": 2.0, "loader": 3000.0, "memory": 4.0}
"""What full size must keep on 2 cores: minutes, minutes, GB, samples a second; GiB a worker (ours)."""


@dataclass(frozen=True)
class DataBenchmarkConfig:
    """Sizes; the defaults are full size."""

    out: str = "out/data-benchmark"
    """A folder that does not exist yet."""
    houses: int = 36
    episodes: int = FULL_EPISODES
    train_houses: int = 145
    train_episodes: int = 3000
    samples: int = FULL_SAMPLES
    workers: int = 2
    batch: int = 64


def measure(config: DataBenchmarkConfig) -> str:
    """Run everything and return the report, which is also printed and written to <out>/report.txt.

    Raises:
        ValueError: the folder exists, or a command failed.
    """
    out = Path(config.out)
    if out.exists():
        raise ValueError(f"out: {out} exists; name a new folder, so that all of it is measured")
    data, workers = f"data={out / 'data'}", f"workers={config.workers}"
    generate = ["hm3dm3_env.episodes.generate", data, workers]
    val = _run(*generate, "split=val", f"houses={config.houses}", f"episodes={config.episodes}")
    train = _run(
        *generate, "split=train", f"houses={config.train_houses}", f"episodes={config.train_episodes}"
    )
    samples = _run("train.dataset", data, workers, f"size={config.samples}", f"out={out / 'samples'}")
    begin = perf_counter()
    read = open_samples(out / "samples")
    opening, rate = perf_counter() - begin, _loader(read, config.batch)
    size = sum(path.stat().st_size for path in (out / "samples").rglob("*") if path.is_file()) / 1e9
    whole, count = config.episodes / FULL_EPISODES, len(read) / FULL_SAMPLES
    memory = max(val[1], train[1], samples[1])
    rows = [
        _row("val split", f"{config.episodes} episodes, {config.houses} houses", val[0] / 60, "min", whole,
             LIMITS["episodes"]),
        f"{'train split':12}{f'{config.train_episodes} episodes, {config.train_houses} houses':34}"
        f"{train[0] / 60:9.1f} min",
        _row("samples", f"{len(read)} samples, {len(read) / samples[0]:.1f} a second", samples[0] / 60, "min",
             count, LIMITS["samples"]),
        _row("disk", f"{size * 1e6 / len(read):.2f} kB a sample", size, "GB", count, LIMITS["disk"]),
        _row("memory", "largest process", memory, "GiB", 1.0, LIMITS["memory"]),
        f"{'opening':12}{f'{len(read) / opening:.0f} samples a second':34}{opening:9.1f} s",
        f"{'loader':12}{f'batches of {config.batch} at random':34}{rate:9.0f} samples/s"
        f"   {_verdict(LIMITS['loader'] / rate)} (least {LIMITS['loader']:.0f})",
    ]  # fmt: skip
    report = "\n".join(
        [
            f"{cpu_model()}, {config.workers} workers of {os.cpu_count()} cores; "
            f"Python {platform.python_version()}",
            "",
            *rows,
        ]
    )
    write_atomic(out / "report.txt", (report + "\n").encode())
    print("\n" + report)
    return report


def _row(name: str, what: str, value: float, unit: str, share: float, limit: float) -> str:
    """A figure, what full size would take at this rate, and whether that keeps the limit."""
    full = "" if abs(share - 1) < 0.01 else f", at full size {value / share:.1f}"
    return f"{name:12}{what:34}{value:9.2f} {unit}{full}   {_verdict(value / share / limit)} (most {limit:g})"


def _verdict(used: float) -> str:
    return "reached" if used <= 1 else f"NOT reached, {used:.2f} times the limit"


def _run(module: str, *arguments: str) -> tuple[float, float]:
    """(seconds, GiB of the largest process) of a command."""
    print(f"\n$ python -m {module} {' '.join(arguments)}", flush=True)
    begin = perf_counter()
    process = subprocess.Popen([sys.executable, "-m", module, *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{module} ended with status {process.returncode}")
    unit = 2**30 if sys.platform == "darwin" else 2**20  # bytes there, KiB elsewhere
    return perf_counter() - begin, usage.ru_maxrss / unit


def _loader(read, batch: int) -> float:
    """Samples a second in shuffled batches, over at least 3 seconds."""
    rng, done, begin = np.random.default_rng(0), 0, perf_counter()
    while perf_counter() - begin < 3:
        for rows in np.array_split(rng.permutation(len(read)), -(-len(read) // batch)):
            read.batch(rows)
            done += len(rows)
    return done / (perf_counter() - begin)


main = command(DataBenchmarkConfig, "data_benchmark", measure)

if __name__ == "__main__":
    main()
