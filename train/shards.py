"""Samples on disk: Parquet shards, one row a decision, readable with pandas, DuckDB or Hugging Face datasets.

<folder>/meta/info.json                         schema version, shapes, settings, hashes and counts of the
shards <folder>/data/round=00/part-00000.parquet       DAgger rounds are Hive partitions
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES, Decision
from hm3dm3_env.files import write_atomic
from train.collect import Sample

SCHEMA_VERSION = 1
ROW_GROUP = 50

_FLOATS, _BOOLS, _INTS = pa.list_(pa.float32()), pa.list_(pa.bool_()), pa.list_(pa.int8())
SCHEMA = pa.schema(
    [
        ("scene", pa.string()),
        ("episode", pa.string()),
        ("step", pa.int32()),
        ("event", pa.string()),
        ("seed", pa.int64()),
        ("robots", pa.int8()),
        ("goals", pa.int8()),
        ("grid_side", pa.int16()),
        ("oracle_makespan", pa.float32()),
        ("grid", pa.binary()),
        ("heat", pa.binary()),
        ("agent_features", _FLOATS),
        ("goal_features", _FLOATS),
        ("pair_features", _FLOATS),
        ("active", _BOOLS),
        ("open", _BOOLS),
        ("label", _INTS),
        ("assigned", _INTS),
    ],
    metadata={
        "schema_version": str(SCHEMA_VERSION),
        "grid": f"uint8 ({len(MAP_CHANNELS)}, grid_side, grid_side), 255 = 1: {', '.join(MAP_CHANNELS)}",
        "heat": "uint8 (goals, grid_side, grid_side), 255 = 1",
        "agent_features": f"float32 (robots, {len(AGENT_FEATURES)}): {', '.join(AGENT_FEATURES)}",
        "goal_features": f"float32 (goals, {len(GOAL_FEATURES)}): {', '.join(GOAL_FEATURES)}",
        "pair_features": f"float32 (robots, goals, {len(PAIR_FEATURES)}): {', '.join(PAIR_FEATURES)}",
        "label": "first goal of each robot's oracle tour, -1: none",
        "assigned": "what was really assigned, -1: none",
        "oracle_makespan": "metres, of the rest of the episode",
    },
)


class ShardError(ValueError):
    """A sample file or folder that cannot be used."""


def shard_bytes(samples: Sequence[Sample], seed: int) -> bytes:
    """A Parquet file of samples; equal samples give equal bytes."""
    rows = [_row(sample, seed) for sample in samples]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", compression_level=3, row_group_size=ROW_GROUP)
    return buffer.getvalue()


def _row(sample: Sample, seed: int) -> dict[str, Any]:
    d = sample.inputs
    return {
        "scene": sample.scene,
        "episode": sample.episode,
        "step": sample.step,
        "event": sample.event,
        "seed": seed,
        "robots": len(d.active),
        "goals": len(d.open),
        "grid_side": d.grid.shape[-1],
        "oracle_makespan": sample.oracle_makespan,
        "grid": d.grid.tobytes(),
        "heat": d.heat.tobytes(),
        "agent_features": d.agents.ravel().tolist(),
        "goal_features": d.goals.ravel().tolist(),
        "pair_features": d.pairs.ravel().tolist(),
        "active": d.active.tolist(),
        "open": d.open.tolist(),
        "label": sample.label.tolist(),
        "assigned": [-1 if j is None else int(j) for j in sample.assigned],
    }


def write_shard(path: Path, samples: Sequence[Sample], seed: int) -> None:
    """Write a shard atomically."""
    write_atomic(path, shard_bytes(samples, seed))


def shard_files(folder: Path | str) -> list[Path]:
    """All shards of a data set, in order.

    Raises:
        ShardError: there are none.
    """
    files = sorted(Path(folder).glob("data/round=*/part-*.parquet"))
    if not files:
        raise ShardError(
            f"{folder}: no samples (data/round=*/part-*.parquet); "
            f"make them with `python -m train.dataset out={folder}`"
        )
    return files


def read_shard(path: Path) -> list[tuple[Decision, np.ndarray, str]]:
    """(inputs, label, scene) of every row.

    Raises:
        ShardError: damaged, or of another schema version.
    """
    return [_decode(row) for row in _table(path).to_pylist()]


def shard_rows(path: Path) -> int:
    """The number of rows, without decoding them; errors as in `read_shard`."""
    return len(_table(path))


def _table(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise ShardError(
            f"{path}: not a readable Parquet file ({error}); delete it and run train.dataset again"
        ) from error
    version = (table.schema.metadata or {}).get(b"schema_version", b"?").decode()
    if version != str(SCHEMA_VERSION):
        raise ShardError(f"{path}: schema version {version}; this release reads {SCHEMA_VERSION}")
    return table


def _decode(row: dict[str, Any]) -> tuple[Decision, np.ndarray, str]:
    k, m, g = row["robots"], row["goals"], row["grid_side"]
    inputs = Decision(
        np.frombuffer(row["grid"], np.uint8).reshape(-1, g, g),
        np.frombuffer(row["heat"], np.uint8).reshape(m, g, g),
        np.array(row["agent_features"], np.float32).reshape(k, -1),
        np.array(row["goal_features"], np.float32).reshape(m, -1),
        np.array(row["pair_features"], np.float32).reshape(k, m, -1),
        np.array(row["active"], bool),
        np.array(row["open"], bool),
    )
    return inputs, np.array(row["label"], np.int64), row["scene"]
