"""The audit: it passes what is generated, and finds each claim that was tampered with, and nothing else."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm3dm3_env.episodes.audit import run
from hm3dm3_env.episodes.audit.findings import KINDS
from hm3dm3_env.episodes.audit.paraphrase import Vocabulary, paraphrase_faults
from hm3dm3_env.episodes.audit.places import brute_force
from hm3dm3_env.episodes.audit.reading import blank, skeleton
from hm3dm3_env.episodes.audit.run import AuditConfig, audit, find
from hm3dm3_env.episodes.audit.words import FloorBoxes, description_faults
from hm3dm3_env.episodes.describe import Predicate
from hm3dm3_env.episodes.generate import GenerateConfig, generate
from hm3dm3_env.episodes.sampler import SamplingConfig
from hm3dm3_env.episodes.schema import EpisodeError, read_json
from hm3dm3_env.files import gzip_json_bytes
from hm3dm3_env.geometry import to_quaternion
from hm3dm3_env.oracle import reach_on, solve
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from tests.rooms import write_two_rooms

Json = dict[str, Any]
Tamper = Callable[["Split"], None]


class Split:
    """A copy of the first five episodes of the split "rooms", whose files can be changed. What follows from a
    change is made right again, so that one claim at a time is false."""

    def __init__(self, root: Path, sim: EmbeddedSimulator) -> None:
        self.root, self.sim = root, sim
        self.folder = root / "episodes" / "rooms"
        self.path = next((self.folder / "content").iterdir())
        self.header, self.content = read_json(self.folder / "rooms.json.gz"), read_json(self.path)
        self.content["episodes"] = self.content["episodes"][:5]
        self.episodes: list[Json] = self.content["episodes"]
        self.objects: Json = self.content["objects"]
        self.scene = root / "scenes" / "rooms" / self.content["scene"]

    def write(self) -> None:
        (self.folder / "rooms.json.gz").write_bytes(gzip_json_bytes(self.header))
        self.path.write_bytes(gzip_json_bytes(self.content))

    def found(self) -> set[str]:
        self.write()
        return {v.kind for v in self.violations()}

    def violations(self) -> list[Any]:
        return find(AuditConfig(split="rooms", data=str(self.root), sample=0, workers=1, viewpoints=3))[2]

    def solve(self, episode: Json) -> None:
        """Make d* that of the changed episode."""
        seen = [
            np.concatenate([np.array(self.objects[str(i)]["viewpoints"]) for i in goal["acceptable"]])
            for goal in episode["goals"]
        ]
        starts = [tuple(start["position"]) for start in episode["starts"]]
        episode["makespan"] = round(solve(starts, len(seen), reach_on(self.sim.navigator, seen)).makespan, 4)

    def relax(self) -> None:
        """Let starts be anywhere, so that changed goals don't make them wrong; d* is made right."""
        self.header["settings"]["sampling"].update(viewpoint_gap=0.0, separation=0.5, min_makespan=0.01)
        for episode in self.episodes:
            self.solve(episode)

    def with_goal(self, modality: str, test: Callable[[Json], bool] = lambda goal: True) -> tuple[Json, Json]:
        """An episode and a goal in it."""
        goals = [(e, g) for e in self.episodes for g in e["goals"]]
        return next((e, g) for e, g in goals if g["modality"] == modality and test(g))

    def even(self) -> Json:
        """An episode with one goal of each modality, whose loss keeps the totals balanced."""
        return next(
            e
            for e in self.episodes
            if Counter(g["modality"] for g in e["goals"]) == {"ON": 1, "TN": 1, "IIN": 1}
        )

    def become(self, goal: Json, identity: int) -> None:
        """Make an ON goal look for another object; one that the file doesn't have gets the old viewpoints."""
        item, before = self.sim.scene.instances[identity], self.objects[str(goal["object_id"])]
        new = {
            "category": item.category,
            "position": item.center.tolist(),
            "viewpoints": before["viewpoints"],
        }
        self.objects.setdefault(str(identity), new)
        goal |= {"category": item.category, "text": item.category}
        goal |= {"object_id": identity, "acceptable": [identity]}


@pytest.fixture
def split(data: Path, rooms_sim: EmbeddedSimulator, tmp_path: Path) -> Split:
    shutil.copytree(data / "episodes", tmp_path / "episodes")
    shutil.copytree(data / "scenes", tmp_path / "scenes")
    return Split(tmp_path, rooms_sim)


# -- one claim at a time -----------------------------------------------------------------------------------


def _cut_file(s: Split) -> None:
    path, whole = s.path, gzip_json_bytes(s.content)
    s.write = lambda: path.write_bytes(whole[:99])  # type: ignore[method-assign, assignment, return-value]


def _unlisted_file(s: Split) -> None:
    shutil.copy(s.path, s.path.with_name("t00009-other.json.gz"))


def _no_modality(s: Split) -> None:
    s.even()["goals"][0].pop("modality")


def _no_viewpoints(s: Split) -> None:
    identity = max(s.objects, key=int)
    s.objects["999"] = {**s.objects[identity], "viewpoints": []}


def _no_scene(s: Split) -> None:
    shutil.rmtree(s.scene)


def _edited_scene(s: Split) -> None:
    path = next(s.scene.glob("*.attributes.json"))
    path.write_text(path.read_text() + "\n")


def _train_has_it_too(s: Split) -> None:
    shutil.copytree(s.folder, s.root / "episodes" / "train")
    (s.root / "episodes" / "train" / "rooms.json.gz").rename(s.root / "episodes" / "train" / "train.json.gz")


def _same_mesh_in_train(s: Split) -> None:
    _train_has_it_too(s)
    folder = s.root / "episodes" / "train"
    header, content = read_json(folder / "train.json.gz"), dict(s.content, scene="p00000-renamed")
    (folder / "train.json.gz").write_bytes(gzip_json_bytes({**header, "scenes": ["p00000-renamed"]}))
    (folder / "content" / "p00000-renamed.json.gz").write_bytes(gzip_json_bytes(content))


def _all_on(s: Split) -> None:
    for episode in s.episodes:
        for goal in episode["goals"]:
            if goal["modality"] == "TN" and goal["category"] != "armchair":
                goal |= {"modality": "ON", "text": goal["category"], "predicates": []}


def _dangling_in_file(s: Split) -> None:
    s.even()["goals"][1]["object_id"] = 9999


def _dangling_in_scene(s: Split) -> None:
    _, goal = s.with_goal("ON", lambda g: len(g["acceptable"]) == 1)
    s.objects["9999"] = s.objects[str(goal["object_id"])]
    goal |= {"object_id": 9999, "acceptable": [9999]}


def _moved_object(s: Split) -> None:
    s.objects[str(s.episodes[0]["goals"][0]["object_id"])]["position"][0] += 0.3


def _renamed_object(s: Split) -> None:
    s.objects[str(s.episodes[0]["goals"][0]["object_id"])]["category"] = "throne"


def _ceiling(s: Split) -> None:
    _, goal = s.with_goal("ON", lambda g: len(g["acceptable"]) == 1)
    ceiling = s.sim.scene.of_category("ceiling")[0].id
    s.become(goal, ceiling)


def _lone_agent(s: Split) -> None:
    s.episodes[1]["starts"] = s.episodes[1]["starts"][:1]
    s.solve(s.episodes[1])


def _two_goals(s: Split) -> None:
    episode = next(e for e in s.episodes if len(e["goals"]) == 5)
    for modality in ("ON", "TN", "IIN"):
        episode["goals"].remove(next(g for g in episode["goals"] if g["modality"] == modality))
    s.relax()


def _twice_the_category(s: Split) -> None:
    episode, goal = s.with_goal("ON")
    s.become(goal, next(g["object_id"] for g in episode["goals"] if g["modality"] != "ON"))
    s.relax()


def _another_category_counts(s: Split) -> None:
    episode, goal = s.with_goal("ON", lambda g: g["category"] == "bookshelf")
    goal["acceptable"].append(
        next(int(key) for key, value in s.objects.items() if value["category"] == "sofa")
    )
    s.relax()


def _on_with_a_text(s: Split) -> None:
    s.with_goal("ON")[1]["text"] = "something"


def _image_with_a_text(s: Split) -> None:
    s.with_goal("IIN")[1]["text"] = "a hint"


def _find_armchairs(s: Split) -> tuple[Json, Json]:
    """Make an episode's ON goal the armchairs, both of which count."""
    episode, goal = s.with_goal("ON")
    for other in episode["goals"]:
        if other["category"] == "armchair":  # swap places with what was ON
            other |= copy.deepcopy(
                s.with_goal(other["modality"], lambda g: g["category"] == goal["category"])[1]
            )
    chairs = [item.id for item in s.sim.scene.of_category("armchair")]
    s.become(goal, chairs[0])
    goal["acceptable"] = chairs
    return episode, goal


def _both_armchairs(s: Split) -> None:
    _find_armchairs(s)
    s.relax()


def _not_itself(s: Split) -> None:
    episode, goal = _find_armchairs(s)
    goal["acceptable"] = goal["acceptable"][1:]
    s.relax()


def _armchair_forgotten(s: Split) -> None:
    episode, goal = _find_armchairs(s)
    goal["acceptable"] = goal["acceptable"][:1]
    s.relax()


def _start_in_the_wall(s: Split) -> None:
    s.episodes[0]["starts"][0]["position"] = [2.6, 0.0, -0.05]
    s.relax()


def _start_looks_up(s: Split) -> None:
    s.episodes[0]["starts"][1]["rotation"] = to_quaternion(0.3, 0.4)


def _viewpoint_in_the_furniture(s: Split) -> None:
    for value in s.objects.values():
        if value["category"] == "sofa":
            value["viewpoints"][0] = [1.0, 0.0, -3.4]
    s.relax()


def _viewpoint_far_off(s: Split) -> None:
    for value in s.objects.values():
        if value["category"] == "refrigerator":
            value["viewpoints"].append([6.0, 0.0, -1.0])
    s.relax()


def _viewpoint_behind_the_wall(s: Split) -> None:
    for value in s.objects.values():
        if value["category"] == "cabinet":
            value["viewpoints"].append([4.6, 0.0, -3.2])
    s.relax()


def _start_at_the_goal(s: Split) -> None:
    for episode in s.episodes:
        others = [np.array(start["position"]) for start in episode["starts"][1:]]
        for goal in episode["goals"]:
            for point in s.objects[str(goal["object_id"])]["viewpoints"]:
                if min(s.sim.navigator.distance(np.array(others), np.array([point]))) > 3.1:
                    episode["starts"][0]["position"] = point
                    s.solve(episode)
                    if episode["makespan"] >= 3:
                        return
    raise AssertionError


def _starts_together(gap: float) -> Tamper:
    def tamper(s: Split) -> None:
        navigator = s.sim.navigator
        for episode in (e for e in s.episodes if len(e["starts"]) == 2):
            first = np.array(episode["starts"][0]["position"])
            for angle in np.arange(0, 2 * np.pi, 0.3):
                point = (first + gap * np.array([np.cos(angle), 0, np.sin(angle)])).round(4)
                seen = [
                    np.concatenate([s.objects[str(i)]["viewpoints"] for i in g["acceptable"]])
                    for g in episode["goals"]
                ]
                if navigator.is_navigable(point) and all(
                    1.05 < navigator.distance(point[None], v)[0] < 30 for v in seen
                ):
                    episode["starts"][1]["position"] = point.tolist()
                    s.solve(episode)
                    if episode["makespan"] >= 3:
                        return
        raise AssertionError

    return tamper


def _header(part: str, **values: Any) -> Tamper:
    return lambda s: s.header["settings"][part].update(values)


def _every(change: Callable[[Json], Any]) -> Tamper:
    return lambda s: change(s.episodes[3])


def _photo(**values: Any) -> Tamper:
    return lambda s: s.with_goal("IIN")[1]["image"].update(values)


def _description(change: Callable[[Json], Any], test: Callable[[Json], bool] = lambda goal: True) -> Tamper:
    return lambda s: change(s.with_goal("TN", test)[1])


TAMPERED: dict[str, tuple[Tamper, set[str]]] = {
    "nothing": (lambda s: None, set()),
    "cut file": (_cut_file, {"file"}),
    "unlisted file": (_unlisted_file, {"file"}),
    "no modality": (_no_modality, {"format"}),
    "start of two numbers": (lambda s: s.even()["starts"][1].update(position=[1, 2]), {"format"}),
    "object without viewpoints": (_no_viewpoints, {"format"}),
    "no scene": (_no_scene, {"scene"}),
    "edited scene": (_edited_scene, {"scene changed"}),
    "scene of train": (_train_has_it_too, {"shared scene"}),
    "mesh of train": (_same_mesh_in_train, {"shared scene"}),
    "same id": (_every(lambda e: e.update(episode_id="rooms-00001")), {"duplicate"}),
    "same index": (_every(lambda e: e.update(index=1)), {"duplicate"}),
    "scene listed twice": (lambda s: s.header.update(scenes=s.header["scenes"] * 2), {"duplicate"}),
    "episode gone": (lambda s: s.episodes.remove(s.even()), {"count"}),
    "no descriptions": (_all_on, {"balance"}),
    "object not in the file": (_dangling_in_file, {"dangling object"}),
    "object not in the scene": (_dangling_in_scene, {"dangling object"}),
    "moved object": (_moved_object, {"object"}),
    "renamed object": (_renamed_object, {"object"}),
    "the ceiling": (_ceiling, {"structure"}),
    "one agent": (_lone_agent, {"team size"}),
    "two goals": (_two_goals, {"goal count"}),
    "same category twice": (_twice_the_category, {"category"}),
    "another category counts": (_another_category_counts, {"category"}),
    "text of a category goal": (_on_with_a_text, {"modality"}),
    "text of an image goal": (_image_with_a_text, {"modality"}),
    "predicates of a category goal": (
        lambda s: s.with_goal("ON")[1].update(predicates=[["room", "kitchen"]]),
        {"modality"},
    ),
    "both armchairs count": (_both_armchairs, set()),
    "other instance forgotten": (_armchair_forgotten, {"missing instance"}),
    "drawn instance does not count": (_not_itself, {"modality", "missing instance"}),
    "unknown floor": (_every(lambda e: e.update(floor=1)), {"floor"}),
    "height of the floor": (_every(lambda e: e.update(floor_height=0.4)), {"floor"}),
    "start in the wall": (_start_in_the_wall, {"start"}),
    "start looks up": (_start_looks_up, {"start"}),
    "small island": (_header("sampling", min_island_radius=9.0), {"island"}),
    "viewpoint in the sofa": (_viewpoint_in_the_furniture, {"viewpoint"}),
    "viewpoint far off": (_viewpoint_far_off, {"viewpoint"}),
    "viewpoint behind a wall": (_viewpoint_behind_the_wall, {"viewpoint coverage"}),
    "start at a goal": (_start_at_the_goal, {"distance"}),
    "goals too far": (_header("sampling", max_distance=3.0), {"distance"}),
    "way up and down": (_header("sampling", max_height_span=-0.1), {"height span"}),
    "starts side by side": (_starts_together(0.3), {"separation"}),
    "starts close though there is room": (_starts_together(1.5), {"separation"}),
    "makespan too large": (_every(lambda e: e.update(makespan=e["makespan"] + 0.01)), {"makespan"}),
    "makespan too small": (_every(lambda e: e.update(makespan=e["makespan"] - 0.01)), {"makespan"}),
    "makespan below the least": (_header("sampling", min_makespan=5.0), {"makespan"}),
    "photo of another size": (_photo(size=256), {"photo"}),
    "photo turned away": (_photo(rotation=to_quaternion(0.0, 1.5)), {"photo", "photo coverage"}),
    "photo's coverage": (_photo(frame_coverage=0.5), {"photo coverage"}),
    "photo of a part": (_header("goals", photo_object_coverage=1.2), {"photo coverage"}),
    "photo too small": (_header("goals", photo_frame_slope=0.2), {"photo coverage"}),
    "another colour said": (
        _description(lambda g: g.update(text=g["text"].replace("the ", "the purple ", 1))),
        {"description"},
    ),
    "another predicate": (
        _description(lambda g: g["predicates"].append(["room", "cellar"])),
        {"description"},
    ),
    "unknown predicate": (
        _description(lambda g: g["predicates"].append(["smell", g["category"]])),
        {"format"},
    ),
    "only the category": (
        _description(lambda g: g.update(predicates=g["predicates"][:1], text=g["category"])),
        {"description"},
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_tampered_with_is_found(split: Split, name: str) -> None:
    tamper, kinds = TAMPERED[name]
    tamper(split)
    split.write()
    found = split.violations()
    assert {v.kind for v in found} == kinds, "\n".join(map(str, found))
    assert kinds <= KINDS.keys()
    assert all(v.field and v.text for v in found)


def test_two_islands(tmp_path: Path) -> None:
    """A start in a room without a door, and a viewpoint there."""
    scene = write_two_rooms(tmp_path / "scenes" / "rooms", door=0.0)
    easy = SamplingConfig((2,), (3,), separation=1.0, viewpoint_gap=0.1, min_makespan=0.1)
    wanted = GenerateConfig(split="rooms", scenes="rooms", data=str(tmp_path), houses=1, episodes=2)
    generate(replace(wanted, workers=1, sampling=easy))
    sim = EmbeddedSimulator()
    sim.load(scene)
    split = Split(tmp_path, sim)
    assert split.found() == set()
    before = copy.deepcopy(split.content)
    here = split.episodes[0]["starts"][0]["position"][0] < 5
    split.episodes[0]["starts"][1]["position"] = [8.0, 0.0, -1.0] if here else [2.5, 0.0, -1.5]
    assert split.found() == {"island", "unreachable"}
    split.content |= before
    split.episodes[:], split.objects = before["episodes"], before["objects"]
    name, point = ("armchair", [5.3, 0.0, -2.25]) if here else ("cabinet", [4.75, 0.0, -3.1])
    for key, value in split.objects.items():
        if value["category"] == name and abs(value["position"][0] - point[0]) < 2:
            split.objects[key]["viewpoints"].append(point)
    split.content["objects"] = split.objects
    assert split.found() == {"island"}


# -- its own arithmetic ------------------------------------------------------------------------------------


class FlatLegs:
    """Legs between random points of a plane; every goal has two viewpoints."""

    def __init__(self, starts: np.ndarray, viewpoints: np.ndarray) -> None:
        self.starts, self.viewpoints, self.goals = starts, viewpoints, len(viewpoints)

    def to(self, place: tuple[int, int], goal: int) -> list[tuple[float, int]]:
        here = self.starts[place[1]] if place[0] < 0 else self.viewpoints[place[0], place[1]]
        away = np.hypot(*(self.viewpoints[goal] - here).T)
        return [(float(away.min()), int(away.argmin()))]


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 4))
def test_brute_force_agrees_with_the_oracle(seed: int, agents: int, goals: int) -> None:
    rng = np.random.default_rng(seed)
    starts, viewpoints = rng.uniform(0, 10, (agents, 2)), rng.uniform(0, 10, (goals, 2, 2))

    def reach(place: Any, goal: int) -> tuple[float, Any]:
        away = np.hypot(*(viewpoints[goal] - np.array(place)).T)
        return float(away.min()), tuple(viewpoints[goal][away.argmin()])

    low, high = brute_force(FlatLegs(starts, viewpoints), agents)  # type: ignore[arg-type]
    assert low == pytest.approx(high)
    assert low == pytest.approx(solve([tuple(s) for s in starts], goals, reach).makespan)


def test_ties_give_a_range() -> None:
    """Two viewpoints equally near, and only from one of them the next goal is near."""
    legs = FlatLegs(np.array([[0.0, 0.0]]), np.array([[[1.0, 0.0], [-1.0, 0.0]], [[3.0, 0.0], [3.0, 0.0]]]))
    legs.to = lambda place, goal: (  # type: ignore[method-assign]
        [(1.0, 0), (1.0, 1)] if (place[0], goal) == (-1, 0) else FlatLegs.to(legs, place, goal)
    )
    assert brute_force(legs, 1) == (3.0, 5.0)  # type: ignore[arg-type]


ITEMS = st.lists(
    st.tuples(
        st.sampled_from(["chair", "table", "cup"]),
        st.integers(0, 12),
        st.integers(0, 6),
        st.integers(0, 12),
        st.integers(1, 6),
        st.integers(1, 6),
        st.integers(1, 6),
        st.sampled_from(["red", "blue", ""]),
    ),
    min_size=1,
    max_size=7,
)


@given(ITEMS)
def test_predicates_mean_the_same(items: list[tuple[Any, ...]]) -> None:
    """The generator's and the audit's reading of predicates, on boxes of a coarse grid."""
    floor = []
    for i, (name, x, y, z, a, b, c, colour) in enumerate(items):
        low = np.array([x, y, z]) * 0.31
        floor.append(Instance(i + 1, name, 0, "", low, low + np.array([a, b, c]) * 0.31, colour))
    boxes = FloorBoxes(floor)
    for kind, values in (
        ("category", ["chair"]),
        ("colour", ["red"]),
        ("size", ["largest", "smallest"]),
        ("next_to", ["table", "cup"]),
        ("on", ["table", "chair"]),
    ):
        for value in values:
            expected = [Predicate(kind, value).holds(item, floor) for item in floor]
            assert boxes.true_of(kind, value).tolist() == expected, (kind, value)


def test_words_that_nothing_states() -> None:
    chair = Instance(1, "chair", 0, "", np.zeros(3), np.ones(3), "red")
    boxes, said = FloorBoxes([chair]), [("category", "chair"), ("colour", "red")]
    assert description_faults(boxes, 1, "chair", "Look for the red chair.", said) == []
    assert "says 'wooden'" in description_faults(boxes, 1, "chair", "The red wooden chair.", said)[0]
    assert "leaves out" in description_faults(boxes, 1, "chair", "The chair.", said)[0]


HALL = [
    Instance(1, "chair", 0, "hall", np.zeros(3), np.ones(3), "red", "wood"),
    Instance(2, "desk", 0, "hall", np.array([1.2, 0, 0]), np.array([2.0, 1, 1])),
    Instance(3, "curtains", 1, "bedroom", np.array([8.0, 0, 0]), np.array([9.0, 2, 1]), "light blue"),
    Instance(4, "curtains", 2, "bedroom", np.array([18.0, 0, 0]), np.array([19.0, 2, 1]), "grey", "fabric"),
    Instance(5, "ottoman", 1, "bedroom", np.array([9.2, 0, 0]), np.array([9.8, 1, 1])),
]
CHAIR = [("category", "chair"), ("material", "wood"), ("next_to", "desk"), ("room", "hall")]
CURTAINS = [("category", "curtains"), ("colour", "light blue"), ("next_to", "ottoman"), ("room", "bedroom")]
READ: list[tuple[int, str, str]] = [
    (1, "Find the wooden chair next to the desk in the hall.", ""),
    (1, "In the hall there is a chair made of wood close to the desk. Go there.", ""),
    (1, "Search for the chair that is made of wood, beside the desk and in the hall.", ""),
    (1, "Check the hall for the wooden chair near the desk.", ""),
    (3, "Where are the light blue curtains near the ottoman in one of the bedrooms?", ""),
    (3, "There are some light blue curtains next to the ottoman in a bedroom. Find them.", ""),
    (1, "Find the wooden chair next to a desk in the hall.", "a 'desk', but the floor has one"),
    (1, "Find the wooden chair next to the desk in a hall.", "a 'hall', but the floor has one"),
    (3, "Find the light blue curtains near the ottoman in the bedroom.", "the 'bedroom', but .* several"),
    (3, "Find the light blue curtains near a ottoman in a bedroom.", "a ottoman"),
    (3, "Where is the light blue curtains near the ottoman in a bedroom?", "'where is' does not fit"),
    (3, "There is a light blue curtains near the ottoman in a bedroom. Find it.", "a 'curtains'"),
    (1, "Find the wooden wooden chair next to the desk in the hall.", "'wooden' twice in a row"),
    (1, "Find wooden chair next to the desk in the hall.", "no article before 'chair'"),
    (1, "Find the wooden chair next to the desk in the hall", "no sentence"),
    (1, "Find the wooden chair on the desk in the hall.", "leaves out next_to 'desk'"),
    (1, "Find the wooden chair next to the desk.", "leaves out room 'hall'"),
    (1, "Find the black wooden chair next to the desk in the hall.", "says 'black'"),
    (1, "Find the wooden chair next to the desk and the sofa in the hall.", "says 'sofa'"),
    (1, "Find the wooden chair  next to the desk in the hall.", "stray spaces"),
    (1, f"Please {'please look ' * 8}for the wooden chair next to the desk in the hall.", "more than 128"),
]


@pytest.mark.parametrize(("target", "text", "fault"), READ)
def test_descriptions_are_read(target: int, text: str, fault: str) -> None:
    category, said = ("chair", CHAIR) if target == 1 else ("curtains", CURTAINS)
    found = description_faults(FloorBoxes(HALL), target, category, text, said)
    assert bool(found) == bool(fault) and (not fault or re.search(fault, "; ".join(found))), found


def test_no_predicate_takes_the_words_of_another() -> None:
    said = [("category", "light"), ("colour", "light grey"), ("next_to", "light switch")]
    text = "Find the light grey light next to a light switch."
    assert blank(text, said).row == " find the <colour> <category> <next_to> "
    assert paraphrase_faults(text, said, Vocabulary.of(["light", "light switch"], [])) == []


def test_skeletons_are_those_of_templates() -> None:
    chair, curtains = "Find the wooden chair near the desk in the hall.", "Find the light blue curtains."
    assert skeleton(chair, CHAIR) == skeleton(curtains, CURTAINS) == "find _"
    assert skeleton("Where are the curtains?", CURTAINS) == skeleton("Where is the chair?", CHAIR)
    assert skeleton("Locate the chair.", CHAIR) != skeleton("Where is the chair?", CHAIR)


FREE: list[tuple[str, str]] = [
    ("A wooden chair stands right by the desk in the hall.", "mentions 'right'"),
    ("You'll spot a wooden chair by the desk in the hall, please go to that chair.", ""),
    ("Alongside the hall's desk is the chair made of wood I want.", "leaves out room"),
    ("Head into the hall; the wooden chair close to the desk is yours.", ""),
    ("The wooden chair in the hall.", "leaves out next_to 'next to desk'"),
    ("The desk next to the wooden chair in the hall.", "leaves out next_to 'next to desk'"),
    ("The brown wooden chair next to the desk in the hall.", "mentions 'brown'"),
    ("The wooden chair next to the desk and the curtains in the hall.", "mentions 'curtains'"),
    ("The wooden chair next to the desk in the hall, not the kitchen.", "mentions 'kitchen', 'not'"),
    ("The wooden chair next to the desk\nin the hall.", "one line"),
    (f"{'Please ' * 20}find the wooden chair next to the desk in the hall.", "more than 128"),
    ("", "leaves out"),
]


@pytest.mark.parametrize(("text", "fault"), FREE)
def test_free_wordings_are_read(text: str, fault: str) -> None:
    known = Vocabulary.of({item.category for item in HALL}, {"hall", "bedroom", "grey", "wood", "light blue"})
    found = paraphrase_faults(text, CHAIR, known)
    assert bool(found) == bool(fault) and (not fault or fault in "; ".join(found)), found


def test_a_rewritten_train_split_shares_its_scenes_with_train(split: Split) -> None:
    _train_has_it_too(split)
    assert split.found() == {"shared scene"}
    split.header["rephrased"] = {"split": "train"}
    assert split.found() == set()
    split.header["rephrased"] = {"split": "val"}
    assert split.found() == {"shared scene"}


def test_neighbours_worded_alike_are_found(split: Split) -> None:
    """Also across an episode that is gone."""
    goals = [(e, g) for e in split.episodes for g in e["goals"] if g["modality"] == "TN"]
    (first, one), (last, two) = goals[0], goals[1]
    for goal in (one, two):
        goal["text"] = f"Go quickly to the {goal['category']}."
    found = [v for v in _audited(split) if v.kind == "wording"]
    assert [v.episode for v in found] == [last["episode_id"]] and first["episode_id"] in found[0].text


def _audited(split: Split) -> list[Any]:
    split.write()
    return split.violations()


# -- the command -------------------------------------------------------------------------------------------


def test_page_and_files(split: Split, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split.episodes[3]["makespan"] += 1
    split.write()
    pages = []
    for name in ("a", "b"):
        config = AuditConfig("rooms", str(split.root), str(tmp_path / name), 2, workers=1, viewpoints=1)
        if name == "a":
            found = audit(config)
            assert [v.kind for v in found] == ["makespan"] and found[0].episode == "rooms-00003"
        else:
            with pytest.raises(SystemExit) as end:  # as the command line does
                run._task(config)
            assert end.value.code == 1
        pages.append((tmp_path / name / "index.html").read_bytes())
    assert pages[0] == pages[1]
    page = pages[0].decode()
    assert "rooms-00000" in page and "rooms-00004" in page and page.count('alt="floor plan"') == 2
    assert page.count("<svg") == 7 and "data:image/png;base64," in page and "rooms-00003" in page
    addresses = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', page)
    assert all(a.startswith(("data:", "#")) or b.startswith("#") for a, b in addresses) and len(addresses) > 9
    written = json.loads((tmp_path / "a" / "violations.json").read_bytes())
    assert written["counts"] == {"makespan": 1} and written["violations"][0]["field"] == "makespan"
    printed = capsys.readouterr().out
    assert "makespan: 1 (" in printed and "rooms-00003: makespan: is " in printed


def test_without_a_split(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="no such file"):
        audit(AuditConfig("none", str(tmp_path), str(tmp_path / "out")))
    with pytest.raises(ValueError, match="must not be negative"):
        AuditConfig(sample=-1)
