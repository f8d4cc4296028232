"""The embedded simulator in rooms whose answers can be worked out by hand.

World frame: the rooms lie at x 0..5 and 5.1..10.1, z -4..0; the doorway at z -1.4..-0.5.
"""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, pi, radians
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.hm3dsem import SceneError
from hm3dm3_env.sim.base import Body, Camera
from hm3dm3_env.sim.embedded import SKY, EmbeddedSimulator
from tests.rooms import thing, write_two_rooms

WIDE = Camera(64, 36)
EAST = -pi / 2
"""The heading that looks along +x."""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., EmbeddedSimulator]:
    """Simulators over the two rooms with other doors, furniture and bodies."""

    def make(extra: list | None = None, door: float = 0.9, **body: float) -> EmbeddedSimulator:
        sim = EmbeddedSimulator(Body(**body))  # type: ignore[arg-type]
        sim.load(write_two_rooms(tmp_path_factory.mktemp("scene"), extra, door))
        return sim

    return make


@pytest.fixture(scope="module")
def empty(build: Callable[..., EmbeddedSimulator]) -> EmbeddedSimulator:
    return build()


# -- frames ------------------------------------------------------------------------------------------------


def test_depth_of_a_wall_is_planar(empty: EmbeddedSimulator) -> None:
    frame = empty.render([Pose(2.5, 0, -3, EAST)], WIDE)[0]
    assert frame.depth.shape == (36, 64) and frame.depth.dtype == np.float32
    np.testing.assert_allclose(frame.depth, 2.5, atol=1e-3)


@pytest.mark.parametrize("distance", [0.6, 1.0, 3.3, 4.9])
def test_depth_at_known_distances(empty: EmbeddedSimulator, distance: float) -> None:
    frame = empty.render([Pose(5 - distance, 0, -3, EAST)], Camera(8, 8, 10.0))[0]
    np.testing.assert_allclose(frame.depth, distance, atol=1e-3)


def test_points_of_a_turned_camera_lie_on_the_wall(empty: EmbeddedSimulator) -> None:
    frame = empty.render([Pose(3, 0, -3, EAST + 0.2, -0.1)], Camera(32, 32, 30.0))[0]
    assert np.ptp(frame.depth) > 0.1
    rows, columns = np.nonzero(frame.depth)
    points = frame.points(rows, columns)
    np.testing.assert_allclose(points[:, 0], 5.0, atol=1e-3)


def test_no_depth_outside_its_limits(empty: EmbeddedSimulator) -> None:
    near = empty.render([Pose(4.6, 0, -3, EAST)], WIDE)[0]
    assert (near.depth == 0).all()
    through_the_door = empty.render([Pose(0.5, 0, -0.95, EAST)], Camera(9, 9, 4.0))[0]
    assert (through_the_door.depth == 0).all()  # the next wall is 9.6 m away
    assert through_the_door.rgb is not None and not (through_the_door.rgb == SKY).all(-1).any()
    short = empty.render([Pose(2.5, 0, -3, EAST)], Camera(8, 8, 10.0, min_depth=0.1, max_depth=2.0))[0]
    assert (short.depth == 0).all()


def test_semantics(rooms_sim: EmbeddedSimulator) -> None:
    sofa = rooms_sim.scene.of_category("sofa")[0]
    pose = Pose(1.1, 0, -1.5, 0.0, radians(-30))  # the sofa is 1.5 m ahead, along -z
    frame = rooms_sim.render([pose], Camera(65, 65, 42.0), semantic=True)[0]
    assert frame.semantic is not None and frame.semantic.dtype == np.int32
    rows, columns = np.nonzero(frame.semantic == sofa.id)
    assert len(rows) > 500
    inside = frame.points(rows, columns)
    assert (inside > sofa.low - 1e-3).all() and (inside < sofa.high + 1e-3).all()
    assert frame.rgb is not None
    red = frame.rgb[rows, columns].astype(int)
    assert (red[:, 0] > 2 * red[:, 1]).all() and (red[:, 0] > 2 * red[:, 2]).all()
    assert set(np.unique(frame.semantic)) <= {0, *rooms_sim.scene.instances}


def test_only_what_was_asked_for(empty: EmbeddedSimulator) -> None:
    frame = empty.render([Pose(2, 0, -2)], WIDE, rgb=False)[0]
    assert frame.rgb is None and frame.semantic is None


def test_many_cameras_equal_one_by_one(rooms_sim: EmbeddedSimulator) -> None:
    poses = [
        Pose(2.5, 0, -2, 0.3),
        Pose(7, 0, -1, 2.0, 0.5),
        Pose(3, 0, -0.5, EAST, -0.5),
        Pose(6, 0, -3, -3.0),
    ]
    together = rooms_sim.render(poses, WIDE, semantic=True)
    for pose, frame in zip(poses, together):
        alone = rooms_sim.render([pose], WIDE, semantic=True)[0]
        assert frame.pose == pose and frame.camera == WIDE
        for name in ("depth", "rgb", "semantic"):
            np.testing.assert_array_equal(getattr(frame, name), getattr(alone, name))


def test_same_bytes_in_another_simulator(rooms_sim: EmbeddedSimulator, rooms_scene: Path) -> None:
    other = EmbeddedSimulator()
    other.load(rooms_scene)
    pose = Pose(2.5, 0, -2, 0.7, -0.2)
    a, b = rooms_sim.render([pose], WIDE, semantic=True)[0], other.render([pose], WIDE, semantic=True)[0]
    for name in ("depth", "rgb", "semantic"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


def test_loose_rays(rooms_sim: EmbeddedSimulator) -> None:
    origins = np.array([[2.5, 1.0, -3.0], [2.5, 1.0, -3.0]])
    distance, labels = rooms_sim.cast(origins, np.array([[0.5, 0, 0], [0, -1, 0]]))
    assert distance == pytest.approx([5.0, 1.0], abs=1e-4)  # in units of the directions
    names = [rooms_sim.scene.instances[int(i)].category for i in labels]
    assert names == ["wall", "floor"]


def test_nothing_loaded_and_nothing_there(tmp_path: Path, rooms_scene: Path) -> None:
    sim = EmbeddedSimulator()
    with pytest.raises(RuntimeError, match="call load"):
        sim.render([Pose(0, 0, 0)], WIDE)
    sim.load(rooms_scene)
    with pytest.raises(SceneError):
        sim.load(tmp_path)
    assert sim.scene.id == rooms_scene.name  # the last one is still there
    sim.close()
    sim.close()
    with pytest.raises(RuntimeError):
        sim.navigator  # noqa: B018


# -- where the body can stand ------------------------------------------------------------------------------


def test_one_floor_at_zero(empty: EmbeddedSimulator) -> None:
    assert empty.navigator.floors == pytest.approx([0.0], abs=1e-6)
    assert empty.navigator.floor_of(np.array([2, 0.3, -2])) == 0
    assert empty.navigator.floor_of(np.array([2, 1.0, -2])) == -1


def test_two_floors(build: Callable[..., EmbeddedSimulator]) -> None:
    upper = [thing("ceiling", (0, 0, 5.4), (10.1, 4, 5.5)), thing("sofa", (1, 1, 2.7), (3, 2, 3.5))]
    navigator = build(upper).navigator  # the lower ceiling, 2.6 to 2.7, is the upper floor
    assert navigator.floors == pytest.approx([0.0, 2.7], abs=1e-6)
    low, high = np.array([2.0, 0, -1.5]), np.array([8.0, 2.7, -1.5])
    assert (navigator.floor_of(low), navigator.floor_of(high)) == (0, 1)
    assert navigator.is_navigable(low) and not navigator.is_navigable(
        low + (0, 2.7, 0)
    )  # the sofa is upstairs
    assert np.isinf(navigator.distance(low[None], high[None])).all()
    assert navigator.random_point(np.random.default_rng(0), 1)[1] == pytest.approx(2.7)
    walked = navigator.step(Pose(8.0, 2.7, -1.5, EAST), "move_forward")
    assert (walked.x, walked.y) == pytest.approx((8.25, 2.7))


def test_a_roof_is_no_floor(empty: EmbeddedSimulator) -> None:
    assert len(empty.navigator.floors) == 1  # the top of the ceiling could be stood on, but nothing covers it


def test_the_body_keeps_its_radius_from_walls(empty: EmbeddedSimulator) -> None:
    at = empty.navigator.is_navigable
    assert at(np.array([2.5, 0, -2])) and at(np.array([0.25, 0, -2])) and at(np.array([4.75, 0, -2]))
    assert (
        not at(np.array([0.1, 0, -2])) and not at(np.array([4.9, 0, -2])) and not at(np.array([5.05, 0, -3]))
    )
    assert not at(np.array([-3, 0, -2])) and not at(np.array([2.5, 2.6, -2]))


def test_furniture_is_no_floor(rooms_sim: EmbeddedSimulator) -> None:
    for name in ("dining table", "sofa", "potted plant"):
        center = rooms_sim.scene.of_category(name)[0].center * (1, 0, 1)
        assert not rooms_sim.navigator.is_navigable(center)
        assert rooms_sim.navigator.island(center) == 0 and rooms_sim.navigator.island_radius(center) == 0


@pytest.mark.parametrize(("height", "passes"), [(0.02, True), (0.08, True), (0.16, False)])
def test_steps(build: Callable[..., EmbeddedSimulator], height: float, passes: bool) -> None:
    sim = build([thing("rug", (1.5, 0, 0), (3.5, 4, height))])  # across the whole room
    distance = sim.navigator.distance(np.array([[0.7, 0, -2]]), np.array([[4.5, 0, -2]]))[0]
    assert distance == pytest.approx(3.8, abs=0.01) if passes else np.isinf(distance)


@pytest.mark.parametrize("door", [0.7, 0.9])
def test_doorways_can_be_passed(build: Callable[..., EmbeddedSimulator], door: float) -> None:
    navigator = build(door=door).navigator
    a, b = np.array([2.5, 0, -3.0]), np.array([7.5, 0, -3.0])
    assert navigator.island(a) == navigator.island(b) > 0
    low, high = -0.5 - door, -0.5  # the doorway along z; the body's centre keeps 0.17 from its posts
    straight = 2 * hypot(2.5, -3.0 - low)
    assert straight < navigator.distance(a[None], b[None])[0] < 2 * hypot(2.6, -3.0 - low - 0.25) + 0.3
    path = navigator.path(a, b[None])
    inside = [(np.interp(5.05, path[:, 0], path[:, 2]))]
    assert low + 0.1 < inside[0] < high


def test_islands(build: Callable[..., EmbeddedSimulator]) -> None:
    navigator = build(door=0.3).navigator  # too narrow for a body of radius 0.17
    a, b = np.array([2.5, 0, -2.0]), np.array([7.5, 0, -2.0])
    assert 0 < navigator.island(a) != navigator.island(b) > 0
    assert np.isinf(navigator.distance(a[None], b[None])).all()
    assert navigator.path(a, b[None]).shape == (0, 3)
    near = np.array([1.0, 0, -1.0])
    both = np.stack([b, near])
    assert navigator.distance(a[None], both)[0] == pytest.approx(hypot(1.5, 1.0), abs=1e-6)
    np.testing.assert_allclose(navigator.path(a, both)[-1], near, atol=1e-9)
    free_width, free_height = 5 - 2 * 0.2, 4 - 2 * 0.2
    assert navigator.island_radius(a) == pytest.approx(hypot(free_width, free_height) / 2, abs=0.1)
    assert navigator.island_area(a) == pytest.approx(free_width * free_height, rel=0.06)


def test_snap(empty: EmbeddedSimulator) -> None:
    snap = empty.navigator.snap
    inside = snap(np.array([2.5, 0.2, -2.0]))
    assert inside is not None and inside == pytest.approx([2.5, 0, -2.0], abs=1e-6)
    beside = snap(np.array([0.05, 0, -2.0]))
    assert beside is not None and empty.navigator.is_navigable(beside)
    assert 0.1 < beside[0] < 0.3 and beside[2] == pytest.approx(-2.0, abs=0.03)
    assert snap(np.array([-3.0, 0, -2.0])) is None
    assert snap(np.array([0.0, 0, -2.0]), radius=0.05) is None
    assert snap(np.array([2.5, 2.0, -2.0])) is None


def test_random_points(empty: EmbeddedSimulator) -> None:
    navigator, rng = empty.navigator, np.random.default_rng(0)
    points = np.array([navigator.random_point(rng, 0) for _ in range(400)])
    assert all(navigator.is_navigable(p) for p in points)
    assert 0.4 < (points[:, 0] < 5).mean() < 0.6  # both rooms, by area
    again = np.random.default_rng(0)
    np.testing.assert_array_equal(points[:5], [navigator.random_point(again, 0) for _ in range(5)])


# -- moving ------------------------------------------------------------------------------------------------


def test_one_step_forward(empty: EmbeddedSimulator) -> None:
    start = Pose(2.5, 0, -2)
    for heading, x, z in ((0.0, 2.5, -2.25), (EAST, 2.75, -2.0), (pi / 2, 2.25, -2.0)):
        moved = empty.navigator.step(Pose(2.5, 0, -2, heading), "move_forward")
        assert (moved.x, moved.z, moved.heading) == pytest.approx((x, z, heading), abs=1e-6)
    assert empty.navigator.step(start, "wait") == start


def test_turns_and_looks(empty: EmbeddedSimulator) -> None:
    step, pose = empty.navigator.step, Pose(2.5, 0, -2)
    assert step(pose, "turn_left").heading == pytest.approx(radians(30))
    assert step(pose, "turn_right").heading == pytest.approx(radians(-30))
    round_trip = pose
    for _ in range(12):
        round_trip = step(round_trip, "turn_left")
    assert round_trip.heading == pytest.approx(0, abs=1e-9)
    assert step(pose, "look_up").pitch == pytest.approx(radians(30))
    up = down = pose
    for _ in range(5):
        up, down = step(up, "look_up"), step(down, "look_down")
    assert (up.pitch, down.pitch) == pytest.approx((radians(60), radians(-60)))
    with pytest.raises(ValueError, match="unknown action 'jump'"):
        step(pose, "jump")


@pytest.mark.parametrize("sliding", [False, True])
def test_collisions(build: Callable[..., EmbeddedSimulator], sliding: bool) -> None:
    navigator = build(allow_sliding=sliding).navigator
    pose = Pose(4.3, 0, -3, EAST)
    for _ in range(4):
        pose = navigator.step(pose, "move_forward")
    assert 4.75 < pose.x <= 4.85 and pose.z == pytest.approx(-3)  # 0.17 before the wall, to within a cell
    assert navigator.is_navigable(pose.position)
    slanted = Pose(pose.x, 0, -3, EAST + radians(30))  # 30 degrees to the left of the wall's normal
    moved = navigator.step(slanted, "move_forward")
    assert moved.x == pytest.approx(pose.x, abs=0.03)
    if sliding:
        assert moved.z == pytest.approx(-3 - 0.25 * 0.5, abs=0.03)
    else:
        assert abs(moved.z + 3) < 0.03


def test_a_walk_never_leaves_the_free_space(rooms_sim: EmbeddedSimulator) -> None:
    navigator, rng = rooms_sim.navigator, np.random.default_rng(1)
    pose = Pose(*map(float, navigator.random_point(rng, 0)))
    island = navigator.island(pose.position)
    for action in rng.choice(["move_forward", "move_forward", "turn_left", "turn_right"], 400):
        moved = navigator.step(pose, str(action))
        assert hypot(moved.x - pose.x, moved.z - pose.z) <= 0.25 + 1e-9
        pose = moved
        assert navigator.island(pose.position) == island


# -- distances ---------------------------------------------------------------------------------------------


def test_straight_distances_are_exact(empty: EmbeddedSimulator) -> None:
    a, b = np.array([0.83, 0, -0.71]), np.array([4.21, 0, -3.37])
    assert empty.navigator.distance(a[None], b[None])[0] == pytest.approx(hypot(3.38, 2.66), abs=1e-6)


def test_distances_are_metric_enough(rooms_sim: EmbeddedSimulator) -> None:
    navigator, rng = rooms_sim.navigator, np.random.default_rng(4)
    points = np.array([navigator.random_point(rng, 0) for _ in range(14)])
    table = np.stack([navigator.distance(points, p[None]) for p in points])
    assert np.isfinite(table).all() and np.diag(table) == pytest.approx(0, abs=1e-9)
    straight = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert (table >= straight - 1e-6).all()
    assert np.abs(table - table.T).max() < 0.15
    assert (table[:, :, None] + table[None] >= table[:, None] * 0.97 - 0.1).all()
    nearest = navigator.distance(points, points[:4])
    np.testing.assert_allclose(nearest, table[:4].min(0), atol=0.15)


def test_paths_are_as_long_as_the_distances(rooms_sim: EmbeddedSimulator) -> None:
    navigator, rng = rooms_sim.navigator, np.random.default_rng(5)
    targets = np.array([navigator.random_point(rng, 0) for _ in range(2)])
    for _ in range(20):
        start = navigator.random_point(rng, 0)
        path = navigator.path(start, targets)
        length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
        assert length == pytest.approx(navigator.distance(start[None], targets)[0], abs=0.08)
        np.testing.assert_array_equal(path[0], start)
        assert min(np.abs(path[-1] - t).max() for t in targets) < 1e-9


def test_nowhere(empty: EmbeddedSimulator) -> None:
    distance, here = empty.navigator.distance, np.array([[2.5, 0, -2.0]])
    assert np.isinf(distance(here, np.zeros((0, 3)))).all()
    assert np.isinf(distance(np.array([[-5.0, 0, -2.0]]), here)).all()
    assert np.isinf(distance(np.array([[2.5, 2.0, -2.0]]), here)).all()
    assert empty.navigator.path(np.array([-5.0, 0, -2.0]), here).shape == (0, 3)
