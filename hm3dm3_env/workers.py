"""Worker processes that end with the process that started them; the name of the machine's processor."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any


def worker_pool(count: int) -> ProcessPoolExecutor:
    """A pool of fresh processes. Without the watch, workers of a killed run would wait for work for ever."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)


def run_all(count: int, jobs: Sequence[tuple[Any, ...]], done: Callable[[int], Any]) -> None:
    """Call jobs, each a function and its arguments, in at most `count` fresh processes; `done(i)` is called
    here when job i has ended. The first error ends all."""
    if not jobs:
        return
    with worker_pool(min(count, len(jobs))) as pool:
        futures = {pool.submit(*job): i for i, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                future.result()
                done(futures[future])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
