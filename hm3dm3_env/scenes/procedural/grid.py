"""Free floor on a 5 cm raster: does a disc still reach all of a room and its doors?"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from hm3dm3_env.scenes.procedural.rooms import Door, FloorPlan
from hm3dm3_env.scenes.procedural.structure import TRIM

CELL = 0.05
RADII = (0.17, 0.21, 0.25, 0.29)
"""Disc radii (m) whose free floor must be one piece: the robot's 0.17 and the promised 0.25, with slack."""

Rect = tuple[float, float, float, float]


class RoomGrid:
    """The free floor of one room with its doorways; furniture footprints are added one by one."""

    def __init__(self, plan: FloorPlan, index: int) -> None:
        x0, y0, x1, y1 = plan.rooms[index].rect
        self.margin = 0.4
        self.origin = np.array([x0 - self.margin, y0 - self.margin])
        shape = np.ceil((np.array([y1 - y0, x1 - x0]) + 2 * self.margin) / CELL - 1e-6).astype(int)
        self.free = np.zeros(shape, bool)
        self._set(self.free, plan.rooms[index].inner, True)
        self.doors: list[tuple[int, int]] = []
        for door in plan.doors:
            if index in (door.a, door.b) and door.b >= 0:
                self._open(door)

    def _open(self, door: Door) -> None:
        low, high, reach = door.low + TRIM, door.high - TRIM, self.margin - 0.05
        rect = (
            (low, door.level - reach, high, door.level + reach)
            if door.axis == "x"
            else (door.level - reach, low, door.level + reach, high)
        )
        self._set(self.free, rect, True)
        middle = (low + high) / 2
        at = np.array([middle, door.level] if door.axis == "x" else [door.level, middle])
        column, row = ((at - self.origin) / CELL).astype(int)
        self.doors.append((int(row), int(column)))

    def _cells(self, rect: Rect, shrink: bool) -> tuple[slice, slice]:
        low = (np.array(rect[:2]) - self.origin) / CELL
        high = (np.array(rect[2:]) - self.origin) / CELL
        if shrink:  # only cells that lie inside
            a, b = np.ceil(low - 1e-6).astype(int), np.floor(high + 1e-6).astype(int)
        else:  # all cells that are touched
            a, b = np.floor(low + 1e-6).astype(int), np.ceil(high - 1e-6).astype(int)
        a = np.maximum(a, 0)
        return slice(a[1], max(b[1], a[1])), slice(a[0], max(b[0], a[0]))

    def _set(self, grid: np.ndarray, rect: Rect, value: bool) -> None:
        grid[self._cells(rect, shrink=value)] = value

    def block(self, rect: Rect) -> None:
        """Add a footprint for good."""
        self._set(self.free, rect, False)

    def allows(self, rects: list[Rect]) -> bool:
        """Whether the floor stays in one piece, with every doorway, if the footprints were added."""
        free = self.free.copy()
        for rect in rects:
            self._set(free, rect, False)
        return connected(free, self.doors)

    def share(self) -> float:
        """Free share of the window."""
        return float(self.free.mean())


def connected(free: np.ndarray, doors: list[tuple[int, int]]) -> bool:
    """One piece of free floor for each of `RADII`, all doors on it."""
    distance = ndimage.distance_transform_edt(np.pad(free, 1))[1:-1, 1:-1] * CELL - CELL / 2
    for radius in RADII:
        labels, count = ndimage.label(distance >= radius, np.ones((3, 3)))
        if count != 1:
            return False
        if radius <= 0.25 and any(labels[row, column] != 1 for row, column in doors):
            return False
    return True
