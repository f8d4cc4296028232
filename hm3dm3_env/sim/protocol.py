"""How a simulator's worker process and its client talk: one message format, versioned, on both sides.

A message is a JSON header and any number of arrays behind it, over one `multiprocessing` connection. Frames
don't travel that way: the worker writes them into memory that both processes have mapped. That memory is an
inherited file descriptor without a name, so nothing of it can be left behind, however a process ends.

Both sides import this file, the worker possibly under another Python: Python 3.9 and numpy are enough.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

PROTOCOL = 1
"""Raised with every change of what is sent; the two sides refuse each other when they differ."""


def send(connection: Connection, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    """Send one message. `header` holds JSON values; its key "arrays" is taken."""
    whole = [np.ascontiguousarray(array) for array in arrays]
    shapes = [[array.dtype.str, list(array.shape)] for array in whole]
    connection.send_bytes(json.dumps({**header, "arrays": shapes}).encode())
    for array in whole:
        connection.send_bytes(array.tobytes())


def receive(
    connection: Connection, timeout: float | None = None
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The next message: its header, and its arrays.

    Raises:
        TimeoutError: nothing came for `timeout` seconds (None: wait for ever).
        EOFError, OSError: the other side is gone.
    """

    def part() -> bytes:
        if not connection.poll(timeout):
            raise TimeoutError
        return connection.recv_bytes()

    header = json.loads(part())
    arrays = [np.frombuffer(part(), dtype).reshape(shape).copy() for dtype, shape in header.pop("arrays")]
    return header, arrays


class SharedFrames:
    """Memory for one batch of frames, mapped by the client and its worker.

    Attributes:
        descriptor: of the nameless file behind it, to be inherited by the worker.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
            with tempfile.TemporaryFile(dir=folder) as file:  # it has no name, or loses it at once
                descriptor = os.dup(file.fileno())
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def arrays(
        self, count: int, height: int, width: int, rgb: bool, semantic: bool
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Views of the memory: depth (count, height, width) float32, and where asked for rgb
        (count, height, width, 3) uint8 and semantic (count, height, width) int32."""
        pixels = count * height * width
        size = pixels * (4 + 3 * rgb + 4 * semantic)
        memory = self._mapped(size)
        shape = (count, height, width)
        depth = np.frombuffer(memory, np.float32, pixels).reshape(shape)
        end = 4 * pixels
        labels = None
        if semantic:  # before rgb: its numbers need to be aligned
            labels = np.frombuffer(memory, np.int32, pixels, end).reshape(shape)
            end += 4 * pixels
        colors = np.frombuffer(memory, np.uint8, 3 * pixels, end).reshape(*shape, 3) if rgb else None
        return depth, colors, labels

    def _mapped(self, size: int) -> mmap.mmap:
        size = max(size, 1)
        if os.fstat(self.descriptor).st_size < size:
            os.ftruncate(self.descriptor, size)
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return self._map

    def close(self) -> None:
        """Let the memory go; may be called twice."""
        self._map = None  # views that are still in use keep it alive
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
