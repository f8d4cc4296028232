"""Which raw names of HM3DSem are parts of the building."""

from __future__ import annotations

import pytest

from hm3dm3_env.scenes.categories import STRUCTURE, structure_of
from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE


@pytest.mark.parametrize("name", STRUCTURE)
def test_the_names_themselves(name: str) -> None:
    assert structure_of(name) == structure_of(f" {name.title()} ") == name


@pytest.mark.parametrize(("name", "meaning"), [
    ("wall /otherroom", "wall"), ("walll", "wall"), ("ceiiling", "ceiling"), ("doors", "door"),
    ("doorframe", "door frame"), ("windoe frame", "window frame"), ("window /outside", "window"),
    ("stair", "stairs"), ("unknown/ probably rug", "unknown"), ("/unknown/ probably decoration", "unknown"),
    ("unknown device", "unknown"), ("unknwon", "unknown"), (",1", "unknown"), ("", "unknown"),
])
def test_notes_and_slips_of_the_pen(name: str, meaning: str) -> None:
    assert structure_of(name) == meaning


@pytest.mark.parametrize("name", [
    "floor lamp", "wall lamp", "wall clock", "doormat", "door mat", "ceiling fan", "window curtain", "ball",
    "wardrobe", "bed/couch", "tv, wall mounted", "curtain", "stool", "flower", "walnut table",
])
def test_things_stay(name: str) -> None:
    assert structure_of(name) == ""


def test_the_catalogue_of_the_houses_holds_things_only() -> None:
    assert not [name for name in CATALOGUE if structure_of(name)]
