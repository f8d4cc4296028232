"""The simulator's benchmark measures, says what is reached, and refuses what it does not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hm3dm3_env.scenes.hm3dsem import SceneData
from hm3dm3_env.sim import benchmark, prepared


def test_loading_and_switches(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "SWITCHES", 24)
    monkeypatch.setattr(benchmark, "HOUSES", 1)
    monkeypatch.setattr(benchmark, "GROWTH", 0.5)  # so few switches say nothing about leaks
    monkeypatch.setattr(benchmark, "FIRST_LOAD", 600.0)  # a busy machine is no failure
    monkeypatch.setattr(benchmark, "CACHED_LOAD", 600.0)
    monkeypatch.setattr(benchmark.os, "sched_setaffinity", lambda *_: None)  # this process tests on
    monkeypatch.setattr(prepared, "KEEP_FROM", 0)  # so small a scan is not kept otherwise
    read, load = [], prepared.load_scene

    def counted(folder: Path) -> SceneData:
        read.append(folder.name)
        return load(folder)

    monkeypatch.setattr(prepared, "load_scene", counted)
    assert benchmark.main(["parts=[loading,switches]", "triangles=60000", "textures=3"]) == 0
    said = capsys.readouterr().out
    assert said.count("reaches") == 3 and "MISSES" not in said
    times = [
        float(line.split("frame")[1].split("s")[0])
        for line in said.splitlines()
        if line.strip().startswith(("first time", "from the cache", "file changed"))
    ]
    assert len(times) == 3 and min(times) > 0
    assert len(read) == 2 + 2 and read[0] == read[1]  # first and changed, then the two scenes of the switches


def test_frames_without_habitat(
    rooms_scene: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "SECONDS", 0.1)
    assert benchmark.beside_habitat("", rooms_scene)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "RGB-D" in line]
    assert len(rows) == 2 * len(benchmark.SIZES) and all(float(row[-2]) > 0 for row in rows)


@pytest.mark.parametrize("argument", ["parts=[colour]", "speed=9", "triangles=many"])
def test_bad_arguments(argument: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hm3dm3_env.sim.benchmark", argument], capture_output=True, text=True
    )
    assert done.returncode == 2 and "python -m hm3dm3_env.sim.benchmark" in done.stderr
