"""The mesh half of HM3DSem's annotations: `.semantic.glb`, whose colours (painted in textures, or at the
vertices) stand for ids.

Scans come with the same triangles in the render mesh and the semantic mesh, but often in another order.
They are matched, so that one ray cast serves both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hm3dm3_env.geometry import z_up_to_y_up
from hm3dm3_env.scenes.glb import Glb, Primitive, read_glb
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.layout import linear_to_srgb
from hm3dm3_env.scenes.semantic_text import SceneError
from hm3dm3_env.scenes.triangle_match import match_triangles

_INNER = np.array([[1 / 3, 1 / 3, 1 / 3], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
"""Barycentric weights of the points at which a triangle's texels are read; the first one decides ties."""
OTHER_SCENE, DOUBTFUL = 0.1, 0.5
"""Where less than this share of the text's colours is on the mesh and less than this share of the mesh has
colours of the text, the two are of different scenes, or are doubtful (ours)."""


@dataclass
class Semantics:
    """Which object is where on a scene's surface. Id 0 is nothing.

    Attributes:
        labels: (T,) int32 id of each triangle; on textured meshes, the majority of the texels at a few inner
            points. Good for boxes and areas; a triangle may straddle objects, so pixels read the id maps.
        triangles: (T, 3, 3) float32 metres, world frame: the semantic mesh; None when its triangles are the
            render mesh's, in the render mesh's order.
        uv: (T, 3, 2) float32 coordinates in the id maps (v down, repeated outside 0..1), or None.
        image_of: (T,) int32 the triangle's id map, -1: use `labels`.
        ids: (P,) int32 all id maps one after the other, row by row from the top.
        offset, width, height: (I,) int64 start in `ids` and size of each id map, texels.
    """

    labels: np.ndarray
    triangles: np.ndarray | None
    uv: np.ndarray | None
    image_of: np.ndarray
    ids: np.ndarray = field(repr=False)
    offset: np.ndarray = field(repr=False)
    width: np.ndarray = field(repr=False)
    height: np.ndarray = field(repr=False)


def read_semantics(
    path: Path, rows: dict[int, tuple[int, str, int]], render: np.ndarray, problems: list[str]
) -> Semantics:
    """Read `.semantic.glb` with the ids of `rows` (from `parse_semantic_text`).

    `render` (T, 3, 3) are the render mesh's triangles, metres, world frame. `problems` gets a line for each
    oddity that does not stop the reading.

    Raises:
        SceneError: its colours are another scene's, or it has no triangles.
        GlbError: the file is damaged.
    """
    glb = read_glb(path)
    if not any(len(p.faces) for p in glb.primitives):
        raise SceneError(f"{path}: no triangles; download it again")
    triangles = z_up_to_y_up(np.concatenate([p.vertices[p.faces] for p in glb.primitives])).astype(np.float32)
    painted = _Painted(path, glb, rows)
    _check_colours(path, rows, painted, problems)
    pairs = match_triangles(triangles, render)
    if pairs is None:
        problems.append(f"{path.name}: its {len(triangles)} triangles are not those of the render mesh "
                        f"({len(render)}), so semantic images cost a second ray cast")
        return painted.semantics(triangles)
    semantics = painted.semantics(None)
    index, corners = pairs
    semantics.labels = np.where(index >= 0, semantics.labels[index], 0).astype(np.int32)
    semantics.image_of = np.where(index >= 0, semantics.image_of[index], -1).astype(np.int32)
    if semantics.uv is not None:
        semantics.uv = np.ascontiguousarray(semantics.uv[index[:, None], corners])
    return semantics


def _check_colours(path: Path, rows: dict[int, tuple[int, str, int]], painted: _Painted,
                   problems: list[str]) -> None:
    codes = {code for code, _, _ in rows.values()}
    known = {code: identity for identity, (code, _, _) in reversed(rows.items())}
    seen = painted.seen()
    matched = len([identity for identity in known.values() if identity in seen])
    on_mesh, of_mesh = matched / max(len(codes), 1), float((painted.labels > 0).mean())
    share = (f"{matched} of the {len(codes)} colours in the .semantic.txt beside it ({on_mesh:.0%}) are on "
             f"this mesh, and {of_mesh:.0%} of its triangles have one of them")
    if rows and (not matched or max(on_mesh, of_mesh) < OTHER_SCENE):
        raise SceneError(f"{path}: {share}: the two files are of different scenes; download both again")
    if rows and on_mesh < DOUBTFUL and of_mesh < DOUBTFUL:
        problems.append(f"{path.name}: only {share}")
    if painted.unknown:
        total = sum(painted.unknown.values())
        most = sorted(painted.unknown.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{code:06X} ({count})" for code, count in most[:8])
        more = f" and {len(most) - 8} more" if len(most) > 8 else ""
        problems.append(f"{path.name}: {len(most)} colours on {total} triangles are in no line of the "
                        f".semantic.txt: {listed}{more}")


class _Painted:
    """Ids of a semantic mesh's triangles in the file's order, from vertex colours and textures."""

    def __init__(self, path: Path, glb: Glb, rows: dict[int, tuple[int, str, int]]) -> None:
        self.path, self.glb = path, glb
        # A table over all 2^24 colours: one look-up a texel, whatever the number of ids.
        self.table = np.zeros(1 << 24, np.int32)
        for identity, (code, _, _) in reversed(rows.items()):  # of two ids with one colour, the first stays
            self.table[code] = identity
        counts = [len(p.faces) for p in glb.primitives]
        ends = np.cumsum([0, *counts])
        self.parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
        self.labels = np.zeros(ends[-1], np.int32)
        self.codes = np.zeros(ends[-1], np.int64)
        self.image_of = np.full(ends[-1], -1, np.int32)
        self.uv: np.ndarray | None = None
        self.maps: list[np.ndarray] = []
        self._vertex_colours()
        self._textures()
        bad, number = np.unique(self.codes[self.labels == 0], return_counts=True)
        self.unknown = {int(code): int(n) for code, n in zip(bad, number)}

    def _vertex_colours(self) -> None:
        pairs = [(p, part) for p, part in zip(self.glb.primitives, self.parts) if p.colors is not None]
        best = -1
        for linear in (True, False):  # by the standard vertex colours are linear, but some tools store sRGB
            codes = [_vertex_codes(p, linear) for p, _ in pairs]
            ids = [self.table[c] for c in codes]
            matches = sum(int(np.count_nonzero(i)) for i in ids)
            if matches > best:
                best = matches
                for (_, part), c, i in zip(pairs, codes, ids):
                    self.codes[part], self.labels[part] = majority(c, i)

    def _textures(self) -> None:
        users: dict[int, list[int]] = {}
        for k, p in enumerate(self.glb.primitives):
            image = self.glb.materials[p.material].image if p.material >= 0 else -1
            if image >= 0 and p.uv is not None and len(p.faces):
                users.setdefault(image, []).append(k)
        for image, mine in users.items():
            codes = _codes(self._pixels(image))
            ids = self.table[codes]
            height, width = codes.shape
            used = False
            for k in mine:
                p, part = self.glb.primitives[k], self.parts[k]
                assert p.uv is not None
                uv = p.uv[p.faces]
                inner = np.einsum("sc,fck->fsk", _INNER, uv.astype(np.float64)) % 1.0
                rows = np.minimum((inner[..., 1] * height).astype(np.int64), height - 1)
                columns = np.minimum((inner[..., 0] * width).astype(np.int64), width - 1)
                code, label = majority(codes[rows, columns], ids[rows, columns])
                if p.colors is not None and np.count_nonzero(label) < np.count_nonzero(self.labels[part]):
                    continue  # it has both, and the ids are in the vertex colours
                if self.uv is None:
                    self.uv = np.zeros((len(self.labels), 3, 2), np.float32)
                self.codes[part], self.labels[part] = code, label
                self.uv[part], self.image_of[part], used = uv, len(self.maps), True
            if used:
                self.maps.append(ids)

    def _pixels(self, image: int) -> np.ndarray:
        try:
            return self.glb.decode_image(image)
        except GlbError as error:
            raise GlbError(f"{self.path}: image {image}: {error}") from error

    def seen(self) -> set[int]:
        """Ids that some triangle has."""
        return set(np.nonzero(np.bincount(self.labels))[0].tolist()) - {0}

    def semantics(self, triangles: np.ndarray | None) -> Semantics:
        """In the file's order."""
        sizes = np.array([m.shape for m in self.maps], np.int64).reshape(-1, 2)
        offset = np.concatenate([[0], np.cumsum(sizes.prod(1))])[: len(sizes)].astype(np.int64)
        ids = np.concatenate([m.ravel() for m in self.maps]) if self.maps else np.zeros(0, np.int32)
        return Semantics(self.labels, triangles, self.uv, self.image_of, ids, offset,
                         np.ascontiguousarray(sizes[:, 1]), np.ascontiguousarray(sizes[:, 0]))


def _codes(rgb: np.ndarray) -> np.ndarray:
    """(...) int32 0xRRGGBB of (..., 3) uint8."""
    padded = np.zeros((*rgb.shape[:-1], 4), np.uint8)  # one copy of bytes is faster than shifting integers
    padded[..., :3] = rgb[..., ::-1]
    return padded.view("<i4")[..., 0]


def _vertex_codes(primitive: Primitive, linear: bool) -> np.ndarray:
    """(F, 3) 0xRRGGBB at each corner."""
    assert primitive.colors is not None
    color = linear_to_srgb(primitive.colors) if linear else primitive.colors
    return _codes(np.rint(np.clip(color, 0, 1) * 255).astype(np.uint8))[primitive.faces]


def majority(codes: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(F,) most frequent of (F, S) codes, and its one of (F, S) ids; the first sample decides ties."""
    votes = np.zeros(codes.shape, np.int8)
    for k in range(codes.shape[1]):
        votes += codes == codes[:, k : k + 1]
    pick = votes.argmax(1)[:, None]
    return np.take_along_axis(codes, pick, 1)[:, 0], np.take_along_axis(ids, pick, 1)[:, 0]
