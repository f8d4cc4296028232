"""When HTTP requests may go, and how long they may take in all.

The time-outs of HTTP libraries are for silence: a server that sends a byte now and then, or headers without
end, holds a request for ever. A `Deadline` shuts the connection of a request that is not over in time,
whatever the server sends meanwhile; the library's call then fails as with any broken connection. Looking up a
name and making a connection, TLS included, are left to the library's time-outs, which end them.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any


class Pacer:
    """Lets requests go at an even pace; threads may share it.

    Args:
        per_minute: so many; 0: as they come.
        clock, sleep: seconds that go on, and waiting for some.
    """

    def __init__(
        self,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._clock, self._sleep, self._lock, self._next = clock, sleep, threading.Lock(), -inf

    def wait(self) -> None:
        """Returns when the next request may go."""
        if not self._gap:
            return
        with self._lock:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._gap
        if mine > now:
            self._sleep(mine - now)


class Deadline:
    """The deadline of one request after the other; each thread has its own, and each request its own
    connection.

    Args:
        seconds: from `start` on.

    Attributes:
        late: whether the latest request was shut.
    """

    def __init__(self, seconds: float) -> None:
        self.late = False
        self._seconds, self._lock = seconds, threading.Lock()
        self._timer: threading.Timer | None = None
        self._socket: socket.socket | None = None
        self._number = 0

    def start(self, request: Any) -> None:
        """A request of httpx is about to be sent; the one before, if any, is over."""
        self.stop()
        self.late = False
        self._number += 1
        request.extensions["trace"] = self._traced
        self._timer = threading.Timer(self._seconds, self._shut, (self._number,))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The request is over."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._socket = None

    def _traced(self, event: str, info: dict[str, Any]) -> None:
        """What the library tells of a connection: its streams as they are opened."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            opened = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._socket = opened
            if self.late:
                _shut(opened)

    def _shut(self, number: int) -> None:
        with self._lock:
            if number != self._number or self._timer is None:
                return
            self.late, opened = True, self._socket
        if opened is not None:
            _shut(opened)


def _shut(opened: socket.socket) -> None:
    """End what reads from a connection or writes to it, in whatever thread."""
    try:
        socket.socket.shutdown(opened, socket.SHUT_RDWR)  # that of TLS would tell the other side, and wait
    except OSError:
        pass  # it is closed already
