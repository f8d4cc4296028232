"""Episodes from and for other benchmarks, on small files in their formats that are written here."""

from __future__ import annotations

import copy
import gzip
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hm3dm3_env.env import parallel_env
from hm3dm3_env.episodes import interchange as command
from hm3dm3_env.episodes.audit.run import AuditConfig, find
from hm3dm3_env.episodes.foreign import detect, read_foreign, read_scene
from hm3dm3_env.episodes.goals import GoalConfig, GoalFinder
from hm3dm3_env.episodes.interchange import InterchangeConfig, interchange
from hm3dm3_env.episodes.schema import Episode, EpisodeError, load_split, split_digest
from hm3dm3_env.geometry import to_quaternion
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from tests.conftest import SMALL

Json = dict[str, Any]
NAMES = ("sofa", "bookshelf", "armchair", "refrigerator", "dining table", "potted plant", "cabinet")


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(value).encode()))
    return path


@pytest.fixture(scope="module")
def things(rooms_sim: EmbeddedSimulator) -> list[Json]:
    """The objects of the two rooms as Habitat files have them, with everything that any format has."""
    finder = GoalFinder(rooms_sim, 0, GoalConfig(), 0)
    found = []
    for item in (i for name in NAMES for i in rooms_sim.scene.of_category(name)):
        seen, photo = finder.viewpoints(item.id), finder.photo(item.id)
        assert seen is not None and photo is not None
        views = [
            {"agent_state": {"position": p.tolist(), "rotation": to_quaternion(h)}, "iou": float(c)}
            for p, h, c in zip(seen.positions[::3], seen.headings, seen.coverage)
        ]
        image = {
            "position": list(photo.position),
            "rotation": list(photo.rotation),
            "hfov": photo.hfov_deg,
            "image_dimensions": [512, 512],
            "frame_coverage": 0.2,
            "object_coverage": 0.8,
        }
        found.append(
            {
                "object_category": item.category,
                "object_id": f"{item.category}_{item.id}",
                "position": item.center.tolist(),
                "view_points": views,
                "image_goals": [image],
                "lang_desc": f"Find the {item.category} that the text is about.",
            }
        )
    return found


def episodes(scene: Path, **more: Any) -> list[Json]:
    stem = scene.name.split("-")[-1]
    places = ([2.6, 0.0, -1.4], [6.2, 0.0, -1.2], [8.9, 0.0, -1.3], [4.6, 0.0, -3.2])
    return [
        {
            "episode_id": str(i),
            "scene_id": f"hm3d/val/{scene.name}/{stem}.basis.glb",
            "start_position": place,
            "start_rotation": to_quaternion(0.5 * i),
            "object_category": "sofa",
            "goals": [],
            **more,
        }
        for i, place in enumerate(places)
    ]


def without(item: Json, *names: str) -> Json:
    return {key: value for key, value in item.items() if key not in names}


def ovon(scene: Path, things: list[Json]) -> Json:
    stem = scene.name.split("-")[-1]
    goals: Json = {}
    for item in things:
        key = f"{stem}.basis.glb_{item['object_category']}"
        goals.setdefault(key, []).append(without(item, "lang_desc", "image_goals"))
    return {"goals_by_category": goals, "episodes": episodes(scene, children_object_categories=["armchair"])}


def goat(scene: Path, things: list[Json]) -> Json:
    goals: Json = {}
    for item in things:
        goals.setdefault(f"{scene.name.split('-')[-1]}_{item['object_category']}", []).append(item)
    tasks = [["sofa", "object", None], ["armchair", "image", "armchair_13", 0]]
    return {"goals": goals, "episodes": episodes(scene, tasks=tasks)}


def iin(scene: Path, things: list[Json]) -> Json:
    goals = {}
    for item in things:
        number = int(item["object_id"].split("_")[-1])
        goals[f"{scene.name.split('-')[-1]}_{number}"] = {**without(item, "lang_desc"), "object_id": number}
    return {"goals": goals, "episodes": episodes(scene, goal_object_id="11", goal_image_id=0)}


FORMATS: dict[str, Callable[[Path, list[Json]], Json]] = {"ovon": ovon, "goat": goat, "iin": iin}
MODALITIES = {"ovon": {"ON"}, "goat": {"ON", "TN", "IIN"}, "iin": {"ON", "IIN"}}


@pytest.fixture
def root(data: Path, tmp_path: Path) -> Path:
    (tmp_path / "scenes").symlink_to(data / "scenes")
    return tmp_path


@pytest.fixture
def easy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two rooms are too small for the benchmark's distances."""
    sampling = command.SamplingConfig(separation=1.0, viewpoint_gap=0.1, min_makespan=0.5)
    monkeypatch.setattr(command, "SamplingConfig", lambda: sampling)


@pytest.mark.parametrize("kind", FORMATS)
def test_files_become_episodes(
    root: Path, rooms_scene: Path, things: list[Json], easy: None, kind: str
) -> None:
    write(root / "in" / "val.json.gz", {"episodes": []})
    write(root / "in" / "content" / "abc.json.gz", FORMATS[kind](rooms_scene, things))
    interchange(InterchangeConfig(str(root / "in"), "rooms", kind, data=str(root), episodes=6, workers=1))
    made = load_split(root, kind)
    assert len(made) == 6
    goals = [goal for episode in made for goal in episode.goals]
    assert {goal.modality for goal in goals} == MODALITIES[kind]
    known = {int(item["object_id"].split("_")[-1]): item for item in things}
    for goal in goals:
        item = known[goal.object_id]
        assert goal.category == item["object_category"]
        if goal.modality == "TN":
            assert goal.text == item["lang_desc"]
        if goal.image is not None:
            assert (
                list(goal.image.position) == item["image_goals"][0]["position"] and goal.image.hfov_deg > 59
            )
    sofas = [len(goal.acceptable) for goal in goals if (goal.modality, goal.category) == ("ON", "sofa")]
    if kind == "ovon":
        assert sofas and set(sofas) == {3}  # both armchairs are narrower kinds
    for identity, item in made[0].objects.items():
        theirs = np.array([view["agent_state"]["position"] for view in known[identity]["view_points"]])
        assert all(np.linalg.norm(theirs - point, axis=1).min() < 0.101 for point in item.viewpoints)
    starts = {tuple(np.round(pose.position, 2)) for episode in made for pose in episode.starts}
    assert starts & {tuple(e["start_position"]) for e in episodes(rooms_scene)}
    assert find(AuditConfig(kind, str(root), sample=0, workers=1))[2] == []


def test_they_can_be_played(
    root: Path, rooms_scene: Path, things: list[Json], easy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root / "goat.json.gz", goat(rooms_scene, things))
    words = [f"in={path}", "scenes=rooms", "out=goat", f"data={root}", "episodes=2", "workers=1"]
    monkeypatch.setattr(sys, "argv", ["interchange", *words])
    command.main()
    env = parallel_env(split="goat", data=str(root), camera=SMALL)
    env.reset(seed=0)
    env.step({name: 1 for name in env.agents})
    assert len(env.episodes) == 2


def test_what_does_not_fit_is_left_out(root: Path, rooms_scene: Path, things: list[Json], easy: None) -> None:
    moved = copy.deepcopy(things)
    moved[0]["position"][0] += 1.0  # another edition of the scene
    moved[1]["view_points"] = [{"agent_state": {"position": [3.5, 0.0, -30.0]}}]
    path = write(root / "ovon.json.gz", ovon(rooms_scene, moved))
    interchange(InterchangeConfig(str(path), "rooms", "fit", data=str(root), episodes=6, workers=1))
    ids = {goal.object_id for episode in load_split(root, "fit") for goal in episode.goals}
    gone = {int(item["object_id"].split("_")[-1]) for item in moved[:2]}
    assert len(ids) >= 4 and not ids & gone
    for item in moved:
        item["position"][1] += 5.0
    path = write(root / "ovon.json.gz", ovon(rooms_scene, moved))
    with pytest.raises(EpisodeError, match="nothing fits the scenes.*8 of 8 objects of ovon.json.gz"):
        interchange(InterchangeConfig(str(path), "rooms", "fit", data=str(root), workers=1))


def test_formats_are_told_apart(rooms_scene: Path, things: list[Json], tmp_path: Path) -> None:
    for kind, make in FORMATS.items():
        value = make(rooms_scene, things)
        assert detect(value) == kind
        scene = read_scene(write(tmp_path / f"{kind}.json.gz", value))
        assert scene.format == kind and scene.stem == rooms_scene.name.split("-")[-1]
        assert (
            len(scene.objects) == 8 and len(scene.starts) == 4 and set(scene.modalities) == MODALITIES[kind]
        )
        assert scene.starts[1].heading == pytest.approx(0.5)
    assert detect({"goals": {}}) == "" and detect({"episodes": []}) == ""
    long = [{**item, "lang_desc": "word " * 56} for item in things]
    assert read_scene(write(tmp_path / "long.json.gz", goat(rooms_scene, long))).modalities == ("ON", "IIN")


BROKEN: dict[str, tuple[str, Callable[[Json], Any], str]] = {
    "rotation wxyz": (
        "ovon",
        lambda v: v["episodes"][2].update(start_rotation=[0.8, 0, 0.6, 0]),
        r"episode 2: start_rotation: .*\[w, x, y, z\]",
    ),
    "rotation of three": (
        "goat",
        lambda v: v["episodes"][0].update(start_rotation=[0, 0, 1]),
        "episode 0: start_rotation",
    ),
    "no start": ("iin", lambda v: v["episodes"][1].pop("start_position"), "episode 1: .*'start_position'"),
    "episode that is none": ("iin", lambda v: v["episodes"].append(3), "episode number 4: "),
    "two scenes": ("ovon", lambda v: v["episodes"][0].update(scene_id="x/other.glb"), "scene_id: several"),
    "id without a number": (
        "goat",
        lambda v: first(v).update(object_id="bed_one"),
        r"goals\..*_sofa\.0: object_id: 'bed_one'",
    ),
    "no viewpoints": ("ovon", lambda v: first(v).pop("view_points"), r"_sofa\.0: .*'view_points'"),
    "viewpoint of two numbers": (
        "ovon",
        lambda v: first(v)["view_points"][1]["agent_state"].update(position=[1, 2]),
        r"_sofa\.0: view_points\.1\.agent_state\.position",
    ),
    "image rolled": (
        "iin",
        lambda v: first(v)["image_goals"][0].update(rotation=[0, 0, 0.6, 0.8]),
        r"image_goals\.0: rotation: .*rolls",
    ),
    "image not square": (
        "iin",
        lambda v: first(v)["image_goals"][0].update(image_dimensions=[512, 256]),
        "not square",
    ),
    "goals of another kind": (
        "ovon",
        lambda v: v.update(goals_by_category={"a_sofa": 5}),
        r"a_sofa: must be a list",
    ),
    "same id twice": (
        "ovon",
        lambda v: first(v).update(object_id="sofa_12"),
        r"object_id: 12 is a 'sofa' elsewhere",
    ),
    "children that are no names": (
        "ovon",
        lambda v: v["episodes"][0].update(children_object_categories=[1]),
        "episode 0: children",
    ),
}


def first(value: Json) -> Json:
    """The file's first object."""
    goals = value.get("goals") or value["goals_by_category"]
    goal = next(iter(goals.values()))
    return goal[0] if isinstance(goal, list) else goal


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(rooms_scene: Path, things: list[Json], tmp_path: Path, name: str) -> None:
    kind, change, message = BROKEN[name]
    value = copy.deepcopy(FORMATS[kind](rooms_scene, things))
    change(value)
    path = write(tmp_path / "file.json.gz", value)
    with pytest.raises(EpisodeError, match=message) as error:
        read_scene(path)
    assert str(error.value).startswith(f"{path}: ")


def test_files_that_are_none(tmp_path: Path, root: Path, rooms_scene: Path, things: list[Json]) -> None:
    with pytest.raises(EpisodeError, match="no such file"):
        read_foreign(tmp_path / "none.json.gz")
    (tmp_path / "text.json.gz").write_text("hello")
    with pytest.raises(EpisodeError, match="not a gzipped JSON"):
        read_foreign(tmp_path / "text.json.gz")
    with pytest.raises(EpisodeError, match="expected a JSON object"):
        read_foreign(write(tmp_path / "list.json.gz", [1]))
    with pytest.raises(EpisodeError, match="goals: neither"):
        read_foreign(write(tmp_path / "empty.json.gz", {"episodes": []}))
    (tmp_path / "folder").mkdir()
    with pytest.raises(EpisodeError, match="no .json.gz with goals"):
        read_foreign(tmp_path / "folder")
    value = ovon(rooms_scene, things)
    for episode in value["episodes"]:
        episode["scene_id"] = "hm3d/val/00001-elsewhere/elsewhere.glb"
    path = write(tmp_path / "other.json.gz", value)
    with pytest.raises(EpisodeError, match="none of its scenes .elsewhere. is in"):
        interchange(InterchangeConfig(str(path), "rooms", "x", data=str(root)))
    for config in (InterchangeConfig(), InterchangeConfig("a", export="b", out="c"), InterchangeConfig("a")):
        with pytest.raises(ValueError, match="give in="):
            interchange(config)


# -- to others ---------------------------------------------------------------------------------------------


def test_pointnav(
    data: Path,
    rooms_episodes: list[Episode],
    rooms_sim: EmbeddedSimulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "pointnav.json.gz"
    monkeypatch.setattr(sys, "argv", ["interchange", "export=rooms", f"out={out}", f"data={data}"])
    command.main()
    written = json.loads(gzip.decompress(out.read_bytes()))["episodes"]
    assert len(written) == sum(len(e.starts) * len(e.goals) for e in rooms_episodes)
    assert len({e["episode_id"] for e in written}) == len(written)
    fields = {
        "episode_id",
        "scene_id",
        "scene_dataset_config",
        "start_position",
        "start_rotation",
        "goals",
        "start_room",
        "shortest_paths",
        "info",
    }
    by_id = {episode.id: episode for episode in rooms_episodes}
    for row in written:
        assert set(row) == fields and set(row["goals"][0]) == {"position", "radius"}
        assert (data / "scenes" / row["scene_id"]).is_file()
        config = data / "scenes" / row["scene_dataset_config"]
        assert row["scene_dataset_config"] == "default" or config.is_file()
        episode, info = by_id[row["info"]["episode"]], row["info"]
        start = episode.starts[info["robot"]]
        assert row["start_position"] == start.position.tolist()
        assert row["start_rotation"] == pytest.approx(to_quaternion(start.heading), abs=1e-5)
        goal = np.array(row["goals"][0]["position"])
        assert np.abs(episode.viewpoints[info["goal"]] - goal).max(1).min() < 1e-3
        away = rooms_sim.navigator.distance(start.position[None], episode.viewpoints[info["goal"]])[0]
        assert info["geodesic_distance"] == pytest.approx(away, abs=1e-2)
        assert 1.0 - 1e-3 <= info["geodesic_distance"] <= 30


def test_pointnav_of_another_edition_of_a_scene(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "data")
    text = next((tmp_path / "data" / "scenes" / "rooms").glob("*/*.semantic.txt"))
    text.write_text("\n".join(text.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(EpisodeError, match=r"semantic\.txt .* changed since the split was made; generate"):
        interchange(
            InterchangeConfig(export="rooms", out=str(tmp_path / "x.json.gz"), data=str(tmp_path / "data"))
        )
    assert not (tmp_path / "x.json.gz").exists()


def test_pointnav_of_a_goal_without_a_way(root: Path, data: Path) -> None:
    shutil.copytree(data / "episodes", root / "episodes")
    path = next((root / "episodes" / "rooms" / "content").iterdir())
    value = json.loads(gzip.decompress(path.read_bytes()))
    value["episodes"][2]["starts"][1]["position"][1] += 50
    write(path, value)
    with pytest.raises(EpisodeError, match=r"rooms-00002: goals\.0 from starts\.1: there is no way; correct"):
        interchange(InterchangeConfig(export="rooms", out=str(root / "x.json.gz"), data=str(root)))


def test_imports_keep_to_their_own_splits(
    root: Path, rooms_scene: Path, things: list[Json], easy: None
) -> None:
    write(root / "in" / "content" / "abc.json.gz", ovon(rooms_scene, things))
    config = InterchangeConfig(str(root / "in"), "rooms", "new", data=str(root), episodes=2, workers=1)
    interchange(config)
    digest, left = split_digest(root, "new"), root / "episodes" / "new" / "content" / "old.json.gz"
    write(left, {})  # of an earlier import
    interchange(config)
    assert split_digest(root, "new") == digest and not left.exists()
    write(root / "episodes" / "own" / "own.json.gz", {"format": "hm3dm3-episodes", "version": 1})
    with pytest.raises(EpisodeError, match=r"own\.json\.gz: imported: missing.*another out="):
        interchange(replace(config, out="own"))
    with pytest.raises(EpisodeError, match=r"out=\.\./up: must be a split's name"):
        interchange(replace(config, out="../up"))
    with pytest.raises(ValueError, match="seed=-1"):
        interchange(replace(config, seed=-1))


def test_pointnav_needs_a_file(data: Path) -> None:
    with pytest.raises(ValueError, match="give the file to write"):
        interchange(InterchangeConfig(export="rooms", out="folder", data=str(data)))
