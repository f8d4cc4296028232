"""Do heat maps tell where goals are? At frontiers, heat is compared with the true way from there to the goal.

    python -m eval.heat data=data split=train every=20 out=out/heat

Every `steps` steps of HiGA's rule, for each goal that was not seen yet: Spearman's rank correlation between
the heat at the frontiers and their nearness to the goal (1: the hotter, the nearer; 0: heat says nothing),
and how far the goal is from the hottest frontier, from the nearest one, and on average. Privileged: it looks
at the truth to judge, not to act. It takes any eyes: eyes.encoder.kind=open_clip and so on.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from tqdm import tqdm

from higa.policy import HigaConfig, HigaRulePolicy
from hm3dm3_env.cli import command
from hm3dm3_env.env import EnvConfig, HM3DM3ParallelEnv
from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.metrics import BOOTSTRAP_SAMPLES, MODALITIES
from hm3dm3_env.shared import SharedState
from hm3dm3_env.sim.base import Camera
from policies.eyes import EyesConfig, make_eyes
from policies.navigation.body import BodyConfig
from policies.rollout import BRIEF, SMALL, make_env, play

LEAST = 4
"""Frontiers that a comparison needs (ours)."""


@dataclass(frozen=True)
class HeatConfig:
    """Which episodes, and how often to compare."""

    data: str = "data"
    split: str = "train"
    every: int = 20
    """Only every n-th episode."""
    steps: int = 20
    """Steps between two comparisons."""
    doubt: float = 0.5
    """A goal with a candidate of at least this score counts as seen."""
    out: str = "out/heat"
    seed: int = 0
    camera: Camera = field(default_factory=lambda: SMALL)
    eyes: EyesConfig = field(default_factory=EyesConfig)

    def __post_init__(self) -> None:
        for name in ("every", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")


def compare(config: HeatConfig) -> dict[str, Any]:
    """Play, compare, write summary.json and table.txt, and return the summary: a row a modality and "all",
    each with `correlation` and its 95% bootstrap interval over episodes, and metres.

    Raises:
        EpisodeError: the split is missing. ValueError: eyes that cannot be made, or nothing to compare.
    """
    eyes = make_eyes(config.eyes)
    env = make_env(
        EnvConfig(split=config.split, data=config.data, camera=config.camera, observation=BRIEF), *eyes
    )
    rows: list[dict[str, Any]] = []
    for episode in tqdm(env.episodes[:: config.every], desc="compare", unit="episode"):
        policy = HigaRulePolicy(HigaConfig(body=BodyConfig(kind="planner")))

        def watch(shared: SharedState, policy: HigaRulePolicy = policy, name: str = episode.id) -> None:
            if shared.step and shared.step % config.steps == 0:
                rows.extend({"episode": name, **row} for row in _now(env, policy, shared, config.doubt))

        play(env, policy, episode, eyes, "heat", config.seed, watch)
    env.close()
    if not rows:
        raise ValueError(f"split {config.split!r}: never {LEAST} frontiers and a goal out of sight")
    summary = {}
    for name in (*MODALITIES, "all"):
        mine = [row for row in rows if name in (row["modality"], "all")]
        if mine:
            summary[name] = _summary(mine)
    out = Path(config.out)
    write_atomic(out / "summary.json", json_bytes(summary, 1))
    lines = [
        f"split {config.split}, every {config.every}th episode, seed {config.seed}, encoder {eyes[1].name}",
        "",
        "goals  comparisons  correlation [95%]        metres from the hottest, average, nearest frontier",
    ]
    for name, s in summary.items():
        low, high = s["correlation_ci"]
        lines.append(
            f"{name:5}  {s['comparisons']:11}  {s['correlation']:+.3f} [{low:+.3f}, {high:+.3f}]  "
            f"{s['hottest']:6.2f} {s['average']:6.2f} {s['nearest']:6.2f}"
        )
    lines += ["", "made by: python -m eval.heat " + shlex.join(sys.argv[1:]), ""]
    write_atomic(out / "table.txt", "\n".join(lines).encode())
    print("\n".join(lines))
    return summary


def _now(
    env: HM3DM3ParallelEnv, policy: HigaRulePolicy, shared: SharedState, doubt: float
) -> list[dict[str, Any]]:
    """A row for each goal that can be compared at this moment."""
    crew, truth = policy.crew, env.privileged
    assert crew.heat is not None
    points = crew.frontiers(fresh=False).points
    if len(points) < LEAST:
        return []
    snapped = [truth.navigator.snap(point, 1.0) for point in points]
    on_floor = np.array([place is not None for place in snapped])
    if on_floor.sum() < LEAST:
        return []
    places = np.array([place for place in snapped if place is not None])
    heat = crew.heat.near(points[on_floor])
    rows = []
    for j, left in enumerate(shared.unresolved):
        if not left or crew.tracker.best(j, doubt) is not None:
            continue
        far = truth.navigator.distance(places, truth.episode.viewpoints[j])
        known = np.isfinite(far)
        far, hot = far[known], heat[j][known]
        if len(far) < LEAST or np.ptp(far) == 0 or np.ptp(hot) == 0:
            continue
        rows.append(
            {
                "modality": shared.goals[j].modality,
                "correlation": float(spearmanr(hot, -far)[0]),
                "hottest": float(far[hot.argmax()]),
                "average": float(far.mean()),
                "nearest": float(far.min()),
            }
        )
    return rows


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means; the interval is over episodes, since comparisons of one episode are not independent."""
    names = sorted({row["episode"] for row in rows})
    groups = [[row["correlation"] for row in rows if row["episode"] == name] for name in names]
    sums = np.array([[sum(group), len(group)] for group in groups])
    picks = np.random.default_rng(0).integers(len(groups), size=(BOOTSTRAP_SAMPLES, len(groups)))
    drawn = sums[picks].sum(1)
    means = {
        key: float(np.mean([row[key] for row in rows]))
        for key in ("correlation", "hottest", "average", "nearest")
    }
    interval = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5]).tolist()
    return {"comparisons": len(rows), "episodes": len(names), "correlation_ci": interval, **means}


main = command(HeatConfig, "heat", compare)

if __name__ == "__main__":
    main()
