"""Frontiers: where known free floor meets the unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from hm3dm3_env.mapping import FREE, UNKNOWN, SharedMap


@dataclass(frozen=True)
class FrontierConfig:
    """What counts as a frontier (ours, after VLFM's area threshold)."""

    min_length: float = 0.3
    """Shorter ones are ignored, metres of frontier cells."""
    min_unknown: float = 0.5
    """Unknown pockets smaller than this are not worth a trip, square metres (VLFM: 1.5)."""
    done_radius: float = 0.7
    """A frontier that remains after a robot looked at it from close by is not visited again; nor any within
    this, metres."""


@dataclass(frozen=True)
class Frontiers:
    """`points` (F, 3): one place on each frontier, on free floor; `sizes` (F,) metres."""

    points: np.ndarray
    sizes: np.ndarray


def find_frontiers(
    shared_map: SharedMap, passable: np.ndarray, window: tuple[slice, slice], config: FrontierConfig
) -> Frontiers:
    """Frontiers within a window of the map.

    Args:
        passable: (rows, columns) bool over the window: cells where the body may be.
    """
    cells = shared_map.cells[window]
    unknown = cells == UNKNOWN
    labels, count = ndimage.label(unknown)
    if count:
        small = np.bincount(labels.ravel()) * shared_map.cell**2 < config.min_unknown
        small[0] = False
        unknown &= ~small[labels]
    edge = np.zeros_like(unknown)
    edge[1:] |= unknown[:-1]
    edge[:-1] |= unknown[1:]
    edge[:, 1:] |= unknown[:, :-1]
    edge[:, :-1] |= unknown[:, 1:]
    edge &= (cells == FREE) & passable
    labels, count = ndimage.label(edge, np.ones((3, 3)))
    rows, columns = np.nonzero(labels)
    owner = labels[rows, columns]
    order = np.argsort(owner, kind="stable")
    points, sizes = [], []
    for mine in np.split(order, np.flatnonzero(np.diff(owner[order])) + 1) if len(order) else []:
        length = len(mine) * shared_map.cell
        if length < config.min_length:
            continue
        group = np.stack([rows[mine], columns[mine]], 1)
        middle = group[np.abs(group - group.mean(0)).sum(1).argmin()]
        points.append(shared_map.to_world(middle + (window[0].start, window[1].start)))
        sizes.append(length)
    return Frontiers(np.array(points).reshape(-1, 3), np.array(sizes))
