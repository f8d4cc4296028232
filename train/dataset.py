"""Make observation-assignment samples: rollouts with oracle labels.

    python -m train.dataset size=2000 out=out/samples              a mixture of oracle, chance and rule
    python -m train.dataset size=100000 out=out/samples            the paper's size
    python -m train.dataset size=500 round=1 checkpoint=bc.pt ...  a DAgger round of a learner
    python -m train.dataset inspect dataset=out/samples            draw some of them

A shard is a few episodes of one scene. Finished shards are kept, so a killed run loses the shards that it was
working on and continues with the same final bytes, with any number of workers.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from higa.features import FeatureConfig
from higa.labels import LabelConfig
from higa.policy import HigaConfig
from hm3dm3_env.cli import command
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.episodes.schema import Episode, load_split, split_digest
from hm3dm3_env.files import data_root, json_bytes, sha256, write_atomic
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.workers import worker_pool
from policies.eyes import EyesConfig, make_eyes
from policies.navigation.body import BodyConfig, weights_of
from policies.rollout import BRIEF, SMALL, make_env, play
from train.collect import CollectingPolicy, MixtureConfig
from train.draw import InspectConfig, draw_samples
from train.shards import (
    SCHEMA,
    SCHEMA_VERSION,
    ShardError,
    check_listed,
    only_run,
    read_manifest,
    read_table,
    shard_files,
    shard_rows,
    write_shard,
)


@dataclass(frozen=True)
class DatasetConfig:
    """What to collect."""

    size: int = 2000
    """Samples at least (the paper's data set has 100,000)."""
    out: str = "out/samples"
    data: str = "data"
    split: str = "train"
    limit: int | None = None
    """Only the first episodes of the split."""
    seed: int = 0
    round: int = 0
    """DAgger round; each is a folder of its own below data/."""
    checkpoint: str = ""
    """The learner (none: the hand-designed rule takes its place)."""
    episodes_per_shard: int = 24
    """At most; all of one scene. About eight samples an episode."""
    workers: int = 2
    camera: Camera = field(default_factory=lambda: SMALL)
    eyes: EyesConfig = field(default_factory=EyesConfig)
    mixture: MixtureConfig = field(default_factory=MixtureConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    label: LabelConfig = field(default_factory=LabelConfig)
    body: BodyConfig = field(default_factory=lambda: BodyConfig(kind="planner"))
    """Who drives robots that search: the planner by default, which is the fastest."""

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("limit", 1), ("episodes_per_shard", 1), ("workers", 1),
                            ("seed", 0), ("round", 0)):  # fmt: skip
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name}={value}: must be at least {least}")
        if self.features.grid < 1 or not self.features.cell > 0:
            raise ValueError(
                f"features.grid={self.features.grid}, features.cell={self.features.cell}: "
                "must be at least 1 and more than 0 metres"
            )


@dataclass(frozen=True)
class Job:
    """A shard: the episodes to play, all of one scene, and the seed of their rollouts."""

    scene: str
    episodes: tuple[str, ...]
    seed: int


def collect(config: DatasetConfig) -> Path:
    """Collect until there are `size` samples in this round; returns the data set's folder.

    Raises:
        EpisodeError: the split is missing. CheckpointError: the learner's file cannot be used.
        ShardError: the folder holds another run's samples or damaged ones, another run is writing into it,
            or the split has no episodes.
        ValueError: the learner wants grids of another size.
    """
    data, folder = data_root(config.data), Path(config.out)
    episodes = load_split(data, config.split)[: config.limit]
    if not episodes:
        header = data / "episodes" / config.split / f"{config.split}.json.gz"
        raise ShardError(f"{header}: no episodes; generate the split again, or choose another split=")
    if config.checkpoint:
        from higa.checkpoint import load

        side = load(config.checkpoint, "cpu")[0].config.grid  # or an error, before anything is written
        if side != config.features.grid:
            raise ValueError(
                f"features.grid={config.features.grid}: the network of {config.checkpoint} wants {side}; "
                f"give features.grid={side}"
            )
    with only_run(folder):
        _collect(config, folder, episodes)
    return folder


def _collect(config: DatasetConfig, folder: Path, episodes: list[Episode]) -> None:
    """Collect into a folder that no other run writes into."""
    part = folder / "data" / f"round={config.round:02d}"
    _start(folder / "meta" / f"round-{config.round:02d}.json", part, _settings(config))
    manifest = read_manifest(folder)
    if manifest is not None:
        check_listed(folder, manifest)
    chunks = _chunks(episodes, config.episodes_per_shard)
    bar = tqdm(total=config.size, desc=f"samples (round {config.round})", unit="sample")
    total, number = 0, 0
    pool = worker_pool(config.workers) if config.workers > 1 else None
    try:
        pending: dict[int, Any] = {}
        while total < config.size:
            path = part / f"part-{number:05d}.parquet"
            for ahead in range(number, number + config.workers + 1):
                target = part / f"part-{ahead:05d}.parquet"
                if pool and ahead not in pending and not target.exists():
                    pending[ahead] = pool.submit(_shard, config, _job(config, chunks, ahead), str(target))
            if number in pending:
                pending.pop(number).result()
            elif not path.exists():
                _shard(config, _job(config, chunks, number), str(path))
            count = shard_rows(path)
            total, number = total + count, number + 1
            bar.update(count)
            if not count and number >= 4 * len(chunks):
                raise ShardError(
                    f"{part}: no decision in {number} shards; "
                    "does the split have episodes with goals to assign?"
                )
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
        bar.close()
    if not _finished(folder, part, number, manifest):
        for extra in part.glob("part-*.parquet"):  # work that ran ahead of the end
            if int(extra.stem.split("-")[1]) >= number:
                extra.unlink()
        _write_info(folder)
    print(f"{total} samples in {number} shards: {part}")


def _start(stamp: Path, part: Path, settings: dict[str, Any]) -> None:
    """Write a round's settings, unless its shards were made with others; a killed run's half files go.

    Raises:
        ShardError: there are shards of other settings, or of unknown ones.
    """
    fix = f"use another out=, or delete {part} to collect this round anew"
    if any(part.glob("part-*.parquet")) and not (
        stamp.exists() and stamp.read_bytes() == json_bytes(settings, 1)
    ):
        if not stamp.exists():
            raise ShardError(
                f"{stamp}: no such file, but {part} holds shards: their settings are not known; {fix}"
            )
        try:
            before = json.loads(stamp.read_bytes())
        except ValueError:
            before = {}
        before = before if isinstance(before, dict) else {}
        now = json.loads(json_bytes(settings))
        other = sorted(key for key in {*now, *before} if now.get(key, ()) != before.get(key, ()))
        why = " (the split was generated again)" if other == ["episodes"] else ""
        raise ShardError(f"{stamp}: {', '.join(other)}: the shards were made with other settings{why}; {fix}")
    for half in part.glob(".part-*.tmp"):
        half.unlink()
    write_atomic(stamp, json_bytes(settings, 1))


def _finished(folder: Path, part: Path, number: int, manifest: dict[str, Any] | None) -> bool:
    """Whether the manifest lists more shards of this round than a smaller run asked for: they stay."""
    if manifest is None:
        return False
    listed = [folder / shard["file"] for shard in manifest["shards"]]
    mine = [path for path in listed if path.parent == part]
    return len(mine) > number and all(path.exists() for path in mine)


def _chunks(episodes: list[Episode], most: int) -> list[tuple[str, tuple[str, ...]]]:
    """(scene, ids) of at most `most` episodes each, in equal parts; every scene comes once before any comes
    twice."""
    scenes: dict[str, list[str]] = {}
    for episode in episodes:
        scenes.setdefault(episode.scene.name, []).append(episode.id)
    parts = {
        name: [tuple(part.tolist()) for part in np.array_split(np.array(ids), -(-len(ids) // most))]
        for name, ids in scenes.items()
    }
    return [
        (name, value[turn])
        for turn in range(max(len(value) for value in parts.values()))
        for name, value in parts.items()
        if turn < len(value)
    ]


def _job(config: DatasetConfig, chunks: list[tuple[str, tuple[str, ...]]], number: int) -> Job:
    """Shard `number`: every pass over the split has another order of the chunks and other random numbers."""
    turn, place = divmod(number, len(chunks))
    order = np.random.default_rng([config.seed, config.round, turn]).permutation(len(chunks))
    scene, ids = chunks[order[place]]
    return Job(scene, ids, config.seed * 1_000_003 + config.round * 10_007 + turn)


def _shard(config: DatasetConfig, job: Job, path: str) -> None:
    """Play a shard's episodes and write their samples."""
    import torch

    torch.set_num_threads(1)
    model = None
    if config.checkpoint:
        from higa.checkpoint import load

        model = load(config.checkpoint, "cpu")[0]
    known = {e.id: e for e in load_split(data_root(config.data), config.split, {job.scene})}
    eyes = make_eyes(config.eyes)
    env = make_env(
        EnvConfig(split=config.split, data=config.data, camera=config.camera, observation=BRIEF), *eyes
    )
    method = HigaConfig(features=config.features, label=config.label, body=config.body)
    policy = CollectingPolicy(config.mixture, model, method)
    samples = []
    for name in job.episodes:
        play(env, policy, known[name], eyes, "collect", job.seed)
        samples += policy.samples
    env.close()
    write_shard(Path(path), samples, job.seed)


def _settings(config: DatasetConfig) -> dict[str, Any]:
    """What decides the bytes: everything but the places and the number of workers; the learner by its
    content."""
    value = asdict(config)
    for key in ("out", "data", "workers", "size", "checkpoint"):
        value.pop(key)
    value["episodes"] = split_digest(data_root(config.data), config.split)
    value["body"]["weights"] = [sha256(path.read_bytes()) for path in weights_of(config.body)]
    value["learner"] = sha256(Path(config.checkpoint).read_bytes()) if config.checkpoint else ""
    return value


_COUNTED = ("event", "robots", "goals")


def _write_info(folder: Path) -> None:
    """The manifest: what is in the shards of all rounds, how much of it, and their hashes."""
    shards: list[dict[str, Any]] = []
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTED}
    scenes: set[str] = set()
    for path in shard_files(folder):
        table = read_table(path, ["scene", "episode", "seed", *_COUNTED])
        for name in _COUNTED:
            counts[name].update(str(value) for value in table[name].to_pylist())
        scenes |= set(table["scene"].to_pylist())
        shards.append(
            {
                "file": str(path.relative_to(folder)),
                "rows": len(table),
                "seeds": sorted(set(table["seed"].to_pylist())),
                "episodes": len(set(table["episode"].to_pylist())),
                "sha256": sha256(path.read_bytes()),
            }
        )
    columns = {key.decode(): value.decode() for key, value in (SCHEMA.metadata or {}).items()}
    columns.pop("schema_version")
    info = {
        "schema_version": SCHEMA_VERSION,
        "samples": sum(s["rows"] for s in shards),
        "counts": {name: dict(sorted(counter.items())) for name, counter in counts.items()},
        "scenes": sorted(scenes),
        "columns": columns,
        "shards": shards,
    }
    write_atomic(folder / "meta" / "info.json", json_bytes(info, 1))


def main() -> None:
    """The command line: `inspect` draws, anything else collects."""
    if sys.argv[1:2] == ["inspect"]:
        del sys.argv[1]
        command(InspectConfig, "inspect", draw_samples)()
    else:
        command(DatasetConfig, "dataset", collect)()


if __name__ == "__main__":
    main()
