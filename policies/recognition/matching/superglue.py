"""SuperPoint and SuperGlue, the paper's, through transformers.

The published weights (Magic Leap's) may be used for non-commercial research only; they are not part of this
package, and come from the hub or from a folder. Use another matcher for anything else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torchvision.transforms.v2 import functional
from transformers import SuperGlueForKeypointMatching

from policies.recognition.config import WHERE, MatchingConfig
from policies.recognition.hub import load_pretrained
from policies.recognition.matching.base import (
    NONE,
    Features,
    Matches,
    device_of,
    picked,
    stacked,
)  # fmt: skip
from policies.weights import casting

_NOTE = "its licence allows non-commercial research only; matching.kind=xfeat needs no download"


class SuperGlueMatcher:
    """`Matcher` that runs SuperPoint once an image, and SuperGlue once a pair."""

    def __init__(self, config: MatchingConfig) -> None:
        """Load both networks, which share a repository.

        Raises:
            RecognizerError: weights that cannot be had or are of another kind, or no such device.
        """
        self.config, self.device = config, device_of(config.device, f"{WHERE}.matching")
        chosen = config.superglue
        where = f"{WHERE}.matching.superglue.model"
        model = load_pretrained(SuperGlueForKeypointMatching, chosen.model, "superglue", where, _NOTE)
        model.config.sinkhorn_iterations = chosen.sinkhorn
        model.config.matching_threshold = chosen.confidence
        decoder = model.keypoint_detector.keypoint_decoder
        decoder.keypoint_threshold, decoder.nms_radius = chosen.threshold, chosen.nms
        decoder.max_keypoints = chosen.keypoints
        self._model = model.to(self.device)

    def features(self, images: Sequence[np.ndarray]) -> list[Features]:
        """See `Matcher`."""
        height, width = images[0].shape[:2]
        grey = functional.rgb_to_grayscale(stacked(images, self.device), num_output_channels=3)
        with torch.inference_mode(), casting(self.device, self.config.precision):
            found = self._model.keypoint_detector(grey)
        made = []
        scale = torch.tensor([width, height], device=self.device)
        for i in range(len(images)):
            real = found.mask[i] > 0
            points = found.keypoints[i][real].float() * scale
            data = {
                "keypoints": points,
                "scores": found.scores[i][real].float(),
                "descriptors": found.descriptors[i][real].float(),
            }
            made.append(Features(points.cpu().numpy(), (width, height), data))
        return made

    def match(self, a: Features, b: Features) -> Matches:
        """See `Matcher`."""
        if not len(a.points) or not len(b.points):
            return NONE
        most = max(len(a.points), len(b.points))

        def padded(key: str) -> torch.Tensor:
            rows = [each.data[key] for each in (a, b)]
            full = [torch.nn.functional.pad(r, (*[0, 0] * (r.ndim - 1), 0, most - len(r))) for r in rows]
            return torch.stack(full)[None]

        mask = torch.arange(most, device=self.device)[None] < torch.tensor(
            [[len(a.points)], [len(b.points)]], device=self.device
        )
        points = padded("keypoints")
        # SuperGlue takes one size for both images. It centres points and divides by 0.7 times the longer
        # side; what differs between the sizes is made up for before.
        (wide, high), (other, tall) = a.size, b.size
        points[0, 1] -= torch.tensor([other / 2, tall / 2], device=self.device)
        points[0, 1] *= max(wide, high) / max(other, tall)
        points[0, 1] += torch.tensor([wide / 2, high / 2], device=self.device)
        with torch.inference_mode(), casting(self.device, self.config.precision):
            pairs, confidence = self._model._match_image_pair(
                points, padded("descriptors"), padded("scores"), high, wide, mask=mask[None].int()
            )[:2]
        there = pairs[0, 0, : len(a.points)]
        sure = confidence[0, 0, : len(a.points)]
        good = torch.nonzero((there >= 0) & (there < len(b.points)) & (sure > 0))[:, 0]
        return picked(a, b, torch.stack([good, there[good].long()], 1), sure[good])
