"""Read a scene folder in HM3DSem's layout: HM3D's own, or a house written by `hm3dm3_env.scenes.layout`.

Everything comes out in the world's frame (y up, metres). Textures are decoded on first use, since many
runs need geometry and semantics only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from hm3dm3_env.geometry import z_up_to_y_up
from hm3dm3_env.scenes.categories import STRUCTURE, structure_of
from hm3dm3_env.scenes.glb import Glb, decode_image, image_size, read_glb
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.layout import linear_to_srgb
from hm3dm3_env.scenes.semantic_mesh import Semantics, read_semantics
from hm3dm3_env.scenes.semantic_pieces import cut
from hm3dm3_env.scenes.semantic_text import SceneError, parse_semantic_text

__all__ = ["STRUCTURE", "Instance", "SceneData", "SceneError", "Semantics", "is_scene_folder",
           "load_scene", "parse_semantic_text", "scene_folders"]

_TINY = 2000
"""An image with more bytes than this has more than one texel."""


@dataclass(frozen=True)
class Instance:
    """An annotated object.

    Attributes:
        id: the id in `.semantic.txt`, from 1; the value in semantic frames.
        category: lower-case name.
        region: region id, and `room` its name where the scene knows it ("" in HM3D).
        low, high: (3,) corners of its axis-aligned bounding box, metres, world frame.
        colour, material: words for descriptions, "" if unknown.
        area: surface area, square metres.
    """

    id: int
    category: str
    region: int
    room: str
    low: np.ndarray
    high: np.ndarray
    colour: str = ""
    material: str = ""
    area: float = 0.0

    @property
    def structure(self) -> str:
        """The part of the building that it is ("wall", also for "wall /otherroom"), or "" for things, which
        may be goals."""
        return structure_of(self.category)

    @property
    def center(self) -> np.ndarray:
        """(3,) centre of the bounding box."""
        return (self.low + self.high) / 2

    @property
    def size(self) -> np.ndarray:
        """(3,) extents of the bounding box."""
        return self.high - self.low


@dataclass
class SceneData:
    """A scene's triangles and annotations.

    Attributes:
        id: the folder's name.
        triangles: (T, 3, 3) float32 render triangles.
        uv: (T, 3, 2) float32 texture coordinates (0 where untextured).
        material: (T,) int32 index into `base_colors` and `image_of`.
        base_colors: (M, 3) float32 sRGB, 0..1.
        image_of: (M,) int32 index of the material's image, -1 if none.
        semantics: which object is where, or None when the scene is not annotated.
        instances: by id.
        lit: whether surfaces are shaded by their normal (houses made here) or carry baked light (scans).
        sources: the textures as they are stored (JPEG, PNG or KTX2 bytes), decoded by `images`.
        problems: what is odd about the files but did not stop the reading, one sentence each.
    """

    id: str
    folder: Path
    triangles: np.ndarray
    uv: np.ndarray
    material: np.ndarray
    base_colors: np.ndarray
    image_of: np.ndarray
    semantics: Semantics | None
    instances: dict[int, Instance]
    lit: bool
    sources: list[bytes] = field(default_factory=list, repr=False)
    problems: list[str] = field(default_factory=list, repr=False)

    @cached_property
    def images(self) -> list[np.ndarray]:
        """Decoded textures, (H, W, 3) uint8 sRGB each; a black texel for those that no material uses.

        Raises:
            GlbError: one cannot be decoded; names the folder, the image and the materials that use it.
        """
        used = set(self.image_of.tolist())  # others may be normal maps, or in formats that nobody needs
        return [self.decode(index) if index in used else np.zeros((1, 1, 3), np.uint8)
                for index in range(len(self.sources))]

    def decode(self, index: int) -> np.ndarray:
        """(H, W, 3) uint8 sRGB pixels of texture `index`.

        Raises:
            GlbError: as `images`.
        """
        try:
            return decode_image(self.sources[index])
        except GlbError as error:
            users = (np.nonzero(self.image_of == index)[0] - 1).tolist()
            raise GlbError(f"{self.folder}: image {index} (materials {users}): {error}") from error

    def of_category(self, category: str) -> list[Instance]:
        """All instances of a category, by id."""
        return [item for item in self.instances.values() if item.category == category]


def scene_folders(root: Path | str) -> list[Path]:
    """All scene folders under `root` (one level), sorted by name: those with a .glb of the same stem.

    Raises:
        SceneError: no such folder, or no scene in it.
    """
    root = Path(root)
    if not root.is_dir():
        raise SceneError(f"{root}: no such folder of scenes")
    found = sorted(folder for folder in root.iterdir()
                   if not folder.name.startswith(".") and is_scene_folder(folder))
    if not found:
        raise SceneError(f"{root}: no scene folders in it (expected <id>-<hash>/<hash>.glb)")
    return found


def is_scene_folder(folder: Path) -> bool:
    """Whether a folder has a .glb (or .basis.glb) of the same stem."""
    return folder.is_dir() and _stem(folder) is not None


def annotated(folders: list[Path]) -> list[Path]:
    """Those of the scene folders that say what is in them: 36 of HM3D's 100 val scenes, for one.

    Raises:
        SceneError: there are folders, and none has annotations.
    """
    found = [
        folder
        for folder in folders
        if all((folder / f"{folder.name.split('-')[-1]}.semantic.{end}").exists() for end in ("glb", "txt"))
    ]
    if folders and not found:
        raise SceneError(
            f"{folders[0].parent}: none of {len(folders)} scenes has a .semantic.glb and a .semantic.txt; "
            "get the scenes with semantic annotations (hm3d-<split>-semantic-annots)"
        )
    return found


def _stem(folder: Path) -> str | None:
    stem = folder.name.split("-")[-1]
    for suffix in (".glb", ".basis.glb"):
        if (folder / f"{stem}{suffix}").exists():
            return stem
    return None


def load_scene(folder: Path | str) -> SceneData:
    """Read one scene folder.

    Raises:
        SceneError: files are missing or contradict each other.
    """
    folder = Path(folder)
    stem = _stem(folder) if folder.is_dir() else None
    if stem is None:
        name = folder.name.split("-")[-1]
        raise SceneError(f"{folder}: not a scene folder (expected {name}.glb or {name}.basis.glb in it)")
    plain = folder / f"{stem}.glb"
    if not plain.exists():
        plain = folder / f"{stem}.basis.glb"
    render = read_glb(plain)
    if not any(len(p.faces) for p in render.primitives):
        raise SceneError(f"{plain}: no triangles; download it again")
    triangles = z_up_to_y_up(np.concatenate([p.vertices[p.faces] for p in render.primitives])).astype(
        np.float32
    )
    uv = np.concatenate([p.uv[p.faces] if p.uv is not None else np.zeros((len(p.faces), 3, 2), np.float32)
                         for p in render.primitives]).astype(np.float32)
    material = np.concatenate([np.full(len(p.faces), p.material + 1, np.int32) for p in render.primitives])
    colors, image_of = _materials(plain, render)
    attributes = _read_attributes(folder / f"{stem}.attributes.json")
    text, semantic = folder / f"{stem}.semantic.txt", folder / f"{stem}.semantic.glb"
    semantics = None
    problems = list(render.problems)
    instances: dict[int, Instance] = {}
    if text.exists() != semantic.exists():
        raise SceneError(
            f"{folder}: has only one of {text.name} and {semantic.name}; both are needed for annotations "
            "(for HM3D: the download hm3d-<split>-semantic-annots)"
        )
    if text.exists():
        rows = parse_semantic_text(text, problems)
        semantics = read_semantics(semantic, rows, triangles, problems)
        mesh = triangles if semantics.triangles is None else semantics.triangles
        instances = _instances(rows, *cut(mesh, semantics), attributes)
        absent = [identity for identity in rows if identity not in instances]
        if absent:
            listed = ", ".join(f"{i} ({rows[i][1]})" for i in absent[:8]) + (", ..." if absent[8:] else "")
            problems.append(f"{text.name}: ids without triangles ({len(absent)}): {listed}")
    return SceneData(
        folder.name,
        folder,
        triangles,
        uv,
        material,
        colors,
        image_of,
        semantics,
        instances,
        bool(attributes),
        render.images,
        problems,
    )


def _materials(path: Path, render: Glb) -> tuple[np.ndarray, np.ndarray]:
    """(M, 3) float32 sRGB base colours, 0..1, and (M,) int32 images or -1, both after that of no material.

    An image of one texel is a colour: renderers need not look for it."""
    colors = linear_to_srgb(np.array([(1.0, 1.0, 1.0)] + [m.base_color for m in render.materials]))
    image_of = np.array([-1] + [m.image for m in render.materials], np.int32)
    sizes = [image_size(data) if len(data) < _TINY else (0, 0) for data in render.images]
    for index, image in enumerate(image_of):
        if image >= 0 and sizes[image] == (1, 1):
            try:
                colors[index] *= render.decode_image(image)[0, 0] / 255.0
            except GlbError as error:
                raise GlbError(f"{path}: image {image}: {error}") from error
            image_of[index] = -1
    return colors.astype(np.float32), image_of


def _read_attributes(path: Path) -> dict:
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise SceneError(
            f"{path}: broken JSON ({error}); delete the scene folder and build it again"
        ) from error


def _instances(rows: dict[int, tuple[int, str, int]], triangles: np.ndarray, labels: np.ndarray,
               attributes: dict) -> dict[int, Instance]:
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max(initial=0) + 2))
    edges = triangles[:, 1:].astype(np.float64) - triangles[:, :1]
    areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2
    rooms, words = attributes.get("regions", []), attributes.get("objects", {})
    instances = {}
    for identity, (_, category, region) in sorted(rows.items()):
        if identity >= len(starts) - 1 or starts[identity] == starts[identity + 1]:
            continue  # listed but not in the mesh: HM3DSem has a few
        mine = order[starts[identity] : starts[identity + 1]]
        corners = triangles[mine].reshape(-1, 3).astype(np.float64)
        word = words.get(str(identity), {})
        instances[identity] = Instance(
            identity,
            category,
            region,
            rooms[region] if 0 <= region < len(rooms) else "",
            corners.min(0),
            corners.max(0),
            word.get("colour", ""),
            word.get("material", ""),
            float(areas[mine].sum()),
        )
    return instances
