"""The reader of HM3DSem's annotations: ids painted in textures, meshes in another order, odd text files."""

from __future__ import annotations

import io
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from hm3dm3_env.episodes.generate import GenerateConfig, generate
from hm3dm3_env.episodes.schema import read_json
from hm3dm3_env.files import gzip_json_bytes
from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.hm3dsem import (
    SceneData,
    SceneError,
    annotated,
    load_scene,
    parse_semantic_text,
    scene_folders,
)
from hm3dm3_env.scenes.layout import srgb_to_linear
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.scenes.triangle_match import match_triangles
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from tests.rooms import write_two_rooms

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


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two floors, ids in textures."""
    return write_scan(tmp_path_factory.mktemp("scans"), 30_000, 3, 256, floors=2)


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


def test_paint_in_the_middle_of_a_triangle_is_an_object_with_a_box(tmp_path: Path) -> None:
    pixels = halves(BLUE, BLUE, 200)
    pixels[40:60, 100:150] = RED  # v down: 0.6 to 0.8 m below the top, x 1.0 to 1.5 m
    text = HEADER + '7,C80A14,"picture",0\n9,0A1EDC,"wall",0\n'
    scene = load_scene(write(tmp_path / "00001-abc", painted(pixels, quad()), painted(pixels, quad()), text))
    picture = scene.of_category("picture")[0]
    np.testing.assert_allclose(picture.low[:2], [1.0, 1.4], atol=0.03)
    np.testing.assert_allclose(picture.high[:2], [1.5, 1.6], atol=0.03)
    assert picture.area == pytest.approx(0.1, rel=0.1)
    assert scene.of_category("wall")[0].area == pytest.approx(3.9, rel=0.01)
    assert set(semantics(scene).labels) == {9}


def test_an_id_map_that_cannot_be_decoded(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3))
    semantic = painted(noise, quad())
    semantic.images = [semantic.images[0][:500]]
    folder = write(tmp_path / "00001-abc", painted(noise, quad()), semantic, HEADER + '7,C80A14,"door",0\n')
    with pytest.raises(GlbError, match="abc.semantic.glb: image 0: cannot be decoded"):
        load_scene(folder)


# -- colours at the vertices -------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["linear float", "sRGB float", "sRGB byte", "linear short"])
def test_colours_at_the_vertices(tmp_path: Path, stored: str) -> None:
    """Bytes and shorts come out of the reader as floats with their rounding."""
    color = np.array([RED] * 4) / 255
    color = srgb_to_linear(color) if "linear" in stored else color
    steps = {"float": 0, "byte": 255, "short": 65535}[stored.split()[1]]
    color = np.rint(color * steps) / steps if steps else color
    part = quad()
    part.material, part.uv, part.colors = -1, None, color.astype(np.float32)
    scene = load_scene(write(tmp_path / "00001-abc", painted(halves(RED, BLUE), quad()), Glb([part]),
                             HEADER + '7,C80A14,"door",0\n9,0A1EDC,"wall",0\n'))
    assert semantics(scene).labels.tolist() == [7, 7] and semantics(scene).uv is None
    assert semantics(scene).image_of.tolist() == [-1, -1]


def both(pixels: np.ndarray, corners: tuple[int, int, int]) -> Glb:
    """Ids' colours in a texture and at the vertices."""
    part = quad()
    part.colors = srgb_to_linear(np.array([corners] * 4) / 255).astype(np.float32)
    return painted(pixels, part)


@pytest.mark.parametrize(("pixels", "corners", "textured"), [
    (halves(RED, BLUE), RED, True),  # the vertices know one thing only
    (halves(RED, BLUE), STRANGE, True),
    (halves(BLUE, BLUE), RED, True),  # both know: the texture is finer
    (halves(STRANGE, STRANGE), RED, False),  # a texture that is only a look
    (halves(RED, STRANGE), RED, True)])
def test_colours_in_textures_and_at_the_vertices(tmp_path: Path, pixels: np.ndarray, corners: tuple,
                                                 textured: bool) -> None:
    text = HEADER + '7,C80A14,"door",0\n9,0A1EDC,"wall",0\n'
    scene = load_scene(write(tmp_path / "00001-abc", painted(pixels, quad()), both(pixels, corners), text))
    assert (semantics(scene).uv is not None) == textured
    if not textured:
        assert semantics(scene).labels.tolist() == [7, 7]


@pytest.mark.parametrize(("last", "kind"), [(65_535, np.uint16), (65_536, np.int32)])
def test_id_maps_are_small_where_ids_are(tmp_path: Path, last: int, kind: type) -> None:
    text = HEADER + f'{last},C80A14,"door",0\n9,0A1EDC,"wall",0\n'
    folder = write(tmp_path / "00001-abc", painted(halves(RED, BLUE), quad()),
                   painted(halves(RED, BLUE), quad()), text)
    sim = EmbeddedSimulator()
    sim.load(folder)
    assert semantics(sim.scene).ids.dtype == kind and semantics(sim.scene).labels.dtype == np.int32
    ids = sim.cast(*rays([(0.1, 0.1), (1.9, 1.9)]))[1]
    assert ids.tolist() == [last, 9] and ids.dtype == np.int32


def recoloured(text: str) -> str:
    return re.sub(r",([0-9A-F]{6}),", lambda m: f",{int(m[1], 16) ^ 0x030507:06X},", text)


def test_colours_of_another_scene(scan: Path, tmp_path: Path) -> None:
    folder = tmp_path / scan.name
    shutil.copytree(scan, folder)
    text = next(folder.glob("*.semantic.txt"))
    text.write_text(recoloured(text.read_text()))
    message = r"0 of the \d+ colours .* \(0%\) are on this mesh, and 0% of its triangles .* different scenes"
    with pytest.raises(SceneError, match=message):
        load_scene(folder)


def test_few_common_colours_are_doubtful(scan: Path, tmp_path: Path) -> None:
    folder = tmp_path / scan.name
    shutil.copytree(scan, folder)
    text = next(folder.glob("*.semantic.txt"))
    head, *lines = text.read_text().splitlines()
    strange = [recoloured(line) for line in lines]
    text.write_text("\n".join([head, *lines[:40:2], *strange[1::2], *strange[40::2]]))
    problems = load_scene(folder).problems
    assert any("only 20 of the" in problem for problem in problems), problems


# -- semantic.txt ------------------------------------------------------------------------------------------


def parse(tmp_path: Path, text: str | bytes, problems: list[str] | None = None):
    path = tmp_path / "x.semantic.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return parse_semantic_text(path, problems)


def test_marks_line_ends_and_signs(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + HEADER.replace("\n", "\r\n").encode() + (
        b'1,00ff0a, "Chair " ,0  \r\n\r\n2 ,#00FF0B,chairs,0\r\n3,00FF0C,"tv ""old"", big",-1')
    assert parse(tmp_path, text) == {1: (0x00FF0A, "chair", 0), 2: (0x00FF0B, "chairs", 0),
                                     3: (0x00FF0C, 'tv "old", big', -1)}


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    assert parse(tmp_path, HEADER.encode() + b'1,00FF0A,"caf\xe9 table",0')[1][1] == "caf\ufffd table"
    with pytest.raises(SceneError, match="line 1 must be"):
        parse(tmp_path, bytes(range(256)))


def test_two_ids_with_one_colour(tmp_path: Path) -> None:
    problems: list[str] = []
    rows = parse(tmp_path, HEADER + '4,00FF0A,"chair",0\n9,00FF0A,"table",0\n4,00FF0A,"chair",0\n', problems)
    assert set(rows) == {4, 9}
    assert problems == ["x.semantic.txt: ids 4 and 9 have one colour (00FF0A); it counts for 4"]


def test_of_two_ids_with_one_colour_the_first_has_the_surface(tmp_path: Path) -> None:
    text = HEADER + '8,C80A14,"door",0\n7,C80A14,"gate",0\n9,0A1EDC,"wall",0\n'
    scene = load_scene(write(tmp_path / "00001-abc", painted(halves(RED, BLUE), quad()),
                             painted(halves(RED, BLUE), quad()), text))
    assert set(scene.instances) == {8, 9} and len(scene.problems) == 2


CATEGORIES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20).map(
    lambda text: " ".join(text.lower().split())).filter(lambda text: text.lower() == text and text)


@given(st.lists(st.tuples(CATEGORIES, st.integers(-1, 99)), max_size=8), st.sampled_from(["\n", "\r\n"]),
       st.booleans())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, items: list[tuple[str, int]],
                                 end: str, upper: bool) -> None:
    rows = {k + 1: (0xAB0000 + k, category, region) for k, (category, region) in enumerate(items)}
    lines = [HEADER.strip()]
    for identity, (code, category, region) in rows.items():
        color, name = f"{code:06X}" if upper else f"{code:06x}", category.replace('"', '""')
        lines += [f'{identity},{color},"{name}",{region}', ""]
    assert parse(tmp_path_factory.getbasetemp(), end.join(lines)) == rows


@given(st.text(max_size=60))
def test_any_line_is_read_or_named(tmp_path_factory: pytest.TempPathFactory, line: str) -> None:
    try:
        parse(tmp_path_factory.getbasetemp(), (HEADER + line).encode("utf-8", "replace"))
    except SceneError as error:
        assert "x.semantic.txt: line" in str(error)


# -- triangles in another order ----------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0, 4e-5), st.booleans())
def test_shuffled_triangles_are_found(seed: int, count: int, noise: float, doubled: bool) -> None:
    rng = np.random.default_rng(seed)
    target = rng.uniform(-5, 5, (count, 3, 3)).astype(np.float32)
    if doubled:  # the two sides of a thin thing
        target = np.concatenate([target, target[:, ::-1]])
    order = rng.permutation(len(target))
    turn = (np.arange(3) + rng.integers(0, 3, len(target))[:, None]) % 3
    source = np.take_along_axis(target[order], turn[..., None], 1)
    source = (source + rng.uniform(-noise, noise, source.shape)).astype(np.float32)
    found = match_triangles(source, target)
    assert found is not None
    index, corners = found
    assert sorted(index) == list(range(len(target)))
    np.testing.assert_allclose(source[index[:, None], corners], target, atol=1e-4)
    if noise == 0:
        np.testing.assert_array_equal(order[index], np.arange(len(target)))  # each side by itself


def test_triangles_that_are_not_all_there() -> None:
    target = np.random.default_rng(0).uniform(-5, 5, (20, 3, 3)).astype(np.float32)
    moved = target[::-1].copy()
    moved[3, 1] += 0.001
    assert match_triangles(moved, target) is None
    assert match_triangles(target[1:], target) is None


def test_triangles_without_area_may_be_missing() -> None:
    target = np.random.default_rng(0).uniform(-5, 5, (20, 3, 3)).astype(np.float32)
    target[[4, 9], 2] = target[[4, 9], 1]
    found = match_triangles(np.delete(target, 4, 0)[::-1], target)
    assert found is not None and found[0][[4, 9]].tolist() == [-1, -1] and (found[0] >= 0).sum() == 18


def test_a_million_triangles_take_seconds() -> None:
    """Measured: 2 s; a search for each would take minutes."""
    rng = np.random.default_rng(0)
    target = rng.uniform(-5, 5, (200_000, 3, 3)).astype(np.float32)
    start = time.perf_counter()
    assert match_triangles(target[rng.permutation(len(target))], target) is not None
    assert time.perf_counter() - start < 10


# -- scan-like homes ---------------------------------------------------------------------------------------


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


def test_basis_textures_in_a_scene(tmp_path: Path) -> None:
    pytest.importorskip("opengl_basisu")
    packed = (Path(__file__).parent / "data" / "etc1s.ktx2").read_bytes()
    folder = write_scan(tmp_path, 20_000, 2, 256, basis=True, encode=lambda page: packed)
    assert [p.name.split(".", 1)[1] for p in sorted(folder.iterdir())] == [
        "basis.glb", "semantic.glb", "semantic.txt"]
    scene = load_scene(folder)
    assert [image.shape for image in scene.images] == [(64, 64, 3)] * 2
    assert semantics(scene).triangles is None
    plain = load_scene(write_scan(tmp_path / "plain", 20_000, 2, 256))
    np.testing.assert_array_equal(scene.triangles, plain.triangles)
    np.testing.assert_array_equal(semantics(scene).labels, semantics(plain).labels)


def test_the_plain_mesh_is_preferred(tmp_path: Path) -> None:
    folder = write(tmp_path / "00001-abc", painted(halves(RED, BLUE), quad()), None, None)
    (folder / "abc.basis.glb").write_bytes(b"broken")
    assert len(load_scene(folder).triangles) == 2
    (folder / "abc.glb").unlink()
    with pytest.raises(GlbError, match="abc.basis.glb: not a binary glTF file"):
        load_scene(folder)


# -- HM3D's own folders ------------------------------------------------------------------------------------


def test_scenes_without_annotations_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "scenes" / "hm3d" / "val"
    write_two_rooms(folder)
    (scene,) = scene_folders(folder)
    bare = folder / "00000-bare"
    bare.mkdir()
    shutil.copy(scene / f"{scene.name.split('-')[-1]}.glb", bare / "bare.glb")
    assert scene_folders(folder) == [bare, scene] and annotated([bare, scene]) == [scene]
    made = generate(GenerateConfig(split="val", scenes="hm3d", data=str(tmp_path), episodes=2, workers=1))
    assert read_json(made)["scenes"] == [scene.name]
    assert "1 annotated scenes, not 36" in capsys.readouterr().out
    shutil.rmtree(scene)
    with pytest.raises(SceneError, match=r"none of 1 scenes has a \.semantic\.glb .*semantic-annots"):
        generate(GenerateConfig(split="val", scenes="hm3d", data=str(tmp_path), episodes=2, workers=1))


@pytest.mark.parametrize("name", ["houses", "episodes", "workers"])
def test_sizes_below_one(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name}=0: must be at least 1"):
        generate(GenerateConfig(split="val", data=str(tmp_path), **{name: 0}))


def test_an_imported_split_is_not_replaced(tmp_path: Path) -> None:
    write_two_rooms(tmp_path / "scenes" / "rooms")
    config = GenerateConfig(split="goat", scenes="rooms", data=str(tmp_path), houses=1, episodes=2, workers=1)
    header = read_json(generate(config))
    path = tmp_path / "episodes" / "goat" / "goat.json.gz"
    path.write_bytes(gzip_json_bytes({**header, "imported": {"format": "goat"}}))
    with pytest.raises(ValueError, match=r"goat\.json\.gz: this split was imported; choose another split="):
        generate(config)
    with pytest.raises(ValueError, match="seed=-1: must be at least 0"):
        generate(GenerateConfig(split="val", data=str(tmp_path), seed=-1))
