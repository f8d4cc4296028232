"""Samples on disk: Parquet shards, one row a decision, readable with pandas, DuckDB or Hugging Face datasets.

<folder>/meta/info.json                         the manifest: schema, counts, seeds, hashes of the shards
<folder>/meta/round-00.json                     settings of a round
<folder>/data/round=00/part-00000.parquet       DAgger rounds are Hive partitions

Arrays are flat: a row says how many robots and goals it has, the file's metadata say each column's shape.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES
from hm3dm3_env.files import sha256, write_atomic
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
        "oracle_makespan": "of the label's assignment, metres; it and the costs include label.search metres "
        "for every goal without an accepted candidate",
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
        if (number := path.parent.name.removeprefix("round=")).isdigit()
        and (last_round is None or int(number) <= last_round)
    ]
    if not files:
        raise ShardError(
            f"{folder}: no samples (data/round=*/part-*.parquet); "
            f"make them with `python -m train.dataset out={folder}`"
        )
    return files


def whole_files(folder: Path | str, last_round: int | None = None) -> list[Path]:
    """As `shard_files`, compared with the manifest; a folder of shards alone has nothing to compare with.

    Raises:
        ShardError: there are none, the collection has not finished, or a shard is missing or changed.
    """
    files, manifest = shard_files(folder, last_round), read_manifest(folder)
    place = Path(folder) / "meta" / "info.json"
    again = f"run `python -m train.dataset out={folder}` again with the settings of meta/round-*.json"
    if manifest is None:
        if list(Path(folder).glob("meta/round-*.json")):
            raise ShardError(f"{place}: no such file: the collection has not finished; {again}")
        return files
    check_listed(folder, manifest, set(files))
    listed = {Path(folder) / shard["file"] for shard in manifest["shards"]}
    for path in files:
        if path not in listed:
            raise ShardError(f"{path}: not listed in {place}: the collection has not finished; {again}")
    rounds = {path.parent for path in files}
    for path in sorted(listed - set(files)):
        if path.parent in rounds:
            raise ShardError(f"{path}: listed in {place}, but missing; {again}")
    return files


def read_manifest(folder: Path | str) -> dict[str, Any] | None:
    """What `meta/info.json` says; None where there is none.

    Raises:
        ShardError: damaged, or of another schema version.
    """
    path = Path(folder) / "meta" / "info.json"
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_bytes())
        for shard in value["shards"]:
            if not isinstance(shard["file"], str) or not isinstance(shard["sha256"], str):
                raise TypeError("shards: file and sha256 must be texts")
        version = value["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ShardError(
            f"{path}: not a manifest ({problem}); delete it and run train.dataset again"
        ) from error
    if version != SCHEMA_VERSION:
        raise ShardError(
            f"{path}: schema version {version}; this release reads {SCHEMA_VERSION}: "
            "collect the samples again into another folder"
        )
    return value


def check_listed(folder: Path | str, manifest: dict[str, Any], files: set[Path] | None = None) -> None:
    """Compare the shards (of `files`, if given) that a manifest lists and that are there with its hashes.

    Raises:
        ShardError: a shard was changed or damaged since.
    """
    for shard in manifest["shards"]:
        path = Path(folder) / shard["file"]
        if (
            (files is None or path in files)
            and path.exists()
            and sha256(path.read_bytes()) != shard["sha256"]
        ):
            raise ShardError(
                f"{path}: sha256: not the one in meta/info.json: the file was changed or damaged; "
                "delete it and run train.dataset again"
            )


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold a data set's folder against other runs that write into it; a killed run's hold ends with it.

    Where the system has no `flock` (Windows), nothing is held.

    Raises:
        ShardError: another run holds it, it cannot be made, or a file of the run cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ShardError(f"{folder}: cannot be made ({error.strerror}); choose another out=") from error
    try:
        import fcntl
    except ImportError:
        yield
        return
    hold = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ShardError(
                f"{folder}: another run is collecting into it; wait for its end, or use another out="
            ) from error
        yield
    except OSError as error:
        raise ShardError(
            f"{error.filename or folder}: {error.strerror}; make room, or use another out= "
            "(finished shards are kept)"
        ) from error
    finally:
        os.close(hold)


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
