"""Open a data set of decisions: its shards, compared with the manifest, as one `SampleSet` in memory."""

from __future__ import annotations

from pathlib import Path

from higa.samples import SampleSet, stack
from train.shards import ShardError, read_table, whole_files

__all__ = ["SampleSet", "open_samples"]


def open_samples(folder: Path | str, last_round: int | None = None) -> SampleSet:
    """All samples of a data set, up to a DAgger round, in order of rounds and shards.

    Raises:
        ShardError: no samples, an unfinished collection, damaged or missing shards, or grids of different
            sizes.
    """
    try:
        return stack(whole_files(folder, last_round), read_table)
    except ShardError:
        raise
    except ValueError as error:
        raise ShardError(str(error)) from error
