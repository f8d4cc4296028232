"""What a frame shows of each object, for the simulated recogniser and encoder."""

from __future__ import annotations

import numba
import numpy as np

from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import Privileged
from hm3dm3_env.sim.base import Frame


@numba.njit(cache=True, nogil=True)
def pixel_counts(depth: np.ndarray, labels: np.ndarray, strips: int, size: int) -> np.ndarray:
    """(strips, size) int64 pixels of each object id in vertical strips of a frame, left to right.

    Pixels without depth (`depth` (H, W) metres, 0: none) count as id 0; `labels` (H, W) are below `size`.
    """
    out = np.zeros((strips, size), np.int64)
    height, width = depth.shape
    for row in range(height):
        for column in range(width):
            out[column * strips // width, labels[row, column] if depth[row, column] > 0 else 0] += 1
    return out


def surface_point(frame: Frame, mask: np.ndarray) -> np.ndarray:
    """(3,) a robust point of what an (H, W) mask marks, where there is depth: the pixel of median depth."""
    rows, columns = np.nonzero(mask)
    depth = frame.depth[rows, columns]
    middle = np.argsort(depth, kind="stable")[len(depth) // 2]
    return frame.points(rows[middle : middle + 1], columns[middle : middle + 1])[0]


def floor_instances(truth: Privileged) -> list[Instance]:
    """The instances of the episode's floor."""
    height = truth.episode.floor_height
    return [item for item in truth.sim.scene.instances.values() if abs(item.low[1] - height) < 2.5]
