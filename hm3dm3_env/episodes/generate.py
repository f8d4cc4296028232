"""Generate a split: scenes first (procedural houses), then their episodes.

    python -m hm3dm3_env.episodes.generate split=val                       36 houses, 1,000 episodes
    python -m hm3dm3_env.episodes.generate split=val houses=12 episodes=48 a small one
    python -m hm3dm3_env.episodes.generate split=homes scenes=homes        over imported homes
    python -m hm3dm3_env.episodes.generate split=val scenes=hm3d           over <data>/scenes/hm3d/val

Scenes are worked on in parallel; one that is done is kept, so a killed run continues. The same seed gives
the same bytes with any number of workers.
"""

from __future__ import annotations

from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.goals import GoalConfig
from hm3dm3_env.episodes.sampler import EpisodePlan, NoEpisode, SamplingConfig, SceneSampler, plan_split
from hm3dm3_env.episodes.scene_check import changed_files, scene_files
from hm3dm3_env.episodes.schema import FORMAT, VERSION, EpisodeError, read_json
from hm3dm3_env.files import data_root, gzip_json_bytes, json_bytes, sha256, write_atomic
from hm3dm3_env.scenes.hm3dsem import annotated, scene_folders
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.workers import worker_pool

SIZES = {"train": (145, 3000), "val": (36, 1000), "mini": (2, 6), "homes": (0, 66)}
"""Default (scenes, episodes) a split: HM3DSem's scene counts, the paper's val size; the others are ours."""
REVISION = 5
"""Goes up when the same settings give other episodes; what is there from before is then made again."""
SEEDS = {"train": 10, "val": 20, "mini": 30, "homes": 40}


@dataclass(frozen=True)
class GenerateConfig:
    """What to generate."""

    split: str = "val"
    scenes: str = "procedural"
    """procedural: build houses; otherwise a folder below <data>/scenes ("homes", or "hm3d" with the split
    below it)."""
    data: str = "data"
    """Root of scenes/ and episodes/."""
    assets: str | None = None
    """Procedural houses: a .sh3f furniture library, a folder of them, or an unpacked one; part of the
    furniture is its models."""
    assets_share: float = 0.5
    """That part, where the library has models of a category (ours)."""
    assets_triangles: int = 10_000
    """Library models with more triangles are not used (ours)."""
    houses: int | None = None
    """Number of scenes (default: by split; existing folders: all)."""
    episodes: int | None = None
    """Number of episodes over all scenes (default: by split)."""
    seed: int | None = None
    """Of the episodes (default: by split)."""
    workers: int = 2
    goals: GoalConfig = field(default_factory=GoalConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    body: Body = field(default_factory=lambda: Body(narrow_passages="none"))
    """Episodes keep out of passages that habitat-sim closes, so that every simulator can play them."""


def generate(config: GenerateConfig) -> Path:
    """Generate a split and return the path of its header file.

    Raises:
        ValueError: a size below 1, a split without defaults and no sizes given, or nothing came out.
        SceneError: no scenes, or none with annotations.
    """
    for name in ("houses", "episodes", "workers"):
        value = getattr(config, name)
        if value is not None and value < 1:
            raise ValueError(f"{name}={value}: must be at least 1")
    if config.seed is not None and config.seed < 0:
        raise ValueError(f"seed={config.seed}: must be at least 0")
    houses, episodes = SIZES.get(config.split, (config.houses, config.episodes))
    houses, episodes = config.houses or houses, config.episodes or episodes
    if houses is None or not episodes:
        raise ValueError(f"split {config.split!r} has no default size; give houses=<n> and episodes=<n>")
    seed = config.seed if config.seed is not None else SEEDS.get(config.split, 50)
    root, folders = _scenes(config, houses)
    folder = data_root(config.data) / "episodes" / config.split
    _keep_others(folder / f"{config.split}.json.gz")
    plans = plan_split(seed, episodes, config.sampling)
    settings = {
        "seed": seed,
        "goals": asdict(config.goals),
        "sampling": asdict(config.sampling),
        "body": asdict(config.body),
    }
    jobs = []
    for i, scene in enumerate(folders):
        mine = plans[i :: len(folders)]
        fingerprint = sha256(json_bytes([REVISION, settings, scene.name, i, [asdict(plan) for plan in mine]]))
        path = folder / "content" / f"{scene.name}.json.gz"
        jobs.append((scene, i, mine, config, seed, fingerprint, path))
    dropped = _run(jobs, config.workers)
    made = sum(len(read_json(job[-1])["episodes"]) for job in jobs)
    if not made:
        raise ValueError(f"{folder}: no scene gave an episode; first reasons: {dropped[:3]}")
    header = {
        "format": FORMAT,
        "version": VERSION,
        "split": config.split,
        "episodes": [],
        "settings": settings,
        "scenes": [scene.name for scene in folders],
        "scenes_root": str(root.relative_to(data_root(config.data) / "scenes")),
        "dropped": dropped,
    }
    path = folder / f"{config.split}.json.gz"
    write_atomic(path, gzip_json_bytes(header))
    for left in set((folder / "content").glob("*.json.gz")) - {job[-1] for job in jobs}:
        left.unlink()  # of a larger split with this name; it would count in the split's digest
    for line in dropped:
        print(f"dropped: {line}")
    print(f"{made} episodes in {len(folders)} scenes: {path}")
    return path


def _keep_others(path: Path) -> None:
    """Refuse to replace a split that was imported or rephrased.

    Raises:
        ValueError: names the file.
    """
    try:
        header = read_json(path)
    except EpisodeError:
        return  # none, or a damaged one
    for kind in ("imported", "rephrased"):
        if kind in header:
            raise ValueError(f"{path}: this split was {kind}; choose another split=, or delete {path.parent}")


def _scenes(config: GenerateConfig, houses: int) -> tuple[Path, list[Path]]:
    base = data_root(config.data) / "scenes"
    if config.scenes == "procedural":
        from hm3dm3_env.scenes.procedural import build_split
        from hm3dm3_env.scenes.procedural.assets import AssetsConfig

        assets = None
        if config.assets is not None:
            assets = AssetsConfig(config.assets, config.assets_share, config.assets_triangles)
        return base / "procedural" / config.split, build_split(
            base / "procedural", config.split, houses, config.workers, assets=assets
        )
    if config.assets is not None:
        raise ValueError(f"assets={config.assets}: only for scenes=procedural, not scenes={config.scenes}")
    root = base / config.scenes
    if config.scenes == "hm3d":
        root = root / config.split
    folders = annotated(scene_folders(root))
    if len(folders) < houses:
        print(f"{root}: {len(folders)} annotated scenes, not {houses}")
    return root, folders[:houses] if houses else folders


def _run(jobs: list[tuple[Any, ...]], workers: int) -> list[str]:
    """Run what is not done yet; returns the reasons of all dropped episodes, in order of scenes."""
    todo = [job for job in jobs if not _done(job[-1], job[-2], job[0])]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(todo), desc="episodes", unit="scene")
    if workers <= 1:
        for job in todo:
            _scene_job(*job)
            bar.update()
    elif todo:
        with worker_pool(workers) as pool:
            for future in as_completed([pool.submit(_scene_job, *job) for job in todo]):
                future.result()
                bar.update()
    bar.close()
    return [line for job in jobs for line in read_json(job[-1])["dropped"]]


def _done(path: Path, fingerprint: str, scene: Path) -> bool:
    """Whether a scene's file is there, made with the same settings from the same files."""
    try:
        content = read_json(path)
    except EpisodeError:
        return False
    known = content.get("scene_files")
    if content.get("fingerprint") != fingerprint or not known:
        return False
    return not changed_files(known, scene_files(scene))


def _scene_job(
    scene: Path,
    number: int,
    plans: list[EpisodePlan],
    config: GenerateConfig,
    seed: int,
    fingerprint: str,
    path: Path,
) -> None:
    sim = EmbeddedSimulator(config.body)
    sim.load(scene)
    sampler = SceneSampler(sim, config.goals, config.sampling, seed, number)
    episodes, dropped = [], []
    for plan in plans:
        try:
            episodes.append(sampler.sample(plan, config.split))
        except NoEpisode as error:
            dropped.append(f"{scene.name}: episode {plan.index}: {error}")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "scene": scene.name,
        "fingerprint": fingerprint,
        "scene_files": scene_files(scene),
        "objects": objects_of(sim, sampler, episodes),
        "episodes": episodes,
        "dropped": dropped,
    }
    write_atomic(path, gzip_json_bytes(content))


def objects_of(
    sim: EmbeddedSimulator, sampler: SceneSampler, episodes: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The objects that episodes name, as a content file lists them: category, place, viewpoints, coverage."""
    used = {
        i
        for episode in episodes
        for goal in episode["goals"]
        for i in (goal["object_id"], *goal["acceptable"])
    }
    objects: dict[str, dict[str, Any]] = {}
    for finder in sampler.finders:
        for identity in sorted(used & {item.id for item in finder.instances}):
            seen = finder.viewpoints(identity)
            if seen is None or str(identity) in objects:
                continue
            item = sim.scene.instances[identity]
            objects[str(identity)] = {
                "category": item.category,
                "position": item.center.round(4).tolist(),
                "viewpoints": seen.positions.tolist(),
                "coverage": seen.coverage.round(4).tolist(),
            }
    return objects


main = command(GenerateConfig, "generate", generate)

if __name__ == "__main__":
    main()
