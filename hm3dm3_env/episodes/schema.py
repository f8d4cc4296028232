"""Episodes: what they are, and their files.

    <data>/episodes/<split>/<split>.json.gz            header: version, split, seed, scenes (Habitat's
    convention:
                                                       its episode list is empty)
    <data>/episodes/<split>/content/<scene>.json.gz    the objects with their viewpoints, and the episodes

Every error names the file, the episode and the field, and says what to do.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

from hm3dm3_env.episodes.describe import KINDS
from hm3dm3_env.episodes.goals import ImageGoal
from hm3dm3_env.files import sha256
from hm3dm3_env.geometry import Pose, from_quaternion

FORMAT, VERSION = "hm3dm3-episodes", 1
_SHOWN = 200
"""Characters of a message that quotes what is wrong."""
FIX = "correct it, or generate the split again"
"""What to do about a field that is wrong."""
_FILE_NAME = r"^[^./\\\x00-\x1f][^/\\\x00-\x1f]*$"
"""Ids name the files of records and pictures: no folder, and nothing hidden."""
FARTHEST = 1e5
"""Coordinates, heights and lengths beyond this many metres are mistakes (ours); 1e999 reads as infinity."""
_LENGTH = {"type": "number", "minimum": -FARTHEST, "maximum": FARTHEST}
_NUMBERS = {"type": "array", "items": _LENGTH}
POINT = {**_NUMBERS, "minItems": 3, "maxItems": 3}
ROTATION = {**_NUMBERS, "minItems": 4, "maxItems": 4}
_IMAGE = {
    "type": "object",
    "required": ["position", "rotation", "hfov_deg", "size"],
    "properties": {
        "position": POINT,
        "rotation": ROTATION,
        "size": {"type": "integer", "minimum": 8},
        "hfov_deg": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 180},
        "object_coverage": {"type": "number", "minimum": 0, "maximum": 1},
        "frame_coverage": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
_GOAL = {
    "type": "object",
    "required": ["modality", "category", "text", "object_id", "acceptable"],
    "properties": {
        "modality": {"enum": ["ON", "TN", "IIN"]},
        "category": {"type": "string", "minLength": 1},
        "text": {"type": "string"},
        "object_id": {"type": "integer"},
        "acceptable": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        "image": {"anyOf": [{"type": "null"}, _IMAGE]},
        "predicates": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [{"enum": list(KINDS)}, {"type": "string", "minLength": 1}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
    },
}
_EPISODE = {
    "type": "object",
    "required": ["episode_id", "index", "floor", "floor_height", "starts", "goals", "makespan"],
    "properties": {
        "episode_id": {"type": "string", "pattern": _FILE_NAME},
        "index": {"type": "integer", "minimum": 0},
        "floor": {"type": "integer", "minimum": 0},
        "floor_height": _LENGTH,
        "starts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "items": {
                "type": "object",
                "required": ["position", "rotation"],
                "properties": {"position": POINT, "rotation": ROTATION},
            },
        },
        "goals": {"type": "array", "minItems": 1, "maxItems": 8, "items": _GOAL},
        "makespan": {"type": "number", "exclusiveMinimum": 0, "maximum": FARTHEST},
    },
}
_HEADER = {
    "type": "object",
    "required": ["split", "scenes", "scenes_root"],
    "properties": {
        "split": {"type": "string"},
        "scenes": {"type": "array", "items": {"type": "string"}},
        "scenes_root": {"type": "string"},
        "dropped": {"type": "array", "items": {"type": "string"}},
        "settings": {
            "type": "object",
            "properties": {part: {"type": "object"} for part in ("goals", "sampling", "body")},
        },
    },
}
_CONTENT = {
    "type": "object",
    "required": ["scene", "objects", "episodes"],
    "properties": {
        "scene": {"type": "string"},
        "episodes": {"type": "array"},
        "objects": {"type": "object", "propertyNames": {"pattern": "^(0|[1-9][0-9]*)$"}},
        "scene_files": {"type": "object", "additionalProperties": {"type": "string"}},
        "dropped": {"type": "array", "items": {"type": "string"}},
    },
}


class EpisodeError(ValueError):
    """An episode file that cannot be used."""


@dataclass(frozen=True)
class SceneObject:
    """An object that can be a goal: `category`, `position` (3,) of its box's centre, `viewpoints` (V, 3)."""

    category: str
    position: np.ndarray
    viewpoints: np.ndarray


@dataclass(frozen=True)
class Goal:
    """What the team is told to find, and (withheld from it) which objects count.

    Attributes:
        modality: "ON" (category), "TN" (description) or "IIN" (image).
        text: the category or the description; "" for an image goal.
        object_id: the instance that was drawn.
        acceptable: ids of the instances that count.
        image: the camera of an image goal.
        predicates: what a description states, as (kind, value) pairs.
    """

    modality: str
    category: str
    text: str
    object_id: int
    acceptable: tuple[int, ...]
    image: ImageGoal | None = None
    predicates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Episode:
    """One episode, ready to be played: scene folder, floor, K starts, M goals, and the oracle makespan in
    metres; with the file that it was read from, and the SHA-256 of the scene's files that it was made for."""

    id: str
    index: int
    split: str
    scene: Path
    floor: int
    floor_height: float
    starts: tuple[Pose, ...]
    goals: tuple[Goal, ...]
    makespan: float
    objects: dict[int, SceneObject]
    file: Path = Path()
    scene_files: dict[str, str] = field(default_factory=dict)

    @cached_property
    def viewpoints(self) -> list[np.ndarray]:
        """(V_j, 3) acceptable viewpoints of each goal."""
        return [np.concatenate([self.objects[i].viewpoints for i in goal.acceptable]) for goal in self.goals]


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a .json.gz.

    Raises:
        EpisodeError: missing, empty, not gzip, or not JSON.
    """
    try:
        value = json.loads(gzip.decompress(path.read_bytes()), parse_constant=_no_constant)
    except FileNotFoundError as error:
        raise EpisodeError(
            f"{path}: no such file; make the split with `python -m hm3dm3_env.episodes.generate split=<name>`"
        ) from error
    except (OSError, EOFError, zlib.error, ValueError) as error:  # ValueError: not UTF-8, not JSON, or NaN
        raise EpisodeError(f"{path}: not a gzipped JSON file ({error}); generate the split again") from error
    if not isinstance(value, dict):
        raise EpisodeError(f"{path}: expected a JSON object at the top, not {type(value).__name__}")
    if value.get("format", FORMAT) != FORMAT or value.get("version") != VERSION:
        version = value.get("version")
        newer = isinstance(version, int) and version > VERSION
        advice = "; the file is newer, so update hm3dm3" if newer else "; generate the split again"
        raise EpisodeError(
            f"{path}: version {version!r} of format {value.get('format')!r}; "
            f"this release reads {FORMAT} version {VERSION}{advice}"
        )
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON knows")


def check_schema(value: Any, schema: dict[str, Any], where: str, fix: str = "") -> None:
    """Check a value against a JSON schema; `where` opens the error's message, `fix` ends it.

    Raises:
        EpisodeError: names the field.
    """
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if error is not None:
        field = ".".join(str(part) for part in error.absolute_path) or "(top)"
        message = error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}..."
        raise EpisodeError(f"{where}: {field}: {message}{fix and '; ' + fix}")


def heading_pitch(value: list[float], where: str, fix: str = "") -> tuple[float, float]:
    """(heading, pitch) of a file's [x, y, z, w]; `where` opens the error's message, `fix` ends it.

    Raises:
        EpisodeError: not a unit quaternion, or one that rolls.
    """
    try:
        return from_quaternion(value)
    except ValueError as error:
        raise EpisodeError(f"{where}: {error}{fix and '; ' + fix}") from error


def load_split(data: Path | str, split: str, scenes: set[str] | None = None) -> list[Episode]:
    """All episodes of a split in order of their index, checked; `scenes` keeps only those scenes.

    Raises:
        EpisodeError: see the message.
    """
    data = Path(data)
    folder = data / "episodes" / split
    header = read_header(data, split)
    listed = [name for name, count in Counter(header["scenes"]).items() if count > 1]
    if listed:
        raise EpisodeError(f"{folder / split}.json.gz: scenes: {listed[0]!r} is listed twice; {FIX}")
    root = data / "scenes" / header["scenes_root"]
    episodes: list[Episode] = []
    for scene in header["scenes"]:
        if scenes is None or scene in scenes:
            episodes += _load_content(folder / "content" / f"{scene}.json.gz", scene, root, split)
    seen: dict[str, Path] = {}
    for episode in episodes:
        first = seen.get(episode.id)
        if first is not None:
            twice = "appears twice" if first == episode.file else f"appears twice, also in {first}"
            problem = f"episode {episode.id}: episode_id: {twice}"
            raise EpisodeError(f"{episode.file}: {problem}; rename one, or generate the split again")
        seen[episode.id] = episode.file
    return sorted(episodes, key=lambda episode: episode.index)


def read_header(data: Path, split: str) -> dict[str, Any]:
    """The header of a split, checked.

    Raises:
        EpisodeError: it cannot be read or lacks a field.
    """
    path = data / "episodes" / split / f"{split}.json.gz"
    header = read_json(path)
    check_schema(header, _HEADER, str(path), FIX)
    return header


def read_content(path: Path, scene: str) -> dict[str, Any]:
    """The content file of a scene as it is; its objects and episodes are still to be parsed.

    Raises:
        EpisodeError: it cannot be read, lacks a field, or is that of another scene.
    """
    content = read_json(path)
    check_schema(content, _CONTENT, str(path), FIX)
    if content["scene"] != scene:
        problem = f"scene: is {content['scene']!r}, but the file is listed for {scene!r}"
        raise EpisodeError(f"{path}: {problem}; generate the split again")
    return content


def _load_content(path: Path, scene: str, root: Path, split: str) -> list[Episode]:
    content = read_content(path, scene)
    if not (root / scene).is_dir():
        raise EpisodeError(f"{path}: scene: no folder {root / scene}; generate or copy the scenes there")
    objects = {
        int(key): parse_object(value, f"{path}: objects.{key}") for key, value in content["objects"].items()
    }
    files = content.get("scene_files", {})
    return [parse_episode(value, objects, root / scene, split, path, files) for value in content["episodes"]]


def parse_object(value: dict[str, Any], where: str) -> SceneObject:
    """One of a content file's objects, checked; `where` opens the error's message.

    Raises:
        EpisodeError: a field is missing or has the wrong shape.
    """
    if not isinstance(value, dict):
        raise EpisodeError(f"{where}: must be an object with category, position and viewpoints; {FIX}")
    missing = [name for name in ("category", "position", "viewpoints") if name not in value]
    if missing:
        raise EpisodeError(f"{where}: {', '.join(missing)}: missing; {FIX}")
    category = value["category"]
    if not isinstance(category, str) or not category:
        raise EpisodeError(f"{where}: category: must be a name, not {category!r}; {FIX}")
    position, viewpoints = _numbers(value["position"]), _numbers(value["viewpoints"])
    if position is None or position.shape != (3,):
        raise EpisodeError(f"{where}: position: must be [x, y, z] in metres; {FIX}")
    if viewpoints is None or viewpoints.ndim != 2 or viewpoints.shape[1] != 3:
        raise EpisodeError(f"{where}: viewpoints: must be a list of at least one [x, y, z] in metres; {FIX}")
    return SceneObject(category, position, viewpoints)


def _numbers(value: Any) -> np.ndarray | None:
    """A file's nested lists of numbers as float64, or None for anything else and for what is too far away."""
    try:
        array = np.array(value)  # without a type: "1" and true are no numbers
    except ValueError:
        return None
    if array.dtype.kind not in "if" or not (abs(array) <= FARTHEST).all():
        return None
    return array.astype(float)


def parse_episode(
    value: Any,
    objects: dict[int, SceneObject],
    scene: Path,
    split: str,
    path: Path,
    files: dict[str, str],
) -> Episode:
    """One episode of a content file `path`, checked.

    Raises:
        EpisodeError: names file, episode and field.
    """
    name = value.get("episode_id", "?") if isinstance(value, dict) else "?"
    name = name if isinstance(name, str) else "?"
    where = f"{path}: episode {name}"
    check_schema(value, _EPISODE, where, FIX)
    starts = []
    for i, start in enumerate(value["starts"]):
        heading, pitch = heading_pitch(start["rotation"], f"{where}: starts.{i}.rotation", FIX)
        x, y, z = (float(v) for v in start["position"])
        starts.append(Pose(x, y, z, heading, pitch))
    goals = []
    for j, goal in enumerate(value["goals"]):
        for identity in (*goal["acceptable"], goal["object_id"]):
            if identity not in objects:
                problem = f"object {identity} is not among the file's objects"
                raise EpisodeError(f"{where}: goals.{j}.acceptable: {problem}; {FIX}")
        image = goal.get("image")
        if (image is not None) != (goal["modality"] == "IIN"):
            raise EpisodeError(
                f"{where}: goals.{j}.image: an IIN goal needs a camera, and only an IIN goal has one; {FIX}"
            )
        if image is not None:
            heading_pitch(image["rotation"], f"{where}: goals.{j}.image.rotation", FIX)
            image = ImageGoal(
                tuple(image["position"]),
                tuple(image["rotation"]),
                image["hfov_deg"],
                image["size"],
                image.get("object_coverage", 0.0),
                image.get("frame_coverage", 0.0),
            )
        goals.append(
            Goal(
                goal["modality"],
                goal["category"],
                goal["text"],
                goal["object_id"],
                tuple(goal["acceptable"]),
                image,
                tuple((kind, word) for kind, word in goal.get("predicates", [])),
            )
        )
    return Episode(
        value["episode_id"],
        value["index"],
        split,
        scene,
        value["floor"],
        value["floor_height"],
        tuple(starts),
        tuple(goals),
        value["makespan"],
        objects,
        path,
        files,
    )


def split_digest(data: Path | str, split: str) -> str:
    """Hex SHA-256 of a split's files, so that results are not mixed with those of another split."""
    folder = Path(data) / "episodes" / split
    return sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("*.json.gz"))))
