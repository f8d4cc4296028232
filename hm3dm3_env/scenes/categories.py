"""Which category names mean parts of the building, in the annotators' spelling."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

STRUCTURE = (
    "wall",
    "floor",
    "ceiling",
    "door",
    "window",
    "unknown",
    "stairs",
    "door frame",
    "window frame",
    "beam",
    "column",
    "unlabeled",
    "curtain rod",
    "railing",
)
"""Categories that are part of the building: never goals. HM3D-OVON drops these by substring; we compare whole
names, so that wall lamps, floor lamps and doormats stay."""
ALIKE = 0.85
"""Names that are this similar (difflib's ratio) are one name with a slip of the pen: "ceilling", "doorframe"
(ours). Over all raw names of HM3DSem this finds the misspelled parts of buildings and no furniture."""


@cache
def structure_of(category: str) -> str:
    """The name in `STRUCTURE` that a raw category stands for, or "" for things.

    HM3DSem's annotators add notes after a slash ("wall /otherroom", "unknown/ probably rug") and misspell
    ("windoe frame"); what they were not sure of is unknown. A name without a letter says nothing either.
    """
    words = " ".join(category.lower().split())
    name = words.strip("/").split("/")[0].strip()
    if not any(letter.isalpha() for letter in name) or name.split()[0] == "unknown":
        return "unknown"
    found = get_close_matches(name, STRUCTURE, 1, ALIKE)
    return found[0] if found else ""
