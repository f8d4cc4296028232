"""Exchange episodes with Habitat's other benchmarks.

    python -m hm3dm3_env.episodes.interchange in=goat/val_unseen scenes=hm3d/val out=goat
    python -m hm3dm3_env.episodes.interchange export=val out=val_pointnav.json.gz

The first makes episodes of ours from files of GOAT-Bench, HM3D-OVON or InstanceImageNav (told apart by their
content): their objects, viewpoints, images and descriptions are the goals, their starts come first where they
keep our distances. What does not fit the scene (an id that is another object there, a viewpoint off the floor
that our robot can walk) is left out and counted. `scenes` is a folder below <data>/scenes.

The second writes a split as Habitat PointNav, see `pointnav`.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.foreign import SeedObject, SeedScene, read_foreign
from hm3dm3_env.episodes.generate import objects_of
from hm3dm3_env.episodes.goals import GoalConfig, ImageGoal, Viewpoints
from hm3dm3_env.episodes.pointnav import export_split
from hm3dm3_env.episodes.sampler import (
    EpisodePlan,
    MainIslandFinder,
    NoEpisode,
    SamplingConfig,
    SceneSampler,
    plain_goal,
    plan_split,
)
from hm3dm3_env.episodes.scene_check import scene_files
from hm3dm3_env.episodes.schema import FORMAT, VERSION, EpisodeError
from hm3dm3_env.episodes.target import target_folder
from hm3dm3_env.files import data_root, gzip_json_bytes, write_atomic
from hm3dm3_env.scenes.hm3dsem import Instance, scene_folders
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.workers import worker_pool

FITS = 0.25
"""A file's object is the scene's of that id if their middles are this close, metres (ours)."""
SNAP = 0.1
"""Viewpoints so far off our walkable surface are moved onto it, metres (ours: navmeshes differ a little)."""


@dataclass(frozen=True)
class InterchangeConfig:
    """What to read or write."""

    source: str = ""
    """File, or folder with content/, of another benchmark; `in=` says the same."""
    scenes: str = "hm3d/val"
    """Folder of the scenes, below <data>/scenes."""
    out: str = ""
    """Name of the split to make, or the file to write."""
    export: str = ""
    """A split of ours to write as PointNav, instead of reading."""
    data: str = "data"
    episodes: int = 10
    """Episodes a scene."""
    seed: int = 60
    workers: int = 2


class SeedFinder(MainIslandFinder):
    """A `GoalFinder` whose objects, viewpoints and photos are those of a foreign file, where they fit."""

    def __init__(
        self, sim: EmbeddedSimulator, floor: int, config: GoalConfig, seed: int, seeds: SeedScene
    ) -> None:
        super().__init__(sim, floor, config, seed)
        self.seeds: dict[int, SeedObject] = {
            item.id: seeds.objects[item.id]
            for item in self.instances
            if item.id in seeds.objects and fits(seeds.objects[item.id], item)
        }
        self.starts = [
            pose.position.round(4)
            for pose in seeds.starts
            if self._stand(pose.position) and sim.navigator.floor_of(pose.position) == floor
        ]

    def candidates(self) -> list[Instance]:
        """The file's objects on this floor, under the file's names; parts of the building are left out."""
        found = [
            replace(self.sim.scene.instances[i], category=item.category) for i, item in self.seeds.items()
        ]
        return [item for item in found if not item.structure]

    def _viewpoints(self, identity: int) -> Viewpoints | None:
        """The file's viewpoints that our robot can stand at, and that see it within reach."""
        seed, item = self.seeds.get(identity), self.sim.scene.instances[identity]
        if seed is None:
            return None
        kept, coverage = [], []
        for point, share in zip(seed.viewpoints, seed.coverage):
            place = self.sim.navigator.snap(point, SNAP)
            place = None if place is None else place.round(4)
            if place is None or not self._stand(place):
                continue
            beside = np.maximum(np.maximum(item.low - place, place - item.high), 0)[[0, 2]]
            if np.hypot(*beside) <= self.config.viewpoint_reach:
                kept.append(place)
                coverage.append(0.0 if np.isnan(share) else share)
        if not kept:
            return None
        return Viewpoints(np.array(kept), np.zeros(len(kept)), np.array(coverage))

    def _photo(self, identity: int) -> ImageGoal | None:
        """One of the file's images of an object."""
        seed = self.seeds.get(identity)
        if seed is None or not seed.images:
            return None
        return seed.images[self._rng(identity, "photo").integers(len(seed.images))]

    def random_place(self, rng: np.random.Generator) -> np.ndarray:
        """(3,) one of the file's starts every other time, else a uniform place on the island."""
        if self.starts and rng.random() < 0.5:
            return self.starts[rng.integers(len(self.starts))]
        return super().random_place(rng)


class SeedSampler(SceneSampler):
    """Episodes of one scene from a foreign file."""

    def __init__(
        self,
        sim: EmbeddedSimulator,
        goals: GoalConfig,
        config: SamplingConfig,
        seed: int,
        scene: int,
        seeds: SeedScene,
    ) -> None:
        super().__init__(sim, goals, config, seed, scene)
        floors = [finder.floor for finder in self.finders]
        self.finders = [SeedFinder(sim, floor, goals, seed, seeds) for floor in floors]
        self.finders = [finder for finder in self.finders if finder.seeds]  # type: ignore[attr-defined]

    def _try_goal(
        self, finder: MainIslandFinder, modality: str, item: Instance, twins: Any
    ) -> dict[str, Any] | None:
        assert isinstance(finder, SeedFinder)
        seed = finder.seeds[item.id]
        if finder.viewpoints(item.id) is None:
            return None
        goal = plain_goal(modality, item)
        if modality == "ON":
            names = {item.category, *(name.strip().lower() for name in seed.children)}
            alike = [i for i, other in finder.seeds.items() if other.category in names]
            goal["acceptable"] = [i for i in alike if finder.viewpoints(i) is not None]
        elif modality == "TN":
            if not seed.text:
                return None
            goal["text"] = seed.text
        else:
            photo = finder.photo(item.id)
            if photo is None:
                return None
            image = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(photo).items()}
            goal |= {"text": "", "image": image}
        return goal


def fits(seed: SeedObject, item: Instance) -> bool:
    """Whether a file's object is the scene's object of that id."""
    return float(np.abs(seed.position - item.center).max()) <= FITS


def import_split(config: InterchangeConfig) -> Path:
    """Make a split from foreign files, and return the path of its header.

    Raises:
        EpisodeError: a file cannot be read, nothing of it fits the scenes, or `out` is another split.
        SceneError: no scenes.
    """
    data = data_root(config.data)
    folder = target_folder(data, config.out, "imported")
    root = data / "scenes" / config.scenes
    folders = {folder.name.split("-")[-1]: folder for folder in scene_folders(root)}
    seeds = read_foreign(Path(config.source))
    known = [seed for seed in seeds if seed.stem in folders]
    if not known:
        listed = ", ".join(seed.stem for seed in seeds[:5])
        raise EpisodeError(f"{config.source}: scene_id: none of its scenes ({listed}) is in {root}")
    names = [folders[seed.stem].name for seed in known]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise EpisodeError(f"{config.source}: scene_id: two files are about {twice[0]}")
    sampling = SamplingConfig()
    plans = _plans(known, config, sampling)
    body = Body(narrow_passages="none")
    jobs = [(seed, folders[seed.stem], plans[i], config, sampling, body, i) for i, seed in enumerate(known)]
    contents = _run(jobs, config.workers)
    dropped = [line for content in contents for line in content["dropped"]]
    made = sum(len(content["episodes"]) for content in contents)
    if not made:
        raise EpisodeError(f"{config.source}: nothing fits the scenes in {root}: {'; '.join(dropped[:3])}")
    for content in contents:
        write_atomic(folder / "content" / f"{content['scene']}.json.gz", gzip_json_bytes(content))
    goals = GoalConfig(min_coverage=0.0)  # InstanceImageNav's viewpoints need only see something
    header = {
        "format": FORMAT,
        "version": VERSION,
        "split": config.out,
        "episodes": [],
        "settings": {
            "seed": config.seed,
            "goals": asdict(goals),
            "sampling": asdict(sampling),
            "body": asdict(body),
        },
        "scenes": names,
        "scenes_root": config.scenes,
        "dropped": dropped,
        "imported": sorted({seed.format for seed in known}),
    }
    path = folder / f"{config.out}.json.gz"
    write_atomic(path, gzip_json_bytes(header))
    mine = {folder / "content" / f"{name}.json.gz" for name in names}
    for old in set((folder / "content").glob("*.json.gz")) - mine:
        old.unlink()  # of an earlier import with this name; it would count in the split's digest
    left = len(seeds) - len(known)
    print(f"{made} episodes in {len(known)} scenes, {len(dropped)} dropped, {left} scenes not found: {path}")
    return path


def _plans(
    seeds: list[SeedScene], config: InterchangeConfig, sampling: SamplingConfig
) -> list[list[EpisodePlan]]:
    """Episodes of each scene; modalities that its file lacks are replaced in turn by those that it has."""
    plans = plan_split(config.seed, config.episodes * len(seeds), sampling)
    result = []
    for i, seed in enumerate(seeds):
        have, turn, mine = seed.modalities, 0, []
        for plan in plans[i :: len(seeds)]:
            wanted = []
            for modality in plan.modalities:
                if modality not in have:
                    modality, turn = have[turn % len(have)], turn + 1
                wanted.append(modality)
            mine.append(replace(plan, modalities=tuple(wanted)))
        result.append(mine)
    return result


def _run(jobs: list[tuple[Any, ...]], workers: int) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with tqdm(total=len(jobs), desc="import", unit="scene") as bar:
        if workers <= 1 or len(jobs) < 2:
            for i, job in enumerate(jobs):
                found[i] = _scene_job(*job)
                bar.update()
        else:
            with worker_pool(workers) as pool:
                futures = {pool.submit(_scene_job, *job): i for i, job in enumerate(jobs)}
                for future in as_completed(futures):
                    found[futures[future]] = future.result()
                    bar.update()
    return [found[i] for i in range(len(jobs))]


def _scene_job(
    seeds: SeedScene,
    folder: Path,
    plans: list[EpisodePlan],
    config: InterchangeConfig,
    sampling: SamplingConfig,
    body: Body,
    number: int,
) -> dict[str, Any]:
    sim = EmbeddedSimulator(body)
    sim.load(folder)
    sampler = SeedSampler(sim, GoalConfig(), sampling, config.seed, number, seeds)
    episodes, dropped = [], []
    fitting = {i for finder in sampler.finders for i in finder.seeds}  # type: ignore[attr-defined]
    if len(fitting) < len(seeds.objects):
        dropped.append(
            f"{folder.name}: {len(seeds.objects) - len(fitting)} of {len(seeds.objects)} objects "
            f"of {seeds.file.name} are not where the scene has them"
        )
    for plan in plans if fitting else []:
        try:
            episodes.append(sampler.sample(plan, config.out))
        except NoEpisode as error:
            dropped.append(f"{folder.name}: episode {plan.index}: {error}")
    return {
        "format": FORMAT,
        "version": VERSION,
        "scene": folder.name,
        "scene_files": scene_files(folder),
        "objects": objects_of(sim, sampler, episodes),
        "episodes": episodes,
        "dropped": dropped,
        "imported": {"format": seeds.format, "file": seeds.file.name},
    }


def interchange(config: InterchangeConfig) -> Path:
    """Import or export, as the config says.

    Raises:
        ValueError: it does not say what, or see `import_split` and `export_split`.
    """
    if bool(config.source) == bool(config.export) or not config.out:
        raise ValueError("give in=<file or folder> scenes=<folder> out=<split>, or export=<split> out=<file>")
    for name, least in (("episodes", 1), ("workers", 1), ("seed", 0)):
        if getattr(config, name) < least:
            raise ValueError(f"interchange: {name}={getattr(config, name)}: must be at least {least}")
    if config.export:
        return export_split(data_root(config.data), config.export, Path(config.out))
    return import_split(config)


_main = command(InterchangeConfig, "interchange", interchange)


def main() -> None:
    """The command line; `in=` is a Python keyword, so the config calls it `source`."""
    sys.argv = [f"source={word[3:]}" if word.startswith("in=") else word for word in sys.argv]
    _main()


if __name__ == "__main__":
    main()
