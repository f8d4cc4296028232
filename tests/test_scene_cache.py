"""Large scenes are kept prepared on disk, and never one byte differs because of it."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.sim import prepared, scene_cache
from hm3dm3_env.sim.base import Body, Camera, Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.scene_cache import SceneCache
from tests.rooms import write_two_rooms

CAMERA = Camera(width=32, height=48)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small scan-like home; nobody writes into it."""
    return write_scan(tmp_path_factory.mktemp("scan"), triangles=25_000, textures=3, size=256)


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scenes are kept as well."""
    monkeypatch.setattr(prepared, "KEEP_FROM", 0)


def look(sim: EmbeddedSimulator) -> list[Frame]:
    rng = np.random.default_rng(0)
    points = [sim.navigator.random_point(rng, 0) for _ in range(4)]
    return sim.render([Pose(*p, rng.uniform(-3, 3)) for p in points], CAMERA, True, True)


def same(a: list[Frame], b: list[Frame]) -> bool:
    return all(
        np.array_equal(getattr(x, name), getattr(y, name))
        for x, y in zip(a, b, strict=True)
        for name in ("depth", "rgb", "semantic")
    )


def must_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(prepared, "load_scene", fail)
    monkeypatch.setattr(prepared.GridNavigator, "__init__", fail)
    monkeypatch.setattr(prepared.shading.Textures, "of", fail)


def test_the_second_time_nothing_is_read_and_nothing_differs(
    scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, first = EmbeddedSimulator(cache=None), EmbeddedSimulator(cache=str(tmp_path))
    for sim in (fresh, first):
        sim.load(scan)
    frames = look(fresh)
    assert same(frames, look(first)) and len({f.semantic.max() for f in frames}) > 1  # type: ignore[union-attr]
    must_not_read(monkeypatch)
    second = EmbeddedSimulator(cache=str(tmp_path))
    second.load(scan)
    assert same(frames, look(second))
    mine, theirs = second.scene, fresh.scene
    assert mine.problems == theirs.problems and mine.lit == theirs.lit and mine.id == theirs.id
    for key, item in theirs.instances.items():
        other = mine.instances[key]
        assert other.category == item.category and np.array_equal(other.low, item.low)
        assert np.array_equal(other.high, item.high) and other.area == item.area
    for a, b in zip(mine.images, theirs.images, strict=True):  # still there for whoever asks
        assert np.array_equal(a, b)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    cache, folder = str(tmp_path / "cache"), write_two_rooms(tmp_path / "scenes")
    sim = EmbeddedSimulator(cache=cache)
    sim.load(folder)
    assert len(sim.scene.of_category("sofa")) == 1
    text = next(folder.glob("*.semantic.txt"))
    text.write_text(text.read_text().replace('"sofa"', '"couch"'))
    sim.load(folder)  # in the same simulator, and in a new one
    assert len(sim.scene.of_category("couch")) == 1
    other = EmbeddedSimulator(cache=cache)
    other.load(folder)
    assert len(other.scene.of_category("couch")) == 1


def test_a_copied_scene_is_the_same_scene(
    scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = EmbeddedSimulator(cache=str(tmp_path / "cache"))
    sim.load(scan)
    copy = shutil.copytree(scan, tmp_path / "elsewhere" / scan.name)  # with another time stamp
    must_not_read(monkeypatch)
    sim.load(copy)
    assert sim.scene.folder == copy


def test_another_body_has_its_own_floors(scan: Path, tmp_path: Path) -> None:
    areas = []
    for radius in (0.17, 0.4, 0.17):
        sim = EmbeddedSimulator(Body(radius=radius), cache=str(tmp_path))
        sim.load(scan)
        areas.append(int(sim.navigator.levels[0].free.sum()))
    assert areas[0] == areas[2] > areas[1]


@pytest.mark.parametrize("damage", ["short", "empty", "missing", "garbage"])
def test_damage_is_mended(scan: Path, tmp_path: Path, damage: str) -> None:
    sim = EmbeddedSimulator(cache=str(tmp_path))
    sim.load(scan)
    frames = look(sim)
    entry = next(path for path in tmp_path.iterdir() if "geometry" in path.name)
    victim = entry / "triangles.npy"
    if damage == "short":
        victim.write_bytes(victim.read_bytes()[:-7])
    elif damage == "empty":
        (entry / "sizes.json").write_bytes(b"")
    elif damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(b"x" * victim.stat().st_size)
    again = EmbeddedSimulator(cache=str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.load(scan)
    assert same(frames, look(again))
    assert np.load(victim).shape == again.scene.triangles.shape  # and it is whole again


def test_nowhere_to_write(scan: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    sim = EmbeddedSimulator(cache=str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="could not be kept"):
        sim.load(scan)
        assert look(sim)[0].depth.any()


def test_small_scenes_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sim = EmbeddedSimulator(cache=str(tmp_path / "cache"))
    sim.load(write_two_rooms(tmp_path / "scenes"))
    assert not (tmp_path / "cache").exists()


def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HM3DM3_CACHE", "/somewhere")
    assert scene_cache.default_folder() == Path("/somewhere")
    monkeypatch.delenv("HM3DM3_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert scene_cache.default_folder() == Path("/xdg/hm3dm3")


# -- the folder --------------------------------------------------------------------------------------------


def entry(size: int) -> dict[str, np.ndarray]:
    return {"data": np.arange(size, dtype=np.uint8)}


def test_the_least_recently_used_go(tmp_path: Path) -> None:
    cache = SceneCache(tmp_path, limit=900)
    for k, name in enumerate(("a", "b", "c")):
        cache.fetch(name, lambda: entry(100))
        os.utime(tmp_path / name, (k, k))
    cache.fetch("a", lambda: pytest.fail("made again"))  # type: ignore[arg-type,return-value]
    cache.fetch("d", lambda: entry(100))
    assert {path.name for path in tmp_path.iterdir()} == {"a", "c", "d"}  # 4 do not fit into 900 bytes
    cache.fetch("huge", lambda: entry(5000))  # larger than everything: kept alone
    assert {path.name for path in tmp_path.iterdir()} == {"huge"}


def test_half_written_entries_are_nobodys(tmp_path: Path) -> None:
    for name, age in ((".old.1.tmp", 2 * scene_cache.ABANDONED), (".new.2.tmp", 0.0)):
        (tmp_path / name).mkdir()
        when = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (when, when))
    SceneCache(tmp_path, 1e6).fetch("a", lambda: entry(10))
    assert {path.name for path in tmp_path.iterdir()} == {"a", ".new.2.tmp"}


def test_changing_what_was_fetched_changes_nothing(tmp_path: Path) -> None:
    cache = SceneCache(tmp_path, 1e6)
    cache.fetch("a", lambda: entry(10))["data"][:] = 7
    cache.fetch("a", lambda: entry(10))["data"][:] = 8
    assert np.array_equal(cache.fetch("a", lambda: entry(10))["data"], entry(10)["data"])


# -- memory ------------------------------------------------------------------------------------------------


def test_scenes_stay_loaded_while_there_is_room(tmp_path: Path) -> None:
    a, b = write_two_rooms(tmp_path / "a"), write_two_rooms(tmp_path / "b", None)
    roomy, tight = EmbeddedSimulator(cache=None), EmbeddedSimulator(cache=None, memory_gb=1e-6)
    for sim, kept in ((roomy, True), (tight, False)):
        sim.load(a)
        first = sim.scene
        sim.load(a)
        assert sim.scene is first  # the current one always stays
        sim.load(b)
        sim.load(a)
        assert (sim.scene is first) == kept and sim.scene.id == first.id
