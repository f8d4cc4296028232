"""From boxes and pixels to points in space: what is behind, what stands in front, and no depth at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import Camera, Frame
from policies.recognition.config import PlaceConfig
from policies.recognition.place import Box, grown, place_box, place_pixels, too_offset

CAMERA, CONFIG = Camera(120, 160), PlaceConfig()
BOX: Box = (40, 60, 80, 100)
"""In the middle of the frame."""


def frame(depth: float = 4.0) -> Frame:
    """A wall straight ahead."""
    return Frame(Pose(1.0, 0.0, 2.0, 0.0), CAMERA, np.full((160, 120), depth, np.float32))


def depth_of(seen: Frame, config: PlaceConfig = CONFIG, box: Box = BOX) -> float | None:
    """How far ahead the place of a box is (the robot looks along -z)."""
    place = place_box(seen, box, config)
    return None if place is None else 2.0 - float(place.point[2])


def test_the_point_is_the_surface_in_the_boxs_middle() -> None:
    seen = frame(3.0)
    place = place_box(seen, BOX, CONFIG)
    assert place is not None
    wanted = seen.points(np.array([80]), np.array([60]))[0]
    assert np.linalg.norm(place.point - wanted) < 0.4 and place.point[2] == pytest.approx(-1.0)
    eye = CAMERA.eye(seen.pose)
    assert place.distance == pytest.approx(np.hypot(*(place.point - eye)[[0, 2]]))


@pytest.mark.parametrize("side", ["left", "right", "top", "bottom"])
def test_half_of_the_box_is_background(side: str) -> None:
    seen = frame(4.0)
    part = {"left": np.s_[:, :60], "right": np.s_[:, 60:], "top": np.s_[:80], "bottom": np.s_[80:]}[side]
    seen.depth[part] = 2.0
    assert depth_of(seen) == pytest.approx(2.0, abs=0.01)


def test_a_pole_in_front_is_not_the_object() -> None:
    seen = frame(4.0)
    seen.depth[50:110, 30:90] = 2.5
    seen.depth[:, 58:63] = 1.0
    assert depth_of(seen) == pytest.approx(2.5, abs=0.01)
    seen.depth[:, 48:72] = 1.0  # this wide it is no pole
    assert depth_of(seen) == pytest.approx(1.0, abs=0.01)


def test_crumbs_of_many_depths_do_not_count() -> None:
    seen = frame(3.0)
    rng = np.random.default_rng(0)
    spots = rng.random(seen.depth.shape) < 0.2
    seen.depth[spots] = rng.uniform(0.5, 4.5, spots.sum())
    assert depth_of(seen) == pytest.approx(3.0, abs=0.2)


def test_a_surface_that_recedes_is_one_layer() -> None:
    seen = frame()
    seen.depth[:] = np.linspace(1.5, 4.0, 120)[None]
    assert depth_of(seen) == pytest.approx(seen.depth[80, 60], abs=0.15)


def test_without_depth() -> None:
    seen = frame(0.0)
    assert depth_of(seen) is None
    seen.depth[78:82, 58:62] = 2.0  # what returns counts
    assert depth_of(seen) == pytest.approx(2.0, abs=0.01)
    assert depth_of(seen, replace(CONFIG, least=17)) is None
    assert depth_of(frame(4.9)) is None  # too near to the end of the range
    assert depth_of(frame(4.9), replace(CONFIG, far=1.0)) == pytest.approx(4.9, abs=0.01)


def test_boxes_at_the_side_are_skipped() -> None:
    assert too_offset((0, 0, 40, 100), 120, 0.05) and too_offset((81, 0, 120, 100), 120, 0.05)
    assert not too_offset((0, 0, 41, 100), 120, 0.05)  # it reaches out of the third
    assert not too_offset((7, 0, 40, 100), 120, 0.05)  # it does not reach the edge
    assert depth_of(frame(), box=(0, 60, 30, 100)) is None
    assert depth_of(frame(), replace(CONFIG, offset=False), (0, 60, 30, 100)) == pytest.approx(4.0, abs=0.01)


def test_small_and_foreign_boxes() -> None:
    least = replace(CONFIG, least=1)
    assert depth_of(frame(), least, (60, 80, 61, 81)) == pytest.approx(4.0, abs=0.01)
    assert depth_of(frame(), least, (200, 80, 230, 90)) is None  # outside the frame


def test_pixels_by_weight() -> None:
    seen = frame(4.0)
    seen.depth[:, :60] = 2.0
    rows, columns = np.full(40, 80), np.arange(40, 80)
    near = np.where(columns < 60, 0.1, 1.0)
    place = place_pixels(seen, rows, columns, CONFIG, near)
    assert place is not None and place.point[2] == pytest.approx(-2.0)  # the near half weighs too little
    place = place_pixels(seen, rows, columns, CONFIG)
    assert place is not None and place.point[2] == pytest.approx(0.0)


def test_growing_stays_in_the_frame() -> None:
    assert grown((10, 20, 30, 60), 0.5, 120, 160) == (0, 0, 40, 80)
    assert grown((100, 150, 120, 160), 0.5, 120, 160) == (90, 145, 120, 160)
