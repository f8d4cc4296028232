"""A simulator in another process, possibly under another Python: `Simulator` over a pipe and shared memory.

Habitat-sim lives in its own environment with an old Python, and it ends its whole process when it cannot get
a graphics context. Here that is an exception with the worker's last lines, and the next `load` starts anew.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import RLock
from typing import IO, Any

import numpy as np

from hm3dm3_env.geometry import Pose
from hm3dm3_env.scenes.hm3dsem import SceneData, load_scene
from hm3dm3_env.sim import protocol, worker
from hm3dm3_env.sim.base import Body, Camera, Frame, SimulatorDied, frames_of

LAST_LINES = 20
LOG_LIMIT = 1 << 20
"""Bytes of a worker's output that are kept between scenes."""
GRACE = 5.0
"""Seconds that a worker gets beyond its own limit, to write where it hung, and to end when it is told to."""


class ProcessSimulator:
    """`Simulator` hosted by a worker process.

    Args:
        backend: "habitat" or "embedded".
        python: interpreter of the worker; "~" is the home folder.
        options: keyword arguments of the backend besides the body.
        start_timeout: seconds for starting the worker, and for loading a scene.
        timeout: seconds for any other request.

    Raises:
        ValueError: no such interpreter, or it cannot host the backend.
        SimulatorDied: from every call, when the worker ends, aborts or hangs in it.
    """

    def __init__(
        self,
        backend: str,
        python: str,
        body: Body | None = None,
        options: Mapping[str, Any] | None = None,
        start_timeout: float = 600.0,
        timeout: float = 60.0,
    ) -> None:
        self.backend, self.python = backend, os.path.expanduser(python)
        self.body, self.options = body or Body(), dict(options or {})
        self.start_timeout, self.timeout = start_timeout, timeout
        self._folder: Path | None = None
        self._navigator: RemoteNavigator | None = None
        self._lock = RLock()
        self._worker: _Worker | None = None
        self._start()

    def _start(self) -> None:
        self._worker = _Worker(self.python)
        request = {
            "protocol": protocol.PROTOCOL,
            "backend": self.backend,
            "body": asdict(self.body),
            "options": self.options,
        }
        try:
            protocol.send(self._worker.connection, request)
            hello, _ = protocol.receive(self._worker.connection, self.start_timeout)
        except (EOFError, OSError, TimeoutError) as error:
            raise self._died("starting", error) from None
        if hello.get("protocol") != protocol.PROTOCOL:
            self.close()
            raise ValueError(
                f"sim.python={self.python}: its worker speaks protocol {hello.get('protocol')}, this package "
                f"{protocol.PROTOCOL}; install the same hm3dm3 in both"
            )
        if "error" in hello:
            self.close()
            raise ValueError(f"sim.python={self.python} cannot host {self.backend}: {hello['message']}")
        self.worker_python = str(hello["python"])

    def call(
        self, request: dict[str, Any], arrays: Sequence[np.ndarray] = (), timeout: float | None = None
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send one request and wait for its reply.

        Raises:
            SimulatorDied: the worker is gone, or took longer than `timeout` seconds.
            ValueError, FileNotFoundError: the worker's own, for bad input.
            RuntimeError: anything else that went wrong in it, with its stack.
        """
        with self._lock:
            self._leave_to_parent()
            if self._worker is None:
                raise RuntimeError("the simulator's worker is not running; call load(folder) first")
            limit = self.timeout if timeout is None else timeout
            try:
                protocol.send(self._worker.connection, {**request, "timeout": limit}, arrays)
                reply, results = protocol.receive(self._worker.connection, limit + GRACE)
            except (EOFError, OSError, TimeoutError) as error:
                raise self._died(request["call"], error) from None
        kind = reply.get("error")
        if kind == "missing":
            raise FileNotFoundError(reply["message"])
        if kind == "input":
            raise ValueError(reply["message"])
        if kind:
            raise RuntimeError(f"{self.backend} in {self.python} failed:\n{reply['trace']}")
        return reply, results

    def _leave_to_parent(self) -> None:
        """After a fork, two processes would talk to one worker: the child begins one of its own."""
        if self._worker is not None and self._worker.owner != os.getpid():
            self._worker = self._navigator = None

    def _died(self, doing: str, error: Exception) -> SimulatorDied:
        assert self._worker is not None
        gone = self._worker
        self._worker = self._navigator = None
        late = isinstance(error, TimeoutError)
        code = gone.end(wait=0.0 if late else GRACE)
        lines = gone.last_lines()
        gone.log.close()
        if late or "Timeout (" in lines:
            what = "hung and was stopped"
        elif code is not None and code < 0:
            what = f"was ended by {signal.Signals(-code).name}"
        else:
            what = f"ended with code {code}"
        told = f"its last lines:\n{lines}" if lines else "it printed nothing"
        return SimulatorDied(f"the {self.backend} worker ({self.python}) {what} while {doing}; {told}")

    # -- Simulator -----------------------------------------------------------------------------------------

    def load(self, folder: Path) -> None:
        """Make the scene in `folder` current, in a new worker if the last one is gone."""
        folder = Path(folder).absolute()
        with self._lock:
            self._leave_to_parent()
            if self._worker is None:
                self._start()
            assert self._worker is not None
            self._worker.trim_log()
            reply, _ = self.call({"call": "load", "folder": str(folder)}, timeout=self.start_timeout)
        if folder != self._folder:
            self.__dict__.pop("scene", None)
        self._folder, self._navigator = folder, RemoteNavigator(self, reply["floors"])

    @cached_property
    def scene(self) -> SceneData:
        """The current scene, read by this process when it is first asked for."""
        if self._folder is None:
            raise RuntimeError("no scene is loaded; call load(folder) first")
        return load_scene(self._folder)

    @property
    def navigator(self) -> RemoteNavigator:
        """The current scene's navigator; its answers come from the worker."""
        if self._navigator is None:
            raise RuntimeError("no scene is loaded; call load(folder) first")
        return self._navigator

    def render(
        self, poses: Sequence[Pose], camera: Camera, rgb: bool = True, semantic: bool = False
    ) -> list[Frame]:
        """One `Frame` a pose, rendered by the worker and copied out of shared memory."""
        rows = [[float(v) for v in (p.x, p.y, p.z, p.heading, p.pitch)] for p in poses]
        request = {"call": "render", "poses": rows, "camera": asdict(camera)}
        with self._lock:
            self.call({**request, "rgb": rgb, "semantic": semantic})
            assert self._worker is not None
            views = self._worker.frames.arrays(len(poses), camera.height, camera.width, rgb, semantic)
            depth, colors, labels = (None if view is None else view.copy() for view in views)
        assert depth is not None
        return frames_of(poses, camera, depth, colors, labels)

    def close(self) -> None:
        """End the worker; may be called twice."""
        with self._lock:
            if self._worker is not None:
                try:
                    protocol.send(self._worker.connection, {"call": "close"})
                except OSError:
                    pass
                self._worker.end(wait=GRACE)
                self._worker.log.close()
            self._worker = self._navigator = self._folder = None
            self.__dict__.pop("scene", None)


class RemoteNavigator:
    """`Navigator` whose every method is a request to the worker."""

    def __init__(self, simulator: ProcessSimulator, floors: list[float]) -> None:
        self._simulator = simulator
        self.floors = floors

    def _ask(self, name: str, *arrays: Any, **keywords: Any) -> Any:
        if self._simulator._navigator is not self:
            raise RuntimeError("this navigator's scene is not loaded any more; ask the simulator for its own")
        points = [np.asarray(array, np.float64) for array in arrays]
        reply, results = self._simulator.call({"call": name, "keywords": keywords}, points)
        return results[0] if results else reply["value"]

    def snap(self, point: np.ndarray, radius: float = 0.5) -> np.ndarray | None:
        """The nearest standable point within `radius` metres, or None."""
        return self._ask("snap", point, radius=float(radius))

    def is_navigable(self, point: np.ndarray) -> bool:
        """Whether the body can stand at `point`."""
        return bool(self._ask("is_navigable", point))

    def floor_of(self, point: np.ndarray) -> int:
        """Index of the floor at `point`, or -1."""
        return int(self._ask("floor_of", point))

    def island(self, point: np.ndarray) -> int:
        """The connected piece that `point` stands on (0: none)."""
        return int(self._ask("island", point))

    def island_radius(self, point: np.ndarray) -> float:
        """Half the diagonal of that piece's bounding rectangle, metres."""
        return float(self._ask("island_radius", point))

    def random_point(self, rng: np.random.Generator, floor: int) -> np.ndarray:
        """A standable point drawn with `rng`, whose state goes to the worker and comes back advanced.

        Raises:
            ValueError: the floor has no free place, or `rng` is not a default one (PCG64).
        """
        state = rng.bit_generator.state
        if state["bit_generator"] != "PCG64":
            raise ValueError(f"random_point needs numpy.random.default_rng(), not {state['bit_generator']}")
        reply, results = self._simulator.call({"call": "random_point", "rng": state, "floor": int(floor)})
        rng.bit_generator.state = reply["rng"]
        return results[0]

    def step(self, pose: Pose, action: str) -> Pose:
        """The pose after one action."""
        row = [float(v) for v in (pose.x, pose.y, pose.z, pose.heading, pose.pitch)]
        reply, _ = self._simulator.call({"call": "step", "pose": row, "action": action})
        return Pose(*reply["pose"])

    def distance(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(P,) geodesic metres from (P, 3) points to the nearest of (T, 3) targets, or inf."""
        return self._ask("distance", points, targets)

    def path(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N, 3) corners of the shortest path to the nearest target, or N = 0."""
        return self._ask("path", start, targets)


class _Worker:
    """The process, its connection, the shared frames, and a file without a name for what it prints."""

    def __init__(self, python: str) -> None:
        self.log: IO[bytes] = tempfile.TemporaryFile("ab+")
        self.frames = protocol.SharedFrames()
        self.connection, theirs = Pipe()
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        try:
            self.process = subprocess.Popen(
                [python, str(Path(worker.__file__)), str(theirs.fileno()), str(self.frames.descriptor)],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                pass_fds=[theirs.fileno(), self.frames.descriptor],
                env=environment,
                start_new_session=True,  # Ctrl-C is for the client, which ends the worker in order
            )
        except OSError as error:
            self.connection.close()
            self.frames.close()
            raise ValueError(f"sim.python={python}: cannot be started ({error.strerror})") from error
        finally:
            theirs.close()
        self.owner = os.getpid()
        self._finalizer = weakref.finalize(
            self, _kill, self.process, self.connection, self.frames, self.owner
        )

    def end(self, wait: float) -> int | None:
        """Wait `wait` seconds for the process to end by itself, then kill it; its exit code."""
        try:
            self.process.wait(wait)
        except subprocess.TimeoutExpired:
            pass
        self._finalizer()
        return self.process.returncode

    def last_lines(self) -> str:
        """The end of what the process printed."""
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(self.log.tell() - 8192, 0))
        lines = self.log.read().decode(errors="replace").strip().splitlines()
        return "\n".join(lines[-LAST_LINES:])

    def trim_log(self) -> None:
        """Forget a long log."""
        if os.fstat(self.log.fileno()).st_size > LOG_LIMIT:
            self.log.truncate(0)


def _kill(
    process: subprocess.Popen, connection: Connection, frames: protocol.SharedFrames, owner: int
) -> None:
    connection.close()
    frames.close()
    if os.getpid() != owner:  # a fork of the client: the worker is not its own
        return
    if process.poll() is None:
        process.kill()
    process.wait()
