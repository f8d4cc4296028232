"""Furniture of libraries in procedural houses: which models serve which category, and their pieces.

Library models are scaled to the size that their catalogue gives, keep their textures and colours, and stand
where a parametric piece of their category would; those that lie across it are turned by a quarter. What can
stand on one is measured on its triangles, at the height that the library gives or at its highest: the largest
level rectangle. Beds and sofas carry nothing, since the models come with their own pillows (ours).
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hm3dm3_env.scenes.layout import Surface
from hm3dm3_env.scenes.procedural.asset_names import UNKNOWN, choose
from hm3dm3_env.scenes.procedural.asset_tops import level_top
from hm3dm3_env.scenes.procedural.kinds import MODEL, Kind, Piece
from hm3dm3_env.scenes.procedural.mesh import Shape
from hm3dm3_env.scenes.sweethome3d.furniture import ModelCache, place
from hm3dm3_env.scenes.sweethome3d.home_xml import Piece as HomePiece
from hm3dm3_env.scenes.sweethome3d.library import Entry, FurnitureLibrary, LibraryError, open_libraries
from hm3dm3_env.scenes.sweethome3d.looks import Palette

_SOFT = ("pillow", "cushion")
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_LISTED = 40
"""Names that the report spells out; ours."""
_LONG = 1.25
"""Ratio of width and depth from which a thing is long; ours."""
_FLAT, _COLOUR = "asset", "assetcolour"
_THIN = 1e-10
"""Triangles of less area (m2) are left out; ours."""


@dataclass(frozen=True)
class AssetsConfig:
    """Which library, and how much of it."""

    path: str
    """A .sh3f file, a folder of them, or an unpacked library."""
    share: float = 0.5
    """Part of the pieces of a category with models that are models (ours)."""
    triangles: int = 10_000
    """Models with more triangles are not used (ours: seven in ten of Debian's 795 have fewer)."""

    def __post_init__(self) -> None:
        """Raises:
        ValueError: a share outside of 0..1, or a limit below 1.
        """
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"assets_share={self.share}: must lie between 0 and 1")
        if self.triangles < 1:
            raise ValueError(f"assets_triangles={self.triangles}: must be at least 1")


@dataclass
class Assets:
    """Opened libraries. Models are read when a house first wants their category.

    Attributes:
        categories: library and entry of each model by category, in the order of the catalogues.
        skipped: (library file, entry number, name, reason) of entries that are not used.
        faults: sentences about models that turned out unusable or incomplete when they were read.
        large: those that have too many triangles, as "file: entry 7 ('Sofa')".
    """

    config: AssetsConfig
    libraries: list[FurnitureLibrary]
    categories: dict[str, list[tuple[FurnitureLibrary, Entry]]] = field(default_factory=dict)
    skipped: list[tuple[str, int, str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)
    palette: Palette = field(default_factory=Palette)
    _caches: dict[str, ModelCache] = field(default_factory=dict)
    _pieces: dict[tuple[str, str], Piece | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for library in self.libraries:
            for entry in library.entries:
                found, reason = self._sort(library, entry)
                for category in found:
                    self.categories.setdefault(category, []).append((library, entry))
                if reason:
                    self.skipped.append((library.label, entry.number, entry.name, reason))

    @staticmethod
    def _sort(library: FurnitureLibrary, entry: Entry) -> tuple[list[str], str]:
        if entry.opening or entry.stairs:
            return [], "part of a building"
        found, reason = choose(entry.name, entry.size, entry.elevation)
        if found and library.find(entry) is None:
            return [], "model file not there"
        return found, reason

    def record(self) -> dict[str, Any]:
        """What a house says about the libraries that it was made with."""
        return {
            "libraries": [{"file": item.label, "sha256": item.digest} for item in self.libraries],
            "share": self.config.share,
            "triangles": self.config.triangles,
        }

    def report(self) -> list[str]:
        """Sentences for the user: what serves, what does not and why, names that the table lacks."""
        total = sum(len(library.entries) for library in self.libraries)
        models = {(id(lib), entry.number) for rows in self.categories.values() for lib, entry in rows}
        reasons: dict[str, int] = {}
        for _, _, _, reason in self.skipped:
            short = "size or mounting height does not suit" if reason.startswith("size") else reason
            reasons[short] = reasons.get(short, 0) + 1
        lines = [
            f"assets: {total} entries in {len(self.libraries)} libraries; {len(models)} models serve "
            f"{len(self.categories)} categories"
        ]
        lines += [f"assets: {count} left out: {reason}" for reason, count in sorted(reasons.items())]
        unknown = sorted({name for _, _, name, reason in self.skipped if reason == UNKNOWN})
        if unknown:
            more = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
            lines.append(f"assets: names not in the table: {', '.join(unknown[:_LISTED])}{more}")
        return lines

    def piece(self, item: Kind, look: tuple[str, str] | None, rng: np.random.Generator) -> Piece | None:
        """A model for the kind: the one that `look` names, or by chance any or none.

        No random number is drawn where the libraries have no model of the kind.
        """
        if look is not None:
            return self._pieces.get((item.name, look[1])) if look[0] == MODEL else None
        found = self._models(item)
        if not found or rng.random() >= self.config.share:
            return None
        return found[int(rng.integers(len(found)))]

    def surface(self, key: str) -> Surface | None:
        """The surface of a key that `piece` has used, None for keys of parametric pieces."""
        kind, _, name = key.partition(":")
        if kind not in (_FLAT, _COLOUR):
            return None
        known = self.palette.surfaces[name]
        return Surface(key, known.color, known.texture)

    def _models(self, item: Kind) -> list[Piece]:
        found = []
        for library, entry in self.categories.get(item.name, ()):
            mark = (item.name, f"{library.label}#{entry.number}")
            if mark not in self._pieces:
                self._pieces[mark] = self._build(item, library, entry, mark[1])
            piece = self._pieces[mark]
            if piece is not None:
                found.append(piece)
        return found

    def _build(self, item: Kind, library: FurnitureLibrary, entry: Entry, mark: str) -> Piece | None:
        """The piece of an entry, None (and a fault) when its model cannot be used."""
        path = library.find(entry)
        assert path is not None  # entries without files were left out

        where = f"{library.file}: entry {entry.number} ({entry.name!r})"

        def fault(text: str) -> None:
            if f"{where}: {text}" not in self.faults:
                self.faults.append(f"{where}: {text}")

        cache = self._caches.setdefault(str(library.file), ModelCache(library.bundle))
        try:
            raw = library.bundle.model(path)
            if raw is not None and raw[0].count(b"\nf ") > self.config.triangles:
                self.large.append(where)
                return None
            model = cache.get(path)
        except _DAMAGED as error:
            fault(f"{path} cannot be unpacked ({error}); not used: copy the library again")
            return None
        if model is None:
            fault(f"{cache.faults[path]}; not used")
            return None
        for name in sorted({look.missing for look in model.materials.values() if look.missing}):
            fault(f"texture not found: {name}; its material's colour is used")
        count = sum(len(part.triangles) for part in model.parts)
        if count > self.config.triangles:
            self.large.append(where)
            return None
        problems: list[str] = []
        home = HomePiece(
            kind="furniture",
            level="",
            name=entry.name,
            catalog="",
            model=path,
            position=(0.0, 0.0),
            elevation=0.0,
            size=entry.size,
            angle=np.pi + _turn(item, entry.size),  # the importer's fronts look to -y, those here to +y
            rotation=list(entry.rotation) if entry.rotation else None,
        )
        placed = place(home, 0.0, cache, self.palette, problems)
        del cache.models[path]  # the piece has all that is needed
        for problem in problems:
            fault(problem)
        shape = Shape()
        for part in placed.builder.parts() if placed else []:
            corners = part.vertices.reshape(-1, 3, 3).astype(float)
            across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            solid = np.linalg.norm(across, axis=1) / 2 > _THIN
            if solid.any():
                vertices = corners[solid].reshape(-1, 3)
                uv = None if part.uv is None else part.uv.reshape(-1, 3, 2)[solid].reshape(-1, 2)
                key = f"{_COLOUR if uv is None else _FLAT}:{part.surface}"
                shape.add(key, vertices, np.arange(len(vertices)).reshape(-1, 3), uv)
        if placed is None or not shape.chunks:
            fault("nothing visible in the model; not used")
            return None
        size = shape.settle()
        if not any(near.name in _SOFT for near in item.near):
            shape.tops = level_top(shape, size, entry.drop)
        return Piece(item, shape, size, placed.colour, placed.material, mark)


def _turn(item: Kind, size: tuple[float, float, float]) -> float:
    """A quarter turn (radians) for models that are long where their category is short, as some bicycles."""
    wide, deep = (sum(span) / 2 for span in item.size[:2])
    crossed = wide > _LONG * deep and size[1] > _LONG * size[0]
    return np.pi / 2 if crossed or deep > _LONG * wide and size[0] > _LONG * size[1] else 0.0


@lru_cache(maxsize=2)
def open_assets(config: AssetsConfig) -> Assets:
    """Open the libraries of a configuration, once a process.

    Raises:
        LibraryError: nothing there, a broken library, or none of its names is known.
    """
    assets = Assets(config, open_libraries(Path(config.path)))
    if not assets.categories:
        why = "; ".join(line.removeprefix("assets: ") for line in assets.report()[1:])
        raise LibraryError(f"assets={config.path}: no entry serves a category: {why}")
    return assets
