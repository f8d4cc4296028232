"""The embedded simulator against answers that can be worked out, against itself, and against habitat-sim."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from math import cos, hypot, pi, radians, sin, tan
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.layout import Part, SceneModel, SceneObject, Surface, write_scene
from hm3dm3_env.sim import parity
from hm3dm3_env.sim.base import Body, Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.parity import Check, Report, Starts, compare, edges, habitat, main
from hm3dm3_env.sim.process import ProcessSimulator
from tests.rooms import box, thing, write_two_rooms

EAST = -pi / 2
CAMERA = Camera(60, 80, 60.0, sensor_height=1.2, min_depth=0.1, max_depth=20.0)
NO_HABITAT = "" if os.environ.get(parity.HABITAT_PYTHON) or importlib.util.find_spec("habitat_sim") else (
    f"habitat-sim is not installed here, and {parity.HABITAT_PYTHON} names no interpreter that has it"
)  # fmt: skip


def ramp(angle: float) -> Part:
    """A plane 4 m ahead (along +y in the file, -z in the world), leaning away by `angle` at the top."""
    run = 3 * tan(angle)
    corners = np.array([[-9, 4, -1], [9, 4, -1], [9, 4 + 4 * run / 3, 3], [-9, 4 + 4 * run / 3, 3]], float)
    uv = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    return Part(corners, np.array([[0, 1, 2], [0, 2, 3]]), "plain", uv)


def room(extra: list[SceneObject]) -> SceneModel:
    surfaces = {"plain": Surface("plain", (0.9, 0.9, 0.85)), "red": Surface("red", (0.8, 0.1, 0.1))}
    floor = thing("floor", (-4, -4, -0.1), (4, 9, 0), "plain")
    return SceneModel([floor, *extra], surfaces, ["room"])


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[SceneObject]], EmbeddedSimulator]:
    def make(extra: list[SceneObject]) -> EmbeddedSimulator:
        sim = EmbeddedSimulator()
        sim.load(write_scene(room(extra), tmp_path_factory.mktemp("room"), "t00001"))
        return sim

    return make


# -- against answers that can be worked out -------------------------------------------------------------


def rays(camera: Camera, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """(3,) where the camera is and (H, W, 3) world directions of depth 1, by formulas of its own."""
    look = np.array(
        [-sin(pose.heading) * cos(pose.pitch), sin(pose.pitch), -cos(pose.heading) * cos(pose.pitch)]
    )
    right = np.array([cos(pose.heading), 0, -sin(pose.heading)])
    up = np.cross(right, look)
    half = tan(radians(camera.hfov_deg) / 2)
    x = ((np.arange(camera.width) + 0.5) / camera.width * 2 - 1) * half
    y = (1 - (np.arange(camera.height) + 0.5) / camera.height * 2) * half * camera.height / camera.width
    directions = look + x[None, :, None] * right + y[:, None, None] * up
    return np.array([pose.x, pose.y + camera.sensor_height, pose.z]), directions


@pytest.mark.parametrize("angle", [0.0, 20.0, 50.0])
@pytest.mark.parametrize(("heading", "pitch"), [(0.0, 0.0), (0.3, 0.2), (-0.4, -0.3)])
def test_depth_of_planes_at_angles(load: Callable, angle: float, heading: float, pitch: float) -> None:
    sim = load([SceneObject("wall", 0, [ramp(radians(angle))])])
    pose = Pose(0.3, 0, -1.0, heading, pitch)
    eye, directions = rays(CAMERA, pose)
    lean = tan(radians(angle))  # the plane is -z = 4 + lean * (y + 1)
    with np.errstate(divide="ignore"):
        plane = (4 + lean * (eye[1] + 1) + eye[2]) / (-directions[..., 2] - lean * directions[..., 1])
        ground = np.where(directions[..., 1] < 0, -eye[1] / directions[..., 1], np.inf)
    height = eye[1] + plane * directions[..., 1]
    plane = np.where((plane > 0) & (height > -1) & (height < 3), plane, np.inf)
    there = eye + ground[..., None] * np.nan_to_num(directions)
    ground = np.where(
        (np.abs(there[..., 0]) < 4) & (there[..., 2] < 4) & (there[..., 2] > -9), ground, np.inf
    )
    truth = np.minimum(plane, ground)
    truth = np.where((truth >= 0.1) & (truth <= 20), truth, 0)
    frame = sim.render([pose], CAMERA, rgb=False)[0]
    away = ~edges(frame)
    assert away.mean() > 0.6
    np.testing.assert_allclose(frame.depth[away], truth[away], atol=2e-3)


def test_depth_and_ids_of_a_box(load: Callable) -> None:
    low, high = np.array([-0.5, 0.6, -3.4]), np.array([0.7, 1.7, -2.2])  # in the world
    sim = load([SceneObject("cabinet", 0, [box((-0.5, 2.2, 0.6), (0.7, 3.4, 1.7), "red")])])
    cabinet = sim.scene.of_category("cabinet")[0].id
    for pose in (Pose(0, 0, 0), Pose(1.5, 0, -1.0, 0.7, -0.1), Pose(-1.2, 0, -1.5, -0.7, 0.1)):
        eye, directions = rays(CAMERA, pose)
        with np.errstate(divide="ignore"):
            a, b = (low - eye) / directions, (high - eye) / directions
        enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        hit = (enter < leave) & (enter > 0.1)
        frame = sim.render([pose], CAMERA, rgb=False, semantic=True)[0]
        away = ~edges(frame)
        assert frame.semantic is not None and (hit & away).sum() > 200
        np.testing.assert_array_equal((frame.semantic == cabinet)[away], hit[away])
        np.testing.assert_allclose(frame.depth[hit & away], enter[hit & away], atol=1e-3)


def test_distance_around_a_corner(load: Callable) -> None:
    wall = SceneObject("wall", 0, [box((-4, 2.0, 0), (1.0, 2.1, 2.5), "plain")])  # ends at x = 1
    navigator = load([wall]).navigator
    start, goal = np.array([[-1.0, 0, -0.5]]), np.array([[-1.0, 0, -3.5]])
    reach = 0.2 + 0.2 * (2**0.5 - 1)  # the body keeps 0.2: its 0.17 rounded up to cells; corners are cut
    shortest = hypot(2.0 + 0.1, 1.5 - reach) + hypot(2.0 + 0.1, 1.4 - reach) + 0.1
    longest = hypot(2.0 + reach, 1.3) + hypot(2.0 + reach, 1.2) + 0.5
    length = navigator.distance(start, goal)[0]
    assert shortest < length < longest
    path = navigator.path(start[0], goal)
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(length, abs=0.01)


@pytest.mark.parametrize("heading", [0.0, 0.3, -0.6, 1.0])
def test_the_end_of_a_walk_into_a_wall(load: Callable, heading: float) -> None:
    wall = SceneObject("wall", 0, [box((-4, 2.02, 0), (4, 2.12, 2.5), "plain")])
    navigator = load([wall]).navigator
    pose = Pose(0.0, 0, -0.61, heading)
    for _ in range(12):
        pose = navigator.step(pose, "move_forward")
    assert pose.z == pytest.approx(-1.8, abs=0.002)  # the wall's cell less the radius in whole cells
    assert pose.x == pytest.approx(-(1.8 - 0.61) * tan(heading), abs=0.003)
    assert navigator.step(pose, "move_forward").position == pytest.approx(pose.position, abs=3e-4)


# -- against itself -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_rooms(tmp_path_factory.mktemp("parity"))


@pytest.fixture(scope="module")
def twin() -> Iterator[ProcessSimulator]:
    sim = ProcessSimulator("embedded", sys.executable)
    yield sim
    sim.close()


def test_the_worker_is_equal(scene: Path, twin: ProcessSimulator) -> None:
    done: list[int] = []
    report = compare(EmbeddedSimulator(), twin, scene, 6, 10, 40, camera=CAMERA, step=done.append)
    assert report.passed and sum(done) == 16
    assert report["depth away from edges: median"] == 0 and report["walks: largest"] == 0
    for name in ("depth away from edges: pixels", "semantic", "walks of"):
        assert report[name] == 1
    for name in ("distances: median", "distances: 95th", "distances: finite", "points of one"):
        assert report[name] == 0
    assert "agrees" in str(report)


def test_another_body_is_found_out(scene: Path) -> None:
    other = EmbeddedSimulator(Body(radius=0.3, turn_deg=10.0))
    report = compare(EmbeddedSimulator(), other, scene, 2, 10, 40, camera=CAMERA)
    assert not report.passed and "DIFFERS" in str(report) and "MISSED" in str(report)
    assert report["points of one"] > 0 and report["walks of"] < 0.5
    assert report["semantic"] == 1  # the pictures are the same


def test_same_seed_same_report(scene: Path) -> None:
    ours, other = EmbeddedSimulator(), EmbeddedSimulator(Body(radius=0.25))
    first, again, third = (compare(ours, other, scene, 1, 3, 40, seed, camera=CAMERA) for seed in (1, 1, 2))
    assert str(first) == str(again) != str(third)


def test_checks() -> None:
    assert Check("a", 1.0, 2.0).passed and not Check("a", 3.0, 2.0).passed
    assert Check("a", 3.0, 2.0, at_least=True).passed and not Check("a", float("nan"), 2.0).passed
    assert Check("a", float("nan")).passed and str(Check("a", 0.0123, 0.05, unit="cm")).endswith("ok")
    report = Report("s", [Check("one", 0.5, 0.9, True, "%")])
    assert not report.passed and str(report).splitlines()[0] == "s: DIFFERS"
    assert "50.00%" in str(report) and ">= 90.00%" in str(report)


def test_no_common_points(load: Callable, scene: Path) -> None:
    class Nowhere:
        floors = [0.0]

        def random_point(self, rng: np.random.Generator, floor: int) -> np.ndarray:
            return np.array([99.0, 0, 99])

        def is_navigable(self, point: np.ndarray) -> bool:
            return False

    navigator = load([]).navigator
    starts = Starts(navigator, Nowhere(), np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="none is valid in both"):
        starts.point()
    assert starts.refused == 1
    Nowhere.floors = []
    with pytest.raises(ValueError, match="no floor"):
        Starts(navigator, Nowhere(), np.random.default_rng(0))  # type: ignore[arg-type]


# -- the command line ---------------------------------------------------------------------------------------


def test_help_and_mistakes(
    scene: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--help"]) == 0 and "python=PATH" in capsys.readouterr().out
    assert main([]) == 2
    for arguments, message in (
        (["poses=0"], "at least 1"),
        (["poses=many"], "invalid literal"),
        (["colour=red"], "unknown colour"),
        (["python=/nowhere/python"], "cannot be started"),
        (["narrow_passages=some"], "none of joining"),
    ):
        assert main([str(scene), *arguments]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.delenv(parity.HABITAT_PYTHON, raising=False)
    monkeypatch.setattr(parity.importlib.util, "find_spec", lambda name: None)
    assert main([str(scene)]) == 2
    assert "python=PATH" in capsys.readouterr().err
    with pytest.raises(ImportError, match=parity.HABITAT_PYTHON):
        habitat(Body())


@pytest.mark.parametrize(("radius", "code"), [(0.17, 0), (0.3, 1)])
def test_exit_codes(scene: Path, monkeypatch: pytest.MonkeyPatch, radius: float, code: int) -> None:
    monkeypatch.setattr(parity, "habitat", lambda *_: EmbeddedSimulator(Body(radius=radius, turn_deg=30)))
    monkeypatch.setattr(parity, "Camera", lambda: CAMERA)
    assert main([str(scene), "poses=2", "sequences=10", "pairs=40"]) == code


def test_a_scene_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(parity, "habitat", lambda *_: EmbeddedSimulator())
    assert main([str(tmp_path / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err


# -- against habitat-sim ------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(NO_HABITAT), reason=NO_HABITAT or "-")
def test_habitat_agrees(scene: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "hm3dm3_env.sim.parity",
        str(scene),
        "poses=12",
        "sequences=60",
        "pairs=200",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
