"""Rays in packets hit what single rays hit, and where packets can't be used single rays are."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from hm3dm3_env.geometry import rotation_matrix
from hm3dm3_env.sim import tracing
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.sim.tracing import Tracer, packets_work

EYE = np.array([[0.0, 0.0, 0.0]])
LEVEL = rotation_matrix(0.0, 0.0)[None]


def soup(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-3, 3, (count, 1, 3))
    return (corner + rng.uniform(-0.4, 0.4, (count, 3, 3))).astype(np.float32)


def single(triangles: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Tracer:
    """A tracer that casts ray by ray."""
    monkeypatch.setattr(tracing, "packets_work", lambda: False)
    made = Tracer(triangles)
    monkeypatch.undo()
    assert made._packets is None
    return made


def test_packets_work_with_the_wheel_that_is_installed() -> None:
    assert packets_work()  # if not, everything is four times slower: embreex or Embree has changed


@pytest.mark.parametrize(("width", "height"), [(16, 16), (1, 1), (5, 3), (30, 7), (4, 41)])
def test_cameras_agree_with_single_rays(width: int, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    triangles, camera = soup(400), Camera(width=width, height=height, hfov_deg=80)
    rotations = np.stack([rotation_matrix(h, p) for h, p in ((0.3, 0.1), (2.0, -0.5), (-1.0, 0.0))])
    eyes = np.array([[0.1, 0.2, 0.3], [0.5, -0.3, 0.0], [-1.0, 0.4, 0.9]])
    a = Tracer(triangles).cameras(rotations, eyes, camera)
    b = single(triangles, monkeypatch).cameras(rotations, eyes, camera)
    assert len(a.triangle) == 3 * width * height
    same = a.triangle == b.triangle
    assert same.mean() > 0.995  # an edge may fall to either side
    hit = same & (a.triangle >= 0)
    np.testing.assert_allclose(a.distance[hit], b.distance[hit], rtol=1e-5)
    np.testing.assert_allclose(a.u[hit], b.u[hit], atol=1e-4)
    np.testing.assert_allclose(a.v[hit], b.v[hit], atol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 100])
def test_loose_rays_agree_with_single_rays(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    triangles, rng = soup(300, 1), np.random.default_rng(2)
    origins, directions = rng.uniform(-1, 1, (count, 3)), rng.normal(size=(count, 3))
    a = Tracer(triangles).rays(origins, directions)
    b = single(triangles, monkeypatch).rays(origins, directions)
    assert np.array_equal(a.triangle, b.triangle)
    np.testing.assert_allclose(a.distance, b.distance, rtol=1e-5)


@pytest.mark.parametrize("packets", [True, False])
def test_a_limit_ends_rays(packets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = np.array([[[-9, -9, -2], [9, -9, -2], [0, 20, -2]]], np.float32)
    tracer, camera = Tracer(wall) if packets else single(wall, monkeypatch), Camera(width=4, height=4)
    assert (tracer.cameras(LEVEL, EYE, camera).distance == pytest.approx(2.0))
    assert (tracer.cameras(LEVEL, EYE, camera, 1.9).triangle == -1).all()
    assert (tracer.cameras(LEVEL, EYE, camera, 2.1).triangle == 0).all()
    ahead = np.array([[0, 0, -1.0]])
    assert tracer.rays(EYE, ahead, 1.9).triangle[0] == -1 and tracer.rays(EYE, ahead).triangle[0] == 0


def test_no_gap_between_neighbours() -> None:
    """A tilted wall of many triangles: robust traversal lets no ray through an edge."""
    n = 60
    x, y = np.meshgrid(np.linspace(-2, 2, n), np.linspace(-2, 2, n))
    points = np.stack([x, y, -2 + 0.37 * x + 0.11 * y], -1)
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, :-1], points[1:, 1:]
    quads = [np.stack(corners, 2).reshape(-1, 3, 3) for corners in ((a, b, d), (a, d, c))]
    hits = Tracer(np.concatenate(quads).astype(np.float32)).cameras(
        LEVEL, EYE, Camera(width=300, height=300, hfov_deg=60)
    )
    assert (hits.triangle >= 0).all()


def test_both_sides_are_seen() -> None:
    wall = np.array([[[-9, -9, -2], [9, -9, -2], [0, 20, -2]]], np.float32)
    for triangles in (wall, wall[:, ::-1]):
        assert Tracer(triangles).rays(EYE, np.array([[0, 0, -1.0]])).triangle[0] == 0


def test_many_scenes_come_and_go() -> None:
    for k in range(50):
        assert Tracer(soup(200, k)).rays(EYE, np.array([[0.3, 0.2, -1.0]])).distance.shape == (1,)


def test_a_forked_process_has_a_device_of_its_own() -> None:
    Tracer(soup(10))
    child = os.fork()
    if child == 0:
        hits = Tracer(np.array([[[-9, -9, -2], [9, -9, -2], [0, 20, -2]]], np.float32)).rays(
            EYE, np.array([[0, 0, -1.0]])
        )
        os._exit(0 if hits.triangle[0] == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_packets_can_be_turned_off() -> None:
    code = "from hm3dm3_env.sim.tracing import packets_work; print(packets_work())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HM3DM3_PACKETS": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("fault", ["missing", "another version", "no such function"])
def test_another_embree_is_not_trusted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tracing.packets_work.cache_clear()
    if fault == "missing":
        monkeypatch.setattr(tracing, "_PATTERNS", ())
        tracing._library.cache_clear()
    elif fault == "another version":
        monkeypatch.setattr(tracing, "_DEVICE_VERSION", 3)  # answers 40400 becomes 4
    else:
        monkeypatch.setattr(tracing.ctypes, "CDLL", lambda path: object())
        tracing._library.cache_clear()
    try:
        assert not packets_work()
        assert Tracer(soup(5)).rays(EYE, np.array([[0, 0, -1.0]])).triangle.shape == (1,)
    finally:
        monkeypatch.undo()
        tracing._library.cache_clear()
        tracing.packets_work.cache_clear()
    assert packets_work()
