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
from hm3dm3_env.scenes.semantic_kernels import face_codes, texel_ids
from hm3dm3_env.scenes.semantic_text import SceneError
from hm3dm3_env.scenes.triangle_match import match_triangles

_INNER = np.array([[1 / 3, 1 / 3, 1 / 3], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
"""Barycentric weights of the points at which a triangle's texels are read; the first one decides ties."""
OTHER_SCENE, DOUBTFUL = 0.1, 0.5
"""Where less than this share of the text's colours is on the mesh and less than this share of the mesh has
colours of the text, the two are of different scenes, or are doubtful (ours)."""
TEXTURE_SHARE = 0.5
"""Ids are read from the texture where it has known colours on at least this share of as many triangles as the
vertex colours have (ours): holes and unlisted paint may cost a texture some."""


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
        ids: (P,) all id maps one after the other, row by row from the top: uint16 where the largest id fits,
            since they are most of what a scan needs in memory, else int32.
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
        fits = max(rows, default=0) <= np.iinfo(np.uint16).max
        self.table = np.zeros(1 << 24, np.uint16 if fits else np.int32)
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
        self.sizes: list[tuple[int, ...]] = []
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
        seen = np.concatenate([self.codes[part] for _, part in pairs]) if pairs else self.codes[:0]
        self.uniform = not bool((seen != seen[:1]).any())

    def _textures(self) -> None:
        users: dict[int, list[int]] = {}
        for k, p in enumerate(self.glb.primitives):
            image = self.glb.materials[p.material].image if p.material >= 0 else -1
            if image >= 0 and p.uv is not None and len(p.faces):
                users.setdefault(image, []).append(k)
        for image, mine in users.items():
            pixels = self._pixels(image)
            used = False
            for k in mine:
                p, part = self.glb.primitives[k], self.parts[k]
                assert p.uv is not None
                uv, code = p.uv[p.faces], np.empty(len(p.faces), np.int64)
                face_codes(uv, pixels, _INNER, code)
                label = self.table[code]
                if p.colors is not None and not self._preferred(code, label, part):
                    continue
                if self.uv is None:
                    self.uv = np.zeros((len(self.labels), 3, 2), np.float32)
                self.codes[part], self.labels[part] = code, label
                self.uv[part], self.image_of[part], used = uv, len(self.maps), True
            if used:
                ids = np.empty(pixels.shape[0] * pixels.shape[1], self.table.dtype)
                texel_ids(pixels, self.table, ids)
                self.maps.append(ids)
                self.sizes.append(pixels.shape[:2])

    def _preferred(self, code: np.ndarray, label: np.ndarray, part: slice) -> bool:
        """Whether a part that has both a texture and vertex colours has its ids in the texture.

        A texture that is only a look has next to no colours of the text. Where both have them, the texture
        has the finer ones, and vertices of one colour everywhere tell nothing beside a texture of several.
        """
        known = int(np.count_nonzero(label))
        if known and self.uniform and (code != code[0]).any():
            return True
        return known >= TEXTURE_SHARE * int(np.count_nonzero(self.labels[part]))

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
        sizes = np.array(self.sizes, np.int64).reshape(-1, 2)
        offset = np.concatenate([[0], np.cumsum(sizes.prod(1))])[: len(sizes)].astype(np.int64)
        ids = np.concatenate(self.maps) if self.maps else np.zeros(0, self.table.dtype)
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
