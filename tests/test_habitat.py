"""The habitat-sim backend: against a stand-in everywhere, against habitat-sim where it is installed."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import struct
import subprocess
import sys
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose, rotation_matrix
from hm3dm3_env.sim.base import Body, Camera
from hm3dm3_env.sim.habitat import HabitatSimulator
from hm3dm3_env.sim.habitat_nav import HabitatNavigator
from tests import fake_habitat
from tests.rooms import write_two_rooms

ROOT = Path(__file__).resolve().parents[1]
CAMERA = Camera(8, 6, 60.0, sensor_height=1.2, min_depth=0.5, max_depth=5.0)
needs_habitat = pytest.mark.skipif(
    importlib.util.find_spec("habitat_sim") is None, reason="habitat-sim is not installed in this interpreter"
)


def write_glb(path: Path, attributes: list[str], textured: bool = False) -> None:
    """A .glb with the JSON that our backend looks at."""
    pbr = {"baseColorTexture": {"index": 0}} if textured else {}
    primitives = [{"attributes": dict.fromkeys(attributes, 0), "material": 0}]
    document = {"meshes": [{"primitives": primitives}], "materials": [{"pbrMetallicRoughness": pbr}]}
    text = json.dumps(document).encode()
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text)) + struct.pack("<I4s", len(text), b"JSON")
    path.write_bytes(head + text)


def write_folder(root: Path, name: str = "00001-abc", annotated: bool = True, textured: bool = False) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    stem = name.split("-")[-1]
    write_glb(folder / f"{stem}.basis.glb", ["POSITION"])
    if annotated:
        write_glb(folder / f"{stem}.semantic.glb", ["POSITION", "COLOR_0", "TEXCOORD_0"], textured)
        text = 'HM3D Semantic Annotations\n1,FF0000,"wall, left",0\n\n3,00FF00,"chair",1\n'
        (folder / f"{stem}.semantic.txt").write_text(text)
    return folder


@pytest.fixture
def habitat(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("EGL_PLATFORM", "LIBGL_ALWAYS_SOFTWARE", "HSIM_DISABLE_CUDA_DEVICE", "MAGNUM_LOG"):
        monkeypatch.setenv(name, "to be restored")
        monkeypatch.delenv(name)
    return fake_habitat.install(monkeypatch)


@pytest.fixture
def loaded(habitat: Any, tmp_path: Path) -> Any:
    simulator = HabitatSimulator(Body(radius=0.2, height=1.3))
    simulator.load(write_folder(tmp_path))
    yield simulator
    simulator.close()


def stage(simulator: Any, config: Any) -> dict[str, Any]:
    """The stage's JSON that a habitat configuration leads to."""
    dataset = Path(config.sim_cfg.scene_dataset_config_file)
    (name,) = json.loads(dataset.read_text())["stages"]["paths"][".json"]
    assert name == f"{config.sim_cfg.scene_id}.stage_config.json"
    return json.loads((dataset.parent / name).read_text())


# -- configuration -----------------------------------------------------------------------------------------


def test_scene_configuration(loaded: Any, habitat: Any, tmp_path: Path) -> None:
    (simulator,) = habitat.Simulator.instances
    config, folder = simulator.configs[0], tmp_path / "00001-abc"
    found = stage(loaded, config)
    assert (found["up"], found["front"]) == (found["semantic_up"], found["semantic_front"])
    assert (found["up"], found["front"]) == ([0, 0, 1], [0, 1, 0])
    assert found["render_asset"] == str(folder / "abc.basis.glb") and found["shader_type"] == "flat"
    assert found["semantic_asset"] == str(folder / "abc.semantic.glb")
    assert found["semantic_descriptor_filename"] == str(folder / "abc.semantic.txt")
    assert found["has_semantic_textures"] is False
    assert not Path(config.sim_cfg.scene_dataset_config_file).is_relative_to(tmp_path / "00001-abc")
    assert config.sim_cfg.gpu_device_id == -1 and config.sim_cfg.load_semantic_mesh
    assert not config.sim_cfg.allow_sliding and not config.sim_cfg.enable_physics
    assert os.environ["EGL_PLATFORM"] == "surfaceless" and os.environ["LIBGL_ALWAYS_SOFTWARE"] == "1"
    kinds = [item.sensor_type for item in config.agents[0].sensor_specifications]
    assert set(kinds) == {habitat.SensorType.COLOR, habitat.SensorType.DEPTH, habitat.SensorType.SEMANTIC}
    settings = simulator.settings[0]
    assert (settings.agent_radius, settings.agent_height) == (0.2, 1.3)
    assert (settings.agent_max_climb, settings.agent_max_slope) == (0.1, 45.0)
    assert (settings.cell_size, settings.cell_height) == (0.05, 0.05)


def test_semantic_textures_and_none(habitat: Any, tmp_path: Path) -> None:
    simulator = HabitatSimulator(gpu_device=1)
    assert "LIBGL_ALWAYS_SOFTWARE" not in os.environ  # that would keep the GPU idle
    simulator.load(write_folder(tmp_path, "00002-painted", textured=True))
    simulator.load(write_folder(tmp_path, "00003-bare", annotated=False))
    (inner,) = habitat.Simulator.instances
    assert stage(simulator, inner.configs[0])["has_semantic_textures"] is True
    assert inner.configs[0].sim_cfg.gpu_device_id == 1
    assert "semantic_asset" not in stage(simulator, inner.configs[1])
    assert not inner.configs[1].sim_cfg.load_semantic_mesh
    (frame,) = simulator.render([Pose(1, 0, -1)], CAMERA, rgb=False, semantic=True)
    assert frame.rgb is None and frame.semantic is not None and not frame.semantic.any()
    assert {name for name, _, _ in inner.drawn} <= {"depth_8x6", "depth_16x16"}
    simulator.close()


def test_the_navmesh_of_the_scene(habitat: Any, tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    simulator = HabitatSimulator(navmesh="scene")
    with pytest.raises(FileNotFoundError, match=r"abc\.basis\.navmesh.*sim\.navmesh=computed"):
        simulator.load(folder)
    (folder / "abc.navmesh").touch()
    simulator.load(folder)
    (inner,) = habitat.Simulator.instances
    assert inner.pathfinder.loaded == [str(folder / "abc.navmesh")] and not inner.settings
    broken = write_folder(tmp_path, "00002-broken")
    (broken / "broken.basis.navmesh").touch()
    for _ in range(2):
        with pytest.raises(ValueError, match="habitat-sim cannot read it"):
            simulator.load(broken)
    simulator.load(folder)
    assert len(simulator.render([Pose(1, 0, -1)], CAMERA)) == 1
    simulator.close()


def test_one_simulator_for_all_scenes(habitat: Any, tmp_path: Path) -> None:
    folders = [write_folder(tmp_path, f"0000{i}-s{i}") for i in range(2)]
    simulator = HabitatSimulator()
    for folder in (*folders, *folders, folders[1]):
        simulator.load(folder)
        assert simulator.navigator.floors == pytest.approx([0.05])
        simulator.render([Pose(1, 0, -1)], CAMERA)
    (inner,) = habitat.Simulator.instances
    assert len(inner.configs) == 4  # the last load was of the current scene
    assert len(inner.settings) == 2  # a navmesh is kept for the scene's next turn
    assert len(habitat.SensorFactory.deleted) >= 3 * 3  # reconfigure() would keep their images
    place = Path(inner.configs[0].sim_cfg.scene_dataset_config_file)
    assert place.exists()
    simulator.close()
    simulator.close()
    assert inner.closed == 1 and not place.exists()
    for use in (lambda: simulator.load(folders[0]), lambda: simulator.navigator, lambda: simulator.scene):
        with pytest.raises(RuntimeError):
            use()


def test_memory_does_not_grow_with_scenes(habitat: Any, tmp_path: Path) -> None:
    """habitat-sim keeps what it has loaded: a new simulator every few scenes, the old one closed."""
    simulator = HabitatSimulator()
    for i in range(9):
        simulator.load(write_folder(tmp_path, f"0000{i}-s{i}"))
    assert [len(inner.configs) for inner in habitat.Simulator.instances] == [4, 4, 1]
    assert [inner.closed for inner in habitat.Simulator.instances] == [1, 1, 0]
    simulator.close()


def test_scenes_of_one_name(habitat: Any, tmp_path: Path) -> None:
    """habitat-sim remembers a configuration by its path: another scene's must be elsewhere."""
    simulator = HabitatSimulator()
    for root in ("a", "b"):
        simulator.load(write_folder(tmp_path / root))
    (inner,) = habitat.Simulator.instances
    files = [stage(simulator, config)["render_asset"] for config in inner.configs]
    assert files == [str(tmp_path / root / "00001-abc" / "abc.basis.glb") for root in ("a", "b")]
    assert len(inner.settings) == 2
    simulator.close()


def test_after_a_scene_that_habitat_refuses(habitat: Any, tmp_path: Path, monkeypatch: Any) -> None:
    good, bad = write_folder(tmp_path), write_folder(tmp_path, "00002-bad")
    simulator = HabitatSimulator()
    simulator.load(good)

    def refuse(*_: Any) -> None:
        raise AssertionError("ESP")

    with monkeypatch.context() as patch:
        patch.setattr(habitat.Simulator, "reconfigure", refuse)
        with pytest.raises(ValueError, match=r"00002-bad: habitat-sim cannot load it \(ESP\)"):
            simulator.load(bad)
    with pytest.raises(RuntimeError, match="no scene is loaded"):
        simulator.render([Pose(1, 0, -1)], CAMERA)
    simulator.load(good)  # in a new simulator: what the old one holds is unknown
    assert [inner.closed for inner in habitat.Simulator.instances] == [1, 0]
    assert len(simulator.render([Pose(1, 0, -1)], CAMERA)) == 1
    simulator.close()


def test_clear_errors(habitat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="navmesh: 'both' is none of computed, scene"):
        HabitatSimulator(navmesh="both")
    simulator = HabitatSimulator()
    with pytest.raises(RuntimeError, match="no scene is loaded"):
        simulator.render([Pose(0, 0, 0)], CAMERA)
    with pytest.raises(FileNotFoundError, match=r"expected xyz\.glb or xyz\.basis\.glb"):
        simulator.load(tmp_path / "00009-xyz")
    half = write_folder(tmp_path, "00001-half")
    (half / "half.semantic.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"only one of half\.semantic\.txt"):
        simulator.load(half)
    plain = write_folder(tmp_path, "00002-plain")
    write_glb(plain / "plain.semantic.glb", ["POSITION", "TEXCOORD_0"], textured=True)
    with pytest.raises(ValueError, match="needs vertex colours"):
        simulator.load(plain)
    (plain / "plain.semantic.glb").write_bytes(b"version https://git-lfs")
    with pytest.raises(ValueError, match="not a binary glTF file"):
        simulator.load(plain)
    (plain / "plain.semantic.txt").write_text("version https://git-lfs")
    good = write_folder(tmp_path)
    simulator.load(good)
    with pytest.raises(ValueError, match="line 1 must be 'HM3D Semantic Annotations'"):
        simulator.load(plain)
    simulator.load(good)  # still the current scene
    assert len(simulator.render([Pose(1, 0, -1)], CAMERA)) == 1
    monkeypatch.setitem(sys.modules, "habitat_sim", None)
    with pytest.raises(ImportError, match=r"conda install habitat-sim.*sim\.python"):
        HabitatSimulator()


# -- rendering ---------------------------------------------------------------------------------------------


def test_frames(loaded: Any, habitat: Any) -> None:
    (inner,) = habitat.Simulator.instances
    inner.drawn.clear()
    poses = [Pose(1, 0.05, -1, 0.7, 0.3), Pose(2, 0.05, -2, -2.0, -0.5)]
    frames = loaded.render(poses, CAMERA, semantic=True)
    assert [frame.pose for frame in frames] == poses
    for frame in frames:
        assert frame.depth.shape == (6, 8) and frame.depth.dtype == np.float32
        raw = np.linspace(0.1, 9.0, 48).reshape(6, 8)[::-1]
        seen = (raw >= 0.5) & (raw <= 5.0)
        assert not frame.depth[~seen].any() and np.allclose(frame.depth[seen], raw[seen])
        assert frame.rgb.shape == (6, 8, 3) and frame.rgb.dtype == np.uint8 and frame.rgb.flags.c_contiguous
        assert (frame.rgb == (10, 20, 30)).all()
        assert frame.semantic.dtype == np.int32 and set(np.unique(frame.semantic)) == {0, 1, 3}
    for (_, fov, state), pose in zip(inner.drawn[::3], poses):
        assert fov == 60.0
        assert np.allclose(state.position, [pose.x, pose.y + 1.2, pose.z])
        w, x, y, z = state.rotation
        look = [-2 * (x * z + y * w), -2 * (y * z - x * w), -(1 - 2 * (x * x + y * y))]
        assert np.allclose(look, -rotation_matrix(pose.heading, pose.pitch)[:, 2])
    assert loaded.render([], CAMERA) == []


def test_only_what_is_asked_for_is_drawn(loaded: Any, habitat: Any) -> None:
    (inner,) = habitat.Simulator.instances
    photo = Camera(16, 12, 90.0)
    for camera, rgb in ((CAMERA, False), (photo, True), (CAMERA, True), (Camera(16, 12, 110.0, 0.8), False)):
        inner.drawn.clear()
        loaded.render([Pose(1, 0, -1)], camera, rgb=rgb)
        size = f"{camera.width}x{camera.height}"
        names = [f"depth_{size}"] + ([f"color_{size}"] if rgb else [])
        assert [(name, fov) for name, fov, _ in inner.drawn] == [(name, camera.hfov_deg) for name in names]
    # fields of view share a sensor: image goals have one each
    assert sorted(name for name in inner._sensors if "16x12" in name) == ["color_16x12", "depth_16x12"]


# -- navigation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("newer", [False, True])
def test_floors_and_islands(habitat: Any, monkeypatch: Any, tmp_path: Path, newer: bool) -> None:
    fake_habitat.install(monkeypatch, newer)
    simulator = HabitatSimulator()
    simulator.load(write_folder(tmp_path))
    navigator = simulator.navigator
    assert navigator.floors == pytest.approx([0.05])  # the roof is under nothing
    room, shed, roof = np.array([1, 0.05, -1.0]), np.array([21, 0.05, -1.0]), np.array([1, 3.05, -1.0])
    assert [navigator.floor_of(p) for p in (room, shed, roof)] == [0, 0, -1]
    assert navigator.island(room) != navigator.island(shed) and min(map(navigator.island, (room, shed))) > 0
    assert navigator.island(roof) == 0 and not navigator.is_navigable(roof)
    assert navigator.island(np.array([5.9, 0.05, -0.1])) == navigator.island(room)
    assert navigator.island_radius(room) == pytest.approx(np.hypot(6, 4) / 2)
    assert navigator.island_radius(np.array([10.0, 0, 0])) == 0
    assert navigator.snap(roof) is None and navigator.snap(np.array([10.0, 0, 0])) is None
    assert np.allclose(navigator.snap(np.array([-0.3, 0.3, -1.0])), [0, 0.05, -1])
    assert np.allclose(navigator.snap(np.array([3, -0.2, -2.0])), [3, 0.05, -2])
    simulator.close()


def test_without_a_ceiling_all_levels_count(habitat: Any) -> None:
    navigator = HabitatNavigator(habitat, fake_habitat.PathFinder(), Body(), lambda p: np.zeros(len(p), bool))
    assert navigator.floors == pytest.approx([0.05, 3.05])
    assert [navigator.floor_of(np.array([1, y, -1.0])) for y in (0.3, 2.8, 1.5)] == [0, 1, -1]


def test_random_points(loaded: Any) -> None:
    draw = [loaded.navigator.random_point(np.random.default_rng(seed), 0) for seed in (7, 7)]
    assert np.array_equal(*draw)
    rng = np.random.default_rng(0)
    points = np.array([loaded.navigator.random_point(rng, 0) for _ in range(800)])
    assert points.dtype == np.float64 and np.allclose(points[:, 1], 0.05)
    in_shed = points[:, 0] > 10
    assert in_shed.mean() == pytest.approx(9 / 33, abs=0.05)
    inside = points[~in_shed]
    cells, _, _ = np.histogram2d(inside[:, 0], inside[:, 2], (3, 2), ((0, 6), (-4, 0)))
    assert cells.sum() == len(inside) and cells.min() > 0.7 * cells.mean()


def test_steps(habitat: Any) -> None:
    finder = fake_habitat.PathFinder()
    navigator = HabitatNavigator(habitat, finder, Body())
    start = Pose(1, 0.05, -1)
    assert np.allclose(navigator.step(start, "move_forward").position, [1, 0.05, -1.25])
    assert navigator.step(start, "turn_left").heading == pytest.approx(pi / 6)
    assert navigator.step(start, "turn_right").heading == pytest.approx(-pi / 6)
    assert navigator.step(start, "wait") == start
    up = start
    for _ in range(4):
        up = navigator.step(up, "look_up")
    assert up.pitch == pytest.approx(pi / 3)
    assert navigator.step(up, "look_down").pitch == pytest.approx(pi / 6)
    with pytest.raises(ValueError, match="unknown action 'jump'"):
        navigator.step(start, "jump")
    wall = Pose(0.1, 0.05, -1, pi / 4)  # looks along -x and -z, 0.1 from the end of the navmesh
    assert np.allclose(navigator.step(wall, "move_forward").position, [0, 0.05, -1.1])
    lost = Pose(12, 0.05, -1)
    assert navigator.step(lost, "move_forward") == lost  # habitat would jump to a navmesh within 2 m
    assert set(finder.moves) == {"stopping"}
    slider = HabitatNavigator(habitat, finder, Body(allow_sliding=True))
    assert slider.step(wall, "move_forward").z == pytest.approx(-1 - 0.25 * np.sqrt(0.5))
    assert finder.moves[-1] == "sliding"


def test_distances(loaded: Any) -> None:
    navigator = loaded.navigator
    points = np.array([[1, 0.05, -1], [21, 0.05, -1], [12, 0.05, -1], [6.3, 0.05, -1]], float)
    targets = np.array([[4, 0.05, -1], [1, 0.05, -3], [50, 0, 0]], float)  # one is nowhere: it doesn't count
    for _ in range(2):  # the second time from the kept search
        assert np.allclose(navigator.distance(points, targets), [2, np.inf, np.inf, 2])
    assert np.isinf(navigator.distance(points, targets[:0])).all()
    assert np.isinf(navigator.distance(points, targets[2:])).all()
    path = navigator.path(points[0], targets)
    assert path.dtype == np.float64 and np.allclose(path, [[1, 0.05, -1], [1, 0.05, -3]])
    assert navigator.path(points[1], targets).shape == (0, 3)


# -- where it runs -----------------------------------------------------------------------------------------


def test_imports_with_numpy_alone() -> None:
    """As in a conda environment of Python 3.9 that has habitat-sim and nothing of ours."""
    for name in ("habitat", "habitat_nav", "base", "__init__"):
        ast.parse((ROOT / "hm3dm3_env" / "sim" / f"{name}.py").read_text(), feature_version=(3, 9))
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "hm3dm3_env"):
            raise ModuleNotFoundError(name, name=top)
sys.meta_path.insert(0, Refuse())
from hm3dm3_env.sim.habitat import HabitatSimulator
try:
    HabitatSimulator()
except ImportError as error:
    assert "sim.python" in str(error)
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "refused" in done.stdout, done.stderr


@needs_habitat
def test_real_rooms(tmp_path: Path) -> None:
    """Known geometry: from the middle of the left room, the wall ahead is 2 m away."""
    folder = write_two_rooms(tmp_path)
    simulator = HabitatSimulator()
    simulator.load(folder)
    navigator = simulator.navigator
    assert len(navigator.floors) == 1 and abs(navigator.floors[0]) < 0.11
    camera = Camera(64, 48, 60.0, min_depth=0.1, max_depth=20.0)
    ahead, left = simulator.render([Pose(2.5, 0, -2), Pose(2.5, 0, -2, pi / 2)], camera, semantic=True)
    assert ahead.depth[24, 32] == pytest.approx(2.0, abs=0.01)
    assert left.depth[24, 32] == pytest.approx(2.5, abs=0.01)
    assert ahead.semantic is not None and ahead.semantic[24, 32] == 2 and left.semantic[24, 32] == 3
    start, goal = np.array([2.5, 0, -2.0]), np.array([8.0, 0, -1.2])
    distance = navigator.distance(start[None], goal[None])[0]
    assert np.linalg.norm(goal - start) < distance < 7.5
    path = navigator.path(start, goal[None])
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(distance, abs=0.01)
    point = navigator.random_point(np.random.default_rng(0), 0)
    assert navigator.is_navigable(point) and navigator.island(point) == navigator.island(start)
    simulator.close()
