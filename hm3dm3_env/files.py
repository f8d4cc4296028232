"""File helpers: atomic writes, so that a killed run never leaves half a file; hashes; the data root."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any


def write_atomic(path: Path | str, data: bytes) -> None:
    """Write `data` to `path` so that readers see the old file or the whole new one, never a part."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """Canonical JSON: sorted keys, no NaN, one trailing newline; equal values give equal bytes."""
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(value, sort_keys=True, allow_nan=False, indent=indent, separators=separators)
    return (text + "\n").encode()


def gzip_json_bytes(value: Any) -> bytes:
    """Canonical JSON, gzipped without a time stamp, so that equal values give equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=0, compresslevel=6) as stream:
        stream.write(json_bytes(value))
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    """Hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def data_root(data: str) -> Path:
    """The data folder: `data`, unless it is the default and HM3DM3_DATA names another."""
    return Path(os.environ.get("HM3DM3_DATA", data) if data == "data" else data)
