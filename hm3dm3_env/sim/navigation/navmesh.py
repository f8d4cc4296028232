"""Reader of habitat-sim's `.navmesh` files, which hold one Detour tile. Needs numpy only.

The layout is that of a little-endian 64-bit build's memory: a file header, in version 2 the settings that the
navmesh was made with, then a tile header and the tile. How long a reference to a tile is (4 or 8 bytes) and
how long the settings are differs between builds; both are told from where the tile begins.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_FILE_MAGIC = b"TESM"  # 'MSET' as a little-endian number
_TILE_MAGIC = b"VAND"  # 'DNAV'
_TILE_VERSION = 7
_HEADER = struct.Struct("<4s2i5f2i")
"""Magic, version, tiles, then Detour's parameters: origin, tile width and height, most tiles and polygons."""
_TILE = struct.Struct("<4s4iI9i10f")
"""Magic, version, x, y, layer, user id, nine counts, body height, radius and climb, bounds, quantisation."""
_LONGEST_SETTINGS = 512
"""Bytes between the file header and the tile that are still taken for settings (ours; 56 in habitat-sim)."""
_SETTINGS = ("cell_size", "cell_height", "agent_height", "agent_radius", "agent_max_climb", "agent_max_slope")
_POLYGON = np.dtype(
    [
        ("link", "<u4"),
        ("corners", "<u2", 6),
        ("neighbours", "<u2", 6),
        ("flags", "<u2"),
        ("count", "u1"),
        ("kind", "u1"),
    ]
)
_DETAIL = np.dtype(
    [("vertex", "<u4"), ("triangle", "<u4"), ("vertices", "u1"), ("triangles", "u1"), ("", "<u2")]
)
_WALK = 1
_SMALLEST = 1e-5
"""habitat-sim switches off polygons of less area, square metres."""


@dataclass
class NavMesh:
    """A navmesh in world coordinates (y up, metres).

    Attributes:
        polygons: P convex polygons, (N, 3) float64 corners each.
        neighbours: of each polygon (N,) the polygon beyond the side from each corner to the next, -1: none.
        triangles: (T, 3, 3) float64, its surface, finer in height than the polygons.
        polygon_of: (T,) the polygon that each triangle is part of.
        islands: (P,) labels of connected pieces, from 1.
        radius, height, climb: of the body that it was made for, metres.
        settings: what else the file tells of how it was made, e.g. cell_size (empty in version 1).
    """

    polygons: list[np.ndarray]
    neighbours: list[np.ndarray]
    triangles: np.ndarray
    polygon_of: np.ndarray
    islands: np.ndarray
    radius: float
    height: float
    climb: float
    settings: dict[str, float]


def read_navmesh(path: Path) -> NavMesh:
    """The navmesh in a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole navmesh of habitat-sim; the message names the file and what to do.
    """
    path = Path(path)
    data = path.read_bytes()
    if data.startswith(b"version https://git-lfs"):
        raise ValueError(
            f"{path}: a pointer of Git LFS, not the navmesh itself; run 'git lfs pull' in its repository"
        )
    if data[:4] == _FILE_MAGIC[::-1]:
        raise ValueError(f"{path}: written on a big-endian machine; {_REMAKE}")
    if data[:4] != _FILE_MAGIC[: len(data)] or not data:
        raise ValueError(
            f"{path}: not a navmesh of habitat-sim (it begins with {data[:4]!r}, not {_FILE_MAGIC!r})"
        )
    if len(data) < _HEADER.size:
        raise _cut(path, len(data), _HEADER.size)
    _, version, tiles = _HEADER.unpack_from(data)[:3]
    if version not in (1, 2):
        raise ValueError(
            f"{path}: navmesh files of version {version} are unknown here (1 and 2 are); {_REMAKE}"
        )
    if tiles != 1:
        raise ValueError(f"{path}: has {tiles} tiles, habitat-sim's navmeshes have one; {_REMAKE}")
    begin, wide = _tile_of(path, data, version)
    values = _settings(data[_HEADER.size : begin - (16 if wide else 8)])
    return _read_tile(path, data[begin:], wide, values)


_REMAKE = "make it anew with habitat-sim's recompute_navmesh and save_nav_mesh, or use sim.navmesh=computed"


def _cut(path: Path, size: int, needed: int) -> ValueError:
    return ValueError(
        f"{path}: cut short ({size} bytes, at least {needed} are needed); copy or download it again"
    )


def _tile_of(path: Path, data: bytes, version: int) -> tuple[int, bool]:
    """Where the tile begins, and whether references to tiles have 8 bytes."""
    begin = data.find(_TILE_MAGIC, _HEADER.size + 8, _HEADER.size + _LONGEST_SETTINGS)
    if begin < 0:
        if len(data) < _HEADER.size + _LONGEST_SETTINGS:
            raise _cut(path, len(data), _HEADER.size + 56 + 8 + _TILE.size)
        raise ValueError(f"{path}: no tile after the file's header; {_REMAKE}")
    if len(data) < begin + _TILE.size:
        raise _cut(path, len(data), begin + _TILE.size)
    fields = _TILE.unpack_from(data, begin)
    if fields[1] != _TILE_VERSION:
        raise ValueError(f"{path}: a Detour tile of version {fields[1]}, not {_TILE_VERSION}; {_REMAKE}")
    if min(fields[6:15]) < 0:
        raise ValueError(f"{path}: damaged (it counts fewer than no polygons); {_REMAKE}")
    for wide in (False, True):
        head = begin - (16 if wide else 8)
        spare = head - _HEADER.size
        if spare < 0 or (spare > 0) != (version == 2) or spare % 4:
            continue
        size = struct.unpack_from("<i", data, begin - (8 if wide else 4))[0]
        if size == _offsets(fields, wide)[-1]:
            if len(data) < begin + size:
                raise _cut(path, len(data), begin + size)
            return begin, wide
    raise ValueError(f"{path}: its tile is not as long as its counts say; {_REMAKE}")


def _offsets(fields: tuple, wide: bool) -> np.ndarray:
    """(9,) where the tile's parts begin (vertices, polygons, links, details, their vertices and triangles,
    the tree, connections) and the tile ends."""
    polygons, vertices, links, details, detail_vertices, detail_triangles, nodes, connections = fields[6:14]
    sizes = [
        _TILE.size, 12 * vertices, _POLYGON.itemsize * polygons, (16 if wide else 12) * links,
        _DETAIL.itemsize * details, 12 * detail_vertices, 4 * detail_triangles, 16 * nodes, 36 * connections,
    ]  # fmt: skip
    return np.cumsum(sizes)


def _settings(data: bytes) -> dict[str, float]:
    if len(data) < 4 * len(_SETTINGS):
        return {}
    return dict(zip(_SETTINGS, struct.unpack_from(f"<{len(_SETTINGS)}f", data)))


def _read_tile(path: Path, tile: bytes, wide: bool, settings: dict[str, float]) -> NavMesh:
    fields = _TILE.unpack_from(tile)
    at = _offsets(fields, wide)
    count, vertex_count = fields[6], fields[7]
    vertices = np.frombuffer(tile, "<f4", 3 * vertex_count, at[0]).reshape(-1, 3).astype(float)
    polygons = np.frombuffer(tile, _POLYGON, count, at[1])
    details = np.frombuffer(tile, _DETAIL, fields[9], at[3])
    extra = np.frombuffer(tile, "<f4", 3 * fields[10], at[4]).reshape(-1, 3).astype(float)
    corners = np.frombuffer(tile, "u1", 4 * fields[11], at[5]).reshape(-1, 4)[:, :3]
    parts: list[np.ndarray] = []
    try:
        for polygon, detail in zip(polygons, details):
            own = vertices[polygon["corners"][: polygon["count"]].astype(int)]
            first, base = int(detail["triangle"]), int(detail["vertex"])
            places = np.concatenate([own, extra[base : base + int(detail["vertices"])]])
            parts.append(places[corners[first : first + int(detail["triangles"])].astype(int)])
    except IndexError:
        raise ValueError(f"{path}: damaged (a polygon has a corner that is not there); {_REMAKE}") from None
    if len(parts) < count or not np.isfinite(vertices).all() or not np.isfinite(extra).all():
        raise ValueError(f"{path}: damaged (polygons without a surface, or no numbers); {_REMAKE}")
    usable = np.array(
        [polygon["flags"] & _WALK and polygon["kind"] >> 6 == 0 and _area(part) >= _SMALLEST
         for polygon, part in zip(polygons, parts)], bool)  # fmt: skip
    chosen = np.flatnonzero(usable)
    number = np.full(count + 1, -1)
    number[chosen] = np.arange(len(chosen))
    corners_of, neighbours = [], []
    for i in chosen:
        size = int(polygons[i]["count"])
        corners_of.append(vertices[polygons[i]["corners"][:size].astype(int)])
        others = polygons[i]["neighbours"][:size].astype(int) - 1
        neighbours.append(number[np.where((others >= 0) & (others < count), others, count)])
    triangles = np.concatenate([*(parts[i] for i in chosen), np.zeros((0, 3, 3))])
    polygon_of = np.repeat(np.arange(len(chosen)), [len(parts[i]) for i in chosen])
    height, radius, climb = fields[15:18]
    islands = _islands(neighbours)
    return NavMesh(corners_of, neighbours, triangles, polygon_of, islands, radius, height, climb, settings)


def _area(triangles: np.ndarray) -> float:
    sides = triangles[:, 1:] - triangles[:, :1]
    return float(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum() / 2)


def _islands(neighbours: list[np.ndarray]) -> np.ndarray:
    """(P,) labels of pieces that are joined by sides, from 1."""
    labels = np.zeros(len(neighbours), np.int64)
    for i in range(len(neighbours)):
        if labels[i]:
            continue
        labels[i], stack = labels.max(initial=0) + 1, [i]
        while stack:
            for other in neighbours[stack.pop()]:
                if other >= 0 and not labels[other]:
                    labels[other] = labels[i]
                    stack.append(int(other))
    return labels
