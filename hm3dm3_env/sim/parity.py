"""Does the embedded simulator agree with habitat-sim on a scene?

    python -m hm3dm3_env.sim.parity SCENE_FOLDER [key=value ...]

    python=PATH           interpreter that has habitat-sim (default: the environment variable
                          HM3DM3_HABITAT_PYTHON; without both habitat-sim must be importable here)
    poses=50              frames that are compared
    sequences=100         walks that are compared, of 40 actions each
    pairs=400             pairs of points whose distance is compared
    seed=0                of all that is drawn
    narrow_passages=none  the body's; none as habitat-sim has it, joining is the benchmark's default
    gpu_device=-1         habitat-sim's; -1: the CPU

Both simulators load the scene and get the same poses, walks and points. Prints a table of what was measured
and what is to be reached. The exit code is 0 if everything is reached, 1 if not, 2 if it cannot be measured.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import ndimage
from tqdm import tqdm

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import Body, Camera, Frame, Navigator, Simulator
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.process import ProcessSimulator, SimulatorDied

HABITAT_PYTHON = "HM3DM3_HABITAT_PYTHON"
"""Environment variable: an interpreter that has habitat-sim."""
MEDIAN_DEPTH, NEAR_DEPTH, NEAR_SHARE = 0.01, 0.05, 0.99
"""Depth away from edges: metres at the median, and how many pixels (share) must be within how many metres."""
SEMANTIC_SHARE = 0.98
"""Pixels with the same object."""
DISTANCE_MEDIAN, DISTANCE_95 = 0.02, 0.05
"""Relative difference of geodesic distances at the median and the 95th percentile."""
WALK_END, WALK_SHARE = 0.05, 0.95
"""Metres within which so many walks (share) must end together."""
WALK_LENGTH = 40
"""Actions of a walk."""
ACTIONS = {"move_forward": 0.5, "turn_left": 0.2, "turn_right": 0.2, "look_up": 0.05, "look_down": 0.05}
"""What walks are drawn from, with probabilities."""
EDGE_JUMP, EDGE_WIDTH = 0.1, 2
"""A pixel is at an edge if a pixel within EDGE_WIDTH has a neighbour with another object, or whose depth
differs by more than EDGE_JUMP metres and this share, or is there in one of the two only (all ours)."""
SHORTEST = 1.0
"""Metres; shorter distances are not compared, as a relative difference says little there (ours)."""
TRIES = 200
"""Draws of a point that is valid in both before giving up (ours)."""


@dataclass(frozen=True)
class Check:
    """One number, what it has to reach (None: it is only told), and whether more or less is better."""

    name: str
    value: float
    limit: float | None = None
    at_least: bool = False
    unit: str = ""

    @property
    def passed(self) -> bool:
        """Whether the limit is kept (a number that could not be measured keeps none)."""
        if self.limit is None:
            return True
        return bool(self.value >= self.limit if self.at_least else self.value <= self.limit)

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"{'>=' if self.at_least else '<='} {self._text(self.limit)}"
        mark = "" if self.limit is None else "ok" if self.passed else "MISSED"
        return f"{self.name:<56} {self._text(self.value):>10}  {limit:>11}  {mark}".rstrip()

    def _text(self, value: float) -> str:
        return (
            f"{value:.2%}"
            if self.unit == "%"
            else f"{value * 100:.2f} cm"
            if self.unit == "cm"
            else f"{value:g}"
        )


@dataclass
class Report:
    """All checks of one scene."""

    scene: str
    checks: list[Check] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether all limits are kept."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([f"{self.scene}: {'agrees' if self.passed else 'DIFFERS'}", *map(str, self.checks)])

    def __getitem__(self, name: str) -> float:
        """The value of the check whose name begins with `name`."""
        return next(check.value for check in self.checks if check.name.startswith(name))


def compare(
    ours: Simulator,
    theirs: Simulator,
    scene: Path,
    poses: int = 50,
    sequences: int = 100,
    pairs: int = 400,
    seed: int = 0,
    camera: Camera | None = None,
    step: Callable[[int], object] = lambda _: None,
) -> Report:
    """Compare two simulators on a scene folder, which both load.

    Args:
        step: told how many frames or walks were done, for a progress bar.

    Raises:
        ValueError: no floor, or hardly a point of the one is valid in the other.
        FileNotFoundError, SceneError: the scene cannot be loaded.
    """
    ours.load(scene)
    theirs.load(scene)
    rng = np.random.default_rng(seed)
    starts = Starts(ours.navigator, theirs.navigator, rng)
    report = Report(scene.name)
    report.checks += compare_frames(ours, theirs, starts, poses, camera or Camera(), rng, step)
    report.checks += compare_distances(ours.navigator, theirs.navigator, starts, pairs)
    report.checks += compare_walks(ours.navigator, theirs.navigator, starts, sequences, rng, step)
    report.checks.append(Check("points of one that are invalid in the other", starts.refused, unit="%"))
    return report


class Starts:
    """Draws points that are valid in both simulators, from each in turn."""

    def __init__(self, ours: Navigator, theirs: Navigator, rng: np.random.Generator) -> None:
        if not ours.floors or not theirs.floors:
            raise ValueError(
                "no floor to compare: one of the simulators finds no place where the body could stand"
            )
        self.navigators, self.rng = (ours, theirs), rng
        self.drawn, self.lost = 0, 0

    def point(self) -> np.ndarray:
        """(3,) a point valid in both, at the height of our floor.

        Raises:
            ValueError: none was found.
        """
        ours, theirs = self.navigators
        for _ in range(TRIES):
            source, other = self.navigators[:: 1 if self.drawn % 2 == 0 else -1]
            point = source.random_point(self.rng, int(self.rng.integers(len(source.floors))))
            self.drawn += 1
            if other.is_navigable(point):
                found = ours.snap(point, 0.1)
                if found is not None:
                    return found
            self.lost += 1
        raise ValueError(f"of {TRIES} points none is valid in both simulators: their walkable areas differ")

    @property
    def refused(self) -> float:
        """Share of the points drawn so far that only one simulator calls valid."""
        return self.lost / max(self.drawn, 1)


def _pose(starts: Starts, rng: np.random.Generator, pitch: float = 0.0) -> Pose:
    x, y, z = (float(v) for v in starts.point())
    return Pose(x, y, z, float(rng.uniform(-np.pi, np.pi)), pitch)


def edges(frame: Frame) -> np.ndarray:
    """(H, W) bool: pixels at an edge, see `EDGE_JUMP`."""
    depth = frame.depth
    found = np.zeros(depth.shape, bool)
    for axis in (0, 1):
        near, far = np.minimum(depth, np.roll(depth, 1, axis)), np.maximum(depth, np.roll(depth, 1, axis))
        jump = (far - near > EDGE_JUMP * (1 + near)) | ((near == 0) & (far > 0))
        if frame.semantic is not None:
            jump |= frame.semantic != np.roll(frame.semantic, 1, axis)
        jump[(slice(None),) * axis + (0,)] = False  # the roll's wrap
        found |= jump | np.roll(jump, -1, axis)
    return ndimage.binary_dilation(found, np.ones((3, 3), bool), EDGE_WIDTH)


def compare_frames(
    ours: Simulator,
    theirs: Simulator,
    starts: Starts,
    poses: int,
    camera: Camera,
    rng: np.random.Generator,
    step: Callable[[int], object] = lambda _: None,
) -> list[Check]:
    """Depth away from edges and semantic ids from random poses, looking up, ahead and down in turn."""
    errors, same, pixels, inner = [np.zeros(0)], 0, 0, 0
    for index in range(poses):
        pose = _pose(starts, rng, (0.0, -np.pi / 6, np.pi / 6)[index % 3])
        mine = ours.render([pose], camera, rgb=False, semantic=True)[0]
        other = theirs.render([pose], camera, rgb=False, semantic=True)[0]
        assert mine.semantic is not None and other.semantic is not None
        away = ~(edges(mine) | edges(other)) & ((mine.depth > 0) | (other.depth > 0))
        gap = np.abs(mine.depth - other.depth)
        gap[(mine.depth > 0) != (other.depth > 0)] = np.inf
        errors.append(gap[away])
        same += int((mine.semantic == other.semantic).sum())
        pixels, inner = pixels + gap.size, inner + int(away.sum())
        step(1)
    error = np.concatenate(errors)
    if not len(error):
        error = np.array([np.nan])
    close = float((error <= NEAR_DEPTH).mean())
    return [
        Check("depth away from edges: median error", float(np.median(error)), MEDIAN_DEPTH, unit="cm"),
        Check(f"depth away from edges: pixels within {NEAR_DEPTH * 100:g} cm", close, NEAR_SHARE, True, "%"),
        Check("semantic ids: equal pixels", same / max(pixels, 1), SEMANTIC_SHARE, True, "%"),
        Check("pixels away from edges with a depth", inner / max(pixels, 1), unit="%"),
    ]


def compare_distances(ours: Navigator, theirs: Navigator, starts: Starts, pairs: int) -> list[Check]:
    """Geodesic distances between points, in groups of a target and 20 points."""
    size = min(20, max(pairs, 1))
    mine, other = [], []
    for _ in range(max(pairs // size, 1)):
        points = np.array([starts.point() for _ in range(size + 1)])
        mine.append(ours.distance(points[1:], points[:1]))
        other.append(theirs.distance(points[1:], points[:1]))
    a, b = np.concatenate(mine), np.concatenate(other)
    both = np.isfinite(a) & np.isfinite(b)
    far = both & (b >= SHORTEST)
    error = np.abs(a[far] / b[far] - 1) if far.any() else np.array([np.nan])
    sign = a[far] / b[far] - 1 if far.any() else np.array([np.nan])
    return [
        Check("distances: median difference", float(np.median(error)), DISTANCE_MEDIAN, unit="%"),
        Check("distances: 95th percentile", float(np.percentile(error, 95)), DISTANCE_95, unit="%"),
        Check("distances: ours longer by at most", float(sign.max()), unit="%"),
        Check("distances: ours shorter by at most", float(-sign.min()), unit="%"),
        Check("distances: finite in one only", float((np.isfinite(a) != np.isfinite(b)).mean()), unit="%"),
    ]


def compare_walks(
    ours: Navigator,
    theirs: Navigator,
    starts: Starts,
    sequences: int,
    rng: np.random.Generator,
    step: Callable[[int], object] = lambda _: None,
) -> list[Check]:
    """How far apart the same random walks end, in the plane."""
    gaps = []
    for _ in range(sequences):
        mine = other = _pose(starts, rng)
        for action in rng.choice(list(ACTIONS), WALK_LENGTH, p=list(ACTIONS.values())):
            mine, other = ours.step(mine, str(action)), theirs.step(other, str(action))
        gaps.append(np.hypot(mine.x - other.x, mine.z - other.z))
        step(1)
    gap = np.array(gaps) if gaps else np.array([np.nan])
    name = f"walks of {WALK_LENGTH} actions: end within {WALK_END * 100:g} cm"
    return [
        Check(name, float((gap <= WALK_END).mean()), WALK_SHARE, True, "%"),
        Check("walks: median distance of the ends", float(np.median(gap)), unit="cm"),
        Check("walks: largest", float(gap.max()), unit="cm"),
    ]


def habitat(body: Body, python: str = "", gpu_device: int = -1) -> Simulator:
    """habitat-sim: in a worker of `python`, else of HM3DM3_HABITAT_PYTHON, else in this process.

    Raises:
        ImportError: it is nowhere.
        ValueError, SimulatorDied: the interpreter cannot run it.
    """
    python = python or os.environ.get(HABITAT_PYTHON, "")
    options = {"gpu_device": gpu_device, "navmesh": "computed"}
    if python:
        return ProcessSimulator("habitat", python, body, options)
    if importlib.util.find_spec("habitat_sim") is None:
        raise ImportError(
            f"{sys.executable} has no habitat-sim; give an interpreter that has it with python=PATH "
            f"or {HABITAT_PYTHON} (python -m hm3dm3_env.sim.doctor tells what works)"
        )
    return ProcessSimulator("habitat", sys.executable, body, options)  # it may end its process


def main(arguments: list[str]) -> int:
    """The command line; returns the exit code."""
    if not arguments or set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0 if arguments else 2
    scene, given = Path(arguments[0]), dict(item.partition("=")[::2] for item in arguments[1:])
    numbers = {"poses": 50, "sequences": 100, "pairs": 400, "seed": 0, "gpu_device": -1}
    try:
        unknown = set(given) - set(numbers) - {"python", "narrow_passages"}
        if unknown:
            raise ValueError(f"unknown {', '.join(sorted(unknown))}; see --help")
        for name in numbers:
            numbers[name] = int(given.get(name, numbers[name]))
        if min(numbers["poses"], numbers["sequences"], numbers["pairs"]) < 1:
            raise ValueError("poses, sequences and pairs must be at least 1")
        body = Body(narrow_passages=given.get("narrow_passages", "none"))
        theirs = habitat(body, given.get("python", ""), numbers.pop("gpu_device"))
        ours = EmbeddedSimulator(body)
        total = numbers["poses"] + numbers["sequences"]
        try:
            with tqdm(total=total, desc=scene.name, leave=False, disable=not sys.stderr.isatty()) as bar:
                report = compare(ours, theirs, scene, step=bar.update, **numbers)  # type: ignore[arg-type]
        finally:
            ours.close()
            theirs.close()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, SimulatorDied) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
