"""Find homes and the files they name: inside a `.sh3d` archive or in folders beside a loose XML file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from hm3dm3_env.scenes.sweethome3d.home_xml import HomeError

_MODELS = (".obj", ".zip")


class ArchiveEntries(MutableMapping[str, bytes]):
    """The files of a zip archive by name, read when they are asked for; more can be laid beside them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name for name in archive.namelist() if not name.endswith("/")}
        self._more: dict[str, bytes] = {}

    def __getitem__(self, name: str) -> bytes:
        if name in self._more:
            return self._more[name]
        if name not in self._names:
            raise KeyError(name)
        return self._archive.read(name)

    def __setitem__(self, name: str, data: bytes) -> None:
        self._more[name] = data

    def __delitem__(self, name: str) -> None:
        del self._more[name]

    def __contains__(self, name: object) -> bool:
        return name in self._more or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names | set(self._more)))

    def __len__(self) -> int:
        return len(self._names | set(self._more))


@dataclass
class Bundle:
    """One home file and its content: the XML, the archive's entries, and folders to search for models."""

    file: Path
    name: str
    xml: bytes
    entries: MutableMapping[str, bytes] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    _index: dict[str, Path] | None = None

    def read(self, reference: str) -> tuple[bytes, str] | None:
        """Bytes of a model or image and its path in the bundle, or None when it is nowhere to be found."""
        for name in (reference, unquote(reference)):
            if name in self.entries:
                return self.entries[name], name
            path = self._find(name)
            if path is not None:
                return path.read_bytes(), str(path)
        return None

    def sibling(self, path: str, name: str) -> tuple[bytes, str] | None:
        """A file beside `path` (an .mtl beside its .obj, an image beside its .mtl). Files of the archive have
        theirs in the archive only."""
        name = name.replace("\\", "/")
        joined = str(PurePosixPath(path).parent / name)
        if joined in self.entries:
            return self.entries[joined], joined
        if path not in self.entries and Path(joined).is_file():
            return Path(joined).read_bytes(), joined
        return None

    def model(self, reference: str) -> tuple[bytes, str] | None:
        """The .obj that a piece names; a model saved as a nested zip is unpacked into `entries`."""
        found = self.read(reference) if reference else None
        if found is None or found[0][:2] != b"PK":
            return found
        data, path = found
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            names = sorted(name for name in archive.namelist() if not name.endswith("/"))
            for name in names:
                self.entries.setdefault(f"{path}!/{name}", archive.read(name))
        except (zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError):
            return None
        objs = [name for name in names if name.lower().endswith(".obj")]
        return (self.entries[f"{path}!/{objs[0]}"], f"{path}!/{objs[0]}") if objs else None

    def _find(self, name: str) -> Path | None:
        pure = PurePosixPath(name.replace("\\", "/"))
        if not pure.name:
            return None
        for folder in self.folders:
            path = folder / str(pure).lstrip("/")
            if ".." not in pure.parts and path.is_file():
                return path
        if self._index is None:
            self._index = {}
            for folder in self.folders:
                found = folder.iterdir() if folder == self.file.parent else folder.rglob("*")
                for path in sorted(found):
                    if path.is_file():
                        self._index.setdefault(path.name, path)
        return self._index.get(pure.name)


def open_bundle(file: Path, models: Path | None = None) -> Bundle:
    """Open a `.sh3d` archive or a loose XML file.

    Raises:
        HomeError: missing, not a zip, damaged, or an archive without `Home.xml`.
    """
    file = Path(file)
    if not file.is_file():
        raise HomeError(f"{file}: no such file")
    folders = [
        folder
        for folder in (models, file.parent / "models", file.parent.parent / "models")
        if folder is not None and folder.is_dir()
    ]
    data = file.read_bytes()
    if file.suffix.lower() == ".xml":
        name = file.parent.name if file.stem.lower() == "home" and file.parent.name else file.stem
        return Bundle(file, name, data, folders=[*folders, file.parent])
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "Home.xml" not in names:
                if "Home" in names:
                    raise HomeError(
                        f"{file}: holds only the old serialised 'Home' entry; open it in "
                        "Sweet Home 3D 5.3 or later and save it again"
                    )
                raise HomeError(f"{file}: no entry 'Home.xml' in the archive; is this a Sweet Home 3D home?")
            entries = {
                name: archive.read(name) for name in names if not name.endswith("/") and name != "Home"
            }
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise HomeError(
            f"{file}: not a readable zip archive ({error}); a .sh3d file is one: copy it again"
        ) from error
    return Bundle(file, file.stem, entries["Home.xml"], entries, folders)


def find_homes(source: Path) -> list[Path]:
    """The home files of `source`: itself, or every `.sh3d` and `.xml` in the folder (and its sub-folders).

    Raises:
        HomeError: nothing there.
    """
    source = Path(source)
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise HomeError(f"{source}: no such file or folder")
    found = sorted(
        path
        for path in source.rglob("*")
        if path.is_file()
        and (path.suffix.lower() == ".sh3d" or path.suffix.lower() == ".xml" and _is_home(path))
    )
    if not found:
        raise HomeError(
            f"{source}: no .sh3d file and no Home.xml in this folder; save homes from Sweet Home 3D into it"
        )
    return found


def _is_home(path: Path) -> bool:
    """Whether an XML file in a folder is a home; files named Home.xml are taken for one."""
    return path.name.lower() == "home.xml" or b"<home" in path.read_bytes()[:4096]
