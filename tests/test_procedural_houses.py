"""The procedural houses: determinism, sizes, content, and a floor that a robot can use."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from hm3dm3_env.scenes.layout import PARTS, SceneModel, write_scene
from hm3dm3_env.scenes.procedural import build_split, generate_house, split_seed
from hm3dm3_env.scenes.procedural.__main__ import main
from hm3dm3_env.scenes.procedural.build import build_one
from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.house import GENERATOR
from hm3dm3_env.scenes.procedural.kinds import ROOMS, build_piece, make_style
from hm3dm3_env.scenes.procedural.textures import surface
from tests.processes import files_below

SEEDS = (0, 1, 2, 1_000_000, 1_000_001, 2_000_000)
CELL = 0.05
RADIUS = 0.25
FIXED = ("wall", "floor", "ceiling", "door frame", "window")


@pytest.fixture(scope="module")
def houses() -> dict[int, SceneModel]:
    return {seed: generate_house(seed) for seed in SEEDS}


def _digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


def test_same_seed_same_bytes_whatever_was_built_before(tmp_path: Path) -> None:
    first = write_scene(generate_house(7), tmp_path / "a", "p00007")
    generate_house(8)
    second = write_scene(generate_house(7), tmp_path / "b", "p00007")
    other = write_scene(generate_house(9), tmp_path / "b", "p00009")
    assert first.name == second.name
    assert _digest(first) == _digest(second) != _digest(other)


def test_sizes_and_required_rooms(houses: dict[int, SceneModel]) -> None:
    for model in houses.values():
        assert 60 <= model.source["area_m2"] <= 250
        assert 5 <= len(model.regions) <= 14
        assert {"living room", "kitchen", "bathroom", "bedroom"} <= set(model.regions)
        assert 100 <= len(model.objects) <= 400
        assert sum(len(part.faces) for item in model.objects for part in item.parts) < 120_000
        assert {"door", "window", "bed", "toilet", "refrigerator"} <= {
            item.category for item in model.objects
        }


def test_catalogue_is_large_and_well_formed() -> None:
    assert len(CATALOGUE) >= 379  # as many as HM3D-OVON has goal categories
    assert sum(item.goal_size for item in CATALOGUE.values()) >= 300
    for item in CATALOGUE.values():
        assert item.name == item.name.lower()
        assert {near.name for near in item.near} <= set(CATALOGUE), item.name
        assert set(item.on) <= set(CATALOGUE), item.name
        assert not {f"{item.name}s", f"{item.name}es"} & set(CATALOGUE), item.name
        assert set(item.rooms) <= set(ROOMS), item.name
        assert item.place in ("wall", "corner", "edge", "free", "centre", "hang", "top", "ceiling", "near")
        assert item.place != "top" or item.on, item.name


def test_every_kind_is_built_to_size_of_sound_triangles() -> None:
    rng = np.random.default_rng(5)
    for item in CATALOGUE.values():
        piece = build_piece(item, make_style(rng), rng)
        pairs = [(v[f], key) for key, chunk in piece.shape.chunks.items() for v, f, _ in chunk]
        corners = np.concatenate([triangles for triangles, _ in pairs])
        assert np.isfinite(corners).all(), item.name
        assert len(corners) >= 12, item.name
        edges = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert (np.linalg.norm(edges, axis=1) > 1e-12).mean() > 0.9, item.name
        assert corners[..., 2].min() == pytest.approx(0, abs=1e-9), item.name
        for wanted, real in zip(sorted(item.size)[-1:], sorted(piece.size)[-1:]):
            assert 0.7 * wanted[0] <= real <= 1.5 * wanted[1], item.name
        for key in {key for _, key in pairs}:
            surface(key)  # every look has a colour or a texture


def test_a_dozen_houses_hold_most_of_the_catalogue() -> None:
    found: set[str] = set()
    for index in range(12):
        model = generate_house(split_seed("train", index))
        found |= {item.category for item in model.objects}
    assert len(found & set(CATALOGUE)) >= 300


def test_every_object_lies_inside_the_house(houses: dict[int, SceneModel]) -> None:
    for seed, model in houses.items():
        rects = np.array([room["rect"] for room in model.source["rooms"]])
        low, high = rects[:, :2].min(0) - 0.15, rects[:, 2:].max(0) + 0.15
        for item in model.objects:
            assert sum(len(part.faces) for part in item.parts) > 0
            points = np.concatenate([part.vertices for part in item.parts])
            assert np.isfinite(points).all()
            assert (points[:, :2] >= low).all() and (points[:, :2] <= high).all(), (seed, item.category)
            assert points[:, 2].min() >= -0.11 and points[:, 2].max() <= 2.71, (seed, item.category)
            if item.category not in FIXED:
                x0, y0, x1, y1 = rects[item.region]
                centre = (points[:, :2].min(0) + points[:, :2].max(0)) / 2
                slack = 0.1  # the front door stands in the wall line itself
                assert x0 - slack <= centre[0] <= x1 + slack, (seed, item.category)
                assert y0 - slack <= centre[1] <= y1 + slack, (seed, item.category)


def _samples(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Points on triangles, at most about 2 cm apart."""
    a, b, c = (vertices[faces[:, i]].astype(float) for i in range(3))
    longest = np.maximum(np.linalg.norm(b - a, axis=1), np.linalg.norm(c - a, axis=1))
    longest = np.maximum(longest, np.linalg.norm(c - b, axis=1))
    found = []
    for steps in np.unique(counts := np.clip(np.ceil(longest / 0.04), 1, 400).astype(int)):
        i, j = (grid.ravel() for grid in np.meshgrid(np.arange(steps + 1), np.arange(steps + 1)))
        keep = i + j <= steps
        u, v = i[keep, None, None] / steps, j[keep, None, None] / steps
        rows = counts == steps
        found.append((a[rows] + u * (b - a)[rows] + v * (c - a)[rows]).reshape(-1, 3))
    return np.concatenate(found)


def _free_floor(model: SceneModel) -> tuple[np.ndarray, np.ndarray]:
    """Cells where the centre of a disc of RADIUS may stand, from triangles alone, and their origin."""
    rects = np.array([room["rect"] for room in model.source["rooms"]])
    origin = rects[:, :2].min(0) - 0.2
    shape = tuple(np.ceil((rects[:, 2:].max(0) + 0.2 - origin) / CELL).astype(int))
    floor, blocked = np.zeros(shape, bool), np.zeros(shape, bool)

    def mark(grid: np.ndarray, points: np.ndarray) -> None:
        cells = np.floor((points[:, :2] - origin) / CELL).astype(int)
        inside = ((cells >= 0) & (cells < shape)).all(1)
        grid[tuple(cells[inside].T)] = True

    for item in model.objects:
        points = np.concatenate([_samples(part.vertices, part.faces) for part in item.parts])
        if item.category == "floor":
            mark(floor, points)
        elif item.category in FIXED:
            mark(blocked, points[(points[:, 2] > 0.1) & (points[:, 2] < 1.41)])
        elif points[:, 2].min() < 1.41:  # the whole outline: no standing inside a wardrobe
            mark(blocked, points[points[:, 2] > 0.1])
    distance = ndimage.distance_transform_edt(floor & ~blocked) * CELL
    return distance >= RADIUS + CELL / 2, origin


def test_the_free_floor_is_one_piece_and_meets_every_room(houses: dict[int, SceneModel]) -> None:
    for seed in SEEDS[:4]:
        model = houses[seed]
        free, origin = _free_floor(model)
        labels, count = ndimage.label(free, np.ones((3, 3)))
        sizes = np.bincount(labels.ravel())[1:]
        assert count >= 1
        main_piece = labels == 1 + int(np.argmax(sizes))
        assert main_piece.sum() >= 0.995 * free.sum(), (seed, sorted(sizes))
        for room in model.source["rooms"]:
            x0, y0, x1, y1 = ((np.array(room["rect"]) - np.tile(origin, 2)) / CELL).astype(int)
            assert main_piece[x0 + 4 : x1 - 4, y0 + 4 : y1 - 4].any(), (seed, room["name"])


def test_split_seeds_are_disjoint() -> None:
    ends = [(split_seed(split, 0), split_seed(split, 99_999)) for split in ("train", "val", "mini")]
    assert ends == [(0, 99_999), (1_000_000, 1_099_999), (2_000_000, 2_099_999)]
    with pytest.raises(ValueError, match="unknown split"):
        split_seed("test", 0)
    with pytest.raises(ValueError, match="outside"):
        split_seed("val", 100_000)


def test_split_is_resumable(tmp_path: Path) -> None:
    first = build_split(tmp_path, "mini", 1)
    stamp = first[0].stat().st_mtime_ns
    again = build_split(tmp_path, "mini", 2)
    assert again[0] == first[0] and again[0].stat().st_mtime_ns == stamp
    assert again[1].parent == tmp_path / "mini" and again[1].name.startswith("pm00001-")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["out=x", "split=test", "count=1"], "split=test"),
        (["out=x", "split=val", "count=zero"], "count=zero"),
        (["out=x", "split=val"], "count= is missing"),
        (["out=x", "split=val", "count=1", "size=3"], "unknown argument 'size=3'"),
    ],
)
def test_bad_arguments_give_a_clear_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_files_that_were_taken_away_come_back(tmp_path: Path) -> None:
    folder = build_split(tmp_path, "mini", 1)[0]
    whole = files_below(folder)
    assert {name.partition(".")[2] for name in whole} == set(PARTS)
    for name in whole:
        (folder / name).unlink()
        assert build_split(tmp_path, "mini", 1) == [folder] and files_below(folder) == whole


def test_a_full_disk_leaves_no_half_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name.endswith(".semantic.glb"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return plain(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left"):
            build_split(tmp_path, "mini", 1)
    assert not list((tmp_path / "mini").rglob("*.glb")) and not list((tmp_path / "mini").glob(".*"))
    assert build_split(tmp_path, "mini", 1)[0].is_dir()


def test_houses_of_an_older_generator_are_not_taken_for_new_ones(tmp_path: Path) -> None:
    new = build_one(tmp_path, "mini", 0)
    old = new.rename(new.parent / "pm00000-00000000000")
    about = old / "00000000000.attributes.json"
    for path in list(old.iterdir()):
        path.rename(old / f"00000000000.{path.name.partition('.')[2]}")
    about.write_text(about.read_text().replace(GENERATOR, "hm3dm3-procedural-0"))
    assert build_one(tmp_path, "mini", 0) == new and old.is_dir()
    assert build_split(tmp_path, "mini", 1) == [new]
