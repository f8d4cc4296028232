"""Binary glTF (.glb): a direct reader for the features that scene meshes use.

The reader turns a file into plain numpy arrays (triangles, texture coordinates, vertex colours) and encoded
images. It is direct (JSON chunk and buffer views) because the general loaders are several times slower on
large scans and merge or re-pack the data on the way. `glb_writer` is its counterpart for the houses that
this package makes. Both keep the axes of the file: what "up" means is not their business.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hm3dm3_env.scenes import ktx2
from hm3dm3_env.scenes.gltf import Container, GlbError

_KNOWN = {"KHR_materials_unlit", "KHR_mesh_quantization", "KHR_texture_transform", "KHR_texture_basisu",
          "GOOGLE_texture_basis", "EXT_texture_webp"}
_SOURCES = ("KHR_texture_basisu", "GOOGLE_texture_basis", "EXT_texture_webp")
"""Extensions in which a texture names its image when it isn't PNG or JPEG."""
_LARGEST = 1e6
"""Texture coordinates beyond this have no fractional part left in float32."""
_TRIANGLES, _STRIP, _FAN = 4, 5, 6


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
    """The content of a .glb: primitives, materials, and images as they are stored (JPEG, PNG, KTX2).

    `problems` are sentences about what is odd in the file but did not stop the reading.
    """

    primitives: list[Primitive] = field(default_factory=list)
    materials: list[GlbMaterial] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def decode_image(self, index: int) -> np.ndarray:
        """(H, W, 3) uint8 sRGB pixels of image `index`.

        Raises:
            GlbError: it cannot be decoded.
        """
        return decode_image(self.images[index])


def decode_image(data: bytes) -> np.ndarray:
    """(H, W, 3) uint8 sRGB pixels of an encoded image (JPEG, PNG, WebP, KTX2 or .basis).

    Raises:
        GlbError: it cannot be decoded, or its format needs a package that is not installed.
    """
    if ktx2.is_basis(data):
        return ktx2.decode(data)
    try:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception as error:  # Pillow raises many kinds on damaged files
        raise GlbError(f"cannot be decoded ({str(error)[:80]}); download the scene again") from error


def image_size(data: bytes) -> tuple[int, int]:
    """(width, height) of an encoded image, from its header; (0, 0) for Basis without its decoder.

    Raises:
        GlbError: it is no image.
    """
    if ktx2.is_basis(data):
        return ktx2.size(data)
    try:
        return Image.open(io.BytesIO(data)).size
    except Exception as error:
        raise GlbError(f"is not an image ({len(data)} bytes)") from error


def read_glb(path: Path | str) -> Glb:
    """Read a .glb file, with every node's and every texture's transform applied.

    Raises:
        GlbError: not a glTF 2 binary, damaged, or it uses a compression that this reader lacks; names the
            file, and the primitive, material or texture.
    """
    container = Container(Path(path))
    try:
        return _Reader(container).read()
    except GlbError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise container.fail(f"damaged glTF ({type(error).__name__}: {error}); download it again") from error


class _Reader:
    def __init__(self, container: Container) -> None:
        self.container, self.document = container, container.document
        unknown = set(self.document.get("extensionsRequired", ())) - _KNOWN
        if "KHR_draco_mesh_compression" in unknown or "EXT_meshopt_compression" in unknown:
            raise container.fail(f"is compressed ({', '.join(sorted(unknown))}); unpack it first, e.g. with "
                                 "glTF-Transform ('gltf-transform copy in.glb out.glb')")
        if unknown:
            raise container.fail(f"needs unsupported glTF extensions {sorted(unknown)}")
        self.glb = Glb()
        self.checked: dict[int, GlbMaterial] = {}
        self.moved: dict[tuple[int, int], np.ndarray] = {}

    def read(self) -> Glb:
        for index, image in enumerate(self.document.get("images", [])):
            self.glb.images.append(self._image(index, image))
        self.glb.materials = [GlbMaterial(m.get("name", "")) for m in self.document.get("materials", [])]
        others = 0
        for number, (node, matrix) in enumerate(_nodes(self.container)):
            if "mesh" not in node:
                continue
            for item in self.document["meshes"][node["mesh"]]["primitives"]:
                if item.get("mode", _TRIANGLES) not in (_TRIANGLES, _STRIP, _FAN):
                    others += 1
                    continue
                self._primitive(item, number, matrix, f"mesh {node['mesh']}")
        if others:
            self.glb.problems.append(f"{self.container.path.name}: {others} primitives of points or lines "
                                     "are left out")
        return self.glb

    def _image(self, index: int, image: dict[str, Any]) -> bytes:
        if "bufferView" in image:
            return bytes(self.container.view(image["bufferView"]))
        return self.container.uri(image["uri"], f"image {index}") if "uri" in image else b""

    def _material(self, index: int) -> dict[str, Any]:
        """The texture info of a material in use; its colour and image go to `glb`."""
        materials = self.document.get("materials", [])
        if not 0 <= index < len(materials):
            raise self.container.fail(f"a primitive uses material {index}, but there are {len(materials)}")
        spec = materials[index].get("pbrMetallicRoughness", {})
        info = spec.get("baseColorTexture", {})
        made = self.glb.materials[index]
        if index not in self.checked:
            red, green, blue = (float(v) for v in spec.get("baseColorFactor", (1, 1, 1, 1))[:3])
            made.base_color = (red, green, blue)
            if "index" in info:
                made.image = self._source(info["index"], f"material {index} ({made.name or 'no name'}), "
                                                         f"texture {info['index']}")
            self.checked[index] = made
        return info

    def _source(self, texture: int, where: str) -> int:
        """Index of a texture's image, which is known to be one."""
        textures = self.document.get("textures", [])
        if not 0 <= texture < len(textures):
            raise self.container.fail(f"{where}: there are only {len(textures)} textures")
        spec = textures[texture]
        named = [spec] + [spec.get("extensions", {}).get(name, {}) for name in _SOURCES]
        sources = [part["source"] for part in named if "source" in part]
        if not sources:
            raise self.container.fail(f"{where}: names no image")
        if not 0 <= sources[0] < len(self.glb.images):
            raise self.container.fail(f"{where}: image {sources[0]} of {len(self.glb.images)} is missing")
        try:
            image_size(self.glb.images[sources[0]])
        except GlbError as error:
            raise self.container.fail(f"{where}: image {sources[0]} {error}; download it again") from error
        return sources[0]

    def _primitive(self, item: dict[str, Any], node: int, matrix: np.ndarray, mesh: str) -> None:
        where = f"primitive {len(self.glb.primitives)} ({mesh})"
        fail, attributes = self.container.fail, item["attributes"]
        if "KHR_draco_mesh_compression" in item.get("extensions", {}) and "bufferView" not in (
                self.document["accessors"][attributes["POSITION"]]):
            raise fail(f"{where} is compressed with KHR_draco_mesh_compression; unpack it first, e.g. with "
                       "glTF-Transform ('gltf-transform copy in.glb out.glb')")
        vertices = self._vertices(attributes["POSITION"], node, matrix, where)
        faces = _faces(item, self.container, len(vertices))
        if faces is None:
            raise fail(f"{where}: the number of its indices is no multiple of 3")
        if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
            raise fail(f"{where}: index {faces.max()} is out of range, there are {len(vertices)} vertices")
        material = item.get("material", -1)
        info = self._material(material) if material >= 0 else {}
        transform = info.get("extensions", {}).get("KHR_texture_transform", {})
        uv = self._attribute(attributes, f"TEXCOORD_{transform.get('texCoord', info.get('texCoord', 0))}",
                             len(vertices), where, 2)
        if uv is not None and transform:
            uv = _transformed(uv, transform)
        colors = self._attribute(attributes, "COLOR_0", len(vertices), where, 3)
        self.glb.primitives.append(Primitive(vertices, faces, uv, colors, material))

    def _vertices(self, accessor: int, node: int, matrix: np.ndarray, where: str) -> np.ndarray:
        """Primitives of a mesh may share their vertices, as big scans do: they are moved once."""
        if (accessor, node) not in self.moved:
            vertices = self.container.accessor(accessor).astype(np.float64)
            if vertices.shape[1] != 3:
                raise self.container.fail(f"{where}: positions have {vertices.shape[1]} components, not 3")
            with np.errstate(all="ignore"):  # a float64 may not fit; the check below tells
                moved = (vertices @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)
            bad = int((~np.isfinite(moved).all(1)).sum())
            if bad:
                raise self.container.fail(f"{where}: {bad} of {len(moved)} vertices are not finite numbers; "
                                          "download it again")
            self.moved[accessor, node] = moved
        return self.moved[accessor, node]

    def _attribute(self, attributes: dict[str, int], name: str, count: int, where: str,
                   width: int) -> np.ndarray | None:
        if name not in attributes:
            return None
        values = self.container.accessor(attributes[name])
        if len(values) != count or values.shape[1] < width:
            raise self.container.fail(f"{where}: {name} has shape {values.shape}, but there are {count} "
                                      "vertices")
        values = values[:, :width].astype(np.float32)
        strange = ~(np.abs(values) < _LARGEST)  # NaN too
        if strange.any():
            self.glb.problems.append(f"{self.container.path.name}: {where}: {int(strange.any(1).sum())} "
                                     f"values of {name} are no numbers or absurdly large, 0 is used")
            values[strange] = 0
        return values


def _faces(item: dict[str, Any], container: Container, vertices: int) -> np.ndarray | None:
    """(F, 3) int64 corners from triangles, a strip or a fan; None if the triangles are not whole."""
    corners = (container.accessor(item["indices"])[:, 0].astype(np.int64) if "indices" in item
               else np.arange(vertices))
    mode = item.get("mode", _TRIANGLES)
    if mode == _TRIANGLES:
        return None if len(corners) % 3 else corners.reshape(-1, 3)
    if len(corners) < 3:
        return np.zeros((0, 3), np.int64)
    if mode == _FAN:
        return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], 1)
    faces = np.stack([corners[:-2], corners[1:-1], corners[2:]], 1)
    faces[1::2] = faces[1::2, [1, 0, 2]]  # every other one turns the other way
    return faces


def _transformed(uv: np.ndarray, transform: dict[str, Any]) -> np.ndarray:
    """KHR_texture_transform: scale, then rotate, then shift."""
    c, s = np.cos(transform.get("rotation", 0.0)), np.sin(transform.get("rotation", 0.0))
    scaled = uv.astype(np.float64) * np.asarray(transform.get("scale", (1, 1)), float)
    turned = scaled @ np.array([[c, -s], [s, c]])
    return (turned + np.asarray(transform.get("offset", (0, 0)), float)).astype(np.float32)


def _nodes(container: Container) -> list[tuple[dict[str, Any], np.ndarray]]:
    nodes = container.document.get("nodes", [])
    children = {child for node in nodes for child in node.get("children", ())}
    scenes = container.document.get("scenes")
    roots = (
        scenes[container.document.get("scene", 0)].get("nodes", [])
        if scenes
        else [i for i in range(len(nodes)) if i not in children]
    )
    found: list[tuple[dict[str, Any], np.ndarray]] = []
    stack = [(root, np.eye(4)) for root in reversed(roots)]
    while stack:
        index, parent = stack.pop()
        if len(found) >= len(nodes):
            raise container.fail("its nodes form a cycle")
        if not 0 <= index < len(nodes):
            raise container.fail(f"node {index} of {len(nodes)} is missing")
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
