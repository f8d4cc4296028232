"""Write a scene in HM3DSem's own folder layout, so that one reader serves HM3D and the houses made here.

    <root>/hm3dm3.scene_dataset_config.json
    <root>/<id>-<hash>/<hash>.glb               textured triangles, z up, front +y
    <root>/<id>-<hash>/<hash>.semantic.glb      the same triangles, one colour an object
    <root>/<id>-<hash>/<hash>.semantic.txt      id,HEXCOLOR,"category",region
    <root>/<id>-<hash>/<hash>.attributes.json   colours, materials and room names (optional; HM3D has none)

The folder appears only when it is complete: it is written beside its place and renamed.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive
from hm3dm3_env.scenes.glb_writer import glb_bytes

DATASET_CONFIG = "hm3dm3.scene_dataset_config.json"
JPEG_QUALITY = 88
"""Texture quality; ours. HM3D's textures are JPEG as well."""


@dataclass
class Surface:
    """How a part looks: an sRGB colour (0..1), multiplied with a texture if there is one.

    `texture` is (H, W, 3) uint8 sRGB, repeated outside of 0..1. Surfaces are shared by name.
    """

    name: str
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    texture: np.ndarray | None = None


@dataclass
class Part:
    """Triangles of one surface: `vertices` (V, 3) metres z-up, `faces` (F, 3), `uv` (V, 2) or None.

    Faces run counter-clockwise seen from where they are to be seen: habitat-sim culls back faces, and
    `winding.close_or_double` sees to it. Vertices are not shared between faces that should look hard-edged;
    the renderer shades by triangle.
    """

    vertices: np.ndarray
    faces: np.ndarray
    surface: str
    uv: np.ndarray | None = None


@dataclass
class SceneObject:
    """One annotated instance (walls, floors and ceilings are instances too, as in HM3DSem).

    Attributes:
        category: the open-vocabulary name, lower case ("floor lamp").
        region: index into `SceneModel.regions`.
        parts: its geometry, at its place in the scene.
        colour: a colour word for descriptions ("dark blue"), or "" if it has none.
        material: a material word for descriptions ("oak wood"), or "".
    """

    category: str
    region: int
    parts: list[Part]
    colour: str = ""
    material: str = ""


@dataclass
class SceneModel:
    """A whole scene, ready to be written. `source` is free JSON about where it came from."""

    objects: list[SceneObject]
    surfaces: dict[str, Surface]
    regions: list[str]
    source: dict[str, Any] = field(default_factory=dict)


PARTS = ("attributes.json", "glb", "semantic.glb", "semantic.txt")
"""Endings of a scene's files, after its hash."""


def write_scene(model: SceneModel, root: Path | str, scene_id: str) -> Path:
    """Write `model` under `root` and return its folder `<scene_id>-<hash>`.

    The hash is of the content, so equal models give the same folder with the same bytes. An existing
    folder of that name is kept; files that are missing in it are written.

    Raises:
        ValueError: an object without triangles, an unknown surface, or a region out of range.
    """
    root = Path(root)
    _check(model)
    files = {"glb": glb_bytes(_render_glb(model)), "semantic.glb": glb_bytes(_semantic_glb(model)),
             "semantic.txt": _semantic_text(model), "attributes.json": _attributes(model)}
    digest = hashlib.sha256(b"".join(files[key] for key in sorted(files))).hexdigest()[:11]
    folder = root / f"{scene_id}-{digest}"
    write_dataset_config(root)
    if folder.is_dir():
        for suffix, data in files.items():
            if not (folder / f"{digest}.{suffix}").is_file():  # somebody took it away
                write_atomic(folder / f"{digest}.{suffix}", data)
        return folder
    temporary = root / f".{folder.name}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for suffix, data in files.items():
            (temporary / f"{digest}.{suffix}").write_bytes(data)
    except OSError:  # a full disk, for example
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    try:
        os.rename(temporary, folder)
    except OSError:  # another process finished the same scene first
        shutil.rmtree(temporary, ignore_errors=True)
        if not folder.is_dir():
            raise
    return folder


def write_dataset_config(root: Path) -> None:
    """The scene-dataset config that habitat-sim needs for these folders (HM3D's conventions; lit shading)."""
    value = {
        "stages": {
            "paths": {".glb": ["*/*.glb"]},
            "default_attributes": {
                "shader_type": "phong", "up": [0, 0, 1], "front": [0, 1, 0], "origin": [0, 0, 0],
                "semantic_up": [0, 0, 1], "semantic_front": [0, 1, 0],
                "semantic_asset": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.glb",
                "semantic_descriptor_filename": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.txt",
                "has_semantic_textures": False,
            },
        },
        "scene_instances": {}, "navmesh_instances": {},
    }
    path = Path(root) / DATASET_CONFIG
    if not path.exists():
        write_atomic(path, json_bytes(value, indent=1))


def object_colors(count: int) -> np.ndarray:
    """(count, 3) uint8: one distinct colour an object, spread over the cube, never black or white."""
    step = 11184811  # coprime to 2**24: a full cycle, neighbours far apart
    codes = (np.arange(1, count + 1, dtype=np.int64) * step) % (1 << 24)
    return np.stack([(codes >> 16) & 255, (codes >> 8) & 255, codes & 255], 1).astype(np.uint8)


def srgb_to_linear(color: np.ndarray) -> np.ndarray:
    """sRGB (0..1) to linear light (0..1), the IEC 61966-2-1 curve."""
    color = np.asarray(color, np.float64)
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(color: np.ndarray) -> np.ndarray:
    """The inverse of `srgb_to_linear`."""
    color = np.asarray(color, np.float64)
    return np.where(color <= 0.0031308, color * 12.92, 1.055 * np.maximum(color, 0.0) ** (1 / 2.4) - 0.055)


def _check(model: SceneModel) -> None:
    for index, item in enumerate(model.objects):
        if not any(len(part.faces) for part in item.parts):
            raise ValueError(f"object {index + 1} ({item.category}): no triangles")
        if not 0 <= item.region < len(model.regions):
            raise ValueError(
                f"object {index + 1} ({item.category}): region {item.region} of {len(model.regions)}"
            )
        for part in item.parts:
            if part.surface not in model.surfaces:
                raise ValueError(f"object {index + 1} ({item.category}): unknown surface {part.surface!r}")


def _by_surface(model: SceneModel) -> list[tuple[str, list[tuple[int, Part]]]]:
    """Parts grouped by surface, in one order for both meshes: triangle i is the same in both files."""
    groups: dict[str, list[tuple[int, Part]]] = {}
    for index, item in enumerate(model.objects):
        for part in item.parts:
            if len(part.faces):
                groups.setdefault(part.surface, []).append((index, part))
    return sorted(groups.items())


def _merge(parts: list[Part]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0] + [len(part.vertices) for part in parts])
    vertices = np.concatenate([np.asarray(part.vertices, np.float32) for part in parts])
    faces = np.concatenate(
        [np.asarray(part.faces, np.int64) + offset for part, offset in zip(parts, offsets)]
    )
    return vertices, faces


def _render_glb(model: SceneModel) -> Glb:
    """The colours are in the textures (of one texel where the surface has none): glTF stores factors linear,
    but habitat-sim up to 0.2.2 takes them for sRGB, so that they would come out too dark there."""
    glb = Glb()
    for index, (name, group) in enumerate(_by_surface(model)):
        surface = model.surfaces[name]
        vertices, faces = _merge([part for _, part in group])
        uv = None
        if surface.texture is not None:
            uv = np.concatenate(
                [part.uv if part.uv is not None else np.zeros((len(part.vertices), 2)) for _, part in group]
            )
        glb.images.append(_picture(surface))
        glb.materials.append(GlbMaterial(name, (1.0, 1.0, 1.0), index))
        glb.primitives.append(Primitive(vertices, faces, uv, None, index))
    return glb


def _semantic_glb(model: SceneModel) -> Glb:
    """Vertex colours are stored linear: habitat-sim converts them to sRGB before it compares them."""
    colors = srgb_to_linear(object_colors(len(model.objects)) / 255.0).astype(np.float32)
    glb = Glb()
    for _, group in _by_surface(model):
        vertices, faces = _merge([part for _, part in group])
        labels = np.concatenate([np.full(len(part.vertices), index) for index, part in group])
        glb.primitives.append(Primitive(vertices, faces, None, colors[labels]))
    return glb


def _picture(surface: Surface) -> bytes:
    """The encoded texture with the surface's colour in it."""
    buffer, color = io.BytesIO(), np.clip(surface.color, 0.0, 1.0)
    if surface.texture is None:
        Image.fromarray(np.rint(color * 255).astype(np.uint8).reshape(1, 1, 3)).save(buffer, "PNG")
        return buffer.getvalue()
    levels = np.rint(np.arange(256)[:, None] * color).astype(np.uint8)
    texture = np.stack([levels[surface.texture[..., k], k] for k in range(3)], -1)
    Image.fromarray(texture).save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return buffer.getvalue()


def _semantic_text(model: SceneModel) -> bytes:
    lines = ["HM3D Semantic Annotations"]
    for index, (item, color) in enumerate(zip(model.objects, object_colors(len(model.objects)))):
        lines.append(
            f'{index + 1},{color[0]:02X}{color[1]:02X}{color[2]:02X},"{item.category}",{item.region}'
        )
    return ("\n".join(lines) + "\n").encode()


def _attributes(model: SceneModel) -> bytes:
    objects = {str(index + 1): {"colour": item.colour, "material": item.material}
               for index, item in enumerate(model.objects) if item.colour or item.material}
    return json_bytes({"objects": objects, "regions": model.regions, "source": model.source}, indent=1)
