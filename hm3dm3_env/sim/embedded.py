"""The embedded simulator: Embree casts all cameras' rays in one call, numba shades. CPU and pip only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hm3dm3_env.geometry import Pose, rotation_matrix
from hm3dm3_env.scenes.hm3dsem import SceneData
from hm3dm3_env.sim import shading
from hm3dm3_env.sim.base import Body, Camera, Frame, frames_of
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from hm3dm3_env.sim.prepared import PreparedScene, stamp
from hm3dm3_env.sim.scene_cache import SceneCache, default_folder
from hm3dm3_env.sim.semantics import hit_ids
from hm3dm3_env.sim.tracing import FAR, Hits

SKY = np.array([205, 222, 240], np.uint8)


class EmbeddedSimulator:
    """`Simulator` on Embree. Scenes stay loaded, since episodes return to them, as long as there is room.

    Args:
        body: the robot's.
        navmesh: "computed" for the body, or "scene" for the .navmesh file in the scene's folder.
        memory_gb: the least recently used scenes go until the rest fits.
        cache: folder where large scenes are kept prepared ("": the user's cache folder, None: nowhere).
        cache_gb: size of that folder.
    """

    def __init__(
        self,
        body: Body | None = None,
        navmesh: str = "computed",
        memory_gb: float = 4.0,
        cache: str | None = "",
        cache_gb: float = 20.0,
    ) -> None:
        if navmesh not in ("computed", "scene"):
            raise ValueError(f"navmesh must be computed or scene, not {navmesh!r}")
        self.body, self.navmesh, self.memory = body or Body(), navmesh, memory_gb * 1e9
        folder = None if cache is None else Path(cache) if cache else default_folder()
        self.disk = SceneCache(folder, cache_gb * 1e9)
        self._scenes: OrderedDict[Path, PreparedScene] = OrderedDict()
        self._current: PreparedScene | None = None

    def load(self, folder: Path) -> None:
        """Make the scene in `folder` current; files that changed since it was last loaded are read again.

        Raises:
            SceneError, GlbError: the folder cannot be read.
            FileNotFoundError: navmesh="scene" and there is none.
        """
        folder = Path(folder)
        known = self._scenes.get(folder)
        if known is None or known.stamp != stamp(folder):
            self._scenes.pop(folder, None)
            self._make_room()
            self._scenes[folder] = PreparedScene(folder, self.body, self.navmesh, self.disk)
        self._scenes.move_to_end(folder)
        self._current = self._scenes[folder]
        self._make_room()

    def _make_room(self) -> None:
        sizes = {folder: scene.nbytes for folder, scene in self._scenes.items()}
        for folder, scene in list(self._scenes.items()):
            if sum(sizes.values()) <= self.memory or scene is self._current:
                break
            del self._scenes[folder], sizes[folder]

    @property
    def _loaded(self) -> PreparedScene:
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
        """One `Frame` a pose, all rays in one call. What is not asked for costs nothing."""
        loaded = self._loaded
        if not poses:
            return []
        rotations = np.stack([rotation_matrix(p.heading, p.pitch) for p in poses])
        eyes = np.stack([camera.eye(p) for p in poses])
        # for depth alone, rays need go no further than the camera sees
        limit = FAR if rgb or semantic else float(np.nextafter(np.float32(camera.max_depth), np.float32(FAR)))
        hits = loaded.tracer.cameras(rotations, eyes, camera, limit)
        shape = (len(poses), camera.height, camera.width)
        depth = np.empty(shape, np.float32)
        shading.limit_depth(hits, camera.min_depth, camera.max_depth, depth.reshape(-1))
        colors = self._shade(hits, camera).reshape(*shape, 3) if rgb else None
        labels = None
        if semantic:
            other = loaded.semantic_tracer
            seen = hits if other is None else other.cameras(rotations, eyes, camera)
            labels = self._labels(hits, seen).reshape(shape)
        return frames_of(poses, camera, depth, colors, labels)

    def cast(self, origins: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N,) distances in units of `directions` (inf: no hit) and (N,) object ids for loose rays (N, 3)."""
        hits, other = self._loaded.tracer.rays(origins, directions), self._loaded.semantic_tracer
        distance = np.where(hits.triangle >= 0, hits.distance, np.float32(np.inf))
        return distance, self._labels(hits, hits if other is None else other.rays(origins, directions))

    def _labels(self, hits: Hits, seen: Hits) -> np.ndarray:
        """(N,) ids, by the hits `seen` on the semantic mesh, where the render mesh was hit."""
        semantics = self.scene.semantics
        if semantics is None:
            return np.zeros(len(hits.triangle), np.int32)
        ids = hit_ids(semantics, seen.triangle, seen.u, seen.v)
        if seen is not hits:
            ids[hits.triangle < 0] = 0
        return ids

    def _shade(self, hits: Hits, camera: Camera) -> np.ndarray:
        data = self.scene
        textures, density, bright = self._loaded.shading
        out = np.empty((len(hits.triangle), 3), np.uint8)
        shading.shade(
            hits.triangle,
            hits.u,
            hits.v,
            hits.distance,
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
