"""Round windows and arched doorways: the part of a rectangular hole that stays wall.

A hole is cut as a rectangle; where the file's cut-out shape (an SVG path in the unit square, y down) is
curved, the corners outside of it are filled again.
"""

from __future__ import annotations

import re

import numpy as np
from shapely.geometry import Polygon, box

from hm3dm3_env.scenes.sweethome3d.mesh import Builder, clean, polygons, triangles_of
from hm3dm3_env.scenes.sweethome3d.walls import Hole

_TOKEN = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_COUNTS = {"m": 2, "l": 2, "h": 1, "v": 1, "a": 7, "c": 6, "q": 4, "s": 4, "t": 2, "z": 0}
_STEPS = 16


def corners_of(path: str) -> list[Polygon]:
    """The parts of the unit square (y UP) outside of a curved SVG path; none for straight or broken paths."""
    if not re.search(r"[aAcCqQ]", path):
        return []
    try:
        shape = clean([(x, 1.0 - y) for x, y in _outline(path)])
    except (ValueError, IndexError, KeyError, ZeroDivisionError):
        return []
    outside = box(0.0, 0.0, 1.0, 1.0).difference(shape)
    return polygons(outside, 1e-3) if outside.area < 0.6 else []


def fill_corners(
    builder: Builder, corners: list[Polygon], hole: Hole, thickness: float, mirrored: bool, surface: str
) -> None:
    """Add the corners as plates as thick as the wall, at the place of the hole."""
    along = np.array([np.cos(hole.angle), np.sin(hole.angle)])
    across = np.array([-along[1], along[0]]) * thickness / 2

    def lift(flat: np.ndarray, side: float) -> np.ndarray:
        x = (0.5 - flat[..., 0] if mirrored else flat[..., 0] - 0.5) * hole.width
        z = hole.low + flat[..., 1] * (hole.high - hole.low)
        plan = hole.center + x[..., None] * along + side * across
        return np.concatenate([plan, z[..., None]], -1)

    for corner in corners:
        faces = triangles_of(corner)
        for side in (-1.0, 1.0):
            builder.add(surface, lift(faces, side), faces)
        ring = np.asarray(corner.exterior.coords)
        front, back = lift(ring, -1.0), lift(ring, 1.0)
        rim = [
            [front[k], front[k + 1], back[k + 1], front[k], back[k + 1], back[k]]
            for k in range(len(ring) - 1)
        ]
        triangles = np.array(rim).reshape(-1, 3, 3)
        builder.add(surface, triangles, triangles[..., [0, 2]])


def _outline(path: str) -> list[tuple[float, float]]:
    tokens = _TOKEN.findall(path)
    points: list[tuple[float, float]] = []
    x = y = 0.0
    command, at = "", 0
    while at < len(tokens):
        if tokens[at].isalpha():
            command, at = tokens[at], at + 1
        kind, shift = command.lower(), command.islower()
        values = [float(token) for token in tokens[at : at + _COUNTS[kind]]]
        at += len(values)
        if kind == "z":
            continue
        if kind == "h":
            end = (values[0] + x * shift, y)
        elif kind == "v":
            end = (x, values[0] + y * shift)
        else:
            end = (values[-2] + x * shift, values[-1] + y * shift)
        points += _arc((x, y), end, values) if kind == "a" else [end]
        x, y = end
    return points


def _arc(
    start: tuple[float, float], end: tuple[float, float], values: list[float]
) -> list[tuple[float, float]]:
    """Points of an SVG arc without its start; the ellipse's axes must lie along x and y."""
    radii = np.array(values[:2])
    large, sweep = bool(values[3]), bool(values[4])
    a, b = np.array(start) / radii, np.array(end) / radii
    chord = b - a
    length = float(np.linalg.norm(chord))
    if length > 2.0:  # too small an ellipse is scaled up, as SVG says
        radii, a, b, chord, length = (
            radii * length / 2,
            a * 2 / length,
            b * 2 / length,
            chord * 2 / length,
            2.0,
        )
    normal = np.array([-chord[1], chord[0]]) / max(length, 1e-9)
    center = (a + b) / 2 + normal * np.sqrt(max(1.0 - length**2 / 4, 0.0)) * (1.0 if large != sweep else -1.0)
    first = np.arctan2(*(a - center)[::-1])
    turn = np.arctan2(*(b - center)[::-1]) - first
    turn = turn % (2 * np.pi) if sweep else -(-turn % (2 * np.pi))
    angles = first + turn * np.arange(1, _STEPS + 1) / _STEPS
    spots = (center + np.stack([np.cos(angles), np.sin(angles)], 1)) * radii
    return [(float(px), float(py)) for px, py in spots[:-1]] + [end]
