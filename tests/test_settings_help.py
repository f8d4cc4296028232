"""`--help`: what every setting is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

from hm3dm3_env.settings_help import settings_help
from hm3dm3_env.vlm.session import VlmChoice


@dataclass
class Lamp:
    """Gives light.

    More about it.
    """

    watts: float = 5.0
    """Its power."""


@dataclass
class Desk(Lamp):
    """A desk."""

    drawers: int = 3
    lamp: Lamp = field(default_factory=Lamp)
    wood: str = "oak"
    """What it is
    made of."""


def test_every_setting_and_its_sentence() -> None:
    assert settings_help(Desk).splitlines() == [
        "watts", "    Its power.", "drawers", "lamp.*", "    Gives light.", "lamp.watts", "    Its power.",
        "wood", "    What it is made of.",
    ]  # fmt: skip
    text = settings_help(VlmChoice)
    assert "\nmodel\n    The model's name there.\n" in text  # inherited
    assert "\nsimulated.malformed\n    Rate of answers that are no JSON" in text


def test_a_command_tells_of_its_settings() -> None:
    for arguments in (["--help"], ["every=5", "-h"]):
        command = [sys.executable, "-m", "eval.replay", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and not done.stderr
        assert "Look inside an episode" in done.stdout and "\nrecord\n    The EpisodeRecord" in done.stdout
        assert ("every: 5" if len(arguments) > 1 else "every: 10") in done.stdout
