"""The reader of HM3DSem's annotations: ids painted in textures, meshes in another order, odd text files."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.hm3dsem import SceneData, load_scene
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.sim.embedded import EmbeddedSimulator

HEADER = "HM3D Semantic Annotations\n"
RED, BLUE, STRANGE = (200, 10, 20), (10, 30, 220), (1, 2, 3)


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def quad(z: float = 0.0, flip: bool = False) -> Primitive:
    """A 2 x 2 m square in the file's x-z plane (upright), texture once over it, v down."""
    x = np.array([0, 2, 2, 0], np.float32)
    up = np.array([0, 0, 2, 2], np.float32)
    vertices = np.stack([x, np.full(4, z, np.float32), up], 1)
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    if flip:
        faces = faces[::-1, [2, 0, 1]]
    return Primitive(vertices, faces, np.stack([x / 2, 1 - up / 2], 1), material=0)


def halves(left: tuple[int, ...], right: tuple[int, ...], side: int = 16) -> np.ndarray:
    pixels = np.zeros((side, side, 3), np.uint8)
    pixels[:, : side // 2], pixels[:, side // 2 :] = left, right
    return pixels


def write(folder: Path, render: Glb, semantic: Glb | None, text: str | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder.name.split("-")[-1]
    (folder / f"{stem}.glb").write_bytes(glb_bytes(render))
    if semantic is not None:
        (folder / f"{stem}.semantic.glb").write_bytes(glb_bytes(semantic))
    if text is not None:
        (folder / f"{stem}.semantic.txt").write_text(text)
    return folder


def painted(image: np.ndarray, *parts: Primitive) -> Glb:
    return Glb(list(parts), [GlbMaterial("paint", (1, 1, 1), 0)], [png(image)])


def rays(points: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Towards -z of the world at (x, y), which hits the squares."""
    origins = np.array([(x, y, 5) for x, y in points], np.float32)
    return origins, np.tile(np.array([[0, 0, -1]], np.float32), (len(points), 1))


def semantics(scene: SceneData):
    assert scene.semantics is not None
    return scene.semantics


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("moved", [0.0, 0.5])
def test_ids_in_a_texture_are_read_texel_by_texel(tmp_path: Path, flip: bool, moved: float) -> None:
    text = HEADER + '7,C80A14,"door",0\n9,0A1EDC,"wall",0\n'
    folder = write(tmp_path / "00001-abc", painted(halves(RED, BLUE), quad()),
                   painted(halves(RED, BLUE), quad(moved, flip)), text)
    sim = EmbeddedSimulator()
    sim.load(folder)
    assert (semantics(sim.scene).triangles is None) == (moved == 0)
    points = [(0.1, 0.1), (0.95, 1.9), (0.9, 0.8), (1.05, 0.1), (1.9, 1.9), (1.1, 1.5)]
    distance, ids = sim.cast(*rays(points))
    assert np.isfinite(distance).all() and ids.tolist() == [7, 7, 7, 9, 9, 9]
    _, none = sim.cast(*rays([(3.0, 1.0)]))
    assert none.tolist() == [0]


def test_texture_coordinates_repeat_and_v_points_down(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4], pixels[4:] = RED, BLUE  # red on top
    part = quad()
    assert part.uv is not None
    part.uv = part.uv + np.array([3, -2], np.float32)
    text = HEADER + '7,C80A14,"door",0\n9,0A1EDC,"wall",0\n'
    folder = write(tmp_path / "00001-abc", painted(pixels, quad()), painted(pixels, part), text)
    sim = EmbeddedSimulator()
    sim.load(folder)
    _, ids = sim.cast(*rays([(0.5, 1.9), (0.5, 0.1)]))
    assert ids.tolist() == [7, 9]


def test_colours_without_a_line_are_nothing_and_noted(tmp_path: Path) -> None:
    text = HEADER + '7,C80A14,"door",0\n'
    part = quad()
    part.faces = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 3]])
    folder = write(tmp_path / "00001-abc", painted(halves(RED, STRANGE), part),
                   painted(halves(RED, STRANGE), part), text)
    sim = EmbeddedSimulator()
    sim.load(folder)
    _, ids = sim.cast(*rays([(0.1, 0.3), (1.9, 1.0)]))
    assert ids.tolist() == [7, 0]
    assert any("010203" in problem for problem in load_scene(folder).problems)


# -- scan-like homes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two floors, ids in textures."""
    return write_scan(tmp_path_factory.mktemp("scans"), 30_000, 3, 256, floors=2)


def test_a_scan_like_home_reads_like_a_scan(scan: Path) -> None:
    scene = load_scene(scan)
    assert not scene.lit and semantics(scene).triangles is None and len(scene.sources) == 3
    assert 25_000 < len(scene.triangles) < 40_000
    assert semantics(scene).image_of.max() == 2 and (semantics(scene).labels > 0).all()
    assert {"wall", "floor", "round rug", "chairs", "tv, wall mounted", '6" vase'} <= {
        item.category for item in scene.instances.values()}
    assert len(scene.problems) == 1 and re.search(r"without triangles \(1\): \d+ \(lamp shade\)",
                                                  scene.problems[0])


def test_vertex_and_texture_ids_agree_where_nothing_is_painted(scan: Path, tmp_path: Path) -> None:
    texture = load_scene(scan)
    vertex = load_scene(write_scan(tmp_path, 30_000, 3, 256, "vertex", floors=2))
    paint = [i.id for i in texture.instances.values() if "rug" in i.category or i.category == "picture"]
    assert semantics(vertex).uv is None and paint
    plain = ~np.isin(semantics(texture).labels, paint)
    np.testing.assert_array_equal(semantics(texture).labels[plain], semantics(vertex).labels[plain])
    assert (semantics(vertex).labels[~plain] != semantics(texture).labels[~plain]).all()


def test_a_scan_like_home_is_the_same_twice(tmp_path: Path) -> None:
    one, two = (write_scan(tmp_path / name, 20_000, 2, 256) for name in "ab")
    assert one.name == two.name
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()


@pytest.mark.parametrize(("arguments", "message"), [
    ({"semantic": "paint"}, "semantic is texture, vertex or none"), ({"floors": 3}, "floors 1 or 2"),
    ({"textures": 0}, "too small"), ({"basis": True}, "needs encode"),
])
def test_a_scan_that_cannot_be_written(tmp_path: Path, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_scan(tmp_path, **arguments)
