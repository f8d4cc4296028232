"""The inspect command: what it says about good, odd and broken scenes, and the plans that it draws."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.hm3dsem import SceneError
from hm3dm3_env.scenes.inspect import find_scenes, inspect_scene, main
from hm3dm3_env.scenes.inspect_plan import island_colors
from hm3dm3_env.scenes.scan_like import write_scan
from tests.rooms import write_two_rooms


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two floors, ids in textures."""
    return write_scan(tmp_path_factory.mktemp("scans"), 30_000, 3, 256, floors=2)


def test_two_floors(scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main([str(scan), f"out={tmp_path}"]) == 0
    said = capsys.readouterr()
    assert "[1/1] reading" in said.err
    for pattern in (r"textures   3 \(3 of 256 x 256\), \d+ kB stored, 590 kB decoded",
                    r"semantics  ids in 3 textures, the render mesh's triangles, 100.0% of the surface",
                    r"floor 0    height 0.00 m, \d\d\.\d m2 walkable .* islands: 1, the largest 100%",
                    r"floor 1    height 2.90 m", r"regions    12", r"objects    \d+ of \d+ categories",
                    r"12      -  wall\n", r"\n +\d+ +\d+  tv, wall mounted",
                    r"problem .*without triangles \(1\)"):
        assert re.search(pattern, said.out), pattern
    plans = sorted(tmp_path.iterdir())
    assert [p.name for p in plans] == [f"{scan.name}-floor0.png", f"{scan.name}-floor1.png"]
    assert all(str(p) in said.out for p in plans)
    for plan in plans:
        pixels = np.asarray(Image.open(plan).convert("RGB")).astype(int)
        green = (pixels[..., 1] - pixels[..., 0] > 15) & (pixels[..., 1] - pixels[..., 2] > 15)
        assert 0.15 < green.mean() < 0.6  # walkable floor


def test_plans_are_the_same_twice(scan: Path, tmp_path: Path) -> None:
    one, two = (inspect_scene(scan, tmp_path / name).plans for name in "ab")
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]


def test_rooms_have_names(rooms_scene: Path) -> None:
    found = inspect_scene(rooms_scene)
    assert not found.problems and not found.plans
    assert "problems   none" in str(found) and "regions    2 (kitchen, living room)" in str(found)
    assert "textures   1 (1 of 64 x 64)" in str(found) and "ids at the vertices" in str(found)


def test_a_scene_without_annotations(tmp_path: Path) -> None:
    folder = write_scan(tmp_path, 20_000, 2, 256, "none")
    found = inspect_scene(folder, tmp_path / "out")
    assert any("no annotations" in problem for problem in found.problems) and len(found.plans) == 1
    assert "semantics  none" in str(found)


def write_one(folder: Path, *primitives: Primitive, images: list[bytes] | None = None) -> Path:
    folder.mkdir(parents=True)
    materials = [GlbMaterial("m", (1, 1, 1), 0)] if images else []
    data = glb_bytes(Glb(list(primitives), materials, images or []))
    (folder / f"{folder.name.split('-')[-1]}.glb").write_bytes(data)
    return folder


def floor(size: float, z: float = 0.0) -> Primitive:
    vertices = np.array([[0, 0, z], [size, 0, z], [size, size, z], [0, size, z]], np.float32)
    return Primitive(vertices, np.array([[0, 1, 2], [0, 2, 3]]))


def test_nowhere_to_stand(tmp_path: Path) -> None:
    wall = floor(4)
    wall.vertices = wall.vertices[:, [0, 2, 1]]  # upright
    found = inspect_scene(write_one(tmp_path / "0-a", wall), tmp_path)
    assert any("no floor where the body could stand" in problem for problem in found.problems)
    assert any("measures 4.0 x 0.0 m" in problem for problem in found.problems)


def test_nearly_no_floor_and_triangles_without_area(tmp_path: Path) -> None:
    part = floor(3)
    part.faces = np.array([[0, 1, 2], [0, 2, 3], [1, 1, 2]])
    found = inspect_scene(write_one(tmp_path / "0-a", part, floor(3, 2.5)))
    assert any("nearly no floor" in problem for problem in found.problems), found
    assert any("1 triangles (20.0%) have no area" in problem for problem in found.problems), found


def test_a_texture_that_cannot_be_decoded(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(noise).save(buffer, "JPEG")
    part = floor(5)
    part.material, part.uv = 0, part.vertices[:, :2] / 5
    found = inspect_scene(write_one(tmp_path / "0-a", part, floor(5, 2.5), images=[buffer.getvalue()[:700]]))
    assert any(re.search(r"0-a: image 0 \(materials \[0\]\): cannot be decoded", p) for p in found.problems)


def test_a_root_goes_on_after_a_broken_scene(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    good = write_two_rooms(tmp_path / "scenes")
    bad = tmp_path / "scenes" / "t00001-bad"
    bad.mkdir()
    (bad / "bad.glb").write_bytes(b"glTF")
    half = tmp_path / "scenes" / "t00002-half"
    half.mkdir()
    (half / "half.semantic.txt").write_text("HM3D Semantic Annotations\n")
    assert main([str(tmp_path), "plans=false"]) == 2
    said = capsys.readouterr()
    assert good.name in said.out and "3 scenes: 2 cannot be read, 0 others" in said.out
    assert f"error: {bad / 'bad.glb'}: not a binary glTF file (4 bytes)" in said.err
    assert f"error: {half}: not a scene folder (expected half.glb or half.basis.glb in it)" in said.err


@pytest.mark.parametrize(("arguments", "message"), [
    (["nowhere"], "error: nowhere: no such folder"), (["scene=."], "not a scene folder, and none below it"),
    (["x", "colour=red"], "unknown argument 'colour=red'"), (["--fast"], "unknown argument '--fast'"),
    (["x", "plans=maybe"], "plans is true or false"),
])
def test_wrong_arguments(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                         capsys: pytest.CaptureFixture) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_help(capsys: pytest.CaptureFixture) -> None:
    assert main(["--help"]) == 0 and "python -m hm3dm3_env.scenes.inspect" in capsys.readouterr().out
    assert main([]) == 2


def test_scenes_are_found_below(tmp_path: Path, rooms_scene: Path) -> None:
    deep = tmp_path / "hm3d" / "val" / rooms_scene.name
    shutil.copytree(rooms_scene, deep)
    assert find_scenes(tmp_path) == [deep] == find_scenes(deep)
    assert find_scenes(next(deep.glob("*.glb"))) == [deep]
    with pytest.raises(SceneError, match="none below it"):
        find_scenes(tmp_path, depth=1)


def test_colours_of_islands() -> None:
    colors = island_colors(np.array([[1, 2, 2], [0, 3, 2]]))
    assert len(colors) == 3 and len({colors[0], colors[1], colors[2]}) == 3
    assert colors[1] == island_colors(np.array([[1, 1]]))[0]  # the largest always has the first colour
