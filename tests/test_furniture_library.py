"""Furniture libraries (.sh3f) in procedural houses: reading, names, pieces, determinism, errors."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hm3dm3_env.episodes.generate import GenerateConfig, generate
from hm3dm3_env.scenes.layout import write_scene
from hm3dm3_env.scenes.procedural import build_split, generate_house, split_seed
from hm3dm3_env.scenes.procedural.__main__ import main
from hm3dm3_env.scenes.procedural.asset_names import NAMES, categories_of, choose
from hm3dm3_env.scenes.procedural.asset_tops import largest_rectangle
from hm3dm3_env.scenes.procedural.assets import Assets, AssetsConfig, open_assets
from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.kinds import MODEL, Piece, build_piece, make_style
from hm3dm3_env.scenes.sweethome3d.java_properties import parse_properties
from hm3dm3_env.scenes.sweethome3d.library import LibraryError, open_libraries

SHARED = Path(__file__).parents[2] / "shared/data/cc0_furniture"
needs_furniture = pytest.mark.skipif(not SHARED.is_dir(), reason=f"example library not found at {SHARED}")

# A unit box; its front (+z in the file) has a material of its own, and y is up.
BOX = """mtllib box.mtl
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl oak_wood
f 1/1 4/4 3/3 2/2\nf 4/1 8/2 7/3 3/4\nf 1/1 2/2 6/3 5/4\nf 1/1 5/2 8/3 4/4\nf 2/1 3/2 7/3 6/4
usemtl front
f 5/1 6/2 7/3 8/4
f 5/1 5/1 5/1
"""
MTL = "newmtl oak_wood\nKd 1 1 1\nmap_Kd wood.png\nnewmtl front\nKd 0.05 0.1 0.8\n"


def _picture(colour: tuple[int, int, int] = (200, 40, 30)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (1200, 40), colour).save(buffer, "PNG")
    return buffer.getvalue()


def _properties(*entries: dict[str, str]) -> str:
    lines = ["# a comment", "id=test#library", "name=Test"]
    for number, entry in enumerate(entries, 1):
        row = {"category": "Any", "model": "/m/box.obj", "icon": "/m/box.png", "movable": "true"}
        lines += [f"{key}#{number}={value}" for key, value in {**row, **entry}.items()]
    return "\n".join(lines) + "\n"


def _piece(
    name: str, width: str = "160", depth: str = "90", height: str = "75", **more: str
) -> dict[str, str]:
    return {"name": name, "width": width, "depth": depth, "height": height, **more}


TABLE = _piece("Modern dining table")
FRIDGE = _piece("Fridge", "70", "68", "180")
LAMP = _piece("Floor lamp", "40", "40", "160", dropOnTopElevation="-1")


def _library(path: Path, *entries: dict[str, str], **files: bytes) -> Path:
    contents = {
        "PluginFurnitureCatalog.properties": _properties(*entries).encode("latin-1"),
        "m/box.obj": BOX.encode(),
        "m/box.mtl": MTL.encode(),
        "m/wood.png": _picture(),
        **{name.replace("__", "/").replace("_dot_", "."): data for name, data in files.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def _model(assets: Assets, category: str) -> Piece:
    """The first model of a category, through the door that houses use."""
    rng = np.random.default_rng(0)
    found = assets.piece(CATALOGUE[category], None, rng)
    assert found is not None
    return found


def _open(path: Path, share: float = 1.0, triangles: int = 10_000) -> Assets:
    return open_assets(AssetsConfig(str(path), share, triangles))


def test_properties_follow_the_rules_of_java() -> None:
    text = (
        "# comment\n! another\n\n"
        "name#1=Caf\\u00e9 table\nlong = one \\\n      two\ncolon:value\nblank value\n"
        "key\\ with\\ blanks=x\\ty\nempty=\nlatin=\xe9\ntwice=1\ntwice=2\npath=C\\:\\\\x\nend=a\\\\\nnext=b"
    )
    assert parse_properties(text.encode("latin-1")) == {
        "name#1": "Caf\xe9 table",
        "long": "one two",
        "colon": "value",
        "blank": "value",
        "key with blanks": "x\ty",
        "empty": "",
        "latin": "\xe9",
        "twice": "2",
        "path": "C:\\x",
        "end": "a\\",
        "next": "b",
    }
    with pytest.raises(ValueError, match="u00g"):
        parse_properties(b"name=\\u00g1")


def test_names_stand_for_categories_of_the_catalogue() -> None:
    for name, row in NAMES.items():
        assert name == name.lower()
        assert {word for word in row.split("/") if word} <= set(CATALOGUE), name
    assert categories_of("Oak bedside table") == ["nightstand"]
    assert categories_of("Chair with cushion") == ["dining chair", "chair"]
    assert categories_of("Wheelchair") == categories_of("Street lamp") == categories_of("Steak") == []
    assert choose("Table", (1.6, 0.9, 0.75), 0)[0] == ["dining table"]
    assert choose("Table", (1.1, 0.6, 0.42), 0)[0] == ["coffee table"]
    assert choose("Christmas tree", (0.25, 0.26, 0.38), 0)[0] == []  # for a shelf, not for the floor
    assert choose("Washbasin", (0.7, 0.4, 0.8), 0.4)[0] == []  # hangs on the wall
    assert "size" in choose("Armchair", (4.0, 0.9, 1.0), 0)[1]


def test_a_model_has_its_size_its_looks_and_its_front_to_the_front(tmp_path: Path) -> None:
    assets = _open(
        _library(
            tmp_path / "a.sh3f", TABLE, FRIDGE, LAMP, _piece("Steak"), _piece("Door", doorOrWindow="true")
        )
    )
    table = _model(assets, "dining table")
    assert table.size == pytest.approx((1.6, 0.9, 0.75))
    assert (table.colour, table.material) == ("red", "oak")
    keys = sorted(table.shape.chunks)
    assert len(keys) == 2 and all(assets.surface(key) is not None for key in keys)
    texture = assets.surface(keys[0]).texture  # type: ignore[union-attr]
    assert texture is not None and max(texture.shape[:2]) == 512  # larger ones are made smaller
    front = np.concatenate([v for v, _, _ in table.shape.chunks[keys[1]]])
    assert front[:, 1] == pytest.approx(0.45)  # the face that looks to +y; the degenerate triangle is gone
    assert len(front) == 6
    corners = table.shape.chunks[keys[1]][0][0].reshape(-1, 3, 3)
    normal = np.cross(corners[0, 1] - corners[0, 0], corners[0, 2] - corners[0, 0])
    assert normal[1] > 0  # not mirrored
    ((x0, y0, x1, y1, z, _),) = table.shape.tops
    assert z == pytest.approx(0.75) and x1 - x0 > 1.4 and y1 - y0 > 0.7
    assert not _model(assets, "floor lamp").shape.tops
    reasons = {(number, reason) for _, number, _, reason in assets.skipped}
    assert reasons == {(4, "name not in the table"), (5, "part of a building")}
    assert "3 models serve 3 categories" in assets.report()[0]
    assert assets.report()[-1] == "assets: names not in the table: Steak"


def test_model_rotation_comes_before_the_size(tmp_path: Path) -> None:
    turned = {**FRIDGE, "modelRotation": "0 0 1 0 1 0 -1 0 0"}  # a quarter about the vertical axis
    piece = _model(_open(_library(tmp_path / "a.sh3f", turned)), "refrigerator")
    assert piece.size == pytest.approx((0.7, 0.68, 1.8))
    plain = next(key for key in piece.shape.chunks if key.startswith("assetcolour"))
    side = np.concatenate([v for v, _, _ in piece.shape.chunks[plain]])
    assert np.ptp(side[:, 0]) == pytest.approx(0, abs=1e-6) and np.ptp(side[:, 1]) > 0.6


def test_a_model_that_lies_across_its_category_is_turned(tmp_path: Path) -> None:
    piece = _model(_open(_library(tmp_path / "a.sh3f", _piece("Bike", "46", "150", "90"))), "bicycle")
    assert piece.size == pytest.approx((1.5, 0.46, 0.9))  # along the wall, as the catalogue's own


def test_share_and_repeated_models(tmp_path: Path) -> None:
    path = _library(tmp_path / "a.sh3f", TABLE, FRIDGE)
    rng = np.random.default_rng(1)
    item = CATALOGUE["refrigerator"]
    half = _open(path, 0.5)
    drawn = [half.piece(item, None, rng) is not None for _ in range(400)]
    assert 150 < sum(drawn) < 250
    assert not any(_open(path, 0.0).piece(item, None, rng) for _ in range(20))
    assert half.piece(CATALOGUE["bicycle"], None, rng) is None
    first = _model(_open(path), "refrigerator")
    assert _open(path).piece(item, (MODEL, first.model), rng) is first
    style = make_style(rng)
    same = build_piece(item, replace(style, assets=_open(path)), rng, (MODEL, first.model), first.size)
    assert same is first  # as the second of two nightstands
    assert not build_piece(item, style, rng).model  # houses without a library have no models


def test_tops_avoid_what_stands_above_them(tmp_path: Path) -> None:
    mask = np.zeros((9, 7), bool)
    mask[1:8, 2:5] = True
    mask[0, 0] = True
    assert largest_rectangle(mask) == (1, 2, 8, 5)
    assert largest_rectangle(np.zeros((3, 3), bool)) == (0, 0, 0, 0)
    # a low board with a wall along its back half: things stand on the free part
    wall = (
        "".join(f"v {x} {y} {z}\n" for y in (0, 1) for x, z in ((0, 0), (1, 0), (1, 0.4), (0, 0.4)))
        + "f -8 -7 -6 -5\nf -4 -3 -2 -1\nf -8 -7 -3 -4\nf -7 -6 -2 -3\nf -6 -5 -1 -2\nf -5 -8 -4 -1\n"
    )
    board = "".join(f"v {x} 0.5 {z}\n" for x, z in ((0, 0), (1, 0), (1, 1), (0, 1))) + "f -4 -3 -2 -1\n"
    path = _library(
        tmp_path / "a.sh3f",
        _piece("Desk", "140", "70", "75", model="/d.obj", dropOnTopElevation="37.5"),
        d_dot_obj=(wall + board).encode(),
    )
    desk = _model(_open(path), "desk")
    ((x0, y0, x1, y1, z, _),) = desk.shape.tops
    assert z == pytest.approx(0.375) and y0 > -0.07 - 0.03 and y1 > 0.3 and x1 - x0 > 1.25


def test_houses_with_a_library_are_repeatable_and_say_so(tmp_path: Path) -> None:
    path = _library(tmp_path / "lib" / "a.sh3f", TABLE, FRIDGE, LAMP)
    seed = split_seed("mini", 0)
    first = generate_house(seed, _open(path))
    again = generate_house(seed, Assets(AssetsConfig(str(path), 1.0), open_libraries(path)))
    plain = generate_house(seed)
    names = [write_scene(model, tmp_path / "x", "pm00000").name for model in (first, again, plain)]
    assert names[0] == names[1] != names[2]
    fridges = [item for item in first.objects if item.category == "refrigerator"]
    assert fridges and all(part.surface.startswith("asset") for part in fridges[0].parts)
    assert "assets" not in plain.source
    (library,) = first.source["assets"]["libraries"]
    assert library["file"] == "a.sh3f" and len(library["sha256"]) == 64
    assert not any(name.startswith("asset") for name in plain.surfaces)


def test_done_houses_are_told_apart_by_their_library(tmp_path: Path) -> None:
    one = AssetsConfig(str(_library(tmp_path / "one" / "a.sh3f", FRIDGE)), 1.0)
    two = AssetsConfig(str(_library(tmp_path / "two" / "a.sh3f", FRIDGE, TABLE)), 1.0)
    out = tmp_path / "out"
    plain = build_split(out, "mini", 1)
    found = [build_split(out, "mini", 1, assets=assets)[0] for assets in (one, two)]
    stamps = [path.stat().st_mtime_ns for path in (*plain, *found)]
    assert len({*plain, *found}) == 3
    assert build_split(out, "mini", 1) == plain
    assert build_split(out, "mini", 1, assets=two)[0] == found[1]
    assert [path.stat().st_mtime_ns for path in (*plain, *found)] == stamps
    about = json.loads(next(found[0].glob("*.attributes.json")).read_bytes())
    assert about["source"]["assets"]["share"] == 1.0


def test_any_number_of_workers_gives_the_same_bytes(tmp_path: Path) -> None:
    assets = AssetsConfig(str(_library(tmp_path / "a.sh3f", TABLE, FRIDGE, LAMP)), 0.7)
    one = build_split(tmp_path / "one", "mini", 2, 1, assets=assets)
    two = build_split(tmp_path / "two", "mini", 2, 2, assets=assets)
    assert [path.name for path in one] == [path.name for path in two]
    for a, b in zip(one, two):
        assert [p.read_bytes() for p in sorted(a.iterdir())] == [p.read_bytes() for p in sorted(b.iterdir())]


def test_unusable_models_are_named_and_the_house_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _library(
        tmp_path / "a.sh3f",
        {**FRIDGE, "model": "/broken.obj"},
        {**TABLE, "model": "/gone.obj"},
        _piece("Bed", "160", "205", "100", model="/many.obj"),
        _piece("Stove", "65", "62", "90", model="/bare.obj"),
        broken_dot_obj=b"v 0 0 zero\nf 1 1 1\n",
        many_dot_obj=BOX.encode() + b"f 1 2 3\n" * 30,
        bare_dot_obj=BOX.replace("box.mtl", "bare.mtl").encode(),
        bare_dot_mtl=MTL.replace("wood.png", "lost.png").encode(),
    )
    (folder,) = build_split(tmp_path, "mini", 1, assets=AssetsConfig(str(path), 1.0, 30))
    said = capsys.readouterr().out
    assert folder.is_dir()
    assert f"{path}: entry 1 ('Fridge'): model not readable: broken.obj" in said
    assert "1 left out: model file not there" in said
    assert "entry 4 ('Stove'): texture not found: lost.png" in said
    assert "1 models not used, they have more than 30 triangles" in said and "entry 3 ('Bed')" in said


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    path = _library(tmp_path / "a.sh3f", FRIDGE)
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b"usemtl front", b"usemtl frond")
    )  # stored as it is: the checksum is off now
    assets = _open(path)
    assert assets.piece(CATALOGUE["refrigerator"], None, np.random.default_rng(0)) is None
    (fault,) = assets.faults
    assert "entry 1 ('Fridge'): m/box.obj cannot be unpacked" in fault and str(path) in fault


def test_textures_come_from_the_archive_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "lost.png").write_bytes(_picture((0, 200, 0)))
    monkeypatch.chdir(tmp_path)
    files = {"m__box_dot_mtl": MTL.replace("wood.png", "lost.png").encode()}
    assets = _open(_library(tmp_path / "a.sh3f", FRIDGE, **files))
    assert all(key.startswith("assetcolour") for key in _model(assets, "refrigerator").shape.chunks)
    assert "texture not found: lost.png" in assets.faults[0]


@pytest.mark.parametrize(
    "entry, message",
    [
        ({**TABLE, "width": "wide"}, "entry 1 ('Modern dining table'): width#1='wide' is not a number"),
        ({**TABLE, "height": "-3"}, "height#1=-3: must lie between 0 and"),
        ({**TABLE, "depth": "nan"}, "depth#1=nan: must lie between"),
        ({**TABLE, "model": ""}, "entry 1 ('Modern dining table'): no model#1"),
        ({**TABLE, "modelRotation": "1 0 0"}, "modelRotation#1='1 0 0': must be nine numbers"),
        ({"name": "Table", "width": "3", "depth": "4"}, "no height#1"),
        (_piece("Steak"), "no entry serves a category: 1 left out: name not in the table"),
    ],
)
def test_bad_entries_give_one_clear_line(tmp_path: Path, entry: dict[str, str], message: str) -> None:
    path = _library(tmp_path / "a.sh3f", entry)
    with pytest.raises(LibraryError) as caught:
        _open(path)
    assert message in str(caught.value) and str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_files_give_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LibraryError, match="no such file or folder"):
        open_libraries(tmp_path / "nowhere")
    with pytest.raises(LibraryError, match="neither .sh3f files nor"):
        open_libraries(tmp_path)
    (tmp_path / "x.sh3f").write_bytes(b"not a zip")
    with pytest.raises(LibraryError, match="x.sh3f: not a readable zip"):
        open_libraries(tmp_path)
    with zipfile.ZipFile(tmp_path / "x.sh3f", "w") as archive:
        archive.writestr("other.txt", "x")
    arguments = [f"out={tmp_path / 'out'}", "split=mini", "count=1"]
    assert main([*arguments, f"assets={tmp_path / 'x.sh3f'}"]) == 2
    assert "no entry 'PluginFurnitureCatalog.properties'" in capsys.readouterr().err
    assert main([*arguments, "assets_share=0.5"]) == 2
    assert "assets_share= needs assets=" in capsys.readouterr().err
    assert main([*arguments, f"assets={tmp_path}", "assets_share=2"]) == 2
    assert "must lie between 0 and 1" in capsys.readouterr().err
    assert main([*arguments, f"assets={tmp_path}", "assets_triangles=few"]) == 2
    assert "assets_triangles=few" in capsys.readouterr().err


def test_episodes_over_houses_with_a_library(tmp_path: Path) -> None:
    path = _library(tmp_path / "a.sh3f", TABLE, FRIDGE, LAMP)
    config = GenerateConfig(
        split="mini", data=str(tmp_path), houses=1, episodes=2, workers=1, assets=str(path), assets_share=1.0
    )
    header = generate(config)
    assert header.is_file()
    (content,) = (header.parent / "content").iterdir()
    stamp = content.stat().st_mtime_ns
    generate(config)
    assert content.stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match="only for scenes=procedural"):
        generate(GenerateConfig(split="homes", scenes="homes", data=str(tmp_path), assets=str(path)))


@needs_furniture
def test_the_shared_library_gives_furniture(tmp_path: Path) -> None:
    assets = _open(SHARED, 1.0, 50_000)
    assert len(assets.categories) >= 20
    assert any(reason == "model file not there" for *_, reason in assets.skipped)
    for category in assets.categories:
        piece = assets.piece(CATALOGUE[category], None, np.random.default_rng(0))
        assert piece is None or 0.02 < max(piece.size) < 3.5, category
    objects = [o for index in (0, 1) for o in generate_house(split_seed("mini", index), assets).objects]
    assert len({o.category for o in objects if o.parts[0].surface.startswith("asset")}) >= 5
