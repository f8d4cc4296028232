"""Look inside an episode: one HTML page with the map over time, what robots saw, the goal board, what a VLM
was told and answered, and what the method decided.

    python -m eval.replay out/eval/records/co_navgpt2/val-00000.json data=data out=out/replay
    python -m eval.replay record=e.json data=data every=5

The page is one file that needs no network. Nothing is run again but rendering, so it works for records of
every method. The same record and data give the same bytes.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from eval.replay_page import page
from eval.replay_story import read_story
from hm3dm3_env.cli import command
from hm3dm3_env.files import data_root, write_atomic
from hm3dm3_env.record import RecordError, load_record
from hm3dm3_env.render.playback import Replay


@dataclass(frozen=True)
class PageConfig:
    """Which record, and how closely to follow it."""

    record: str = ""
    """The EpisodeRecord, a .json file; the command takes it without "record=" too."""
    data: str = "data"
    """Root of scenes/ and episodes/ that it was played on (HM3DM3_DATA overrides the default)."""
    out: str = "out/replay"
    """Folder for <method>-<episode>.html."""
    every: int = 10
    """Between the steps at which something happened, show every n-th step in which a robot moves (ours)."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every must be at least 1 step, not {self.every}")


def write_page(config: PageConfig) -> Path:
    """Write the page about a record, print its path and return it.

    Raises:
        ValueError: no record was named.
        RecordError: the record is broken, contradicts itself, or does not fit the episode.
        EpisodeError, SceneError: the data are missing or broken.
    """
    if not config.record:
        raise ValueError("record: name a record file, e.g. python -m eval.replay out/records/episode.json")
    record = load_record(config.record)
    try:
        read_story(record)  # before the scene is loaded
        content = page(Replay(record, data_root(config.data)), config.every)
    except RecordError as error:
        raise RecordError(f"{config.record}: {error}") from error
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{record.method}-{record.episode}")
    path = Path(config.out) / f"{name}.html"
    write_atomic(path, content)
    print(path)
    return path


def named(arguments: list[str]) -> list[str]:
    """Arguments of the command for Hydra: one that is a file, or has no "=", is the record.

    Raises:
        ValueError: several records.
    """
    after = ["", *arguments]
    plain = [
        a for a, before in zip(arguments, after)
        if not a.startswith("-") and not before.startswith("-") and ("=" not in a or Path(a).is_file())
    ]  # fmt: skip
    if len(plain) > 1:
        raise ValueError(f"one record at a time, not {', '.join(plain)}")
    return [f"record={_quoted(a)}" if a in plain else a for a in arguments]


def _quoted(text: str) -> str:
    """A text as Hydra reads it: backslashes count only before a quote."""
    inner = re.sub(r"(\\*)('|$)", lambda m: m[1] * 2 + m[2].replace("'", "\\'"), text)
    return f"'{inner}'"


_run = command(PageConfig, "replay_page", write_page)


def main() -> None:
    """The command."""
    try:
        sys.argv[1:] = named(sys.argv[1:])
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    _run()


if __name__ == "__main__":
    main()
