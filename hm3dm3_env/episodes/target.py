"""The folder of a split that a command makes from another source: a plain name, and nobody else's split."""

from __future__ import annotations

import re
from pathlib import Path

from hm3dm3_env.episodes.schema import EpisodeError, read_json

_PLAIN = re.compile(r"[^/\\:\x00-\x1f]+")


def target_folder(data: Path, name: str, kind: str) -> Path:
    """<data>/episodes/<name>, where a split may be written whose header says `kind` (imported, rephrased).

    Raises:
        EpisodeError: the name is no folder name, or the split there was made in another way.
    """
    if not _PLAIN.fullmatch(name) or name.startswith("."):
        raise EpisodeError(f"out={name}: must be a split's name, without / and not beginning with a dot")
    folder = data / "episodes" / name
    path = folder / f"{name}.json.gz"
    if path.exists() and kind not in read_json(path):
        raise EpisodeError(
            f"{path}: {kind}: missing: this split was made in another way and stays; "
            f"choose another out=, or delete {folder}"
        )
    return folder
