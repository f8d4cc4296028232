"""Samples on disk: Parquet shards, one row a decision, readable with pandas, DuckDB or Hugging Face datasets.

<folder>/meta/info.json                         the manifest: schema, counts, seeds, hashes of the shards
<folder>/meta/round-00.json                     settings of a round
<folder>/data/round=00/part-00000.parquet       DAgger rounds are Hive partitions

Arrays are flat: a row says how many robots and goals it has, the file's metadata say each column's shape.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES
from hm3dm3_env.files import write_atomic
from train.collect import MAP_CELL, Sample

SCHEMA_VERSION = 2
ROW_GROUP = 50
"""Rows that are compressed together (ours; 50 is small enough for random access)."""
CANDIDATE = ("goal", "score", "x", "y", "z", "distance")

_TEXT, _FLOAT, _FLOATS = pa.string(), pa.float32(), pa.list_(pa.float32())
_BOOLS, _INTS = pa.list_(pa.bool_()), pa.list_(pa.int8())
SCHEMA = pa.schema(
    [
        ("scene", _TEXT),
        ("episode", _TEXT),
        ("step", pa.int32()),
        ("event", _TEXT),
        ("seed", pa.int64()),
        ("robots", pa.int8()),
        ("goals", pa.int8()),
        ("goal_modality", pa.list_(_TEXT)),
        ("goal_text", pa.list_(_TEXT)),
        ("poses", _FLOATS),
        ("grid_side", pa.int16()),
        ("grid_cell", _FLOAT),
        ("grid_center", _FLOATS),
        ("grid", pa.binary()),
        ("map_side", pa.int16()),
        ("map", pa.binary()),
        ("heat", pa.binary()),
        ("agent_features", _FLOATS),
        ("goal_features", _FLOATS),
        ("pair_features", _FLOATS),
        ("active", _BOOLS),
        ("open", _BOOLS),
        (
            "candidates",
            pa.list_(pa.struct([("goal", pa.int8()), *((name, _FLOAT) for name in CANDIDATE[1:])])),
        ),
        ("label", _INTS),
        ("costs", _FLOATS),
        ("idle_costs", _FLOATS),
        ("oracle_makespan", _FLOAT),
        ("assigned", _INTS),
    ],
    metadata={
        "schema_version": str(SCHEMA_VERSION),
        "event": "why goals were assigned: found, candidate, idle; snapshot: a state in between",
        "goal_modality": "ON, TN or IIN",
        "goal_text": "category or description, as the team got it; empty for an image goal",
        "poses": "float32 (robots, 5): x, y, z, heading, pitch in the world (y up; metres, radians)",
        "grid": f"uint8 (channels, grid_side, grid_side), 255 = 1: {', '.join(MAP_CHANNELS)}; rows along z",
        "grid_cell": "metres a cell of grid and heat",
        "grid_center": "x and z of the middle of grid, heat and map, metres",
        "map": f"uint8 (map_side, map_side), {MAP_CELL} m a cell: 0 unknown, 1 free, 2 occupied",
        "heat": "uint8 (goals, grid_side, grid_side), 255 = 1; 0 where nobody looked",
        "agent_features": f"float32 (robots, {len(AGENT_FEATURES)}): {', '.join(AGENT_FEATURES)}",
        "goal_features": f"float32 (goals, {len(GOAL_FEATURES)}): {', '.join(GOAL_FEATURES)}",
        "pair_features": f"float32 (robots, goals, {len(PAIR_FEATURES)}): {', '.join(PAIR_FEATURES)}",
        "active": "bool (robots): may act; others are no choice",
        "open": "bool (goals): still looked for; others are no choice",
        "candidates": "what recognition found: goal, mean score, place, from how near it was seen (metres)",
        "label": "int8 (robots): first goal of each robot's oracle tour, -1: none",
        "costs": "float32 (robots, goals): makespan of the rest of the episode, metres, if a robot goes to a "
        "goal first and all else is as good as can be; nan: no choice",
        "idle_costs": "float32 (robots): the same if a robot gets no goal; inf: somebody must go",
        "oracle_makespan": "of the label's assignment, metres",
        "assigned": "int8 (robots): what was really done, -1: none",
        "seed": "of the rollout",
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
    d, label = sample.inputs, sample.label
    return {
        "scene": sample.scene,
        "episode": sample.episode,
        "step": sample.step,
        "event": sample.event,
        "seed": seed,
        "robots": len(d.active),
        "goals": len(d.open),
        "goal_modality": [modality for modality, _ in sample.goals],
        "goal_text": [text for _, text in sample.goals],
        "poses": sample.poses.ravel().tolist(),
        "grid_side": d.grid.shape[-1],
        "grid_cell": sample.cell,
        "grid_center": sample.center.tolist(),
        "grid": d.grid.tobytes(),
        "map_side": len(sample.map),
        "map": sample.map.tobytes(),
        "heat": d.heat.tobytes(),
        "agent_features": d.agents.ravel().tolist(),
        "goal_features": d.goals.ravel().tolist(),
        "pair_features": d.pairs.ravel().tolist(),
        "active": d.active.tolist(),
        "open": d.open.tolist(),
        "candidates": [
            dict(zip(CANDIDATE, (int(goal), *rest))) for goal, *rest in sample.candidates.tolist()
        ],
        "label": label.first.tolist(),
        "costs": label.costs.ravel().tolist(),
        "idle_costs": label.idle_costs.tolist(),
        "oracle_makespan": label.makespan,
        "assigned": [-1 if j is None else int(j) for j in sample.assigned],
    }


def write_shard(path: Path, samples: Sequence[Sample], seed: int) -> None:
    """Write a shard atomically."""
    write_atomic(path, shard_bytes(samples, seed))


def shard_files(folder: Path | str, last_round: int | None = None) -> list[Path]:
    """All shards of a data set, in order; up to a DAgger round, if one is given.

    Raises:
        ShardError: there are none.
    """
    files = [
        path
        for path in sorted(Path(folder).glob("data/round=*/part-*.parquet"))
        if last_round is None or int(path.parent.name.removeprefix("round=")) <= last_round
    ]
    if not files:
        raise ShardError(
            f"{folder}: no samples (data/round=*/part-*.parquet); "
            f"make them with `python -m train.dataset out={folder}`"
        )
    return files


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of a shard, or some of its columns.

    Raises:
        ShardError: damaged, or of another schema version.
    """
    try:
        table = pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise ShardError(
            f"{path}: not a readable Parquet file ({error}); delete it and run train.dataset again"
        ) from error
    version = (table.schema.metadata or {}).get(b"schema_version", b"?").decode()
    if version != str(SCHEMA_VERSION):
        raise ShardError(
            f"{path}: schema version {version}; this release reads {SCHEMA_VERSION}: "
            "collect the samples again into another folder"
        )
    return table


def shard_rows(path: Path) -> int:
    """The number of rows, without decoding them; errors as in `read_table`."""
    return len(read_table(path, ["step"]))
