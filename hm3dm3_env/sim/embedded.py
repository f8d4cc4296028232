"""The embedded simulator: Embree casts all cameras' rays in one call, numba shades. CPU and pip only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

from hm3dm3_env.geometry import Pose, rotation_matrix
from hm3dm3_env.scenes.hm3dsem import SceneData, load_scene
from hm3dm3_env.sim import shading
from hm3dm3_env.sim.base import Body, Camera, Frame
from hm3dm3_env.sim.navgrid import GridNavigator
from hm3dm3_env.sim.semantics import hit_ids

SKY = np.array([205, 222, 240], np.uint8)


class _Tracer:
    """One Embree scene. The mesh object must stay referenced for as long as the scene lives."""

    def __init__(self, triangles: np.ndarray) -> None:
        self.scene = rtcore_scene.EmbreeScene()
        self.mesh = TriangleMesh(self.scene, np.ascontiguousarray(triangles, np.float32))

    def cast(self, origins: np.ndarray, directions: np.ndarray) -> dict[str, np.ndarray]:
        return self.scene.run(origins, directions, output=1)


class _Loaded:
    """A scene made ready: its ray tracers, what shading needs (built on first use), and its navigator."""

    def __init__(self, folder: Path, body: Body) -> None:
        self.data = load_scene(folder)
        self.tracer = _Tracer(self.data.triangles)
        self.navigator = GridNavigator(self.data.triangles, body)

    @cached_property
    def semantic_tracer(self) -> _Tracer:
        assert self.data.semantics is not None and self.data.semantics.triangles is not None
        return _Tracer(self.data.semantics.triangles)

    @cached_property
    def shading(self) -> tuple[shading.Textures, np.ndarray, np.ndarray]:
        data = self.data
        textures = shading.Textures(data.images)
        density = shading.texel_density(data.triangles, data.uv, data.material, data.image_of, textures)
        return textures, density, shading.light(data.triangles, data.lit)


class EmbeddedSimulator:
    """`Simulator` on Embree. Keeps the last `cache` scenes ready, since episodes return to them."""

    def __init__(self, body: Body | None = None, cache: int = 3) -> None:
        self.body = body or Body()
        self.cache = cache
        self._scenes: OrderedDict[Path, _Loaded] = OrderedDict()
        self._current: _Loaded | None = None

    def load(self, folder: Path) -> None:
        """Make the scene in `folder` current.

        Raises:
            SceneError, GlbError: the folder cannot be read.
        """
        folder = Path(folder)
        if folder not in self._scenes:
            self._scenes[folder] = _Loaded(folder, self.body)
        self._scenes.move_to_end(folder)
        while len(self._scenes) > self.cache:
            self._scenes.popitem(last=False)
        self._current = self._scenes[folder]

    @property
    def _loaded(self) -> _Loaded:
        if self._current is None:
            raise RuntimeError("no scene is loaded; call load(folder) first")
        return self._current

    @property
    def scene(self) -> SceneData:
        """The current scene."""
        return self._loaded.data

    @property
    def navigator(self) -> GridNavigator:
        """The current scene's navigator."""
        return self._loaded.navigator

    def render(
        self, poses: Sequence[Pose], camera: Camera, rgb: bool = True, semantic: bool = False
    ) -> list[Frame]:
        """One `Frame` a pose, all rays in one call."""
        loaded = self._loaded
        rays = _rays(camera)
        count = len(poses) * len(rays)
        origins, directions = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
        rotations = np.stack([rotation_matrix(p.heading, p.pitch) for p in poses])
        shading.make_rays(rays, rotations, np.stack([camera.eye(p) for p in poses]), origins, directions)
        hit = loaded.tracer.cast(origins, directions)
        triangle, distance = hit["primID"], hit["tfar"]
        seen = (triangle >= 0) & (distance >= camera.min_depth) & (distance <= camera.max_depth)
        depth = np.where(seen, distance, np.float32(0)).astype(np.float32)
        shape = (len(poses), camera.height, camera.width)
        colors = self._shade(hit, camera).reshape(*shape, 3) if rgb else None
        labels = self._labels(hit, origins, directions).reshape(shape) if semantic else None
        depth = depth.reshape(shape)
        return [
            Frame(
                pose,
                camera,
                depth[i],
                None if colors is None else colors[i],
                None if labels is None else labels[i],
            )
            for i, pose in enumerate(poses)
        ]

    def cast(self, origins: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N,) distances in units of `directions` (inf: no hit) and (N,) object ids for loose rays (N, 3)."""
        origins, directions = (
            np.ascontiguousarray(origins, np.float32),
            np.ascontiguousarray(directions, np.float32),
        )
        hit = self._loaded.tracer.cast(origins, directions)
        distance = np.where(hit["primID"] >= 0, hit["tfar"], np.float32(np.inf))
        return distance, self._labels(hit, origins, directions)

    def _labels(
        self, hit: dict[str, np.ndarray], origins: np.ndarray, directions: np.ndarray
    ) -> np.ndarray:
        semantics = self.scene.semantics
        if semantics is None:
            return np.zeros(len(hit["primID"]), np.int32)
        missed = hit["primID"] < 0
        if semantics.triangles is not None:
            hit = self._loaded.semantic_tracer.cast(origins, directions)
        ids = hit_ids(semantics, hit["primID"], hit["u"], hit["v"])
        ids[missed] = 0
        return ids

    def _shade(self, hit: dict[str, np.ndarray], camera: Camera) -> np.ndarray:
        data = self.scene
        textures, density, bright = self._loaded.shading
        out = np.empty((len(hit["primID"]), 3), np.uint8)
        shading.shade(
            hit["primID"],
            hit["u"],
            hit["v"],
            hit["tfar"],
            1.0 / camera.focal,
            data.uv,
            data.material,
            data.base_colors,
            data.image_of,
            bright,
            density,
            textures.pixels,
            textures.offset,
            textures.width,
            textures.height,
            SKY,
            out,
        )
        return out

    def close(self) -> None:
        """Forget all scenes."""
        self._scenes.clear()
        self._current = None


@lru_cache(maxsize=16)
def _rays(camera: Camera) -> np.ndarray:
    return camera.rays().reshape(-1, 3)
