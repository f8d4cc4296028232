"""Make observation-assignment samples: rollouts with oracle labels.

    python -m train.dataset size=2000 out=out/samples              rounds of a mixture of oracle, chance and
    rule python -m train.dataset size=500 round=1 checkpoint=bc.pt ...  a DAgger round of a learner

A shard is a few episodes of one pass over the split. Finished shards are kept, so a killed run continues
with the same final bytes, with any number of workers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from higa.features import FeatureConfig
from higa.policy import HigaConfig
from hm3dm3_env.cli import command
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.episodes.schema import load_split, split_digest
from hm3dm3_env.files import data_root, json_bytes, sha256, write_atomic
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.workers import worker_pool
from policies.rollout import BRIEF, SMALL, EyesConfig, make_env, make_eyes, play
from train.collect import CollectingPolicy, MixtureConfig
from train.shards import SCHEMA, SCHEMA_VERSION, ShardError, shard_rows, write_shard


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
    episodes_per_shard: int = 4
    workers: int = 2
    camera: Camera = field(default_factory=lambda: SMALL)
    eyes: EyesConfig = field(default_factory=EyesConfig)
    mixture: MixtureConfig = field(default_factory=MixtureConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)


def collect(config: DatasetConfig) -> Path:
    """Collect until there are `size` samples in this round; returns the data set's folder.

    Raises:
        EpisodeError: the split is missing. ShardError: the folder holds another run's samples,
            or the split no episodes. ValueError: a size that cannot be.
    """
    if config.episodes_per_shard < 1 or (config.limit is not None and config.limit < 1):
        raise ValueError("episodes_per_shard and limit must be at least 1")
    folder = Path(config.out)
    part = folder / "data" / f"round={config.round:02d}"
    episodes = load_split(data_root(config.data), config.split)[: config.limit]
    if not episodes:
        raise ShardError(f"split {config.split!r} has no episodes")
    settings = _settings(config)
    stamp = folder / "meta" / f"round-{config.round:02d}.json"
    if stamp.exists() and stamp.read_bytes() != json_bytes(settings, 1):
        raise ShardError(
            f"{stamp}: round {config.round} was started with other settings; "
            f"use another out= or delete {part}"
        )
    write_atomic(stamp, json_bytes(settings, 1))
    passes = -(-len(episodes) // config.episodes_per_shard)
    bar = tqdm(total=config.size, desc=f"samples (round {config.round})", unit="sample")
    total, number = 0, 0
    pool = worker_pool(config.workers) if config.workers > 1 else None
    try:
        pending: dict[int, Any] = {}
        while total < config.size:
            path = part / f"part-{number:05d}.parquet"
            for ahead in range(number, number + config.workers + 1):
                target = part / f"part-{ahead:05d}.parquet"
                if pool and ahead not in pending and not target.exists() and total < config.size:
                    pending[ahead] = pool.submit(
                        _shard, config, _jobs(config, passes, len(episodes), ahead), str(target)
                    )
            if number in pending:
                pending.pop(number).result()
            elif not path.exists():
                _shard(config, _jobs(config, passes, len(episodes), number), str(path))
            count = shard_rows(path)
            total, number = total + count, number + 1
            bar.update(count)
            if not count and number >= 4 * passes:
                raise ShardError(
                    f"{part}: no decision in {number} shards; "
                    "does the split have episodes with goals to assign?"
                )
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
        bar.close()
    for extra in part.glob("part-*.parquet"):  # work that ran ahead of the end
        if int(extra.stem.split("-")[1]) >= number:
            extra.unlink()
    _write_info(folder)
    print(f"{total} samples in {number} shards: {part}")
    return folder


def _jobs(config: DatasetConfig, passes: int, episodes: int, number: int) -> tuple[list[int], int]:
    """Indices of a shard's episodes, and its seed: every pass over the split has other random numbers."""
    first = number % passes * config.episodes_per_shard
    indices = list(range(first, min(first + config.episodes_per_shard, episodes)))
    return indices, config.seed * 1_000_003 + config.round * 10_007 + number // passes


def _shard(config: DatasetConfig, job: tuple[list[int], int], path: str) -> None:
    """Play a shard's episodes and write their samples."""
    import torch

    torch.set_num_threads(1)
    indices, seed = job
    model = None
    if config.checkpoint:
        from higa.checkpoint import load

        model = load(config.checkpoint, "cpu")[0]
    episodes = load_split(data_root(config.data), config.split)[: config.limit]
    eyes = make_eyes(config.eyes)
    env = make_env(
        EnvConfig(split=config.split, data=config.data, camera=config.camera, observation=BRIEF), *eyes
    )
    policy = CollectingPolicy(config.mixture, model, HigaConfig(features=config.features))
    samples = []
    for i in indices:
        play(env, policy, episodes[i], eyes, "collect", seed)
        samples += policy.samples
    env.close()
    write_shard(Path(path), samples, seed)


def _settings(config: DatasetConfig) -> dict[str, Any]:
    """What decides the bytes: everything but the places and the number of workers; the learner by its
    content."""
    value = asdict(config)
    for key in ("out", "data", "workers", "size", "checkpoint"):
        value.pop(key)
    value["episodes"] = split_digest(data_root(config.data), config.split)
    value["learner"] = sha256(Path(config.checkpoint).read_bytes()) if config.checkpoint else ""
    return value


def _write_info(folder: Path) -> None:
    """The manifest: hashes and counts of all shards of all rounds."""
    shards: list[dict[str, Any]] = []
    for path in sorted(folder.glob("data/round=*/part-*.parquet")):
        shards.append(
            {
                "file": str(path.relative_to(folder)),
                "rows": shard_rows(path),
                "sha256": sha256(path.read_bytes()),
            }
        )
    columns = {key.decode(): value.decode() for key, value in (SCHEMA.metadata or {}).items()}
    info = {
        "schema_version": SCHEMA_VERSION,
        "samples": sum(s["rows"] for s in shards),
        "columns": columns,
        "shards": shards,
    }
    write_atomic(folder / "meta" / "info.json", json_bytes(info, 1))


main = command(DatasetConfig, "dataset", collect)

if __name__ == "__main__":
    main()
