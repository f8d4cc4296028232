"""What a frame shows of each object, for the simulated recogniser and encoder."""

from __future__ import annotations

import numba
import numpy as np


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
