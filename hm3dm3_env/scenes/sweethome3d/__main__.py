"""Command line: `python -m hm3dm3_env.scenes.sweethome3d <source> out=<folder> [plans=true]`."""

from __future__ import annotations

import sys
from pathlib import Path

from hm3dm3_env.scenes.sweethome3d import HomeError, import_homes

_USAGE = (
    "usage: python -m hm3dm3_env.scenes.sweethome3d <file or folder> out=<folder> [models=<folder>] "
    "[plans=true] [hidden=true]"
)


def main(arguments: list[str]) -> int:
    """Run the command line; 0 when every home was imported."""
    source, options = "", {"out": "", "models": "", "plans": "false", "hidden": "false"}
    for word in arguments:
        key, equals, value = word.partition("=")
        if equals and key in options:
            options[key] = value
        elif not source and not word.startswith("-"):
            source = word
        else:
            print(f"unknown argument {word!r}\n{_USAGE}", file=sys.stderr)
            return 2
    if (
        not source
        or not options["out"]
        or any(options[key].lower() not in ("true", "false") for key in ("plans", "hidden"))
    ):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        floors = import_homes(
            Path(source),
            Path(options["out"]),
            Path(options["models"]) if options["models"] else None,
            options["plans"].lower() == "true",
            progress=True,
            hidden=options["hidden"].lower() == "true",
        )
    except HomeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for floor in floors:
        print(f"{floor.folder}  ({floor.home}{', ' + floor.level if floor.level else ''})")
        for problem in floor.problems:
            print(f"    {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
