"""The embedded navigator against exact answers in random worlds, at doorways, and at the world's ends."""

from __future__ import annotations

from math import cos, hypot, pi, sin

import numpy as np
import pytest
import shapely
from scipy import ndimage

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from policies.fields import NOWHERE, any_angle
from tests.polygons import extruded, free_area, random_world, shortest, spots

WORLDS = 10
KEPT = 0.24
"""What Recast makes of a radius of 0.17 m with cells of 5 cm: it is rounded up to 4 cells, and the cell that
a wall is in counts whole. Paths of this radius are nearest to ours; those of 0.17 m are what is asked for."""
THICK = (0.05, 0.1, 0.2)


def in_plane(points: np.ndarray) -> np.ndarray:
    """(N, 3) points on the floor from (N, 2) of the polygons' plane."""
    return np.c_[points[:, 0], np.zeros(len(points)), points[:, 1]]


class World:
    """A random world, its navigator, points in it, and the distances between these."""

    def __init__(self, seed: int, passages: str) -> None:
        rng = np.random.default_rng(seed)
        self.room, self.parts = random_world(rng)
        self.points = spots(rng, free_area(self.room, self.parts, 0.3), 12)
        self.navigator = GridNavigator(extruded(self.room, self.parts), Body(narrow_passages=passages))
        places = in_plane(self.points)
        self.table = np.stack([self.navigator.distance(places, place[None]) for place in places])

    def exact(self, radius: float) -> np.ndarray:
        return shortest(free_area(self.room, self.parts, radius), self.points)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [World(seed, ("none", "joining", "all")[seed % 3]) for seed in range(WORLDS)]


def errors(worlds: list[World], radius: float) -> np.ndarray:
    """Relative errors of the distances of at least 1 m that are finite in both."""
    found = []
    for world in worlds:
        truth, mine = world.exact(radius), world.table
        counts = np.triu(np.isfinite(truth) & np.isfinite(mine) & (truth >= 1), 1)
        found.append(mine[counts] / truth[counts] - 1)
    return np.concatenate(found)


# -- distances ----------------------------------------------------------------------------------------------


def test_distances_are_those_of_the_body(worlds: list[World]) -> None:
    error = errors(worlds, 0.17)
    assert len(error) > 400
    assert error.min() > -0.005  # never shorter than the body's shortest way, but for cut corners
    assert np.mean(error) <= 0.02 and np.percentile(error, 95) <= 0.04


def test_distances_are_exact_for_the_radius_that_recast_keeps(worlds: list[World]) -> None:
    error = np.abs(
        errors([world for world in worlds if world.navigator.body.narrow_passages == "none"], KEPT)
    )
    assert len(error) > 100 and np.mean(error) <= 0.004 and np.percentile(error, 95) <= 0.012


def test_what_can_be_reached(worlds: list[World]) -> None:
    for world in worlds:
        finite = np.isfinite(world.table)
        assert not (finite & np.isinf(world.exact(0.165))).any()
        roomy = 0.176 if world.navigator.body.narrow_passages != "none" else 0.3
        assert not (~finite & np.isfinite(world.exact(roomy))).any()


def test_distances_are_a_metric(worlds: list[World]) -> None:
    for world in worlds:
        table = np.where(np.isinf(world.table), 1e9, world.table)
        np.testing.assert_allclose(table, table.T, atol=1e-3)
        np.testing.assert_allclose(np.diag(table), 0, atol=1e-9)
        assert (table[:, :, None] + table[None] >= table[:, None] - 1e-3).all()
        straight = np.linalg.norm(world.points[:, None] - world.points[None], axis=-1)
        assert (table >= straight - 1e-9).all()


def test_paths_are_as_long_as_distances_and_stay_inside(worlds: list[World]) -> None:
    for world in worlds:
        places = in_plane(world.points)
        for i in range(4):
            path = world.navigator.path(places[i], places[5:])
            best = world.table[5:, i].min()
            if np.isinf(best):
                assert path.shape == (0, 3)
                continue
            assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(best, abs=1e-6)
            np.testing.assert_array_equal(path[0], places[i])
            assert (path[-1] == places[5:]).all(1).any()
            for a, b in zip(path, path[1:]):
                for share in np.linspace(0, 1, 7):
                    assert world.navigator.is_navigable(a + share * (b - a))


def test_the_nearest_of_several_targets(worlds: list[World]) -> None:
    for world in worlds[:3]:
        places = in_plane(world.points)
        nearest = world.navigator.distance(places[4:], places[:4])
        np.testing.assert_allclose(nearest, world.table[:4, 4:].min(0), atol=1e-6)
        assert np.isinf(world.navigator.distance(places, places[:0])).all()


def test_walks_stay_inside_and_reach_walls(worlds: list[World]) -> None:
    """Any walk stays where the body's true disc fits, to within the simplified edges' error of 1.3 cells."""
    rng = np.random.default_rng(0)
    for world in worlds:
        allowed = free_area(world.room, world.parts, 0.17 - 0.035)
        shapely.prepare(allowed)
        pose = Pose(*in_plane(world.points)[0].tolist())
        for action in rng.choice(["move_forward", "turn_left", "turn_right"], 200, p=[0.6, 0.2, 0.2]):
            pose = world.navigator.step(pose, str(action))
            assert shapely.contains_xy(allowed, pose.x, pose.z)


def test_fields_on_grids_of_turned_things(worlds: list[World]) -> None:
    """any_angle against the exact shortest paths within the very cells that are free."""
    found = []
    for world in worlds[:4]:
        free = world.navigator.levels[0].free.copy()
        free[0] = free[-1] = free[:, 0] = free[:, -1] = False
        free = ndimage.label(free)[0] == 1
        rows, columns = np.nonzero(free)
        area = shapely.unary_union(shapely.box(rows, columns, rows + 1, columns + 1))
        cells = np.c_[rows, columns][np.random.default_rng(0).permutation(len(rows))[:10]]
        truth = shortest(area, cells + 0.5)
        for i, cell in enumerate(cells[:5]):
            distance, _ = any_angle(free, cell[None], np.zeros(1), np.inf, NOWHERE)
            far = truth[i] >= 20
            found.append(distance[tuple(cells[far].T)] / truth[i][far] - 1)
    error = np.concatenate(found)
    assert len(error) > 100 and error.min() > -1e-4
    assert np.mean(error) <= 0.02 and np.percentile(error, 95) <= 0.04


# -- doorways -----------------------------------------------------------------------------------------------


def doorway(width: float, angle: float, offset: float, thick: float) -> GridNavigator:
    """A room of 6 x 6 m around (0, 0), cut by a wall at an angle that has an opening."""
    halves = [
        shapely.box(-6, -thick / 2, offset, thick / 2),
        shapely.box(offset + width, -thick / 2, 6, thick / 2),
    ]
    room = shapely.box(-3, -3, 3, 3)
    parts = [shapely.affinity.rotate(half, angle, origin=(0, 0), use_radians=True) for half in halves]
    return GridNavigator(extruded(room, [part.intersection(room) for part in parts]), Body())


def passes(navigator: GridNavigator, angle: float) -> bool:
    a = np.array([-1.5 * sin(angle), 0, 1.5 * cos(angle)])
    length = navigator.distance(a[None], -a[None])[0]
    assert (navigator.island(a) == navigator.island(-a)) == np.isfinite(length)
    return bool(np.isfinite(length))


@pytest.mark.parametrize("width", [0.34, 0.36, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0])
def test_doorways_are_never_closed(width: float) -> None:
    rng = np.random.default_rng(int(width * 100))
    for index in range(8):
        angle = 0.0 if index == 0 else rng.uniform(0, pi)
        assert passes(doorway(width, angle, rng.uniform(-0.5, 0.3), rng.choice(THICK)), angle)


@pytest.mark.parametrize("width", [0.1, 0.2, 0.3])
def test_gaps_never_open(width: float) -> None:
    rng = np.random.default_rng(int(width * 100))
    for index in range(8):
        angle = 0.0 if index == 0 else rng.uniform(0, pi)
        assert not passes(doorway(width, angle, rng.uniform(-0.5, 0.3), rng.choice(THICK)), angle)


def test_a_narrow_passage_is_no_shortcut() -> None:
    """Two rooms that a wide doorway joins: a narrow one beside it changes no distance by default."""
    wall = [
        shapely.box(-3, -0.05, -2, 0.05),
        shapely.box(-1.63, -0.05, 1.5, 0.05),
        shapely.box(2.4, -0.05, 3, 0.05),
    ]
    triangles = extruded(shapely.box(-3, -3, 3, 3), wall)
    a, b = np.array([[-1.8, 0, 1.0]]), np.array([[-1.8, 0, -1.0]])
    long = [
        GridNavigator(triangles, Body(narrow_passages=kind)).distance(a, b)[0] for kind in ("none", "joining")
    ]
    assert long[0] == pytest.approx(long[1], abs=1e-6) and long[0] > 6
    assert GridNavigator(triangles, Body(narrow_passages="all")).distance(a, b)[0] < 2.2


# -- the ends of the world ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def split() -> GridNavigator:
    """Two rooms of 3 x 4 m that no door joins: x -3..0 and 0.1..3.1."""
    wall = shapely.box(0, -2, 0.1, 2)
    return GridNavigator(extruded(shapely.box(-3, -2, 3.1, 2), [wall]), Body())


def test_islands(split: GridNavigator) -> None:
    left, right = np.array([-1.5, 0, 0]), np.array([1.5, 0, 0])
    assert 0 < split.island(left) != split.island(right) > 0
    assert np.isinf(split.distance(left[None], right[None])).all()
    assert split.path(left, right[None]).shape == (0, 3)
    both = np.stack([right, left + (0, 0, 1.0)])
    assert split.distance(left[None], both)[0] == pytest.approx(1.0)
    assert split.island_area(left) == pytest.approx(2.6 * 3.6, rel=0.05)
    assert split.island(np.array([0.05, 0, 0])) == 0 == split.island_area(np.array([0.05, 0, 0]))


def test_snap(split: GridNavigator) -> None:
    inside = split.snap(np.array([-1.0, 0.3, 0.5]))
    assert inside is not None and inside == pytest.approx([-1.0, 0, 0.5])
    near = split.snap(np.array([-2.95, 0, 0.5]))
    assert near is not None and split.is_navigable(near) and near[2] == pytest.approx(0.5)
    assert 0.1 < near[0] + 2.95 < 0.25
    assert split.snap(np.array([-2.95, 0, 0.5]), radius=0.1) is None
    assert (
        split.snap(np.array([-3.4, 0, 0.5])) is None and split.snap(np.array([-3.4, 0, 0.5]), 1.0) is not None
    )
    assert split.snap(np.array([-1.0, 1.5, 0.5])) is None  # in the air


@pytest.mark.parametrize("far", [(50.0, 0.0, 0.0), (-1e12, 0.0, 0.0), (0.0, 0.0, -77.0), (0.0, 1e9, 0.0)])
def test_points_outside_of_the_grid(split: GridNavigator, far: tuple[float, float, float]) -> None:
    place, inside = np.array(far), np.array([[-1.0, 0, 0]])
    assert not split.is_navigable(place) and split.island(place) == 0 and split.island_radius(place) == 0
    assert split.snap(place) is None
    assert np.isinf(split.distance(place[None], inside)).all()
    assert np.isinf(split.distance(inside, place[None])).all()
    assert split.path(place, inside).shape == (0, 3) == split.path(inside[0], place[None]).shape
    pose = Pose(*far)
    assert split.step(pose, "move_forward") == pose


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_numbers(split: GridNavigator, axis: int, value: float) -> None:
    place, inside = np.array([-1.0, 0, 0]), np.array([[-1.0, 0, 0.5]])
    place[axis] = value
    assert not split.is_navigable(place) and split.snap(place) is None and split.island(place) == 0
    many = np.repeat(place[None], 6, 0)
    for length in (split.distance(many, inside), split.distance(inside, many)):
        assert np.isinf(length).all()
    assert split.path(place, inside).shape == (0, 3)
    assert split.distance(inside, np.vstack([place, inside]))[0] == 0


def test_a_point_beside_the_free_area_counts_from_it(split: GridNavigator) -> None:
    target = np.array([[-1.0, 0, 0.0]])
    edge = split.snap(np.array([-2.95, 0, 0.0]))
    assert edge is not None
    length = split.distance(np.array([[-2.95, 0, 0.0]]), target)[0]
    assert length == pytest.approx(hypot(edge[0] + 1.0, edge[2]), abs=1e-6)
    assert split.distance(target, np.array([[-2.95, 0, 0.0]]))[0] == pytest.approx(length, abs=1e-6)


@pytest.mark.parametrize("what", ["nothing", "a wall", "a shaft", "too low"])
def test_a_scene_without_floor(what: str) -> None:
    triangles = {
        "nothing": np.zeros((0, 3, 3), np.float32),
        "a wall": np.array([[[0, 0, 0], [3, 0, 0], [3, 3, 0]]], np.float32),
        "a shaft": extruded(shapely.box(0, 0, 0.35, 0.35), []),
        "too low": extruded(shapely.box(0, 0, 4, 4), [], ceiling=1.3),
    }[what]
    navigator = GridNavigator(triangles, Body(), name="scenes/00001-abc")
    point = np.array([0.1, 0, 0.1])
    if what != "too low":  # there the ceiling's other side is a level, as nothing is above any
        assert navigator.floors == [] and navigator.floor_of(point) == -1
    assert not navigator.is_navigable(point) and navigator.snap(point) is None
    assert np.isinf(navigator.distance(point[None], point[None])).all()
    assert navigator.step(Pose(0.1, 0, 0.1), "move_forward") == Pose(0.1, 0, 0.1)
    if not navigator.floors:
        with pytest.raises(ValueError, match=r"scenes/00001-abc: no place on floor 0 of 0 .*scenes\.inspect"):
            navigator.random_point(np.random.default_rng(0), 0)


def test_a_floor_that_is_not_there(split: GridNavigator) -> None:
    with pytest.raises(ValueError, match="floors are 0 to 0"):
        split.random_point(np.random.default_rng(0), 1)


def test_searches_are_kept_within_a_bound() -> None:
    room = extruded(shapely.box(0, 0, 4, 4), [shapely.box(1, 1, 2, 2)])
    small, large = GridNavigator(room, Body(), cache_bytes=4000), GridNavigator(room, Body())
    rng = np.random.default_rng(0)
    points = np.array([small.random_point(rng, 0) for _ in range(60)])
    for navigator in (small, large):
        again = [navigator.distance(points, target[None]) for _ in range(2) for target in points]
        np.testing.assert_array_equal(again[:60], again[60:])
    assert small._kept <= 4000 and 0 < len(small._searches) < 60 == len(large._searches)
