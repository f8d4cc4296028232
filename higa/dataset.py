"""Open a finished data set of samples by its manifest, for readers that do not train."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from higa.samples import SampleSet, stack
from hm3dm3_env.files import sha256


def open_listed(folder: Path | str) -> SampleSet:
    """All samples of the shards that `meta/info.json` lists, in its order.

    Raises:
        ValueError: no manifest, or a shard that is missing, was changed, or lacks a column.
    """
    manifest = Path(folder) / "meta" / "info.json"
    try:
        listed = [
            (Path(folder) / shard["file"], shard["sha256"])
            for shard in json.loads(manifest.read_bytes())["shards"]
        ]
    except OSError as error:
        raise ValueError(
            f"{manifest}: no such file: no finished data set; "
            f"make one with `python -m train.dataset out={folder}`"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{manifest}: not a manifest of samples ({type(error).__name__}: {error})"
        ) from error
    for path, digest in listed:
        if not path.is_file() or sha256(path.read_bytes()) != digest:
            raise ValueError(
                f"{path}: missing, or not the file that {manifest} lists; "
                f"run `python -m train.dataset out={folder}` again with the same settings"
            )
    return stack([path for path, _ in listed], _read)


def _read(path: Path, columns: list[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path}: cannot be read ({error}); collect the samples again") from error
