"""Both simulators see the same: what a ray meets first faces it, in every kind of scene made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

from hm3dm3_env.scenes.hm3dsem import SceneData, load_scene
from hm3dm3_env.scenes.layout import Part, SceneModel, SceneObject, write_scene
from hm3dm3_env.scenes.procedural import generate_house
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.scenes.sweethome3d import read_floors
from hm3dm3_env.scenes.winding import close_or_double, sides_of
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from tests.test_sweethome3d import HOME, WEDGE

RAYS = 60_000


def away(scene: SceneData, rays: int = RAYS) -> dict[str, float]:
    """Share of the rays, from where a robot's head may be into all directions, that meet the back of a
    triangle first, by the category of what they meet; triangles that are there with both windings don't
    count."""
    rng = np.random.default_rng(0)
    finder = GridNavigator(scene.triangles, Body())
    spots = np.array([finder.random_point(rng, k % len(finder.floors)) for k in range(200)])
    origins = spots[rng.integers(0, len(spots), rays)]
    origins[:, 1] += rng.uniform(0.15, 1.35, rays)
    directions = rng.standard_normal((rays, 3))
    embree = rtcore_scene.EmbreeScene()
    mesh = TriangleMesh(embree, np.ascontiguousarray(scene.triangles))
    hit = embree.run(origins.astype(np.float32), directions.astype(np.float32))
    del mesh
    met = hit[hit >= 0]
    assert len(met) > 0.99 * rays
    corners = scene.triangles.astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    wrong = ((normals[met] * directions[hit >= 0]).sum(1) >= 0) & ~both_sides(corners, normals)[met]
    assert scene.semantics is not None
    names = {i: item.category for i, item in scene.instances.items()}
    found: dict[str, float] = {}
    for identity, count in zip(*np.unique(scene.semantics.labels[met[wrong]], return_counts=True)):
        name = names.get(int(identity), "?")
        found[name] = found.get(name, 0.0) + count / len(met)
    return found


def both_sides(corners: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """(T,) bool: some triangle with the same corners faces the other way."""
    points = np.unique(np.rint(corners.reshape(-1, 3) * 1e5), axis=0, return_inverse=True)[1].reshape(-1, 3)
    first, group = np.unique(np.sort(points, 1), axis=0, return_index=True, return_inverse=True)[1:]
    group = group.ravel()
    turned = (normals * normals[first[group]]).sum(1) < 0
    return np.bincount(group, turned)[group] > 0


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000, 2_000_001])
def test_procedural_houses_face_their_rooms(seed: int, tmp_path: Path) -> None:
    wrong = away(load_scene(write_scene(generate_house(seed), tmp_path, "p")))
    assert sum(wrong.values()) <= 0.0005, wrong


@pytest.mark.parametrize("floors, semantic", [(1, "texture"), (2, "vertex")])
def test_scan_like_homes_face_their_rooms(floors: int, semantic: str, tmp_path: Path) -> None:
    wrong = away(load_scene(write_scan(tmp_path, 40_000, 2, 512, semantic, floors)))
    assert sum(wrong.values()) <= 0.0005, wrong


# A wardrobe without a bottom, a door leaf turned inside out, and a leaf of a plant: a single sheet.
ODD = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 2 3 4
f 5 8 7 6
f 1 4 8 5
f 2 6 7 3
f 4 3 7 8
"""
SHEET = "v 0 0 0\nv 1 0 0\nv 1 1 1\nv 0 1 1\nf 1 2 3 4\n"


def test_sweet_home_3d_homes_face_their_rooms(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    pieces = "".join(f"<pieceOfFurniture name='{name}' model='{name}.obj' x='{x}' y='{y}' width='60' "
                     f"depth='60' height='90' angle='{angle}' {more}/>" for name, x, y, angle, more in
                     (("odd", 330, 60, 0.4, ""), ("leaf", 560, 200, 1.0, "elevation='30'"),
                      ("odd", 500, 60, 0.0, "modelMirrored='true'"), ("leaf", 250, 260, 2.0, "")))
    (tmp_path / "Home.xml").write_text(HOME.replace("</home>", pieces + "</home>"))
    for name, text in (("odd", ODD), ("leaf", SHEET), ("wedge", WEDGE)):
        (models / f"{name}.obj").write_text(text)
    floor = read_floors(tmp_path / "Home.xml")[1][0]
    wrong = away(load_scene(write_scene(floor.model, tmp_path / "out", "home")))
    assert sum(wrong.values()) <= 0.0005, wrong


# -- the rule itself -----------------------------------------------------------------------------------------

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([[q[a], q[b], q[c]] for q in QUADS for a, b, c in ((0, 1, 2), (0, 2, 3))])


def volume(part: Part) -> float:
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def made(*parts: Part) -> list[Part]:
    item = SceneObject("thing", 0, list(parts))
    close_or_double([item])
    return item.parts


@pytest.mark.parametrize("turned", [(), range(12), (3,), (0, 5, 7, 11)])
def test_closed_bodies_face_outward_however_they_were_wound(turned: tuple[int, ...]) -> None:
    faces = FACES.copy()
    faces[list(turned)] = faces[list(turned)][:, ::-1]
    [part] = made(Part(CUBE + [50, -70, 2], faces, "a"))
    assert len(part.faces) == 12 and volume(part) == pytest.approx(1.0)


def test_open_sheets_get_their_other_side_once() -> None:
    [part] = made(Part(CUBE, FACES[:2], "a"))
    assert len(part.faces) == 4 and (part.faces[2:] == part.faces[:2, ::-1]).all()
    before = part.faces.copy()
    close_or_double([SceneObject("thing", 0, [part])])
    assert (part.faces == before).all()


def test_a_body_may_be_of_several_parts_but_not_of_several_objects() -> None:
    halves = Part(CUBE, FACES[:6], "a"), Part(CUBE, FACES[6:], "b")
    assert [len(p.faces) for p in made(*halves)] == [6, 6]
    items = [SceneObject("thing", 0, [Part(CUBE, FACES[:6], "a")]),
             SceneObject("thing", 0, [Part(CUBE, FACES[6:], "b")])]
    close_or_double(items)
    assert [len(item.parts[0].faces) for item in items] == [12, 12]


def test_bodies_that_touch_are_turned_one_by_one() -> None:
    one, other = Part(CUBE, FACES, "a"), Part(CUBE + [1, 0, 0], FACES[:, ::-1], "b")
    one, other = made(one, other)
    assert len(one.faces) == len(other.faces) == 12
    assert volume(one) == pytest.approx(1.0) and volume(other) == pytest.approx(1.0)


def test_a_moebius_strip_and_faces_without_area() -> None:
    turns = np.arange(12) * 2 * np.pi / 12
    out = np.stack([np.cos(turns), np.sin(turns), 0 * turns], 1)
    across = np.cos(turns / 2)[:, None] * out + np.sin(turns / 2)[:, None] * [0, 0, 1]
    ring = np.concatenate([out - 0.3 * across, out + 0.3 * across])
    faces = []
    for k in range(12):
        a, b, c, d = k, k + 1, k + 12, k + 13
        if k == 11:
            b, d = 12, 0
        faces += [(a, b, d), (a, d, c)]
    [part] = made(Part(ring, np.array(faces), "a"))
    assert len(part.faces) == 48
    flip, open_ = sides_of(np.zeros((3, 3, 3)), np.zeros(3, int))
    assert not flip.any() and not open_.any()
    close_or_double([])
    assert SceneModel([], {}, []).objects == []
