"""A simulator in a worker process gives what it gives in this one, and its every end is a clear exception."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.geometry import Pose
from hm3dm3_env.sim import process, protocol
from hm3dm3_env.sim.base import Body, Camera, SimulatorDied
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.sim.process import ProcessSimulator

CAMERA = Camera(width=48, height=64)


@pytest.fixture(scope="module")
def remote(rooms_scene: Path) -> Iterator[ProcessSimulator]:
    """The embedded simulator in a worker of this interpreter, with the two rooms loaded."""
    sim = ProcessSimulator("embedded", sys.executable)
    sim.load(rooms_scene)
    yield sim
    sim.close()


def poses(sim: EmbeddedSimulator, count: int) -> list[Pose]:
    rng = np.random.default_rng(0)
    points = [sim.navigator.random_point(rng, 0) for _ in range(count)]
    return [Pose(*p, rng.uniform(-3, 3), rng.uniform(-0.5, 0.5)) for p in points]


def worker_of(sim: ProcessSimulator) -> int:
    assert sim._worker is not None
    return sim._worker.process.pid


# -- the same answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("camera", "rgb", "semantic"),
    [
        (CAMERA, True, True),
        (CAMERA, False, False),
        (Camera(width=33, height=17, hfov_deg=79), True, False),  # odd sizes: arrays must stay aligned
        (Camera(width=97, height=131), False, True),
        (CAMERA, True, True),  # smaller again: the memory is not cut
    ],
)
def test_frames_are_the_same_bytes(
    remote: ProcessSimulator, rooms_sim: EmbeddedSimulator, camera: Camera, rgb: bool, semantic: bool
) -> None:
    where = poses(rooms_sim, 3)
    mine, theirs = (sim.render(where, camera, rgb, semantic) for sim in (rooms_sim, remote))
    for a, b in zip(mine, theirs, strict=True):
        assert a.pose == b.pose and b.camera == camera
        for name in ("depth", "rgb", "semantic"):
            left, right = getattr(a, name), getattr(b, name)
            assert (left is None) == (right is None) and (left is None or left.dtype == right.dtype)
            assert left is None or np.array_equal(left, right)


def test_frames_stay_when_the_next_ones_come(remote: ProcessSimulator, rooms_sim: EmbeddedSimulator) -> None:
    first, second = poses(rooms_sim, 2)
    kept = remote.render([first], CAMERA)[0]
    before = kept.depth.copy()
    remote.render([second], CAMERA)
    assert np.array_equal(kept.depth, before)


def test_no_pose_no_frame(remote: ProcessSimulator) -> None:
    assert remote.render([], CAMERA) == []


def test_the_navigator_answers_the_same(remote: ProcessSimulator, rooms_sim: EmbeddedSimulator) -> None:
    mine, theirs = rooms_sim.navigator, remote.navigator
    points = np.stack([p.position for p in poses(rooms_sim, 4)])
    outside = np.array([50.0, 0.0, 50.0])
    assert theirs.floors == mine.floors
    assert np.array_equal(mine.distance(points, points[:2]), theirs.distance(points, points[:2]))
    assert np.isinf(theirs.distance(points[:1], np.zeros((0, 3)))).all()
    assert np.array_equal(mine.path(points[0], points[1:]), theirs.path(points[0], points[1:]))
    for point in (*points, outside):
        for name in ("is_navigable", "floor_of", "island", "island_radius"):
            value = getattr(theirs, name)(point)
            assert value == getattr(mine, name)(point) and type(value) is type(getattr(mine, name)(point))
    assert theirs.snap(outside) is None and np.array_equal(mine.snap(points[0]), theirs.snap(points[0]))
    for action in ("move_forward", "turn_left", "look_up", "wait"):
        pose = Pose(*points[0], 0.3)
        assert theirs.step(pose, action) == mine.step(pose, action)


def test_points_are_drawn_from_the_callers_generator(
    remote: ProcessSimulator, rooms_sim: EmbeddedSimulator
) -> None:
    here, there = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(3):
        assert np.array_equal(
            rooms_sim.navigator.random_point(here, 0), remote.navigator.random_point(there, 0)
        )
    assert here.random() == there.random()
    with pytest.raises(ValueError, match="default_rng"):
        remote.navigator.random_point(np.random.Generator(np.random.MT19937(0)), 0)


def test_the_scene_is_read_here(remote: ProcessSimulator, rooms_sim: EmbeddedSimulator) -> None:
    assert remote.scene.instances.keys() == rooms_sim.scene.instances.keys()


# -- bad input ---------------------------------------------------------------------------------------------


def test_bad_input_is_the_backends_own_error(remote: ProcessSimulator, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a scene folder"):
        remote.load(tmp_path / "missing")
    with pytest.raises(ValueError, match="unknown action 'jump'"):
        remote.navigator.step(Pose(0, 0, 0), "jump")
    with pytest.raises(RuntimeError, match=r"(?s)failed.*Traceback"):  # with the worker's stack
        remote.navigator.path(None, np.zeros(3))
    assert remote.navigator.is_navigable(np.array([2.0, 0.0, -1.5]))  # and it goes on


def test_no_such_interpreter() -> None:
    with pytest.raises(ValueError, match=r"sim\.python=/no/such/python: cannot be started"):
        ProcessSimulator("embedded", "/no/such/python")


def test_an_interpreter_below_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)  # not resolved: a virtual environment's is a link
    monkeypatch.setenv("HOME", str(python.parents[1]))
    sim = ProcessSimulator("embedded", f"~/{python.parent.name}/{python.name}")
    sim.close()


def test_not_an_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho this is no python\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(SimulatorDied, match=r"(?s)ended with code 3 while starting.*this is no python"):
        ProcessSimulator("embedded", str(script))


def test_a_backend_that_its_interpreter_lacks() -> None:
    with pytest.raises(ValueError, match=r"cannot host embedded: .*navmesh"):
        ProcessSimulator("embedded", sys.executable, options={"navmesh": "nonsense"})


def test_another_version_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.protocol, "PROTOCOL", 99)  # this side; the worker has its own
    with pytest.raises(ValueError, match=r"speaks protocol \d+, this package 99"):
        ProcessSimulator("embedded", sys.executable)


# -- every way to end --------------------------------------------------------------------------------------


def revived(sim: ProcessSimulator, scene: Path) -> None:
    """After its worker died a simulator says so, and the next load brings it back."""
    with pytest.raises(RuntimeError, match="call load"):
        sim.render([Pose(2, 0, -2)], CAMERA)
    sim.load(scene)
    assert sim.render([Pose(2, 0, -2)], CAMERA)[0].depth.any()


def test_kill_9(rooms_scene: Path) -> None:
    sim = ProcessSimulator("embedded", sys.executable)
    sim.load(rooms_scene)
    os.kill(worker_of(sim), signal.SIGKILL)
    with pytest.raises(SimulatorDied, match="was ended by SIGKILL while render"):
        sim.render([Pose(2, 0, -2)], CAMERA)
    revived(sim, rooms_scene)
    sim.close()


def test_abort_shows_where(rooms_scene: Path) -> None:
    sim = ProcessSimulator("embedded", sys.executable)
    sim.load(rooms_scene)
    os.kill(worker_of(sim), signal.SIGABRT)
    with pytest.raises(SimulatorDied, match=r"(?s)SIGABRT.*Fatal Python error: Aborted.*worker\.py"):
        sim.navigator.is_navigable(np.zeros(3))
    revived(sim, rooms_scene)
    sim.close()


def test_a_hang(rooms_scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)
    sim = ProcessSimulator("embedded", sys.executable, timeout=0.3)
    sim.load(rooms_scene)
    os.kill(worker_of(sim), signal.SIGSTOP)  # it does not even run its own watchdog
    with pytest.raises(SimulatorDied, match="hung and was stopped while render"):
        sim.render([Pose(2, 0, -2)], CAMERA)
    monkeypatch.undo()
    revived(sim, rooms_scene)
    sim.close()


def test_a_hang_shows_where(rooms_scene: Path) -> None:
    sim = ProcessSimulator("embedded", sys.executable, timeout=0.2)
    sim.load(rooms_scene)
    big = Camera(width=4000, height=4000)  # far more than a fifth of a second
    with pytest.raises(SimulatorDied, match=r"(?s)hung and was stopped while render.*embedded\.py"):
        sim.render([Pose(2, 0, -2)] * 2, big)
    sim.close()


def test_nothing_is_left_behind(rooms_scene: Path) -> None:
    gc.collect()  # what other tests left to it
    before = len(os.listdir("/proc/self/fd"))
    for how in ("close", "drop", "kill"):
        sim = ProcessSimulator("embedded", sys.executable)
        sim.load(rooms_scene)
        sim.render([Pose(2, 0, -2)], CAMERA)
        pid = worker_of(sim)
        assert os.fstat(sim._worker.frames.descriptor).st_nlink == 0  # type: ignore[union-attr]  # no name
        if how == "close":
            sim.close()
            sim.close()
        elif how == "kill":
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(SimulatorDied):
                sim.render([Pose(2, 0, -2)], CAMERA)
        del sim
        gc.collect()
        assert not Path(f"/proc/{pid}").exists(), how
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_worker_ends_with_a_killed_client(rooms_scene: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from hm3dm3_env.sim.process import ProcessSimulator\n"
        "sim = ProcessSimulator('embedded', sys.executable); sim.load(Path(sys.argv[1]))\n"
        "print(sim._worker.process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(rooms_scene)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    client.kill()
    client.wait()
    client.stdout.close()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return
        time.sleep(0.1)
    pytest.fail("the worker outlives its client")


def test_a_fork_has_a_worker_of_its_own(remote: ProcessSimulator, rooms_scene: Path) -> None:
    before = worker_of(remote)
    child = os.fork()
    if child == 0:  # no assert may leave this branch
        good = False
        try:
            remote.render([Pose(2, 0, -2)], CAMERA)
        except RuntimeError:  # its scene is not loaded yet
            remote.load(rooms_scene)
            frame = remote.render([Pose(2, 0, -2)], CAMERA)[0]
            good = worker_of(remote) != before and bool(frame.depth.any())
            remote.close()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert worker_of(remote) == before and remote.render([Pose(2, 0, -2)], CAMERA)[0].depth.any()


def test_ctrl_c_does_not_reach_the_worker(remote: ProcessSimulator) -> None:
    assert os.getpgid(worker_of(remote)) != os.getpgid(0)


# -- the shared memory -------------------------------------------------------------------------------------


def test_shared_frames_are_shared() -> None:
    mine = protocol.SharedFrames()
    theirs = protocol.SharedFrames(os.dup(mine.descriptor))
    for size in (3, 11, 5):
        written = mine.arrays(2, size, size + 1, True, True)
        rng = np.random.default_rng(size)
        for view in written:
            assert view is not None
            view[:] = rng.integers(0, 200, view.shape)
        for a, b in zip(written, theirs.arrays(2, size, size + 1, True, True)):
            assert np.array_equal(a, b)
    for frames in (mine, theirs):
        frames.close()
        frames.close()


def test_the_body_reaches_the_worker(rooms_scene: Path) -> None:
    wide = ProcessSimulator("embedded", sys.executable, replace(Body(), radius=0.5))
    wide.load(rooms_scene)
    assert wide.navigator.island(np.array([5.05, 0.0, -0.95])) == 0  # in the doorway of 0.9 m
    wide.close()
