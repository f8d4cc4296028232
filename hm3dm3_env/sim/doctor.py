"""What works on this machine, in plain words, and what to do about what doesn't.

    python -m hm3dm3_env.sim.doctor
    python -m hm3dm3_env.sim.doctor python=/path/to/conda/envs/habitat/bin/python
    python -m hm3dm3_env.sim.doctor gpu_device=0

Tries each simulator on a small home that is made for it: the embedded one here and in a worker process, and
habitat-sim in this interpreter and in the one given. Habitat-sim always runs in a process of its own, since
it ends its process when it gets no graphics context. The exit code is 1 if the embedded simulator, or an
interpreter that was given, does not work.
"""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np

from hm3dm3_env import __version__
from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.sim.base import Body, Camera, Frame, Simulator, SimulatorDied
from hm3dm3_env.sim.make import SimConfig, make_simulator

CAMERA = Camera(width=128, height=128)
START_TIMEOUT, TIMEOUT = 120.0, 60.0
"""Seconds that a simulator gets here: fewer than in an evaluation, where scenes are larger (ours)."""
INSTALL = (
    "install it in an environment of its own (conda create -n habitat -c conda-forge -c aihabitat python=3.9 "
    "habitat-sim headless) and give that interpreter as sim.python=<environment>/bin/python"
)
_EGL = """
import ctypes, sys
egl = ctypes.CDLL("libEGL.so.1")
egl.eglGetPlatformDisplay.restype = egl.eglGetDisplay.restype = ctypes.c_void_p
egl.eglGetPlatformDisplay.argtypes = [ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
egl.eglQueryString.restype = ctypes.c_char_p
egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
egl.eglQueryString.argtypes = [ctypes.c_void_p, ctypes.c_int]
display = egl.eglGetPlatformDisplay(0x31DD, None, None)  # EGL_PLATFORM_SURFACELESS_MESA
if not (display and egl.eglInitialize(display, None, None)):
    egl.eglGetDisplay.argtypes = [ctypes.c_void_p]
    display = egl.eglGetDisplay(None)
    if not (display and egl.eglInitialize(display, None, None)):
        sys.exit("no display can be opened")
print(egl.eglQueryString(display, 0x3053).decode(), egl.eglQueryString(display, 0x3054).decode())
"""


@dataclass
class Finding:
    """One line of the report: whether it works (None: it was not tried), what was found, and the advice."""

    what: str
    works: bool | None
    found: str
    advice: str = ""

    def __str__(self) -> str:
        mark = {True: "works", False: "FAILS", None: "  -  "}[self.works]
        lines = [f"[{mark}] {self.what}: {self.found}"]
        return "\n".join(lines + ([f"        -> {self.advice}"] if self.advice else []))


def examine(python: str = "", gpu_device: int = -1, say: Callable[[str], None] = print) -> list[Finding]:
    """Try everything, telling each finding as it comes."""
    findings: list[Finding] = []

    def add(finding: Finding) -> None:
        findings.append(finding)
        say(str(finding))

    with tempfile.TemporaryDirectory(prefix="hm3dm3-doctor-") as folder:
        scene = write_scan(folder, triangles=25_000, textures=2, size=256, semantic="vertex")
        truth: list[Frame] = []
        embedded = SimConfig(cache="none", start_timeout=START_TIMEOUT, timeout=TIMEOUT)
        hint = "reinstall: pip install --force-reinstall embreex numba hm3dm3"
        add(_try("embedded simulator", f"embreex {version('embreex')}", embedded, scene, truth, hint))
        in_worker = _with(embedded, python=sys.executable)
        add(_try("embedded simulator in a worker process", "", in_worker, scene, truth, hint))
        add(_egl())
        habitat = _with(embedded, backend="habitat", gpu_device=gpu_device)
        advice = (
            "gpu_device=-1 renders on the CPU, with Mesa's libEGL installed (Debian: libegl1 libgl1-mesa-dri)"
            if gpu_device >= 0
            else "see the lines above; without a GPU it needs Mesa's libEGL (Debian: libegl1 libgl1-mesa-dri)"
        )
        if importlib.util.find_spec("habitat_sim") is None:
            add(Finding("habitat-sim in this interpreter", None, "not installed", "" if python else INSTALL))
        else:
            here = _with(habitat, python=sys.executable)
            add(_try("habitat-sim in this interpreter", "", here, scene, truth, advice))
        if python:
            there = _with(habitat, python=python)
            add(_try(f"habitat-sim in {python}", "", there, scene, truth, advice))
        else:
            others = _conda_environments()
            found = f"found in {', '.join(others)}" if others else "none was given"
            advice = f"python -m hm3dm3_env.sim.doctor python={others[0] if others else '<interpreter>'}"
            add(Finding("habitat-sim in another interpreter", None, found, advice))
    return findings


def _with(config: SimConfig, **changes: object) -> SimConfig:
    return SimConfig(**{**vars(config), **changes})  # type: ignore[arg-type]


def _try(
    what: str, about: str, config: SimConfig, scene: Path, truth: list[Frame], advice: str
) -> Finding:
    """Load the test home, render three places and walk; compare with `truth`, or fill it."""
    sim: Simulator | None = None
    try:
        begin = perf_counter()
        sim = make_simulator(config, Body())
        sim.load(scene)
        loaded = perf_counter() - begin
        poses = _places(sim) if not truth else [frame.pose for frame in truth]
        sim.render(poses, CAMERA, semantic=True)  # the first time compiles
        begin = perf_counter()
        frames = sim.render(poses, CAMERA, semantic=True)
        spent = (perf_counter() - begin) / len(frames)
        sim.navigator.step(poses[0], "move_forward")
        worker = getattr(sim, "worker_python", "")
    except (ValueError, OSError, RuntimeError) as error:
        lines = str(error).splitlines() or [repr(error)]
        shown = lines if isinstance(error, SimulatorDied) else lines[-1:]
        return Finding(what, False, "\n          ".join(shown), advice)
    finally:
        if sim is not None:
            sim.close()
    parts = [about, f"Python {worker}" if worker else "", f"a small home loads in {loaded:.1f} s"]
    parts.append(f"a 128 x 128 RGB-D-semantic frame takes {spent * 1e3:.1f} ms")
    if not truth:
        truth.extend(frames)
        return Finding(what, True, "; ".join(part for part in parts if part))
    off = np.median(np.abs(np.stack([a.depth - b.depth for a, b in zip(frames, truth)])))
    agree = np.mean(np.stack([a.semantic == b.semantic for a, b in zip(frames, truth)]))  # type: ignore[arg-type]
    parts.append(f"median depth error {off * 1000:.1f} mm, {agree:.1%} of object ids agree")
    if off > 0.01 or agree < 0.9:
        return Finding(what, False, "; ".join(part for part in parts if part),
                       "it renders something else; report this with the versions above")
    return Finding(what, True, "; ".join(part for part in parts if part))


def _places(sim: Simulator) -> list[Pose]:
    rng = np.random.default_rng(0)
    points = [sim.navigator.random_point(rng, 0) for _ in range(3)]
    return [Pose(p[0], p[1], p[2], float(rng.uniform(-3, 3))) for p in points]


def _egl() -> Finding:
    gpus = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    cards = f"GPUs: {', '.join(gpus)}" if gpus else "no NVIDIA GPU, so habitat-sim renders on the CPU"
    try:
        done = subprocess.run([sys.executable, "-c", _EGL], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return Finding("EGL (what habitat-sim draws with)", False, "opening a display hangs", "")
    if done.returncode == 0:
        return Finding("EGL (what habitat-sim draws with)", True, f"{done.stdout.strip()}; {cards}")
    reason = (done.stderr.strip().splitlines() or ["it crashes"])[-1]
    advice = "install Mesa's or the GPU driver's (Debian: libegl1 libgl1-mesa-dri); embedded does not need it"
    return Finding("EGL (what habitat-sim draws with)", False, f"{reason}; {cards}", advice)


def _conda_environments() -> list[str]:
    """Interpreters of conda environments that have habitat-sim."""
    try:
        prefixes = (Path.home() / ".conda" / "environments.txt").read_text().split("\n")
    except OSError:
        return []
    return [
        str(Path(prefix) / "bin" / "python")
        for prefix in prefixes
        if prefix and any(Path(prefix).glob("lib/python3*/site-packages/habitat_sim"))
    ]


def main(arguments: list[str]) -> int:
    """Print the report."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if set(given) - {"python", "gpu_device"} or not given.get("gpu_device", "0").lstrip("-").isdigit():
        print(__doc__.strip())
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    print(f"hm3dm3 {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
    python = given.get("python", "")
    findings = examine(python, int(given.get("gpu_device", -1)))
    asked = [f for f in findings if "embedded" in f.what or (python and python in f.what)]
    return 1 if any(finding.works is False for finding in asked) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
