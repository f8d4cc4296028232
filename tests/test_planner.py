"""Planning and frontiers on maps drawn by hand."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED, UNKNOWN, MapConfig, SharedMap
from hm3dm3_env.sim.base import Body
from policies.frontiers import FrontierConfig, find_frontiers
from policies.planner import FORWARD, LEFT, RIGHT, MapPlanner, PlannerConfig, face

SOLVERS = ("any_angle", "fast_marching")


def paint(shared: SharedMap, low: tuple[float, float], high: tuple[float, float], state: int) -> None:
    """Set the cells of a rectangle (x, z) of the map."""
    r0, c0 = shared.to_cell(np.array([low[0], 0, low[1]]) + 1e-6)
    r1, c1 = shared.to_cell(np.array([high[0], 0, high[1]]) - 1e-6)
    shared.cells[r0 : r1 + 1, c0 : c1 + 1] = state
    box = shared.box
    box[:] = min(box[0], r0), max(box[1], r1 + 1), min(box[2], c0), max(box[3], c1 + 1)


def open_map() -> SharedMap:
    """An 8 x 8 m square of free floor around the origin."""
    shared = SharedMap(MapConfig(size=16.0), np.zeros(3), 0.0)
    paint(shared, (-4, -4), (4, 4), FREE)
    return shared


def walled() -> SharedMap:
    """The open map with a wall along x = 0, open only above z = 2."""
    shared = open_map()
    paint(shared, (0, -4), (0.1, 2), OCCUPIED)
    return shared


def planner(shared: SharedMap, **config) -> MapPlanner:
    found = MapPlanner(shared, Body(), replace(PlannerConfig(), **config))
    found.update()
    return found


def length(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("coarsen", [1, 2])
@pytest.mark.parametrize("end", [(3, -2), (-1, 2.5), (2, 2), (-3.2, -2), (-3, 1)])
def test_open_floor_is_walked_straight(solver: str, coarsen: int, end: tuple[float, float]) -> None:
    plan = planner(open_map(), solver=solver, coarsen=coarsen)
    start, target = Pose(-3, 0, -2, 0.0), np.array([end[0], 0, end[1]])
    field = plan.field(start)
    straight = np.linalg.norm(target - start.position)
    grid = plan.map.cell * coarsen
    assert plan.distances(field, target[None])[0] == pytest.approx(straight, rel=0.06, abs=2 * grid)
    path = plan.path(field, target)
    assert (
        np.linalg.norm(path[0] - start.position) < 2 * grid and np.linalg.norm(path[-1] - target) < 2 * grid
    )
    if solver == "any_angle":
        assert length(path) == pytest.approx(straight, rel=0.06, abs=2 * grid)


@pytest.mark.parametrize("solver", SOLVERS)
def test_round_a_wall(solver: str) -> None:
    shared = walled()
    plan = planner(shared, solver=solver)
    start, target = Pose(-1, 0, -2, 0.0), np.array([1.0, 0, -2.0])
    corner = np.array([0.0, 0, 2.2])
    expected = 2 * np.linalg.norm(corner - start.position)
    field = plan.field(start)
    assert plan.distances(field, target[None])[0] == pytest.approx(expected, rel=0.08)
    path = plan.path(field, target)
    assert path[:, 2].max() > 2.0
    dense = np.concatenate([np.linspace(a, b, 200) for a, b in zip(path, path[1:])])
    rows, columns = shared.to_cell(dense).T
    assert not (shared.cells[rows, columns] == OCCUPIED).any()


def test_block_size_hardly_matters() -> None:
    shared = walled()
    paint(shared, (1.5, -1.0), (2.5, -0.9), OCCUPIED)
    targets = np.array([[1.0, 0, -2.0], [3, 0, 3], [-3, 0, 3], [2, 0, -3.5], [2, 0, -0.5]])
    fine, coarse = (planner(shared, coarsen=n) for n in (1, 2))
    start = Pose(-1, 0, -2, 0.0)
    a, b = (p.distances(p.field(start), targets) for p in (fine, coarse))
    assert np.isfinite(a).all()
    np.testing.assert_allclose(a, b, rtol=0.1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_unreachable_is_no_path(solver: str) -> None:
    shared = open_map()
    paint(shared, (0, -4), (0.1, 4), OCCUPIED)
    plan = planner(shared, solver=solver)
    field = plan.field(Pose(-1, 0, -2, 0.0))
    target = np.array([1.0, 0, -2.0])
    assert plan.path(field, target).shape == (0, 3)
    assert np.isinf(plan.distances(field, target[None])).all()
    assert plan.distances(field, np.zeros((0, 3))).shape == (0,)


def test_unknown_floor_is_entered_only_on_request() -> None:
    shared = open_map()
    paint(shared, (0, -4), (1, 4), UNKNOWN)
    plan, target = planner(shared), np.array([2.0, 0, 0.0])
    start = Pose(-1, 0, 0, 0.0)
    assert not len(plan.path(plan.field(start), target))
    hopeful = plan.path(plan.field(start, hope=1), target)
    assert length(hopeful) == pytest.approx(3.0, abs=0.3)


def test_a_narrow_gap_is_tried_last() -> None:
    """35 cm between two walls: too narrow with clearance on both sides, not for a body of radius 0.17."""
    shared = open_map()
    paint(shared, (0, -4), (0.1, 0), OCCUPIED)
    paint(shared, (0, 0.35), (0.1, 4), OCCUPIED)
    plan, start, target = planner(shared, coarsen=1), Pose(-2, 0, 0.2, 0.0), np.array([2.0, 0, 0.2])
    assert not len(plan.path(plan.field(start), target))
    assert length(plan.path(plan.field(start, hope=1), target)) > 8  # round the end, over unknown floor
    path = plan.path(plan.field(start, hope=2), target)
    assert length(path) == pytest.approx(4.0, abs=0.2)


def test_a_point_behind_the_surface_counts_as_the_floor_before_it() -> None:
    shared = open_map()
    paint(shared, (1, -1), (2, 1), OCCUPIED)
    plan = planner(shared)
    field, middle = plan.field(Pose(-2, 0, 0, 0.0)), np.array([1.3, 0, 0.0])
    assert np.isinf(plan.distances(field, middle[None], slack=0.2)).all()
    path = plan.path(field, middle, slack=1.0)
    assert 0.4 < path[-1, 0] < 1.0 and abs(path[-1, 2]) < 0.3


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_robot_inside_grown_cells_can_leave(solver: str) -> None:
    plan = planner(walled(), solver=solver)
    tight = Pose(-0.08, 0, -2, 0.0)
    assert plan.grown[tuple(plan.map.to_cell(tight.position))]
    field = plan.field(tight)
    assert len(plan.path(field, np.array([-2.0, 0, -2.0])))
    across = plan.distances(field, np.array([[1.0, 0, -2.0]]))[0]
    assert across > 7  # leaving does not mean walking through the wall


def test_new_obstacles_grow() -> None:
    shared = open_map()
    plan = planner(shared)
    assert not plan.grown.any()
    shared.mark_occupied(np.array([1.0, 0, 1.0]))
    plan.update()
    cells = np.argwhere(plan.grown)
    gaps = np.hypot(
        *(shared.to_world(cells) - shared.to_world(shared.to_cell(np.array([1.0, 0, 1.0]))))[:, [0, 2]].T
    )
    assert gaps.max() <= 0.2 + 1e-9 and len(cells) == pytest.approx(pi * 0.2**2 / 0.05**2, rel=0.15)
    assert not plan.clear(np.array([0.0, 0, 1.0]), np.array([2.0, 0, 1.0]))
    assert plan.clear(np.array([0.0, 0, 1.4]), np.array([2.0, 0, 1.4]))


def test_steer_drops_passed_corners_and_arrives() -> None:
    plan = planner(walled())
    pose, target = Pose(-1, 0, 1.0, 0.0), np.array([1.0, 0, 1.0])
    path = plan.path(plan.field(pose), target)
    counts, actions = [len(path)], 0
    while True:
        action, path = plan.steer(pose, path)
        counts.append(len(path))
        if action is None:
            break
        turn = {LEFT: pi / 6, RIGHT: -pi / 6}.get(action, 0.0)
        step = 0.25 if action == FORWARD else 0.0
        pose = Pose(
            pose.x - np.sin(pose.heading) * step, 0, pose.z - np.cos(pose.heading) * step, pose.heading + turn
        )
        assert plan.map.cells[tuple(plan.map.to_cell(pose.position))] == FREE
        actions += 1
        assert actions < 80
    assert np.hypot(pose.x - target[0], pose.z - target[2]) <= 0.3
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] == 1


def test_face_turns_the_short_way() -> None:
    here = Pose(0, 0, 0, 0.0)  # looks along -z
    assert face(here, np.array([0.0, 0, -1]), 15) is None
    assert face(here, np.array([1.0, 0, -1]), 15) == RIGHT
    assert face(here, np.array([-1.0, 0, 0.5]), 15) == LEFT


def test_unknown_solver_is_named() -> None:
    with pytest.raises(ValueError, match="dijkstra"):
        planner(open_map(), solver="dijkstra")


# -- frontiers ---------------------------------------------------------------------------------------------


def frontiers(shared: SharedMap, config: FrontierConfig | None = None):
    window = shared.window(0.5)
    return find_frontiers(shared, ~planner(shared).grown[window], window, config or FrontierConfig())


def room_with_two_doors() -> SharedMap:
    """A walled room of 8 x 6 m with gaps at the east (1 m) and the north (2 m); nothing is known outside."""
    shared = SharedMap(MapConfig(size=16.0), np.zeros(3), 0.0)
    paint(shared, (-4, -3), (4, 3), OCCUPIED)
    paint(shared, (-3.9, -2.9), (3.9, 2.9), FREE)
    paint(shared, (3.9, -0.5), (4, 0.5), FREE)
    paint(shared, (-2, 2.9), (0, 3), FREE)
    return shared


def test_frontiers_are_in_the_doors() -> None:
    found = frontiers(room_with_two_doors())
    order = np.argsort(found.points[:, 0])
    np.testing.assert_allclose(found.points[order][:, [0, 2]], [[-1.0, 2.95], [3.95, 0.0]], atol=0.1)
    assert found.sizes[order][0] == pytest.approx(1.6, abs=0.15)  # 2 m less the clearance at both posts
    assert found.sizes[order][1] == pytest.approx(0.6, abs=0.15)


def test_small_pockets_are_ignored() -> None:
    shared = room_with_two_doors()
    paint(shared, (-1, -1), (-0.4, -0.4), UNKNOWN)  # 0.36 square metres in the middle of the floor
    assert len(frontiers(shared).points) == 2
    paint(shared, (-1, -1), (0, 0), UNKNOWN)  # 1 square metre
    assert len(frontiers(shared).points) == 3
    assert len(frontiers(shared, FrontierConfig(min_unknown=1.5)).points) == 2


def test_short_frontiers_are_ignored() -> None:
    assert len(frontiers(room_with_two_doors(), FrontierConfig(min_length=1.0)).points) == 1
    nothing = frontiers(room_with_two_doors(), FrontierConfig(min_length=5.0))
    assert nothing.points.shape == (0, 3) and nothing.sizes.shape == (0,)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_robot_that_is_walled_in_reaches_nothing_but_where_it_is(solver: str) -> None:
    shared = open_map()
    paint(shared, (-1, -1), (1, 1), OCCUPIED)
    plan, here = planner(shared, solver=solver), Pose(0, 0, 0, 0.0)
    field = plan.field(here, 2)
    assert np.isfinite(field.distance).sum() == 1
    assert field.distance[tuple(plan.blocks(field, here.position[None])[0])] == 0
    assert not len(plan.route(here, np.array([3.0, 0, 3.0]), 0.3, 2))
