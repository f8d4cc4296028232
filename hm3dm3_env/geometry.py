"""Frames and angles, in one place.

World: metres, right-handed, **y up**; at heading 0 an agent looks along -z (habitat-sim's convention).
Heading turns counter-clockwise seen from above (left is positive); pitch is positive when looking up.
Quaternions in files are [x, y, z, w]. Scene files are z up with front +y, as HM3D stores them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atan2, cos, hypot, pi, sin

import numpy as np


@dataclass(frozen=True)
class Pose:
    """Where something stands: `x, y, z` metres (y is the floor under an agent), `heading` and `pitch`
    radians."""

    x: float
    y: float
    z: float
    heading: float = 0.0
    pitch: float = 0.0

    @property
    def position(self) -> np.ndarray:
        """(3,) float64 world position."""
        return np.array([self.x, self.y, self.z])

    def moved(self, position: np.ndarray) -> Pose:
        """The same orientation at another (3,) position."""
        return replace(self, x=float(position[0]), y=float(position[1]), z=float(position[2]))


def wrap(angle: float) -> float:
    """`angle` in (-pi, pi]."""
    wrapped = (angle + pi) % (2 * pi) - pi
    return pi if wrapped == -pi else wrapped


def forward(heading: float) -> np.ndarray:
    """(3,) unit vector of a heading, in the floor plane."""
    return np.array([-sin(heading), 0.0, -cos(heading)])


def heading_to(source: np.ndarray, target: np.ndarray) -> float:
    """The heading that looks from `source` (3,) to `target` (3,), ignoring height."""
    return atan2(source[0] - target[0], source[2] - target[2])


def pitch_to(source: np.ndarray, target: np.ndarray) -> float:
    """The pitch that looks from the eye at `source` (3,) to `target` (3,)."""
    return atan2(target[1] - source[1], hypot(target[0] - source[0], target[2] - source[2]))


def plan(point: np.ndarray) -> list[float]:
    """[x, z] of a (3,) point, as records keep it: to a millimetre."""
    return [round(float(point[0]), 3), round(float(point[2]), 3)]


def rotation_matrix(heading: float, pitch: float) -> np.ndarray:
    """(3, 3) camera-to-world rotation: columns are the camera's right, up and back axes."""
    ch, sh, cp, sp = cos(heading), sin(heading), cos(pitch), sin(pitch)
    yaw = np.array([[ch, 0, sh], [0, 1, 0], [-sh, 0, ch]])
    tilt = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
    return yaw @ tilt


def to_quaternion(heading: float, pitch: float = 0.0) -> list[float]:
    """[x, y, z, w] of a heading and a pitch, as habitat's files store rotations."""
    ch, sh, cp, sp = cos(heading / 2), sin(heading / 2), cos(pitch / 2), sin(pitch / 2)
    return [ch * sp, sh * cp, -sh * sp, ch * cp]


def from_quaternion(rotation: list[float]) -> tuple[float, float]:
    """(heading, pitch) of an [x, y, z, w] rotation without roll.

    Raises:
        ValueError: not four finite numbers, not of unit length (2%), rolled, or upside down.
    """
    q = np.asarray(rotation, float)
    if q.shape != (4,) or not np.isfinite(q).all():
        raise ValueError(f"rotation must be four finite numbers [x, y, z, w], not {rotation!r}")
    if abs(np.linalg.norm(q) - 1.0) > 0.02:
        raise ValueError(f"rotation [x, y, z, w] must have unit length, not {np.linalg.norm(q):.3f}")
    x, y, z, w = q / np.linalg.norm(q)
    look = -np.array([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)])
    right = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])
    upright = 1 - 2 * (x * x + z * z)  # a [w, x, y, z] heading read as [x, y, z, w] comes out upside down
    if abs(right[1]) > 0.02 or upright < -0.02:
        raise ValueError(f"rotation {rotation!r} rolls the camera or turns it over; only heading and pitch "
                         "are allowed (is it [w, x, y, z] by mistake?)")
    heading = atan2(-right[2], right[0])
    return heading, atan2(look[1], hypot(look[0], look[2]))


def z_up_to_y_up(points: np.ndarray) -> np.ndarray:
    """(…, 3) points of a z-up file (front +y) in the world's y-up frame."""
    points = np.asarray(points)
    return np.stack([points[..., 0], points[..., 2], -points[..., 1]], -1)
