"""What the body for maps learns from: rollouts in which teacher and learner take turns at driving, every step
labelled by the teacher. A shard is one .npz a chunk of episodes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hm3dm3_env.episodes.schema import Episode
from hm3dm3_env.files import write_atomic
from policies.navigation.map_network import MAP_ACTIONS, MapNetwork
from policies.navigation.map_policy import MapPolicy
from policies.rollout import episode_seed
from train.nav_task import Progress, SearchConfig, SearchTask

TURN = 20
"""Steps that teacher or learner drive a robot before the next draw (ours)."""
SIDESTEP = MAP_ACTIONS.index("turn_left")
"""What a robot does where the teacher has no answer and no learner drives."""
INPUTS = ("near", "far", "depth", "goal", "previous")

_worker: dict[str, Any] = {}


def play_search(
    config: SearchConfig, episodes: Sequence[str], checkpoint: str, teacher: float, seed: int
) -> tuple[dict[str, np.ndarray], Progress]:
    """Play episodes, and keep what the acting robots saw with the teacher's answers.

    Args:
        checkpoint: of the learner; "" : none is needed, since the teacher drives.
        teacher: share of the turns in which the teacher drives.

    Returns:
        Arrays of n steps: INPUTS (see `MapNetwork`), and `label` (n,) int8, the network's number of the
        teacher's action; and the sums of the episodes' progress.
    """
    task, policy, by_id = _tools(config, checkpoint)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in (*INPUTS, "label")}
    total = Progress()
    for name in episodes:
        own = episode_seed(seed, name)
        rng = np.random.default_rng([own, 44])
        task.begin(by_id[name], policy, own)
        drives, left = {}, dict.fromkeys(range(len(task.goals)), 0)
        while not task.over:
            robots = task.acting()
            inputs = task.observe(robots) if robots else {}
            learner = dict(zip(robots, policy.decide(robots, inputs))) if robots and teacher < 1 else {}
            actions, known = {}, []
            for i, k in enumerate(robots):
                if left[k] == 0:
                    drives[k], left[k] = rng.random() < teacher, TURN
                left[k] -= 1
                label = task.teacher(k)
                if label >= 0:
                    known.append(i)
                    rows["label"].append(np.array([label], np.int8))
                by_teacher = label >= 0 and (drives[k] or k not in learner)
                actions[k] = label if by_teacher else int(learner[k]) if k in learner else SIDESTEP
            for key in INPUTS:
                if known:
                    rows[key].append(inputs[key][known])
            task.step(actions)
        total.tried += task.progress.tried
        total.found += task.progress.found
        total.walked += task.progress.walked
    kinds = {"previous": np.int8, "depth": np.float16, "goal": np.float16}
    arrays = {
        key: np.concatenate(parts).astype(kinds.get(key, parts[0].dtype)) if parts else np.zeros(0)
        for key, parts in rows.items()
    }
    return arrays, total


def write_shard(path: str, *args: Any) -> Progress:
    """`play_search`, into a file."""
    arrays, total = play_search(*args)
    counts = np.array([total.tried, total.found, total.walked])
    buffer = io.BytesIO()
    np.savez(buffer, progress=counts, **arrays)  # type: ignore[arg-type]
    write_atomic(path, buffer.getvalue())
    return total


def read_shard(path: Path) -> tuple[dict[str, np.ndarray], Progress]:
    """What `write_shard` wrote.

    Raises:
        ValueError: a damaged file.
    """
    try:
        with np.load(path) as data:
            arrays = {name: data[name] for name in (*INPUTS, "label")}
            tried, found, walked = data["progress"].tolist()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: a damaged shard ({error}); delete it and run again") from error
    return arrays, Progress(int(tried), int(found), walked)


def _tools(config: SearchConfig, checkpoint: str) -> tuple[SearchTask, MapPolicy, dict[str, Episode]]:
    """The environment and the learner, kept in a worker."""
    import torch

    torch.set_num_threads(1)
    if _worker.get("config") != config:
        task = SearchTask(config)
        _worker.update(config=config, task=task, episodes={e.id: e for e in task.env.episodes})
    if _worker.get("checkpoint") != checkpoint:
        policy = MapPolicy.load(checkpoint) if checkpoint else fresh(config)
        _worker.update(checkpoint=checkpoint, policy=policy)
    return _worker["task"], _worker["policy"], _worker["episodes"]


def fresh(config: SearchConfig, seed: int = 0) -> MapPolicy:
    """An untrained body for the encoder of a task."""
    import torch

    torch.manual_seed(seed)
    return MapPolicy(MapNetwork(), SearchTask.space)
