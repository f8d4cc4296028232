"""The text half of HM3DSem's annotations: `.semantic.txt`, which gives each colour an id and a category."""

from __future__ import annotations

import re
from pathlib import Path

# By hand, not by a CSV reader: categories hold commas without quotes and quotes without partners. Ids have
# six digits at most, so that arrays by id stay small.
_LINE = re.compile(r"\s*([0-9]{1,6})\s*,\s*#?([0-9A-Fa-f]{6})\s*,\s*(.*?)\s*,\s*(-?[0-9]{1,9})\s*", re.DOTALL)


class SceneError(ValueError):
    """A scene folder that cannot be used; the message names the folder or file and the fix."""


def parse_semantic_text(path: Path, problems: list[str] | None = None) -> dict[int, tuple[int, str, int]]:
    """`.semantic.txt` as {id: (colour code 0xRRGGBB, category, region)}.

    Survives a byte order mark, Windows line ends, blank lines, exact repeats, commas and doubled quotes in
    a category, and blanks around it. Categories are lower case with single blanks; plurals stay apart
    ("chairs" is not "chair"), since the annotators meant a group by them. Two ids with one colour cannot be
    told apart on the mesh: the first keeps it, the other will have no triangles, and `problems` (if given)
    gets a line.

    Raises:
        SceneError: wrong first line, a line that does not parse, or one id with two meanings.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except OSError as error:
        raise SceneError(f"{path}: cannot be read ({error.strerror})") from error
    if not lines[0].strip().startswith("HM3D Semantic Annotations"):
        raise SceneError(f"{path}: line 1 must be 'HM3D Semantic Annotations'")
    rows: dict[int, tuple[int, str, int]] = {}
    owners: dict[int, int] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        row = _row(line)
        if row is None:
            raise SceneError(f"{path}: line {number}: expected id,HEXCOLOR,\"category\",region, not {line!r}")
        identity, value = row
        if rows.setdefault(identity, value) != value:
            raise SceneError(f"{path}: line {number}: id {identity} is there already with another meaning")
        owner = owners.setdefault(value[0], identity)
        if owner != identity and problems is not None:
            problems.append(f"{path.name}: ids {owner} and {identity} have one colour "
                            f"({value[0]:06X}); it counts for {owner}")
    return rows


def _row(line: str) -> tuple[int, tuple[int, str, int]] | None:
    """(id, (colour code, category, region)) of a line, or None."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    identity, color, category, region = match.groups()
    if len(category) > 1 and category[0] == category[-1] == '"':
        category = category[1:-1]
    category = category.replace('""', '"')
    return int(identity), (int(color, 16), " ".join(category.lower().split()), int(region))
