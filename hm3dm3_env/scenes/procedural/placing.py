"""One room while it is being furnished: what stands where, and whether one more piece fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from hm3dm3_env.scenes.layout import SceneObject
from hm3dm3_env.scenes.procedural.grid import RoomGrid
from hm3dm3_env.scenes.procedural.kinds import Piece, Style
from hm3dm3_env.scenes.procedural.rooms import Door, FloorPlan, Rect
from hm3dm3_env.scenes.procedural.structure import CEILING, Side, Window, on_side, sides

DOOR_CLEARANCE = 0.9
"""Metres in front of a doorway that stay free; ours."""
ROBOT_HEIGHT = 1.45
"""Pieces that start below this height (m) take floor from the robot."""
FLAT = 0.03
"""Pieces lower than this (m) are walked on."""

Pose = tuple[float, float, float]


@dataclass
class Placed:
    """A piece at its place: centre of its bottom (x, y, z), its turn, and what its tops already carry.

    `base` is the piece that it stands on, None for the floor, a wall or the ceiling.
    """

    piece: Piece
    x: float
    y: float
    z: float
    angle: float
    base: Placed | None = None
    carried: list[tuple[float, float, float, float, int]] = field(default_factory=list)

    def world(self, lx: float, ly: float) -> tuple[float, float]:
        """A point of the piece's frame in the scene."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return float(self.x + c * lx - s * ly), float(self.y + s * lx + c * ly)


def footprint(size: tuple[float, float, float], pose: Pose) -> Rect:
    """The axis-aligned rectangle around a turned piece."""
    x, y, angle = pose
    c, s = abs(float(np.cos(angle))), abs(float(np.sin(angle)))
    a, b = (c * size[0] + s * size[1]) / 2, (s * size[0] + c * size[1]) / 2
    return x - a, y - b, x + a, y + b


class RoomState:
    """Occupied boxes, the free-floor raster, and the pieces of one room."""

    def __init__(self, plan: FloorPlan, index: int, windows: list[Window], style: Style) -> None:
        self.plan, self.index, self.style, self.windows = plan, index, style, windows
        self.kind = plan.rooms[index].kind
        self.inner = plan.rooms[index].inner
        self.sides = sides(self.inner)
        self.doors = [door for door in plan.doors if index in (door.a, door.b)]
        self.grid = RoomGrid(plan, index)
        self.boxes: list[tuple[Rect, float, float, int]] = []
        self.placed: list[Placed] = []
        self.extra: list[SceneObject] = []
        self.used = 0.0
        for door in self.doors:
            self.boxes.append((self._clearance(door), 0.0, door.height + 0.1, -1))
        for window in windows:
            rect = self.strip(window.side, window.low - 0.06, window.high + 0.06, 0.1)
            self.boxes.append((rect, window.bottom - 0.05, window.top, -1))
            self.grid.block(rect)

    def strip(self, side: Side, low: float, high: float, depth: float) -> Rect:
        """The rectangle of a depth along a wall face."""
        near, far = sorted((side.level, side.level + side.sign * depth))
        return (low, near, high, far) if side.axis == "x" else (near, low, far, high)

    def _clearance(self, door: Door) -> Rect:
        side = next(side for side in self.sides if on_side(side, door))
        return self.strip(side, door.low - 0.05, door.high + 0.05, DOOR_CLEARANCE)

    def side_doors(self, side: Side) -> list[Door]:
        """The doors in one wall."""
        return [door for door in self.doors if on_side(side, door)]

    def fits(
        self, piece: Piece, pose: Pose, z: float, ignore: tuple[int, ...] = (), slack: float = 0.012
    ) -> bool:
        """Inside the room and clear of all boxes (but those of the pieces in `ignore`)."""
        x0, y0, x1, y1 = footprint(piece.size, pose)
        ix0, iy0, ix1, iy1 = self.inner
        if x0 < ix0 + 0.003 or y0 < iy0 + 0.003 or x1 > ix1 - 0.003 or y1 > iy1 - 0.003:
            return False
        top = z + piece.size[2]
        if top > CEILING + 1e-3:
            return False
        for (a0, b0, a1, b1), z0, z1, owner in self.boxes:
            if owner in ignore and owner >= 0:
                continue
            if (
                x0 < a1 + slack
                and x1 > a0 - slack
                and y0 < b1 + slack
                and y1 > b0 - slack
                and z < z1
                and top > z0
            ):
                return False
        return True

    def put(
        self,
        piece: Piece,
        poses: Iterable[Pose],
        z: float = 0.0,
        ignore: tuple[int, ...] = (),
        checks: int = 5,
        slack: float = 0.012,
    ) -> Placed | None:
        """Place a piece at the first pose that fits and keeps the floor in one piece."""
        flat = piece.size[2] < FLAT
        blocks = z < ROBOT_HEIGHT and not flat
        for pose in poses:
            if not self.fits(piece, pose, z, ignore, slack):
                continue
            rect = footprint(piece.size, pose)
            if blocks:
                if checks == 0:
                    return None
                checks -= 1
                if not self.grid.allows([rect]):
                    continue
                self.grid.block(rect)
            return self._keep(piece, pose, z, rect, flat)
        return None

    def put_group(self, pieces: list[tuple[Piece, Pose]], ignore: tuple[int, ...] = ()) -> list[Placed]:
        """Place several pieces on the floor, or none of them if they do not all fit."""
        rects = [footprint(piece.size, pose) for piece, pose in pieces]
        if not all(self.fits(piece, pose, 0.0, ignore) for piece, pose in pieces) or not self.grid.allows(
            rects
        ):
            return []
        for rect in rects:
            self.grid.block(rect)
        return [self._keep(piece, pose, 0.0, rect, False) for (piece, pose), rect in zip(pieces, rects)]

    def _keep(self, piece: Piece, pose: Pose, z: float, rect: Rect, flat: bool) -> Placed:
        item = Placed(piece, pose[0], pose[1], z, pose[2])
        if not flat:
            self.boxes.append((rect, z, z + piece.size[2], len(self.placed)))
            if z < 0.1:
                self.used += (rect[2] - rect[0]) * (rect[3] - rect[1])
        self.placed.append(item)
        return item

    def add_on_top(
        self,
        parent: Placed,
        piece: Piece,
        rng: np.random.Generator,
        centred: bool = False,
        ordered: bool = False,
    ) -> bool:
        """Stand a small piece on one of the parent's tops, clear of what is there already."""
        w, d, h = piece.size
        tops = list(enumerate(parent.piece.shape.tops))
        if not ordered:
            tops = [tops[int(i)] for i in rng.permutation(len(tops))]
        for index, (x0, y0, x1, y1, level, clear) in tops:
            if h > clear or parent.z + level + h > CEILING - 0.02:
                continue
            if ordered and any(item[4] == index for item in parent.carried):
                continue
            for attempt in range(6):
                quarter = not ordered and not centred and attempt >= 4
                half_w, half_d = (d / 2, w / 2) if quarter else (w / 2, d / 2)
                if x1 - x0 < 2 * half_w or y1 - y0 < 2 * half_d:
                    if not ordered or attempt:
                        continue
                lx = (x0 + x1) / 2 if centred or ordered else float(rng.uniform(x0 + half_w, x1 - half_w))
                ly = y0 + half_d if centred or ordered else float(rng.uniform(y0 + half_d, y1 - half_d))
                rect = (lx - half_w, ly - half_d, lx + half_w, ly + half_d)
                if any(
                    rect[0] < b[2] + 0.015
                    and rect[2] > b[0] - 0.015
                    and rect[1] < b[3] + 0.015
                    and rect[3] > b[1] - 0.015
                    for b in parent.carried
                ):
                    continue
                x, y = parent.world(lx, ly)
                angle = parent.angle + (np.pi / 2 if quarter else 0.0)
                bounds = footprint(piece.size, (x, y, angle))
                z0, z1 = parent.z + level, parent.z + level + h
                if any(
                    bounds[0] < b[2]
                    and bounds[2] > b[0]
                    and bounds[1] < b[3]
                    and bounds[3] > b[1]
                    and z0 + 0.01 < top
                    and z1 > low
                    for b, low, top, owner in self.boxes
                    if owner < 0 or self.placed[owner] is not parent
                ):
                    continue
                parent.carried.append((*rect, index))
                self.boxes.append((bounds, z0, z1, len(self.placed)))
                self.placed.append(Placed(piece, x, y, z0, angle, parent))
                return True
        return False

    def objects(self) -> list[SceneObject]:
        """The placed pieces as scene objects."""
        found = [
            SceneObject(
                item.piece.kind.name,
                self.index,
                item.piece.shape.parts(item.angle, item.x, item.y, item.z),
                item.piece.colour,
                item.piece.material,
            )
            for item in self.placed
        ]
        return found + self.extra
