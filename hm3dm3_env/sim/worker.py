"""The other end of `hm3dm3_env.sim.process`: hosts one simulator and answers requests until its client goes.

Started by path, as a file, in the interpreter that has the simulator: Python 3.9 or later, with numpy. The
package need not be installed there: it is found beside this file, without its neighbours in site-packages,
which belong to another Python.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import platform
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_CALLS = ("snap", "is_navigable", "floor_of", "island", "island_radius", "distance", "path")
"""Navigator methods whose arguments are arrays and numbers only."""


def _load_package() -> None:
    """Make `hm3dm3_env` importable from where this file lies."""
    package = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        package.name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package.name] = module
    spec.loader.exec_module(module)


def main(arguments: list[str]) -> int:
    """Serve requests on the inherited descriptors given as arguments: connection, shared frames."""
    faulthandler.enable()  # an abort of the simulator leaves a stack in the last lines
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]  # a script's own folder comes first; ours holds files that are not top-level modules
    if "hm3dm3_env" not in sys.modules:
        _load_package()
    from hm3dm3_env.sim import protocol

    connection, frames = Connection(int(arguments[0])), protocol.SharedFrames(int(arguments[1]))
    try:
        request, _ = protocol.receive(connection)
        hello = {"protocol": protocol.PROTOCOL, "python": platform.python_version()}
        if request.get("protocol") != protocol.PROTOCOL:
            protocol.send(connection, {**hello, "error": "protocol"})
            return 1
        try:
            server = _Server(request, frames)
        except Exception as error:
            protocol.send(connection, {**hello, **_described(error)})
            return 1
        protocol.send(connection, hello)
        while True:
            request, arrays = protocol.receive(connection)
            if request["call"] == "close":
                server.sim.close()
                return 0
            # ends this process with a stack if the call hangs, even when the client is gone and even when
            # the simulator never gives the interpreter lock back
            faulthandler.dump_traceback_later(request["timeout"], exit=True)
            try:
                header, results = server.answer(request, arrays)
            except Exception as error:
                header, results = _described(error), []
            faulthandler.cancel_dump_traceback_later()
            protocol.send(connection, header, results)
    except (EOFError, OSError):  # the client is gone
        return 0


def _described(error: Exception) -> dict[str, Any]:
    kind = "missing" if isinstance(error, FileNotFoundError) else "input"
    if not isinstance(error, (ValueError, FileNotFoundError)):
        kind = "bug"
    return {"error": kind, "message": str(error) or repr(error), "trace": traceback.format_exc()}


class _Server:
    def __init__(self, request: dict[str, Any], frames: Any) -> None:
        from hm3dm3_env.sim.base import Body

        body = Body(**request["body"])
        if request["backend"] == "habitat":
            from hm3dm3_env.sim.habitat import HabitatSimulator

            self.sim: Any = HabitatSimulator(body, **request["options"])
        else:
            from hm3dm3_env.sim.embedded import EmbeddedSimulator

            self.sim = EmbeddedSimulator(body, **request["options"])
        self.frames = frames

    def answer(self, request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        """The header and the arrays of the reply to one request."""
        import numpy as np

        from hm3dm3_env.geometry import Pose
        from hm3dm3_env.sim.base import Camera

        call = request["call"]
        if call == "load":
            self.sim.load(Path(request["folder"]))
            return {"floors": [float(height) for height in self.sim.navigator.floors]}, []
        if call == "render":
            poses, camera = [Pose(*row) for row in request["poses"]], Camera(**request["camera"])
            rgb, semantic = request["rgb"], request["semantic"]
            made = self.sim.render(poses, camera, rgb=rgb, semantic=semantic)
            depth, colors, labels = self.frames.arrays(
                len(poses), camera.height, camera.width, rgb, semantic
            )
            for i, frame in enumerate(made):
                depth[i] = frame.depth
                if colors is not None:
                    colors[i] = frame.rgb
                if labels is not None:
                    labels[i] = frame.semantic
            return {}, []
        navigator = self.sim.navigator
        if call == "step":
            pose = navigator.step(Pose(*request["pose"]), request["action"])
            return {"pose": [pose.x, pose.y, pose.z, pose.heading, pose.pitch]}, []
        if call == "random_point":
            rng = np.random.default_rng()
            rng.bit_generator.state = request["rng"]
            point = navigator.random_point(rng, request["floor"])
            return {"rng": rng.bit_generator.state}, [point]
        if call in _CALLS:
            result = getattr(navigator, call)(*arrays, **request["keywords"])
            if isinstance(result, np.ndarray):
                return {}, [result]
            return {"value": result if result is None else getattr(result, "item", lambda: result)()}, []
        raise RuntimeError(f"unknown request {call!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
