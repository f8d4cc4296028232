"""Where things can stand on a model of a library: its largest level rectangle, measured on the triangles."""

from __future__ import annotations

import numpy as np

from hm3dm3_env.scenes.procedural.mesh import Shape

CELL = 0.02
"""Metres; ours."""
_LEVEL = 0.012
"""Metres that a place may lie above or below the level; ours."""
_SMALLEST = 0.14
"""Metres of the shorter side below which nothing is put there; ours."""

Top = tuple[float, float, float, float, float, float]


def level_top(shape: Shape, size: tuple[float, float, float], drop: float | None) -> list[Top]:
    """The tops of a settled shape: at most one (see `Shape.tops`), free upwards.

    `drop` is the height in metres that the library gives: None for the model's highest, negative for nowhere.
    """
    if drop is not None and drop < 0:
        return []
    level = size[2] if drop is None else drop
    heights = _heights(shape, size)
    x0, y0, x1, y1 = largest_rectangle(np.abs(heights - level) <= _LEVEL)
    if min(x1 - x0, y1 - y0) * CELL < _SMALLEST:
        return []
    z = float(heights[x0:x1, y0:y1].max())
    left, back = -size[0] / 2, -size[1] / 2
    return [
        (
            left + (x0 + 1) * CELL,
            back + (y0 + 1) * CELL,
            left + (x1 - 1) * CELL,
            back + (y1 - 1) * CELL,
            z,
            2.0,
        )
    ]


def _heights(shape: Shape, size: tuple[float, float, float]) -> np.ndarray:
    """The highest point over each cell of the model's rectangle, -1 where there is none."""
    cells = np.maximum(np.floor(np.array(size[:2]) / CELL).astype(int), 1)
    grid = np.full(tuple(cells), -1.0)
    corners = np.concatenate([v[f] for items in shape.chunks.values() for v, f, _ in items])
    longest = np.linalg.norm((corners - np.roll(corners, 1, 1))[..., :2], axis=2).max(1)
    steps = np.clip(np.ceil(longest / (CELL * 0.7)), 1, 300).astype(int)
    for n in np.unique(steps):
        i, j = (part.ravel() for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
        keep = i + j <= n
        weights = np.column_stack([n - i[keep] - j[keep], i[keep], j[keep]]) / n
        points = (weights @ corners[steps == n]).reshape(-1, 3)
        at = np.floor((points[:, :2] + np.array(size[:2]) / 2) / CELL).astype(int)
        at = np.clip(at, 0, cells - 1)
        np.maximum.at(grid, (at[:, 0], at[:, 1]), points[:, 2])
    return grid


def largest_rectangle(mask: np.ndarray) -> tuple[int, int, int, int]:
    """(x0, y0, x1, y1) of the largest all-true rectangle of a (W, D) mask, ends exclusive; zeros if none."""
    best, found = 0, (0, 0, 0, 0)
    run = np.zeros(mask.shape[1], int)
    for x in range(mask.shape[0]):
        run = np.where(mask[x], run + 1, 0)
        stack: list[tuple[int, int]] = []
        for y, high in enumerate([*run.tolist(), 0]):
            start = y
            while stack and stack[-1][1] >= high:
                start, tall = stack.pop()
                if tall * (y - start) > best:
                    best, found = tall * (y - start), (x + 1 - tall, start, x + 1, y)
            stack.append((start, high))
    return found
