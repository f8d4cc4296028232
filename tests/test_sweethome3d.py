"""The Sweet Home 3D importer: geometry, doors, poses, names, errors, and the shared example homes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import shapely
from scipy import ndimage

from hm3dm3_env.scenes.layout import SceneObject
from hm3dm3_env.scenes.sweethome3d import HomeError, import_homes, read_floors
from hm3dm3_env.scenes.sweethome3d.__main__ import main
from hm3dm3_env.scenes.sweethome3d.build import Floor
from hm3dm3_env.scenes.sweethome3d.cutouts import corners_of
from hm3dm3_env.scenes.sweethome3d.furniture import category
from hm3dm3_env.scenes.sweethome3d.home_xml import Piece, Wall
from hm3dm3_env.scenes.sweethome3d.looks import color_word
from hm3dm3_env.scenes.sweethome3d.walls import wall_shapes

SHARED = Path(__file__).parents[2] / "shared/data/sweethome3d_homes"
needs_homes = pytest.mark.skipif(not SHARED.is_dir(), reason=f"example homes not found at {SHARED}")

# Two rooms of 4 x 3 m side by side (cm, y down): the left one is a bedroom, the right one has no name.
HOME = """<?xml version='1.0'?>
<home version='5500' name='Test.sh3d' wallHeight='250'>
  <property name='Author' value='A. Tester'/><property name='License' value='CC0'/>
  <wall id='n' wallAtStart='w' wallAtEnd='e' xStart='0' yStart='0' xEnd='800' yEnd='0' thickness='20'
        rightSideColor='FFFF0000'/>
  <wall id='e' wallAtStart='n' wallAtEnd='s' xStart='800' yStart='0' xEnd='800' yEnd='300' thickness='20'/>
  <wall id='s' wallAtStart='e' wallAtEnd='w' xStart='800' yStart='300' xEnd='0' yEnd='300' thickness='20'/>
  <wall id='w' wallAtStart='s' wallAtEnd='n' xStart='0' yStart='300' xEnd='0' yEnd='0' thickness='20'/>
  <wall id='m' xStart='400' yStart='0' xEnd='400' yEnd='300' thickness='10'/>
  <room name='Bedroom #1' floorColor='FF804020'><point x='10' y='10'/><point x='395' y='10'/>
    <point x='395' y='290'/><point x='10' y='290'/></room>
  <room><point x='405' y='10'/><point x='790' y='10'/><point x='790' y='290'/><point x='405' y='290'/></room>
  <doorOrWindow name='Door' model='none.obj' x='400' y='200' angle='1.5707964' width='90' depth='10'
                height='208'
                wallThickness='1.0'><sash xAxis='0' yAxis='0' width='1' startAngle='0'
                endAngle='1'/></doorOrWindow>
  <doorOrWindow name='Front door' model='none.obj' x='600' y='300' width='90' depth='20' height='208'/>
  <doorOrWindow name='Small window' model='none.obj' x='200' y='0' width='100' depth='20' height='100'
                elevation='90'/>
  <pieceOfFurniture name='Double bed 140x190' model='wedge.obj' x='110' y='150' width='200' depth='140'
                    height='50'
                    angle='1.5707964' color='FF0F1E55'/>
  <pieceOfFurniture name='Lost box #2' model='gone.obj' x='300' y='50' width='40' depth='20' height='30'
                    elevation='70'
                    angle='0.5235988'/>
  <pieceOfFurniture name='Hidden' visible='false' model='gone.obj' x='300' y='50' width='40' depth='20'
                    height='30'/>
  <furnitureGroup name='Kitchen' x='0' y='0' width='1' depth='1' height='1'>
    <pieceOfFurniture name='Cooker' model='wedge.obj' modelMirrored='true' x='700' y='40' width='60'
                    depth='60'
                      height='85'><material name='body' color='FFFFFFFF'/></pieceOfFurniture>
  </furnitureGroup>
  <pieceOfFurniture name='Tree' model='gone.obj' x='400' y='900' width='40' depth='20' height='300'/>
</home>
"""
# A wedge: high at the left back corner (x 0, z 0) only, so that a mirrored or turned model shows.
WEDGE = """mtllib wedge.mtl
v 0 0 0
v 4 0 0
v 4 0 2
v 0 0 2
v 0 1 0
usemtl body
f 1 2 3 4
f 1 5 2
f 2 5 3
f 3 5 4
f 4 5 1
"""


@pytest.fixture()
def loose(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "models").mkdir(parents=True)
    (folder / "Home.xml").write_text(HOME)
    (folder / "models" / "wedge.obj").write_text(WEDGE)
    (folder / "models" / "wedge.mtl").write_text("newmtl body\nKd 0.9 0.1 0.1\n")
    return folder / "Home.xml"


@pytest.fixture()
def floor(loose: Path) -> Floor:
    return read_floors(loose)[1][0]


def named(floor: Floor, name: str) -> list[SceneObject]:
    return [item for item in floor.model.objects if item.category == name]


def points(item: SceneObject) -> np.ndarray:
    return np.concatenate([part.vertices for part in item.parts])


def free_floor(floor: Floor, cell: float = 0.05) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of where a disc of radius 0.17 m and height 1.41 m can stand, with the cells' centres."""
    low = np.array(floor.plan.hull.bounds[:2])
    count = np.ceil((np.array(floor.plan.hull.bounds[2:]) - low) / cell).astype(int)
    taken = np.zeros(count, bool)
    for item in floor.model.objects:
        if item.category in ("floor", "ceiling"):
            continue
        for part in item.parts:
            for a, b, c in part.vertices[part.faces]:
                if max(a[2], b[2], c[2]) < 0.15 or min(a[2], b[2], c[2]) > 1.41:
                    continue
                steps = (
                    int(max(np.linalg.norm(b - a), np.linalg.norm(c - a), np.linalg.norm(c - b)) / cell * 1.6)
                    + 1
                )
                u, v = np.meshgrid(np.arange(steps + 1) / steps, np.arange(steps + 1) / steps)
                keep = u + v <= 1 + 1e-9
                spots = a + u[keep][:, None] * (b - a) + v[keep][:, None] * (c - a)
                spots = spots[(spots[:, 2] > 0.15) & (spots[:, 2] < 1.41)]
                index = ((spots[:, :2] - low) / cell).astype(int)
                index = index[((index >= 0) & (index < count)).all(1)]
                taken[index[:, 0], index[:, 1]] = True
    x, y = (low[k] + (np.arange(count[k]) + 0.5) * cell for k in (0, 1))
    grid = np.meshgrid(x, y, indexing="ij")
    free = shapely.contains_xy(floor.plan.floor, *grid) & ~taken
    labels, _ = ndimage.label(ndimage.distance_transform_edt(free) * cell >= 0.17, np.ones((3, 3)))
    return labels, *grid


def test_layout_is_not_mirrored_and_rooms_are_named(floor: Floor) -> None:
    assert floor.model.regions[floor.plan.region_at(1.0, -1.5)] == "bedroom 1"
    assert floor.model.regions[floor.plan.region_at(6.0, -1.5)] == "kitchen"  # named after its cooker
    bed, cooker = named(floor, "double bed")[0], named(floor, "cooker")[0]
    assert points(bed)[:, 0].max() < points(cooker)[:, 0].min()
    assert points(cooker)[:, 1].mean() > points(bed)[:, 1].mean()  # smaller y of the file is larger y here
    assert (floor.model.regions[bed.region], floor.model.regions[cooker.region]) == ("bedroom 1", "kitchen")
    assert floor.model.source["author"] == "A. Tester" and floor.model.source["license"] == "CC0"
    # The wall along the north runs to the right, so its right side (red) faces the rooms, to the south.
    red = [
        part
        for item in named(floor, "wall")
        for part in item.parts
        if floor.model.surfaces[part.surface].color == (1.0, 0.0, 0.0)
    ]
    assert red and all(abs(part.vertices[:, 1].min() + 0.1) < 0.01 for part in red)


def test_pieces_keep_pose_and_size(floor: Floor) -> None:
    bed = points(named(floor, "double bed")[0])
    # 200 x 140 turned by 90 degrees clockwise about (1.10, -1.50).
    assert np.allclose([bed.min(0), bed.max(0)], [[0.4, -2.5, 0], [1.8, -0.5, 0.5]], atol=0.01)
    # Model left-back goes right-back to ... clockwise by 90 degrees: left is up, back is right.
    assert np.allclose(bed[bed[:, 2].argmax()], [1.8, -0.5, 0.5], atol=0.01)
    cooker = points(named(floor, "cooker")[0])
    assert np.allclose([cooker.min(0), cooker.max(0)], [[6.7, -0.7, 0], [7.3, -0.1, 0.85]], atol=0.01)
    assert np.allclose(cooker[cooker[:, 2].argmax()], [7.3, -0.1, 0.85], atol=0.01)  # mirrored: right-back
    lost = points(named(floor, "lost box")[0])
    turn = np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6)], [-np.sin(np.pi / 6), np.cos(np.pi / 6)]])
    corner = turn @ [0.2, 0.1] + [3.0, -0.5]
    assert np.abs(lost[:, :2] - corner).sum(1).min() < 0.01
    assert np.allclose([lost[:, 2].min(), lost[:, 2].max()], [0.7, 1.0], atol=0.01)


def test_walls_have_holes_and_doors_are_passable(floor: Floor) -> None:
    walls = np.concatenate([points(item) for item in named(floor, "wall")])
    assert np.allclose([walls.min(0), walls.max(0)], [[-0.1, -3.1, 0], [8.1, 0.1, 2.5]], atol=0.01)
    assert len(named(floor, "door frame")) == 1 and len(named(floor, "door")) == 1
    assert len(named(floor, "window")) == 1
    labels, x, y = free_floor(floor)
    left, right = (
        labels[
            np.hypot(x - at, y + 2.7).argmin() // x.shape[1], np.hypot(x - at, y + 2.7).argmin() % x.shape[1]
        ]
        for at in (3.0, 6.0)
    )
    assert left == right > 0
    assert (labels > 0).sum() * 0.0025 > 8.0
    assert not ((labels > 0) & ((y < -2.9) | (y > -0.1))).any()  # nobody gets out of the house
    assert any("leaf left out" in problem for problem in floor.problems)
    ceiling, ground = named(floor, "ceiling"), named(floor, "floor")
    assert len(ceiling) == len(ground) == 2 and points(ceiling[0])[:, 2].min() == pytest.approx(2.5)


def test_colours_and_problems(floor: Floor) -> None:
    assert named(floor, "double bed")[0].colour == "dark blue"
    assert named(floor, "cooker")[0].colour == "white"
    assert named(floor, "floor")[floor.plan.region_at(1.0, -1.5)].colour == "brown"
    text = "\n".join(floor.problems)
    assert "gone.obj" in text and "tree" in text and "Hidden" in text
    assert not named(floor, "tree") and not named(floor, "hidden")
    assert (color_word((0.95, 0.95, 0.95)), color_word((0.02, 0.02, 0.02))) == ("white", "black")


@pytest.mark.parametrize(
    "name, expected",
    [
        ("Bed 140x190", "bed"),
        ("Double bed #2", "double bed"),
        ("Coffee table", "coffee table"),
        ("Chair 3", "chair"),
        ("Canapé", "canapé"),
        ("Staircase", "stairs"),
        ("Table 120 cm", "table"),
        ("TV unit", "tv unit"),
        ("42", "object"),
    ],
)
def test_categories(name: str, expected: str) -> None:
    assert category(Piece("pieceOfFurniture", "", name, "", "", (0, 0), 0, (1, 1, 1))) == expected


def test_round_wall_bulges_to_the_right_side() -> None:
    wall = Wall("a", "", (0.0, 0.0), (2.0, 0.0), 0.1, 2.5, 2.5, arc=-np.pi)  # clockwise: over the top
    shape = wall_shapes([wall])[0]
    assert shape.center[:, 1].max() == pytest.approx(1.0, abs=0.01)
    assert shape.left[:, 1].max() == pytest.approx(1.05, abs=0.01)


def test_round_cut_outs_keep_their_corners() -> None:
    circle = corners_of("M0,0.5 a0.5,0.5 0 1,0 1,0 a0.5,0.5 0 1,0 -1,0 z")
    assert len(circle) == 4 and sum(item.area for item in circle) == pytest.approx(1 - np.pi / 4, abs=0.01)
    arch = corners_of("M0,1 v-0.8 a0.5,0.2 0 1,1 1,0 v0.8 z")
    assert len(arch) == 2 and min(item.bounds[1] for item in arch) == pytest.approx(0.8, abs=0.01)
    assert corners_of("M0,0 v1 h1 v-1 z") == [] and corners_of("a what") == []


def test_archive_equals_loose_file_and_bytes_repeat(loose: Path, tmp_path: Path) -> None:
    archive = tmp_path / "Source.sh3d"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("Home.xml", HOME)
        stream.writestr("wedge.obj", WEDGE)
        stream.writestr("wedge.mtl", "newmtl body\nKd 0.9 0.1 0.1\n")
    one = import_homes(loose, tmp_path / "one", plans=True)[0]
    two = import_homes(archive, tmp_path / "two")[0]
    three = import_homes(loose.parent, tmp_path / "three")[0]
    assert one.folder.name == three.folder.name and one.folder.name.startswith("source-l0-")
    assert [path.name for path in (tmp_path / "one/plans").iterdir()] == [f"{one.folder.name}.png"]
    folders = [item.folder for item in (one, two, three)]
    glbs = [(folder / f"{folder.name.split('-')[-1]}.glb").read_bytes() for folder in folders]
    assert glbs[0] == glbs[1] == glbs[2]
    assert "gone.obj" in (next(one.folder.glob("*.attributes.json")).read_text())


@pytest.mark.parametrize(
    "content, message",
    [
        ("<home", "broken XML"),
        ("<house/>", "root element"),
        ("<home/>", "without walls and rooms"),
        (HOME.replace("thickness='10'", "thickness='thin'"), "thickness='thin' is not a number"),
        (HOME.replace("x='110'", ""), "'x' is missing"),
        (HOME.replace("FF804020", "brown"), "floorColor='brown'"),
        ("<home><wall xStart='0' yStart='0' xEnd='9' yEnd='0'/></home>", "no visible level encloses"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "Home.xml"
    path.write_text(content)
    with pytest.raises(HomeError, match=message) as error:
        read_floors(path)
    assert str(path) in str(error.value)


def test_broken_archives_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.sh3d"
    path.write_bytes(b"not a zip")
    with pytest.raises(HomeError, match="not a readable zip"):
        read_floors(path)
    for entry, message in (("Home", "5.3 or later"), ("other", "no entry 'Home.xml'")):
        with zipfile.ZipFile(path, "w") as stream:
            stream.writestr(entry, "x")
        with pytest.raises(HomeError, match=message):
            read_floors(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(HomeError, match="no .sh3d file"):
        import_homes(tmp_path / "empty", tmp_path / "out")
    assert main([str(tmp_path / "none"), f"out={tmp_path / 'out'}"]) == 1 and main([]) == 2
    assert "no such file" in capsys.readouterr().err


def test_command_line(loose: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(loose), f"out={tmp_path / 'out'}"]) == 0
    assert "leaf left out" in capsys.readouterr().out


@needs_homes
def test_example_homes_import() -> None:
    rooms = {}
    for file in sorted((SHARED / "examples").glob("*.xml")):
        home, floors = read_floors(file)
        for floor in floors:
            rooms[f"{home.name} {floor.level.name}".strip()] = len(floor.plan.regions)
            assert not any("not found" in problem for problem in floor.problems)
            assert len(named(floor, "floor")) == len(floor.plan.regions)
    assert len(rooms) == 11
    assert rooms["1BedroomApartmentWithRoundWall"] == 3 and rooms["3BedroomApartment"] == 8


@needs_homes
def test_example_home_is_walkable_and_repeats(tmp_path: Path) -> None:
    file = SHARED / "examples/Studio.xml"
    floor = read_floors(file)[1][0]
    labels, x, y = free_floor(floor)
    largest = np.bincount(labels[labels > 0]).argmax()
    for region in floor.plan.regions:
        assert (shapely.contains_xy(region.own, x, y) & (labels == largest)).any(), region.name
    one, two = import_homes(file, tmp_path / "a")[0], import_homes(file, tmp_path / "b")[0]
    assert one.folder.name == two.folder.name
    for path in sorted(one.folder.iterdir()):
        assert path.read_bytes() == (two.folder / path.name).read_bytes()
