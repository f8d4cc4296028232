"""A scene made ready for the embedded simulator: geometry, ids, textures and the walkable surface."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import asdict, fields
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from hm3dm3_env.files import json_bytes
from hm3dm3_env.scenes.hm3dsem import Instance, SceneData, load_scene
from hm3dm3_env.scenes.semantic_mesh import Semantics
from hm3dm3_env.sim import shading
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from hm3dm3_env.sim.scene_cache import SceneCache
from hm3dm3_env.sim.tracing import Tracer

KEEP_FROM = 8_000_000
"""Scenes whose files have this many bytes or more are kept in the cache; smaller ones load at once (ours)."""
EMBREE_BYTES = 250
"""About what Embree needs for a triangle: its copy of the corners, and the tree above it (measured)."""
_ARRAYS = ("triangles", "uv", "material", "base_colors", "image_of")
_SEMANTIC = tuple(item.name for item in fields(Semantics))


class PreparedScene:
    """What the simulator needs of one scene. Parts that nobody asks for are not made.

    Args:
        folder: the scene's folder.
        navmesh: "computed" for the body, or "scene" for the folder's .navmesh file.
        cache: where large scenes are kept.

    Raises:
        SceneError, GlbError: the folder cannot be read.
        FileNotFoundError: navmesh="scene" and there is none.
    """

    def __init__(self, folder: Path, body: Body, navmesh: str, cache: SceneCache) -> None:
        self.folder, self.body, self.navmesh, self.cache = folder, body, navmesh, cache
        self.stamp = stamp(folder)
        large = sum(size for _, size, _ in self.stamp) >= KEEP_FROM
        self._digest = _digest(folder) if large and cache.folder is not None else ""
        self.data = self._geometry()
        self.tracer = Tracer(self.data.triangles)
        self.navigator = self._navigator()

    def _part(self, name: str, *parts: bytes) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for part in (_code(), self._digest.encode(), *parts):
            digest.update(part)
        return f"{self.folder.name}-{name}-{digest.hexdigest()}"

    def _geometry(self) -> SceneData:
        made: list[SceneData] = []

        def build() -> dict[str, np.ndarray]:
            made.append(load_scene(self.folder))
            return _packed(made[0])

        if not self._digest:
            return load_scene(self.folder)
        arrays = self.cache.fetch(self._part("geometry"), build)
        return made[0] if made else _unpacked(self.folder, arrays)

    def _navigator(self) -> GridNavigator:
        if self.navmesh == "scene":
            return GridNavigator.from_navmesh(navmesh_file(self.folder), self.body, self.data.triangles)
        made: list[GridNavigator] = []
        name = str(self.folder)

        def build() -> dict[str, np.ndarray]:
            made.append(GridNavigator(self.data.triangles, self.body, name=name))
            return {"pickle": np.frombuffer(pickle.dumps(made[0]), np.uint8)}

        if not self._digest:
            return GridNavigator(self.data.triangles, self.body, name=name)
        arrays = self.cache.fetch(self._part("floors", json_bytes(asdict(self.body))), build)
        if made:
            return made[0]
        navigator: GridNavigator = pickle.loads(arrays["pickle"].tobytes())
        navigator.name = name
        return navigator

    @cached_property
    def semantic_tracer(self) -> Tracer | None:
        """Rays against the semantic mesh, where it is another one than the render mesh."""
        semantics = self.data.semantics
        return None if semantics is None or semantics.triangles is None else Tracer(semantics.triangles)

    @cached_property
    def shading(self) -> tuple[shading.Textures, np.ndarray, np.ndarray]:
        """Textures, and texel density and brightness (T,) of every triangle."""
        data = self.data

        def build() -> dict[str, np.ndarray]:
            textures = shading.Textures.of(data.images)
            density = shading.texel_density(data.triangles, data.uv, data.material, data.image_of, textures)
            return {**vars(textures), "density": density, "bright": shading.light(data.triangles, data.lit)}

        arrays = dict(self.cache.fetch(self._part("shading"), build, keep=bool(self._digest)))
        data.__dict__.pop("images", None)  # the pyramid holds them now
        density, bright = arrays.pop("density"), arrays.pop("bright")
        return shading.Textures(**arrays), density, bright

    @property
    def nbytes(self) -> int:
        """About what the scene takes in memory."""
        data = self.data
        total = sum(getattr(data, name).nbytes for name in _ARRAYS) + sum(map(len, data.sources))
        total += EMBREE_BYTES * len(data.triangles)
        if data.semantics is not None:
            parts = [getattr(data.semantics, name) for name in _SEMANTIC]
            total += sum(part.nbytes for part in parts if part is not None)
            if "semantic_tracer" in self.__dict__ and data.semantics.triangles is not None:
                total += EMBREE_BYTES * len(data.semantics.triangles)
        if "shading" in self.__dict__:
            textures, density, bright = self.shading
            total += sum(array.nbytes for array in vars(textures).values()) + density.nbytes + bright.nbytes
        return total


def stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of every file of a scene folder: has anything changed?"""
    if not folder.is_dir():
        return ()
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return tuple((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files)


def navmesh_file(folder: Path) -> Path:
    """The .navmesh of a scene folder.

    Raises:
        FileNotFoundError: it has none.
    """
    stem = folder.name.split("-")[-1]
    for name in (f"{stem}.basis.navmesh", f"{stem}.navmesh"):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"{folder}: no {stem}.basis.navmesh; take HM3D's 'habitat' download, or set sim.navmesh=computed"
    )


def _digest(folder: Path) -> str:
    """Of the content of the files that scenes are read from."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in (".glb", ".txt", ".json", ".bin"):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as file:
                while block := file.read(1 << 22):
                    digest.update(block)
    return digest.hexdigest()


@cache
def _code() -> bytes:
    """Digest of the code that makes what is kept: another version of it makes other entries."""
    digest = hashlib.blake2b(digest_size=8)
    package = Path(__file__).parents[1]
    for path in sorted([*(package / "sim").rglob("*.py"), *(package / "scenes").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.digest()


def _packed(data: SceneData) -> dict[str, np.ndarray]:
    arrays = {name: getattr(data, name) for name in _ARRAYS}
    if data.semantics is not None:
        parts = {name: getattr(data.semantics, name) for name in _SEMANTIC}
        arrays |= {f"semantic_{name}": part for name, part in parts.items() if part is not None}
    instances = [
        {**vars(item), "low": item.low.tolist(), "high": item.high.tolist()}
        for item in data.instances.values()
    ]
    about = {"instances": instances, "lit": data.lit, "problems": data.problems}
    arrays["about"] = np.frombuffer(json_bytes(about), np.uint8)
    arrays["sources"] = np.frombuffer(b"".join(data.sources), np.uint8)
    arrays["ends"] = np.cumsum([len(source) for source in data.sources], dtype=np.int64)
    return arrays


def _unpacked(folder: Path, arrays: dict[str, np.ndarray]) -> SceneData:
    about = json.loads(arrays["about"].tobytes())
    instances = {}
    for item in about["instances"]:
        item["low"], item["high"] = np.array(item["low"]), np.array(item["high"])
        instances[item["id"]] = Instance(**item)
    semantics = None
    if "semantic_labels" in arrays:
        semantics = Semantics(**{name: arrays.get(f"semantic_{name}") for name in _SEMANTIC})  # type: ignore[arg-type]
    ends = [0, *arrays["ends"].tolist()]
    blob = arrays["sources"].tobytes()
    return SceneData(
        id=folder.name,
        folder=folder,
        triangles=arrays["triangles"],
        uv=arrays["uv"],
        material=arrays["material"],
        base_colors=arrays["base_colors"],
        image_of=arrays["image_of"],
        semantics=semantics,
        instances=instances,
        lit=about["lit"],
        sources=[blob[a:b] for a, b in zip(ends, ends[1:])],
        problems=about["problems"],
    )
