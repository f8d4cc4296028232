"""Make procedural houses: python -m hm3dm3_env.scenes.procedural out=<folder> split=train|val|mini count=<n>.

Arguments, as key=value:
    out      folder; the houses go to <out>/<split>
    split    train, val or mini (their seeds are disjoint)
    count    number of houses; those that are complete already are kept
    workers  processes (default 1)
    plans    true: also draw <out>/<split>/plans/<scene>.png (default false)
    assets   a .sh3f furniture library, a folder of them, or an unpacked one: part of the pieces are models
    assets_share      that part, where the library has models of a category (default 0.5)
    assets_triangles  models with more triangles are not used (default 10000)
"""

from __future__ import annotations

import sys
from pathlib import Path

from hm3dm3_env.scenes.procedural.assets import AssetsConfig
from hm3dm3_env.scenes.procedural.build import FIRST_SEED, build_split

_KEYS = ("out", "split", "count", "workers", "plans", "assets", "assets_share", "assets_triangles")


def parse(arguments: list[str]) -> dict[str, str]:
    """key=value arguments as a dict.

    Raises:
        ValueError: an argument without "=", an unknown or repeated key, a missing or bad value.
    """
    values: dict[str, str] = {}
    for text in arguments:
        name, sign, value = text.partition("=")
        if not sign or name not in _KEYS:
            raise ValueError(f"unknown argument {text!r}; known: {', '.join(f'{key}=' for key in _KEYS)}")
        if name in values:
            raise ValueError(f"{name}= is given twice")
        values[name] = value
    for name in ("out", "split", "count"):
        if not values.get(name):
            raise ValueError(f"{name}= is missing")
    if values["split"] not in FIRST_SEED:
        raise ValueError(f"split={values['split']}: must be one of {', '.join(FIRST_SEED)}")
    for name in ("count", "workers"):
        if name in values and not (values[name].isdigit() and int(values[name]) > 0):
            raise ValueError(f"{name}={values[name]}: must be a positive whole number")
    if values.get("plans", "false") not in ("true", "false"):
        raise ValueError(f"plans={values['plans']}: must be true or false")
    if "assets" not in values and (left := {"assets_share", "assets_triangles"} & set(values)):
        raise ValueError(f"{min(left)}= needs assets=<a .sh3f file or a folder>")
    return values


def assets_config(values: dict[str, str]) -> AssetsConfig | None:
    """The library settings among parsed arguments, None without assets=.

    Raises:
        ValueError: a bad number.
    """
    if "assets" not in values:
        return None
    numbers: dict[str, float] = {}
    for name, kind in (("share", float), ("triangles", int)):
        text = values.get(f"assets_{name}")
        if text is not None:
            try:
                numbers[name] = kind(text)
            except ValueError:
                raise ValueError(f"assets_{name}={text}: must be a number") from None
    return AssetsConfig(values["assets"], **numbers)  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0
    try:
        values = parse(arguments)
        folders = build_split(
            Path(values["out"]),
            values["split"],
            int(values["count"]),
            int(values.get("workers", "1")),
            values.get("plans", "false") == "true",
            progress=True,
            assets=assets_config(values),
        )
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(folders)} houses in {Path(values['out']) / values['split']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
