"""The .glb reader: what glTF allows is read right, and whatever is broken ends in one clear error."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hm3dm3_env.scenes import ktx2
from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive, decode_image, read_glb
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.gltf import GlbError

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3]])
UV = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)


def png(value: int = 200) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((4, 4, 3), value, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def square() -> Glb:
    return Glb([Primitive(SQUARE, FACES, UV, None, 0)], [GlbMaterial("tiles", (1, 1, 1), 0)], [png()])


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length]), data[20 + length + 8 :]


def join(document: dict[str, Any], blob: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<IIIII", 0x46546C67, 2, 28 + len(text) + len(blob), len(text), 0x4E4F534A)
    return head + text + struct.pack("<II", len(blob), 0x004E4942) + blob


def changed(change: Callable[[dict[str, Any]], Any], glb: Glb | None = None) -> bytes:
    document, blob = parts(glb_bytes(glb or square()))
    change(document)
    return join(document, blob)


def read(tmp_path: Path, data: bytes) -> Glb:
    path = tmp_path / "a.glb"
    path.write_bytes(data)
    return read_glb(path)


def built(tmp_path: Path, arrays: dict[str, tuple[np.ndarray, str, bool]], mode: int = 4, **node: Any) -> Glb:
    """Read a file with one primitive of raw accessors: name -> (array, glTF type, normalized)."""
    kinds = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
    blob, views, accessors, names = b"", [], [], {}
    for name, (array, kind, normalized) in arrays.items():
        names[name] = len(accessors)
        accessors.append({"bufferView": len(views), "componentType": kinds[array.dtype.name],
                          "count": len(array), "type": kind, "normalized": normalized})
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": array.nbytes})
        blob += array.tobytes() + b"\0" * (-array.nbytes % 4)
    primitive: dict[str, Any] = {"mode": mode, "attributes": names}
    if "indices" in names:
        primitive["indices"] = names.pop("indices")
    return read(tmp_path, join(
        {"asset": {"version": "2.0"}, "nodes": [{"mesh": 0, **node}], "meshes": [{"primitives": [primitive]}],
         "accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": len(blob)}]}, blob))


# -- what glTF allows --------------------------------------------------------------------------------------


def test_strips_and_fans(tmp_path: Path) -> None:
    points = {"POSITION": (np.random.default_rng(0).random((5, 3)).astype(np.float32), "VEC3", False)}
    assert built(tmp_path, points, 5).primitives[0].faces.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4]]
    assert built(tmp_path, points, 6).primitives[0].faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    lines = built(tmp_path, points, 1)
    assert not lines.primitives and "points or lines are left out" in lines.problems[0]


def test_quantised_positions_and_colours(tmp_path: Path) -> None:
    glb = built(tmp_path, {
        "POSITION": (np.array([[0, 0, 0, 0], [100, 0, 0, 0], [0, 200, 0, 0]], np.int16)[:, :3].copy(), "VEC3",
                     False),
        "TEXCOORD_0": (np.array([[0, 65535], [32768, 0], [1, 2]], np.uint16), "VEC2", True),
        "COLOR_0": (np.array([[255, 0, 51, 255]] * 3, np.uint8), "VEC4", True),
        "indices": (np.array([[0], [1], [2]], np.uint8), "SCALAR", False),
    }, scale=[0.01, 0.01, 0.01])
    primitive = glb.primitives[0]
    np.testing.assert_allclose(primitive.vertices, [[0, 0, 0], [1, 0, 0], [0, 2, 0]], atol=1e-6)
    assert primitive.uv is not None and primitive.colors is not None
    np.testing.assert_allclose(primitive.uv[:2], [[0, 1], [0.5, 0]], atol=1e-4)
    np.testing.assert_allclose(primitive.colors[0], [1, 0, 0.2], atol=1e-6)


def test_signed_normalised_values_end_at_minus_one(tmp_path: Path) -> None:
    glb = built(tmp_path, {"POSITION": (np.array([[-128, 127, 0]] * 3, np.int8), "VEC3", True)})
    np.testing.assert_allclose(glb.primitives[0].vertices[0], [-1, 1, 0])


def test_strides_within_a_view(tmp_path: Path) -> None:
    """Positions and texture coordinates interleaved, as exporters do."""
    mixed = np.zeros((3, 5), np.float32)
    mixed[:, :3], mixed[:, 3:] = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0], [1, 0], [0, 1]]
    document = {
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                      {"bufferView": 0, "byteOffset": 12, "componentType": 5126, "count": 3, "type": "VEC2"}],
        "bufferViews": [{"buffer": 0, "byteLength": 60, "byteStride": 20}], "buffers": [{"byteLength": 60}]}
    primitive = read(tmp_path, join(document, mixed.tobytes())).primitives[0]
    np.testing.assert_array_equal(primitive.vertices, mixed[:, :3])
    np.testing.assert_array_equal(primitive.uv, mixed[:, 3:])
    document["bufferViews"][0]["byteStride"] = 8  # type: ignore[index]
    with pytest.raises(GlbError, match=r"accessor 0 \(count 3, stride 8\) does not fit"):
        read(tmp_path, join(document, mixed.tobytes()))


def test_nested_nodes_and_mirrors(tmp_path: Path) -> None:
    def nest(document: dict[str, Any]) -> None:
        document["nodes"] = [{"children": [1], "translation": [10, 0, 0]},
                             {"children": [2], "rotation": [0, 0, 0.5**0.5, 0.5**0.5]},
                             {"mesh": 0, "scale": [-2, 1, 1]}]
        document["scenes"] = [{"nodes": [0]}]

    vertices = read(tmp_path, changed(nest)).primitives[0].vertices
    np.testing.assert_allclose(vertices, [[10, 0, 0], [10, -2, 0], [9, -2, 0], [9, 0, 0]], atol=1e-6)


def test_texture_transforms(tmp_path: Path) -> None:
    """The standard's own example: the lower left quarter of the picture, turned by 90 degrees."""
    def transform(document: dict[str, Any]) -> None:
        document["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] = {
            "KHR_texture_transform": {"offset": [0, 1], "rotation": np.pi / 2, "scale": [0.5, 0.5]}}

    uv = read(tmp_path, changed(transform)).primitives[0].uv
    np.testing.assert_allclose(uv, [[0, 1], [0, 0.5], [0.5, 0.5], [0.5, 1]], atol=1e-6)


def test_degenerate_triangles_are_kept(tmp_path: Path) -> None:
    glb = square()
    glb.primitives[0].faces = np.array([[0, 1, 2], [1, 1, 1], [0, 0, 3]])
    assert len(read(tmp_path, glb_bytes(glb)).primitives[0].faces) == 3


def test_shared_vertices_are_moved_once(tmp_path: Path) -> None:
    def share(document: dict[str, Any]) -> None:
        document["meshes"][0]["primitives"] *= 3

    first, second, third = read(tmp_path, changed(share)).primitives
    assert first.vertices is second.vertices is third.vertices


@pytest.mark.parametrize("embedded", [True, False])
def test_buffers_and_images_outside_of_the_file(tmp_path: Path, embedded: bool) -> None:
    document, blob = parts(glb_bytes(square()))
    if embedded:
        buffer = "data:application/octet-stream;base64," + base64.b64encode(blob).decode()
        image = "data:image/png;base64," + base64.b64encode(png(90)).decode()
    else:
        buffer, image = "the%20mesh.bin", "skin.png"
        (tmp_path / "the mesh.bin").write_bytes(blob)
        (tmp_path / "skin.png").write_bytes(png(90))
    document["buffers"][0]["uri"], document["images"] = buffer, [{"uri": image}]
    glb = read(tmp_path, join(document, b""))
    np.testing.assert_array_equal(glb.primitives[0].vertices, SQUARE)
    assert (glb.decode_image(0) == 90).all()


# -- what can be broken ------------------------------------------------------------------------------------


def _material(document: dict[str, Any]) -> dict[str, Any]:
    return document["materials"][0]["pbrMetallicRoughness"]


def _accessor(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["accessors"][0].update(values)


@pytest.mark.parametrize(("change", "message"), [
    (lambda d: _material(d)["baseColorTexture"].update(index=7),
     r"material 0 \(tiles\), texture 7: there are only 1 textures"),
    (lambda d: d["textures"][0].update(source=5),
     r"material 0 \(tiles\), texture 0: image 5 of 1 is missing"),
    (lambda d: d["textures"][0].pop("source"), r"material 0 \(tiles\), texture 0: names no image"),
    (lambda d: d["images"][0].update(bufferView=0),
     r"material 0 \(tiles\), texture 0: image 0 is not an image"),
    (lambda d: d["images"][0].update(bufferView=70), "damaged glTF"),
    (lambda d: d.update(images=[{"uri": "gone.jpg"}]), r"image 0 is in 'gone.jpg' beside it.*No such file"),
    (lambda d: d.update(images=[{"uri": "http://x/y.jpg"}]), "only files beside it"),
    (lambda d: d.update(images=[{"uri": "../y.jpg"}]), "only files beside it"),
    (lambda d: d.update(images=[{"uri": "data:image/png;base64,???"}]), "damaged data URI"),
    (lambda d: d["buffers"][0].update(uri="gone.bin"), "buffer 0 is in 'gone.bin' beside it"),
    (lambda d: d["buffers"].__setitem__(0, {"byteLength": 10**9}), "truncated"),
    (lambda d: d["bufferViews"][0].update(byteLength=10**6), "truncated"),
    (lambda d: d["bufferViews"][0].update(extensions={"EXT_meshopt_compression": {}}),
     "compressed with EXT_meshopt_compression"),
    (lambda d: d.update(extensionsRequired=["KHR_draco_mesh_compression"]),
     "compressed.*gltf-transform copy"),
    (lambda d: (d["meshes"][0]["primitives"][0].update(extensions={"KHR_draco_mesh_compression": {}}),
                d["accessors"][0].pop("bufferView")), "primitive 0 .* compressed with KHR_draco"),
    (lambda d: d.update(extensionsRequired=["XYZ_other"]), r"unsupported glTF extensions \['XYZ_other'\]"),
    (_accessor(sparse={"count": 1}), "accessor 0 is sparse"),
    (_accessor(count=10**12), "does not fit its buffer view"),
    (_accessor(count=-1), "does not fit its buffer view"),
    (_accessor(componentType=5124), "unknown type 5124"),
    (_accessor(type="VEC2"), "positions have 2 components"),
    (_accessor(byteOffset=40), "does not fit its buffer view"),
    (lambda d: d["accessors"][1].update(count=2), r"primitive 0 \(mesh 0\): TEXCOORD_0 has shape \(2, 2\)"),
    (lambda d: d["accessors"][2].update(count=5), "no multiple of 3"),
    (lambda d: d["meshes"][0]["primitives"][0].update(material=3), "material 3, but there are 1"),
    (lambda d: d["nodes"][0].update(children=[0]), "cycle"),
    (lambda d: d["scenes"][0].update(nodes=[4]), "node 4 of 1 is missing"),
    (lambda d: d.update(meshes=None), "damaged glTF"),
    (lambda d: d.update(accessors=[]), "damaged glTF"),
    (lambda d: d.update(nodes=[3]), "damaged glTF"),
    (lambda d: d["nodes"][0].update(matrix=[1, 2]), "damaged glTF"),
])
def test_broken_documents(tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    with pytest.raises(GlbError, match=message) as error:
        read(tmp_path, changed(change))
    assert str(tmp_path / "a.glb") in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vertices_that_are_no_numbers(tmp_path: Path, value: float) -> None:
    glb = square()
    glb.primitives.append(Primitive(SQUARE.copy(), FACES))
    glb.primitives[1].vertices[2:, 1] = value
    data = glb_bytes(glb).replace(b"NaN", b"0.0").replace(b"Infinity", b"0.000000")
    with pytest.raises(GlbError, match=r"primitive 1 \(mesh 1\): 2 of 4 vertices are not finite"):
        read(tmp_path, data)


def test_texture_coordinates_that_are_no_numbers(tmp_path: Path) -> None:
    glb = square()
    glb.primitives[0].uv = UV + [[np.nan, 0], [0, 0], [0, 1e30], [0, 0]]
    back = read(tmp_path, glb_bytes(glb))
    assert np.isfinite(np.asarray(back.primitives[0].uv)).all()
    assert "2 values of TEXCOORD_0" in back.problems[0]


def test_indices_out_of_range(tmp_path: Path) -> None:
    glb = square()
    glb.primitives[0].faces = np.array([[0, 1, 9]])
    with pytest.raises(GlbError, match=r"primitive 0 \(mesh 0\): index 9 is out of range, there are 4"):
        read(tmp_path, glb_bytes(glb))


@pytest.mark.parametrize(("data", "message"), [
    (b"", r"not a binary glTF file \(0 bytes\)"),
    (b"a text file that is long enough to be one", "not a binary glTF file"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-lfs pointer"),
    (struct.pack("<III", 0x46546C67, 1, 20) + bytes(8), "version 1; only version 2"),
    (struct.pack("<III", 0x46546C67, 2, 24) + struct.pack("<II", 4, 0x4E4F534A) + b"[1] ", "damaged glTF"),
    (struct.pack("<III", 0x46546C67, 2, 24) + struct.pack("<II", 4, 0x4E4F534A) + b"{{{{", "damaged glTF"),
    (struct.pack("<III", 0x46546C67, 2, 24) + struct.pack("<II", 4, 0x004E4942) + b"{{{{", "no JSON chunk"),
    (struct.pack("<III", 0x46546C67, 2, 24) + struct.pack("<II", 400, 0x4E4F534A) + b"{}  ", "truncated"),
])
def test_files_that_are_none(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(GlbError, match=message):
        read(tmp_path, data)


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(GlbError, match="is a folder"):
        read_glb(tmp_path)
    with pytest.raises(GlbError, match="cannot be read"):
        read_glb(tmp_path / "none.glb")


WHOLE = glb_bytes(square())


@given(st.integers(0, len(WHOLE) - 1))
def test_every_truncation_is_noticed(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.glb"
    path.write_bytes(WHOLE[:length])
    with pytest.raises(GlbError, match="cut.glb"):
        read_glb(path)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_damage_never_ends_in_another_exception(tmp_path_factory: pytest.TempPathFactory,
                                                damage: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, value in damage:
        data[place] = value
    path = tmp_path_factory.getbasetemp() / "hurt.glb"
    path.write_bytes(bytes(data))
    try:
        for image in read_glb(path).images:
            decode_image(image)
    except GlbError:
        pass


def test_a_damaged_jpeg_is_noticed_when_it_is_decoded() -> None:
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(noise).save(buffer, "JPEG")
    with pytest.raises(GlbError, match="cannot be decoded"):
        decode_image(buffer.getvalue()[:600])


# -- Basis -------------------------------------------------------------------------------------------------

KTX2 = Path(__file__).parent / "data"
CORNERS = np.array([[[220, 30, 30], [30, 200, 40]], [[40, 60, 230], [240, 220, 60]]])
"""What the test pictures show: one colour a quarter. They are ours, packed with a Basis encoder."""


@pytest.mark.parametrize("name", ["etc1s.ktx2", "uastc.ktx2"])
def test_basis_textures(tmp_path: Path, name: str) -> None:
    pytest.importorskip("opengl_basisu")
    glb = square()
    glb.images = [(KTX2 / name).read_bytes()]
    back = read(tmp_path, glb_bytes(glb))
    document, _ = parts((tmp_path / "a.glb").read_bytes())
    assert document["extensionsRequired"] == ["KHR_texture_basisu"]
    assert "source" not in document["textures"][0]
    pixels = back.decode_image(back.materials[0].image)
    assert pixels.shape == (64, 64, 3) and pixels.dtype == np.uint8
    expected = CORNERS.repeat(32, 0).repeat(32, 1)
    assert np.abs(pixels.astype(int) - expected).max() < 12


def test_basis_textures_as_in_hm3d(tmp_path: Path) -> None:
    """A .basis image, bottom row first, behind GOOGLE_texture_basis."""
    pytest.importorskip("opengl_basisu")
    glb = square()
    glb.images = [(KTX2 / "etc1s.basis").read_bytes()]

    def as_hm3d(document: dict[str, Any]) -> None:
        document["extensionsUsed"] = document["extensionsRequired"] = ["GOOGLE_texture_basis"]
        document["textures"] = [{"extensions": {"GOOGLE_texture_basis": {"source": 0}}}]
        document["images"][0]["mimeType"] = "image/x-basis"

    back = read(tmp_path, changed(as_hm3d, glb))
    pixels = back.decode_image(back.materials[0].image)
    assert np.abs(pixels.astype(int) - CORNERS.repeat(32, 0).repeat(32, 1)).max() < 12
    assert ktx2.size(back.images[0]) == (64, 64)
    with pytest.raises(GlbError, match="damaged|decoded"):
        decode_image(back.images[0][:150])


def test_basis_textures_without_the_decoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opengl_basisu", None)
    glb = square()
    glb.images = [(KTX2 / "etc1s.ktx2").read_bytes()]
    back = read(tmp_path, glb_bytes(glb))  # geometry needs no decoder
    with pytest.raises(GlbError, match=r"pip install hm3dm3\[basis\], or take .* hm3d-<split>-glb"):
        back.decode_image(0)


@pytest.mark.parametrize("length", [13, 79, 100, 200, 300])
def test_truncated_basis_textures(length: int) -> None:
    pytest.importorskip("opengl_basisu")
    with pytest.raises(GlbError):
        ktx2.size((KTX2 / "etc1s.ktx2").read_bytes()[:13])
    with pytest.raises(GlbError):
        decode_image((KTX2 / "etc1s.ktx2").read_bytes()[:length])
