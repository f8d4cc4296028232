"""Observations: a flat dict of bounded boxes for each robot, and the spaces they live in.

What each MARL library can take was tried (see docs/architecture.md): flat dictionaries, images height x
width x channels in uint8, no discrete or nested leaves, the same space for every robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from hm3dm3_env.episodes.schema import Goal
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.task import MAX_GOALS

MODALITIES = ("ON", "TN", "IIN")
KEYS = (
    "rgb",
    "depth",
    "pose",
    "alive",
    "team_poses",
    "team_alive",
    "map",
    "goal_modality",
    "goal_text",
    "goal_image",
    "goal_unresolved",
)
FAR = 1000.0
"""Bound of positions in observation spaces, metres (ours)."""


@dataclass(frozen=True)
class ObservationConfig:
    """Which keys an observation has, and their sizes (ours)."""

    keys: tuple[str, ...] = KEYS
    map_size: int = 64
    """Side of the egocentric map crop, pixels."""
    map_cell: float = 0.1
    """Metres a pixel of the crop."""
    text_bytes: int = 128
    """Bytes of a goal's UTF-8 text; longer texts are cut."""
    image_size: int = 64
    """Side of a goal image, pixels; the images of all goals stand side by side."""

    def __post_init__(self) -> None:
        if min(self.map_size, self.text_bytes, self.image_size) < 1 or self.map_cell <= 0:
            raise ValueError("observation: map_size, map_cell, text_bytes and image_size must be positive")


def observation_space(config: ObservationConfig, camera: Camera, agents: int) -> spaces.Dict:
    """The space of one robot.

    Raises:
        ValueError: an unknown key.
    """
    low = np.array([-FAR, -FAR, -FAR, -4, -4], np.float32)

    def unit(*shape: int) -> spaces.Box:
        return spaces.Box(0.0, 1.0, shape, np.float32)

    def image(*shape: int) -> spaces.Box:
        return spaces.Box(0, 255, shape, np.uint8)

    known = {
        "rgb": lambda: image(camera.height, camera.width, 3),
        "depth": lambda: spaces.Box(
            0.0, float(camera.max_depth), (camera.height, camera.width, 1), np.float32
        ),
        "pose": lambda: spaces.Box(low, -low, dtype=np.float32),
        "alive": lambda: unit(1),
        "team_poses": lambda: spaces.Box(
            np.tile(low, (agents, 1)), np.tile(-low, (agents, 1)), dtype=np.float32
        ),
        "team_alive": lambda: unit(agents),
        "map": lambda: image(config.map_size, config.map_size, 3),
        "goal_modality": lambda: unit(MAX_GOALS, len(MODALITIES)),
        "goal_text": lambda: image(MAX_GOALS, config.text_bytes),
        "goal_image": lambda: image(config.image_size, MAX_GOALS * config.image_size, 3),
        "goal_unresolved": lambda: unit(MAX_GOALS),
    }
    unknown = set(config.keys) - set(known)
    if unknown:
        raise ValueError(f"observation.keys: unknown {sorted(unknown)}; choose from {list(known)}")
    return spaces.Dict({key: known[key]() for key in config.keys})


def pose_vector(pose: Pose) -> np.ndarray:
    """(5,) float32 x, y, z, heading, pitch."""
    return np.array([pose.x, pose.y, pose.z, pose.heading, pose.pitch], np.float32)


def goal_arrays(
    config: ObservationConfig, goals: Sequence[Goal], images: Sequence[np.ndarray | None]
) -> dict[str, np.ndarray]:
    """Same for all robots and steps: modality, text and images of the goals, padded to M_max."""
    modality = np.zeros((MAX_GOALS, len(MODALITIES)), np.float32)
    text = np.zeros((MAX_GOALS, config.text_bytes), np.uint8)
    picture = np.zeros((config.image_size, MAX_GOALS * config.image_size, 3), np.uint8)
    for j, (goal, image) in enumerate(zip(goals, images)):
        modality[j, MODALITIES.index(goal.modality)] = 1
        data = goal.text.encode()[: config.text_bytes]
        text[j, : len(data)] = np.frombuffer(data, np.uint8)
        if image is not None:
            picture[:, j * config.image_size : (j + 1) * config.image_size] = image
    return {"goal_modality": modality, "goal_text": text, "goal_image": picture}


def observe(
    config: ObservationConfig,
    agent: int,
    agents: int,
    frame: Frame | None,
    camera: Camera,
    poses: Sequence[Pose],
    alive: Sequence[bool],
    unresolved: Sequence[bool],
    shared_map: SharedMap,
    goals: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The observation of robot `agent`, in fresh arrays. Robots beyond this episode's K get zeros."""
    here = agent < len(poses)
    shape = (camera.height, camera.width)
    team = np.zeros((agents, 5), np.float32)
    team[: len(poses)] = [pose_vector(p) for p in poses]
    living = np.zeros(agents, np.float32)
    living[: len(alive)] = alive
    left = np.zeros(MAX_GOALS, np.float32)
    left[: len(unresolved)] = unresolved
    made = {
        "rgb": lambda: (
            frame.rgb.copy()
            if frame is not None and frame.rgb is not None
            else np.zeros((*shape, 3), np.uint8)
        ),
        "depth": lambda: (frame.depth.copy() if frame is not None else np.zeros(shape, np.float32))[
            ..., None
        ],
        "pose": lambda: team[agent].copy(),
        "alive": lambda: living[agent : agent + 1].copy(),
        "team_poses": lambda: team,
        "team_alive": lambda: living,
        "map": lambda: (
            shared_map.crop(poses[agent], config.map_size, config.map_cell)
            if here
            else np.zeros((config.map_size, config.map_size, 3), np.uint8)
        ),
        "goal_unresolved": lambda: left,
    }
    return {key: made[key]() if key in made else goals[key].copy() for key in config.keys}
