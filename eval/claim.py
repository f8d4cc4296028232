"""A folder of results belongs to the settings that they were made with."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from hm3dm3_env.files import json_bytes, write_atomic


def claim(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings to settings.json in a folder, or find the same ones there.

    Raises:
        ValueError: it holds results of others.
    """
    path = folder / "settings.json"
    data = json_bytes(_plain(settings), 1)
    if path.exists() and path.read_bytes() != data:
        raise ValueError(
            f"{path}: the records there were made with other settings; use another out=, or delete {folder}"
        )
    write_atomic(path, data)


def _plain(value: Any) -> Any:
    """A value as JSON, which knows no infinity."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value
