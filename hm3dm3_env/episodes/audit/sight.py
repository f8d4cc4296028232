"""What cameras see of the goals, on rendered semantic frames: viewpoints, photos, instances left out.

The generator casts loose rays at an object's box; here whole frames are rendered, and pixels are counted.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError, cKDTree

from hm3dm3_env.episodes.audit.findings import Report, Settings
from hm3dm3_env.episodes.goals import ImageGoal
from hm3dm3_env.episodes.schema import Episode, Goal
from hm3dm3_env.geometry import Pose, from_quaternion
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator

SHARE_SLACK = 0.002
"""Frame coverage of the same camera may differ by this: rays through edges, and rounded positions (ours)."""
PHOTO_SLACK = 0.01
"""The same for photos: stored from few pixels, measured on all (ours)."""
HULL_SLACK = 0.1
"""Object coverage depends on from where the whole object was looked at, which is drawn at random (ours)."""
CLEARLY = 2.0
"""An object left out of a category goal must be seen this many times better than it has to be (ours)."""
BATCH = 64
"""Frames rendered at once."""
VOXEL = 0.05
"""Points of an object are counted once a voxel, metres (InstanceImageNav)."""


class SightCheck:
    """Checks of one scene's goals; each object, photo and category once."""

    def __init__(
        self,
        sim: EmbeddedSimulator,
        settings: Settings,
        report: Report,
        limit: int,
        bad: set[tuple[int, int]],
    ) -> None:
        self.sim, self.settings, self.report, self.limit, self.bad = sim, settings, report, limit, bad
        self._done: set[object] = set()
        self._whole = lru_cache(maxsize=None)(self._seen_of)

    def check(self, episode: Episode, floor: list[Instance]) -> None:
        """Check the goals of one episode; `floor` holds the objects of its floor."""
        for j, goal in enumerate(episode.goals):
            for identity in goal.acceptable:
                if self._first("viewpoints", identity):
                    self._viewpoints(episode, j, identity)
            if goal.modality == "ON" and not self.settings.imported and self._first("ON", goal.acceptable):
                self._left_out(episode, j, goal, floor)
            if (
                goal.image is not None
                and not self.settings.imported
                and self._first("photo", goal.object_id, goal.image)
            ):
                self._photo(episode, j, goal, goal.image)

    def _first(self, *key: object) -> bool:
        new = key not in self._done
        self._done.add(key)
        return new

    # -- viewpoints ----------------------------------------------------------------------------------------

    def _viewpoints(self, episode: Episode, j: int, identity: int) -> None:
        item = self.sim.scene.instances.get(identity)
        if item is None:
            return
        points = episode.objects[identity].viewpoints
        if self.limit and len(points) > self.limit:
            chosen = np.unique(np.linspace(0, len(points) - 1, self.limit).astype(int))
        else:
            chosen = np.arange(len(points))
        chosen = np.array([v for v in chosen if (identity, v) not in self.bad], int)
        shares = self._upright_shares(points[chosen], item)
        least = self.settings.goals.min_coverage
        for v, share in zip(chosen, shares):
            if share < least - SHARE_SLACK:
                self.report.add(
                    "viewpoint coverage",
                    episode.id,
                    f"goals.{j}: objects.{identity}.viewpoints.{v}",
                    f"the {item.category} fills {share:.1%} of the frames, less than {least:.0%}",
                )

    def _upright_shares(self, points: np.ndarray, item: Instance) -> np.ndarray:
        """(V,) share of a frame that an object fills, summed over looks ahead and 30 degrees up and down."""
        goals = self.settings.goals
        camera = Camera(goals.pixels, goals.pixels, goals.frame_hfov_deg, goals.camera_height, 0.01, 100.0)
        poses = [
            _pose(p, _bearing(p, item.center), np.radians(tilt))
            for p in points
            for tilt in (-30.0, 0.0, 30.0)
        ]
        return (
            np.array([_share(frame, item.id) for frame in self._frames(poses, camera)]).reshape(-1, 3).sum(1)
        )

    def _frames(self, poses: list[Pose], camera: Camera) -> list[Frame]:
        return [
            frame
            for first in range(0, len(poses), BATCH)
            for frame in self.sim.render(poses[first : first + BATCH], camera, rgb=False, semantic=True)
        ]

    def _left_out(self, episode: Episode, j: int, goal: Goal, floor: list[Instance]) -> None:
        """Objects of the category that clearly can be goals, yet don't count."""
        config, navigator = self.settings.goals, self.sim.navigator
        island = navigator.island(episode.starts[0].position)
        for item in floor:
            if (
                item.category != goal.category
                or item.id in goal.acceptable
                or item.size.max() < config.min_extent
            ):
                continue
            reach = config.viewpoint_reach - 0.1
            near = [
                np.array([x, episode.floor_height, z])
                for x in np.arange(item.low[0] - reach, item.high[0] + reach, config.viewpoint_cell)
                for z in np.arange(item.low[2] - reach, item.high[2] + reach, config.viewpoint_cell)
            ]
            near = [
                p
                for p in near
                if np.hypot(*(np.clip(p, item.low, item.high) - p)[[0, 2]]) <= reach
                and navigator.is_navigable(p)
                and navigator.island(p) == island
            ]
            ring = self._ring(item, episode.floor_height, island)
            if not near or not len(ring):
                continue
            best = max(self._upright_shares(np.array(near), item))
            aimed = max((_share(f, item.id) for f in self._aimed(ring, item, (1.1,))), default=0.0)
            if min(best, aimed) >= CLEARLY * config.min_coverage:
                self.report.add(
                    "missing instance",
                    episode.id,
                    f"goals.{j}.acceptable",
                    f"object {item.id}, also a {item.category}, fills {best:.0%} of a frame",
                )

    def _ring(self, item: Instance, height: float, island: int) -> np.ndarray:
        """(P, 3) places to stand on the rings around an object's centre."""
        config, navigator = self.settings.goals, self.sim.navigator
        turns = np.radians(np.arange(0.0, 360.0, config.ring_step_deg))
        points = [
            np.array([item.center[0] + r * np.sin(a), height, item.center[2] + r * np.cos(a)])
            for r in config.rings
            for a in turns
        ]
        good = [
            p for p in points if navigator.is_navigable(p) and (not island or navigator.island(p) == island)
        ]
        return np.array(good).reshape(-1, 3)

    def _aimed(self, points: np.ndarray, item: Instance, heights: tuple[float, ...]) -> list[Frame]:
        """Frames of cameras above (P, 3) places, aimed at an object's centre or a few degrees beside it."""
        goals = self.settings.goals
        camera = Camera(goals.pixels, goals.pixels, goals.frame_hfov_deg, 0.0, 0.01, 100.0)
        poses: list[Pose] = []
        for point in points:
            for height in heights:
                eye = point + (0.0, height, 0.0)
                flat = np.hypot(*(item.center - eye)[[0, 2]])
                pitch = float(np.arctan2(item.center[1] - eye[1], flat))
                # a pole in the very middle would fall between two pixels in every frame
                aside = np.radians((len(poses) % 7 - 3) * 1.3)
                poses.append(_pose(eye, _bearing(eye, item.center) + aside, pitch))
        return self._frames(poses, camera)

    # -- photos --------------------------------------------------------------------------------------------

    def _photo(self, episode: Episode, j: int, goal: Goal, image: ImageGoal) -> None:
        item, where = self.sim.scene.instances.get(goal.object_id), f"goals.{j}.image"
        if item is None:
            return
        for text in self._camera_faults(episode, item, image):
            self.report.add("photo", episode.id, where, text)
        heading, pitch = from_quaternion(list(image.rotation))
        camera = Camera(image.size, image.size, image.hfov_deg, 0.0, 0.01, 100.0)
        frame = self.sim.render([Pose(*image.position, heading, pitch)], camera, rgb=False, semantic=True)[0]
        share, config = _share(frame, item.id), self.settings.goals
        if abs(share - image.frame_coverage) > PHOTO_SLACK:
            self.report.add(
                "photo coverage",
                episode.id,
                f"{where}.frame_coverage",
                f"is {image.frame_coverage:.3f}, the photo has {share:.3f}",
            )
        whole = self._whole(item.id, episode.floor_height)
        area = hull_area(whole)
        need = config.photo_frame_slope * area + config.photo_frame_base
        if share < need - PHOTO_SLACK:
            self.report.add(
                "photo coverage",
                episode.id,
                where,
                f"the {item.category} fills {share:.1%} of the photo, less than {need:.1%}",
            )
        seen = hull_area(_known(_points(frame, item.id), whole)) / area if area > 0 else 0.0
        if seen < config.photo_object_coverage - HULL_SLACK:
            self.report.add(
                "photo coverage",
                episode.id,
                where,
                f"the photo shows {seen:.0%} of the {item.category}'s "
                f"hull, less than {config.photo_object_coverage:.0%}",
            )

    def _camera_faults(self, episode: Episode, item: Instance, image: ImageGoal) -> list[str]:
        config, eye = self.settings.goals, np.array(image.position)
        faults = []
        height = eye[1] - episode.floor_height
        if not config.photo_heights[0] - 1e-3 <= height <= config.photo_heights[1] + 1e-3:
            faults.append(f"the camera is {height:.2f} m above the floor")
        if not config.photo_hfov_deg[0] - 0.01 <= image.hfov_deg <= config.photo_hfov_deg[1] + 0.01:
            faults.append(f"the field of view is {image.hfov_deg:g} degrees")
        if image.size != config.photo_size:
            faults.append(f"it has {image.size} pixels a side, not {config.photo_size}")
        away = float(np.hypot(*(eye - item.center)[[0, 2]]))
        if min(abs(away - ring) for ring in config.rings) > 0.01:
            faults.append(f"the camera is {away:.2f} m from the object, on no ring")
        if not self.sim.navigator.is_navigable(np.array([eye[0], episode.floor_height, eye[2]])):
            faults.append("nobody can stand where the camera is")
        heading, pitch = from_quaternion(list(image.rotation))
        turn = abs((heading - _bearing(eye, item.center) + np.pi) % (2 * np.pi) - np.pi)
        tilt = abs(pitch - np.arctan2(item.center[1] - eye[1], away))
        if max(turn, tilt) > np.radians(config.jitter_deg + 0.2):
            faults.append(f"the camera looks {np.degrees(max(turn, tilt)):.0f} degrees beside the object")
        return faults

    def _seen_of(self, identity: int, height: float) -> np.ndarray:
        """(n, 3) voxels of an object that cameras on the rings see, its largest connected group."""
        item, goals = self.sim.scene.instances[identity], self.settings.goals
        frames = self._aimed(
            self._ring(item, height, 0),
            item,
            (goals.photo_heights[0], sum(goals.photo_heights) / 2, goals.photo_heights[1]),
        )
        points = [_points(frame, identity) for frame in frames]
        return _largest_group(_voxels(np.concatenate(points))) if points else np.zeros((0, 3))


def _pose(place: np.ndarray, heading: float, pitch: float) -> Pose:
    x, y, z = (float(value) for value in place)
    return Pose(x, y, z, heading, pitch)


def _bearing(source: np.ndarray, target: np.ndarray) -> float:
    """The heading that looks from one place to another; 0 is along -z."""
    return float(np.arctan2(-(target[0] - source[0]), -(target[2] - source[2])))


def _share(frame: Frame, identity: int) -> float:
    assert frame.semantic is not None
    return float(np.count_nonzero(frame.semantic == identity)) / frame.semantic.size


def _points(frame: Frame, identity: int) -> np.ndarray:
    """(n, 3) world points of an object's pixels."""
    assert frame.semantic is not None
    rows, columns = np.nonzero((frame.semantic == identity) & (frame.depth > 0))
    return frame.points(rows, columns)


def _voxels(points: np.ndarray) -> np.ndarray:
    """(n, 3) centres of the voxels that hold a point."""
    if not len(points):
        return np.zeros((0, 3))
    cells = np.floor(points / VOXEL).astype(np.int64)
    low = cells.min(0)
    shape = cells.max(0) - low + 1
    keys = np.unique(np.ravel_multi_index(tuple((cells - low).T), tuple(shape)))
    return (np.stack(np.unravel_index(keys, tuple(shape)), 1) + low + 0.5) * VOXEL


def _largest_group(voxels: np.ndarray) -> np.ndarray:
    """Those of the largest group that hangs together; gaps of two voxels don't part it (thin poles)."""
    if len(voxels) < 2:
        return voxels
    tree = cKDTree(voxels)
    for reach in (1.1, 3.1):  # neighbours are quickly found, and mostly enough
        pairs = tree.query_pairs(VOXEL * reach, p=np.inf, output_type="ndarray")
        graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (len(voxels), len(voxels)))
        count, labels = connected_components(graph, directed=False)
        if count == 1:
            return voxels
    return voxels[labels == np.bincount(labels).argmax()]


def _known(points: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Voxels of points that lie in or beside a voxel of the whole."""
    if not len(points) or not len(whole):
        return np.zeros((0, 3))
    voxels = _voxels(points)
    return voxels[cKDTree(whole).query(voxels)[0] < VOXEL * 1.8]


def hull_area(points: np.ndarray) -> float:
    """Surface of the convex hull of (n, 3) points, square metres; flat ones are joggled."""
    if len(points) < 4:
        return 0.0
    try:
        return float(ConvexHull(points, qhull_options="QJ Pp").area)
    except QhullError:
        return 0.0
