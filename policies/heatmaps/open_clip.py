"""Heat from pretrained models: CLIP and its kin, through open_clip.

Each strip of a frame has a few crops; all crops of all robots of a step go through the image tower in shared
passes. A category is embedded through sentences around it, a description as it is, a photo by the image
tower: image goals are compared image to image, the others text to image. Cosines are stretched to 0..1 by
bounds of the config, which differ for the two kinds because images are far more alike to each other than to
any text.

Shapes: n frames of a step, M goals, c crops of a strip, D numbers of an embedding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from math import ceil

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hm3dm3_env.episodes.english import noun
from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Frame
from policies.heatmaps.config import EncoderError, OpenClipConfig
from policies.heatmaps.open_clip_models import load_clip
from policies.recent import Recent
from policies.weights import casting


class OpenClipEncoder:
    """`Encoder` that looks at the colours and knows nothing of the scene."""

    needs_semantic, needs_rgb = False, True

    def __init__(self, config: OpenClipConfig | None = None) -> None:
        """Load the model.

        Raises:
            EncoderError: see `load_clip`.
        """
        self.config = config or OpenClipConfig()
        self._clip = load_clip(self.config)
        self.name = self.space = self._clip.name
        self.goal_image = max(self._clip.side)
        self.min_width = ceil(self.config.min_crop / self.config.crop)
        self._mean, self._deviation = (
            torch.tensor(v, device=self._clip.device).view(1, 3, 1, 1)
            for v in (self._clip.mean, self._clip.deviation)
        )
        self._known: Recent[np.ndarray] = Recent(self.config.cache)
        self._goals: np.ndarray | None = None

    def reset(self, goals: Sequence[TeamGoal], seed: int, truth: Privileged | None) -> None:
        """Embed the goals, or remember them from an earlier episode. Neither the seed nor the truth is used.

        Raises:
            EncoderError: an image goal without its image.
        """
        config = self.config
        self._goals = np.stack([self._goal(goal) for goal in goals])
        images = np.array([goal.modality == "IIN" for goal in goals])
        self._low = np.where(images, config.image_low, config.text_low)
        self._high = np.where(images, config.image_high, config.text_high)

    def embeddings(self) -> np.ndarray:
        """(M, D) float32, of length 1."""
        assert self._goals is not None, "reset comes first"
        return self._goals

    def similarity(self, frames: Sequence[Frame], strips: int) -> np.ndarray:
        """(n, M, strips): the largest similarity among a strip's crops."""
        goals = self.embeddings()
        crops: list[np.ndarray] = []
        for frame in frames:
            assert frame.rgb is not None, "the open_clip encoder needs an environment whose frames have rgb"
            crops += cut(frame.rgb, strips, self.config.crop, self.config.rows)
        cosines = (self.images(crops) @ goals.T).reshape(len(frames), strips, self.config.rows, len(goals))
        best = cosines.max(2).transpose(0, 2, 1)
        low, high = self._low[:, None], self._high[:, None]
        return np.clip((best - low) / (high - low), 0.0, 1.0)

    def images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """(N, D) float32 embeddings of length 1 of N images (H, W, 3) uint8 of any size."""
        found = [np.zeros((0, self._width()), np.float32)] if not images else []
        for start in range(0, len(images), self.config.batch):
            found.append(self._images(images[start : start + self.config.batch]))
        return np.concatenate(found)

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """(N, D) float32 embeddings of length 1; what is longer than the model's context is cut."""
        clip = self._clip
        tokens = clip.tokenizer(list(texts)).to(clip.device)
        return self._run(lambda: clip.model.encode_text(tokens))  # type: ignore[operator]

    def _images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        clip = self._clip
        rows = []
        for group in _runs(images):  # images of one size are resized together
            x = torch.from_numpy(np.stack(group)).to(clip.device).permute(0, 3, 1, 2).float()
            small = functional.interpolate(
                x, clip.side, mode=clip.interpolation, align_corners=False, antialias=True
            )
            rows.append(small.clamp(0, 255) / 255)
        x = (torch.cat(rows) - self._mean) / self._deviation
        return self._run(lambda: clip.model.encode_image(x))  # type: ignore[operator]

    def _run(self, encode: Callable[[], Tensor]) -> np.ndarray:
        with torch.inference_mode(), casting(self._clip.device, self.config.precision):
            vectors = encode()
        return functional.normalize(vectors.float(), dim=-1).cpu().numpy()

    def _width(self) -> int:
        return 0 if self._goals is None else self._goals.shape[1]

    def _goal(self, goal: TeamGoal) -> np.ndarray:
        """(D,) of one goal. Goals are embedded one by one, so that the last bits do not depend on which
        others were in the episode or in the cache."""
        key: Hashable = (goal.modality, goal.text)
        if goal.modality == "IIN":
            if goal.image is None:
                raise EncoderError("an image goal came without its image; the open_clip encoder needs it")
            key = (goal.image.shape, hashlib.sha256(goal.image.tobytes()).digest())
        return self._known.of(key, lambda: self._embed(goal))

    def _embed(self, goal: TeamGoal) -> np.ndarray:
        if goal.modality == "IIN":
            assert goal.image is not None
            return self.images([goal.image])[0]
        if goal.modality == "ON":
            words = noun(goal.text).some()
            mean = self.texts([t.replace("{}", words) for t in self.config.templates]).mean(0)
            return mean / np.linalg.norm(mean)
        return self.texts([goal.text])[0]


def cut(rgb: np.ndarray, strips: int, crop: float, rows: int) -> list[np.ndarray]:
    """The crops of a frame (H, W, 3): `rows` from top to bottom for each strip from left to right.

    Each is `crop` of the frame's width (at least the strip) and spread evenly, so that it holds its strip;
    and as high as the frame divided by `rows`, or as its own width where that is more.
    """
    height, width = rgb.shape[:2]
    wide = min(max(round(crop * width), ceil(width / strips), 1), width)
    high = min(max(ceil(height / rows), wide), height)
    lefts, tops = _spread(width - wide, strips), _spread(height - high, rows)
    return [rgb[top : top + high, left : left + wide] for left in lefts for top in tops]


def _spread(room: int, count: int) -> list[int]:
    """`count` whole numbers from 0 to `room`, evenly; the middle for one."""
    return [room // 2] if count == 1 else [round(i * room / (count - 1)) for i in range(count)]


def _runs(images: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Images in order, in groups of neighbours of one size."""
    groups: list[list[np.ndarray]] = []
    for image in images:
        if groups and groups[-1][0].shape == image.shape:
            groups[-1].append(image)
        else:
            groups.append([image])
    return groups
