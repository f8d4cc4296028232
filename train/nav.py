"""Train DAgRL's body for maps: DAgger from a teacher first, then PPO on the same network.

    python -m train.nav stage=dagger search.data=data out=out/nav-dagger.pt
    python -m train.nav stage=ppo search.data=data start=out/nav-dagger.pt out=out/nav.pt

DAgger: the learner drives more in each round, the teacher labels every step, all rounds are kept and trained
on. Every n-th house is held out: there the learner drives alone after each round, and what it finds is
logged. Finished shards and rounds are kept, so a killed run continues. PPO is stable-baselines3's
(pip install 'hm3dm3[rl]'), with all robots of all teams as one vectorised environment.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.schema import Episode, load_split, split_digest
from hm3dm3_env.files import data_root, json_bytes, sha256, write_atomic
from hm3dm3_env.workers import run_all
from policies.navigation.base import NO_ACTION
from policies.navigation.map_policy import MapPolicy
from policies.weights import pick_device
from train.nav_data import INPUTS, fresh, read_shard, write_shard
from train.nav_task import SearchConfig
from train.tracking import Tracker


@dataclass(frozen=True)
class NavDaggerConfig:
    """The first stage (ours; OVON's is 150 million steps on a cluster)."""

    teacher: tuple[float, ...] = (1.0, 0.5, 0.0)
    """Share of the driving that the teacher does, a round each."""
    episodes: int = 72
    """A round, of houses that are trained on."""
    held_out_episodes: int = 18
    """That the learner plays alone after each round."""
    epochs: int = 3
    """Over all rounds so far, in each round."""
    batch: int = 256
    lr: float = 1e-3
    """Peak of a one-cycle schedule (AdamW)."""
    weight_decay: float = 0.02
    goal_dropout: float = 0.25
    """Share of steps whose goal embedding is zeroed, so that the body also works with encoders of another
    space."""
    mirror: bool = True
    """Mirror half of the steps left to right."""

    def __post_init__(self) -> None:
        if not self.teacher or not all(0 <= share <= 1 for share in self.teacher):
            raise ValueError(f"dagger.teacher={list(self.teacher)}: a share between 0 and 1 for each round")
        for name in ("episodes", "held_out_episodes", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"dagger.{name}={getattr(self, name)}: must be at least 1")


@dataclass(frozen=True)
class PpoConfig:
    """The second stage; OVON's numbers where they do not depend on its scale."""

    steps: int = 100_000
    """Steps of all robots together."""
    teams: int = 4
    """Teams of two robots that play at the same time, in processes of their own."""
    rollout: int = 128
    """Steps a robot between two updates (OVON: 100)."""
    batch: int = 256
    epochs: int = 2
    """Over each rollout (OVON: 1)."""
    lr: float = 5e-5
    """Small, since the actor comes from DAgger (OVON fine-tunes at 1.5e-5)."""
    warmup: float = 0.1
    """Share of the steps in which only the critic learns (OVON's schedule)."""
    clip: float = 0.2
    gamma: float = 0.99
    gae_lambda: float = 0.95
    entropy: float = 0.01
    value: float = 0.5
    success: float = 2.5
    """Reward for a found goal (OVON)."""
    slack: float = -0.001
    """Reward of every step (OVON)."""
    look: float = -0.05
    """Reward of looking around without finding: it costs eleven turns (ours)."""

    def __post_init__(self) -> None:
        for name in ("steps", "teams", "rollout", "batch", "epochs"):
            if getattr(self, name) < 1:
                raise ValueError(f"ppo.{name}={getattr(self, name)}: must be at least 1")


@dataclass(frozen=True)
class NavConfig:
    """What to train, where, and from what."""

    stage: str = "dagger"
    """dagger or ppo."""
    out: str = "out/nav.pt"
    start: str = ""
    """Weights to begin with (ppo: needed)."""
    search: SearchConfig = field(default_factory=SearchConfig)
    dagger: NavDaggerConfig = field(default_factory=NavDaggerConfig)
    ppo: PpoConfig = field(default_factory=PpoConfig)
    held_out: int = 8
    """Every so-manieth house is held out."""
    seed: int = 0
    workers: int = 2
    threads: int = 1
    """CPU threads of torch while it trains; more stall when others want the cores."""
    device: str = "auto"
    tracking: str = "offline"
    """wandb: offline, online or off."""

    def __post_init__(self) -> None:
        if self.stage not in ("dagger", "ppo"):
            raise ValueError(f"stage={self.stage}: is neither dagger nor ppo")
        for name, least in (("held_out", 2), ("workers", 1), ("threads", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")


def train(config: NavConfig) -> Path:
    """Run the stage, and return the checkpoint's path.

    Raises:
        EpisodeError: the split is missing. CheckpointError: `start` cannot be used.
        ValueError: fewer than two houses, or `out` cannot be written.
    """
    out = Path(config.out)
    if out.is_dir():
        raise ValueError(f"out={out}: is a folder; give the file to write, {out / 'nav.pt'} for example")
    out.parent.mkdir(parents=True, exist_ok=True)
    if config.stage == "ppo":
        from train.nav_ppo import fine_tune  # stable-baselines3 is needed only here

        return fine_tune(config, *split_houses(config))
    return dagger(config)


def split_houses(config: NavConfig) -> tuple[list[Episode], list[Episode]]:
    """Episodes to train on, and of held-out houses; houses take turns, so that few episodes see many.

    Raises:
        ValueError: fewer than two houses.
    """
    episodes = load_split(data_root(config.search.data), config.search.split)
    houses: dict[str, list[Episode]] = {}
    for episode in episodes:
        houses.setdefault(episode.scene.name, []).append(episode)
    names = sorted(houses)
    if len(names) < 2:
        raise ValueError(f"split {config.search.split!r}: {len(names)} houses, 2 are needed: one is held out")
    held = names[:: config.held_out]
    train_on = [name for name in names if name not in held]
    return _turns([houses[n] for n in train_on]), _turns([houses[n] for n in held])


def _turns(groups: list[list[Episode]]) -> list[Episode]:
    longest = max((len(group) for group in groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def dagger(config: NavConfig) -> Path:
    """All rounds of the first stage; returns the last round's weights in `out`."""
    out, stage = Path(config.out), config.dagger
    log = out.parent / f"{out.stem}-log"
    mine, held = split_houses(config)
    tracker = Tracker(log, out.stem, config.tracking, asdict(config))
    tracker.keep([])
    policy = MapPolicy.load(config.start) if config.start else fresh(config.search, config.seed)
    current, shards = config.start, []
    for number, teacher in enumerate(stage.teacher):
        first = number * stage.episodes
        chosen = [mine[(first + i) % len(mine)] for i in range(stage.episodes)]
        folder = log / f"round-{number}"
        drive = teacher if current else 1.0
        shards += _collect(config, chosen, folder, current, drive, number, f"round {number}: drive")
        current = _fit(config, policy, shards, out, number, tracker)
        policy = MapPolicy.load(current)
        worth = measure(config, held, current, f"round-{number}")
        tracker.log({"step": (number + 1) * stage.epochs, "round": number, **worth})
    write_atomic(out, Path(current).read_bytes())
    tracker.close(over="step")
    print(f"checkpoint: {out}   curves: {log / 'curves.png'}")
    return out


def measure(config: NavConfig, held: list[Episode], checkpoint: str, name: str) -> dict[str, float]:
    """What weights find in held-out houses when they drive alone: share of searches that end well, and metres
    walked for each."""
    out = Path(config.out)
    folder = out.parent / f"{out.stem}-log" / f"held-{name}"
    chosen = held[: config.dagger.held_out_episodes]
    totals = [
        read_shard(path)[1]
        for path in _collect(config, chosen, folder, checkpoint, 0.0, 1000, f"held out: {name}")
    ]
    tried, found = sum(t.tried for t in totals), sum(t.found for t in totals)
    share, metres = found / max(tried, 1), sum(t.walked for t in totals) / max(found, 1)
    print(f"{name}: held-out houses: {found} of {tried} searches ended well, {metres:.1f} m walked for each")
    return {"held_out_found": share, "held_out_metres": metres}


def _collect(
    config: NavConfig, episodes: list[Episode], folder: Path, checkpoint: str, teacher: float, number: int,
    what: str,
) -> list[Path]:  # fmt: skip
    """The round's shards, made where they are missing; those of other weights are made anew."""
    digest = sha256(Path(checkpoint).read_bytes()) if checkpoint else ""
    split = split_digest(data_root(config.search.data), config.search.split)
    names = [episode.id for episode in episodes]
    stamp = folder / "made-with.json"
    made_with = json_bytes([asdict(config.search), split, digest, teacher, config.seed, names])
    if not stamp.exists() or stamp.read_bytes() != made_with:
        for old in folder.glob("*.npz"):
            old.unlink()
        write_atomic(stamp, made_with)
    order = sorted(episodes, key=lambda e: (e.scene.name, e.id))
    chunks = [[e.id for e in order[i : i + 4]] for i in range(0, len(order), 4)]
    paths = [folder / f"part-{i:04d}.npz" for i in range(len(chunks))]
    todo = [(path, chunk) for path, chunk in zip(paths, chunks) if not path.exists()]
    seed = config.seed + 10_000 * number
    bar = tqdm(
        total=len(episodes), initial=len(episodes) - sum(len(c) for _, c in todo), desc=what, unit="episode"
    )
    if todo and config.workers > 1:
        jobs = [
            (write_shard, str(path), config.search, chunk, checkpoint, teacher, seed) for path, chunk in todo
        ]
        run_all(config.workers, jobs, lambda i: bar.update(len(todo[i][1])))
    else:
        for path, chunk in todo:
            write_shard(str(path), config.search, chunk, checkpoint, teacher, seed)
            bar.update(len(chunk))
    bar.close()
    return paths


def _fit(
    config: NavConfig, policy: MapPolicy, shards: list[Path], out: Path, number: int, tracker: Tracker
) -> str:
    """Train on all shards; returns the file of the round's weights. One that is there already is kept."""
    stage = config.dagger
    path = out.parent / f"{out.stem}-log" / f"round-{number}.pt"
    key = sha256(b"".join(sha256(p.read_bytes()).encode() for p in shards)
                 + json_bytes([asdict(stage), config.seed]))  # fmt: skip
    if path.exists():
        before = torch.load(path, map_location="cpu", weights_only=True).get("about", {})
        if before.get("key") == key:
            print(f"round {number}: {path} is there already")
            return str(path)
    parts = [read_shard(p)[0] for p in shards]
    data = {name: np.concatenate([part[name] for part in parts]) for name in (*INPUTS, "label")}
    n = len(data["label"])
    device = pick_device(config.device)
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed + number)
    rng = np.random.default_rng([config.seed, number])
    network = policy.network.to(device).train()
    optimizer = torch.optim.AdamW(network.parameters(), stage.lr, weight_decay=stage.weight_decay)
    steps = -(-n // stage.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, stage.lr, total_steps=max(stage.epochs * steps, 10), pct_start=0.2
    )
    row: dict[str, Any] = {}
    for epoch in tqdm(range(stage.epochs), desc=f"round {number}: learn from {n} steps", unit="epoch"):
        order, totals = rng.permutation(n), np.zeros(2)
        for i in range(steps):
            rows = order[i * stage.batch : (i + 1) * stage.batch]
            inputs, label = _batch(data, np.sort(rows), stage, rng, device)
            logits, _ = network(inputs)
            loss = torch.nn.functional.cross_entropy(logits, label)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            right = (logits.argmax(-1) == label).float().mean()
            totals += np.array([loss.item(), right.item()]) * len(rows) / n
        step = number * stage.epochs + epoch + 1
        row = {"step": step, "train_loss": float(totals[0]), "train_accuracy": float(totals[1])}
        tracker.log(row)
    torch.set_num_threads(1)
    policy.network = network.cpu().eval()
    policy.save(path, about(config) | {"key": key, "round": number, "rows": n, **row})
    return str(path)


def _batch(
    data: dict[str, np.ndarray], rows: np.ndarray, stage: NavDaggerConfig, rng: np.random.Generator,
    device: torch.device,
) -> tuple[dict[str, Tensor], Tensor]:  # fmt: skip
    inputs = {name: torch.from_numpy(data[name][rows]).to(device) for name in INPUTS}
    label = torch.from_numpy(data["label"][rows].astype(np.int64)).to(device)
    dropped = torch.from_numpy(rng.random(len(rows)) < stage.goal_dropout).to(device)
    inputs["goal"] = inputs["goal"].float().masked_fill(dropped[:, None], 0.0)
    if stage.mirror:
        which = torch.from_numpy(rng.random(len(rows)) < 0.5).to(device)
        inputs, label = mirrored(inputs, label, which)
    return inputs, label


def mirrored(inputs: dict[str, Tensor], label: Tensor, which: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """The same steps, those of `which` (n,) bool seen in a mirror: left and right change places."""
    swap = torch.tensor([0, 1, 3, 2, NO_ACTION], device=label.device)  # the last is what -1 picks
    out = dict(inputs)
    for name in ("near", "far", "depth"):
        mask = which.view(-1, *[1] * (inputs[name].ndim - 1))
        out[name] = torch.where(mask, inputs[name].flip(-1), inputs[name])
    previous = inputs["previous"].long()
    out["previous"] = torch.where(which[:, None], swap[previous], previous)
    return out, torch.where(which, swap[label], label)


def about(config: NavConfig) -> dict[str, Any]:
    """Where weights come from, for their file."""
    value = {"command": "python -m train.nav " + shlex.join(sys.argv[1:]), **asdict(config)}
    return json.loads(json.dumps(value))


main = command(NavConfig, "nav", train)

if __name__ == "__main__":
    main()
