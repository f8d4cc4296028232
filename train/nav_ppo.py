"""PPO for the body for maps, with stable-baselines3 on the network that DAgger trained.

Each environment is a house with a team of which the first robot learns while the teacher drives the others.
The reward is OVON's: metres that the geodesic distance to the goal fell, a bonus for the goal, a little off
every step.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import SubprocVecEnv
from tqdm import tqdm

from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import json_bytes, sha256, write_atomic
from policies.navigation.map_network import DEPTH_SHAPE, MAP_ACTIONS, MapNetwork, MapNetworkConfig
from policies.navigation.map_policy import STOP, MapPolicy
from policies.navigation.surroundings import CHANNELS
from policies.weights import pick_device
from train.nav import NavConfig, PpoConfig, about, measure
from train.nav_data import SIDESTEP, fresh
from train.nav_task import SearchConfig, SearchTask
from train.tracking import Tracker

RECENT = 100
"""Searches over which the logged success runs."""


class SearchEnv(gymnasium.Env):
    """The first robot of a team looks for one goal after the other; an episode is one search. The house and
    its map stay until the team is out of actions or everything is found."""

    def __init__(self, search: SearchConfig, reward: PpoConfig, names: list[str], seed: int) -> None:
        """
        Args:
            search: `robots` says how large teams are.
            names: ids of the episodes to play, in an order drawn from `seed`.
        """
        torch.set_num_threads(1)
        config = MapNetworkConfig()
        crop = spaces.Box(0, 255, (len(CHANNELS), config.side, config.side), np.uint8)
        self.observation_space = spaces.Dict(
            near=crop,
            far=crop,
            depth=spaces.Box(0, 1, DEPTH_SHAPE, np.float32),
            goal=spaces.Box(-1, 1, (config.goal,), np.float32),
            previous=spaces.Box(-1, len(MAP_ACTIONS) - 1, (config.history,), np.int64),
        )
        self.action_space = spaces.Discrete(len(MAP_ACTIONS))
        self.reward, self.task = reward, SearchTask(search)
        self.policy = fresh(search)
        self.names, self.by_id = names, {e.id: e for e in self.task.env.episodes}
        self.draws = np.random.default_rng([seed, 45])
        self.fresh = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The next search, in the same house if it goes on."""
        super().reset(seed=seed)
        while self.fresh or self.task.over:
            episode: Episode = self.by_id[self.names[int(self.draws.integers(len(self.names)))]]
            self.task.begin(episode, self.policy, int(self.draws.integers(2**31)))
            self.fresh = False
        self._wait()
        if self.task.over:
            return self.reset()
        self.gap = self.task.distance(0)
        return self._observe(), {}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """One choice of the first robot; a look around is played to its end."""
        action = int(action)
        found = self._play(action)
        reward = self.reward.slack
        if found:
            return self._observe(), reward + self.reward.success, True, False, {"found": True}
        if action == STOP:
            reward += self.reward.look
        self._wait()
        now = self.task.distance(0)
        if np.isfinite(now) and np.isfinite(self.gap):
            reward += self.gap - now
        self.gap = now
        return self._observe(), float(reward), False, self.task.over, {"found": False}

    def _play(self, action: int | None) -> bool:
        """A step of the team; whether the first robot found its goal."""
        actions = {}
        for k in self.task.acting():
            if k == 0:
                assert action is not None
                actions[k] = action
            else:
                label = self.task.teacher(k)
                actions[k] = label if label >= 0 else SIDESTEP
        goal = self.task.goals[0]
        self.task.step(actions)
        return self.task.found[goal]

    def _wait(self) -> None:
        """Until the first robot has to choose; a teammate may find its goal meanwhile, then it has
        another."""
        while not self.task.over and 0 not in self.task.acting():
            self._play(None)

    def _observe(self) -> dict[str, np.ndarray]:
        return {name: value[0] for name, value in self.task.observe([0]).items()}


class MapFeatures(BaseFeaturesExtractor):
    """`MapNetwork` up to its heads."""

    def __init__(self, observation_space: spaces.Dict, network: MapNetwork) -> None:
        super().__init__(observation_space, network.config.width)
        self.network = network

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        """(n, D)"""
        return self.network.features(observations)


def fine_tune(config: NavConfig, episodes: list[Episode], held: list[Episode]) -> Path:
    """PPO from `start`; returns the checkpoint's path. A killed run goes on at its last update.

    Raises:
        ValueError: no `start`, or one that cannot be used.
    """
    if not config.start:
        raise ValueError("stage=ppo begins with the weights of stage=dagger; give start=<file>")
    out, ppo = Path(config.out), config.ppo
    log = out.parent / f"{out.stem}-log"
    policy = MapPolicy.load(config.start)
    search = replace(config.search, robots=config.search.robots or 2)
    key = sha256(json_bytes([asdict(config), sha256(Path(config.start).read_bytes())]))[:12]
    tracker = Tracker(log, out.stem, config.tracking, asdict(config))
    names = [episode.id for episode in episodes]
    makers: list[Callable[[], gymnasium.Env]] = [
        _Maker(search, ppo, names[i :: ppo.teams] or names, config.seed + i) for i in range(ppo.teams)
    ]
    env = SubprocVecEnv(makers, start_method="spawn")
    try:
        model, rows = _model(config, policy.network, env, log / f"{key}.zip")
        tracker.keep(rows)
        torch.set_num_threads(config.threads)
        watch = _Watch(ppo, tracker, log / f"{key}.zip")
        model.learn(ppo.steps - model.num_timesteps, watch, reset_num_timesteps=False)
        torch.set_num_threads(1)
    finally:
        env.close()
    extractor = model.policy.features_extractor
    assert isinstance(extractor, MapFeatures)
    network = extractor.network
    network.actor.load_state_dict(model.policy.action_net.state_dict())
    network.critic.load_state_dict(model.policy.value_net.state_dict())
    trained = MapPolicy(network.cpu().eval(), policy.space, policy.surroundings)
    result = {"steps": int(model.num_timesteps)}
    raw = log / f"{key}.pt"
    trained.save(raw, about(config) | result)
    for name, path in (("start", config.start), ("trained", str(raw))):
        result |= {f"{name}_{what}": value for what, value in measure(config, held, path, name).items()}
    trained.save(out, about(config) | result)
    tracker.close(over="step")
    print(f"checkpoint: {out}   curves: {log / 'curves.png'}")
    return out


class _Maker:
    """Makes one environment in its process (a lambda would not travel there)."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __call__(self) -> gymnasium.Env:
        return SearchEnv(*self.args)


def _model(
    config: NavConfig, network: MapNetwork, env: SubprocVecEnv, saved: Path
) -> tuple[PPO, list[dict[str, Any]]]:
    """A model with the network's weights, or the saved one with its log."""
    ppo, device = config.ppo, pick_device(config.device)
    if saved.exists():
        model = PPO.load(saved, env=env, device=device)
        return model, list(model.logged)  # type: ignore[attr-defined]
    model = PPO(
        "MultiInputPolicy",
        env,
        learning_rate=ppo.lr,
        n_steps=ppo.rollout,
        batch_size=min(ppo.batch, ppo.rollout * ppo.teams),
        n_epochs=ppo.epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip,
        ent_coef=ppo.entropy,
        vf_coef=ppo.value,
        max_grad_norm=0.2,
        seed=config.seed,
        device=device,
        policy_kwargs={
            "features_extractor_class": MapFeatures,
            "features_extractor_kwargs": {"network": network},
            "net_arch": [],
            "normalize_images": False,
            "ortho_init": False,
        },
    )
    model.policy.action_net.load_state_dict(network.actor.state_dict())
    model.policy.value_net.load_state_dict(network.critic.state_dict())
    return model, []


class _Watch(BaseCallback):
    """Progress bar, log, the critic's warm-up, and a save after every update."""

    def __init__(self, ppo: PpoConfig, tracker: Tracker, path: Path) -> None:
        super().__init__()
        self.ppo, self.tracker, self.path = ppo, tracker, path
        self.ended: deque[bool] = deque(maxlen=RECENT)
        self.rewards: list[float] = []

    def _on_training_start(self) -> None:
        self.bar = tqdm(total=self.ppo.steps, initial=self.num_timesteps, desc="ppo", unit="step")

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self.model.logged = self.tracker.rows  # type: ignore[attr-defined]
            buffer = io.BytesIO()
            self.model.save(buffer)
            write_atomic(self.path, buffer.getvalue())
        policy, warm = self.model.policy, self.num_timesteps < self.ppo.warmup * self.ppo.steps
        for part in (policy.features_extractor, policy.action_net):
            part.requires_grad_(not warm)

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        self.rewards += self.locals["rewards"].tolist()
        for done, info in zip(self.locals["dones"], self.locals["infos"]):
            if done:
                self.ended.append(info["found"])
        return True

    def _on_rollout_end(self) -> None:
        row = {
            "step": self.num_timesteps,
            "train_reward": float(np.mean(self.rewards)),
            "train_found": float(np.mean(self.ended)) if self.ended else None,
        }
        self.rewards = []
        self.tracker.log(row)
        self.bar.set_postfix(found=row["train_found"], reward=row["train_reward"])

    def _on_training_end(self) -> None:
        self.bar.close()
