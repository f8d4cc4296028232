"""The habitat-sim backend's navigator: habitat's path finder, and what that lacks, from its triangles."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import FLOOR_SPAN, Body, after, floor_levels

OFF_MESH = 0.5
"""A point this far off the navmesh, in the plane and in height, counts from the nearest point on it, metres
(ours; habitat-sim itself looks 2 m around and 4 m up and down, which is through walls and floors)."""


class HabitatNavigator:
    """`Navigator` on a habitat-sim `PathFinder` with a loaded navmesh.

    Args:
        habitat: the habitat_sim module.
        finder: the path finder; 0.2.2's has no islands, so they are found here.
        body: how it moves.
        covered: tells of (N, 3) points whether something solid is above each, (N,) bool.
        cache: how many sets of targets are kept prepared.
    """

    def __init__(
        self,
        habitat: Any,
        finder: Any,
        body: Body,
        covered: Callable[[np.ndarray], np.ndarray] | None = None,
        cache: int = 256,
    ) -> None:
        self.body = body
        self._habitat, self._finder = habitat, finder
        self._triangles, self._islands = _labelled_triangles(habitat, finder)
        flat = self._triangles[..., [0, 2]]
        edges = flat[:, 1:] - flat[:, :1]
        self._areas = np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]) / 2
        self._low, self._high = flat.min(1), flat.max(1)
        self._levels = self._triangles[..., 1].mean(1)
        self.floors: list[float] = self._floor_heights(covered)
        self._prepared: OrderedDict[bytes, Any] = OrderedDict()
        self._cache_size = cache

    def _floor_heights(self, covered: Callable[[np.ndarray], np.ndarray] | None) -> list[float]:
        """Heights of the floors: the largest walkable levels, at least FLOOR_GAP apart, lowest first.

        A level with less than a third of it under something solid is a roof, unless no level is covered.
        """
        chosen = floor_levels(self._levels, self._areas)
        heights = [height for height, _ in chosen]
        if covered is None:
            return heights
        rooms = []
        for height, near in chosen:  # the same points on every load
            points = self._sample(np.random.default_rng(0), np.flatnonzero(near), 64)
            if covered(points).mean() > 1 / 3:
                rooms.append(height)
        return rooms or heights

    def _sample(self, rng: np.random.Generator, triangles: np.ndarray, count: int) -> np.ndarray:
        """(count, 3) points, uniform over the area in the plane of the triangles with these indices."""
        weights = np.cumsum(self._areas[triangles])
        picked = np.searchsorted(weights, rng.uniform(0, weights[-1], count), side="right")
        corners = self._triangles[triangles[np.minimum(picked, len(triangles) - 1)]]
        u, v = rng.uniform(size=(2, count, 1))
        over = u + v > 1  # fold the square over onto the triangle
        u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
        return corners[:, 0] + u * (corners[:, 1] - corners[:, 0]) + v * (corners[:, 2] - corners[:, 0])

    # -- queries -------------------------------------------------------------------------------------------

    def _under(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the triangles above and below a (3,) point, and (N,) heights of their surface there."""
        x, z = float(point[0]), float(point[2])
        slack = 1e-3
        box = (self._low <= (x + slack, z + slack)) & (self._high >= (x - slack, z - slack))
        near = np.flatnonzero(box.all(1))
        a, b, c = (self._triangles[near, k] for k in range(3))
        double = (b[:, 0] - a[:, 0]) * (c[:, 2] - a[:, 2]) - (b[:, 2] - a[:, 2]) * (c[:, 0] - a[:, 0])
        double = np.where(double == 0, 1e-12, double)
        v = ((x - a[:, 0]) * (c[:, 2] - a[:, 2]) - (z - a[:, 2]) * (c[:, 0] - a[:, 0])) / double
        w = ((b[:, 0] - a[:, 0]) * (z - a[:, 2]) - (b[:, 2] - a[:, 2]) * (x - a[:, 0])) / double
        inside = (v >= -slack) & (w >= -slack) & (v + w <= 1 + slack)
        heights = a[:, 1] + v * (b[:, 1] - a[:, 1]) + w * (c[:, 1] - a[:, 1])
        return near[inside], heights[inside]

    def floor_of(self, point: np.ndarray) -> int:
        """Index of the floor whose surface is within half a metre of `point`, or -1."""
        _, surfaces = self._under(point)
        best, gap = -1, 0.5
        for index, height in enumerate(self.floors):
            mine = surfaces[np.abs(surfaces - height) <= FLOOR_SPAN]
            off = float(np.abs((mine if len(mine) else np.array([height])) - point[1]).min())
            if off < gap:
                best, gap = index, off
        return best

    def is_navigable(self, point: np.ndarray) -> bool:
        """Whether the body can stand at `point`."""
        return bool(self._finder.is_navigable(_vector(point), 0.5)) and self.floor_of(point) >= 0

    def snap(self, point: np.ndarray, radius: float = 0.5) -> np.ndarray | None:
        """The nearest standable point within `radius` in the plane, on the floor of `point`, or None."""
        point = np.asarray(point, float)
        floor = self.floor_of(point)
        mine = self._of_floor(floor) if floor >= 0 else np.zeros(0, int)
        if not len(mine):
            return None
        found = point if self._finder.is_navigable(_vector(point), 0.5) else self._closest(point, mine)
        if np.hypot(found[0] - point[0], found[2] - point[2]) > radius:
            return None
        surface = np.array(self._finder.snap_point(_vector(found)), float)
        return surface if np.isfinite(surface).all() else None

    def _of_floor(self, floor: int) -> np.ndarray:
        """Indices of a floor's triangles."""
        return np.flatnonzero((np.abs(self._levels - self.floors[floor]) <= FLOOR_SPAN) & (self._areas > 0))

    def _closest(self, point: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """(3,) point on the edges of these triangles that is nearest to `point` in the plane."""
        start = self._triangles[triangles]
        along = start[:, [1, 2, 0]] - start
        flat, offset = along[..., [0, 2]], (point - start)[..., [0, 2]]
        share = (offset * flat).sum(-1) / np.maximum((flat * flat).sum(-1), 1e-12)
        places = start + np.clip(share, 0, 1)[..., None] * along
        gaps = np.hypot(places[..., 0] - point[0], places[..., 2] - point[2])
        return places[np.unravel_index(gaps.argmin(), gaps.shape)]

    def island(self, point: np.ndarray) -> int:
        """Label of the connected piece of navmesh under `point`, from 1; 0 off it."""
        if not self.is_navigable(point):
            return 0
        triangles, surfaces = self._under(point)
        if not len(triangles):  # on an edge, by habitat's tolerance
            spot = np.array(self._finder.snap_point(_vector(point)), float)
            triangles, surfaces = self._under(spot)
            if not len(triangles):
                return 0
        return int(self._islands[triangles[np.abs(surfaces - point[1]).argmin()]])

    def island_radius(self, point: np.ndarray) -> float:
        """habitat-sim's size of the piece under `point`: the largest distance of its corners from their mean,
        metres; 0 off it."""
        return float(self._finder.island_radius(_vector(point))) if self.island(point) else 0.0

    def random_point(self, rng: np.random.Generator, floor: int) -> np.ndarray:
        """A standable point, uniform over the floor's area.

        Raises:
            ValueError: the floor has no walkable surface.
        """
        mine = self._of_floor(floor)
        if not len(mine):
            raise ValueError(f"floor {floor} has no place where the body could stand")
        point = self._sample(rng, mine, 1)[0]
        surface = np.array(self._finder.snap_point(_vector(point)), float)
        return surface if np.isfinite(surface).all() else point

    # -- moving --------------------------------------------------------------------------------------------

    def step(self, pose: Pose, action: str) -> Pose:
        """The pose after one action; a move stops (or slides, by the body) where the navmesh ends.

        Raises:
            ValueError: an action that is none of the body's.
        """
        return after(pose, action, self.body, self._move)

    def _move(self, start: np.ndarray, delta: np.ndarray) -> np.ndarray:
        here = self._on_mesh(start)
        if here is None:  # habitat-sim would jump to the nearest navmesh
            return start
        move = self._finder.try_step if self.body.allow_sliding else self._finder.try_step_no_sliding
        there = np.array(move(_vector(here), _vector(here + delta)), float)
        return there if np.isfinite(there).all() else start

    # -- distances -----------------------------------------------------------------------------------------

    def _on_mesh(self, point: np.ndarray) -> np.ndarray | None:
        """(3,) nearest point of the navmesh, if it is within OFF_MESH."""
        found = np.array(self._finder.snap_point(_vector(point)), float)
        if not np.isfinite(found).all() or abs(found[1] - point[1]) > OFF_MESH:
            return None
        return found if np.hypot(found[0] - point[0], found[2] - point[2]) <= OFF_MESH else None

    def _to(self, targets: np.ndarray) -> Any:
        """habitat-sim's search for the nearest of (T, 3) targets, ready for a start; None: no target counts.

        Kept by targets, since a prepared search remembers bounds that spare it most of the next one's work.
        """
        key = targets.tobytes()
        if key not in self._prepared:
            ends = [end for end in map(self._on_mesh, targets) if end is not None]
            search = self._habitat.MultiGoalShortestPath() if ends else None
            if search is not None:
                search.requested_ends = [_vector(end) for end in ends]
            self._prepared[key] = search
        self._prepared.move_to_end(key)
        if len(self._prepared) > self._cache_size:
            self._prepared.popitem(last=False)
        return self._prepared[key]

    def _search(self, start: np.ndarray, targets: np.ndarray) -> Any:
        search, here = self._to(targets), self._on_mesh(start)
        if search is None or here is None:
            return None
        search.requested_start = _vector(here)
        found = self._finder.find_path(search) and np.isfinite(search.geodesic_distance)
        return search if found else None

    def distance(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(P,) geodesic metres from (P, 3) points to the nearest of (T, 3) targets, stairs included, or inf.

        A point off the navmesh counts from the nearest point on it, if that is within OFF_MESH.
        """
        points = np.asarray(points, float).reshape(-1, 3)
        targets = np.ascontiguousarray(np.asarray(targets, float).reshape(-1, 3))
        result = np.full(len(points), np.inf)
        for i, point in enumerate(points):
            search = self._search(point, targets)
            if search is not None:
                result[i] = search.geodesic_distance
        return result

    def path(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N, 3) corners of the shortest path from `start` to the nearest of (T, 3) targets, or N = 0."""
        targets = np.ascontiguousarray(np.asarray(targets, float).reshape(-1, 3))
        search = self._search(np.asarray(start, float), targets)
        return np.zeros((0, 3)) if search is None else np.array(search.points, float).reshape(-1, 3)


def _vector(point: np.ndarray) -> np.ndarray:
    """(3,) float32, as habitat-sim's vectors are."""
    return np.array(point, np.float32)


# -- islands -----------------------------------------------------------------------------------------------


def _labelled_triangles(habitat: Any, finder: Any) -> tuple[np.ndarray, np.ndarray]:
    """(T, 3, 3) float64 triangles of the navmesh, without those of no area, and (T,) island labels from 1."""
    if hasattr(finder, "num_islands"):
        parts = [_triangles(finder, island) for island in range(finder.num_islands)]
        triangles = np.concatenate([*parts, np.zeros((0, 3, 3))])
        return triangles, np.repeat(np.arange(1, len(parts) + 1), [len(part) for part in parts])
    triangles = _triangles(finder)
    return triangles, _connected(habitat, finder, triangles)


def _triangles(finder: Any, *island: int) -> np.ndarray:
    vertices = np.array(finder.build_navmesh_vertices(*island), float).reshape(-1, 3)
    indices = np.array(finder.build_navmesh_vertex_indices(*island), np.int64).reshape(-1, 3)
    triangles = vertices[indices]
    areas = np.linalg.norm(
        np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1
    )
    return triangles[areas > 1e-8]


def _connected(habitat: Any, finder: Any, triangles: np.ndarray) -> np.ndarray:
    """(T,) labels from 1 of pieces joined by whole edges, and of those that habitat-sim finds a path between
    (its polygons' detail triangles need not meet edge to edge)."""
    parent = np.arange(len(triangles))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    corners = np.rint(triangles * 500).astype(np.int64)  # 2 mm
    seen: dict[tuple[bytes, bytes], int] = {}
    for i, corner in enumerate(corners):
        names = [place.tobytes() for place in corner]
        for k in range(3):
            first, second = names[k], names[(k + 1) % 3]
            edge = (first, second) if first < second else (second, first)
            parent[root(i)] = root(seen.setdefault(edge, i))
    pieces = np.array([root(i) for i in range(len(triangles))], np.int64)
    labels = np.zeros(len(triangles), np.int64)
    centers: list[np.ndarray] = []
    for piece in dict.fromkeys(pieces.tolist()):
        mine = pieces == piece
        center = triangles[piece].mean(0)
        joined = next(
            (k for k, other in enumerate(centers) if _reachable(habitat, finder, center, other)), None
        )
        if joined is None:
            centers.append(center)
            joined = len(centers) - 1
        labels[mine] = joined + 1
    return labels


def _reachable(habitat: Any, finder: Any, start: np.ndarray, end: np.ndarray) -> bool:
    path = habitat.ShortestPath()
    path.requested_start, path.requested_end = _vector(start), _vector(end)
    return bool(finder.find_path(path)) and bool(np.isfinite(path.geodesic_distance))
