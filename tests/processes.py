"""Commands that are killed half-way, as a machine would kill them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def kill_when(command: list[str], ready: Callable[[], bool], **options: Any) -> None:
    """Start a command, and SIGKILL it and its workers once `ready()`."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command], start_new_session=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, **options,
    )  # fmt: skip
    try:
        limit = time.monotonic() + 60
        while not ready():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < limit
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def files_below(folder: Path | str) -> dict[str, bytes]:
    """Contents of all files below a folder."""
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*.*")) if p.is_file()
    }


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m` with these arguments, to its end."""
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120)
