"""Read episode files of GOAT-Bench, HM3D-OVON and InstanceImageNav, as seeds for episodes of ours.

All three are Habitat's: `.json.gz`, one file a scene, y up, metres, rotations [x, y, z, w]. They differ in
where the goals are:

    HM3D-OVON          goals_by_category: {"<glb>_<category>": [object, ...]}
    GOAT-Bench         goals: {"<scene>_<category>": [object, ...]}, episodes with `tasks`
    InstanceImageNav   goals: {"<scene>_<id>": object}
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hm3dm3_env.episodes.goals import ImageGoal
from hm3dm3_env.episodes.schema import POINT, ROTATION, EpisodeError, check_schema, heading_pitch
from hm3dm3_env.geometry import Pose

FORMATS = ("goat", "ovon", "iin")
MOST_WORDS = 55
"""GOAT-Bench drops longer descriptions when it loads them; so do we."""
_VIEW = {
    "type": "object",
    "required": ["agent_state"],
    "properties": {
        "agent_state": {"type": "object", "required": ["position"], "properties": {"position": POINT}},
        "iou": {"type": ["number", "null"]},
    },
}
_IMAGE = {
    "type": "object",
    "required": ["position", "rotation", "hfov"],
    "properties": {
        "position": POINT,
        "rotation": ROTATION,
        "hfov": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 180},
        "image_dimensions": {"type": "array", "items": {"type": "integer", "minimum": 8}, "minItems": 2},
    },
}
_OBJECT = {
    "type": "object",
    "required": ["object_category", "object_id", "position", "view_points"],
    "properties": {
        "object_category": {"type": "string", "minLength": 1},
        "object_id": {"type": ["integer", "string"]},
        "position": POINT,
        "view_points": {"type": "array", "items": _VIEW},
        "image_goals": {"type": ["array", "null"], "items": _IMAGE},
        "lang_desc": {"type": ["string", "null"]},
        "children_object_categories": {"type": ["array", "null"], "items": {"type": "string"}},
    },
}
_EPISODE = {
    "type": "object",
    "required": ["episode_id", "scene_id", "start_position", "start_rotation"],
    "properties": {
        "episode_id": {"type": ["string", "integer"]},
        "scene_id": {"type": "string", "minLength": 1},
        "start_position": POINT,
        "start_rotation": ROTATION,
        "tasks": {"type": "array", "items": {"type": "array", "minItems": 2}},
    },
}


@dataclass(frozen=True)
class SeedObject:
    """An object of a foreign file.

    Attributes:
        id: the instance's id in the scene's `.semantic.txt`.
        category: as the file spells it; `children` are narrower categories that count for it.
        position: (3,) middle of its box, metres.
        viewpoints: (V, 3), with `coverage` (V,) of the frame (NaN where the file has none).
        images: cameras of its image goals.
        text: its description, "" without.
    """

    id: int
    category: str
    position: np.ndarray
    viewpoints: np.ndarray
    coverage: np.ndarray
    images: tuple[ImageGoal, ...] = ()
    text: str = ""
    children: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeedScene:
    """What a foreign file says about a scene: `stem` is the name of its mesh ("TEEsavR23oF"), `starts` are
    those of its episodes, in order."""

    file: Path
    format: str
    stem: str
    objects: dict[int, SeedObject]
    starts: tuple[Pose, ...]

    @property
    def modalities(self) -> tuple[str, ...]:
        """The kinds of goals that can be made of it."""
        found = ["ON"]
        if any(item.text for item in self.objects.values()):
            found.append("TN")
        if any(item.images for item in self.objects.values()):
            found.append("IIN")
        return tuple(found)


def read_foreign(source: Path) -> list[SeedScene]:
    """All scenes of a file, or of a folder (its `content/` if it has one); header files without goals are
    skipped.

    Raises:
        EpisodeError: names file, episode or object, and field; or there is nothing to read.
    """
    if source.is_dir():
        folder = source / "content" if (source / "content").is_dir() else source
        paths = sorted(folder.glob("*.json.gz"))
    else:
        paths = [source]
    scenes = []
    for path in paths:
        value = _load(path)
        if not value.get("goals") and not value.get("goals_by_category") and source.is_dir():
            continue
        scenes.append(read_scene(path, value))
    if not scenes:
        raise EpisodeError(f"{source}: no .json.gz with goals in it (give the folder that holds content/)")
    return scenes


def detect(value: dict[str, Any]) -> str:
    """Which of `FORMATS` a file's content has, "" if none."""
    episodes = value.get("episodes")
    if isinstance(episodes, list) and any(isinstance(e, dict) and "tasks" in e for e in episodes):
        return "goat"
    if isinstance(value.get("goals_by_category"), dict):
        return "ovon"
    goals = value.get("goals")
    if isinstance(goals, dict) and goals:
        return "goat" if all(isinstance(goal, list) for goal in goals.values()) else "iin"
    return ""


def read_scene(path: Path, value: dict[str, Any] | None = None) -> SeedScene:
    """One file of any of the three formats, told apart by its content.

    Raises:
        EpisodeError: names file, episode or object, and field.
    """
    value = _load(path) if value is None else value
    kind = detect(value)
    if not kind:
        raise EpisodeError(
            f"{path}: goals: neither goals_by_category (HM3D-OVON) nor goals (GOAT-Bench, InstanceImageNav)"
        )
    return {"goat": read_goat, "ovon": read_ovon, "iin": read_iin}[kind](path, value)


def read_goat(path: Path, value: dict[str, Any]) -> SeedScene:
    """A content file of GOAT-Bench. Raises as `read_scene`."""
    key = "goals" if "goals" in value else "goals_by_category"
    return _seed(path, "goat", value, key, _lists(path, value, key))


def read_ovon(path: Path, value: dict[str, Any]) -> SeedScene:
    """A content file of HM3D-OVON; narrower categories stand at its episodes. Raises as `read_scene`."""
    scene = _seed(path, "ovon", value, "goals_by_category", _lists(path, value, "goals_by_category"))
    children: dict[str, list[str]] = {}
    for i, episode in enumerate(value.get("episodes", [])):
        listed = episode.get("children_object_categories") or []
        if not all(isinstance(name, str) for name in listed):
            raise EpisodeError(f"{path}: episode {_name(episode, i)}: children_object_categories: not names")
        children.setdefault(str(episode.get("object_category", "")), []).extend(listed)
    objects = {
        i: SeedObject(**{**vars(item), "children": tuple(dict.fromkeys(children.get(item.category, [])))})
        for i, item in scene.objects.items()
    }
    return SeedScene(scene.file, scene.format, scene.stem, objects, scene.starts)


def read_iin(path: Path, value: dict[str, Any]) -> SeedScene:
    """A content file of InstanceImageNav. Raises as `read_scene`."""
    goals = _dict(path, value, "goals")
    return _seed(path, "iin", value, "goals", [(f"goals.{key}", goal) for key, goal in goals.items()])


def _load(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(gzip.decompress(path.read_bytes()))
    except FileNotFoundError as error:
        raise EpisodeError(f"{path}: no such file") from error
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise EpisodeError(f"{path}: not a gzipped JSON file ({error})") from error
    if not isinstance(value, dict):
        raise EpisodeError(f"{path}: expected a JSON object at the top, not {type(value).__name__}")
    return value


def _dict(path: Path, value: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(value.get(key), dict):
        raise EpisodeError(f"{path}: {key}: must be an object")
    return value[key]


def _lists(path: Path, value: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """(field, object) of all objects in lists by category."""
    found = []
    for name, goals in _dict(path, value, key).items():
        if not isinstance(goals, list):
            raise EpisodeError(f"{path}: {key}.{name}: must be a list of objects")
        found += [(f"{key}.{name}.{i}", goal) for i, goal in enumerate(goals)]
    return found


def _seed(
    path: Path, kind: str, value: dict[str, Any], key: str, goals: Iterable[tuple[str, Any]]
) -> SeedScene:
    objects: dict[int, SeedObject] = {}
    for field, goal in goals:
        item = _object(goal, f"{path}: {field}")
        known = objects.get(item.id)
        if known is not None and known.category != item.category and kind != "goat":
            raise EpisodeError(
                f"{path}: {field}: object_id: {item.id} is a {known.category!r} elsewhere in it"
            )
        objects.setdefault(item.id, item)
    episodes = value.get("episodes", [])
    if not isinstance(episodes, list):
        raise EpisodeError(f"{path}: episodes: must be a list")
    starts, stems = [], set()
    for i, episode in enumerate(episodes):
        where = f"{path}: episode {_name(episode, i)}"
        check_schema(episode, _EPISODE, where)
        heading, pitch = heading_pitch(episode["start_rotation"], f"{where}: start_rotation")
        x, y, z = (float(v) for v in episode["start_position"])
        starts.append(Pose(x, y, z, heading, pitch))
        stems.add(_stem(episode["scene_id"]))
    if len(stems) > 1:
        raise EpisodeError(
            f"{path}: episodes: scene_id: several scenes in a file: {', '.join(sorted(stems))}"
        )
    stem = stems.pop() if stems else path.name.removesuffix(".json.gz").split("-")[-1]
    return SeedScene(path, kind, stem, objects, tuple(starts))


def _name(episode: Any, i: int) -> str:
    return str(episode.get("episode_id", f"number {i}")) if isinstance(episode, dict) else f"number {i}"


def _stem(scene_id: str) -> str:
    """ "TEEsavR23oF" of ".../00800-TEEsavR23oF/TEEsavR23oF.basis.glb"."""
    return Path(scene_id).name.removesuffix(".glb").removesuffix(".basis")


def _object(goal: Any, where: str) -> SeedObject:
    check_schema(goal, _OBJECT, where)
    views = goal["view_points"]
    points = np.array([view["agent_state"]["position"] for view in views], float).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise EpisodeError(f"{where}: view_points: positions must be finite")
    shares = [view.get("iou") for view in views]
    text = " ".join((goal.get("lang_desc") or "").split())
    return SeedObject(
        _object_id(goal["object_id"], where),
        goal["object_category"].strip().lower(),
        np.array(goal["position"], float),
        points,
        np.array([np.nan if share is None else float(share) for share in shares]),
        tuple(
            _image(image, f"{where}.image_goals.{i}") for i, image in enumerate(goal.get("image_goals") or [])
        ),
        text if len(text.split()) <= MOST_WORDS else "",
        tuple(goal.get("children_object_categories") or ()),
    )


def _object_id(value: int | str, where: str) -> int:
    """The number after the last underscore: "bed_12", "12" and 12 are object 12."""
    try:
        return int(str(value).rsplit("_", 1)[-1])
    except ValueError as error:
        raise EpisodeError(f"{where}: object_id: {value!r} does not end in a number") from error


def _image(image: dict[str, Any], where: str) -> ImageGoal:
    heading_pitch(image["rotation"], f"{where}: rotation")
    size = image.get("image_dimensions", [512, 512])
    if size[0] != size[1]:
        raise EpisodeError(f"{where}: image_dimensions: {size} is not square")
    x, y, z = (float(v) for v in image["position"])
    qx, qy, qz, qw = (float(v) for v in image["rotation"])
    return ImageGoal(
        (x, y, z),
        (qx, qy, qz, qw),
        float(image["hfov"]),
        size[0],
        float(image.get("object_coverage") or 0.0),
        float(image.get("frame_coverage") or 0.0),
    )
