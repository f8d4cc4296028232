"""What robots tell each other, and who hears it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hm3dm3_env.mapping import SharedMap


@dataclass(frozen=True)
class MapPatch:
    """The known part of a robot's map: `cells` (rows, columns) uint8 from `corner` (row, column) on. All maps
    lie on one grid, since the robots share a coordinate frame."""

    corner: tuple[int, int]
    cells: np.ndarray


@dataclass(frozen=True)
class Message:
    """One robot's state.

    Attributes:
        sender: its number.
        step: when it was sent.
        position: (3,) where it is.
        done: (M,) goals that it knows to be declared.
        goal, score: the goal whose candidate it goes for, and the candidate's score; None: it explores.
        frontier: (3,) where it explores next; None: nowhere.
        patch: its map, when it is due.
    """

    sender: int
    step: int
    position: np.ndarray
    done: tuple[bool, ...]
    goal: int | None
    score: float
    frontier: np.ndarray | None
    patch: MapPatch | None = None


def patch_of(own: SharedMap) -> MapPatch:
    """What a robot knows of the floor, to be sent."""
    window = own.window(0.0)
    return MapPatch((window[0].start, window[1].start), own.cells[window].copy())


def merge(own: SharedMap, patch: MapPatch) -> None:
    """Take another robot's map in. Known beats unknown and occupied beats free, cell by cell, which is also
    what folding the other's frames would give: nothing that a depth image adds ever takes something back."""
    rows, columns = patch.cells.shape
    if not patch.cells.size:
        return
    r, c = patch.corner
    part = own.cells[r : r + rows, c : c + columns]
    np.maximum(part, patch.cells, out=part)
    low, high = own.box[::2], own.box[1::2]
    low[:], high[:] = np.minimum(low, (r, c)), np.maximum(high, (r + rows, c + columns))
