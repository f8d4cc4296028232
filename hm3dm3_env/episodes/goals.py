"""Goals of a scene: where they can be seen from (viewpoints), and cameras for image goals.

Viewpoints follow HM3D-OVON, image goals InstanceImageNav. Coverage is measured on semantic rays: only those
that can meet the object's bounding box are cast, in one call for all poses.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from hm3dm3_env.geometry import Pose, from_quaternion, heading_to, pitch_to, rotation_matrix, to_quaternion
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator

_LOOKS, _SAME_SHARE = 6, 0.005
"""Viewpoints from which frames are compared with loose rays, and by how much they may differ (ours)."""


@dataclass(frozen=True)
class GoalConfig:
    """How goals are chosen and photographed. Numbers of HM3D-OVON and InstanceImageNav unless marked ours."""

    viewpoint_cell: float = 0.25
    """Spacing of candidate viewpoints, metres."""
    viewpoint_reach: float = 1.0
    """Viewpoints lie within this of the object's bounding box, metres."""
    min_coverage: float = 0.05
    """Smallest share of a frame that the object fills from a viewpoint (summed over pitches -30, 0, 30)."""
    frame_hfov_deg: float = 90.0
    """Field of view of the frame in which coverage is measured."""
    camera_height: float = 1.31
    """Of that frame's camera above the floor, metres."""
    rings: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    """Distances from the object's centre of test poses and of photographers, metres."""
    ring_step_deg: float = 10.0
    """Angle between poses on a ring."""
    jitter_deg: float = 5.0
    """Poses look at the object up to this much beside its centre."""
    keep_heights: tuple[float, float] = (0.8, 1.4)
    """Camera heights of the poses that decide whether an object can be a goal at all, metres."""
    photo_cameras: int = 5
    """Cameras tried at each place."""
    photo_heights: tuple[float, float] = (0.8, 1.5)
    """Camera heights of photographers, metres."""
    photo_hfov_deg: tuple[float, float] = (60.0, 120.0)
    """Fields of view of photographers."""
    photo_size: int = 512
    """Side of an image goal, pixels."""
    photo_object_coverage: float = 0.7
    """Share of the object's hull that the photo must see."""
    photo_frame_slope: float = 0.0232
    """Frame coverage must exceed slope * hull surface (square metres) + base."""
    photo_frame_base: float = 0.02
    pixels: int = 64
    """Side of the frames in which coverage is counted (ours: 64 gives 5% to within 0.1%)."""
    min_extent: float = 0.15
    """Objects whose largest side is smaller are never goals: they could not reach 5% coverage (ours),
    metres."""


@dataclass(frozen=True)
class Viewpoints:
    """Places from which an object is seen: `positions` (V, 3), `headings` (V,) towards it, `coverage`
    (V,)."""

    positions: np.ndarray
    headings: np.ndarray
    coverage: np.ndarray


@dataclass(frozen=True)
class ImageGoal:
    """The camera of an image goal: world position, rotation [x, y, z, w], field of view, square size in
    pixels."""

    position: tuple[float, float, float]
    rotation: tuple[float, float, float, float]
    hfov_deg: float
    size: int
    object_coverage: float
    frame_coverage: float


class GoalFinder:
    """Viewpoints and photos of one floor's objects, each computed once.

    Every object has random numbers of its own (seed, scene, object), so results do not depend on the order
    of questions.
    """

    def __init__(self, sim: EmbeddedSimulator, floor: int, config: GoalConfig, seed: int) -> None:
        self.sim, self.floor, self.config, self.seed = sim, floor, config, seed
        self.height = sim.navigator.floors[floor]
        self.instances = [item for item in sim.scene.instances.values() if self._on_floor(item)]
        self.viewpoints = lru_cache(maxsize=None)(self._viewpoints)
        self.photo = lru_cache(maxsize=None)(self._photo)

    def _on_floor(self, item: Instance) -> bool:
        floors = self.sim.navigator.floors
        ceiling = floors[self.floor + 1] - 0.3 if self.floor + 1 < len(floors) else np.inf
        return self.height - 0.2 <= item.low[1] <= min(self.height + 2.2, ceiling)

    def candidates(self) -> list[Instance]:
        """Objects that may be goals by name and size."""
        return [
            item
            for item in self.instances
            if item.category and not item.structure and item.size.max() >= self.config.min_extent
        ]

    def _rng(self, instance: int, purpose: str) -> np.random.Generator:
        scene = zlib.crc32(self.sim.scene.id.encode())
        return np.random.default_rng([self.seed, scene, instance, zlib.crc32(purpose.encode())])

    def _ring(self, item: Instance) -> np.ndarray:
        """(P, 3) standable places on the rings around an object."""
        angles = np.radians(np.arange(0, 360, self.config.ring_step_deg))
        places = [
            item.center + r * np.array([np.cos(a), 0, np.sin(a)]) for r in self.config.rings for a in angles
        ]
        points = np.array(places)
        points[:, 1] = self.height
        return points[[self._stand(p) for p in points]]

    def _stand(self, point: np.ndarray) -> bool:
        navigator = self.sim.navigator
        return navigator.floor_of(point) == self.floor and navigator.is_navigable(point)

    def _aim(
        self, rng: np.random.Generator, eyes: np.ndarray, item: Instance
    ) -> tuple[np.ndarray, np.ndarray]:
        jitter = np.radians(rng.uniform(-self.config.jitter_deg, self.config.jitter_deg, (len(eyes), 2)))
        headings = np.array([heading_to(e, item.center) for e in eyes]) + jitter[:, 0]
        return headings, np.array([pitch_to(e, item.center) for e in eyes]) + jitter[:, 1]

    def _viewpoints(self, identity: int) -> Viewpoints | None:
        """Viewpoints of an object, best coverage first; None if it has none."""
        config, item = self.config, self.sim.scene.instances[identity]
        rng = self._rng(identity, "keep")
        eyes = self._ring(item)
        if not len(eyes):
            return None
        eyes[:, 1] += rng.uniform(*config.keep_heights, len(eyes))
        headings, pitches = self._aim(rng, eyes, item)
        hfov = np.full(len(eyes), config.frame_hfov_deg)
        if coverage(self.sim, eyes, headings, pitches, hfov, item, config.pixels).max() < config.min_coverage:
            return None
        positions = self._grid(item)
        if not len(positions):
            return None
        headings = np.array([heading_to(p, item.center) for p in positions])
        eyes = positions + (0, config.camera_height, 0)
        tilts = np.radians((-30.0, 0.0, 30.0))
        share = (
            coverage(
                self.sim,
                np.tile(eyes, (3, 1)),
                np.tile(headings, 3),
                np.repeat(tilts, len(eyes)),
                np.full(3 * len(eyes), config.frame_hfov_deg),
                item,
                config.pixels,
            )
            .reshape(3, -1)
            .sum(0)
        )
        keep = np.flatnonzero(share >= config.min_coverage)
        keep = keep[np.argsort(-share[keep], kind="stable")]
        some = keep[np.unique(np.linspace(0, len(keep) - 1, _LOOKS).astype(int))] if len(keep) else keep
        shown = self._shown(item, positions[some], headings[some])
        if (abs(shown - share[some]) > _SAME_SHARE).any():
            # it shares faces with another object, and chance decides whose pixels those are: both must do
            share[keep] = np.minimum(share[keep], self._shown(item, positions[keep], headings[keep]))
            keep = keep[share[keep] >= config.min_coverage]
        return Viewpoints(positions[keep], headings[keep], share[keep]) if len(keep) else None

    def _shown(self, item: Instance, positions: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """(V,) share of a frame that an object fills from viewpoints, in frames instead of by loose rays."""
        size, config = self.config.pixels, self.config
        camera = Camera(size, size, config.frame_hfov_deg, config.camera_height, 0.01, 100.0)
        poses = [
            Pose(float(x), float(y), float(z), float(heading), tilt)
            for (x, y, z), heading in zip(positions, headings)
            for tilt in np.radians((-30.0, 0.0, 30.0)).tolist()
        ]
        frames = [
            frame
            for first in range(0, len(poses), 96)
            for frame in self.sim.render(poses[first : first + 96], camera, rgb=False, semantic=True)
        ]
        return np.array([np.mean(f.semantic == item.id) for f in frames]).reshape(-1, 3).sum(1)

    def _grid(self, item: Instance) -> np.ndarray:
        reach, cell = self.config.viewpoint_reach, self.config.viewpoint_cell
        xs = np.arange(item.low[0] - reach, item.high[0] + reach + 1e-6, cell)
        zs = np.arange(item.low[2] - reach, item.high[2] + reach + 1e-6, cell)
        points = np.array([(x, self.height, z) for x in xs for z in zs])
        gap = np.maximum(np.maximum(item.low - points, points - item.high), 0)[:, [0, 2]]
        points = points[np.hypot(*gap.T) <= reach]
        points = points[[self._stand(p) for p in points]] if len(points) else points
        snapped = [self.sim.navigator.snap(p, 0.05) for p in points]
        rounded = [p.round(4) for p in snapped if p is not None]  # as stored: at an edge it matters
        return np.array([p for p in rounded if self._stand(p)]).reshape(-1, 3)

    def _photo(self, identity: int) -> ImageGoal | None:
        """One valid photo of an object, drawn from all that pass both coverage tests; None if none does."""
        config, item, rng = self.config, self.sim.scene.instances[identity], self._rng(identity, "photo")
        places = np.repeat(self._ring(item), config.photo_cameras, 0)
        if not len(places):
            return None
        eyes = places + np.stack([np.zeros(len(places)), rng.uniform(*config.photo_heights, len(places)),
                                  np.zeros(len(places))], 1)
        hfov = rng.uniform(*config.photo_hfov_deg, len(places))
        headings, pitches = self._aim(rng, eyes, item)
        share, points = coverage_points(self.sim, eyes, headings, pitches, hfov, item, config.pixels)
        everything = _main_cluster(np.concatenate(points))
        whole = hull_area(everything)
        if whole <= 0:
            return None
        need = config.photo_frame_slope * whole + config.photo_frame_base
        order = [i for i in rng.permutation(len(places)) if share[i] > need]
        for i in order:
            seen = hull_area(_inside(points[i], everything)) / whole
            if seen > config.photo_object_coverage:
                x, y, z = (round(float(v), 4) for v in eyes[i])
                qx, qy, qz, qw = (round(float(v), 6) for v in to_quaternion(headings[i], pitches[i]))
                photo = ImageGoal((x, y, z), (qx, qy, qz, qw), round(float(hfov[i]), 2), config.photo_size,
                                  round(float(min(seen, 1.0)), 3), 0.0)
                frame = self.sim.render([photo_camera(photo)[0]], photo_camera(photo)[1], False, True)[0]
                filled = float(np.mean(frame.semantic == item.id))  # as stored, with all its pixels
                if filled > need:
                    return replace(photo, frame_coverage=round(filled, 4))
        return None


def coverage(
    sim: EmbeddedSimulator,
    eyes: np.ndarray,
    headings: np.ndarray,
    pitches: np.ndarray,
    hfov_deg: np.ndarray,
    item: Instance,
    pixels: int,
) -> np.ndarray:
    """(N,) share of a square frame that an object fills, for N cameras: eyes (N, 3), angles (N,) radians."""
    return coverage_points(sim, eyes, headings, pitches, hfov_deg, item, pixels)[0]


def coverage_points(sim: EmbeddedSimulator, eyes: np.ndarray, headings: np.ndarray, pitches: np.ndarray,
                    hfov_deg: np.ndarray, item: Instance, pixels: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """As `coverage`, with the (n, 3) world points of the object that each camera sees."""
    shares, points = np.zeros(len(eyes)), []
    for first in range(0, len(eyes), 128):
        part = slice(first, first + 128)
        owner, origins, directions = _rays_to(
            eyes[part], headings[part], pitches[part], hfov_deg[part], item, pixels
        )
        distance, labels = sim.cast(origins, directions)
        mine = labels == item.id
        places = origins[mine] + directions[mine] * distance[mine, None]
        owner = owner[mine]
        count = np.bincount(owner, minlength=len(eyes[part]))
        shares[part] = count / pixels**2
        points += np.split(places, np.cumsum(count)[:-1])
    return shares, points


def _rays_to(
    eyes: np.ndarray,
    headings: np.ndarray,
    pitches: np.ndarray,
    hfov_deg: np.ndarray,
    item: Instance,
    pixels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rays of N square frames that can meet an object's box: owner (R,), origins and directions (R,
    3)."""
    corners = np.array([[x, y, z] for x in (item.low[0], item.high[0]) for y in (item.low[1], item.high[1])
                        for z in (item.low[2], item.high[2])])
    half = np.tan(np.radians(hfov_deg) / 2)
    rotations = np.stack([rotation_matrix(h, p) for h, p in zip(headings, pitches)])
    local = np.einsum("nij,nki->nkj", rotations, corners[None] - eyes[:, None])
    ahead = -local[..., 2]
    behind = (ahead < 0.05).any(1)
    ahead = np.maximum(ahead, 0.05)
    scale = pixels / 2 / half[:, None]
    u, v = pixels / 2 + local[..., 0] / ahead * scale, pixels / 2 - local[..., 1] / ahead * scale
    grid = np.arange(pixels)
    in_u = behind[:, None] | ((grid + 1.5 > u.min(1)[:, None]) & (grid - 0.5 < u.max(1)[:, None]))
    in_v = behind[:, None] | ((grid + 1.5 > v.min(1)[:, None]) & (grid - 0.5 < v.max(1)[:, None]))
    owner, rows, columns = np.nonzero(in_v[:, :, None] & in_u[:, None, :])
    x = (columns + 0.5 - pixels / 2) / (pixels / 2) * half[owner]
    y = (pixels / 2 - rows - 0.5) / (pixels / 2) * half[owner]
    directions = np.einsum("rij,rj->ri", rotations[owner], np.stack([x, y, -np.ones_like(x)], 1))
    return owner, eyes[owner].astype(np.float32), directions.astype(np.float32)


def _main_cluster(points: np.ndarray, voxel: float = 0.05) -> np.ndarray:
    """Centres of the largest group of 5 cm voxels among (n, 3) points; gaps of two voxels don't part it."""
    if not len(points):
        return points
    low = points.min(0)
    cells = np.unique(np.floor((points - low) / voxel).astype(int), axis=0)
    grid = np.zeros(cells.max(0) + 1, bool)
    grid[tuple(cells.T)] = True
    grid = ndimage.binary_dilation(grid, np.ones((3, 3, 3)))  # few rays meet the pole of a lamp
    labels, count = ndimage.label(grid, np.ones((3, 3, 3)))
    mine = labels[tuple(cells.T)]
    best = np.bincount(mine, minlength=count + 1)[1:].argmax() + 1
    return low + (cells[mine == best] + 0.5) * voxel


def _inside(points: np.ndarray, whole: np.ndarray, voxel: float = 0.05) -> np.ndarray:
    """Voxel centres of those of (n, 3) points that belong to the main cluster."""
    low = whole.min(0) - voxel / 2
    known = {tuple(cell) for cell in np.floor((whole - low) / voxel).astype(int)}
    cells = np.unique(np.floor((points - low) / voxel).astype(int), axis=0)
    mine = np.array([tuple(cell) in known for cell in cells], bool)
    return low + (cells[mine] + 0.5) * voxel


def hull_area(points: np.ndarray) -> float:
    """Surface area of the convex hull of (n, 3) points, square metres; 0 for fewer than four points.

    Flat sets (a picture on a wall) are handled by letting Qhull joggle them.
    """
    if len(points) < 4:
        return 0.0
    try:
        return float(ConvexHull(points, qhull_options="QJ Pp").area)
    except QhullError:
        return 0.0


def photo_camera(goal: ImageGoal, size: int | None = None) -> tuple[Pose, Camera]:
    """The pose and camera that render an image goal, at its own size or at another square size in pixels."""
    side = goal.size if size is None else size
    heading, pitch = from_quaternion(list(goal.rotation))
    return (Pose(*goal.position, heading, pitch),
            Camera(side, side, goal.hfov_deg, sensor_height=0.0, min_depth=0.01, max_depth=100.0))
