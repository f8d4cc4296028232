"""The audit of one scene: its file, its objects, and every episode in it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hm3dm3_env.episodes.audit.cards import card
from hm3dm3_env.episodes.audit.findings import Report, Settings
from hm3dm3_env.episodes.audit.paraphrase import Vocabulary, paraphrase_faults
from hm3dm3_env.episodes.audit.places import PlaceCheck
from hm3dm3_env.episodes.audit.reading import skeleton
from hm3dm3_env.episodes.audit.sight import SightCheck
from hm3dm3_env.episodes.audit.words import FloorBoxes, description_faults, predicate_faults
from hm3dm3_env.episodes.scene_check import changed_files, scene_files
from hm3dm3_env.episodes.schema import (
    Episode,
    EpisodeError,
    SceneObject,
    parse_episode,
    parse_object,
    read_content,
)
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.hm3dsem import Instance, SceneError
from hm3dm3_env.sim.embedded import EmbeddedSimulator


@dataclass(frozen=True)
class SceneJob:
    """What a worker needs: the content file, the scene's folder, and which episodes the page shows."""

    path: Path
    folder: Path
    split: str
    settings: Settings
    shown: tuple[str, ...]
    viewpoints: int


def audit_scene(job: SceneJob) -> Report:
    """All that is wrong in one scene's file. Never raises for what it finds there."""
    started, report = time.monotonic(), Report(job.folder.name)
    try:
        content = read_content(job.path, job.folder.name)
    except EpisodeError as error:
        report.add("file", "", job.path.name, str(error))
        return report
    episodes = _episodes(job, content, report)
    sim = EmbeddedSimulator(job.settings.body)
    try:
        sim.load(job.folder)
    except (SceneError, GlbError, FileNotFoundError) as error:
        report.add("scene", "", "scene", str(error))
        return report
    if content.get("scene_files"):
        for name in changed_files(content["scene_files"], scene_files(job.folder)):
            report.add(
                "scene changed", "", f"scene_files.{name}", "isn't the file that the split was made for"
            )
    place = PlaceCheck(sim, job.settings, report)
    sight = SightCheck(sim, job.settings, report, job.viewpoints, place.bad)
    boxes: dict[int, FloorBoxes] = {}
    rewritten, vocabulary = _rewritten(content) if job.settings.rephrased else set(), _vocabulary(sim)
    _objects(sim, content, episodes, report)
    for episode in episodes:
        known = _goals(sim, job.settings, episode, report)
        facts = place.check(episode)
        if known and facts:
            floor = on_floor(sim, episode.floor)
            sight.check(episode, floor)
            boxes.setdefault(episode.floor, FloorBoxes(floor))
            if not job.settings.imported:
                _descriptions(boxes[episode.floor], episode, rewritten, vocabulary, report)
        report.facts.append(_facts(episode, facts, rewritten))
        if episode.id in job.shown and known:
            report.cards.append(card(sim, episode))
    report.seconds = time.monotonic() - started
    return report


def on_floor(sim: EmbeddedSimulator, floor: int) -> list[Instance]:
    """The objects of a floor: their boxes begin between it (less 0.2 m) and 2.2 m above it, or 0.3 m below
    the next floor."""
    heights = sim.navigator.floors
    low, top = heights[floor] - 0.2, heights[floor] + 2.2
    if floor + 1 < len(heights):
        top = min(top, heights[floor + 1] - 0.3)
    return [item for item in sim.scene.instances.values() if low <= item.low[1] <= top]


def _episodes(job: SceneJob, content: dict[str, Any], report: Report) -> list[Episode]:
    """The episodes that can be read."""
    objects: dict[int, SceneObject] = {}
    for key, value in content["objects"].items():
        try:
            objects[int(key)] = parse_object(value, f"objects.{key}")
        except EpisodeError as error:
            report.add("format", "", f"objects.{key}", str(error))
    episodes = []
    for i, value in enumerate(content["episodes"]):
        name = str(value.get("episode_id", f"number {i}")) if isinstance(value, dict) else f"number {i}"
        dangling = _dangling(value, set(content["objects"]), report, name)
        try:
            episodes.append(parse_episode(value, objects, job.folder, job.split, job.path, {}))
        except EpisodeError as error:
            if not dangling:
                field = str(error).removeprefix(f"{job.path}: episode {name}: ").split(": ")
                report.add("format", name, field[0], ": ".join(field[1:]) or str(error))
    return episodes


def _dangling(value: Any, objects: set[str], report: Report, name: str) -> bool:
    """Ids of a raw episode that are not among the file's objects."""
    found = False
    try:
        for j, goal in enumerate(value["goals"]):
            for identity in dict.fromkeys((goal["object_id"], *goal["acceptable"])):
                if str(identity) not in objects:
                    report.add("dangling object", name, f"goals.{j}", f"object {identity} is not in the file")
                    found = True
    except (TypeError, KeyError, AttributeError):
        pass  # the format check says it better
    return found


def _objects(
    sim: EmbeddedSimulator, content: dict[str, Any], episodes: list[Episode], report: Report
) -> None:
    """The file's objects against the scene's."""
    used = {i for episode in episodes for goal in episode.goals for i in (goal.object_id, *goal.acceptable)}
    objects = episodes[0].objects if episodes else {}
    for identity in sorted(used & objects.keys()):
        item, stored = sim.scene.instances.get(identity), objects[identity]
        if item is None:
            continue  # each goal that names it is told
        if stored.category != item.category:
            report.add(
                "object",
                "",
                f"objects.{identity}.category",
                f"is {stored.category!r}, in the scene {item.category!r}",
            )
        away = float(np.linalg.norm(stored.position - (item.low + item.high) / 2))
        if away > 0.01:
            report.add(
                "object", "", f"objects.{identity}.position", f"is {away:.2f} m from the middle of its box"
            )


def _goals(sim: EmbeddedSimulator, settings: Settings, episode: Episode, report: Report) -> bool:
    """Sizes, categories and modalities; returns whether all objects are in the scene."""
    sampling, known = settings.sampling, True
    if len(episode.starts) not in sampling.agents:
        report.add(
            "team size", episode.id, "starts", f"{len(episode.starts)} agents, not {_any(sampling.agents)}"
        )
    if len(episode.goals) not in sampling.goals:
        report.add(
            "goal count", episode.id, "goals", f"{len(episode.goals)} goals, not {_any(sampling.goals)}"
        )
    for name, count in Counter(goal.category for goal in episode.goals).items():
        if count > 1:
            report.add("category", episode.id, "goals", f"{count} goals are of category {name!r}")
    for j, goal in enumerate(episode.goals):
        where = f"goals.{j}"
        for identity in dict.fromkeys((goal.object_id, *goal.acceptable)):
            item = sim.scene.instances.get(identity)
            if item is None:
                report.add("dangling object", episode.id, where, f"object {identity} is not in the scene")
                known = False
            elif item.category != goal.category and not settings.imported:
                report.add(
                    "category",
                    episode.id,
                    f"{where}.acceptable",
                    f"object {identity} is a {item.category!r}, the goal a {goal.category!r}",
                )
            elif item.structure:
                report.add(
                    "structure",
                    episode.id,
                    where,
                    f"{item.category!r} is a part of the building ({item.structure})",
                )
        if goal.object_id not in goal.acceptable:
            report.add(
                "modality",
                episode.id,
                f"{where}.acceptable",
                f"doesn't accept object {goal.object_id} itself",
            )
        if len(set(goal.acceptable)) != len(goal.acceptable):
            report.add("modality", episode.id, f"{where}.acceptable", "names an object twice")
        if goal.modality != "ON" and len(goal.acceptable) > 1:
            report.add(
                "modality",
                episode.id,
                f"{where}.acceptable",
                f"{len(goal.acceptable)} objects count for a {goal.modality} goal, not one",
            )
        expected = {"ON": goal.category, "IIN": ""}.get(goal.modality, goal.text or "(a description)")
        if goal.text != expected:
            report.add("modality", episode.id, f"{where}.text", f"is {goal.text!r}, not {expected!r}")
        if (goal.modality == "TN" and not settings.imported) != bool(goal.predicates):
            report.add("modality", episode.id, f"{where}.predicates", "belong to TN goals, and only to them")
    return known


def _rewritten(content: dict[str, Any]) -> set[tuple[str, int]]:
    """(episode id, number) of the goals whose text a language model wrote."""
    return {
        (episode["episode_id"], j)
        for episode in content["episodes"]
        if isinstance(episode, dict) and isinstance(episode.get("goals"), list) and "episode_id" in episode
        for j, goal in enumerate(episode["goals"])
        if isinstance(goal, dict) and "template_text" in goal
    }


def _vocabulary(sim: EmbeddedSimulator) -> Vocabulary:
    items = sim.scene.instances.values()
    stated = {value for item in items for value in (item.colour, item.material, item.room)}
    return Vocabulary.of({item.category for item in items}, stated)


def _descriptions(
    floor: FloorBoxes,
    episode: Episode,
    rewritten: set[tuple[str, int]],
    vocabulary: Vocabulary,
    report: Report,
) -> None:
    for j, goal in enumerate(episode.goals):
        if goal.modality != "TN":
            continue
        if (episode.id, j) in rewritten:
            faults = predicate_faults(floor, goal.object_id, goal.category, goal.predicates)
            faults += paraphrase_faults(goal.text, goal.predicates, vocabulary)
        else:
            faults = description_faults(floor, goal.object_id, goal.category, goal.text, goal.predicates)
        for text in faults:
            report.add("description", episode.id, f"goals.{j}", f"{text} ({goal.text!r})")


def _facts(episode: Episode, numbers: dict[str, Any], rewritten: set[tuple[str, int]]) -> dict[str, Any]:
    return {
        "skeletons": [
            (j, "" if (episode.id, j) in rewritten else skeleton(goal.text, goal.predicates))
            for j, goal in enumerate(episode.goals)
            if goal.modality == "TN"
        ],
        "episode": episode.id,
        "index": episode.index,
        "agents": len(episode.starts),
        "modalities": [goal.modality for goal in episode.goals],
        "categories": [goal.category for goal in episode.goals],
        **numbers,
    }


def _any(values: tuple[int, ...]) -> str:
    return " or ".join(map(str, values))
