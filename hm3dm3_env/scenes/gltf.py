"""The container of binary glTF: chunks, buffers and accessors, with every count checked against the file."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

MAGIC, JSON_CHUNK, BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
_DTYPES: dict[int, Any] = {
    5120: np.int8,
    5121: np.uint8,
    5122: np.int16,
    5123: np.uint16,
    5125: np.uint32,
    5126: np.float32,
}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


class GlbError(ValueError):
    """A .glb file that cannot be read; the message names the file and what is wrong with it."""


class Container:
    """A .glb file's JSON `document`, and its binary parts as arrays.

    Raises:
        GlbError: not a glTF 2 binary, or truncated.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document, self._chunk = _chunks(path)
        self._buffers: dict[int, memoryview] = {}

    def fail(self, message: str) -> GlbError:
        """An error that names the file."""
        return GlbError(f"{self.path}: {message}")

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer: the file's own chunk, a data URI, or a file beside it."""
        if index not in self._buffers:
            spec = self.document["buffers"][index]
            if "uri" in spec:
                data = memoryview(self.uri(spec["uri"], f"buffer {index}"))
            elif index == 0 and self._chunk is not None:
                data = self._chunk
            else:
                raise self.fail(f"buffer {index} has no data; download it again")
            if len(data) < spec["byteLength"]:
                raise self.fail(f"truncated (buffer {index} has {len(data)} bytes of {spec['byteLength']}); "
                                "download it again")
            self._buffers[index] = data
        return self._buffers[index]

    def uri(self, uri: str, what: str) -> bytes:
        """The bytes behind a `data:` URI or a relative path beside the file."""
        if uri.startswith("data:"):
            head, _, body = uri.partition(",")
            try:
                return base64.b64decode(body, validate=True) if head.endswith(";base64") else (
                    unquote(body).encode("latin-1"))
            except (binascii.Error, UnicodeEncodeError) as error:
                raise self.fail(f"{what}: damaged data URI ({error})") from error
        name = unquote(uri)
        if "://" in name or Path(name).is_absolute() or ".." in Path(name).parts:
            raise self.fail(f"{what} is at {uri!r}; only files beside it can be read")
        try:
            return (self.path.parent / name).read_bytes()
        except OSError as error:
            message = f"{what} is in {name!r} beside it, which cannot be read ({error.strerror})"
            raise self.fail(message) from error

    def view(self, index: int) -> memoryview:
        """The bytes of a buffer view."""
        spec = self.document["bufferViews"][index]
        for name in ("EXT_meshopt_compression", "KHR_meshopt_compression"):
            if name in spec.get("extensions", {}):
                raise self.fail(f"is compressed with {name}; unpack it first, e.g. with glTF-Transform "
                                "('gltf-transform copy in.glb out.glb')")
        data, start, length = self.buffer(spec["buffer"]), spec.get("byteOffset", 0), spec["byteLength"]
        if start < 0 or length < 0 or start + length > len(data):
            raise self.fail(f"truncated (buffer view {index} ends at byte {start + length} of {len(data)})")
        return data[start : start + length]

    def accessor(self, index: int) -> np.ndarray:
        """(count, width) values; normalised integers as float32 in 0..1 or -1..1.

        Raises:
            GlbError: sparse, of another type, or beyond its buffer view.
        """
        spec = self.document["accessors"][index]
        if "sparse" in spec or "bufferView" not in spec:
            raise self.fail(f"accessor {index} is sparse or has no buffer view, which this reader lacks; "
                            "convert the file, e.g. with glTF-Transform ('gltf-transform copy')")
        if spec["componentType"] not in _DTYPES or spec["type"] not in _WIDTHS:
            raise self.fail(f"accessor {index} has the unknown type {spec['componentType']} {spec['type']}")
        dtype, width, count = np.dtype(_DTYPES[spec["componentType"]]), _WIDTHS[spec["type"]], spec["count"]
        view = self.view(spec["bufferView"])
        start, item = spec.get("byteOffset", 0), dtype.itemsize * width
        stride = self.document["bufferViews"][spec["bufferView"]].get("byteStride", 0) or item
        end = start + stride * (count - 1) + item if count else start
        if count < 0 or start < 0 or stride < item or end > len(view):
            raise self.fail(f"accessor {index} (count {count}, stride {stride}) does not fit its buffer view "
                            f"of {len(view)} bytes")
        array = np.ndarray((count, width), dtype, view, start, (stride, dtype.itemsize))
        if spec.get("normalized") and dtype.kind in "iu":
            return np.maximum(array.astype(np.float32) / np.iinfo(dtype).max, -1)
        return array


def _chunks(path: Path) -> tuple[dict[str, Any], memoryview | None]:
    if path.is_dir():
        raise GlbError(f"{path}: is a folder, not a .glb file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GlbError(f"{path}: cannot be read ({error.strerror})") from error
    if data.startswith(b"version https://git-lfs"):
        raise GlbError(f"{path}: is a git-lfs pointer, not the file; run 'git lfs pull' in its repository")
    if len(data) < 20 or struct.unpack_from("<I", data)[0] != MAGIC:
        raise GlbError(f"{path}: not a binary glTF file ({len(data)} bytes); download it again")
    version, total = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise GlbError(f"{path}: is binary glTF version {version}; only version 2 can be read")
    if total > len(data):
        raise GlbError(f"{path}: truncated ({len(data)} bytes of {total}); download it again")
    document, blob, offset, whole = None, None, 12, memoryview(data)
    while offset + 8 <= total:
        length, kind = struct.unpack_from("<II", data, offset)
        if offset + 8 + length > len(data):
            raise GlbError(f"{path}: truncated (a chunk of {length} bytes ends after the file); "
                           "download it again")
        chunk = whole[offset + 8 : offset + 8 + length]
        if kind == JSON_CHUNK and document is None:
            try:
                document = json.loads(bytes(chunk).rstrip(b"\0 "))  # some exporters fill up with zeros
            except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
                raise GlbError(f"{path}: damaged glTF ({error}); download it again") from error
        elif kind == BIN_CHUNK and blob is None:
            blob = chunk
        offset += 8 + length
    if not isinstance(document, dict):
        raise GlbError(f"{path}: damaged glTF (no JSON chunk with an object); download it again")
    return document, blob
