"""The floor's outline: habitat-sim's own edges, and what is inside, met and slid along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.hm3dsem import load_scene
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.navigation.contours import border
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from hm3dm3_env.sim.navigation.outline import Outline
from hm3dm3_env.sim.navigation.regions import REGION_SIZE, regions
from hm3dm3_env.sim.navigation.roadmap import Roadmap
from tests.polygons import extruded, random_world, shortest, spots
from tests.rooms import write_two_rooms

HABITAT = """
6 48 6 58, 6 48 24 48, 6 58 12 58, 6 87 6 98, 6 87 12 87, 6 98 28 98, 6 137 6 184, 6 137 14 137, 6 184
21 185, 12 58 15 61, 12 87 15 84, 14 137 17 133, 15 61 15 84, 17 109 17 133, 17 109 43 109, 21 185 23
187, 23 187 23 200, 23 200 43 200, 24 48 27 45, 26 79 26 96, 26 79 29 76, 26 96 28 98, 26 141 26 172, 26
141 28 139, 26 172 30 175, 27 7 27 45, 27 7 60 7, 28 139 42 138, 29 76 46 76, 30 175 42 175, 42 138 49
139, 42 175 48 175, 43 109 56 109, 43 200 66 200, 46 76 49 79, 47 98 49 96, 47 98 56 98, 48 175 51 172,
49 79 49 85, 49 85 49 96, 49 139 51 141, 51 141 51 172, 56 98 59 101, 56 109 59 104, 59 101 59 104, 60 7
60 22, 60 22 63 25, 63 25 78 25, 66 191 66 200, 66 191 69 188, 68 101 68 104, 68 101 71 98, 68 104 71
109, 69 188 78 188, 71 98 78 98, 71 109 78 109, 78 25 78 84, 78 84 78 98, 78 109 78 139, 78 139 78 188
"""
"""Row and column of both ends, in cells from the mesh's low corner, of all wall edges of the floor's navmesh
that habitat-sim 0.2.2 computes for the two rooms with the default body (read from its file)."""


def grid(rows: int, columns: int) -> np.ndarray:
    free = np.zeros((rows, columns), bool)
    free[1:-1, 1:-1] = True
    return free


def polygon(edges: np.ndarray) -> shapely.Geometry:
    return Outline(edges, (200, 400)).area


def test_the_edges_are_habitats(tmp_path: Path) -> None:
    triangles = load_scene(write_two_rooms(tmp_path)).triangles
    edges = GridNavigator(triangles, Body(narrow_passages="none")).levels[0].outline.edges
    mine = {tuple(sorted([(r0 - 2, c0 - 2), (r1 - 2, c1 - 2)])) for r0, c0, r1, c1 in edges.tolist()}
    theirs = [list(map(float, edge.split())) for edge in HABITAT.replace("\n", " ").split(",")]
    assert mine == {tuple(sorted([(r0, c0), (r1, c1)])) for r0, c0, r1, c1 in theirs}


# -- contours -----------------------------------------------------------------------------------------------


def test_a_rectangle_has_four_edges() -> None:
    edges = border(grid(40, 60), 0.05)
    corners = {tuple(edge[:2]) for edge in edges.tolist()} | {tuple(edge[2:]) for edge in edges.tolist()}
    assert corners == {(1, 1), (1, 59), (39, 1), (39, 59)}


def test_long_walls_are_divided() -> None:
    edges = border(grid(40, 300), 0.05)  # 14.9 m
    lengths = np.hypot(edges[:, 2] - edges[:, 0], edges[:, 3] - edges[:, 1])
    assert lengths.max() <= 12 / 0.05 and lengths.sum() == pytest.approx(2 * 298 + 2 * 38)


@pytest.mark.parametrize("seed", range(8))
def test_edges_stay_near_the_cells_and_are_closed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = grid(90, 110)
    rows, columns = np.indices(free.shape)
    for _ in range(12):
        r, c, size = rng.uniform(0, 90), rng.uniform(0, 110), rng.uniform(3, 14)
        slope = rng.uniform(-1, 1)
        free &= np.abs(rows - r) + np.abs(columns - c + slope * (rows - r)) > size
    edges = border(free, 0.05)
    ends = np.concatenate([edges[:, :2], edges[:, 2:]])
    assert (np.unique(ends, axis=0, return_counts=True)[1] % 2 == 0).all()
    cells = shapely.unary_union(shapely.box(*np.nonzero(free), *(np.argwhere(free) + 1).T))
    large = [part for part in shapely.get_parts(cells) if part.area >= 9]
    gap = shapely.hausdorff_distance(polygon(edges).boundary, shapely.unary_union(large).boundary)
    assert gap <= 1.3 * 2**0.5 + 3  # specks of less than 9 cells may or may not have edges


def test_regions_cover_all_free_cells() -> None:
    rng = np.random.default_rng(0)
    free = grid(80, 120)
    for _ in range(10):
        r, c = rng.integers(5, 70), rng.integers(5, 110)
        free[r : r + rng.integers(3, 20), c : c + rng.integers(3, 20)] = False
    free[0] = free[-1] = free[:, 0] = free[:, -1] = False
    found = regions(free)
    assert ((found > 0) == free).all()
    sizes = np.bincount(found[found > 0])
    assert (sizes[sizes > 0] > REGION_SIZE).sum() >= 2
    np.testing.assert_array_equal(found, regions(free))


def test_no_free_cell() -> None:
    assert border(np.zeros((10, 12), bool), 0.05).shape == (0, 4)
    outline = Outline(np.zeros((0, 4)), (10, 12))
    assert not outline.free.any() and not outline.contains(5, 5) and outline.nearest(5, 5) is None
    assert len(Roadmap(outline).places) == 0


# -- what is inside, and where moves end ------------------------------------------------------------------


@pytest.fixture(scope="module")
def outline() -> Outline:
    room, parts = random_world(np.random.default_rng(3))
    return GridNavigator(extruded(room, parts), Body()).levels[0].outline


def test_contains(outline: Outline) -> None:
    rng = np.random.default_rng(0)
    places = rng.uniform((-3, -3), np.array(outline.free.shape) + 3, (4000, 2))
    truth = shapely.contains_xy(outline.area, *places.T)
    assert 0.2 < truth.mean() < 0.9
    np.testing.assert_array_equal(outline.contain(places), truth)
    assert [outline.contains(*place) for place in places[:200]] == truth[:200].tolist()
    middles = np.argwhere(outline.free) + 0.5
    assert outline.contain(middles).all()
    np.testing.assert_array_equal(
        outline.contain(np.array([[np.nan, 1], [1e30, 1], [1, -np.inf]])), [False] * 3
    )


def test_moves_end_at_the_first_edge(outline: Outline) -> None:
    rng = np.random.default_rng(1)
    starts = spots(rng, outline.area, 400)
    boundary = outline.area.boundary
    for row, column in starts:
        turn, length = rng.uniform(0, 2 * np.pi), rng.choice([5.0, 60.0])
        move = length * np.cos(turn), length * np.sin(turn)
        share, edge = outline.meets(row, column, *move)
        line = shapely.LineString([(row, column), (row + move[0], column + move[1])])
        hits = shapely.intersection(boundary, line)
        if hits.is_empty:
            assert (share, edge) == (1.0, -1)
            continue
        assert edge >= 0 and share * length == pytest.approx(
            hits.distance(shapely.Point(row, column)), abs=1e-6
        )
        there = outline.stop(row, column, *move, 0.002)
        assert outline.contains(*there)
        assert np.hypot(there[0] - row, there[1] - column) == pytest.approx(
            max(share * length - 0.002, 0), abs=1e-6
        )


def test_nearest_is_inside_and_near(outline: Outline) -> None:
    rng = np.random.default_rng(2)
    for place in rng.uniform((0, 0), outline.free.shape, (300, 2)):
        if outline.contains(*place):
            continue
        found = outline.nearest(*place)
        assert found is not None and outline.contains(*found)
        best = outline.area.distance(shapely.Point(place))
        assert best <= np.hypot(found[0] - place[0], found[1] - place[1]) <= best + 0.02


def test_cells_are_joined(outline: Outline) -> None:
    extra = np.zeros_like(outline.free)
    extra[:4, :6] = True
    joined = outline.with_cells(extra)
    assert joined.area.area == pytest.approx(outline.area.area + 24)
    assert (joined.free == (outline.free | extra)).all()


def test_sliding() -> None:
    room = extruded(shapely.box(0, 0, 5, 5), [])
    navigator = GridNavigator(room, Body(allow_sliding=True))
    wall = 5 - 0.2
    pose = navigator.step(Pose(wall - 0.05, 0, 2.5, -np.pi / 2 + 0.5), "move_forward")  # 0.5 left of +x
    assert pose.x == pytest.approx(wall, abs=0.051) and pose.z == pytest.approx(
        2.5 - 0.25 * np.sin(0.5), abs=2e-3
    )
    for _ in range(30):
        pose = navigator.step(pose, "move_forward")
    assert pose.x > wall - 0.051 and pose.z < 0.251  # in the corner, and it stays there
    assert navigator.step(pose, "move_forward").position == pytest.approx(pose.position, abs=2e-3)
    assert navigator.is_navigable(pose.position)


# -- shortest paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_paths_are_exact_for_the_outline(seed: int) -> None:
    rng = np.random.default_rng(seed)
    room, parts = random_world(rng)
    inside = GridNavigator(extruded(room, parts), Body()).levels[0]
    points = spots(rng, inside.outline.area, 25)
    truth = shortest(inside.outline.area, points)
    for i in range(8):
        lengths, following = inside.roadmap.solve(points[i : i + 1])
        mine = inside.roadmap.lengths_from(points, points[i : i + 1], lengths)
        assert (np.isinf(mine) == np.isinf(truth[i])).all()
        finite = np.isfinite(mine)
        np.testing.assert_allclose(mine[finite], truth[i][finite], atol=0.1)
        corners, end = inside.roadmap.path(points[20], points[i : i + 1], lengths, following)
        assert end == (0 if finite[20] else -1)
        if finite[20]:
            line = np.vstack([points[20], corners, points[i]])
            assert np.linalg.norm(np.diff(line, axis=0), axis=1).sum() == pytest.approx(mine[20], abs=1e-9)
