"""Where in space a box or a set of pixels is: the point of the seen surface, from depth.

A box holds more than its object: what is behind it, and what stands in front. Depths are sorted into layers,
and the nearest layer that fills enough of the box's middle is the object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hm3dm3_env.sim.base import Frame
from policies.recognition.config import PlaceConfig

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Place:
    """A seen surface point: `point` (3,) in the world, `distance` metres from the camera in the plane."""

    point: np.ndarray
    distance: float


def place_box(frame: Frame, box: Box, config: PlaceConfig) -> Place | None:
    """The place of what a box (left, top, right, bottom; pixels) shows.

    None where there is no depth, and (`PlaceConfig.offset`) for boxes at the frame's side.
    """
    if config.offset and too_offset(box, frame.camera.width, config.edge):
        return None
    left, right = _shrunk(box[0], box[2], frame.camera.width, config.middle)
    top, bottom = _shrunk(box[1], box[3], frame.camera.height, config.middle)
    if left >= right or top >= bottom:
        return None
    rows, columns = (axis.ravel() for axis in np.mgrid[top:bottom, left:right])
    across = (columns + 0.5 - (left + right) / 2) / (right - left)
    down = (rows + 0.5 - (top + bottom) / 2) / (bottom - top)
    return place_pixels(frame, rows, columns, config, np.exp(-2 * (across**2 + down**2)))


def place_pixels(
    frame: Frame,
    rows: np.ndarray,
    columns: np.ndarray,
    config: PlaceConfig,
    weights: np.ndarray | None = None,
) -> Place | None:
    """The place of what (N,) pixels show, with (N,) weights; None where there is too little depth."""
    depth = frame.depth[rows, columns].astype(float)
    weights = np.ones(len(rows)) if weights is None else weights
    good = (depth > 0) & (depth <= config.far * frame.camera.max_depth)
    if good.sum() < config.least:
        return None
    rows, columns, depth, weights = rows[good], columns[good], depth[good], weights[good]
    order = np.argsort(depth, kind="stable")
    depth, weights = depth[order], weights[order]
    start, end = _layer(depth, weights, config)
    total = np.cumsum(weights[start:end])
    middle = order[start + int(np.searchsorted(total, total[-1] / 2))]
    point = frame.points(rows[middle : middle + 1], columns[middle : middle + 1])[0]
    eye = frame.camera.eye(frame.pose)
    return Place(point, float(np.hypot(point[0] - eye[0], point[2] - eye[2])))


def too_offset(box: Box, width: int, edge: float) -> bool:
    """Whether a whole box lies in the left or right third of a frame and within `edge` of that side."""
    left, right = box[0] / width, box[2] / width
    return (right <= 1 / 3 and left <= edge) or (left >= 2 / 3 and right >= 1 - edge)


def grown(box: Box, share: float, width: int, height: int) -> Box:
    """A box with a share of its sides around it, within the frame."""
    across, down = round(share * (box[2] - box[0])), round(share * (box[3] - box[1]))
    return (
        max(box[0] - across, 0),
        max(box[1] - down, 0),
        min(box[2] + across, width),
        min(box[3] + down, height),
    )


def _layer(depth: np.ndarray, weights: np.ndarray, config: PlaceConfig) -> tuple[int, int]:
    """First and last (exclusive) of the object's layer among sorted depths."""
    breaks = np.flatnonzero(np.diff(depth) > np.maximum(config.gap, 0.05 * depth[:-1])) + 1
    edges = [0, *breaks.tolist(), len(depth)]
    layers = list(zip(edges[:-1], edges[1:]))
    sums = [float(weights[a:b].sum()) for a, b in layers]
    enough = [layer for layer, held in zip(layers, sums) if held >= config.share * sum(sums)]
    return enough[0] if enough else layers[int(np.argmax(sums))]


def _shrunk(low: int, high: int, size: int, share: float) -> tuple[int, int]:
    """The middle `share` of an interval, at least one pixel, within 0 and `size`."""
    cut = int((high - low) * (1 - share) / 2)
    return max(low + cut, 0), min(max(high - cut, low + cut + 1), size)
