"""Fixtures that several files share: a data root with one tiny scene and a split over it."""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the tests are small: more threads only cost time

import tempfile  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from hm3dm3_env.env import EnvConfig, HM3DM3ParallelEnv, parallel_env  # noqa: E402
from hm3dm3_env.episodes.generate import GenerateConfig, generate  # noqa: E402
from hm3dm3_env.episodes.schema import Episode, load_split  # noqa: E402
from hm3dm3_env.record import EpisodeRecord  # noqa: E402
from hm3dm3_env.sim.base import Camera  # noqa: E402
from hm3dm3_env.sim.embedded import EmbeddedSimulator  # noqa: E402
from hm3dm3_env.vlm.session import EpisodeVlm, VlmChoice  # noqa: E402
from policies import rollout  # noqa: E402
from policies.base import TeamPolicy  # noqa: E402
from policies.eyes import EyesConfig, make_eyes  # noqa: E402
from policies.rollout import BRIEF  # noqa: E402
from tests.rooms import write_two_rooms  # noqa: E402

_cache = tempfile.TemporaryDirectory(prefix="hm3dm3-tests-")
os.environ["HM3DM3_CACHE"] = _cache.name  # never the user's own

settings.register_profile(
    "tests", deadline=None, derandomize=True
)  # the same on a busy machine and a fast one
settings.load_profile("tests")

SMALL = {"width": 36, "height": 64}
"""Camera for tests in which pictures only have to be there."""


def flat(value: Any) -> list[bytes]:
    """Everything in nested dicts of arrays and numbers, as bytes in order."""
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in (key.encode(), *flat(value[key]))]
    if isinstance(value, tuple):
        return [part for item in value for part in flat(item)]
    return [np.asarray(value).tobytes()]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root: the two rooms under scenes/rooms, and the split "rooms" with 9 episodes."""
    root = tmp_path_factory.mktemp("data")
    write_two_rooms(root / "scenes" / "rooms")
    generate(GenerateConfig(split="rooms", scenes="rooms", data=str(root), houses=1, episodes=9, workers=1))
    return root


@pytest.fixture(scope="session")
def rooms_scene(data: Path) -> Path:
    """The folder of the two rooms."""
    return next(path for path in (data / "scenes" / "rooms").iterdir() if path.is_dir())


@pytest.fixture(scope="session")
def rooms_sim(rooms_scene: Path) -> EmbeddedSimulator:
    """A simulator with the two rooms loaded; tests must not load anything else into it."""
    sim = EmbeddedSimulator()
    sim.load(rooms_scene)
    return sim


@pytest.fixture
def make_env(data: Path) -> Callable[..., HM3DM3ParallelEnv]:
    """Environments over the split "rooms" with small frames."""

    def make(render_mode: str | None = None, **config: Any) -> HM3DM3ParallelEnv:
        return parallel_env(render_mode, **{"split": "rooms", "data": str(data), "camera": SMALL, **config})

    return make


@pytest.fixture(scope="session")
def rooms_episodes(data: Path) -> list[Episode]:
    """The episodes of the split "rooms"."""
    return load_split(data, "rooms")


@pytest.fixture(scope="session")
def play_rooms(data: Path, rooms_episodes: list[Episode]) -> Callable[..., EpisodeRecord]:
    """Plays one episode of the split "rooms" with a policy, and small frames."""
    environments: dict[Any, tuple[HM3DM3ParallelEnv, Any]] = {}

    def run(
        policy: TeamPolicy,
        index: int = 0,
        seed: int = 0,
        eyes: EyesConfig | None = None,
        watch: Any = None,
        keys: tuple[str, ...] = BRIEF.keys,
        vlm: VlmChoice | None = None,
    ) -> EpisodeRecord:
        eyes = eyes or EyesConfig()
        kind = eyes, keys, rollout.sees_by_vlm(policy)
        if kind not in environments:
            made = make_eyes(eyes)
            observation = replace(BRIEF, keys=keys)
            config = EnvConfig(split="rooms", data=str(data), camera=Camera(**SMALL), observation=observation)
            environments[kind] = (rollout.make_env(config, *made, policy), made)
        env, made = environments[kind]
        asked = None if vlm is None else EpisodeVlm(vlm)
        return rollout.play(env, policy, rooms_episodes[index], made, "test", seed, watch, vlm=asked)

    return run


@pytest.fixture(scope="session")
def houses(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data root with two generated houses and the split "train": two episodes each."""
    folder = tmp_path_factory.mktemp("houses")
    generate(GenerateConfig(split="train", houses=2, episodes=4, data=str(folder), workers=1))
    return str(folder)


@pytest.fixture(scope="session")
def collect_config(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A `DatasetConfig`: at least 24 samples, one episode a shard, in this process."""
    from train.dataset import DatasetConfig  # torch comes with it

    return DatasetConfig(
        size=24, out=str(tmp_path_factory.mktemp("samples") / "set"), data=str(data), split="rooms",
        episodes_per_shard=1, workers=1, camera=Camera(36, 64),
    )  # fmt: skip


@pytest.fixture(scope="session")
def samples(collect_config: Any) -> Path:
    """The data set of `collect_config`."""
    from train.dataset import collect

    return collect(collect_config)
