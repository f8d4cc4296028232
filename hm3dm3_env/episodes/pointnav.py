"""Write a split as Habitat PointNav episodes.

PointNav knows one agent and one place, so there is one episode for each agent and goal of ours; its goal is
the viewpoint that is nearest to the agent's start. `info` says which agent and goal of which episode it is.
Scene paths are relative to <data>/scenes, which is Habitat's `scenes_dir`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hm3dm3_env.episodes.scene_check import check_scene
from hm3dm3_env.episodes.schema import FIX, Episode, EpisodeError, load_split
from hm3dm3_env.files import gzip_json_bytes, write_atomic
from hm3dm3_env.geometry import to_quaternion
from hm3dm3_env.sim.base import Body, Navigator
from hm3dm3_env.sim.embedded import EmbeddedSimulator

RADIUS = 1.0
"""Of the goals: a declaration of ours counts within this of a viewpoint, metres."""
_CONFIG = "hm3dm3.scene_dataset_config.json"


def pointnav(
    episodes: list[Episode], scenes: Path, navigator: Callable[[Episode], Navigator]
) -> dict[str, Any]:
    """The content of a PointNav file.

    Args:
        scenes: <data>/scenes; paths in the file are relative to it.
        navigator: that of an episode's scene, asked for geodesic distances.

    Raises:
        EpisodeError: a goal cannot be reached from a start.
    """
    found = []
    for episode in tqdm(episodes, desc="export", unit="episode"):
        ways = navigator(episode)
        scene, config = _scene_paths(episode.scene, scenes)
        for k, start in enumerate(episode.starts):
            for j, goal in enumerate(episode.goals):
                away = ways.distance(episode.viewpoints[j], start.position[None])
                nearest = int(np.argmin(away))
                if not np.isfinite(away[nearest]):
                    problem = f"goals.{j} from starts.{k}: there is no way"
                    raise EpisodeError(f"{episode.file}: episode {episode.id}: {problem}; {FIX}")
                found.append(
                    {
                        "episode_id": f"{episode.id}-robot{k}-goal{j}",
                        "scene_id": scene,
                        "scene_dataset_config": config,
                        "start_position": start.position.round(4).tolist(),
                        "start_rotation": [round(v, 6) for v in to_quaternion(start.heading, start.pitch)],
                        "goals": [
                            {
                                "position": episode.viewpoints[j][nearest].round(4).tolist(),
                                "radius": RADIUS,
                            }
                        ],
                        "start_room": None,
                        "shortest_paths": None,
                        "info": {
                            "geodesic_distance": round(float(away[nearest]), 4),
                            "episode": episode.id,
                            "robot": k,
                            "goal": j,
                            "modality": goal.modality,
                            "category": goal.category,
                        },
                    }
                )
    return {"episodes": found}


def _scene_paths(folder: Path, scenes: Path) -> tuple[str, str]:
    """Of a scene's mesh and its dataset config, relative to `scenes`; "default" where there is no config."""
    stem = folder.name.split("-")[-1]
    mesh = next(
        folder / f"{stem}{end}" for end in (".glb", ".basis.glb") if (folder / f"{stem}{end}").exists()
    )
    config = folder.parent / _CONFIG
    return (
        mesh.relative_to(scenes).as_posix(),
        config.relative_to(scenes).as_posix() if config.exists() else "default",
    )


def export_split(data: Path, split: str, out: Path) -> Path:
    """Write a split as a PointNav .json.gz, and return its path.

    Raises:
        EpisodeError: the split cannot be read, has no episodes, was made for other files of a scene, or has a
            goal that cannot be reached.
        ValueError: `out` is no .json.gz.
    """
    if not out.name.endswith(".json.gz"):
        raise ValueError(f"out={out}: give the file to write, a .json.gz")
    sim = EmbeddedSimulator(Body(narrow_passages="none"))

    def navigator(episode: Episode) -> Navigator:
        sim.load(episode.scene)
        check_scene(episode, sim.scene)
        return sim.navigator

    episodes = sorted(load_split(data, split), key=lambda episode: (episode.scene.name, episode.index))
    if not episodes:
        header = data / "episodes" / split / f"{split}.json.gz"
        raise EpisodeError(f"{header}: no episodes; generate the split again, or choose another export=")
    content = pointnav(episodes, data / "scenes", navigator)
    write_atomic(out, gzip_json_bytes(content))
    print(f"{len(content['episodes'])} PointNav episodes of {len(episodes)}: {out}")
    return out
