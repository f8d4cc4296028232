"""Are the files of a scene those that a split was made for?

Episodes name objects by id and places by coordinates: on another edition of a scene they are worth nothing.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from hm3dm3_env.episodes.schema import Episode, EpisodeError
from hm3dm3_env.scenes.hm3dsem import SceneData

_ENDINGS = (".glb", ".basis.glb", ".semantic.glb", ".semantic.txt", ".attributes.json")


def scene_files(folder: Path) -> dict[str, str]:
    """Hex SHA-256 by name of the files that geometry and annotations of a scene come from."""
    stem = folder.name.split("-")[-1]
    found = {}
    for ending in _ENDINGS:
        path = folder / f"{stem}{ending}"
        if path.is_file():
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def changed_files(known: dict[str, str], now: dict[str, str]) -> list[str]:
    """Names of the files that are not what they were.

    HM3D comes as .glb and as .basis.glb, the same mesh with textures packed in two ways: the one may stand
    for the other, and then only the annotations are compared.
    """
    changed = {name for name in known if name in now and now[name] != known[name]}
    apart = known.keys() ^ now.keys()
    changed |= {name for name in apart if not _is_render_mesh(name)}
    if not any(_is_render_mesh(name) for name in now):
        changed |= {name for name in known if _is_render_mesh(name)}
    return sorted(changed)


def _is_render_mesh(name: str) -> bool:
    return name.endswith(".glb") and not name.endswith(".semantic.glb")


@lru_cache(maxsize=512)
def _files_once(folder: Path) -> dict[str, str]:
    """Once a scene and process: HM3D's scenes have up to 200 MB."""
    return scene_files(folder)


def check_scene(episode: Episode, scene: SceneData) -> None:
    """Make sure that an episode fits the scene that was loaded for it. Files are hashed once a process.

    Raises:
        EpisodeError: a file of the scene isn't the one that the split was made for, or an object that the
            episode names is gone or has another category.
    """
    where = f"{episode.file}: episode {episode.id}"
    again = "generate the split again, or bring the scene's old files back"
    changed = changed_files(episode.scene_files, _files_once(episode.scene)) if episode.scene_files else []
    if changed:
        names = ", ".join(changed)
        problem = f"{names} in {episode.scene} changed since the split was made"
        raise EpisodeError(f"{where}: scene: {problem}; {again}")
    for j, goal in enumerate(episode.goals):
        for identity in dict.fromkeys((*goal.acceptable, goal.object_id)):
            if identity not in episode.objects:  # only where an episode was made by hand
                continue
            item, category = scene.instances.get(identity), episode.objects[identity].category
            if item is None:
                problem = f"the scene has no object {identity} ({category})"
            elif item.category != category:
                problem = f"object {identity} is a {item.category!r} in the scene, not a {category!r}"
            else:
                continue
            raise EpisodeError(f"{where}: goals.{j}.acceptable: {problem}; {again}")
