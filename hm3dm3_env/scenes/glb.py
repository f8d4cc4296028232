"""Binary glTF (.glb): a direct reader and writer for the few features that scene meshes use.

The reader turns a file into plain numpy arrays (triangles, texture coordinates, vertex colours and
decoded images). It is direct (JSON chunk and buffer views) because the general loaders are several
times slower on large scans and merge or re-pack the data on the way. The writer is its counterpart for
the houses that this package makes. Both keep the axes of the file: what "up" means is not their business.
"""

from __future__ import annotations

import io
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hm3dm3_env.files import write_atomic

_MAGIC, _JSON, _BIN = 0x46546C67, 0x4E4F534A, 0x004E4942
_DTYPES: dict[int, Any] = {
    5120: np.int8,
    5121: np.uint8,
    5122: np.int16,
    5123: np.uint16,
    5125: np.uint32,
    5126: np.float32,
}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class GlbError(ValueError):
    """A .glb file that cannot be read; the message names the file and what is wrong with it."""


@dataclass
class Primitive:
    """Triangles that share one material.

    Attributes:
        vertices: (V, 3) float32, metres, in the file's axes.
        faces: (F, 3) int64 indices into `vertices`.
        uv: (V, 2) float32 texture coordinates (v down, as in glTF), or None.
        colors: (V, 3) float32 vertex colours in 0..1 exactly as stored (linear by the glTF standard), or
            None.
        material: index into `Glb.materials`, or -1.
    """

    vertices: np.ndarray
    faces: np.ndarray
    uv: np.ndarray | None = None
    colors: np.ndarray | None = None
    material: int = -1


@dataclass
class GlbMaterial:
    """A base colour (linear RGB, 0..1) and, if textured, an index into `Glb.images`."""

    name: str = ""
    base_color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    image: int = -1


@dataclass
class Glb:
    """The content of a .glb: primitives, materials, and images as JPEG/PNG bytes."""

    primitives: list[Primitive] = field(default_factory=list)
    materials: list[GlbMaterial] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)

    def decode_image(self, index: int) -> np.ndarray:
        """(H, W, 3) uint8 sRGB pixels of image `index`.

        Raises:
            GlbError: it cannot be decoded.
        """
        return decode_image(self.images[index])


def decode_image(data: bytes) -> np.ndarray:
    """(H, W, 3) uint8 sRGB pixels of an encoded image.

    Raises:
        GlbError: it cannot be decoded.
    """
    try:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception as error:  # Pillow raises many kinds on damaged files
        raise GlbError(f"cannot be decoded ({str(error)[:80]}); download the scene again") from error


def read_glb(path: Path | str) -> Glb:
    """Read a .glb file, with every node's transform applied.

    Raises:
        GlbError: not a glTF 2 binary, truncated, or it uses a compression that this reader lacks.
    """
    path = Path(path)
    document, blob = _chunks(path)
    required = set(document.get("extensionsRequired", ()))
    if "KHR_texture_basisu" in required:
        raise GlbError(
            f"{path}: textures are Basis/KTX2 compressed, which the embedded simulator cannot decode; "
            "use HM3D's plain .glb download ('hm3d-<split>-glb')"
        )
    unknown = required - {"KHR_materials_unlit", "KHR_mesh_quantization", "KHR_texture_transform"}
    if unknown:
        raise GlbError(f"{path}: needs unsupported glTF extensions {sorted(unknown)}")
    try:
        return _decode(document, blob)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise GlbError(f"{path}: damaged glTF ({type(error).__name__}: {error})") from error


def _chunks(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    if len(data) < 20 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise GlbError(f"{path}: not a binary glTF file ({len(data)} bytes)")
    total = struct.unpack_from("<I", data, 8)[0]
    if total > len(data):
        raise GlbError(f"{path}: truncated ({len(data)} bytes of {total}); download it again")
    document, blob, offset = None, b"", 12
    while offset + 8 <= len(data):
        length, kind = struct.unpack_from("<II", data, offset)
        chunk = data[offset + 8 : offset + 8 + length]
        if kind == _JSON:
            try:
                document = json.loads(chunk)
            except ValueError as error:  # not UTF-8, or not JSON
                raise GlbError(f"{path}: damaged glTF ({error}); download it again") from error
        elif kind == _BIN:
            blob = chunk
        offset += 8 + length
    if document is None:
        raise GlbError(f"{path}: no JSON chunk")
    return document, blob


def _decode(document: dict[str, Any], blob: bytes) -> Glb:
    views = document.get("bufferViews", [])

    def view_bytes(index: int) -> bytes:
        start = views[index].get("byteOffset", 0)
        return blob[start : start + views[index]["byteLength"]]

    def accessor(index: int) -> np.ndarray:
        spec = document["accessors"][index]
        dtype, width = np.dtype(_DTYPES[spec["componentType"]]), _WIDTHS[spec["type"]]
        view = views[spec["bufferView"]]
        start = view.get("byteOffset", 0) + spec.get("byteOffset", 0)
        stride = view.get("byteStride", 0) or dtype.itemsize * width
        array = np.ndarray(
            (spec["count"], width), dtype, buffer=blob, offset=start, strides=(stride, dtype.itemsize)
        )
        if spec.get("normalized"):
            array = array.astype(np.float32) / np.iinfo(dtype).max
        return array

    glb = Glb()
    for image in document.get("images", []):
        glb.images.append(view_bytes(image["bufferView"]))
    for material in document.get("materials", []):
        pbr = material.get("pbrMetallicRoughness", {})
        texture = pbr.get("baseColorTexture", {}).get("index", -1)
        image = document["textures"][texture].get("source", -1) if texture >= 0 else -1
        red, green, blue = pbr.get("baseColorFactor", (1, 1, 1, 1))[:3]
        glb.materials.append(GlbMaterial(material.get("name", ""), (red, green, blue), image))
    for node, matrix in _nodes(document):
        if "mesh" not in node:
            continue
        for item in document["meshes"][node["mesh"]]["primitives"]:
            if item.get("mode", 4) == 4:
                glb.primitives.append(_primitive(item, accessor, matrix))
    return glb


def _primitive(item: dict[str, Any], accessor: Any, matrix: np.ndarray) -> Primitive:
    attributes = item["attributes"]
    vertices = accessor(attributes["POSITION"]).astype(np.float64)
    vertices = (vertices @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)
    faces = (
        accessor(item["indices"]).reshape(-1, 3)
        if "indices" in item
        else np.arange(len(vertices)).reshape(-1, 3)
    )
    uv = accessor(attributes["TEXCOORD_0"]).astype(np.float32) if "TEXCOORD_0" in attributes else None
    colors = accessor(attributes["COLOR_0"])[:, :3].astype(np.float32) if "COLOR_0" in attributes else None
    return Primitive(vertices, faces.astype(np.int64), uv, colors, item.get("material", -1))


def _nodes(document: dict[str, Any]) -> list[tuple[dict[str, Any], np.ndarray]]:
    nodes = document.get("nodes", [])
    children = {child for node in nodes for child in node.get("children", ())}
    scenes = document.get("scenes")
    roots = (
        scenes[document.get("scene", 0)]["nodes"]
        if scenes
        else [i for i in range(len(nodes)) if i not in children]
    )
    found, stack = [], [(root, np.eye(4)) for root in reversed(roots)]
    while stack:
        index, parent = stack.pop()
        node = nodes[index]
        matrix = parent @ _local(node)
        found.append((node, matrix))
        stack.extend((child, matrix) for child in reversed(node.get("children", ())))
    return found


def _local(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.asarray(node["matrix"], float).reshape(4, 4).T
    matrix = np.eye(4)
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                         [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                         [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    matrix[:3, :3] = rotation * np.asarray(node.get("scale", (1, 1, 1)), float)
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix


def write_glb(path: Path | str, glb: Glb) -> None:
    """Write `glb` atomically; equal content gives equal bytes. Materials are written unlit."""
    write_atomic(path, glb_bytes(glb))


def glb_bytes(glb: Glb) -> bytes:
    """The .glb file of `glb` as bytes."""
    writer = _Writer()
    meshes = [{"primitives": [writer.primitive(primitive)]} for primitive in glb.primitives]
    images = [{"bufferView": writer.view(data), "mimeType": _mime(data)} for data in glb.images]
    materials = []
    for material in glb.materials:
        pbr: dict[str, Any] = {
            "baseColorFactor": [*map(float, material.base_color), 1.0],
            "metallicFactor": 0.0,
        }
        if material.image >= 0:
            pbr["baseColorTexture"] = {"index": material.image}
        materials.append({"name": material.name, "pbrMetallicRoughness": pbr, "doubleSided": True,
                          "extensions": {"KHR_materials_unlit": {}}})
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "hm3dm3"}, "scene": 0,
        "scenes": [{"nodes": list(range(len(meshes)))}], "nodes": [{"mesh": i} for i in range(len(meshes))],
        "meshes": meshes, "accessors": writer.accessors, "bufferViews": writer.views,
        "buffers": [{"byteLength": len(writer.blob)}],
    }
    if materials:
        document |= {"materials": materials, "extensionsUsed": ["KHR_materials_unlit"]}
    if images:
        document |= {"images": images, "textures": [{"source": i} for i in range(len(images))]}
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    blob = bytes(writer.blob)
    total = 12 + 8 + len(text) + 8 + len(blob)
    return (struct.pack("<III", _MAGIC, 2, total) + struct.pack("<II", len(text), _JSON) + text
            + struct.pack("<II", len(blob), _BIN) + blob)


def _mime(data: bytes) -> str:
    return "image/png" if data[:4] == b"\x89PNG" else "image/jpeg"


class _Writer:
    def __init__(self) -> None:
        self.blob = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def view(self, data: bytes) -> int:
        self.views.append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data)})
        self.blob += data + b"\0" * (-len(data) % 4)
        return len(self.views) - 1

    def accessor(self, array: np.ndarray, component: int, kind: str, bounds: bool = False) -> int:
        spec: dict[str, Any] = {"bufferView": self.view(np.ascontiguousarray(array).tobytes()),
                                "componentType": component, "count": len(array), "type": kind}
        if bounds:
            spec |= {"min": array.min(0).tolist(), "max": array.max(0).tolist()}
        self.accessors.append(spec)
        return len(self.accessors) - 1

    def primitive(self, item: Primitive) -> dict[str, Any]:
        attributes = {"POSITION": self.accessor(item.vertices.astype(np.float32), 5126, "VEC3", bounds=True)}
        if item.uv is not None:
            attributes["TEXCOORD_0"] = self.accessor(item.uv.astype(np.float32), 5126, "VEC2")
        if item.colors is not None:
            attributes["COLOR_0"] = self.accessor(item.colors.astype(np.float32), 5126, "VEC3")
        indices = self.accessor(item.faces.astype(np.uint32).reshape(-1, 1), 5125, "SCALAR")
        primitive: dict[str, Any] = {"attributes": attributes, "indices": indices}
        if item.material >= 0:
            primitive["material"] = item.material
        return primitive
