"""Prepared arrays of large scenes on disk: a scan that was read once loads several times faster.

Every entry is a folder of plain .npy files under a name that contains a digest of what it was made from, so
a changed source file, body or version of this package makes another entry. Processes map the same files, so
workers on one machine share a scene's textures. The least recently used entries go when there are too many.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hm3dm3_env.files import json_bytes

ABANDONED = 3600.0
"""Seconds after which a half-written entry is nobody's any more (ours)."""


def default_folder() -> Path:
    """The cache's folder: HM3DM3_CACHE, else hm3dm3 in the user's cache folder."""
    named = os.environ.get("HM3DM3_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(named or f"{home}/hm3dm3").expanduser()


class SceneCache:
    """Named sets of arrays in a folder.

    Args:
        folder: where; None keeps nothing.
        limit: bytes; beyond it the least recently used entries are deleted.
    """

    def __init__(self, folder: Path | None, limit: float) -> None:
        self.folder, self.limit = folder, limit

    def fetch(
        self, name: str, build: Callable[[], dict[str, np.ndarray]], keep: bool = True
    ) -> dict[str, np.ndarray]:
        """The arrays called `name`, made with `build` where they are missing or damaged.

        With `keep` false, or when nothing can be written, they are made and not kept. Arrays from the cache
        are mapped copy-on-write: changing them changes nothing on disk.
        """
        if self.folder is None or not keep:
            return build()
        found = self._read(self.folder / name)
        if found is not None:
            return found
        made = build()
        try:
            self._write(self.folder / name, made)
        except OSError as error:  # a full disk or a read-only home must not stop anybody
            warnings.warn(f"{self.folder}: the scene could not be kept for next time ({error})", stacklevel=2)
            return made
        return self._read(self.folder / name) or made

    def _read(self, entry: Path) -> dict[str, np.ndarray] | None:
        if not entry.is_dir():
            return None
        try:
            sizes = json.loads((entry / "sizes.json").read_bytes())
            if any((entry / f"{key}.npy").stat().st_size != size for key, size in sizes.items()):
                raise ValueError("a file has another size")
            found = {key: _mapped(entry / f"{key}.npy") for key in sizes}
            os.utime(entry)  # last use
        except (OSError, ValueError) as error:
            warnings.warn(f"{entry}: damaged ({error}); it is made again", stacklevel=3)
            shutil.rmtree(entry, ignore_errors=True)
            return None
        return found

    def _write(self, entry: Path, arrays: dict[str, np.ndarray]) -> None:
        entry.parent.mkdir(parents=True, exist_ok=True)
        temporary = entry.with_name(f".{entry.name}.{os.getpid()}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            sizes = {}
            for key, array in arrays.items():
                np.save(temporary / f"{key}.npy", array)
                sizes[key] = (temporary / f"{key}.npy").stat().st_size
            (temporary / "sizes.json").write_bytes(json_bytes(sizes))
            self._make_room(sum(sizes.values()))
            if not entry.exists():  # else another process was first
                os.rename(temporary, entry)
        except OSError:
            if not entry.exists():
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _make_room(self, wanted: int) -> None:
        assert self.folder is not None
        entries = []
        for entry in self.folder.iterdir():
            if entry.name.startswith("."):  # another process is writing it, or was killed while it did
                if entry.stat().st_mtime < time.time() - ABANDONED:
                    shutil.rmtree(entry, ignore_errors=True)
            elif entry.is_dir():
                try:
                    size = sum(file.stat().st_size for file in entry.iterdir())
                    entries.append((entry.stat().st_mtime, size, entry))
                except FileNotFoundError:  # another process made room as well
                    continue
        total = wanted + sum(size for _, size, _ in entries)
        for _, size, entry in sorted(entries, key=lambda item: item[0]):
            if total <= self.limit:
                break
            shutil.rmtree(entry, ignore_errors=True)  # who has it mapped keeps it
            total -= size


def _mapped(path: Path) -> np.ndarray:
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    return array.view(np.ndarray) if array.size else np.array(array)
