"""Write a home that looks like an HM3D scan to the reader: for benchmarks, and for tests without HM3D.

HM3D's scans cannot be shipped with this package, and the procedural houses are unlike them: few triangles,
repeated textures, ids at the vertices. This writer makes what the scans have: any number of small uneven
triangles, texture atlases with baked light, unlit materials, no attributes file, ids painted into textures
(rugs and pictures are only paint), a semantic mesh whose triangles are in another order, and a
`.semantic.txt` with the oddities of the real ones. The same arguments give the same bytes.

    python -m hm3dm3_env.scenes.scan_like out=data/scenes/fake triangles=1000000 textures=60 size=1024
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from hm3dm3_env.files import sha256
from hm3dm3_env.scenes.glb import Glb, GlbMaterial, Primitive
from hm3dm3_env.scenes.glb_writer import glb_bytes
from hm3dm3_env.scenes.layout import object_colors, srgb_to_linear, write_dataset_config
from hm3dm3_env.scenes.scan_home import Patch, Thing, build_home

_BORDER = 2
"""Texels around each chart, so that filtering does not mix neighbours."""
_CHART = 0.8
"""Longest side of a chart, metres: scans are cut into many small charts."""


def write_scan(
    root: Path | str,
    triangles: int = 100_000,
    textures: int = 8,
    size: int = 512,
    semantic: str = "texture",
    floors: int = 1,
    basis: bool = False,
    scene_id: str = "90000",
    seed: int = 0,
    encode: Callable[[np.ndarray], bytes] | None = None,
) -> Path:
    """Write a scan-like home under `root` in HM3DSem's layout, and return its folder.

    An older folder of the same arguments is replaced.

    Args:
        root: folder of scenes.
        triangles: about how many (within a few percent; a home needs some 20,000).
        textures: atlases of the render mesh, and of the semantic mesh if `semantic` is "texture".
        size: side of an atlas, texels.
        semantic: "texture" (and colours at the vertices that know nothing of paint), "vertex" (only those),
            or "none" (a scene without annotations).
        floors: 1 or 2, joined by stairs.
        basis: name the render mesh `.basis.glb` and mark its textures as Basis; needs `encode`.
        scene_id: the first part of the folder's name.
        seed: another seed gives other rooms' furniture.
        encode: (H, W, 3) uint8 to the bytes of a texture (default: JPEG), e.g. a KTX2 encoder.

    Raises:
        ValueError: an argument is out of range.
    """
    if semantic not in ("texture", "vertex", "none") or floors not in (1, 2):
        raise ValueError(f"semantic is texture, vertex or none, and floors 1 or 2 ({semantic}, {floors})")
    if min(triangles, textures) < 1 or size < 64:
        raise ValueError(f"too small: {triangles} triangles, {textures} textures of {size}")
    if basis and encode is None:
        raise ValueError("basis=True needs encode, a function that makes a KTX2 file of a picture")
    things, patches = build_home(floors, np.random.default_rng(seed))
    tiles = [tile for patch in patches for tile in patch.tiles(_CHART)]
    step = _cell(tiles, triangles)
    boxes, density = _pack(tiles, textures, size)
    colours = object_colors(len(things))
    stem = sha256(repr((triangles, textures, size, semantic, floors, basis, seed)).encode())[:11]
    folder = Path(root) / f"{scene_id}-{stem}"
    temporary = Path(root) / f".{folder.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    write_dataset_config(Path(root))
    meshes = [tile.mesh(step) for tile in tiles]
    render, painted = _atlases(tiles, boxes, things, colours, textures, size, semantic == "texture", seed)
    parts = _primitives(tiles, meshes, boxes, textures, size)
    files = [encode(page) if encode else _jpeg(page) for page in render]
    materials = [GlbMaterial(f"material_{i}", (1.0, 1.0, 1.0), i) for i in range(textures)]
    data = glb_bytes(Glb([p for p, _ in parts], materials, files))
    (temporary / f"{stem}.{'basis.' if basis else ''}glb").write_bytes(data)
    if semantic != "none":
        rng = np.random.default_rng(seed + 1)
        shuffled = [_shuffled(p, owner, colours, semantic, rng) for p, owner in parts]
        pages = [_png(page) for page in painted]
        marked = Glb(shuffled[::-1], materials if pages else [], pages)
        (temporary / f"{stem}.semantic.glb").write_bytes(glb_bytes(marked))
        (temporary / f"{stem}.semantic.txt").write_bytes(_text(things, colours))
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    return folder


def _cell(tiles: list[Patch], triangles: int) -> float:
    """Length of a triangle's leg that gives about so many triangles, metres."""
    step = np.sqrt(2 * sum(t.area for t in tiles) / triangles)
    for _ in range(8):
        count = sum(2 * a * b for a, b in (t.grid(step) for t in tiles))
        step *= np.sqrt(count / triangles)
    return float(step)


def _pack(tiles: list[Patch], pages: int, size: int) -> tuple[np.ndarray, float]:
    """(N, 5) int64 page, left, top, width and height of each tile's chart, and texels a metre."""
    density = 1.2 * np.sqrt(pages * size**2 / sum(t.area for t in tiles))
    while True:
        wide = np.array([t.lengths for t in tiles]) * density
        sides = np.clip(np.ceil(wide), 1, size - 2 * _BORDER).astype(np.int64) + 2 * _BORDER
        boxes = np.zeros((len(tiles), 5), np.int64)
        page, x, y, shelf = 0, 0, 0, 0
        for i in np.lexsort((np.arange(len(tiles)), -sides[:, 1])):
            w, h = sides[i]
            if x + w > size:
                x, y, shelf = 0, y + shelf, 0
            if y + h > size:
                page, x, y, shelf = page + 1, 0, 0, 0
            boxes[i] = page, x, y, w, h
            x, shelf = x + w, max(shelf, h)
        if page < pages:
            return boxes, float(density)
        density *= 0.985
        if density < 1:
            raise ValueError(f"{pages} textures of {size} are too small for {len(tiles)} charts")


def _atlases(
    tiles: list[Patch], boxes: np.ndarray, things: list[Thing], colours: np.ndarray, pages: int, size: int,
    painted: bool, seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Two (pages, size, size, 3) uint8: what one sees, and the ids' colours (no pages if not `painted`)."""
    rng = np.random.default_rng(seed + 2)
    grain = 1 + 0.06 * rng.standard_normal((256, 256)) + 0.5 * ndimage.gaussian_filter(
        rng.standard_normal((256, 256)), 8, mode="wrap")
    grain = np.tile(grain, (size // 256 + 2, size // 256 + 2)).astype(np.float32)
    look = np.full((pages, size, size, 3), 60, np.uint8)
    mark = np.zeros((pages if painted else 0, size, size, 3), np.uint8)
    paint = [(k, thing) for k, thing in enumerate(things) if thing.low is not None]
    for tile, (page, x, y, w, h) in zip(tiles, boxes):
        points = None
        owner = np.full((h, w), tile.thing)
        for k, thing in paint:
            if not tile.touches(thing):
                continue
            if points is None:
                points = tile.points((np.arange(w) - _BORDER + 0.5) / (w - 2 * _BORDER),
                                     (np.arange(h) - _BORDER + 0.5) / (h - 2 * _BORDER))
            owner[thing.holds(points)] = k
        colour = np.array([thing.colour for thing in things], np.float32)
        ox, oy = int(x * 7 + page * 31) % 256, int(y * 5 + page * 17) % 256
        shade = grain[oy : oy + h, ox : ox + w] * tile.light
        look[page, y : y + h, x : x + w] = np.clip(
            colour[owner] * shade[..., None] * 255, 0, 255).astype(np.uint8)
        if painted:
            mark[page, y : y + h, x : x + w] = colours[owner]
    return look, mark


def _primitives(tiles: list[Patch], meshes: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
                boxes: np.ndarray, pages: int, size: int) -> list[tuple[Primitive, np.ndarray]]:
    """One primitive an atlas, and the thing of each of its vertices."""
    parts = []
    for page in range(pages):
        vertices, uvs, faces, owner, start = [], [], [], [], 0
        for i in np.nonzero(boxes[:, 0] == page)[0]:
            places, uv, mine = meshes[i]
            _, x, y, w, h = boxes[i]
            corner, extent = np.array([x, y]) + _BORDER, np.array([w, h]) - 2 * _BORDER
            vertices.append(places)
            uvs.append(((corner + uv * extent) / size).astype(np.float32))
            faces.append(mine + start)
            owner.append(np.full(len(places), tiles[i].thing))
            start += len(places)
        if start:
            parts.append((Primitive(np.concatenate(vertices), np.concatenate(faces), np.concatenate(uvs),
                                    None, page), np.concatenate(owner)))
    return parts


def _shuffled(part: Primitive, owner: np.ndarray, colours: np.ndarray, semantic: str,
              rng: np.random.Generator) -> Primitive:
    """The semantic mesh's part: its triangles in another order, each from another corner on."""
    faces = part.faces[rng.permutation(len(part.faces))]
    turn = (np.arange(3) + rng.integers(0, 3, len(faces))[:, None]) % 3
    faces = np.take_along_axis(faces, turn, 1)
    corners = srgb_to_linear(colours / 255.0).astype(np.float32)[owner]
    if semantic == "texture":  # habitat-sim wants colours at the vertices even so; paint is not in them
        return Primitive(part.vertices, faces, part.uv, corners, part.material)
    return Primitive(part.vertices, faces, None, corners)


def _text(things: list[Thing], colours: np.ndarray) -> bytes:
    """`.semantic.txt` with what real ones have: blank and repeated lines, quotes, an id without a mesh."""
    lines = ["HM3D Semantic Annotations"]
    for k, (thing, colour) in enumerate(zip(things, colours)):
        name = thing.category.replace('"', '""')
        lines.append(f'{k + 1},{colour[0]:02X}{colour[1]:02X}{colour[2]:02X},"{name}",{thing.region}')
    lines += ["", lines[-1], f'{len(things) + 1},FEDCBA,"lamp shade ",0']
    return "\n".join(lines).encode()  # no newline at the end


def _jpeg(page: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(page).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def _png(page: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(page).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def main(arguments: list[str]) -> None:
    """`key=value` arguments of `write_scan`, with `out` for its `root`."""
    if not arguments or set(arguments) & {"-h", "--help"}:
        print(__doc__)
        print("keys: out, triangles, textures, size, semantic, floors, scene_id, seed")
        return
    values: dict[str, str] = dict(a.split("=", 1) for a in arguments if "=" in a)
    words = {"semantic", "scene_id", "out"}
    unknown = set(values) - {"triangles", "textures", "size", "floors", "seed"} - words
    if unknown or len(values) != len(arguments) or "out" not in values:
        sys.exit(f"error: expected out=<folder> and keys of write_scan, not {' '.join(arguments)}")
    try:
        numbers = {k: int(v.replace("_", "")) for k, v in values.items() if k not in words}
        texts = {k: v for k, v in values.items() if k in words - {"out"}}
        print(write_scan(values["out"], **numbers, **texts))  # type: ignore[arg-type]
    except ValueError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
