"""A scene that is not the one that a split was made for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.episodes import scene_check
from hm3dm3_env.episodes.generate import _done
from hm3dm3_env.episodes.scene_check import changed_files, check_scene, scene_files
from hm3dm3_env.episodes.schema import EpisodeError, load_split, read_json
from hm3dm3_env.files import gzip_json_bytes
from hm3dm3_env.scenes.hm3dsem import load_scene


@pytest.fixture
def copied(data: Path, tmp_path: Path) -> Path:
    """The data root with scenes and split, to be changed."""
    shutil.copytree(data, tmp_path / "data")
    scene_check._files_once.cache_clear()
    return tmp_path / "data"


def scene_of(root: Path) -> Path:
    return next(path for path in (root / "scenes" / "rooms").iterdir() if path.is_dir())


def test_the_split_knows_the_files_of_its_scenes(copied: Path) -> None:
    episode, scene = load_split(copied, "rooms")[0], scene_of(copied)
    assert set(episode.scene_files) == {path.name for path in scene.iterdir() if path.suffix != ".navmesh"}
    assert episode.scene_files == scene_files(scene)
    check_scene(episode, load_scene(scene))


@pytest.mark.parametrize("ending", [".glb", ".semantic.glb", ".semantic.txt", ".attributes.json"])
def test_a_changed_file(copied: Path, ending: str, make_env: Callable[..., HM3DM3ParallelEnv]) -> None:
    scene = scene_of(copied)
    path = scene / f"{scene.name.split('-')[1]}{ending}"
    scene_before = load_scene(scene)
    path.write_bytes(path.read_bytes() + b" ")
    episode = load_split(copied, "rooms")[0]  # listing episodes reads no scene
    with pytest.raises(EpisodeError, match=f"episode rooms-00000: scene: {path.name} in .* changed") as error:
        check_scene(episode, scene_before)
    assert str(error.value).startswith(str(episode.file)) and "generate the split again" in str(error.value)
    if ending == ".semantic.txt":
        env = make_env(data=str(copied))
        with pytest.raises(EpisodeError, match="changed since the split was made"):
            env.reset(seed=0)


def edit(root: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    path = next((root / "episodes" / "rooms" / "content").iterdir())
    value = read_json(path)
    change(value)
    path.write_bytes(gzip_json_bytes(value))
    return path


def test_what_is_done_is_made_again_when_the_scene_changed(copied: Path) -> None:
    path, scene = edit(copied, lambda value: None), scene_of(copied)
    fingerprint = read_json(path)["fingerprint"]
    assert _done(path, fingerprint, scene) and not _done(path, "another", scene)
    text = next(scene.glob("*.semantic.txt"))
    text.write_text(text.read_text().replace("sofa", "couch"))
    assert not _done(path, fingerprint, scene)


def test_without_hashes_objects_are_compared(copied: Path) -> None:
    edit(copied, lambda value: value.pop("scene_files"))
    episode, scene = load_split(copied, "rooms")[0], load_scene(scene_of(copied))
    check_scene(episode, scene)
    gone = episode.goals[1].object_id
    kept = scene.instances.pop(gone)
    with pytest.raises(EpisodeError, match=f"goals.1.acceptable: the scene has no object {gone}"):
        check_scene(episode, scene)
    scene.instances[gone] = scene.instances[episode.goals[0].object_id]
    with pytest.raises(EpisodeError, match=f"object {gone} is a .* not a '{kept.category}'"):
        check_scene(episode, scene)


def test_what_counts_as_a_change() -> None:
    known = {"a.glb": "1", "a.semantic.glb": "2", "a.semantic.txt": "3"}
    assert changed_files(known, known) == []
    assert changed_files(known, {**known, "a.basis.glb": "9"}) == []
    basis = {"a.basis.glb": "9", "a.semantic.glb": "2", "a.semantic.txt": "3"}
    assert changed_files(known, basis) == [] and changed_files(basis, known) == []
    assert changed_files(known, {"a.semantic.glb": "2", "a.semantic.txt": "3"}) == ["a.glb"]
    assert changed_files(known, {**known, "a.glb": "5", "a.semantic.txt": "6"}) == ["a.glb", "a.semantic.txt"]
    assert changed_files(known, {"a.glb": "1"}) == ["a.semantic.glb", "a.semantic.txt"]
    assert changed_files(known, {**known, "a.attributes.json": "7"}) == ["a.attributes.json"]
