"""Tiny scenes with known answers, built in the tests: boxes, walls, and a doorway."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hm3dm3_env.scenes.layout import Part, SceneModel, SceneObject, Surface, write_scene


def box(low, high, surface: str) -> Part:
    """An axis-aligned box (z up), hard-edged, with uv in metres."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    corners = np.array(
        [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    )
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    vertices = np.concatenate([corners[list(q)] for q in quads])
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * i for i in range(6)])
    uv = np.tile([[0, 0], [1, 0], [1, 1], [0, 1]], (6, 1)).astype(float)
    return Part(vertices, faces, surface, uv)


def thing(
    category: str, low, high, surface: str = "red", region: int = 0, colour: str = "", material: str = ""
) -> SceneObject:
    return SceneObject(category, region, [box(low, high, surface)], colour, material)


def two_rooms(extra: list[SceneObject] | None = None, door: float = 0.9) -> SceneModel:
    """Two 5 x 4 m rooms side by side along x (0..5, 5.1..10.1) with a doorway of width `door` at y 0.5..;
    world frame: z = -y."""
    checker = (np.indices((64, 64)).sum(0) // 8 % 2 * 120 + 80).astype(np.uint8)[..., None].repeat(3, 2)
    surfaces = {"red": Surface("red", (0.8, 0.1, 0.1)), "blue": Surface("blue", (0.1, 0.1, 0.8)),
                "green": Surface("green", (0.1, 0.7, 0.1)), "plain": Surface("plain", (0.9, 0.9, 0.85)),
                "checker": Surface("checker", texture=checker)}
    walls = [
        thing("wall", (-0.1, -0.1, 0), (10.2, 0, 2.6), "plain"),
        thing("wall", (-0.1, 4, 0), (10.2, 4.1, 2.6), "plain"),
        thing("wall", (-0.1, 0, 0), (0, 4, 2.6), "plain"),
        thing("wall", (10.1, 0, 0), (10.2, 4, 2.6), "plain", 1),
        thing("wall", (5, 0, 0), (5.1, 0.5, 2.6), "plain"),
        thing("wall", (5, 0.5 + door, 0), (5.1, 4, 2.6), "plain"),
        thing("wall", (5, 0.5, 2.05), (5.1, 0.5 + door, 2.6), "plain"),
    ]
    floors = [
        thing("floor", (0, 0, -0.1), (5, 4, 0), "checker"),
        thing("floor", (5, 0, -0.1), (10.1, 4, 0), "checker", 1),
        thing("ceiling", (0, 0, 2.6), (10.1, 4, 2.7), "plain"),
    ]
    return SceneModel(walls + floors + (extra or []), surfaces, ["living room", "kitchen"])


FURNITURE = [
    thing("sofa", (0.1, 3.0, 0), (2.1, 3.9, 0.8), "red", 0, "red", "fabric"),
    thing("bookshelf", (3.0, 3.6, 0), (4.0, 3.95, 1.8), "green", 0, "green", "wood"),
    thing("armchair", (0.1, 0.1, 0), (0.9, 0.9, 0.9), "blue", 0, "blue", "leather"),
    thing("armchair", (3.9, 1.9, 0), (4.6, 2.6, 0.9), "green", 0, "green", "fabric"),
    thing("refrigerator", (9.3, 3.2, 0), (10.0, 3.9, 1.8), "blue", 1, "blue", "metal"),
    thing("dining table", (7.0, 1.8, 0), (8.4, 2.6, 0.75), "green", 1, "green", "wood"),
    thing("potted plant", (9.5, 0.2, 0), (9.9, 0.6, 1.0), "green", 1, "green", ""),
    thing("cabinet", (5.3, 3.5, 0), (6.5, 3.95, 0.9), "red", 1, "red", "wood"),
]


def write_two_rooms(root: Path, extra: list[SceneObject] | None = FURNITURE, door: float = 0.9) -> Path:
    return write_scene(two_rooms(extra, door), root, "t00000")
