"""The speed benchmark as a user runs it: in a process of its own, which it pins to one core."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hm3dm3_env.benchmark_speed", *arguments]
    return subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=300)


def test_builds_the_mini_split_and_prints_a_table(tmp_path: Path) -> None:
    done = run("seconds=0.3", f"data={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "episodes" / "mini" / "mini.json.gz").exists()
    lines = [line for line in done.stdout.splitlines() if re.match(r" *\d+x\d+ ", line)]
    rows = [re.split(r"  +", line.strip()) for line in lines]
    assert [row[0] for row in rows] == ["64x64", "128x128", "128x128", "256x256", "256x256", "360x640"]
    for row in rows:
        shares = [int(cell.rstrip("%")) for cell in row[3:10]]
        assert float(row[2]) > 0 and min(shares) >= 0
        assert sum(shares) == pytest.approx(100, abs=4)  # rounded
    assert sum("rgb" in row[1] or "everything" in row[1] for row in rows) == 4
    assert all(row[10].split()[0] in ("reaches", "MISSES") for row in rows if len(row) > 10)
    assert "one core" in done.stdout and "embreex" in done.stdout


@pytest.mark.parametrize("argument", ["seconds=fast", "seconds=0", "seconds=inf", "minutes=3", "5"])
def test_bad_arguments(argument: str) -> None:
    done = run(argument)
    assert done.returncode == 2 and "usage:" in done.stderr
