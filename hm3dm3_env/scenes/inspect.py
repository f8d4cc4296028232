"""Say what is in a scene folder, what is odd about it, and draw the plan of each floor.

    python -m hm3dm3_env.scenes.inspect data/scenes/hm3d/val/00800-TEEsavR23oF
    python -m hm3dm3_env.scenes.inspect data/scenes/hm3d/val out=out/inspect
    python -m hm3dm3_env.scenes.inspect scene=data/scenes/houses/val plans=false

Arguments are scene folders, or folders that have scenes somewhere below. For each scene: triangles, textures,
bounds, floors with their walkable area, regions, objects by category and how many of them could be goals, and
problems. Plans go to `out` (default out/inspect), one PNG a floor. The exit code is 2 if a scene cannot be
read; the others are still inspected.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hm3dm3_env.episodes.goals import GoalConfig, GoalFinder
from hm3dm3_env.files import write_atomic
from hm3dm3_env.scenes.glb import image_size
from hm3dm3_env.scenes.gltf import GlbError
from hm3dm3_env.scenes.hm3dsem import SceneData, SceneError, is_scene_folder
from hm3dm3_env.scenes.inspect_plan import plan_png
from hm3dm3_env.sim.embedded import EmbeddedSimulator

TINY, SLIVER = 0.05, 1e-10
"""Objects with no side longer than this (metres) and triangles with less area (square metres) are noted."""
SMALL_FLOOR, LARGEST_ISLAND = 10.0, 0.5
"""A home with less walkable area (square metres), or a floor whose largest island has a smaller share, is
noted."""
EXTENT = (1.5, 150.0)
"""Shortest and longest plausible side of a home, metres."""


@dataclass
class Inspection:
    """What was found in a scene: `lines` for reading, `problems` one sentence each, `plans` written."""

    scene: str
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    plans: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        problems = [f"  problem    {text}" for text in self.problems] or ["  problems   none"]
        return "\n".join([self.scene, *self.lines, *problems, *(f"  plan       {p}" for p in self.plans)])


def inspect_scene(folder: Path, out: Path | None = None, sim: EmbeddedSimulator | None = None) -> Inspection:
    """Read a scene folder, and draw its plans to `out` (none: no plans).

    Raises:
        SceneError, GlbError: the folder cannot be read.
    """
    sim = sim or EmbeddedSimulator()
    sim.load(folder)
    scene = sim.scene
    found = Inspection(scene.id, problems=list(scene.problems))
    _files(found, scene)
    areas = _mesh(found, scene)
    _textures(found, scene)
    _semantics(found, scene, areas)
    _floors(found, sim)
    _objects(found, sim)
    if out is not None:
        for floor in range(len(sim.navigator.floors)):
            path = out / f"{scene.id}-floor{floor}.png"
            write_atomic(path, plan_png(sim, floor))
            found.plans.append(path)
    return found


def _files(found: Inspection, scene: SceneData) -> None:
    files = sorted(path for path in scene.folder.iterdir() if path.is_file())
    listed = ", ".join(f"{path.name} {_bytes(path.stat().st_size)}" for path in files)
    found.lines.append(f"  files      {listed}")
    if scene.semantics is None:
        found.problems.append("no annotations (.semantic.glb and .semantic.txt): it can have no goals; those "
                              "of HM3D are in the download hm3d-<split>-semantic-annots")


def _mesh(found: Inspection, scene: SceneData) -> np.ndarray:
    """Triangles and bounds; returns the triangles' areas, square metres."""
    edges = (scene.triangles[:, 1:] - scene.triangles[:, :1]).astype(np.float64)
    areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2
    flat = int((areas < SLIVER).sum())
    found.lines.append(f"  mesh       {len(areas):,} triangles, {areas.sum():,.0f} m2 of surface, "
                       f"{len(np.unique(scene.material))} materials in use")
    if flat:
        found.problems.append(f"{flat:,} triangles ({flat / len(areas):.1%}) have no area")
    corners = scene.triangles.reshape(-1, 3)
    low, high = corners.min(0), corners.max(0)
    sides = high - low
    ranges = ", ".join(f"{name} {a:.2f} to {b:.2f}" for name, a, b in zip("xyz", low, high))
    found.lines.append(f"  bounds     {ranges} m (y is up)")
    if sides.max() > EXTENT[1] or sides.min() < EXTENT[0]:
        found.problems.append(f"it measures {sides[0]:.1f} x {sides[2]:.1f} m and is {sides[1]:.1f} m high: "
                              "is the unit the metre, and is z up in the file?")
    return areas


def _textures(found: Inspection, scene: SceneData) -> None:
    used = sorted(set(scene.image_of[np.unique(scene.material)].tolist()) - {-1})
    sizes = Counter(image_size(scene.sources[i]) for i in used)
    ranked = sorted(sizes.items(), key=lambda item: (-item[0][0] * item[0][1], item[0]))
    kinds = ", ".join(f"{n} of {w} x {h}" for (w, h), n in ranked[:3])
    kinds += f", {sum(n for _, n in ranked[3:])} smaller" if ranked[3:] else ""
    decoded = sum(3 * w * h * n for (w, h), n in sizes.items())
    stored = sum(len(scene.sources[i]) for i in used)
    found.lines.append(f"  textures   {len(used)}" + (
        f" ({kinds}), {_bytes(stored)} stored, {_bytes(decoded)} decoded" if used else ""))
    for index in used:
        try:
            scene.decode(index)
        except GlbError as error:
            found.problems.append(str(error))
            if "pip install" in str(error):
                return  # it would be said for each of them


def _semantics(found: Inspection, scene: SceneData, areas: np.ndarray) -> None:
    semantics = scene.semantics
    if semantics is None:
        found.lines.append("  semantics  none")
        return
    where = f"ids in {len(semantics.offset)} textures" if len(semantics.offset) else "ids at the vertices"
    mesh = "the render mesh's triangles" if semantics.triangles is None else "a mesh of its own"
    share = ""
    if semantics.triangles is None and areas.sum():
        share = f", {areas[semantics.labels > 0].sum() / areas.sum():.1%} of the surface annotated"
    found.lines.append(f"  semantics  {where}, {mesh}{share}")


def _floors(found: Inspection, sim: EmbeddedSimulator) -> None:
    navigator, total = sim.navigator, 0.0
    for index, level in enumerate(navigator.levels):
        area = float(level.free.sum()) * navigator.cell**2
        total += area
        pieces = np.bincount(level.islands[level.islands > 0])
        pieces = pieces[pieces > 0]
        largest = pieces.max() / pieces.sum() if len(pieces) else 0.0
        found.lines.append(f"  floor {index}    height {level.height:.2f} m, {area:.1f} m2 walkable (cells "
                           f"of {navigator.cell} m), islands: {len(pieces)}, the largest {largest:.0%}")
        if not len(pieces):
            found.problems.append(f"floor {index} has no place where the body could stand")
        elif largest < LARGEST_ISLAND:
            found.problems.append(f"floor {index} falls into {len(pieces)} islands, the largest has only "
                                  f"{largest:.0%} of the walkable area: are doorways closed?")
    if not navigator.levels:
        found.lines.append("  floors     none")
        found.problems.append("no floor where the body could stand: is z up in the file, is a floor there?")
    elif total < SMALL_FLOOR:
        found.problems.append(f"nearly no floor: {total:.1f} m2 walkable in all")


def _objects(found: Inspection, sim: EmbeddedSimulator) -> None:
    scene = sim.scene
    if scene.semantics is None:
        return
    items = list(scene.instances.values())
    rooms = {item.region: item.room for item in items}
    named = ", ".join(sorted({name for name in rooms.values() if name}))
    found.lines.append(f"  regions    {len(rooms)}" + (f" ({named})" if named else ""))
    goals: dict[int, str] = {}
    for floor in range(len(sim.navigator.floors)):
        goals |= {i.id: i.category for i in GoalFinder(sim, floor, GoalConfig(), 0).candidates()}
    counts, able = Counter(item.category for item in items), Counter(goals.values())
    found.lines.append(f"  objects    {len(items)} of {len(counts)} categories; {len(goals)} of {len(able)} "
                       "categories could be goals by name, size and floor")
    found.lines.append("             count  goals  category")
    found.lines += [f"             {counts[name]:5}  {able[name] or '-':>5}  {name or '(no name)'}"
                    for name in sorted(counts, key=lambda name: (-counts[name], name))]
    tiny = [item for item in items if item.size.max() < TINY]
    if tiny:
        listed = ", ".join(f"{item.id} ({item.category})" for item in tiny[:8])
        listed += ", ..." if tiny[8:] else ""
        found.problems.append(f"{len(tiny)} objects are smaller than {TINY:g} m: {listed}")
    if not able:
        found.problems.append("no object could be a goal")


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def find_scenes(root: Path, depth: int = 3) -> list[Path]:
    """`root` if it is a scene folder (or a file in one), else the scene folders up to `depth` levels below,
    sorted.

    Raises:
        SceneError: there is none.
    """
    if root.is_file() and is_scene_folder(root.resolve().parent):
        return [root.parent]
    if not root.is_dir():
        raise SceneError(f"{root}: no such folder")
    found = _below(root, depth)
    if not found:
        raise SceneError(f"{root}: not a scene folder, and none below it (expected <id>-<hash>/<hash>.glb)")
    return found


def _below(folder: Path, depth: int) -> list[Path]:
    parts = (".glb", ".semantic.txt")  # incomplete ones too: reading them says what is missing
    if is_scene_folder(folder) or any(path.name.endswith(parts) for path in folder.iterdir()):
        return [folder]
    if depth == 0:
        return []
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [scene for path in inner for scene in _below(path, depth - 1)]


def main(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    if not arguments or set(arguments) & {"-h", "--help", "help"}:
        print(__doc__)
        return 0 if arguments else 2
    roots, out, plans = [], Path("out/inspect"), True
    for argument in arguments:
        key, separator, value = argument.partition("=")
        if argument.startswith("-") or (separator and key not in ("scene", "out", "plans")):
            print(f"error: unknown argument {argument!r}; see --help", file=sys.stderr)
            return 2
        if not separator or key == "scene":
            roots.append(Path(value if separator else argument))
        elif key == "out":
            out = Path(value)
        elif value.lower() not in ("true", "false"):
            print(f"error: plans is true or false, not {value!r}", file=sys.stderr)
            return 2
        else:
            plans = value.lower() == "true"
    folders: list[Path] = []
    lost = failed = odd = 0
    for root in roots:
        try:
            folders += find_scenes(root)
        except SceneError as error:
            lost += 1
            print(f"error: {error}", file=sys.stderr)
    for number, folder in enumerate(folders, 1):
        start = time.perf_counter()
        print(f"[{number}/{len(folders)}] reading {folder}", file=sys.stderr, flush=True)
        try:
            found = inspect_scene(folder, out if plans else None)
        except (ValueError, OSError, MemoryError) as error:
            failed += 1
            print(f"error: {error}", file=sys.stderr)
            continue
        odd += bool(found.problems)
        print(found, f"\n  took       {time.perf_counter() - start:.1f} s", sep="", flush=True)
    if len(folders) + lost > 1:
        print(f"{len(folders) + lost} scenes: {failed + lost} cannot be read, {odd} others have problems")
    return 2 if failed + lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
