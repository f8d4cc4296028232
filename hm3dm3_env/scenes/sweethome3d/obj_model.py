"""Wavefront OBJ with MTL: triangles by group and material, in the axes of the file (y up, z to the front)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from shapely.geometry import Polygon

from hm3dm3_env.scenes.sweethome3d.bundle import Bundle
from hm3dm3_env.scenes.sweethome3d.mesh import triangles_of


@dataclass
class ModelPart:
    """Triangles of one group and material: (T, 3, 3) points and (T, 3, 2) texture coordinates (v up)."""

    group: str
    material: str
    triangles: np.ndarray
    uv: np.ndarray


@dataclass
class Material:
    """A material of an .mtl file: diffuse colour, opacity and the texture's bytes (if any)."""

    color: tuple[float, float, float] = (0.8, 0.8, 0.8)
    opacity: float = 1.0
    texture: bytes | None = None
    texture_name: str = ""
    missing: str = ""
    """Name of a texture file that is not there."""


@dataclass
class Model:
    """A whole model and the materials of its .mtl files."""

    parts: list[ModelPart]
    materials: dict[str, Material] = field(default_factory=dict)


def read_model(data: bytes, path: str, bundle: Bundle) -> Model:
    """Read an OBJ file.

    Raises:
        ValueError: not an OBJ file, or one without faces or with broken numbers.
    """
    points: list[list[float]] = []
    coords: list[list[float]] = []
    faces: dict[tuple[str, str], list[list[tuple[int, int]]]] = {}
    materials: dict[str, Material] = {}
    group, material = "", ""
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        key, _, rest = line.strip().partition(" ")
        if key == "v":
            points.append([float(value) for value in rest.split()[:3]])
        elif key == "vt":
            coords.append([float(value) for value in (rest.split() + ["0"])[:2]])
        elif key == "f":
            corners = [_corner(word, len(points), len(coords)) for word in rest.split()]
            if len(corners) >= 3:
                faces.setdefault((group, material), []).append(corners)
        elif key in ("g", "o"):
            group = rest.strip()
        elif key == "usemtl":
            material = rest.strip()
        elif key == "mtllib":
            found = bundle.sibling(path, rest.strip())
            if found is not None:
                materials.update(_read_mtl(found[0], found[1], bundle))
    if not faces:
        raise ValueError("no faces in the model")
    vertices, texture = np.array(points, float), np.array([*coords, [0.0, 0.0]], float)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
        raise ValueError("broken vertices in the model")
    parts = []
    for (name, look), items in faces.items():
        indices = np.array([corner for face in items for corner in _split(face, vertices)], int).reshape(
            -1, 3, 2
        )
        if indices[..., 0].max() >= len(vertices) or indices[..., 0].min() < 0:
            raise ValueError("a face names a vertex that does not exist")
        texels = np.clip(indices[..., 1], -1, len(texture) - 1)
        parts.append(ModelPart(name, look, vertices[indices[..., 0]], texture[texels]))
    return Model(parts, materials)


def _corner(word: str, points: int, coords: int) -> tuple[int, int]:
    fields = word.split("/")
    vertex = int(fields[0])
    texel = int(fields[1]) if len(fields) > 1 and fields[1] else 0
    return (
        vertex - 1 if vertex > 0 else points + vertex,
        texel - 1 if texel > 0 else coords + texel if texel < 0 else -1,
    )


def _split(face: list[tuple[int, int]], vertices: np.ndarray) -> list[list[tuple[int, int]]]:
    """Triangles of a face: a fan for convex ones, a constrained triangulation in its plane otherwise."""
    fan = [[face[0], face[k], face[k + 1]] for k in range(1, len(face) - 1)]
    if len(face) <= 4:
        return fan
    ring = vertices[[corner[0] for corner in face]]
    following = np.roll(ring, -1, 0)
    normal = np.cross(ring, following).sum(0)
    drop = int(np.argmax(np.abs(normal)))
    flat = np.delete(ring, drop, 1)
    shape = Polygon(flat)
    if not shape.is_valid or shape.convex_hull.area - shape.area < 1e-6 * shape.area:
        return fan
    lookup = {tuple(point): corner for point, corner in zip(flat, face)}
    found = [[lookup.get(tuple(point)) for point in triangle] for triangle in triangles_of(shape)]
    return found if all(None not in triangle for triangle in found) else fan  # type: ignore[return-value]


def _read_mtl(data: bytes, path: str, bundle: Bundle) -> dict[str, Material]:
    materials: dict[str, Material] = {}
    current = Material()
    for line in data.decode("utf-8", "replace").splitlines():
        key, _, rest = line.strip().partition(" ")
        words = rest.split()
        if key == "newmtl":
            current = materials.setdefault(rest.strip(), Material())
        elif key == "Kd" and len(words) >= 3:
            current.color = (float(words[0]), float(words[1]), float(words[2]))
        elif key == "d" and words:
            current.opacity = float(words[-1])
        elif key == "Tr" and words:
            current.opacity = 1.0 - float(words[-1])
        elif key == "map_Kd" and words:
            found = bundle.sibling(path, rest.strip()) or bundle.sibling(path, words[-1])
            if found is not None:
                current.texture, current.texture_name = found[0], words[-1]
            else:
                current.missing = rest.strip()
    return materials
