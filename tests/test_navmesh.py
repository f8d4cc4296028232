"""Reading .navmesh files: written here byte by byte, broken ones, and habitat-sim's own where it is."""

from __future__ import annotations

import importlib.util
import os
import struct
import subprocess
import sys
from math import hypot, pi
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim.base import Body
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.navigation.navgrid import GridNavigator
from hm3dm3_env.sim.navigation.navmesh import read_navmesh
from hm3dm3_env.sim.parity import HABITAT_PYTHON
from tests.rooms import write_two_rooms

EAST = -pi / 2
Polygon = tuple[list[tuple[float, float, float]], list[int]]
"""Corners, and the polygon beyond the side from each corner to the next (-1: none)."""
ROOMS: list[Polygon] = [
    ([(0, 0.05, 0), (4, 0.05, 0), (4, 0.05, 1), (4, 0.05, 2), (4, 0.05, 4), (0, 0.05, 4)],
     [-1, -1, 1, -1, -1, -1]),
    ([(4, 0.05, 1), (4.1, 0.05, 1), (4.1, 0.05, 2), (4, 0.05, 2)], [-1, 2, -1, 0]),
    ([(4.1, 0.05, 0), (8, 0.05, 0), (8, 0.05, 4), (4.1, 0.05, 4), (4.1, 0.05, 2), (4.1, 0.05, 1)],
     [-1, -1, -1, -1, 1, -1]),
    ([(0, 3, 0), (4, 3, 0), (4, 3.1, 3), (0, 3.1, 3)], [-1] * 4),
]  # fmt: skip
"""Two rooms with an opening from z 1 to 2, and a slanted room above."""


def navmesh(
    polygons: list[Polygon],
    version: int = 2,
    wide: bool = False,
    settings: int = 56,
    flags: list[int] | None = None,
) -> bytes:
    """A file as habitat-sim writes it: each polygon has its own vertices, and a detail mesh of a fan of
    triangles around a vertex in its middle."""
    corners = [corner for places, _ in polygons for corner in places]
    body, details, extra, fans, first = b"", b"", b"", b"", 0
    for index, (places, neighbours) in enumerate(polygons):
        size = len(places)
        numbers = [*range(first, first + size), *[0] * (6 - size)]
        beyond = [*(n + 1 for n in neighbours), *[0] * (6 - size)]
        flag = 1 if flags is None else flags[index]
        body += struct.pack("<I6H6HHBB", 0, *numbers, *beyond, flag, size, 1)
        details += struct.pack("<IIBBxx", len(extra) // 12, len(fans) // 4, 1, size)
        extra += struct.pack("<3f", *np.mean(places, 0))
        fans += b"".join(struct.pack("<4B", size, k, (k + 1) % size, 0) for k in range(size))
        first += size
    links, nodes = 3, 2
    low, high = np.min(corners or [(0, 0, 0)], 0), np.max(corners or [(0, 0, 0)], 0)
    tile = b"VAND" + struct.pack(
        "<4iI9i10f", 7, 0, 0, 0, 0, len(polygons), len(corners), links, len(polygons), len(extra) // 12,
        len(fans) // 4, nodes, 0, len(polygons), 1.41, 0.17, 0.1, *low, *high, 20.0,
    )  # fmt: skip
    tile += b"".join(struct.pack("<3f", *corner) for corner in corners) + body
    tile += bytes((16 if wide else 12) * links) + details + extra + fans + bytes(16 * nodes)
    head = b"TESM" + struct.pack("<2i5f2i", version, 1, 0, 0, 0, 10, 10, 1, 256)
    if version >= 2:
        values = struct.pack("<14f", 0.05, 0.05, 1.41, 0.17, 0.1, 45.0, *[0.0] * 8)
        head += (values + bytes(512))[:settings]
    return head + (struct.pack("<Qi4x", 1, len(tile)) if wide else struct.pack("<Ii", 1, len(tile))) + tile


@pytest.fixture
def write(tmp_path: Path):  # noqa: ANN201
    def make(data: bytes) -> Path:
        path = tmp_path / "abc.basis.navmesh"
        path.write_bytes(data)
        return path

    return make


# -- what is read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("version", "settings"), [(1, 0), (2, 56), (2, 24), (2, 60), (2, 128)])
def test_all_layouts(write, wide: bool, version: int, settings: int) -> None:  # noqa: ANN001
    mesh = read_navmesh(write(navmesh(ROOMS, version, wide, settings)))
    assert [len(polygon) for polygon in mesh.polygons] == [6, 4, 6, 4]
    np.testing.assert_allclose(mesh.polygons[1], ROOMS[1][0], atol=1e-6)
    assert [n.tolist() for n in mesh.neighbours] == [n for _, n in ROOMS]
    assert mesh.islands.tolist() == [1, 1, 1, 2]
    assert np.bincount(mesh.polygon_of).tolist() == [6, 4, 6, 4]
    area = (
        np.linalg.norm(np.cross(*np.moveaxis(mesh.triangles[:, 1:] - mesh.triangles[:, :1], 1, 0)), axis=1)
        / 2
    )
    assert area[mesh.polygon_of < 3].sum() == pytest.approx(16 + 0.1 + 15.6, abs=1e-4)
    assert (mesh.radius, mesh.height, mesh.climb) == pytest.approx((0.17, 1.41, 0.1))
    assert mesh.settings.get("cell_size", 0.05) == pytest.approx(0.05)
    assert bool(mesh.settings) == (version == 2)


def test_polygons_that_are_switched_off_or_have_no_area(write) -> None:  # noqa: ANN001
    thin: Polygon = ([(4, 0.05, 1), (4, 0.05, 1.5), (4, 0.05, 2)], [0, 2, 0])
    off = read_navmesh(write(navmesh(ROOMS, flags=[1, 0x10, 1, 1])))
    assert len(off.polygons) == 3 and off.islands.tolist() == [1, 2, 3] and (off.neighbours[0] == -1).all()
    flat = read_navmesh(write(navmesh([ROOMS[0], thin, ROOMS[2]])))
    assert len(flat.polygons) == 2 and flat.islands.tolist() == [1, 2]


# -- broken files -------------------------------------------------------------------------------------------

GOOD = navmesh(ROOMS)
TILE = GOOD.index(b"VAND")


def patched(at: int, part: bytes) -> bytes:
    return GOOD[:at] + part + GOOD[at + len(part) :]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a navmesh of habitat-sim"),
        (b"glTF" + GOOD[4:], r"begins with b'glTF'"),
        (b"MSET" + GOOD[4:], "big-endian.*recompute_navmesh.*sim.navmesh=computed"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (patched(4, struct.pack("<i", 3)), "version 3 are unknown"),
        (patched(8, struct.pack("<i", 4)), "has 4 tiles"),
        (patched(8, struct.pack("<i", 0)), "has 0 tiles"),
        (patched(TILE, b"XXXX") + bytes(512), "no tile after"),
        (patched(TILE + 4, struct.pack("<i", 6)), "tile of version 6, not 7"),
        (patched(TILE + 24, struct.pack("<i", -1)), "damaged"),
        (patched(TILE + 28, struct.pack("<i", 999)), "not as long as its counts"),
        (patched(TILE - 4, struct.pack("<i", 17)), "not as long as its counts"),
        (patched(TILE + 100 + 20 * 12 + 4, struct.pack("<H", 999)), "corner that is not there"),
        (patched(TILE + 100, struct.pack("<f", np.nan)), "no numbers"),
        (navmesh(ROOMS, settings=55), "not as long as its counts"),
        (GOOD[:-1], "cut short .* copy or download it again"),
        (GOOD[:30], "cut short"),
    ],
)
def test_broken_files(write, data: bytes, message: str) -> None:  # noqa: ANN001
    with pytest.raises(ValueError, match=rf"abc\.basis\.navmesh: .*{message}"):
        read_navmesh(write(data))


def test_any_truncation_is_a_clear_error(write) -> None:  # noqa: ANN001
    for wide in (False, True):
        data = navmesh(ROOMS, wide=wide)
        for size in range(0, len(data), 7):
            with pytest.raises(ValueError, match=r"abc\.basis\.navmesh: (cut short|not a navmesh)"):
                read_navmesh(write(data[:size]))


def test_any_damage_is_an_error_or_a_navmesh(write) -> None:  # noqa: ANN001
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(GOOD)
        for at in rng.integers(0, len(data), 3):
            data[at] = rng.integers(256)
        try:
            mesh = read_navmesh(write(bytes(data)))
        except ValueError:
            continue
        assert np.isfinite(mesh.triangles).all() and len(mesh.islands) == len(mesh.polygons)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_navmesh(tmp_path / "none.navmesh")


# -- the navigator on it ------------------------------------------------------------------------------------


@pytest.fixture
def navigator(write) -> GridNavigator:  # noqa: ANN001
    return GridNavigator.from_navmesh(write(GOOD), Body())


def test_floors_and_islands(navigator: GridNavigator) -> None:
    assert navigator.floors == pytest.approx([0.05, 3.05], abs=0.01)
    left, right, above = np.array([1, 0, 1.0]), np.array([7, 0.1, 3.5]), np.array([1, 3.0, 1.0])
    assert navigator.island(left) == navigator.island(right) > 0
    assert (navigator.floor_of(left), navigator.floor_of(above)) == (0, 1)
    assert navigator.island_area(left) == pytest.approx(31.7, rel=0.01)
    assert navigator.is_navigable(np.array([0.01, 0, 0.01])) and not navigator.is_navigable(
        np.array([4.05, 0, 3])
    )
    high = navigator.snap(np.array([1.0, 3.0, 2.9]))
    assert high is not None and high[1] == pytest.approx(3.097, abs=0.003)  # the slant
    rng = np.random.default_rng(0)
    points = np.array([navigator.random_point(rng, 0) for _ in range(200)])
    assert all(navigator.is_navigable(point) for point in points) and 0.35 < (points[:, 0] < 4).mean() < 0.65


def test_distances_and_moves(navigator: GridNavigator) -> None:
    a, b = np.array([[1.0, 0.05, 3.5]]), np.array([[7.0, 0.05, 3.5]])
    assert navigator.distance(a, b)[0] == pytest.approx(hypot(3, 1.5) + 0.1 + hypot(2.9, 1.5), abs=2e-3)
    np.testing.assert_allclose(navigator.path(a[0], b)[1:3], [[4, 0.05, 2], [4.1, 0.05, 2]], atol=1e-3)
    assert np.isinf(navigator.distance(a, np.array([[1.0, 3.05, 1.0]])))[0]
    pose = Pose(3.85, 0.05, 3.0, EAST)  # 0.15 before the end: the radius is off already
    assert navigator.step(pose, "move_forward").x == pytest.approx(4.0, abs=2e-4)
    assert navigator.step(Pose(3.95, 0.05, 1.5, EAST), "move_forward").x == pytest.approx(4.2)


def test_parts_joined_by_less_than_a_cell(write) -> None:  # noqa: ANN001
    door = [[tuple(np.array(c) * (1, 1, 1)) for c in places] for places, _ in ROOMS]
    narrow = [
        ([(x, y, 1.0 + (z - 1) * 0.02 if z in (1, 2) and 4 <= x <= 4.1 else z) for x, y, z in places], sides)
        for places, (_, sides) in zip(door, ROOMS)
    ]
    navigator = GridNavigator.from_navmesh(write(navmesh(narrow)), Body())
    a, b = np.array([1.0, 0.05, 1.0]), np.array([7.0, 0.05, 1.0])
    assert navigator.island(a) == navigator.island(b)
    assert navigator.distance(a[None], b[None])[0] == pytest.approx(6.0, abs=0.02)


def test_roofs_are_no_floors_where_the_scene_tells(write) -> None:  # noqa: ANN001
    roof = [ROOMS[0], ROOMS[1], ROOMS[2], ([(0, 3, 0), (8, 3, 0), (8, 3, 4), (0, 3, 4)], [-1] * 4)]
    ceiling = np.array(
        [[[0, 2.8, 0], [8, 2.8, 0], [8, 2.8, 4]], [[0, 2.8, 0], [8, 2.8, 4], [0, 2.8, 4]]], np.float32
    )
    path = write(navmesh(roof))  # type: ignore[arg-type]
    assert len(GridNavigator.from_navmesh(path, Body()).floors) == 2
    assert GridNavigator.from_navmesh(path, Body(), ceiling).floors == pytest.approx([0.05])


def test_an_empty_navmesh(write) -> None:  # noqa: ANN001
    navigator = GridNavigator.from_navmesh(write(navmesh([])), Body())
    assert navigator.floors == [] and not navigator.is_navigable(np.zeros(3))
    with pytest.raises(ValueError, match=r"abc\.basis\.navmesh: no place on floor 0"):
        navigator.random_point(np.random.default_rng(0), 0)


# -- habitat-sim's own --------------------------------------------------------------------------------------

PYTHON = os.environ.get(HABITAT_PYTHON, "") or (
    sys.executable if importlib.util.find_spec("habitat_sim") else ""
)
SAVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from hm3dm3_env.sim.habitat import HabitatSimulator
simulator = HabitatSimulator()
simulator.load(Path(sys.argv[2]))
simulator._sim.pathfinder.save_nav_mesh(sys.argv[3])
"""


@pytest.mark.skipif(
    not PYTHON, reason=f"no habitat-sim here, and {HABITAT_PYTHON} names no interpreter with it"
)
def test_habitats_own_file(tmp_path: Path) -> None:
    folder, path = write_two_rooms(tmp_path), tmp_path / "own.navmesh"
    command = [PYTHON, "-c", SAVE, str(Path(__file__).parents[1]), str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    simulator = EmbeddedSimulator(Body(narrow_passages="none"))
    simulator.load(folder)
    ours = simulator.navigator
    theirs = GridNavigator.from_navmesh(path, Body(), simulator.scene.triangles)
    assert len(theirs.floors) == 1
    rng = np.random.default_rng(0)
    points = np.array([ours.random_point(rng, 0) for _ in range(40)])
    assert all(theirs.is_navigable(point) for point in points)
    for target in points[:10]:
        np.testing.assert_allclose(
            theirs.distance(points, target[None]), ours.distance(points, target[None]), atol=1e-3
        )
