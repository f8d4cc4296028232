"""Frames, angles and quaternions."""

from __future__ import annotations

from math import cos, pi, radians, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm3dm3_env.geometry import (
    Pose,
    forward,
    from_quaternion,
    heading_to,
    pitch_to,
    rotation_matrix,
    to_quaternion,
    wrap,
    z_up_to_y_up,
)

HEADINGS = st.floats(-3.1, 3.1)
PITCHES = st.floats(-1.5, 1.5)


def quaternion_matrix(x: float, y: float, z: float, w: float) -> np.ndarray:
    """The textbook formula."""
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


@given(HEADINGS, PITCHES)
def test_quaternion_round_trip(heading: float, pitch: float) -> None:
    assert from_quaternion(to_quaternion(heading, pitch)) == pytest.approx((heading, pitch), abs=1e-6)


@given(HEADINGS, PITCHES)
def test_opposite_signs_are_the_same_rotation(heading: float, pitch: float) -> None:
    negated = [-v for v in to_quaternion(heading, pitch)]
    assert from_quaternion(negated) == pytest.approx((heading, pitch), abs=1e-6)


@given(HEADINGS, PITCHES)
def test_rotation_matrix_is_the_quaternions(heading: float, pitch: float) -> None:
    expected = quaternion_matrix(*to_quaternion(heading, pitch))
    np.testing.assert_allclose(rotation_matrix(heading, pitch), expected, atol=1e-12)


@given(HEADINGS, PITCHES)
def test_rotation_matrix_is_a_rotation(heading: float, pitch: float) -> None:
    matrix = rotation_matrix(heading, pitch)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1)
    assert matrix[1, 0] == 0  # the right axis is level: no roll


@given(HEADINGS, PITCHES)
def test_rounded_as_stored_still_reads(heading: float, pitch: float) -> None:
    stored = [round(v, 6) for v in to_quaternion(heading, pitch)]
    assert from_quaternion(stored) == pytest.approx((heading, pitch), abs=1e-4)


@pytest.mark.parametrize("angle", [0.1, 0.5, pi / 2, 3.0])
def test_roll_is_refused(angle: float) -> None:
    with pytest.raises(ValueError, match="rolls"):
        from_quaternion([0.0, 0.0, sin(angle / 2), cos(angle / 2)])


@pytest.mark.parametrize("heading", [0.0, 0.3, 1.0, pi / 2, -2.0, 3.0])
@pytest.mark.parametrize("pitch", [0.0, 0.4])
def test_wxyz_order_is_refused(heading: float, pitch: float) -> None:
    x, y, z, w = to_quaternion(heading, pitch)
    with pytest.raises(ValueError, match=r"\[w, x, y, z\] by mistake"):
        from_quaternion([w, x, y, z])


@pytest.mark.parametrize(("rotation", "message"), [
    ([0, 0, 0], "four finite"), ([0, 0, 0, 0, 1], "four finite"), ([0, 0, 0, float("nan")], "four finite"),
    ([0, 0, float("inf"), 1], "four finite"), ([0, 0, 0, 0], "unit length"), ([0, 0.5, 0, 1], "unit length"),
])
def test_what_is_no_rotation_is_refused(rotation: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_quaternion(rotation)


def test_forward_and_turning() -> None:
    np.testing.assert_allclose(forward(0.0), [0, 0, -1])
    np.testing.assert_allclose(forward(pi / 2), [-1, 0, 0], atol=1e-12)  # left of -z is -x


@given(HEADINGS, st.floats(0.1, 50))
def test_heading_to_is_the_inverse_of_forward(heading: float, distance: float) -> None:
    source = np.array([1.0, 2.0, 3.0])
    target = source + forward(heading) * distance + (0, 0.7, 0)  # height does not matter
    assert wrap(heading_to(source, target) - heading) == pytest.approx(0, abs=1e-6)


@given(HEADINGS, PITCHES)
def test_looking_at_something_puts_it_ahead(heading: float, pitch: float) -> None:
    eye = np.array([0.5, 1.3, -2.0])
    target = eye - 3 * rotation_matrix(heading, pitch)[:, 2]
    assert heading_to(eye, target) == pytest.approx(heading, abs=1e-6)
    assert pitch_to(eye, target) == pytest.approx(pitch, abs=1e-6)


@given(st.floats(-100, 100))
def test_wrap(angle: float) -> None:
    wrapped = wrap(angle)
    assert -pi < wrapped <= pi
    assert cos(wrapped) == pytest.approx(cos(angle), abs=1e-9)
    assert sin(wrapped) == pytest.approx(sin(angle), abs=1e-9)


def test_wrap_keeps_pi_positive() -> None:
    assert wrap(pi) == wrap(-pi) == wrap(3 * pi) == pi


def test_z_up_files() -> None:
    assert z_up_to_y_up(np.array([1.0, 2.0, 3.0])).tolist() == [1, 3, -2]
    assert z_up_to_y_up(np.zeros((4, 3, 3))).shape == (4, 3, 3)


def test_pose_moves_and_keeps_looking() -> None:
    pose = Pose(1, 2, 3, radians(30), 0.1).moved(np.array([4, 5, 6]))
    assert pose == Pose(4, 5, 6, radians(30), 0.1)
    assert pose.position.tolist() == [4, 5, 6]
