"""Play one episode with a policy, and keep its record."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hm3dm3_env.env import EnvConfig, HM3DM3ParallelEnv
from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import json_bytes
from hm3dm3_env.observe import ObservationConfig
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.shared import SharedState
from hm3dm3_env.sim.base import Camera
from hm3dm3_env.vlm.session import EpisodeVlm, VlmChoice
from policies.base import TeamPolicy, TeamTask
from policies.eyes import Clock, shielded
from policies.heatmaps.base import Encoder
from policies.recognition.base import Recognizer

SMALL = Camera(width=54, height=96)
"""The benchmark's field of view with 3/20 of its pixels a side: what runs with simulated recognition use by
default."""


BRIEF = ObservationConfig(keys=("pose", "alive", "goal_unresolved"))
"""What policies that work on the shared state need of an observation: next to nothing, which keeps steps
cheap."""


def make_env(
    config: EnvConfig, recognizer: Recognizer, encoder: Encoder, policy: TeamPolicy | None = None
) -> HM3DM3ParallelEnv:
    """An environment that renders what the eyes need besides what the observation has, and what a policy that
    sees with a vision-language model needs.

    Raises:
        ValueError: the camera's frames are too narrow for the eyes.
    """
    camera = config.camera
    for eye in (recognizer, encoder):
        if camera.width < eye.min_width:
            raise ValueError(
                f"camera: {eye.name} needs frames of at least {eye.min_width} pixels across, not "
                f"{camera.width} x {camera.height}; set camera.width=360 camera.height=640 (the benchmark's)"
            )
    observation = config.observation
    by_vlm = sees_by_vlm(policy)
    if (recognizer.needs_rgb or encoder.needs_rgb or by_vlm) and "rgb" not in observation.keys:
        observation = replace(observation, keys=(*observation.keys, "rgb"))
    semantic = recognizer.needs_semantic or encoder.needs_semantic
    photo = max(config.goal_image or observation.image_size, recognizer.goal_image, encoder.goal_image)
    if by_vlm:
        photo = max(photo, getattr(policy, "goal_image", 0))
    return HM3DM3ParallelEnv(replace(config, observation=observation, semantic=semantic, goal_image=photo))


def sees_by_vlm(policy: TeamPolicy | None) -> bool:
    """Whether a policy's only eyes are a vision-language model."""
    return bool(getattr(policy, "recognises_by_vlm", False))


def asks_vlm(policy: TeamPolicy) -> bool:
    """Whether a policy asks a vision-language model."""
    return getattr(policy, "answers", None) is not None


def episode_seed(seed: int, episode: str) -> int:
    """The seed of everything random in one episode: depends on the run's seed and the episode's id only."""
    return int(np.random.SeedSequence([seed, zlib.crc32(episode.encode())]).generate_state(1)[0])


def play(
    env: HM3DM3ParallelEnv,
    policy: TeamPolicy,
    episode: Episode,
    eyes: tuple[Recognizer, Encoder],
    method: str,
    seed: int,
    watch: Callable[[SharedState], None] | None = None,
    clock: Clock | None = None,
    vlm: EpisodeVlm | None = None,
) -> EpisodeRecord:
    """Play `episode` to its end and return the record.

    Args:
        vlm: for policies that ask one; the simulated one, if none is given.
        watch: called with the team's knowledge before every step.
        clock: counts the time that decisions take.
    """
    recognizer, encoder = eyes
    own = episode_seed(seed, episode.id)
    env.begin(episode)
    shared = env.shared
    truth = env.privileged
    recognizer.reset(shared.goals, own, truth)
    encoder.reset(shared.goals, own, truth)
    clock = clock or Clock()
    told, sees = bool(policy.privileged), bool(getattr(policy, "sees", False))
    vlm = (vlm or EpisodeVlm(VlmChoice())) if asks_vlm(policy) else None
    if vlm is not None:
        vlm.begin(episode.id, own, policy.answers, truth)  # type: ignore[attr-defined]
    view = None if vlm is None else vlm.view()
    seeing = shielded(eyes, clock)
    policy.reset(TeamTask(shared, *seeing, _policy_rng(own), view, truth if told else None))
    while not env.rules.over:
        shared = env.shared
        if watch is not None:
            watch(shared)
        observations = env.observations()
        with clock.act():
            actions = policy.act(observations, shared)
        env.advance([actions.get(name, 0) for name in env.possible_agents])
    blind = told and not sees
    used = ("none", "none") if blind else (recognizer.name, encoder.name)
    said = policy.record()
    if vlm is not None:
        clock.vlm = vlm.seconds
        said = {**said, "vlm": {**vlm.record(), **said.get("vlm", {})}}
        if sees_by_vlm(policy):
            used, blind = (f"VLM {vlm.name}", "none"), True
    privileged = told or recognizer.privileged and not blind
    try:
        json_bytes(said)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{method}: record() must be JSON, with plain numbers and no NaN: {error}"
        ) from error
    return env.record(method, seed, privileged, used[0], said, used[1])


def _policy_rng(seed: int) -> np.random.Generator:
    """The policy's random numbers; they do not tell the episode's seed, from which the noise of simulated
    eyes could be worked out."""
    drawn = np.random.PCG64([seed, 31])
    digest = hashlib.sha256(f"policy {seed}".encode()).digest()
    hidden = np.random.PCG64(int.from_bytes(digest, "big"))  # what spawn starts from
    hidden.state = drawn.state
    return np.random.Generator(hidden)
