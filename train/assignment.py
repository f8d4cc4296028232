"""How good assignments are, without playing: regret against the oracle on stored samples of unseen scenes.

    python -m train.assignment dataset=out/samples 'checkpoints={bc: out/bc.pt, dagger: out/dagger.pt}'
    python -m train.assignment dataset=out/samples 'checkpoints={dagger: [a.pt, b.pt, c.pt]}'    # seeds: a
    mean

Only scenes that no checkpoint was trained on count. `higa.regret` says what regret is and what it is not.
Writes table.txt, summary.json and regret.png; latency.json holds times, which are the machine's.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import torch

from higa.assign import DECODERS, rule_scores
from higa.checkpoint import load
from higa.network import Assigner
from higa.regret import agreement, decode, least_assignments, regrets, robot_regrets
from higa.samples import SampleSet
from hm3dm3_env.cli import command
from hm3dm3_env.files import json_bytes, sha256, write_atomic
from train.regret_table import draw, report
from train.samples import open_samples

DRAWS = 8
"""Random assignments that the row `random` is the mean of (ours)."""
BATCH = 256
TIMED = 200
"""Decisions whose median time is the latency (ours)."""
RULE = "rule, hungarian"
"""The row that others are compared with."""

Worth = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(N,) regret, team's least regret, and agreement."""


@dataclass(frozen=True)
class AssignmentConfig:
    """What to compare, and on which samples."""

    dataset: str = "out/samples"
    checkpoints: Any = None
    """{row: file}, or {row: [files]} for several seeds, whose mean and spread are given."""
    out: str = "out/assignment"
    decoder: str = "hungarian"
    """Of the checkpoints' scores: hungarian or greedy."""
    scenes: Any = None
    """Names of the scenes to use (default: all that no checkpoint was trained on)."""
    mark_seen: bool = False
    """Mark checkpoints that were trained on `scenes` instead of refusing them."""
    resamples: int = 2000
    """Of the scenes, for the 95% intervals."""
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.decoder not in DECODERS:
            raise ValueError(f"decoder={self.decoder}: is none of {', '.join(sorted(DECODERS))}")
        for name, least in (("resamples", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")


@dataclass
class Row:
    """One line of the table: (N,) metrics of every sample, means over seeds; and each seed's own mean
    regret."""

    regret: np.ndarray
    team_regret: np.ndarray
    agreement: np.ndarray
    seeds: list[float]
    about: dict[str, Any]


def compare(config: AssignmentConfig) -> dict[str, Any]:
    """Write the table and return the summary.

    Raises:
        ValueError: no or damaged samples, a checkpoint that cannot be used or was trained on these scenes, or
            no scene that is left.
    """
    files = _files(config.checkpoints)
    models = {name: [load(path, config.device) for path in paths] for name, paths in files.items()}
    samples = open_samples(config.dataset).labelled()
    if not len(samples):
        raise ValueError(f"{config.dataset}: no sample has a label")
    trained = {
        name: sorted(
            {scene for path, (_, about) in zip(files[name], found) for scene in _scenes(path, about)}
        )
        for name, found in models.items()
    }
    scenes = _chosen(config, samples.names(), trained)
    samples = samples.subset(np.isin(samples.scenes[samples.rows], scenes))
    rows = _references(samples, config.seed)
    for name, found in models.items():
        values = [_worth(_scored(model, samples, config.decoder), samples) for model, _ in found]
        about = {
            "files": [str(path) for path in files[name]],
            "sha256": [sha256(path.read_bytes()) for path in files[name]],
            "parameters": sum(p.numel() for p in found[0][0].parameters()),
            "seen": sorted(set(trained[name]) & set(scenes)),
        }
        rows[name] = _row(values, about)
    summary = _summary(config, samples, scenes, rows)
    out = Path(config.out)
    text = report(summary, "python -m train.assignment " + shlex.join(sys.argv[1:]))
    write_atomic(out / "summary.json", json_bytes(summary, 1))
    write_atomic(out / "table.txt", text.encode())
    draw(summary, out / "regret.png")
    print(text)
    times = {name: latency(found[0][0], samples) for name, found in models.items()}
    for name, took in times.items():
        print(
            f"{name}: a decision takes {took['ms']:.2f} ms ({took['cpu_ms']:.2f} ms of CPU) on one thread, "
            f"{took['robots']} robots, {took['goals']} goals, {rows[name].about['parameters']} parameters"
        )
    write_atomic(out / "latency.json", json_bytes(times, 1))
    return summary


def latency(model: Assigner, samples: SampleSet) -> dict[str, float]:
    """Median milliseconds of a decision (inputs to scores) on one thread: `ms` by the clock, and `cpu_ms`
    that do not count waiting for others' work; for the largest team (`robots`) and its most `goals` among the
    samples."""
    sizes = samples.sizes[samples.rows]
    index = int(np.lexsort((sizes[:, 1], sizes[:, 0]))[-1])
    inputs, threads, times = samples.decision(index)[0], torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(TIMED):
            begin, own = perf_counter(), thread_time()
            model.scores(inputs)
            times.append((1000 * (perf_counter() - begin), 1000 * (thread_time() - own)))
    finally:
        torch.set_num_threads(threads)
    ms, cpu = (median(column) for column in zip(*times))
    return {"ms": ms, "cpu_ms": cpu, "robots": int(sizes[index, 0]), "goals": int(sizes[index, 1])}


def _files(checkpoints: Any) -> dict[str, list[Path]]:
    """The files of every row.

    Raises:
        ValueError: not {row: file or files}.
    """
    if checkpoints is not None and not isinstance(checkpoints, Mapping):
        raise ValueError(f"checkpoints={checkpoints}: give {{row: file}} or {{row: [files]}}")
    files = {}
    for name, value in (checkpoints or {}).items():
        paths = [value] if isinstance(value, str) else list(value or [])
        if not paths:
            raise ValueError(f"checkpoints.{name}: no file; give one, or a list of them")
        files[str(name)] = [Path(path) for path in paths]
    return files


def _scenes(path: Path, about: dict[str, Any]) -> list[str]:
    try:
        return about["scenes"]["train"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: does not say which scenes it was trained on: train it again") from error


def _chosen(config: AssignmentConfig, known: list[str], trained: dict[str, list[str]]) -> list[str]:
    """The scenes to use, in order of names."""
    seen = {scene for scenes in trained.values() for scene in scenes}
    if config.scenes is None:
        scenes = [name for name in known if name not in seen]
        if not scenes:
            raise ValueError(
                f"dataset={config.dataset}: every scene of it was trained on by {', '.join(trained)}; "
                "train with train.held_out, or collect samples of another split"
            )
        return scenes
    scenes = sorted({str(name) for name in config.scenes})
    if not scenes or set(scenes) - set(known):
        raise ValueError(f"scenes: {scenes}: must be of the data set's: {', '.join(known)}")
    for name, mine in trained.items():
        both = sorted(set(scenes) & set(mine))
        if both and not config.mark_seen:
            raise ValueError(
                f"checkpoints.{name}: was trained on {', '.join(both)}; leave these out of scenes=, "
                "or mark such rows with mark_seen=true"
            )
    return scenes


def _references(samples: SampleSet, seed: int) -> dict[str, Row]:
    """Rows that need no checkpoint."""
    active, opened, pairs = (samples.column(name) for name in ("active", "open", "pairs"))
    costs, idle = samples.column("costs"), samples.column("idle_costs")
    rng = np.random.default_rng(seed)
    rule = np.stack(
        [_padded(rule_scores(samples.decision(i)[0]), pairs.shape[1:3]) for i in range(len(samples))]
    )
    chosen = {
        "random": [decode(rng.random(pairs.shape[:3]), active, opened) for _ in range(DRAWS)],
        "nearest candidate": [decode(-pairs[..., 2], active, opened)],
        RULE: [decode(rule, active, opened)],
        "rule, greedy": [decode(rule, active, opened, "greedy")],
        "least possible *": [least_assignments(costs, idle, active, opened)],
        "oracle's label *": [samples.column("label")],
    }
    return {
        name: _row([_worth(one, samples) for one in all_of], {"privileged": name.endswith("*")})
        for name, all_of in chosen.items()
    }


def _padded(scores: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    out[: scores.shape[0], : scores.shape[1]] = scores
    return out


def _scored(model: Assigner, samples: SampleSet, decoder: str) -> np.ndarray:
    """(N, K) assignments by a network."""
    device, parts = next(model.parameters()).device, []
    with torch.inference_mode():
        for first in range(0, len(samples), BATCH):
            rows = np.arange(first, min(first + BATCH, len(samples)))
            parts.append(model(samples.batch(rows).to(device)).float().cpu().numpy())
    return decode(np.concatenate(parts), samples.column("active"), samples.column("open"), decoder)


def _worth(chosen: np.ndarray, samples: SampleSet) -> Worth:
    """(N,) regret, team's least regret, and agreement."""
    costs, idle, active = (samples.column(name) for name in ("costs", "idle_costs", "active"))
    return *regrets(robot_regrets(chosen, costs, idle, active)), agreement(chosen, samples.column("label"))


def _row(values: list[Worth], about: dict[str, Any]) -> Row:
    regret, team, agreed = (np.mean([value[i] for value in values], 0) for i in range(3))
    return Row(regret, team, agreed, [float(value[0].mean()) for value in values], about)


def _summary(
    config: AssignmentConfig, samples: SampleSet, scenes: list[str], rows: dict[str, Row]
) -> dict[str, Any]:
    place = np.searchsorted(scenes, samples.scenes[samples.rows].astype(str))
    draws = np.random.default_rng(config.seed).integers(len(scenes), size=(config.resamples, len(scenes)))
    sizes = samples.sizes[samples.rows]
    found: dict[str, Any] = {}
    for name, row in rows.items():
        parts = {
            f"{letter}={size}": float(row.regret[sizes[:, axis] == size].mean())
            for axis, letter in enumerate("KM")
            for size in np.unique(sizes[:, axis]).tolist()
        }
        found[name] = {
            "regret": float(row.regret.mean()),
            "regret_ci": interval(row.regret, place, draws),
            "less_than_rule": float((rows[RULE].regret - row.regret).mean()),
            "less_than_rule_ci": interval(rows[RULE].regret - row.regret, place, draws),
            "team_regret": float(row.team_regret.mean()),
            "agreement": float(row.agreement.mean()),
            "seeds": row.seeds,
            "by": parts,
            **row.about,
        }
    return {
        "dataset": config.dataset,
        "samples": len(samples),
        "scenes": scenes,
        "decoder": config.decoder,
        "resamples": config.resamples,
        "seed": config.seed,
        "rows": found,
    }


def interval(values: np.ndarray, scene: np.ndarray, draws: np.ndarray) -> list[float]:
    """95% percentile interval of the mean of values (N,) of scenes (N,), drawing whole scenes (R, S): samples
    of one scene are not independent."""
    count = draws.shape[1]
    sums, sizes = np.bincount(scene, values, count), np.bincount(scene, minlength=count)
    means = sums[draws].sum(1) / sizes[draws].sum(1)
    return [float(bound) for bound in np.percentile(means, [2.5, 97.5])]


main = command(AssignmentConfig, "assignment", compare)

if __name__ == "__main__":
    main()
