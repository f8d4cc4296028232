"""Read a scene folder in HM3DSem's layout: HM3D's own, or a house written by `hm3dm3_env.scenes.layout`.

Everything comes out in the world's frame (y up, metres). Textures are decoded on first use, since many
runs need geometry and semantics only.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from hm3dm3_env.geometry import z_up_to_y_up
from hm3dm3_env.scenes.glb import Glb, read_glb
from hm3dm3_env.scenes.layout import linear_to_srgb

STRUCTURE = (
    "wall",
    "floor",
    "ceiling",
    "door",
    "window",
    "unknown",
    "stairs",
    "door frame",
    "window frame",
    "beam",
    "column",
    "unlabeled",
    "curtain rod",
    "railing",
)
"""Categories that are part of the building: never goals. HM3D-OVON drops these by substring; we compare whole
names, so that wall lamps, floor lamps and doormats stay."""


class SceneError(ValueError):
    """A scene folder that cannot be used; the message names the folder or file and the fix."""


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
        labels: (T,) int32 object id a triangle, or None when the semantic mesh is another one.
        semantic_triangles, semantic_labels: that other mesh, when `labels` is None.
        instances: by id.
        lit: whether surfaces are shaded by their normal (houses made here) or carry baked light (scans).
    """

    id: str
    folder: Path
    triangles: np.ndarray
    uv: np.ndarray
    material: np.ndarray
    base_colors: np.ndarray
    image_of: np.ndarray
    labels: np.ndarray | None
    semantic_triangles: np.ndarray | None
    semantic_labels: np.ndarray | None
    instances: dict[int, Instance]
    lit: bool
    _glb: Glb = field(repr=False)

    @cached_property
    def images(self) -> list[np.ndarray]:
        """Decoded textures, (H, W, 3) uint8 sRGB each."""
        return [self._glb.decode_image(i) for i in range(len(self._glb.images))]

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
                   if folder.is_dir() and not folder.name.startswith(".") and _stem(folder) is not None)
    if not found:
        raise SceneError(f"{root}: no scene folders in it (expected <id>-<hash>/<hash>.glb)")
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
        raise SceneError(f"{folder}: not a scene folder (expected {folder.name.split('-')[-1]}.glb in it)")
    plain = folder / f"{stem}.glb"
    render = read_glb(plain if plain.exists() else folder / f"{stem}.basis.glb")
    if not render.primitives:
        raise SceneError(f"{plain}: no triangles")
    triangles = z_up_to_y_up(np.concatenate([p.vertices[p.faces] for p in render.primitives])).astype(
        np.float32
    )
    uv = np.concatenate([p.uv[p.faces] if p.uv is not None else np.zeros((len(p.faces), 3, 2), np.float32)
                         for p in render.primitives]).astype(np.float32)
    material = np.concatenate([np.full(len(p.faces), p.material + 1, np.int32) for p in render.primitives])
    colors = np.array([(1.0, 1.0, 1.0)] + [m.base_color for m in render.materials])
    image_of = np.array([-1] + [m.image for m in render.materials], np.int32)
    attributes = _read_attributes(folder / f"{stem}.attributes.json")
    text, semantic = folder / f"{stem}.semantic.txt", folder / f"{stem}.semantic.glb"
    labels = other = other_labels = None
    instances: dict[int, Instance] = {}
    if text.exists() != semantic.exists():
        raise SceneError(
            f"{folder}: has only one of {text.name} and {semantic.name}; both are needed for annotations"
        )
    if text.exists():
        rows = parse_semantic_text(text)
        mesh, mesh_labels = _semantic_mesh(semantic, rows)
        if mesh.shape == triangles.shape and np.allclose(mesh, triangles, atol=1e-4):
            labels = mesh_labels
        else:
            other, other_labels = mesh, mesh_labels
        instances = _instances(rows, mesh, mesh_labels, attributes)
    return SceneData(
        folder.name,
        folder,
        triangles,
        uv,
        material,
        linear_to_srgb(colors).astype(np.float32),
        image_of,
        labels,
        other,
        other_labels,
        instances,
        bool(attributes),
        render,
    )


def parse_semantic_text(path: Path) -> dict[int, tuple[int, str, int]]:
    """`.semantic.txt` as {id: (colour code 0xRRGGBB, category, region)}.

    Survives blank lines, exact repeats, commas and doubled quotes inside a quoted category, trailing blanks.

    Raises:
        SceneError: wrong first line, a line that does not parse, or one id with two meanings.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or not lines[0].strip().startswith("HM3D Semantic Annotations"):
        raise SceneError(f"{path}: line 1 must be 'HM3D Semantic Annotations'")
    rows: dict[int, tuple[int, str, int]] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = next(csv.reader([line]))
        if len(cells) != 4:  # unquoted commas in the category
            cells = [cells[0], cells[1] if len(cells) > 1 else "", ",".join(cells[2:-1]), cells[-1]]
        identity, color, category, region = (cell.strip() for cell in cells)
        if not (
            identity.isdigit() and re.fullmatch(r"[0-9A-Fa-f]{6}", color) and re.fullmatch(r"-?\d+", region)
        ):
            raise SceneError(f"{path}: line {number}: expected id,HEXCOLOR,\"category\",region, not {line!r}")
        row = (int(color, 16), " ".join(category.lower().split()), int(region))
        if rows.setdefault(int(identity), row) != row:
            raise SceneError(f"{path}: line {number}: id {identity} is there already with another meaning")
    return rows


def _read_attributes(path: Path) -> dict:
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise SceneError(
            f"{path}: broken JSON ({error}); delete the scene folder and build it again"
        ) from error


def _semantic_mesh(path: Path, rows: dict[int, tuple[int, str, int]]) -> tuple[np.ndarray, np.ndarray]:
    glb = read_glb(path)
    if not glb.primitives:
        raise SceneError(f"{path}: no triangles")
    triangles = z_up_to_y_up(np.concatenate([p.vertices[p.faces] for p in glb.primitives])).astype(np.float32)
    known = {code: identity for identity, (code, _, _) in rows.items()}
    best: np.ndarray | None = None
    for linear in (True, False):  # by the standard vertex colours are linear, but some tools store sRGB
        codes = np.concatenate([_codes(glb, p, linear) for p in glb.primitives])
        unique, inverse = np.unique(codes, return_inverse=True)
        labels = np.array([known.get(int(code), 0) for code in unique], np.int32)[inverse]
        if best is None or np.count_nonzero(labels) > np.count_nonzero(best):
            best = labels
    assert best is not None
    if rows and not best.any():
        raise SceneError(f"{path}: none of its colours is in the .semantic.txt beside it")
    return triangles, best


def _codes(glb: Glb, primitive, linear: bool) -> np.ndarray:
    """(F,) 0xRRGGBB of each triangle: its first vertex's colour, or the texel under its middle (nearest)."""
    if primitive.colors is not None:
        color = primitive.colors[primitive.faces[:, 0]]
        rgb = np.rint((linear_to_srgb(color) if linear else color) * 255).astype(np.int64)
    elif primitive.uv is not None and glb.materials[primitive.material].image >= 0:
        image = glb.decode_image(glb.materials[primitive.material].image)
        uv = primitive.uv[primitive.faces].mean(1) % 1.0
        rows = np.minimum((uv[:, 1] * image.shape[0]).astype(int), image.shape[0] - 1)
        columns = np.minimum((uv[:, 0] * image.shape[1]).astype(int), image.shape[1] - 1)
        rgb = image[rows, columns].astype(np.int64)
    else:
        rgb = np.zeros((len(primitive.faces), 3), np.int64)
    return (rgb[:, 0] << 16) | (rgb[:, 1] << 8) | rgb[:, 2]


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
