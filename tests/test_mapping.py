"""The shared map, built from frames in the two rooms."""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED, UNKNOWN, MapConfig, SharedMap
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from tests.rooms import thing, write_two_rooms

EAST = -pi / 2
CAMERA = Camera(90, 160)
SMALL = MapConfig(size=32.0)


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedSimulator:
    """The two rooms with a rug (5 cm) and a post (1 m) only."""
    sim = EmbeddedSimulator()
    extra = [thing("rug", (1.0, 1.0, 0), (3.0, 2.0, 0.05)), thing("post", (3.0, 3.0, 0), (3.2, 3.2, 1.0))]
    sim.load(write_two_rooms(tmp_path_factory.mktemp("map"), extra))
    return sim


def seen(sim: EmbeddedSimulator, *poses: Pose, config: MapConfig = SMALL) -> SharedMap:
    shared = SharedMap(config, np.array([5.0, 0.0, -2.0]), 0.0)
    for frame in sim.render(poses, CAMERA):
        shared.update(frame)
    return shared


def state(shared: SharedMap, x: float, z: float) -> int:
    return int(shared.cells[tuple(shared.to_cell(np.array([x, 0, z])))])


def test_starts_unknown() -> None:
    shared = SharedMap(MapConfig(), np.array([1.0, 0.0, 2.0]), 0.0)
    assert shared.cells.shape == (1280, 1280) and not shared.cells.any()
    assert shared.explored_area() == 0
    middle = shared.to_cell(np.array([1.0, 0, 2.0]))
    assert np.abs(middle - 640).max() <= 1


def test_wall_ahead(sim: EmbeddedSimulator) -> None:
    shared = seen(sim, Pose(2.5, 0, -2.5, EAST))
    for z in np.arange(-3.3, -1.75, 0.1):
        hit = [x for x in np.arange(4.0, 6.0, 0.05) if state(shared, x + 0.01, z) == OCCUPIED]
        assert len(hit) in (1, 2) and hit[0] == pytest.approx(5.0, abs=0.051)
    for x in np.arange(2.6, 4.9, 0.05):
        assert state(shared, x, -2.5) == FREE
    rows, columns = np.nonzero(shared.cells)
    assert shared.to_world(np.stack([rows, columns], -1))[:, 0].max() < 5.1  # nothing behind the wall
    assert state(shared, 2.5 - 0.3, -2.5) == UNKNOWN  # nor behind the agent


def test_the_whole_cone_is_free(sim: EmbeddedSimulator) -> None:
    shared = seen(sim, Pose(0.5, 0, -2.5, EAST))
    for distance in (1.0, 2.0, 3.0, 4.0):
        for side in np.arange(0, 0.31, 0.05) * distance:  # on the side without the post
            assert state(shared, 0.5 + distance, -2.5 + side) == FREE


def test_low_things_are_free_and_high_ones_are_not(sim: EmbeddedSimulator) -> None:
    shared = seen(sim, Pose(0.3, 0, -1.5, EAST), Pose(0.3, 0, -3.1, EAST), Pose(0.3, 0, -1.5, EAST, -0.5))
    assert state(shared, 2.0, -1.5) == FREE  # the rug
    assert state(shared, 3.02, -3.1) == OCCUPIED  # the post
    assert state(shared, 4.0, -3.1) == UNKNOWN  # its shadow: the floor there is hidden


def test_a_lintel_does_not_close_the_doorway(sim: EmbeddedSimulator) -> None:
    shared = seen(sim, Pose(3.5, 0, -0.95, EAST), Pose(3.5, 0, -0.95, EAST, 0.3))
    for x in np.arange(3.6, 6.5, 0.05):
        assert state(shared, x, -0.95) == FREE


def test_folding_again_changes_nothing(sim: EmbeddedSimulator) -> None:
    pose = Pose(2.5, 0, -2.5, EAST)
    once, twice = seen(sim, pose), seen(sim, pose, pose)
    np.testing.assert_array_equal(once.cells, twice.cells)


def test_box_and_window_hold_everything_known(sim: EmbeddedSimulator) -> None:
    shared = seen(sim, Pose(2.5, 0, -2.5, EAST), Pose(7, 0, -2, 1.0))
    shared.mark_free(np.array([0.5, 0, -0.5]), 0.17)
    rows, columns = shared.window(0.0)
    inside = np.count_nonzero(shared.cells[rows, columns])
    assert inside == np.count_nonzero(shared.cells) > 0
    assert shared.explored_area() == pytest.approx(inside * 0.05**2)
    wide_rows, wide_columns = shared.window(1.0)
    assert wide_rows.start == rows.start - 20 and wide_columns.stop == columns.stop + 20


def test_where_an_agent_stands_is_free_but_walls_stay() -> None:
    shared = SharedMap(SMALL, np.zeros(3), 0.0)
    shared.mark_occupied(np.array([0.1, 0, 0]))
    shared.mark_free(np.zeros(3), 0.17)
    assert state(shared, 0.1, 0) == OCCUPIED and state(shared, -0.1, 0) == FREE
    assert state(shared, 0.3, 0) == UNKNOWN
    assert np.count_nonzero(shared.cells) * 0.05**2 == pytest.approx(pi * 0.17**2, rel=0.25)


def test_outside_of_the_map_nothing_breaks(sim: EmbeddedSimulator) -> None:
    shared = SharedMap(MapConfig(size=2.0), np.array([2.5, 0, -2.5]), 0.0)
    for frame in sim.render([Pose(2.5, 0, -2.5, EAST)], CAMERA):
        shared.update(frame)
    shared.mark_free(np.array([50.0, 0, 50.0]), 0.17)
    assert shared.cells.shape == (40, 40) and (shared.cells == FREE).any()
    assert (shared.crop(Pose(50, 0, 50), 16, 0.1)[..., 2] == 255).all()


@given(st.integers(0, 639), st.integers(0, 639))
def test_cells_and_world(row: int, column: int) -> None:
    shared = SharedMap(SMALL, np.array([3.21, 0, -7.7]), 0.4)
    world = shared.to_world(np.array([row, column]))
    assert world[1] == 0.4
    assert shared.to_cell(world).tolist() == [row, column]


# -- crops -------------------------------------------------------------------------------------------------


def test_crop_has_the_wall_ahead_at_the_top(sim: EmbeddedSimulator) -> None:
    pose = Pose(2.5, 0, -2.5, EAST)
    crop = seen(sim, pose).crop(pose, 64, 0.1)
    assert crop.shape == (64, 64, 3) and crop.dtype == np.uint8
    assert (np.sort(crop, -1) == (0, 0, 255)).all()  # each pixel is exactly one of free, occupied, unknown
    column = crop[:, 32]
    walls = np.flatnonzero(column[:, 1])
    assert len(walls) and (31 - walls) * 0.1 == pytest.approx(2.5, abs=0.16)
    assert (column[walls.max() + 1 : 30, 0] == 255).all()  # free up to the wall
    assert (column[: walls.min(), 2] == 255).all()  # unknown behind it
    assert (crop[36:, :, 2] == 255).all()  # unknown behind the agent


@pytest.mark.parametrize("heading", [0.0, 0.7, pi / 2, pi, -2.0])
@pytest.mark.parametrize(("ahead", "right"), [(1.5, 0.0), (0.0, 1.5), (1.0, -2.0), (-1.2, 0.5)])
def test_crop_turns_with_the_agent(heading: float, ahead: float, right: float) -> None:
    shared, pose = SharedMap(SMALL, np.zeros(3), 0.0), Pose(0.3, 0, -0.2, heading)
    forward, side = np.array([-sin(heading), 0, -cos(heading)]), np.array([cos(heading), 0, -sin(heading)])
    center = pose.position + ahead * forward + right * side
    for dx in np.arange(-0.15, 0.16, 0.05):
        for dz in np.arange(-0.15, 0.16, 0.05):
            shared.mark_occupied(center + (dx, 0, dz))
    rows, columns = np.nonzero(shared.crop(pose, 64, 0.1)[..., 1])
    assert (31.5 - rows.mean()) * 0.1 == pytest.approx(ahead, abs=0.08)
    assert (columns.mean() - 31.5) * 0.1 == pytest.approx(right, abs=0.08)


def test_frames_are_thinned_to_the_stride(rooms_scene: Path, rooms_sim: EmbeddedSimulator) -> None:
    pose = Pose(2.5, 0, -2.0, 0.5)
    big = rooms_sim.render([pose], Camera(360, 640))[0]
    shared, coarse = (SharedMap(MapConfig(size=32, stride=s), pose.position, 0.0) for s in (640, 160))
    shared.update(big)
    coarse.update(big)
    known = shared.cells > 0
    assert (coarse.cells > 0)[known].mean() > 0.9
