"""Any-angle distance fields against exact answers."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from policies.fields import NOWHERE, any_angle, line_of_sight, trace

Box = tuple[int, int, int, int]
"""Blocked cells: first row, end row, first column, end column."""


def world(size: int, boxes: list[Box]) -> np.ndarray:
    free = np.zeros((size, size), bool)
    free[1:-1, 1:-1] = True
    for r0, r1, c0, c1 in boxes:
        free[r0:r1, c0:c1] = False
    return free


def field(
    free: np.ndarray, *sources: tuple[int, int], limit: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    return any_angle(free, np.array(sources, np.int64), np.zeros(len(sources)), limit, NOWHERE)


def exact(size: int, boxes: list[Box], points: list[tuple[int, int]]) -> np.ndarray:
    """(P, P) lengths of the shortest paths between cell centres: a visibility graph of the boxes' corners."""
    grow = 1e-6  # boxes that touch leave no gap, and walls may be grazed
    low = np.array([(r0 - grow, c0 - grow) for r0, _, c0, _ in boxes])
    high = np.array([(r1 + grow, c1 + grow) for _, r1, _, c1 in boxes])
    corners = [(r, c) for r0, r1, c0, c1 in boxes for r in (r0 - 2 * grow, r1 + 2 * grow)
               for c in (c0 - 2 * grow, c1 + 2 * grow) if 1 < r < size - 1 and 1 < c < size - 1]
    nodes = np.array([(r + 0.5, c + 0.5) for r, c in points] + corners)
    start, delta = nodes[:, None, None], (nodes[None, :] - nodes[:, None])[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (low - start) / delta, (high - start) / delta
    still = delta == 0
    outside = still & ((start <= low) | (start >= high))
    enter = np.where(still, -np.inf, np.minimum(a, b)).max(-1)
    leave = np.where(still, np.inf, np.maximum(a, b)).min(-1)
    hit = (np.maximum(enter, 0) < np.minimum(leave, 1)) & ~outside.any(-1)
    lengths = np.linalg.norm(delta[:, :, 0], axis=-1)
    return shortest_path(np.where(hit.any(-1), np.inf, lengths))[: len(points), : len(points)]


def random_world(rng: np.random.Generator, size: int) -> list[Box]:
    boxes = []
    for _ in range(14):
        r, c = rng.integers(1, size - 8, 2)
        height, width = rng.integers(2, 22, 2)
        boxes.append((int(r), int(min(r + height, size - 1)), int(c), int(min(c + width, size - 1))))
    return boxes


def test_empty_room_is_euclidean() -> None:
    free = world(101, [])
    distance, anchor = field(free, (50, 50))
    rows, columns = np.nonzero(free)
    np.testing.assert_allclose(distance[rows, columns], np.hypot(rows - 50, columns - 50), rtol=1e-3)
    assert (anchor[free] == 50 * 101 + 50).all()
    assert np.isinf(distance[~free]).all() and (anchor[~free] == -1).all()


def test_around_a_corner() -> None:
    boxes = [(1, 40, 40, 42)]  # a wall from the top down to row 39: the path turns below its end
    free = world(80, boxes)
    distance, anchor = field(free, (20, 20))
    turns = [(40, c) for c in (39, 42)]
    best = hypot(20, 19) + 3 + hypot(20, 18)  # centre to centre below the wall's two corners
    assert distance[20, 60] == pytest.approx(best, rel=0.002)
    assert [tuple(c) for c in trace(anchor, 20, 60)] == [(20, 60), *reversed(turns), (20, 20)]
    assert distance[20, 60] >= exact(80, boxes, [(20, 20), (20, 60)])[0, 1] - 1e-3


def test_the_exact_answer_is_exact() -> None:
    length = exact(80, [(1, 40, 40, 42)], [(20, 20), (20, 60)])[0, 1]
    assert length == pytest.approx(hypot(19.5, 19.5) + 2 + hypot(19.5, 18.5), abs=1e-4)


@pytest.mark.parametrize("seeds", [range(0, 8), range(8, 16)])
def test_random_worlds(seeds: range) -> None:
    size, errors = 90, []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        boxes = random_world(rng, size)
        free = world(size, boxes)
        cells = np.argwhere(free)
        points = [(int(r), int(c)) for r, c in cells[rng.permutation(len(cells))[:40]]]
        truth = exact(size, boxes, points)
        for i in range(3):
            distance, _ = field(free, points[i])
            mine = np.array([distance[p] for p in points])
            assert (np.isinf(mine) == np.isinf(truth[i])).all()
            far = np.isfinite(truth[i]) & (truth[i] >= 10)
            errors += list(mine[far] / truth[i][far] - 1)
    assert min(errors) > -1e-4  # never shorter than the shortest
    assert np.mean(errors) <= 0.02
    assert np.percentile(errors, 95) <= 0.04


def test_symmetric() -> None:
    rng = np.random.default_rng(5)
    free = world(70, random_world(rng, 70))
    cells = np.argwhere(free)
    points = [tuple(int(v) for v in cells[i]) for i in rng.permutation(len(cells))[:12]]
    table = np.array([[field(free, a)[0][b] for b in points] for a in points])
    assert (np.isfinite(table) == np.isfinite(table.T)).all()
    far = np.isfinite(table) & (table > 5)
    assert np.abs(table[far] / table.T[far] - 1).max() < 0.04


def test_unreachable() -> None:
    free = world(40, [(1, 39, 20, 21)])
    distance, anchor = field(free, (10, 10))
    assert np.isinf(distance[10, 30]) and anchor[10, 30] == -1
    assert trace(anchor, 10, 30).shape == (0, 2)


def test_diagonal_gaps_are_closed() -> None:
    free = world(20, [(1, 10, 10, 19), (10, 19, 1, 10)])  # the two free rooms touch at one corner only
    assert np.isinf(field(free, (5, 5))[0][15, 15])
    assert not line_of_sight(free, 5, 5, 15, 15)


def test_trace_is_as_long_as_the_distance() -> None:
    rng = np.random.default_rng(3)
    free = world(90, random_world(rng, 90))
    cells = np.argwhere(free)
    distance, anchor = field(free, tuple(cells[100]))
    for row, column in cells[::97]:
        corners = trace(anchor, row, column)
        if np.isinf(distance[row, column]):
            assert not len(corners)
            continue
        assert tuple(corners[0]) == (row, column) and tuple(corners[-1]) == tuple(cells[100])
        length = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()
        assert length == pytest.approx(distance[row, column], abs=1e-3)
        assert all(line_of_sight(free, *a, *b) for a, b in zip(corners[:-1], corners[1:]))


def test_several_sources_with_head_starts() -> None:
    free = world(60, [])
    distance, anchor = any_angle(free, np.array([[10, 10], [10, 50]]), np.array([0.0, 8.0]), np.inf, NOWHERE)
    assert distance[10, 29] == pytest.approx(19)
    assert distance[10, 45] == pytest.approx(13) and anchor[10, 45] == 10 * 60 + 50


def test_blocked_sources_are_ignored() -> None:
    free = world(20, [(5, 6, 5, 6)])
    assert np.isinf(field(free, (5, 5))[0]).all()
    assert np.isinf(any_angle(free, np.zeros((0, 2), np.int64), np.zeros(0), np.inf, NOWHERE)[0]).all()


def test_limit() -> None:
    free = world(60, [])
    distance, _ = field(free, (30, 30), limit=10.0)
    assert distance[30, 39] == pytest.approx(9) and np.isinf(distance[30, 45])


def test_line_of_sight_is_symmetric() -> None:
    rng = np.random.default_rng(2)
    free = world(40, random_world(rng, 40)[:5])
    cells = np.argwhere(free)
    for _ in range(500):
        a, b = cells[rng.integers(len(cells), size=2)]
        assert line_of_sight(free, *a, *b) == line_of_sight(free, *b, *a)
