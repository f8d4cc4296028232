"""A tiny model of open_clip's own classes, for the tests of the open_clip encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch

from hm3dm3_env.geometry import Pose
from hm3dm3_env.shared import TeamGoal
from hm3dm3_env.sim.base import Camera, Frame
from policies.heatmaps.config import OpenClipConfig
from policies.heatmaps.open_clip import OpenClipEncoder

NAME, SIDE, SIZE = "hm3dm3-tiny", 32, 16
CONFIG: dict[str, Any] = {
    "embed_dim": SIZE,
    "vision_cfg": {"image_size": SIDE, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}
RANDOM = OpenClipConfig(
    model=NAME, pretrained="", random=True, device="cpu", min_crop=8, text_low=-1.0, text_high=1.0,
    image_low=-1.0,
)  # fmt: skip


def register(folder: Path) -> None:
    """Make the model known to open_clip by its name."""
    path = folder / f"{NAME}.json"
    path.write_text(json.dumps(CONFIG))
    open_clip.add_model_config(path)


def save_weights(path: Path) -> Path:
    """Write a checkpoint of the tiny model, with weights of its own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        torch.save({"state_dict": open_clip.create_model(NAME).state_dict()}, path)
    return path


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), np.uint8)


def frame(rgb: np.ndarray) -> Frame:
    height, width = rgb.shape[:2]
    return Frame(Pose(0, 0, 0, 0), Camera(width, height), np.ones((height, width), np.float32), rgb)


def seeing(config: OpenClipConfig, *goals: TeamGoal) -> OpenClipEncoder:
    encoder = OpenClipEncoder(config)
    encoder.reset(goals or GOALS, 0, None)
    return encoder


GOALS = (
    TeamGoal("ON", "tv stand", None),
    TeamGoal("TN", "The red sofa beside the window in the living room.", None),
    TeamGoal("IIN", "", noise(SIDE, SIDE, seed=1)),
)
