"""Import homes made with Sweet Home 3D (`.sh3d`, or a loose `Home.xml`) as scenes in HM3DSem's layout.

Models of others may be open, or partly turned inside out. What is closed is turned outward, and what is open
gets its other side as well, seen or not (`hm3dm3_env.scenes.winding`): 5 to 15% more triangles, and the same
pictures in simulators that cull back faces.

python -m hm3dm3_env.scenes.sweethome3d <file or folder> out=<folder> [models=<folder>] [plans=true]
    [hidden=true]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from hm3dm3_env.scenes.layout import write_scene
from hm3dm3_env.scenes.sweethome3d.build import Floor, build_floors, scene_id
from hm3dm3_env.scenes.sweethome3d.bundle import find_homes, open_bundle
from hm3dm3_env.scenes.sweethome3d.home_xml import Home, HomeError, parse_home

__all__ = ["HomeError", "ImportedFloor", "import_homes", "read_floors"]


@dataclass
class ImportedFloor:
    """One imported floor: the scene's folder, its home and level, and what could not be represented."""

    folder: Path
    home: str
    level: str
    problems: list[str]


def read_floors(file: Path, models: Path | None = None, hidden: bool = False) -> tuple[Home, list[Floor]]:
    """Read one home file and build its floors, without writing anything."""
    bundle = open_bundle(Path(file), models)
    home = parse_home(bundle.xml, str(file), bundle.name)
    return home, build_floors(home, bundle, hidden)[0]


def import_homes(
    source: Path,
    out: Path,
    models: Path | None = None,
    plans: bool = False,
    progress: bool = False,
    hidden: bool = False,
) -> list[ImportedFloor]:
    """Import a home, or every home of a folder, into `<out>/homes/`; with `plans`, draw `<out>/plans/` too.

    `hidden` imports the levels that are marked as not visible as well.

    Raises:
        HomeError: a file that cannot be imported; the message names file, field and fix.
    """
    out, result = Path(out), []
    if models is not None and not Path(models).is_dir():
        raise HomeError(f"{models}: models= is not a folder; name the folder that holds the .obj files")
    for file in tqdm(find_homes(Path(source)), desc="homes", disable=not progress):
        home, floors = read_floors(file, models, hidden)
        for floor in floors:
            folder = write_scene(floor.model, out / "homes", scene_id(home, floor))
            if plans:
                from hm3dm3_env.scenes.sweethome3d.plan import draw_plan

                draw_plan(floor, out / "plans" / f"{folder.name}.png")
            result.append(ImportedFloor(folder, home.name, floor.level.name, floor.problems))
    return result
