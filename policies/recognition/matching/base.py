"""What a matcher is, and which there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import torch

from policies.recognition.config import EXTRA, WHERE, MatchingConfig, RecognizerError
from policies.weights import pick_device


@dataclass(frozen=True)
class Features:
    """Key points of one image, in the form of the matcher that found them.

    Attributes:
        points: (N, 2) float32 x and y in pixels of the image, best first.
        size: (width, height) of the image, pixels.
        data: tensors for `Matcher.match`.
    """

    points: np.ndarray
    size: tuple[int, int]
    data: dict[str, Any]


@dataclass(frozen=True)
class Matches:
    """Pairs of pixels that show the same: `a` and `b` (N, 2) float x and y, `confidence` (N,) 0..1."""

    a: np.ndarray
    b: np.ndarray
    confidence: np.ndarray

    def __len__(self) -> int:
        return len(self.confidence)

    def at(self, keep: np.ndarray) -> Matches:
        """Those at an index array or a mask."""
        return Matches(self.a[keep], self.b[keep], self.confidence[keep])


NONE = Matches(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))


class Matcher(Protocol):
    """Finds key points, and which of two images show the same."""

    def features(self, images: Sequence[np.ndarray]) -> list[Features]:
        """The key points of images (H, W, 3) uint8 of one size."""

    def match(self, a: Features, b: Features) -> Matches:
        """The matches of two images."""


@cache
def load_matcher(config: MatchingConfig) -> Matcher:
    """The matcher of a config, with its weights loaded; the same one for the same config.

    Raises:
        RecognizerError: packages that are missing, weights that cannot be had, or no such device.
    """
    try:
        import cv2  # noqa: F401  (matching.geometry needs it)

        if config.kind == "xfeat":
            from policies.recognition.matching.xfeat import XFeatMatcher

            return XFeatMatcher(config)
        if config.kind == "aliked_lightglue":
            from policies.recognition.matching.aliked import AlikedMatcher

            return AlikedMatcher(config)
        from policies.recognition.matching.superglue import SuperGlueMatcher

        return SuperGlueMatcher(config)
    except ImportError as error:
        raise RecognizerError(
            f"{WHERE}.matching.kind={config.kind} needs {error.name or 'a package'}: {EXTRA}"
        ) from error


def device_of(name: str, where: str) -> torch.device:
    """The torch device of a setting.

    Raises:
        RecognizerError: no such device here.
    """
    try:
        return pick_device(name)
    except ValueError as error:
        raise RecognizerError(f"{where}.{error}") from error


def stacked(images: Sequence[np.ndarray], device: torch.device) -> torch.Tensor:
    """(B, 3, H, W) float 0..1 of images (H, W, 3) uint8 of one size."""
    array = np.ascontiguousarray(np.stack(images))
    return torch.from_numpy(array).to(device).permute(0, 3, 1, 2).float() / 255


def picked(a: Features, b: Features, pairs: torch.Tensor, confidence: torch.Tensor) -> Matches:
    """Matches from (N, 2) indices of key points and (N,) confidences."""
    index, sure = pairs.cpu().numpy(), confidence.detach().float().cpu().numpy()
    return Matches(a.points[index[:, 0]].astype(float), b.points[index[:, 1]].astype(float), sure)
