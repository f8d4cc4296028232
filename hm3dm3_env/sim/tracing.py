"""Rays against triangles: Embree, in packets of 16 neighbouring pixels.

The embreex package casts rays one by one. The Embree library inside its wheel can do more: coherent packets
trace the pixels of a camera four times as fast, and its scenes share our arrays instead of copying them in
Python. So that library is called directly, from compiled code, after it has proved on a triangle that it does
what we expect; where it is not found or fails, embreex's own calls are used (`HM3DM3_PACKETS=0` forces that).
"""

from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import embreex
import llvmlite.binding as llvm
import numba
import numpy as np
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh
from numba import types

from hm3dm3_env.sim.base import Camera

LANES = 16
FAR = 1e37
_PATTERNS = ("embreex.libs/*embree4*.so*", "embreex/.dylibs/*embree4*.dylib", "embreex.libs/*embree4*.dll")
# Values of Embree 4's C interface
_DEVICE_VERSION, _TRIANGLE, _INDEX, _VERTEX, _UINT3, _FLOAT3, _ROBUST = 0, 0, 0, 1, 0x5003, 0x9003, 4
_COHERENT, _ALL_FEATURES = 1 << 16, 0xFFFFFFFF
# Rows of its packet of rays and hits, 16 numbers each
_ORIGIN, _NEAR, _DIRECTION, _TIME, _FAR, _MASK, _FLAGS, _U, _V, _TRIANGLE_ID, _GEOMETRY, _INSTANCE = (
    0, 3, 4, 7, 8, 9, 11, 15, 16, 17, 18, 19,
)  # fmt: skip
_ROWS = 24


@dataclass
class Hits:
    """What (N,) rays met: `triangle` int32 (-1: nothing), `distance` float32 in units of the directions, and
    `u`, `v` float32, the weights of the triangle's corners 1 and 2."""

    triangle: np.ndarray
    distance: np.ndarray
    u: np.ndarray
    v: np.ndarray


class Tracer:
    """Triangles (T, 3, 3) float32 that rays can be cast against. They are seen from both sides."""

    def __init__(self, triangles: np.ndarray) -> None:
        self._scratch: dict[str, np.ndarray] = {}
        self._packets = _PacketScene(triangles) if packets_work() else None
        if self._packets is None:
            self._scene = rtcore_scene.EmbreeScene()
            # referenced for as long as the scene lives
            self._mesh = TriangleMesh(self._scene, np.ascontiguousarray(triangles, np.float32))

    def cameras(self, rotations: np.ndarray, eyes: np.ndarray, camera: Camera, limit: float = FAR) -> Hits:
        """The hits of every pixel of K cameras, camera by camera and row by row.

        The arrays are the tracer's own and valid until its next call.

        Args:
            rotations: (K, 3, 3) from the camera's frame to the world's.
            eyes: (K, 3) positions, metres.
            limit: rays end there; what is farther is not hit.
        """
        count = len(eyes) * camera.height * camera.width
        if self._packets is None:
            local = camera.rays().reshape(-1, 3)
            directions = (local[None] @ rotations.transpose(0, 2, 1)).reshape(-1, 3)
            return self.rays(np.repeat(eyes, len(local), 0), directions, limit)
        if len(self._scratch.get("triangle", ())) < count:
            self._scratch = {name: np.empty(count, np.float32) for name in ("distance", "u", "v")}
            self._scratch["triangle"] = np.empty(count, np.int32)
        hits = Hits(**{name: array[:count] for name, array in self._scratch.items()})
        scene = self._packets
        _trace_cameras(
            scene.address, scene.coherent, scene.packet, scene.valid, rotations, eyes, camera.width,
            camera.height, camera.focal, np.float32(limit), hits.triangle, hits.distance, hits.u, hits.v,
        )  # fmt: skip
        return hits

    def rays(self, origins: np.ndarray, directions: np.ndarray, limit: float = FAR) -> Hits:
        """The hits of loose rays (N, 3) and (N, 3), in fresh arrays."""
        origins = np.ascontiguousarray(origins, np.float32)
        directions = np.ascontiguousarray(directions, np.float32)
        if self._packets is None:
            found = self._scene.run(origins, directions, output=1, dists=float(limit))
            return Hits(found["primID"], found["tfar"], found["u"], found["v"])
        return self._packets.rays(origins, directions, limit)


class _PacketScene:
    """An Embree scene made through its C interface. Embree reads our arrays, so they live as long as it."""

    def __init__(self, triangles: np.ndarray) -> None:
        library, count = _library(), len(triangles)
        assert library is not None
        self.corners = np.zeros(9 * count + 4, np.float32)  # Embree reads 16 bytes of the last corner as well
        self.corners[: 9 * count] = triangles.reshape(-1)
        self.order = np.arange(3 * count, dtype=np.uint32)
        self.packet, self.valid = _aligned((_ROWS, LANES), np.float32), _aligned((LANES,), np.int32)
        self._arguments = [_aligned((LANES,), np.uint32) for _ in range(2)]
        for arguments, flags in zip(self._arguments, (0, _COHERENT)):
            arguments[:2] = flags, _ALL_FEATURES
        self.loose, self.coherent = (array.ctypes.data for array in self._arguments)
        device = _device(os.getpid())
        self.address = library.rtcNewScene(device)
        library.rtcSetSceneFlags(self.address, _ROBUST)  # no gaps between neighbouring triangles
        geometry = library.rtcNewGeometry(device, _TRIANGLE)
        corners, order = self.corners.ctypes.data, self.order.ctypes.data
        library.rtcSetSharedGeometryBuffer(geometry, _VERTEX, 0, _FLOAT3, corners, 0, 12, 3 * count)
        library.rtcSetSharedGeometryBuffer(geometry, _INDEX, 0, _UINT3, order, 0, 12, count)
        library.rtcCommitGeometry(geometry)
        library.rtcAttachGeometry(self.address, geometry)
        library.rtcReleaseGeometry(geometry)
        library.rtcCommitScene(self.address)
        weakref.finalize(self, library.rtcReleaseScene, self.address)
        error = library.rtcGetDeviceError(device)
        if error:
            raise MemoryError(f"Embree could not take {count} triangles (error {error})")

    def rays(self, origins: np.ndarray, directions: np.ndarray, limit: float) -> Hits:
        """See `Tracer.rays`."""
        count = len(origins)
        hits = Hits(np.empty(count, np.int32), *(np.empty(count, np.float32) for _ in range(3)))
        _trace_rays(
            self.address, self.loose, self.packet, self.valid, origins, directions,
            np.float32(limit), hits.triangle, hits.distance, hits.u, hits.v,
        )  # fmt: skip
        return hits


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros whose address Embree's vector loads accept."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


@cache
def _library() -> ctypes.CDLL | None:
    """Embree's library from the embreex wheel, if it is there and works."""
    if os.environ.get("HM3DM3_PACKETS") == "0":
        return None
    root = Path(embreex.__file__).parents[1]
    found = [path for pattern in _PATTERNS for path in sorted(root.glob(pattern))]
    if not found:
        return None
    try:
        llvm.load_library_permanently(str(found[0]))  # compiled code finds rtcIntersect16 by its name
        library = ctypes.CDLL(str(found[0]))
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        for name, result, arguments in (
            ("rtcNewDevice", pointer, [ctypes.c_char_p]),
            ("rtcGetDeviceProperty", ctypes.c_ssize_t, [pointer, ctypes.c_int]),
            ("rtcGetDeviceError", ctypes.c_int, [pointer]),
            ("rtcNewScene", pointer, [pointer]),
            ("rtcSetSceneFlags", None, [pointer, ctypes.c_int]),
            ("rtcNewGeometry", pointer, [pointer, ctypes.c_int]),
            ("rtcSetSharedGeometryBuffer", None,
             [pointer, ctypes.c_int, ctypes.c_uint, ctypes.c_int, pointer, size, size, size]),
            ("rtcCommitGeometry", None, [pointer]),
            ("rtcAttachGeometry", ctypes.c_uint, [pointer, pointer]),
            ("rtcReleaseGeometry", None, [pointer]),
            ("rtcCommitScene", None, [pointer]),
            ("rtcReleaseScene", None, [pointer]),
            ("rtcIntersect16", None, [pointer] * 4),
        ):  # fmt: skip
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError, RuntimeError):
        return None
    return library


@cache
def packets_work() -> bool:
    """Whether packets can be used: of another version of Embree, the numbers above may be wrong."""
    library = _library()
    if library is None:
        return False
    version = library.rtcGetDeviceProperty(_device(os.getpid()), _DEVICE_VERSION)
    if not 40000 <= version < 50000:
        return False
    scene = _PacketScene(np.array([[[9, 9, 9]] * 3, [[0, 0, -2], [4, 0, -2], [0, 4, -2]]], np.float32))
    targets = np.array([[1, 2, -2], [1, 2, -2], [5, 5, -2]], np.float32)  # met, met too far away, and missed
    found: list[tuple[int, float]] = []
    for target, limit in zip(targets, (FAR, 0.5, FAR)):
        hits = scene.rays(np.zeros((1, 3), np.float32), target[None], limit)
        found.append((int(hits.triangle[0]), float(hits.distance[0])))
        if len(found) == 1 and not np.allclose([hits.u[0], hits.v[0]], [0.25, 0.5], atol=1e-5):
            return False
    return found[0] == (1, 1.0) and found[1][0] == found[2][0] == -1


@cache
def _device(process: int) -> int:
    """This process's Embree device: a fork must not use its parent's, whose threads it lacks."""
    library = _library()
    assert library is not None
    return library.rtcNewDevice(None)


_intersect = types.ExternalFunction("rtcIntersect16", types.void(*[types.intp] * 4))


@numba.njit(cache=True, nogil=True)
def _begin(packet, integers):
    """What every ray of a packet has, and Embree leaves as it is."""
    for i in range(packet.shape[1]):
        packet[_NEAR, i] = packet[_TIME, i] = 0
        integers[_MASK, i], integers[_FLAGS, i], integers[_INSTANCE, i] = -1, 0, -1


@numba.njit(cache=True, nogil=True)
def _trace_cameras(scene, arguments, packet, valid, rotations, eyes, width, height, focal, limit,
                   triangle, distance, u, v) -> None:
    """Fill the hits of all cameras, in tiles of 4 x 4 pixels."""
    integers = packet.view(np.int32)
    _begin(packet, integers)
    for k in range(rotations.shape[0]):
        turn = rotations[k]
        for i in range(LANES):
            for c in range(3):
                packet[_ORIGIN + c, i] = eyes[k, c]
        for top in range(0, height, 4):
            for left in range(0, width, 4):
                for i in range(LANES):
                    row, column = top + i // 4, left + i % 4
                    valid[i] = -1 if row < height and column < width else 0
                    x, y = (column + 0.5 - width / 2) / focal, (height / 2 - row - 0.5) / focal
                    for c in range(3):
                        packet[_DIRECTION + c, i] = turn[c, 0] * x + turn[c, 1] * y - turn[c, 2]
                    packet[_FAR, i] = limit
                    integers[_TRIANGLE_ID, i] = integers[_GEOMETRY, i] = -1
                _intersect(valid.ctypes.data, scene, packet.ctypes.data, arguments)
                for i in range(LANES):
                    row, column = top + i // 4, left + i % 4
                    if row < height and column < width:
                        n = (k * height + row) * width + column
                        triangle[n], distance[n] = integers[_TRIANGLE_ID, i], packet[_FAR, i]
                        u[n], v[n] = packet[_U, i], packet[_V, i]


@numba.njit(cache=True, nogil=True)
def _trace_rays(scene, arguments, packet, valid, origins, directions, limit,
                triangle, distance, u, v) -> None:
    """Fill the hits of loose rays, 16 at a time."""
    integers = packet.view(np.int32)
    _begin(packet, integers)
    count = origins.shape[0]
    for first in range(0, count, LANES):
        for i in range(LANES):
            n = min(first + i, count - 1)
            valid[i] = -1 if first + i < count else 0
            for c in range(3):
                packet[_ORIGIN + c, i], packet[_DIRECTION + c, i] = origins[n, c], directions[n, c]
            packet[_FAR, i] = limit
            integers[_TRIANGLE_ID, i] = integers[_GEOMETRY, i] = -1
        _intersect(valid.ctypes.data, scene, packet.ctypes.data, arguments)
        for i in range(min(LANES, count - first)):
            n = first + i
            triangle[n], distance[n] = integers[_TRIANGLE_ID, i], packet[_FAR, i]
            u[n], v[n] = packet[_U, i], packet[_V, i]
