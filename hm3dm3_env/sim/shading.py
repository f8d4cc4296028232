"""Turn ray hits into pixels: the numba kernels behind the embedded renderer.

Textures are sampled bilinearly from a mip level chosen by distance: without mip levels, far textures
sparkle; with numpy instead of numba, shading costs more than the rays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from PIL import Image

from hm3dm3_env.sim.tracing import Hits

MAX_LEVELS = 12
_LAST, _SQRT2 = MAX_LEVELS - 1, np.float32(np.sqrt(2.0))


@dataclass
class Textures:
    """All textures of a scene with their mip pyramids in one flat array.

    Attributes:
        pixels: (P, 3) uint8 sRGB texels of every level of every image.
        offset, width, height: (I, MAX_LEVELS) int64; levels past the last repeat it.
    """

    pixels: np.ndarray
    offset: np.ndarray
    width: np.ndarray
    height: np.ndarray

    @classmethod
    def of(cls, images: list[np.ndarray]) -> Textures:
        """The pyramids of (H, W, 3) uint8 images."""
        count = max(len(images), 1)
        offset = np.zeros((count, MAX_LEVELS), np.int64)
        width, height = np.ones((count, MAX_LEVELS), np.int64), np.ones((count, MAX_LEVELS), np.int64)
        levels: list[np.ndarray] = [np.zeros((1, 3), np.uint8)]
        position = 1
        for i, image in enumerate(images):
            level = Image.fromarray(image)
            for k in range(MAX_LEVELS):
                if k and max(level.size) > 1:
                    level = level.resize(
                        (max(level.width // 2, 1), max(level.height // 2, 1)), Image.Resampling.BOX
                    )
                if k == 0 or (width[i, k - 1], height[i, k - 1]) != level.size:
                    levels.append(np.asarray(level).reshape(-1, 3))
                    offset[i, k] = position
                    position += len(levels[-1])
                else:
                    offset[i, k] = offset[i, k - 1]
                width[i, k], height[i, k] = level.size
        return cls(np.concatenate(levels), offset, width, height)


def texel_density(triangles: np.ndarray, uv: np.ndarray, material: np.ndarray, image_of: np.ndarray,
                  textures: Textures) -> np.ndarray:
    """(T,) float32: texels a metre on each triangle, from its areas in texels and in square metres."""
    edges = triangles[:, 1:] - triangles[:, :1]
    world = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    flat = uv[:, 1:] - uv[:, :1]
    image = np.maximum(image_of[material], 0)
    texels = textures.width[image, 0] * textures.height[image, 0]
    area = np.abs(flat[:, 0, 0] * flat[:, 1, 1] - flat[:, 0, 1] * flat[:, 1, 0]) * texels
    return np.sqrt(np.maximum(area, 1e-12) / np.maximum(world, 1e-12)).astype(np.float32)


def light(triangles: np.ndarray, lit: bool) -> np.ndarray:
    """(T,) float32 brightness of each triangle (ours): a soft sky, one direction, the same on both sides.

    Scans carry their light in the texture, so they get 1 everywhere.
    """
    if not lit:
        return np.ones(len(triangles), np.float32)
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    sun = np.array([0.45, 0.80, 0.40]) / np.linalg.norm([0.45, 0.80, 0.40])
    return (0.66 + 0.26 * np.abs(normal @ sun) + 0.08 * np.abs(normal[:, 0])).astype(np.float32)


def limit_depth(hits: Hits, low: float, high: float, depth: np.ndarray) -> None:
    """Fill (N,) float32 `depth`: the distance of the hits where it is between the limits, else 0."""
    _limit(hits.distance, low, high, depth)


@numba.njit(cache=True, nogil=True)
def _limit(distance, low, high, depth) -> None:
    for i in range(distance.shape[0]):
        d = distance[i]
        depth[i] = d if low <= d <= high else np.float32(0)


@numba.njit(cache=True, nogil=True)
def shade(hit, u, v, depth, pixel_size, uv, material, base, image_of, bright, density,
          pixels, offset, width, height, sky, out) -> None:
    """Fill `out` (N, 3) uint8: base colour x texture x light for each hit triangle, `sky` where none is.

    `pixel_size` is the width of a pixel at 1 m in metres; the mip level is the nearest to log2(texels a pixel
    covers).
    """
    one, half, full = np.float32(1), np.float32(0.5), np.float32(255)  # doubles would cost twice as much
    pixel_size = np.float32(pixel_size)
    for i in range(hit.shape[0]):
        t = hit[i]
        if t < 0:
            out[i, 0], out[i, 1], out[i, 2] = sky[0], sky[1], sky[2]
            continue
        m = material[t]
        image = image_of[m]
        shine = bright[t]
        if image < 0:
            for c in range(3):
                out[i, c] = np.uint8(min(255.0, base[m, c] * shine * 255.0))
            continue
        a, b = u[i], v[i]
        rest = one - a - b
        s = uv[t, 0, 0] * rest + uv[t, 1, 0] * a + uv[t, 2, 0] * b
        w = uv[t, 0, 1] * rest + uv[t, 1, 1] * a + uv[t, 2, 1] * b
        covered, level = density[t] * depth[i] * pixel_size, 0  # texels that the pixel covers, along one axis
        while covered > _SQRT2 and level < _LAST:
            covered *= half
            level += 1
        wide, high, start = width[image, level], height[image, level], offset[image, level]
        x, y = (s - np.floor(s)) * np.float32(wide) - half, (w - np.floor(w)) * np.float32(high) - half
        left, upper = np.floor(x), np.floor(y)
        x0, y0 = int(left), int(upper)  # -1 .. size - 1: textures repeat
        fx, fy = x - left, y - upper
        xa, xb = (x0 if x0 >= 0 else wide - 1), (x0 + 1 if x0 + 1 < wide else 0)
        ya, yb = (y0 if y0 >= 0 else high - 1), (y0 + 1 if y0 + 1 < high else 0)
        ya, yb = start + ya * wide, start + yb * wide
        for c in range(3):
            top = np.float32(pixels[ya + xa, c]) * (one - fx) + np.float32(pixels[ya + xb, c]) * fx
            low = np.float32(pixels[yb + xa, c]) * (one - fx) + np.float32(pixels[yb + xb, c]) * fx
            out[i, c] = np.uint8(min(full, (top * (one - fy) + low * fy) * base[m, c] * shine))
