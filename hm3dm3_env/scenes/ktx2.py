"""Basis-compressed textures, as in HM3D's `.basis.glb`: KTX2 or .basis files, with ETC1S or UASTC blocks.

They are decoded by the package `opengl-basisu`, an optional dependency (`pip install hm3dm3[basis]`); it
wraps the transcoder of the format's makers. Only when textures are needed: geometry and ids need none.

HM3D's files name .basis images by the extension GOOGLE_texture_basis, and store the bottom row first, because
habitat-sim's importer expects them so. KTX2 images start at the top, as glTF demands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hm3dm3_env.scenes.gltf import GlbError

_KTX2, _BASIS = b"\xabKTX 20\xbb\r\n\x1a\n", b"sB"
_BASIS_HEADER = 77
"""Bytes of the header of a .basis file."""


def is_basis(data: bytes) -> bool:
    """Whether an image is in a KTX2 or .basis file."""
    return data[: len(_KTX2)] == _KTX2 or (data[:2] == _BASIS and len(data) >= _BASIS_HEADER)


def size(data: bytes) -> tuple[int, int]:
    """(width, height), or (0, 0) where it takes the decoder and that is not installed.

    Raises:
        GlbError: the header is damaged.
    """
    if data[: len(_KTX2)] == _KTX2:
        if len(data) < 80:
            raise GlbError(f"is a truncated KTX2 file ({len(data)} bytes)")
        return int.from_bytes(data[20:24], "little"), int.from_bytes(data[24:28], "little")
    try:
        texture = _open(data)
    except ImportError:
        return 0, 0
    return texture.width, texture.height


def decode(data: bytes) -> np.ndarray:
    """(H, W, 3) uint8 sRGB pixels of the largest level, top row first.

    Raises:
        GlbError: damaged, or the decoder is not installed.
    """
    try:
        texture = _open(data)
        pixels = texture.transcode("rgba8").data[..., :3]
    except ImportError as error:
        raise GlbError("is Basis compressed, which takes a decoder: pip install hm3dm3[basis], or take the "
                       "plain .glb download hm3d-<split>-glb") from error
    except ValueError as error:
        raise GlbError(f"cannot be decoded ({error}); download the scene again") from error
    # Not only where the file says that it was flipped: a picture may have been turned before it was packed.
    return np.ascontiguousarray(pixels[::-1] if data[:2] == _BASIS else pixels)


def _open(data: bytes) -> Any:
    import opengl_basisu  # optional

    try:
        return opengl_basisu.open(data)
    except ValueError as error:
        raise GlbError(f"is damaged ({error}); download the scene again") from error
