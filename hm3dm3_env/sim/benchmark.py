"""How fast the embedded simulator is: beside habitat-sim, in loading, and in memory over many scenes.

    python -m hm3dm3_env.sim.benchmark
    python -m hm3dm3_env.sim.benchmark python=/path/to/conda/envs/habitat/bin/python scene=<folder>
    python -m hm3dm3_env.sim.benchmark parts=[loading,switches] triangles=1000000 textures=60

Everything printed was measured in the run that prints it, on one core of a Linux machine. Frames are counted
per second of the processor's time: both simulators run in a worker process of their own, on the same scene
and poses, and habitat-sim's software renderer has several threads. Without python= only the embedded one is
measured.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
from tqdm import tqdm

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.procedural import build_split
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.process import ProcessSimulator

PARTS = ("habitat", "loading", "switches")
AGENTS, TEAMS = 3, 60
"""Robots a render call, and calls a repetition."""
SIZES = ((128, 128), (160, 120), (360, 640))
SECONDS = 3.0
"""Processor time of a measurement."""
SWITCHES, WARM, HOUSES = 200, 20, 8
"""Scene switches, after how many of them memory must not grow any more, and between how many houses."""
LEAST_RATIO, FIRST_LOAD, CACHED_LOAD, GROWTH = 3.0, 10.0, 2.0, 0.05
"""To be reached: frames a CPU second against habitat-sim's at 128 x 128, seconds, and share of memory."""


def processor_seconds(pid: int) -> float:
    """Time that a process has used on all its threads (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident() -> float:
    """Resident memory of this process, MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def poses_in(scene: Path) -> list[Pose]:
    """The places that every simulator renders: random points of the lowest floor."""
    sim = EmbeddedSimulator()
    sim.load(scene)
    rng = np.random.default_rng(0)
    points = [sim.navigator.random_point(rng, 0) for _ in range(AGENTS * TEAMS)]
    pitches = np.radians(rng.choice([-30.0, 0.0, 0.0, 30.0], len(points)))
    return [
        Pose(p[0], p[1], p[2], float(rng.uniform(-np.pi, np.pi)), float(pitch))
        for p, pitch in zip(points, pitches)
    ]


def frames_a_second(sim: ProcessSimulator, poses: list[Pose], camera: Camera, semantic: bool) -> float:
    """RGB-D frames a second of processor time of the worker, over at least SECONDS of them."""
    assert sim._worker is not None
    pid = sim._worker.process.pid
    for team in range(5):
        sim.render(poses[team * AGENTS : (team + 1) * AGENTS], camera, semantic=semantic)
    begin, frames = processor_seconds(pid), 0
    while True:
        for team in range(TEAMS):
            frames += len(sim.render(poses[team * AGENTS : (team + 1) * AGENTS], camera, semantic=semantic))
        spent = processor_seconds(pid) - begin
        if spent > SECONDS:
            return frames / spent


def beside_habitat(python: str, scene: Path) -> bool:
    """Print frames a second of both simulators; whether the ratio is reached."""
    poses, reached = poses_in(scene), True
    sims = {"embedded": ProcessSimulator("embedded", sys.executable)}
    if python:
        sims["habitat"] = ProcessSimulator("habitat", python)
    for sim in sims.values():
        sim.load(scene)
    data = sims["embedded"].scene
    about = f"{len(data.triangles)} triangles, {len(data.sources)} textures"
    print(f"frames a CPU second, K = {AGENTS}, {TEAMS * AGENTS} poses, {scene.name} ({about})\n")
    print(f"{'frames':>9}  {'what':14}" + "".join(f"{name:>12}" for name in sims) + f"{'ratio':>8}")
    for semantic in (False, True):
        for width, height in SIZES:
            camera = replace(Camera(), width=width, height=height)
            rates = [frames_a_second(sim, poses, camera, semantic) for sim in sims.values()]
            what, note, ratio = "RGB-D" + (", ids" if semantic else ""), "", "-"
            if python:
                ratio = f"{rates[0] / rates[1]:.1f}"
                if (width, height) == SIZES[0] and not semantic:
                    good = rates[0] / rates[1] >= LEAST_RATIO
                    reached &= good
                    note = f"   {'reaches' if good else 'MISSES'} {LEAST_RATIO:g}"
            cells = "".join(f"{rate:>12.0f}" for rate in rates)
            print(f"{f'{width}x{height}':>9}  {what:14}{cells}{ratio:>8}{note}", flush=True)
    for sim in sims.values():
        sim.close()
    print()
    return reached


def loading(folder: Path, triangles: int, textures: int) -> bool:
    """Print the time that a large scan-like scene takes to load and show its first frame."""
    scene = write_scan(folder / "scans", triangles=triangles, textures=textures, size=1024)
    size = sum(path.stat().st_size for path in scene.iterdir()) / 1e6
    about = f"about {triangles} triangles, {textures} textures of 1024 x 1024"
    print(f"loading a scan-like home of {size:.0f} MB: {about}\n")
    reached = True
    for name, limit in (("first time", FIRST_LOAD), ("from the cache", CACHED_LOAD), ("file changed", 0.0)):
        if name == "file changed":
            text = next(scene.glob("*.semantic.txt"))
            text.write_bytes(text.read_bytes() + b"\n")
        sim = EmbeddedSimulator(cache=str(folder / "cache"))
        begin = perf_counter()
        sim.load(scene)
        loaded = perf_counter() - begin
        sim.render([Pose(0.0, 0.0, 0.0)], Camera(width=64, height=64), semantic=True)
        shown = perf_counter() - begin
        note = "" if not limit else f"   {'reaches' if shown < limit else 'MISSES'} {limit:g} s"
        reached &= not limit or shown < limit
        first = f"with the first RGB-D-semantic frame {shown:5.2f} s"
        print(f"{name:>16}: {loaded:5.2f} s; {first}{note}", flush=True)
    print()
    return reached


def switches(folder: Path) -> bool:
    """Print memory over many switches between more scenes than stay loaded."""
    scenes = build_split(folder / "scenes", "val", HOUSES)
    scenes.append(write_scan(folder / "scans", triangles=60_000, textures=4, size=512))
    sim = EmbeddedSimulator(memory_gb=0.05, cache=str(folder / "cache"))
    rng, camera, curve = np.random.default_rng(0), Camera(width=64, height=64), []
    for k in tqdm(range(SWITCHES), desc="switches", unit="scene", disable=None):
        sim.load(scenes[k % len(scenes)])
        point = sim.navigator.random_point(rng, 0)
        sim.navigator.distance(point[None], point[None])
        sim.render([Pose(*point)] * AGENTS, camera, semantic=True)
        curve.append(resident())
    # the same scene again: every point of the cycle has its own size
    cycle = len(scenes)
    early, late = max(curve[WARM : WARM + cycle]), max(curve[-cycle:])
    good = late <= early * (1 + GROWTH)
    verdict = "reaches" if good else "MISSES"
    print(f"{SWITCHES} switches between {cycle} scenes, loaded anew: {early:.0f} MB resident after {WARM},")
    print(f"{late:.0f} MB at the end ({late / early - 1:+.1%})   {verdict} {GROWTH:+.0%}")
    return good


def main(arguments: list[str]) -> int:
    """Print the tables."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    parts = given.get("parts", ",".join(PARTS)).strip("[]").split(",")
    sizes = (given.get("triangles", "1000000"), given.get("textures", "60"))
    known = {"python", "scene", "parts", "triangles", "textures"}
    if set(given) - known or set(parts) - set(PARTS) or not all(size.isdigit() for size in sizes):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    if hasattr(os, "sched_setaffinity"):  # Embree has threads of its own; this keeps them on one core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"one core; Python {platform.python_version()}, {platform.platform()}\n")
    folder, reached = Path(tempfile.mkdtemp(prefix="hm3dm3-benchmark-")), True
    try:
        if "habitat" in parts:
            scene = given.get("scene")
            where = Path(scene) if scene else build_split(folder / "scenes", "val", 1)[0]
            reached &= beside_habitat(given.get("python", ""), where)
        if "loading" in parts:
            reached &= loading(folder, int(sizes[0]), int(sizes[1]))
        if "switches" in parts:
            reached &= switches(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
