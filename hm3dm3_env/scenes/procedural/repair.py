"""The last check of a house's floor, on its triangles: pieces that leave a pocket are taken out."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from hm3dm3_env.scenes.layout import Part, SceneObject
from hm3dm3_env.scenes.procedural.placing import FLAT, Placed, RoomState
from hm3dm3_env.scenes.procedural.rooms import FloorPlan

CELL = 0.05
RADII = (0.17, 0.25)
"""Disc radii in metres; the free floor of each is one piece afterwards."""
LOW, HIGH = 0.1, 1.41
"""Heights in metres between which a thing is in the robot's way."""
_REACH = 0.45
"""Metres around a pocket in which its cause is looked for; ours."""

Cells = np.ndarray


def _samples(part: Part) -> np.ndarray:
    """Points on the triangles of a part, at most about 2.5 cm apart."""
    corners = part.vertices.astype(np.float64)[part.faces]
    corners = corners[corners[:, :, 2].max(1) > LOW]
    if not len(corners):
        return np.zeros((0, 3))
    edges = corners - np.roll(corners, 1, axis=1)
    counts = np.clip(np.ceil(np.linalg.norm(edges, axis=2).max(1) / 0.035), 1, 400).astype(int)
    found = []
    for steps in np.unique(counts):
        i, j = (grid.ravel() for grid in np.meshgrid(np.arange(steps + 1), np.arange(steps + 1)))
        keep = i + j <= steps
        weights = np.column_stack([steps - i[keep] - j[keep], i[keep], j[keep]]) / steps
        found.append((weights @ corners[counts == steps]).reshape(-1, 3))
    return np.concatenate(found)


class HouseGrid:
    """The whole floor on a raster; origin 0.2 m below the lowest corner of the plan."""

    def __init__(self, plan: FloorPlan, fixed: list[SceneObject]) -> None:
        x0, y0, x1, y1 = plan.bounds()
        self.origin = np.array([x0, y0]) - 0.2
        self.shape = tuple(np.ceil((np.array([x1, y1]) + 0.2 - self.origin) / CELL).astype(int))
        self.floor = np.zeros(self.shape, bool)
        self.fixed = np.zeros(self.shape, bool)
        for room in plan.rooms:
            self._fill(self.floor, np.array([room.rect[:2]]), np.array([room.rect[2:]]))
        for item in fixed:
            if item.category not in ("floor", "ceiling"):
                corners = np.concatenate([part.vertices[part.faces] for part in item.parts]).astype(float)
                low, high = corners.min(1), corners.max(1)
                band = (low[:, 2] < HIGH) & (high[:, 2] > LOW)
                self._fill(self.fixed, low[band, :2], high[band, :2])

    def _fill(self, grid: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Set rectangles; fixed things are axis-aligned boxes, so a triangle covers its own rectangle."""
        first = np.floor((low - self.origin) / CELL + 1e-4).astype(int)
        last = np.ceil((high - self.origin) / CELL - 1e-4).astype(int)
        for a, b in np.unique(np.stack([first, np.maximum(last, first + 1)], 1), axis=0):
            grid[a[0] : b[0], a[1] : b[1]] = True

    def _cells(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cells = np.floor((points[:, :2].astype(np.float32) - self.origin) / CELL).astype(int)
        cells = np.clip(cells, 0, np.array(self.shape) - 1)
        return cells[:, 0], cells[:, 1]

    def outline(self, parts: list[Part]) -> tuple[np.ndarray, np.ndarray]:
        """The cells over which a thing stands."""
        points = np.concatenate([_samples(part) for part in parts])
        return self._cells(points[points[:, 2] > LOW])

    def pockets(self, taken: np.ndarray) -> list[np.ndarray]:
        """(N, 2) cells of each piece of free floor that is cut off from the largest."""
        distance = ndimage.distance_transform_edt(self.floor & ~taken) * CELL
        found = []
        for radius in RADII:
            labels, count = ndimage.label(distance >= radius + CELL / 2, np.ones((3, 3)))
            if count > 1:
                main = 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
                found += [np.argwhere(labels == k) for k in range(1, count + 1) if k != main]
        return found


def remove_pockets(plan: FloorPlan, fixed: list[SceneObject], rooms: list[RoomState]) -> int:
    """Take out pieces (and what stands on them) until the free floor is one piece; returns how many."""
    grid = HouseGrid(plan, fixed)
    leaves = np.zeros(grid.shape, bool)
    outlines: list[tuple[RoomState, Placed, tuple[np.ndarray, np.ndarray]]] = []
    for room in rooms:
        for item in room.extra:
            leaves[grid.outline(item.parts)] = True
        for placed in room.placed:
            if placed.base is None and placed.z < HIGH and placed.piece.size[2] >= FLAT:
                parts = placed.piece.shape.parts(placed.angle, placed.x, placed.y, placed.z)
                outlines.append((room, placed, grid.outline(parts)))
    removed = 0
    while True:
        taken = grid.fixed | leaves
        for _, _, cells in outlines:
            taken[cells] = True
        pockets = grid.pockets(taken)
        if not pockets:
            return removed
        victims = [_culprit(grid, pocket, outlines) for pocket in pockets]
        for index in sorted({victim for victim in victims if victim is not None}, reverse=True):
            room, placed, _ = outlines.pop(index)
            room.placed = [one for one in room.placed if one is not placed and one.base is not placed]
            removed += 1
        if all(victim is None for victim in victims):
            return removed


def _culprit(
    grid: HouseGrid,
    pocket: np.ndarray,
    outlines: list[tuple[RoomState, Placed, tuple[np.ndarray, np.ndarray]]],
) -> int | None:
    """The smallest piece near a pocket that the house can do without."""
    near = np.zeros(grid.shape, bool)
    near[pocket[:, 0], pocket[:, 1]] = True
    steps = int(round(_REACH / CELL))
    low = np.maximum(pocket.min(0) - steps, 0)
    high = pocket.max(0) + steps + 1
    window = tuple(slice(a, b) for a, b in zip(low, high))
    zone = np.zeros(grid.shape, bool)
    zone[window] = ndimage.distance_transform_edt(~near[window]) * CELL <= _REACH
    best, size = None, np.inf
    for index, (_, placed, cells) in enumerate(outlines):
        if not zone[cells].any():
            continue
        cost = placed.piece.size[0] * placed.piece.size[1] * (1 if placed.z < LOW else 0.5)
        cost += 100 if any(chance >= 1 for chance, _, _ in placed.piece.kind.rooms.values()) else 0
        cost += 50 if placed.piece.kind.name in ("refrigerator", "stove", "kitchen sink") else 0
        if cost < size:
            best, size = index, cost
    return best
