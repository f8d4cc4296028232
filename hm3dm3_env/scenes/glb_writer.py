"""Write binary glTF (.glb) for the houses that this package makes; `glb` reads it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from hm3dm3_env.files import write_atomic
from hm3dm3_env.scenes import ktx2
from hm3dm3_env.scenes.glb import Glb, Primitive
from hm3dm3_env.scenes.gltf import BIN_CHUNK, JSON_CHUNK, MAGIC

_BASIS = "KHR_texture_basisu"


def write_glb(path: Path | str, glb: Glb) -> None:
    """Write `glb` atomically; equal content gives equal bytes. Materials are written unlit.

    Triangles without texture coordinates whose material has an image show its first texel.
    """
    write_atomic(path, glb_bytes(glb))


def glb_bytes(glb: Glb) -> bytes:
    """The .glb file of `glb` as bytes."""
    writer = _Writer()
    pictured = [p.material >= 0 and glb.materials[p.material].image >= 0 for p in glb.primitives]
    plain = [picture and p.uv is None for picture, p in zip(pictured, glb.primitives)]
    if any(plain):  # the same zeros serve all of them
        most = max(len(p.vertices) for p, bare in zip(glb.primitives, plain) if bare)
        writer.zeros = writer.view(bytes(8 * most))
    meshes = [{"primitives": [writer.primitive(p, bare)]} for p, bare in zip(glb.primitives, plain)]
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
        basis = [ktx2.is_basis(data) for data in glb.images]
        document |= {"images": images, "textures": [
            {"extensions": {_BASIS: {"source": i}}} if packed else {"source": i}
            for i, packed in enumerate(basis)]}
        if any(basis):
            used = document.get("extensionsUsed", [])
            document |= {"extensionsUsed": [*used, _BASIS], "extensionsRequired": [_BASIS]}
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    blob = bytes(writer.blob)
    total = 12 + 8 + len(text) + 8 + len(blob)
    return (struct.pack("<III", MAGIC, 2, total) + struct.pack("<II", len(text), JSON_CHUNK) + text
            + struct.pack("<II", len(blob), BIN_CHUNK) + blob)


def _mime(data: bytes) -> str:
    if data[:4] == b"\x89PNG":
        return "image/png"
    return "image/ktx2" if ktx2.is_basis(data) else "image/jpeg"


class _Writer:
    def __init__(self) -> None:
        self.blob = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.zeros = -1

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

    def origin(self, count: int) -> int:
        """Texture coordinates that are all 0."""
        spec = {"bufferView": self.zeros, "componentType": 5126, "count": count, "type": "VEC2"}
        self.accessors.append(spec)
        return len(self.accessors) - 1

    def primitive(self, item: Primitive, plain: bool) -> dict[str, Any]:
        attributes = {"POSITION": self.accessor(item.vertices.astype(np.float32), 5126, "VEC3", bounds=True)}
        if item.uv is not None:
            attributes["TEXCOORD_0"] = self.accessor(item.uv.astype(np.float32), 5126, "VEC2")
        elif plain:
            attributes["TEXCOORD_0"] = self.origin(len(item.vertices))
        if item.colors is not None:
            attributes["COLOR_0"] = self.accessor(item.colors.astype(np.float32), 5126, "VEC3")
        indices = self.accessor(item.faces.astype(np.uint32).reshape(-1, 1), 5125, "SCALAR")
        primitive: dict[str, Any] = {"attributes": attributes, "indices": indices}
        if item.material >= 0:
            primitive["material"] = item.material
        return primitive
