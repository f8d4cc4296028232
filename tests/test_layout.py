"""Scene folders: what is written comes back, and every broken file is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm3dm3_env.scenes.glb import Glb, Primitive, read_glb
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.hm3dsem import SceneError, load_scene, parse_semantic_text, scene_folders
from hm3dm3_env.scenes.layout import (
    DATASET_CONFIG,
    SceneModel,
    SceneObject,
    Surface,
    linear_to_srgb,
    object_colors,
    srgb_to_linear,
    write_scene,
)
from tests.rooms import thing, two_rooms, write_two_rooms

HEADER = "HM3D Semantic Annotations\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scene of its own, to be broken."""
    return write_two_rooms(tmp_path)


def part(folder: Path, suffix: str) -> Path:
    return folder / f"{folder.name.split('-')[-1]}.{suffix}"


def labels_of(folder: Path) -> np.ndarray:
    semantics = load_scene(folder).semantics
    assert semantics is not None
    return semantics.labels


def small(*objects: SceneObject) -> SceneModel:
    return SceneModel(list(objects), {"red": Surface("red", (0.8, 0.1, 0.1))}, ["hall"])


# -- round trip --------------------------------------------------------------------------------------------


def test_round_trip(rooms_scene: Path) -> None:
    scene = load_scene(rooms_scene)
    model = two_rooms()
    assert scene.id == rooms_scene.name and scene.lit
    assert [scene.instances[i + 1].category for i in range(len(model.objects))] == [
        o.category for o in model.objects
    ]
    assert scene.semantics is not None and scene.semantics.triangles is None
    assert set(scene.semantics.labels) == set(scene.instances)  # every triangle belongs to an object
    assert all(count == 12 for count in np.bincount(scene.semantics.labels)[1:])  # all are boxes
    sofa = scene.of_category("sofa")[0]
    assert (sofa.colour, sofa.material, sofa.room, sofa.region) == ("red", "fabric", "living room", 0)
    assert scene.of_category("refrigerator")[0].room == "kitchen"
    assert scene.of_category("wall")[0].colour == ""


def test_boxes_are_y_up(rooms_scene: Path) -> None:
    sofa = load_scene(rooms_scene).of_category("sofa")[0]  # z up: (0.1, 3.0, 0) to (2.1, 3.9, 0.8)
    np.testing.assert_allclose(sofa.low, [0.1, 0, -3.9], atol=1e-6)
    np.testing.assert_allclose(sofa.high, [2.1, 0.8, -3.0], atol=1e-6)
    np.testing.assert_allclose(sofa.size, [2.0, 0.8, 0.9], atol=1e-6)
    np.testing.assert_allclose(sofa.center, [1.1, 0.4, -3.45], atol=1e-6)
    assert sofa.area == pytest.approx(2 * (2 * 0.9 + 2 * 0.8 + 0.9 * 0.8), rel=1e-5)


def test_labels_are_where_the_objects_are(rooms_scene: Path) -> None:
    scene = load_scene(rooms_scene)
    assert scene.semantics is not None
    for item in scene.instances.values():
        corners = scene.triangles[scene.semantics.labels == item.id].reshape(-1, 3)
        assert (corners >= item.low - 1e-6).all() and (corners <= item.high + 1e-6).all()


def test_surfaces(rooms_scene: Path) -> None:
    scene = load_scene(rooms_scene)
    assert scene.semantics is not None
    sofa, floor = scene.of_category("sofa")[0], scene.of_category("floor")[0]
    mine = scene.material[scene.semantics.labels == sofa.id]
    np.testing.assert_allclose(scene.base_colors[mine[0]], (0.8, 0.1, 0.1), atol=0.5 / 255)
    assert scene.image_of[mine[0]] == -1
    image = scene.images[scene.image_of[scene.material[scene.semantics.labels == floor.id][0]]]
    assert image.shape == (64, 64, 3) and image.dtype == np.uint8


def test_colours_are_in_the_textures(tmp_path: Path) -> None:
    """habitat-sim takes factors for sRGB: the file has none, and its textures carry the colours."""
    grey = np.full((8, 8, 3), 200, np.uint8)
    surfaces = {"plain": Surface("plain", (0.8, 0.1, 0.3)), "wood": Surface("wood", (0.5, 1.0, 0.25), grey)}
    items = [thing("cup", (0, 0, 0), (1, 1, 1), "plain"), thing("box", (2, 0, 0), (3, 1, 1), "wood")]
    folder = write_scene(SceneModel(items, surfaces, ["hall"]), tmp_path, "t")
    glb = read_glb(part(folder, "glb"))
    assert [m.base_color for m in glb.materials] == [(1.0, 1.0, 1.0)] * 2
    assert [m.image for m in glb.materials] == [0, 1] and all(p.uv is not None for p in glb.primitives)
    assert not glb.primitives[0].uv.any() and len(glb.images[0]) < 100  # type: ignore[union-attr]
    np.testing.assert_array_equal(glb.decode_image(0), [[[204, 26, 76]]])
    np.testing.assert_allclose(glb.decode_image(1).mean((0, 1)), [100, 200, 50], atol=3)
    scene = load_scene(folder)
    assert scene.image_of.tolist() == [-1, -1, 1]  # the single texel is a plain colour for the renderer
    np.testing.assert_allclose(scene.base_colors[1] * 255, [204, 26, 76], atol=1e-3)
    np.testing.assert_allclose(scene.base_colors[2], 1.0)


def test_same_bytes_twice(tmp_path: Path) -> None:
    first, second = write_two_rooms(tmp_path / "a"), write_two_rooms(tmp_path / "b")
    assert first.name == second.name
    for path in sorted(first.iterdir()):
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name
    assert (tmp_path / "a" / DATASET_CONFIG).read_bytes() == (tmp_path / "b" / DATASET_CONFIG).read_bytes()


def test_another_scene_gets_another_name(tmp_path: Path) -> None:
    assert write_two_rooms(tmp_path).name != write_two_rooms(tmp_path, door=0.7).name
    assert len(scene_folders(tmp_path)) == 2


def test_a_complete_folder_is_kept(folder: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert write_two_rooms(folder.parent) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(("item", "message"), [
    (SceneObject("ghost", 0, []), r"object 2 \(ghost\): no triangles"),
    (thing("lamp", (0, 0, 0), (1, 1, 1), region=3), r"object 2 \(lamp\): region 3 of 1"),
    (thing("lamp", (0, 0, 0), (1, 1, 1), "velvet"), r"object 2 \(lamp\): unknown surface 'velvet'"),
])
def test_a_model_that_cannot_be_written(tmp_path: Path, item: SceneObject, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_scene(small(thing("sofa", (0, 0, 0), (1, 1, 1)), item), tmp_path, "t0")
    assert not any(path.is_dir() for path in tmp_path.iterdir())


# -- colours -----------------------------------------------------------------------------------------------


def test_object_colours_are_distinct() -> None:
    colors = object_colors(5000)
    assert len(np.unique(colors, axis=0)) == 5000
    assert not ((colors == 0).all(1) | (colors == 255).all(1)).any()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_srgb_curve_inverts(values: list[float]) -> None:
    np.testing.assert_allclose(linear_to_srgb(srgb_to_linear(np.array(values))), values, atol=1e-6)


def test_every_byte_survives_float32_linear() -> None:
    stored = srgb_to_linear(np.arange(256) / 255).astype(np.float32)
    assert (np.rint(linear_to_srgb(stored) * 255) == np.arange(256)).all()


def test_vertex_colours_are_stored_linear(rooms_scene: Path) -> None:
    primitives = read_glb(part(rooms_scene, "semantic.glb")).primitives
    colors = np.concatenate([p.colors for p in primitives if p.colors is not None])
    codes = {tuple(c) for c in np.rint(linear_to_srgb(colors) * 255).astype(int)}
    assert codes == {tuple(int(v) for v in c) for c in object_colors(len(load_scene(rooms_scene).instances))}


def test_vertex_colours_stored_as_srgb_are_read_too(folder: Path) -> None:
    expected = labels_of(folder)
    path = part(folder, "semantic.glb")
    glb = read_glb(path)
    for primitive in glb.primitives:
        assert primitive.colors is not None
        primitive.colors = linear_to_srgb(primitive.colors).astype(np.float32)
    path.write_bytes(glb_bytes(glb))
    np.testing.assert_array_equal(labels_of(folder), expected)


def test_a_semantic_mesh_in_another_order(folder: Path) -> None:
    expected = labels_of(folder)
    path = part(folder, "semantic.glb")
    glb = read_glb(path)
    glb.primitives.reverse()
    for primitive in glb.primitives:
        primitive.faces = primitive.faces[::-1, [1, 2, 0]]
    path.write_bytes(glb_bytes(glb))
    np.testing.assert_array_equal(labels_of(folder), expected)


def test_a_semantic_mesh_of_its_own(folder: Path) -> None:
    path = part(folder, "semantic.glb")
    glb = read_glb(path)
    glb.primitives[0].vertices[0, 0] += 0.01  # no longer the render mesh
    path.write_bytes(glb_bytes(glb))
    scene = load_scene(folder)
    assert scene.semantics is not None and scene.semantics.triangles is not None
    assert any("second ray cast" in problem for problem in scene.problems)
    np.testing.assert_allclose(scene.of_category("sofa")[0].low, [0.1, 0, -3.9], atol=1e-6)


# -- what can be wrong -------------------------------------------------------------------------------------


def test_missing_folders_and_files(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(SceneError, match="no such folder of scenes"):
        scene_folders(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SceneError, match="no scene folders in it"):
        scene_folders(tmp_path / "empty")
    for missing in (tmp_path / "t9-abc", tmp_path / "empty"):
        with pytest.raises(SceneError, match="not a scene folder"):
            load_scene(missing)


@pytest.mark.parametrize("suffix", ["semantic.txt", "semantic.glb"])
def test_half_of_the_annotations(folder: Path, suffix: str) -> None:
    part(folder, suffix).unlink()
    with pytest.raises(SceneError, match="has only one of"):
        load_scene(folder)


def test_no_annotations_at_all(folder: Path) -> None:
    for suffix in ("semantic.txt", "semantic.glb", "attributes.json"):
        part(folder, suffix).unlink()
    scene = load_scene(folder)
    assert scene.semantics is None and not scene.instances and not scene.lit


def test_no_attributes(folder: Path) -> None:
    part(folder, "attributes.json").unlink()  # as in HM3D
    scene = load_scene(folder)
    assert (scene.of_category("sofa")[0].colour, scene.of_category("sofa")[0].room, scene.lit) == (
        "",
        "",
        False,
    )


def test_broken_attributes(folder: Path) -> None:
    part(folder, "attributes.json").write_text("{")
    with pytest.raises(SceneError, match="attributes.json: broken JSON"):
        load_scene(folder)


@pytest.mark.parametrize("suffix", ["glb", "semantic.glb"])
def test_damaged_glb(folder: Path, suffix: str) -> None:
    path = part(folder, suffix)
    whole = path.read_bytes()
    for data, message in (
        (b"", r"not a binary glTF file \(0 bytes\)"),
        (b"PK" + whole[2:], "not a binary glTF file"),
        (whole[: len(whole) // 2], "truncated"),
        (whole[:40] + b"\xff" + whole[41:], "damaged glTF"),
        (glb_bytes(Glb()), "no triangles"),
    ):
        path.write_bytes(data)
        with pytest.raises((GlbError, SceneError), match=message) as error:
            load_scene(folder)
        assert str(path) in str(error.value)


def test_unknown_colours(folder: Path) -> None:
    path = part(folder, "semantic.txt")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], '1,123456,"wall",0']))
    with pytest.raises(SceneError, match="0 of the 1 colours .* different scenes"):
        load_scene(folder)


def test_colours_that_are_in_no_line_are_nothing(folder: Path) -> None:
    path = part(folder, "semantic.txt")
    kept = [line for line in path.read_text().splitlines() if '"sofa"' not in line]
    path.write_text("\n".join(kept))
    scene = load_scene(folder)
    assert (labels_of(folder) == 0).sum() == 12 and not scene.of_category("sofa")


def test_lines_without_a_mesh_are_skipped(folder: Path) -> None:
    path = part(folder, "semantic.txt")
    path.write_text(path.read_text() + '900,0A0B0C,"ghost",0\n')
    assert not load_scene(folder).of_category("ghost")


# -- semantic.txt ------------------------------------------------------------------------------------------


def parse(tmp_path: Path, text: str) -> dict[int, tuple[int, str, int]]:
    path = tmp_path / "x.semantic.txt"
    path.write_text(text)
    return parse_semantic_text(path)


@pytest.mark.parametrize("text", ["", "\n", "HM3D\n", '1,0000FF,"wall",0\n'])
def test_wrong_first_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(SceneError, match="x.semantic.txt: line 1 must be"):
        parse(tmp_path, text)


def test_what_real_files_hold(tmp_path: Path) -> None:
    rows = parse(tmp_path, HEADER + """
1,00ff0A,"Wall ",0
2,0A0B0C,"tv, wall  mounted",-1

3,0A0B0D,"6"" pipe",12
2,0A0B0C,"tv, wall  mounted",-1
4,0A0B0E,Bed/Couch,3
5,0A0B0F,clothes, dirty,3
""")
    assert rows == {
        1: (0x00FF0A, "wall", 0),
        2: (0x0A0B0C, "tv, wall mounted", -1),
        3: (0x0A0B0D, '6" pipe', 12),
        4: (0x0A0B0E, "bed/couch", 3),
        5: (0x0A0B0F, "clothes, dirty", 3),
    }


def test_windows_line_ends(tmp_path: Path) -> None:
    assert parse(tmp_path, HEADER.replace("\n", "\r\n") + '1,00FF00,"wall",0\r\n') == {
        1: (0x00FF00, "wall", 0)
    }


@pytest.mark.parametrize(
    "line",
    [
        "1",
        "1,2",
        "x,0000FF,wall,0",
        "1,0000F,wall,0",
        "1,0000FG,wall,0",
        "1,0000FF,wall,",
        "1,0000FF,wall,a",
        "-1,0000FF,wall,0",
        "1000000,0000FF,wall,0",
        ",,,",
    ],
)
def test_lines_that_do_not_parse(tmp_path: Path, line: str) -> None:
    with pytest.raises(SceneError, match="line 3: expected id,HEXCOLOR"):
        parse(tmp_path, HEADER + f'7,0000FE,"sofa",0\n{line}\n')


@pytest.mark.parametrize("second", ['1,00FF00,"sofa",0', '1,00FF01,"wall",0', '1,00FF00,"wall",1'])
def test_one_id_with_two_meanings(tmp_path: Path, second: str) -> None:
    with pytest.raises(SceneError, match="line 3: id 1 is there already with another meaning"):
        parse(tmp_path, HEADER + f'1,00FF00,"wall",0\n{second}\n')


# -- glTF features that scans use --------------------------------------------------------------------------


def test_glb_bytes_round_trip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vertices, faces = rng.random((6, 3)).astype(np.float32), np.array([[0, 1, 2], [3, 4, 5]])
    path = tmp_path / "a.glb"
    colors = rng.random((6, 3)).astype(np.float32)
    path.write_bytes(
        glb_bytes(Glb([Primitive(vertices, faces, rng.random((6, 2)).astype(np.float32), colors)]))
    )
    back = read_glb(path).primitives[0]
    np.testing.assert_array_equal(back.vertices, vertices)
    np.testing.assert_array_equal(back.faces, faces)
    np.testing.assert_array_equal(back.colors, colors)
