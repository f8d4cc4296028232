"""Furniture libraries of Sweet Home 3D: `.sh3f` archives, or the same files unpacked in a folder."""

from __future__ import annotations

import hashlib
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hm3dm3_env.scenes.sweethome3d.bundle import ArchiveEntries, Bundle
from hm3dm3_env.scenes.sweethome3d.java_properties import parse_properties

CATALOGUE_FILE = "PluginFurnitureCatalog.properties"
_LARGEST = 100.0
"""Metres that a side may have; larger numbers are slips of the decimal point. Ours."""


class LibraryError(ValueError):
    """A library that cannot be used; the message names the file, the entry and the fix."""


@dataclass(frozen=True)
class Entry:
    """One piece of a library. Size is (width, depth, height) in metres, after `rotation` (row-major 3x3 or
    None); `elevation` is the mounting height in metres; `opening`: a door or a window."""

    number: int
    name: str
    category: str
    model: str
    size: tuple[float, float, float]
    elevation: float = 0.0
    rotation: tuple[float, ...] | None = None
    opening: bool = False
    stairs: bool = False
    drop: float | None = None
    """Height in metres at which things stand on it, where the library says so; negative: nowhere."""


@dataclass
class FurnitureLibrary:
    """An opened library: its entries, where their files are, and a hash of all that was read."""

    file: Path
    entries: list[Entry]
    bundle: Bundle
    digest: str

    @property
    def label(self) -> str:
        """The archive's file name, or the name of the folder."""
        return self.file.parent.name if self.file.name == CATALOGUE_FILE else self.file.name

    def find(self, entry: Entry) -> str | None:
        """The model's path in the library, or None when the file is not there.

        An unpacked library may lack the first folders of the path that its catalogue names.
        """
        parts = PurePosixPath(entry.model.replace("\\", "/").lstrip("/")).parts
        if not parts or ".." in parts:
            return None
        if isinstance(self.bundle.entries, ArchiveEntries):
            name = "/".join(parts)
            return name if name in self.bundle.entries else None
        for start in range(max(1, len(parts) - 1)):
            if self.file.parent.joinpath(*parts[start:]).is_file():
                return "/".join(parts[start:])
        return None


def open_libraries(source: Path) -> list[FurnitureLibrary]:
    """The libraries of `source`: a `.sh3f` file, a folder of them, or an unpacked one; in order of names.

    Raises:
        LibraryError: nothing there, not a zip, no catalogue in it, or a broken entry.
    """
    source = Path(source)
    if source.is_file():
        return [_open_archive(source)]
    if not source.is_dir():
        raise LibraryError(f"assets={source}: no such file or folder; give a .sh3f file or a folder of them")
    found = [_open_archive(path) for path in sorted(source.glob("*")) if path.suffix.lower() == ".sh3f"]
    if (source / CATALOGUE_FILE).is_file():
        found.append(_open_folder(source))
    if not found:
        raise LibraryError(f"assets={source}: neither .sh3f files nor a {CATALOGUE_FILE} in this folder")
    return found


def _open_archive(path: Path) -> FurnitureLibrary:
    try:
        archive = zipfile.ZipFile(path)
        entries = ArchiveEntries(archive)
        if CATALOGUE_FILE not in entries:
            raise LibraryError(f"{path}: no entry {CATALOGUE_FILE!r}; is this a Sweet Home 3D library?")
        data = entries[CATALOGUE_FILE]
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise LibraryError(
            f"{path}: not a readable zip archive ({error}); a .sh3f file is one: copy it again"
        ) from error
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FurnitureLibrary(path, _read(data, path), Bundle(path, path.stem, data, entries), digest)


def _open_folder(folder: Path) -> FurnitureLibrary:
    path = folder / CATALOGUE_FILE
    data = path.read_bytes()
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix.lower() != ".sh3f":
            part = hashlib.sha256(file.read_bytes()).hexdigest()
            whole.update(f"{file.relative_to(folder).as_posix()} {part}\n".encode())
    bundle = Bundle(path, folder.name, data, folders=[folder])
    return FurnitureLibrary(path, _read(data, path), bundle, whole.hexdigest())


def _read(data: bytes, path: Path) -> list[Entry]:
    try:
        values = parse_properties(data)
    except ValueError as error:
        raise LibraryError(f"{path}: {CATALOGUE_FILE}: {error}; repair the line") from error
    numbers = sorted(
        {int(key[5:]) for key in values if key.startswith("name#") and key[5:].isdecimal()}
        | {int(key[3:]) for key in values if key.startswith("id#") and key[3:].isdecimal()}
    )
    if not numbers:
        raise LibraryError(f"{path}: {CATALOGUE_FILE} lists no furniture (name#1=...)")
    return [_entry(values, number, path) for number in numbers]


def _entry(values: dict[str, str], number: int, path: Path) -> Entry:
    name = values.get(f"name#{number}") or values[f"id#{number}"]

    def fault(text: str) -> LibraryError:
        return LibraryError(f"{path}: entry {number} ({name!r}): {text}")

    def measure(key: str, low: float, scale: float = 0.01) -> float:
        text = values[f"{key}#{number}"].strip()
        try:
            value = float(text) * scale
        except ValueError:
            raise fault(f"{key}#{number}={text!r} is not a number; give centimetres") from None
        if not low < value < _LARGEST:
            raise fault(f"{key}#{number}={text}: must lie between {low * 100:g} and {_LARGEST * 100:g} cm")
        return value

    model = values.get(f"model#{number}", "").strip()
    if not model:
        raise fault(f"no model#{number}; name its .obj file, or leave the entry out")
    for key in ("width", "depth", "height"):
        if f"{key}#{number}" not in values:
            raise fault(f"no {key}#{number}; give centimetres")
    rotation = None
    if text := values.get(f"modelRotation#{number}", "").strip():
        try:
            rotation = tuple(float(word) for word in text.split())
        except ValueError:
            rotation = ()
        if len(rotation) != 9 or not all(math.isfinite(value) for value in rotation):
            raise fault(f"modelRotation#{number}={text!r}: must be nine numbers")
    return Entry(
        number,
        name.strip(),
        values.get(f"category#{number}", "").strip(),
        model,
        (measure("width", 0.0), measure("depth", 0.0), measure("height", 0.0)),
        measure("elevation", -_LARGEST) if f"elevation#{number}" in values else 0.0,
        rotation,
        values.get(f"doorOrWindow#{number}", "").strip().lower() == "true",
        f"staircaseCutOutShape#{number}" in values,
        measure("dropOnTopElevation", -_LARGEST) if f"dropOnTopElevation#{number}" in values else None,
    )
