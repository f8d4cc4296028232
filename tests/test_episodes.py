"""Episodes: their files, and that what is in them is true of the scene."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm3dm3_env.episodes import generate as generation
from hm3dm3_env.episodes.describe import Predicate, describe, satisfying
from hm3dm3_env.episodes.generate import GenerateConfig, generate
from hm3dm3_env.episodes.goals import GoalConfig, GoalFinder, photo_camera
from hm3dm3_env.episodes.sampler import (
    TEMPLATE_GAP,
    SamplingConfig,
    SceneSampler,
    deal_templates,
    mutual,
    plan_split,
)
from hm3dm3_env.episodes.scene_check import check_scene
from hm3dm3_env.episodes.schema import Episode, EpisodeError, load_split, read_json
from hm3dm3_env.episodes.wording import TEMPLATES
from hm3dm3_env.files import gzip_json_bytes
from hm3dm3_env.geometry import Pose, heading_to
from hm3dm3_env.oracle import reach_on, solve
from hm3dm3_env.scenes.hm3dsem import STRUCTURE, Instance, SceneError, load_scene
from hm3dm3_env.scenes.scan_like import write_scan
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from tests.rooms import FURNITURE, thing, write_two_rooms

FAST = GoalConfig(pixels=32, photo_cameras=2)


@pytest.fixture(scope="session")
def episodes(data: Path) -> list[Episode]:
    return load_split(data, "rooms")


# -- what is in them ---------------------------------------------------------------------------------------


def test_they_load_in_order(episodes: list[Episode], rooms_scene: Path) -> None:
    assert [e.id for e in episodes] == [f"rooms-{i:05d}" for i in range(9)]
    assert [e.index for e in episodes] == list(range(9))
    assert {e.scene for e in episodes} == {rooms_scene} and {e.floor_height for e in episodes} == {0.0}


def test_sizes_and_categories(episodes: list[Episode]) -> None:
    for episode in episodes:
        assert len(episode.starts) in (2, 3, 4) and len(episode.goals) in (3, 4, 5)
        categories = [goal.category for goal in episode.goals]
        assert len(set(categories)) == len(categories) and not set(categories) & set(STRUCTURE)
        for goal in episode.goals:
            assert episode.objects[goal.object_id].category == goal.category
            assert goal.object_id in goal.acceptable
            assert {episode.objects[i].category for i in goal.acceptable} == {goal.category}


def test_what_each_modality_accepts(episodes: list[Episode]) -> None:
    for episode in episodes:
        for goal in episode.goals:
            if goal.modality == "ON":
                assert goal.text == goal.category and goal.image is None
            else:
                assert goal.acceptable == (goal.object_id,)
            if goal.modality == "IIN":
                assert goal.text == "" and goal.image is not None and goal.image.size == 512
            if goal.modality == "TN":
                assert goal.category in goal.text.lower()
                assert goal.predicates[0] == ("category", goal.category)


def test_on_goals_accept_every_instance(rooms_sim: EmbeddedSimulator) -> None:
    finder = GoalFinder(rooms_sim, 0, GoalConfig(), 50)
    armchairs = rooms_sim.scene.of_category("armchair")
    assert len(armchairs) == 2 and all(finder.viewpoints(a.id) is not None for a in armchairs)


def test_modalities_are_balanced(episodes: list[Episode]) -> None:
    count = Counter(goal.modality for episode in episodes for goal in episode.goals)
    assert max(count.values()) - min(count.values()) <= 1


@given(st.integers(0, 1000), st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_plans_are_balanced_at_any_length(seed: int, episodes: int) -> None:
    plans = plan_split(seed, episodes, SamplingConfig())
    assert [plan.index for plan in plans] == list(range(episodes))
    for count in (Counter(m for p in plans for m in p.modalities), Counter(p.agents for p in plans),
                  Counter(len(p.modalities) for p in plans)):
        assert max(count.values()) - min(count.values()) <= 1 or len(count) < 3
    for plan in plans:
        assert [t >= 0 for t in plan.templates] == [m == "TN" for m in plan.modalities]
    dealt = [t for plan in plans for t in plan.templates if t >= 0]
    windows = [dealt[i : i + TEMPLATE_GAP] for i in range(len(dealt))]
    assert all(len(set(window)) == len(window) for window in windows)
    if len(dealt) >= len(TEMPLATES):
        assert set(dealt[: len(TEMPLATES)]) == set(range(len(TEMPLATES)))
    assert plans == plan_split(seed, episodes, SamplingConfig())
    assert (
        plans == plan_split(seed, episodes + 5, SamplingConfig())[:episodes]
    )  # more does not change the first


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_any_number_of_templates_can_be_dealt(count: int) -> None:
    dealer = deal_templates(count, np.random.default_rng(3))
    dealt = [next(dealer) for _ in range(3 * count)]
    assert all(set(dealt[i : i + count]) == set(range(count)) for i in range(0, 3 * count, count))
    gap = min(TEMPLATE_GAP, count)
    assert all(len(set(dealt[i : i + gap])) == gap for i in range(len(dealt) - gap))


def test_neighbours_are_worded_differently_also_when_episodes_are_dropped(tmp_path: Path) -> None:
    """Every third draw of an episode fails for good; the rest keeps its templates."""
    sim = EmbeddedSimulator()
    sim.load(write_two_rooms(tmp_path))
    plans = plan_split(5, 12, SamplingConfig())
    openings = []
    for plan in [plan for plan in plans if plan.index % 3]:
        sampler = SceneSampler(sim, FAST, SamplingConfig(), 5, plan.index)
        for goal in sampler.sample(plan, "x")["goals"]:
            if goal["modality"] == "TN":
                openings.append(" ".join(goal["text"].split()[:2]))
    assert len(openings) >= 8 and all(a != b for a, b in zip(openings, openings[1:]))


def test_starts(episodes: list[Episode], rooms_sim: EmbeddedSimulator) -> None:
    navigator = rooms_sim.navigator
    for episode in episodes:
        points = np.array([s.position for s in episode.starts])
        assert all(navigator.is_navigable(p) for p in points)
        assert len({navigator.island(p) for p in points}) == 1
        assert all(s.pitch == pytest.approx(0, abs=1e-5) for s in episode.starts)
        for viewpoints in episode.viewpoints:
            distance = navigator.distance(points, viewpoints)
            assert (distance >= 1.0 - 1e-3).all() and (distance <= 30).all()
        gaps = np.stack([navigator.distance(points, p[None]) for p in points])
        assert gaps[~np.eye(len(points), dtype=bool)].min() >= 0.5


@pytest.mark.parametrize("count", [2, 3, 4])
def test_starts_are_apart_where_the_floor_allows(tmp_path: Path, count: int) -> None:
    sim = EmbeddedSimulator()
    sim.load(write_two_rooms(tmp_path, None))
    corner = np.array([[0.5, 0.0, -0.5]])
    for seed in range(5):
        sampler = SceneSampler(sim, GoalConfig(), SamplingConfig(), seed, 0)
        points = sampler._starts(sampler.finders[0], count, [corner])
        gaps = np.stack([sim.navigator.distance(points, p[None]) for p in points])
        assert gaps[~np.eye(count, dtype=bool)].min() >= (3.0 if count < 4 else 2.5)
        assert sim.navigator.distance(points, corner).min() >= 1.0


def test_starts_are_looked_for_all_over_the_island(
    rooms_sim: EmbeddedSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chance offers only places of one corner: the lattice has better ones."""
    sampler = SceneSampler(rooms_sim, GoalConfig(), SamplingConfig(), 0, 0)
    corner = np.array([[2.5, 0.0, -1.5]])
    finder, far = sampler.finders[0], np.array([[9.0, 0.0, -1.3]])
    sizes = np.array([0.6, 0.0, 0.6])
    monkeypatch.setattr(finder, "random_place", lambda rng: (corner[0] + sizes * rng.random(3)).round(4))
    points = sampler._starts(finder, 3, [far])
    gaps = np.stack([rooms_sim.navigator.distance(points, p[None]) for p in points])
    assert gaps[~np.eye(3, dtype=bool)].min() >= 3.0
    assert rooms_sim.navigator.distance(points, far).min() >= 1.0
    assert len({rooms_sim.navigator.island(p) for p in points}) == 1


def test_mutual() -> None:
    ring = np.array([[(i - j) % 5 in (2, 3) for j in range(5)] for i in range(5)])
    assert mutual(ring, 1) == [0] and mutual(ring, 2) == [0, 2] and mutual(ring, 3) is None
    ring[0, 1] = ring[1, 0] = ring[1, 3] = ring[3, 1] = ring[0, 3] = ring[3, 0] = True
    assert mutual(ring, 3) == [0, 1, 3]


def test_frames_must_show_what_rays_found(
    rooms_sim: EmbeddedSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where objects share faces, chance decides whose pixels they are: frames differ from loose rays."""
    sofa = rooms_sim.scene.of_category("sofa")[0].id
    assert GoalFinder(rooms_sim, 0, GoalConfig(), 0).photo(sofa) is not None
    before = GoalFinder(rooms_sim, 0, GoalConfig(), 0).viewpoints(sofa)
    assert before is not None
    real, kept = rooms_sim.render, [2]

    def flickers(*args: Any, **kinds: Any) -> Any:
        frames = real(*args, **kinds)
        for frame in frames:
            assert frame.semantic is not None
            frame.semantic[np.arange(frame.camera.height) % kept[0] > 0] = 0
        return frames

    monkeypatch.setattr(rooms_sim, "render", flickers)
    half = GoalFinder(rooms_sim, 0, GoalConfig(), 0).viewpoints(sofa)
    assert half is not None and half.coverage.min() >= 0.05
    assert half.coverage.max() < before.coverage.max() * 0.6
    assert len(half.positions) <= len(before.positions)
    kept[0] = 1000
    finder = GoalFinder(rooms_sim, 0, GoalConfig(), 0)
    assert finder.viewpoints(sofa) is None and finder.photo(sofa) is None


def test_the_makespan_is_the_oracles(episodes: list[Episode], rooms_sim: EmbeddedSimulator) -> None:
    for episode in episodes:
        starts = [tuple(s.position) for s in episode.starts]
        found = solve(starts, len(episode.goals), reach_on(rooms_sim.navigator, episode.viewpoints))
        assert episode.makespan == pytest.approx(found.makespan, abs=1e-3) and episode.makespan >= 3.0


def test_viewpoints(episodes: list[Episode], rooms_sim: EmbeddedSimulator) -> None:
    """Within a metre of the box, standable, and the object fills 5% of frames that look at it."""
    seen = {}
    for episode in episodes:
        for identity in {i for goal in episode.goals for i in goal.acceptable}:
            seen[identity] = episode.objects[identity]
    assert len(seen) >= 5
    camera = Camera(128, 128, 90.0, min_depth=0.01, max_depth=100.0)
    for identity, item in seen.items():
        box = rooms_sim.scene.instances[identity]
        np.testing.assert_allclose(item.position, box.center, atol=1e-3)
        points = item.viewpoints
        gap = np.maximum(np.maximum(box.low - points, points - box.high), 0)[:, [0, 2]]
        assert np.hypot(*gap.T).max() <= 1.0 + 1e-3
        assert all(rooms_sim.navigator.is_navigable(p) for p in points)
        for point in points[:: max(len(points) // 4, 1)]:
            poses = [
                Pose(*map(float, point), heading_to(point, box.center), pitch)
                for pitch in np.radians((-30, 0, 30))
            ]
            frames = rooms_sim.render(poses, camera, rgb=False, semantic=True)
            share = sum(float((f.semantic == identity).mean()) for f in frames if f.semantic is not None)
            assert share >= 0.05 - 0.005


def test_viewpoints_can_be_stood_at_as_stored(tmp_path: Path) -> None:
    """In scans, walls are uneven, and rounding takes a place at the very edge off the floor."""
    sim = EmbeddedSimulator()
    sim.load(write_scan(tmp_path, 20_000, 2, 256))
    finder = GoalFinder(sim, 0, GoalConfig(), 0)
    for item in [*sim.scene.of_category("sofa"), *sim.scene.of_category("refrigerator")][:4]:
        seen = finder.viewpoints(item.id)
        assert seen is not None and all(sim.navigator.is_navigable(p) for p in seen.positions)


def test_image_goals_show_the_object(episodes: list[Episode], rooms_sim: EmbeddedSimulator) -> None:
    images = {goal.image: goal.object_id for e in episodes for goal in e.goals if goal.image is not None}
    assert len(images) >= 3
    for image, identity in images.items():
        assert 60 <= image.hfov_deg <= 120 and 0.8 - 1e-3 <= image.position[1] <= 1.5 + 1e-3
        assert image.object_coverage > 0.7
        box = rooms_sim.scene.instances[identity]
        away = np.hypot(image.position[0] - box.center[0], image.position[2] - box.center[2])
        assert min(abs(away - ring) for ring in (0.5, 1.0, 1.5, 2.0)) < 1e-2
        pose, camera = photo_camera(image)
        assert (camera.width, camera.height) == (512, 512)
        frame = rooms_sim.render([pose], camera, semantic=True)[0]
        share = float((frame.semantic == identity).mean())
        assert share == pytest.approx(image.frame_coverage, abs=0.01) and share > 0.02
        small = rooms_sim.render(*([photo_camera(image, 64)[0]], photo_camera(image, 64)[1]))[0]
        assert small.rgb is not None and small.rgb.shape == (64, 64, 3) and small.rgb.std() > 1


def test_descriptions_are_true_of_one_object_only(
    episodes: list[Episode], rooms_sim: EmbeddedSimulator
) -> None:
    floor = GoalFinder(rooms_sim, 0, GoalConfig(), 0).instances
    checked = 0
    for episode in episodes:
        for goal in episode.goals:
            if goal.modality == "TN":
                predicates = [Predicate(kind, value) for kind, value in goal.predicates]
                assert len(predicates) >= 2 and satisfying(predicates, floor) == [goal.object_id]
                checked += 1
    assert checked >= 9


def chair(identity: int, x: float, colour: str = "", size: float = 0.5) -> Instance:
    return Instance(
        identity, "chair", 0, "hall", np.array([x, 0.0, 0.0]), np.array([x + size, size, size]), colour
    )


def test_descriptions_by_hand() -> None:
    rng = np.random.default_rng(0)
    twins = [chair(1, 0.0, "red"), chair(2, 5.0, "red")]
    assert describe(twins[0], twins, rng) is None  # nothing tells them apart
    shelf = Instance(3, "shelf", 0, "hall", np.array([0.0, 0.0, 0.6]), np.array([1.0, 1.8, 0.9]))
    said = describe(twins[0], [*twins, shelf], rng)
    assert said is not None and Predicate("next_to", "shelf") in said.predicates and "shelf" in said.text
    sized = [chair(1, 0.0), chair(2, 5.0, size=0.7)]
    biggest = describe(sized[1], sized, rng)
    assert biggest is not None and Predicate("size", "largest") in biggest.predicates
    similar = [chair(1, 0.0), chair(2, 5.0, size=0.51)]
    assert describe(similar[1], similar, rng) is None  # too close to call
    table = Instance(4, "table", 0, "hall", np.array([8.0, 0.0, 0.0]), np.array([9.0, 0.7, 1.0]))
    cup = Instance(5, "cup", 0, "hall", np.array([8.4, 0.7, 0.4]), np.array([8.5, 0.8, 0.5]))
    other = Instance(6, "cup", 0, "hall", np.array([2.4, 0.0, 0.4]), np.array([2.5, 0.1, 0.5]))
    on_it = describe(cup, [table, cup, other], rng)
    assert on_it is not None and Predicate("on", "table") in on_it.predicates


def test_hidden_objects_are_no_goals(tmp_path: Path) -> None:
    safe = [thing("safe", (7.0, 1.8, 0.05), (8.4, 2.6, 0.7), "blue", 1),
            thing("crate", (6.9, 1.7, 0), (8.5, 2.7, 0.8), "red", 1)]  # the safe is inside the crate
    sim = EmbeddedSimulator()
    sim.load(write_two_rooms(tmp_path, safe))
    finder = GoalFinder(sim, 0, GoalConfig(), 0)
    assert finder.viewpoints(sim.scene.of_category("safe")[0].id) is None
    assert finder.photo(sim.scene.of_category("safe")[0].id) is None
    assert finder.viewpoints(sim.scene.of_category("crate")[0].id) is not None
    assert {i.category for i in finder.candidates()} == {"safe", "crate"}


# -- broken files ------------------------------------------------------------------------------------------


@pytest.fixture
def split(data: Path, tmp_path: Path) -> Path:
    """A copy of the split's files, to be broken; scenes are not copied."""
    shutil.copytree(data / "episodes", tmp_path / "episodes")
    (tmp_path / "scenes").symlink_to(data / "scenes")
    return tmp_path


def header(root: Path) -> Path:
    return root / "episodes" / "rooms" / "rooms.json.gz"


def content(root: Path) -> Path:
    return next((root / "episodes" / "rooms" / "content").iterdir())


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    value = read_json(path)
    change(value)
    path.write_bytes(gzip_json_bytes(value))


@pytest.mark.parametrize("which", [header, content])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b"", "not a gzipped JSON"),
        (lambda b: b"{}", "not a gzipped JSON"),
        (lambda b: b[:-20], "not a gzipped JSON"),
        (lambda b: b[:60] + bytes(40) + b[100:], "not a gzipped JSON"),
        (lambda b: gzip_json_bytes([1]), "expected a JSON object"),
        (
            lambda b: gzip_json_bytes({"format": "hm3dm3-episodes", "version": 2}),
            "version 2 of .* newer, so update hm3dm3",
        ),
        (lambda b: gzip_json_bytes({"format": "goat", "version": 1}), "'goat'"),
        (lambda b: gzip_json_bytes({"episodes": []}), "version None"),
        (None, "no such file"),
    ],
)
def test_files_that_cannot_be_read(
    split: Path, which: Callable, damage: Callable | None, message: str
) -> None:
    path = which(split)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(EpisodeError, match=message) as error:
        load_split(split, "rooms")
    assert str(error.value).startswith(f"{path}: ")


def test_nan_is_no_number(split: Path) -> None:
    import gzip

    path = content(split)
    path.write_bytes(
        gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"makespan":', b'"makespan":NaN,"x":'))
    )
    with pytest.raises(EpisodeError, match="NaN"):
        load_split(split, "rooms")


def goal(modality: str) -> Callable[[dict[str, Any]], tuple[int, int, dict[str, Any]]]:
    def find(value: dict[str, Any]) -> tuple[int, int, dict[str, Any]]:
        return next(
            (e, j, g)
            for e, episode in enumerate(value["episodes"])
            for j, g in enumerate(episode["goals"])
            if g["modality"] == modality
        )

    return find


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "missing field": (lambda e: e.pop("makespan"), "makespan"),
    "wrong type": (lambda e: e.update(floor_height="low"), "floor_height"),
    "makespan of 0": (lambda e: e.update(makespan=0), "makespan"),
    "no starts": (lambda e: e.update(starts=[]), "starts"),
    "no goals": (lambda e: e.update(goals=[]), "goals"),
    "start of two numbers": (lambda e: e["starts"][1].update(position=[1, 2]), "starts.1.position"),
    "rotation of three": (lambda e: e["starts"][0].update(rotation=[0, 0, 1]), "starts.0.rotation"),
    "rotation too long": (
        lambda e: e["starts"][0].update(rotation=[0, 0.5, 0, 1]),
        "starts.0.rotation: .*unit length",
    ),
    "rotation rolled": (
        lambda e: e["starts"][1].update(rotation=[0, 0, 0.6, 0.8]),
        "starts.1.rotation: .*rolls",
    ),
    "rotation wxyz": (
        lambda e: e["starts"][1].update(rotation=[0.8, 0, 0.6, 0]),
        r"starts.1.rotation: .*\[w, x, y, z\]",
    ),
    "unknown modality": (lambda e: e["goals"][0].update(modality="AUDIO"), "goals.0.modality"),
    "empty category": (lambda e: e["goals"][1].update(category=""), "goals.1.category"),
    "nothing acceptable": (lambda e: e["goals"][0].update(acceptable=[]), "goals.0.acceptable"),
    "dangling acceptable": (
        lambda e: e["goals"][2]["acceptable"].append(9999),
        "goals.2.acceptable: object 9999",
    ),
    "dangling object_id": (lambda e: e["goals"][1].update(object_id=9999), "goals.1.*object 9999"),
    "predicate of one word": (lambda e: e["goals"][0].update(predicates=[["colour"]]), "goals.0.predicates"),
    "unknown predicate": (
        lambda e: e["goals"][0].update(predicates=[["smell", "sweet"]]),
        r"goals.0.predicates.0.0: 'smell' is not one of \['category', 'colour'",
    ),
    "id in quotes": (lambda e: e["goals"][1].update(object_id="7"), "goals.1.object_id: '7' is not of type"),
    "id that is true": (lambda e: e["goals"][1].update(object_id=True), "goals.1.object_id: True is not of"),
    "text that is a list": (lambda e: e["goals"][1].update(text=["a"]), "goals.1.text"),
    "goals that are an object": (lambda e: e.update(goals={}), "goals: {} is not of type 'array'"),
    "floor that is a half": (lambda e: e.update(floor=0.5), "floor: 0.5 is not of type 'integer'"),
    "id with a folder": (lambda e: e.update(episode_id="rooms-00004: ../x"), r"episode_id: '.*/x' does not"),
    "start far away": (lambda e: e["starts"][0].update(position=[0, 0, 1e99]), "starts.0.position.2: 1e.99"),
    "long nonsense": (lambda e: e.update(makespan="x" * 5000), r"makespan: 'x{100,199}\.\.\.; correct it"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_episodes(split: Path, name: str) -> None:
    change, field = BROKEN[name]
    edit(content(split), lambda value: change(value["episodes"][4]))
    with pytest.raises(EpisodeError, match=field) as error:
        load_split(split, "rooms")
    assert str(error.value).startswith(f"{content(split)}: episode rooms-00004: ")
    assert str(error.value).endswith("; correct it, or generate the split again")
    assert len(str(error.value)) < 700 and "\n" not in str(error.value)


@pytest.mark.parametrize("value", [None, 7, "rooms-00004", [], {"episode_id": ["x"]}])
def test_episodes_that_are_none(split: Path, value: Any) -> None:
    edit(content(split), lambda whole: whole["episodes"].append(value))
    with pytest.raises(EpisodeError, match="episode \\?: ") as error:
        load_split(split, "rooms")
    assert str(error.value).startswith(f"{content(split)}: ")


def test_image_goals_need_their_camera(split: Path) -> None:
    before = content(split).read_bytes()
    good = copy.deepcopy(goal("IIN")(read_json(content(split)))[2]["image"])
    for modality, change, message in (
        ("IIN", lambda g: g.pop("image"), "an IIN goal needs a camera"),
        ("IIN", lambda g: g.update(image=None), "an IIN goal needs a camera"),
        ("ON", lambda g: g.update(image=good), "only an IIN goal has one"),
        ("IIN", lambda g: g["image"].update(hfov_deg=180), "hfov_deg|image"),
        ("IIN", lambda g: g["image"].pop("position"), "image"),
        ("IIN", lambda g: g["image"].update(frame_coverage="all"), "image"),
        ("IIN", lambda g: g["image"].update(rotation=[0, 0, 0.6, 0.8]), "image.rotation: .*rolls"),
    ):
        content(split).write_bytes(before)
        value = read_json(content(split))
        episode, j, mine = goal(modality)(value)
        change(mine)
        content(split).write_bytes(gzip_json_bytes(value))
        with pytest.raises(EpisodeError, match=message) as error:
            load_split(split, "rooms")
        assert f"episode {value['episodes'][episode]['episode_id']}: goals.{j}" in str(error.value)


def test_broken_objects(split: Path) -> None:
    before = read_json(content(split))
    key = next(iter(before["objects"]))
    for change, message in (
        (lambda o: o.pop("viewpoints"), "viewpoints: missing"),
        (lambda o: [o.pop("category"), o.pop("position")], "category, position: missing"),
        (lambda o: o.update(viewpoints=[]), "viewpoints: must be a list"),
        (lambda o: o.update(viewpoints=[[1, 2]]), "viewpoints: must be a list"),
        (lambda o: o.update(viewpoints=[[1, 2, 3], [1, 2]]), "viewpoints: must be a list"),
        (lambda o: o.update(viewpoints=[[1, 2, "3"]]), "viewpoints: must be a list"),
        (lambda o: o.update(viewpoints=[[1, 2, None]]), "viewpoints: must be a list"),
        (lambda o: o.update(viewpoints=[[1, 2, 1e7]]), "viewpoints: must be a list"),
        (lambda o: o.update(position=[1, 2]), "position: must be"),
        (lambda o: o.update(position=[True] * 3), "position: must be"),
        (lambda o: o.update(position="here"), "position: must be"),
        (lambda o: o.update(category=7), "category: must be a name, not 7"),
    ):
        value = copy.deepcopy(before)
        change(value["objects"][key])
        content(split).write_bytes(gzip_json_bytes(value))
        with pytest.raises(EpisodeError, match=message) as error:
            load_split(split, "rooms")
        assert f"{content(split)}: objects.{key}" in str(error.value)
        assert str(error.value).endswith("correct it, or generate the split again")
    for name in ("sofa", "07", "-1", ""):
        value = {**before, "objects": {**before["objects"], name: before["objects"][key]}}
        content(split).write_bytes(gzip_json_bytes(value))
        with pytest.raises(EpisodeError, match=f"objects: .*'{name}'"):
            load_split(split, "rooms")
    content(split).write_bytes(gzip_json_bytes({**before, "objects": {**before["objects"], key: [1]}}))
    with pytest.raises(EpisodeError, match=f"objects.{key}: must be an object"):
        load_split(split, "rooms")


def test_duplicate_ids(split: Path) -> None:
    edit(content(split), lambda value: value["episodes"][2].update(episode_id="rooms-00001"))
    with pytest.raises(EpisodeError, match="episode rooms-00001: episode_id: appears twice; rename") as error:
        load_split(split, "rooms")
    assert str(error.value).startswith(f"{content(split)}: ")


def test_duplicate_ids_across_files(split: Path, data: Path) -> None:
    """Both files are named."""
    (split / "scenes").unlink()
    shutil.copytree(data / "scenes", split / "scenes")
    first = content(split)
    scene = split / "scenes" / "rooms" / first.name.removesuffix(".json.gz")
    scene.rename(scene.with_name("t1-copy"))
    shutil.copytree(scene.with_name("t1-copy"), scene)
    second = first.with_name("t1-copy.json.gz")
    value = read_json(first) | {"scene": "t1-copy"}
    for episode in value["episodes"][1:]:
        episode["episode_id"] += "b"
    second.write_bytes(gzip_json_bytes(value))
    edit(header(split), lambda value: value["scenes"].append("t1-copy"))
    with pytest.raises(EpisodeError, match="rooms-00000: episode_id: appears twice, also in") as error:
        load_split(split, "rooms")
    assert str(first) in str(error.value) and str(second) in str(error.value)
    assert len(load_split(split, "rooms", {"t1-copy"})) == 9
    edit(header(split), lambda value: value["scenes"].append("t1-copy"))
    with pytest.raises(EpisodeError, match="rooms.json.gz: scenes: 't1-copy' is listed twice; "):
        load_split(split, "rooms")


def test_objects_that_are_gone_from_the_scene(split: Path) -> None:
    """The scene lost an object since: file, episode, goal and object are named, and what to do."""
    edit(content(split), lambda value: value.pop("scene_files"))
    episode = load_split(split, "rooms")[3]
    scene = load_scene(episode.scene)
    check_scene(episode, scene)
    gone = episode.goals[2].object_id
    scene.instances.pop(gone)
    with pytest.raises(EpisodeError, match=f"goals.2.acceptable: the scene has no object {gone} ") as error:
        check_scene(episode, scene)
    assert str(error.value).startswith(f"{content(split)}: episode rooms-00003: ")
    assert "generate the split again" in str(error.value) and "\n" not in str(error.value)


def test_missing_and_swapped_scenes(split: Path) -> None:
    edit(header(split), lambda value: value.update(scenes_root="elsewhere"))
    with pytest.raises(EpisodeError, match="scene: no folder .*elsewhere"):
        load_split(split, "rooms")
    edit(header(split), lambda value: value.update(scenes_root="rooms", scenes=["t9-other"]))
    with pytest.raises(EpisodeError, match="t9-other.json.gz: no such file"):
        load_split(split, "rooms")
    content(split).rename(content(split).parent / "t9-other.json.gz")
    with pytest.raises(EpisodeError, match="is listed|listed for 't9-other'"):
        load_split(split, "rooms")
    edit(header(split), lambda value: value.pop("scenes"))
    with pytest.raises(EpisodeError, match="scenes"):
        load_split(split, "rooms")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"dropped": 3}, "dropped: 3 is not of type 'array'"),
        ({"settings": 3}, "settings: 3 is not of type 'object'"),
        ({"settings": {"goals": 3}}, "settings.goals: 3 is not of type 'object'"),
        ({"scenes": [3]}, "scenes.0: 3 is not of type 'string'"),
    ],
)
def test_broken_headers(split: Path, change: dict[str, Any], field: str) -> None:
    edit(header(split), lambda value: value.update(change))
    with pytest.raises(EpisodeError, match=field) as error:
        load_split(split, "rooms")
    assert str(error.value).startswith(f"{header(split)}: ")
    assert str(error.value).endswith("; correct it, or generate the split again")


def test_only_some_scenes(data: Path, rooms_scene: Path) -> None:
    assert load_split(data, "rooms", set()) == []
    assert len(load_split(data, "rooms", {rooms_scene.name})) == 9


def test_unknown_fields_are_kept_out_of_the_way(split: Path) -> None:
    edit(content(split), lambda value: value["episodes"][0].update(comment="hello"))
    assert len(load_split(split, "rooms")) == 9


# -- generating --------------------------------------------------------------------------------------------


def config(root: Path, workers: int = 1, **changes: Any) -> GenerateConfig:
    return GenerateConfig(
        split="pair",
        scenes="pair",
        data=str(root),
        houses=2,
        episodes=4,
        workers=workers,
        goals=FAST,
        **changes,
    )


def pair(root: Path) -> Path:
    """Two scenes under scenes/pair."""
    write_two_rooms(root / "scenes" / "pair")
    write_two_rooms(root / "scenes" / "pair", [o for o in FURNITURE if o.category != "cabinet"], 0.8)
    return root


def everything(root: Path) -> dict[str, bytes]:
    folder = root / "episodes" / "pair"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The split's bytes, made in one go with one worker."""
    root = pair(tmp_path_factory.mktemp("one"))
    generate(config(root))
    return everything(root)


def test_same_bytes_with_two_workers(tmp_path: Path, expected: dict[str, bytes]) -> None:
    generate(config(pair(tmp_path), workers=2))
    assert everything(tmp_path) == expected and len(expected) == 3


def test_another_seed_gives_other_episodes(tmp_path: Path, expected: dict[str, bytes]) -> None:
    generate(config(pair(tmp_path), seed=7))
    assert everything(tmp_path).keys() == expected.keys() and everything(tmp_path) != expected


def test_it_goes_on_where_it_was_stopped(
    tmp_path: Path, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pair(tmp_path) / "episodes" / "pair"
    names = sorted(name for name in expected if name.startswith("content"))
    for name, data in expected.items():  # one scene done, the other half written, no header
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("content"):
            (folder / name).write_bytes(data if name == names[0] else data[: len(data) // 2])
    jobs, real = [], generation._scene_job
    monkeypatch.setattr(generation, "_scene_job", lambda *job: (jobs.append(job), real(*job)))
    generate(config(tmp_path))
    assert everything(tmp_path) == expected and len(jobs) == 1
    generate(config(tmp_path))
    assert len(jobs) == 1  # all there: nothing to do


def test_killed_and_run_again(tmp_path: Path, expected: dict[str, bytes]) -> None:
    pair(tmp_path)
    code = (
        "import sys; from pathlib import Path; from tests.test_episodes import config, generate; "
        "generate(config(Path(sys.argv[1])))"
    )
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    made = tmp_path / "episodes" / "pair" / "content"
    deadline = time.monotonic() + 120
    while not list(made.glob("*.json.gz")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = sorted(path.name for path in made.glob("*.json.gz"))
    assert done and "pair.json.gz" not in everything(tmp_path)
    first = (made / done[0]).stat().st_mtime_ns
    generate(config(tmp_path))
    assert {k: v for k, v in everything(tmp_path).items() if not k.endswith(".tmp")} == expected
    assert (made / done[0]).stat().st_mtime_ns == first  # what was finished was kept


def test_other_settings_are_made_again(tmp_path: Path, expected: dict[str, bytes]) -> None:
    folder = pair(tmp_path) / "episodes" / "pair"
    for name, data in expected.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    generate(config(tmp_path, sampling=SamplingConfig(agents=(2,))))
    assert {len(e.starts) for e in load_split(tmp_path, "pair")} == {2}


def test_a_smaller_split_leaves_no_files_of_a_larger_one(tmp_path: Path, expected: dict[str, bytes]) -> None:
    folder = pair(tmp_path) / "episodes" / "pair"
    for name, data in expected.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    generate(replace(config(tmp_path), houses=1, episodes=1))
    assert len(list((folder / "content").iterdir())) == 1 and len(load_split(tmp_path, "pair")) == 1


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no default size; give houses"):
        generate(GenerateConfig(split="new", scenes="pair", data=str(tmp_path)))
    with pytest.raises(SceneError, match="no such folder of scenes"):
        generate(config(tmp_path))
    write_two_rooms(tmp_path / "scenes" / "pair", None)  # nothing to look for
    with pytest.raises(ValueError, match="no scene gave an episode; first reasons: .*goal"):
        generate(config(tmp_path, sampling=SamplingConfig(tries=2)))
