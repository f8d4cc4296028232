"""Do the matches of a photo and a frame agree on where the photographer stood, and where is the object then?

The frame's depth makes its matched pixels points in space. With a field of view, of which a few are tried,
the photo's pixels say where the photographer's camera was; a photo that was not upright, or taken from the
ceiling, is none. From there the photo's middle, at which it was aimed, is found again in the frame: those
pixels are the object. So a wall that both images show is no proof that the object is seen. And where both
images see the same place their colours must agree, which windows with equal views and rooms with equal tiles
do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians, sin, tan

import cv2
import numpy as np

from hm3dm3_env.sim.base import Frame
from policies.recognition.config import CheckConfig
from policies.recognition.matching.base import Matches

_STEP, _CELL = 4, 8
"""Every so many pixels of a frame are looked up in a photo of 512 pixels, and cells of the photo in which the
nearest hides the rest, pixels (ours)."""
_SIDE = 512
"""Photos are looked at in this size, pixels."""


@dataclass(frozen=True)
class Verified:
    """What the verified matches of a photo and a frame say.

    Attributes:
        score: summed confidences of the verified matches; for the pose, times the agreement of colours and
            what is seen of the middle.
        keep: (N,) which matches are verified.
        rows, columns: (P,) pixels of the frame that show the object.
    """

    score: float
    keep: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True)
class Photographer:
    """Where a photo was taken: rotation (3, 3) and shift (3,) from the world to the camera (x right, y down,
    z ahead), its focal length in pixels of a photo of `_SIDE`, and (N,) which matches agree."""

    rotation: np.ndarray
    shift: np.ndarray
    focal: float
    keep: np.ndarray


def verify(config: CheckConfig, matches: Matches, photo: np.ndarray, frame: Frame) -> Verified | None:
    """Verify the matches of a photo (S, S, 3) (`a`) and a frame (`b`); None where they do not hold."""
    if len(matches) < config.least:
        return None
    scaled = matches.a * (_SIDE / photo.shape[0])
    if config.kind == "pose":
        return _by_pose(config, matches, scaled, photo, frame)
    keep = np.ones(len(matches), bool)
    if config.kind == "fundamental":
        keep = _epipolar(scaled, matches.b, config.pixels / 2)
        if keep.sum() < config.least:
            return None
    # No camera to find the middle with: the verified matches near it stand for the object.
    mine = keep & (_from_middle(scaled) <= 2 * config.middle)
    columns, rows = _pixels(matches.b[mine], frame)
    return Verified(float(matches.confidence[keep].sum()), keep, rows, columns)


def photographer(
    config: CheckConfig, photo_points: np.ndarray, frame_points: np.ndarray, frame: Frame
) -> Photographer | None:
    """Where a photo was taken from whose (N, 2) pixels (of `_SIDE`) show the frame's (N, 2) pixels: the
    camera, among the fields of view that are tried, with which most matches agree."""
    columns, rows = _pixels(frame_points, frame)
    seen = frame.depth[rows, columns] > 0
    if seen.sum() < config.least:
        return None
    space = frame.points(rows[seen], columns[seen])
    middle = space.mean(0)  # numbers near 0 are solved more exactly
    best: Photographer | None = None
    for hfov in config.hfov_deg:
        focal = _SIDE / 2 / tan(radians(hfov / 2))
        matrix = np.array([[focal, 0, _SIDE / 2], [0, focal, _SIDE / 2], [0, 0, 1]])
        try:
            found, turn, shift, inliers = cv2.solvePnPRansac(
                (space - middle)[:, None], photo_points[seen][:, None], matrix, None,
                iterationsCount=300, reprojectionError=config.pixels, confidence=0.999,
                flags=cv2.SOLVEPNP_AP3P,
            )  # fmt: skip
        except cv2.error:  # points on a line, and the like
            continue
        if not found or inliers is None or len(inliers) < config.least:
            continue
        rotation = cv2.Rodrigues(turn)[0]
        shift = shift.ravel() - rotation @ middle
        eye = -rotation.T @ shift
        if not _plausible(config, rotation, eye[1] - frame.pose.y):
            continue
        if best is None or len(inliers) > best.keep.sum():
            keep = np.zeros(len(photo_points), bool)
            keep[np.flatnonzero(seen)[inliers.ravel()]] = True
            best = Photographer(rotation, shift, focal, keep)
    return best


def _plausible(config: CheckConfig, rotation: np.ndarray, height: float) -> bool:
    upright = abs(rotation[0, 1]) <= sin(radians(config.roll_deg)) and rotation[1, 1] < 0
    return bool(upright and config.heights[0] <= height <= config.heights[1])


def _by_pose(
    config: CheckConfig, matches: Matches, scaled: np.ndarray, photo: np.ndarray, frame: Frame
) -> Verified | None:
    camera = photographer(config, scaled, matches.b, frame)
    if camera is None:
        return None
    rows, columns, where = _seen_again(camera, frame)
    middle = _from_middle(where) <= config.middle
    if not middle.any():
        return None
    agree = _agreement(photo, where, frame, rows, columns) <= config.colours
    cells = len(np.unique(where[middle].astype(int) // _CELL, axis=0))
    full = np.pi * (config.middle * _SIDE / 2 / _CELL) ** 2
    covered = min(1.0, cells / full / config.covered)
    sure = float(matches.confidence[camera.keep].sum())
    score = sure * float(agree.mean()) ** config.power * float(agree[middle].mean()) * covered
    return Verified(score, camera.keep, rows[middle], columns[middle])


def _seen_again(camera: Photographer, frame: Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of a frame that the photo shows too: rows, columns, and (P, 2) where in the photo."""
    half, (height, width) = _STEP // 2, frame.depth.shape
    rows, columns = (axis.ravel() for axis in np.mgrid[half:height:_STEP, half:width:_STEP])
    seen = frame.depth[rows, columns] > 0
    rows, columns = rows[seen], columns[seen]
    local = frame.points(rows, columns) @ camera.rotation.T + camera.shift
    ahead = local[:, 2] > 0.1
    rows, columns, local = rows[ahead], columns[ahead], local[ahead]
    where = local[:, :2] / local[:, 2:] * camera.focal + _SIDE / 2
    inside = ((where >= 0) & (where < _SIDE)).all(1)
    rows, columns, where, depth = rows[inside], columns[inside], where[inside], local[inside, 2]
    cell = (where[:, 1] // _CELL).astype(int) * (_SIDE // _CELL) + (where[:, 0] // _CELL).astype(int)
    nearest = np.full((_SIDE // _CELL) ** 2, np.inf)
    np.minimum.at(nearest, cell, depth)
    front = depth <= nearest[cell] * 1.05 + 0.02
    return rows[front], columns[front], where[front]


def _agreement(
    photo: np.ndarray, where: np.ndarray, frame: Frame, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """(P,) largest difference of the colours, blurred a little, since places are not exact."""
    assert frame.rgb is not None
    if photo.shape[0] != _SIDE:
        photo = cv2.resize(photo, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    x, y = where.astype(int).T
    one = cv2.blur(photo, (9, 9))[y, x].astype(int)
    other = cv2.blur(frame.rgb, (5, 5))[rows, columns].astype(int)
    return np.abs(one - other).max(1)


def _epipolar(a: np.ndarray, b: np.ndarray, pixels: float) -> np.ndarray:
    """(N,) which pairs some fundamental matrix allows."""
    if len(a) < 8:
        return np.zeros(len(a), bool)
    try:
        _, mask = cv2.findFundamentalMat(a, b, cv2.USAC_MAGSAC, pixels, 0.999, 2000)
    except cv2.error:
        mask = None
    return np.zeros(len(a), bool) if mask is None else mask.ravel().astype(bool)


def _from_middle(points: np.ndarray) -> np.ndarray:
    """(N,) distance of a photo's pixels from its middle, as a share of half its side."""
    return np.hypot(*(points - _SIDE / 2).T) / (_SIDE / 2)


def _pixels(points: np.ndarray, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Columns and rows of (N, 2) places in a frame."""
    limit = [frame.camera.width - 1, frame.camera.height - 1]
    return tuple(np.clip(np.floor(points).astype(int), 0, limit).T)  # type: ignore[return-value]
