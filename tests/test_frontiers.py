"""Frontiers on maps drawn by hand, where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from hm3dm3_env.mapping import FREE, OCCUPIED, UNKNOWN, MapConfig, SharedMap
from hm3dm3_env.sim.base import Body
from policies.frontiers import FrontierConfig, Frontiers, find_frontiers
from policies.planner import MapPlanner, PlannerConfig

XZ = tuple[float, float]


def blank(size: float = 16.0) -> SharedMap:
    return SharedMap(MapConfig(size=size), np.zeros(3), 0.0)


def paint(shared: SharedMap, low: XZ, high: XZ, value: int) -> None:
    """Cells between two x, z corners; they are known from now on."""
    r0, c0 = shared.to_cell(np.array([low[0] + 1e-6, 0, low[1] + 1e-6]))
    r1, c1 = shared.to_cell(np.array([high[0] - 1e-6, 0, high[1] - 1e-6]))
    shared.cells[r0 : r1 + 1, c0 : c1 + 1] = value
    box = shared.box
    box[:] = min(box[0], r0), max(box[1], r1 + 1), min(box[2], c0), max(box[3], c1 + 1)


def room(*doors: tuple[XZ, XZ]) -> SharedMap:
    """A walled room of 6 x 4 m, known up to its openings, with nothing known behind them."""
    shared = blank()
    paint(shared, (-3, -2), (3, 2), OCCUPIED)
    paint(shared, (-2.9, -1.9), (2.9, 1.9), FREE)
    for low, high in doors:
        paint(shared, low, high, FREE)
    return shared


def found(shared: SharedMap, clearance: float = 0.0, **config: float) -> Frontiers:
    """Frontiers for a body that keeps `clearance` metres from obstacles."""
    planner = MapPlanner(shared, Body(), PlannerConfig(clearance=clearance, tight=clearance))
    planner.update()
    window = shared.window(0.5)
    return find_frontiers(shared, ~planner.grown[window], window, FrontierConfig(**config))


def places(frontiers: Frontiers) -> list[XZ]:
    return sorted((round(float(p[0]), 3), round(float(p[2]), 3)) for p in frontiers.points)


def test_a_room_with_one_door() -> None:
    frontiers = found(room(((2.9, -0.5), (3.0, 0.5))))
    ((x, y, z),) = frontiers.points
    assert (x, y) == (pytest.approx(2.975), 0.0) and abs(z) <= 0.05  # the outermost column of the doorway
    assert frontiers.sizes == pytest.approx([1.0])


def test_clearance_narrows_a_door() -> None:
    doors = ((2.9, -0.5), (3.0, 0.5))
    assert found(room(doors), clearance=0.2).sizes == pytest.approx([0.6])
    assert len(found(room(doors), clearance=0.5).points) == 0  # nobody fits through
    shared = room(doors)
    window = shared.window(0.5)
    closed = np.zeros(shared.cells[window].shape, bool)
    assert len(find_frontiers(shared, closed, window, FrontierConfig()).points) == 0


def test_a_corridor_that_turns() -> None:
    """L: 1.4 m wide, from west to east and then to the south, where the known part ends."""
    shared = blank()
    paint(shared, (-4.1, -1.1), (1.1, 0.5), OCCUPIED)
    paint(shared, (-0.5, 0.4), (1.1, 4.0), OCCUPIED)
    paint(shared, (-4.0, -1.0), (1.0, 0.4), FREE)
    paint(shared, (-0.4, 0.4), (1.0, 4.0), FREE)
    frontiers = found(shared)
    ((x, _, z),) = frontiers.points
    assert x == pytest.approx(0.3, abs=0.03) and z == pytest.approx(3.975)
    assert frontiers.sizes == pytest.approx([1.4])


TWO_DOORS = (((-1.0, 1.9), (-0.25, 2.0)), ((0.25, 1.9), (1.0, 2.0)))
"""0.75 m wide each, with 0.5 m of wall between: their nearest cells are 11 cells, 0.55 m, apart."""


@pytest.mark.parametrize(("cluster", "count"), [(0.0, 2), (0.3, 2), (0.5, 2), (0.55, 1), (2.0, 1)])
def test_two_doors_side_by_side(cluster: float, count: int) -> None:
    frontiers = found(room(*TWO_DOORS), cluster=cluster)
    assert len(frontiers.points) == count
    assert frontiers.sizes == pytest.approx([0.75] * 2 if count == 2 else [1.5])
    for x, z in places(frontiers):
        assert z == pytest.approx(1.975)
        assert 0.25 <= abs(x) <= 1.0  # in a door, not on the wall between the doors
    if count == 2:
        assert [x for x, _ in places(frontiers)] == [pytest.approx(s * 0.625, abs=0.03) for s in (-1, 1)]


def test_clusters_are_chains() -> None:
    """Three doors, each near the next: one cluster, though the outer ones are far from each other."""
    doors = [((x, 1.9), (x + 0.5, 2.0)) for x in (-2.0, -1.0, 0.0)]
    assert len(found(room(*doors)).points) == 3
    one = found(room(*doors), cluster=0.6)
    assert len(one.points) == 1 and one.sizes == pytest.approx([1.5])
    far = ((2.0, 1.9), (2.5, 2.0))
    assert found(room(*doors, far), cluster=0.6).sizes == pytest.approx([1.5, 0.5])


def test_clustering_is_that_of_the_definition() -> None:
    """Against single linkage over all pairs, on random maps."""
    from scipy.cluster.hierarchy import fcluster, linkage

    rng = np.random.default_rng(0)
    for number in range(12):
        shared = blank(8.0)
        paint(shared, (-3, -3), (3, 3), UNKNOWN)
        for low in rng.uniform(-3, 2, (9, 2)):
            size = rng.uniform(0.3, 1.0, 2)
            paint(shared, (low[0], low[1]), (low[0] + size[0], low[1] + size[1]), FREE)
        reach = float(rng.choice([0.3, 0.45, 0.8]))
        free = shared.cells == FREE
        beside = np.zeros_like(free)
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            beside |= np.roll(shared.cells == UNKNOWN, step, axis)
        cells = np.argwhere(free & beside)
        labels = fcluster(linkage(cells, "single"), reach / 0.05 + 1e-6, "distance")
        sizes = np.bincount(labels)[1:] * 0.05
        mine = found(shared, cluster=reach, min_length=0.0)
        assert sorted(mine.sizes) == pytest.approx(sorted(sizes)), number


def test_one_cell_can_join_two_long_frontiers() -> None:
    """Lines of free cells through the unknown: two hooks whose ends are 0.6 m apart, and a cell between."""
    shared = blank(8.0)
    paint(shared, (-3, -3), (3, 3), UNKNOWN)
    for x in (-3.0, 2.95):
        paint(shared, (x, -3), (x + 0.05, 1), FREE)
    paint(shared, (-3, 1), (-0.25, 1.05), FREE)
    paint(shared, (0.3, 1), (3, 1.05), FREE)
    assert len(found(shared, cluster=0.4).points) == 2
    paint(shared, (0, 0.8), (0.05, 0.85), FREE)
    assert len(found(shared, cluster=0.4).points) == 1
    assert len(found(shared, cluster=0.2, min_length=0.0).points) == 3


def test_unclustered_frontiers_are_as_ever() -> None:
    shared = room(*TWO_DOORS)
    plain, touching = found(shared), found(shared, cluster=0.05)
    assert plain.points.tobytes() == touching.points.tobytes()
    assert plain.sizes.tobytes() == touching.sizes.tobytes()


def test_small_pockets_of_unknown_are_ignored() -> None:
    shared = room()
    paint(shared, (-1, -1), (-0.4, -0.4), UNKNOWN)  # 0.36 square metres
    assert len(found(shared).points) == 0
    ((x, z),) = places(found(shared, min_unknown=0.3))
    assert -1.1 < x < -0.3 and -1.1 < z < -0.3
    assert found(shared, min_unknown=0.3).sizes == pytest.approx([4 * 0.6])  # the ring around it
    paint(shared, (-1, -1), (0, 0), UNKNOWN)  # 1 square metre
    assert len(found(shared).points) == 1


def test_short_frontiers_are_ignored() -> None:
    shared = room(((2.9, -0.1), (3.0, 0.1)), ((-3.0, -0.5), (-2.9, 0.5)))  # 0.2 m, 1 m
    assert found(shared).sizes == pytest.approx([1.0])
    assert sorted(found(shared, min_length=0.2).sizes) == pytest.approx([0.2, 1.0])
    assert len(found(shared, min_length=1.05).points) == 0
    slits = [((x, 1.9), (x + 0.2, 2.0)) for x in (0.0, 0.4)]  # together they are long enough
    assert len(found(room(*slits)).points) == 0
    assert found(room(*slits), cluster=0.3).sizes == pytest.approx([0.4])


@pytest.mark.parametrize("cluster", [0.0, 0.5])
def test_nothing_to_explore(cluster: float) -> None:
    for shared in (room(), blank()):
        frontiers = found(shared, cluster=cluster)
        assert frontiers.points.shape == (0, 3) and frontiers.sizes.shape == (0,)


def test_clusters_that_cannot_be_are_named() -> None:
    for wrong in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="frontiers.cluster must be metres"):
            FrontierConfig(cluster=wrong)
