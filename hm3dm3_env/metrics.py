"""The benchmark's metrics, as pure functions of records, with bootstrap intervals over episodes.

SR is goals found over goals. SPL is the mean over episodes of s * d* / max(d*, L), where s is the episode's
fraction of goals found, d* the oracle makespan and L the longest path an agent walked. The paper names this
makespan-normalised SPL after DM3-Nav; its exact formula was not available to us, so this is our reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hm3dm3_env.record import EpisodeRecord

BOOTSTRAP_SAMPLES = 2000
MODALITIES = ("ON", "TN", "IIN")


def episode_spl(found: int, goals: int, makespan: float, longest_path: float) -> float:
    """s * d* / max(d*, L) of one episode; a d* of 0 needs no walking and counts as s if L is 0, else as 0."""
    share = found / goals
    longest = max(makespan, longest_path)
    return share if longest == 0 else share * makespan / longest


def row(record: EpisodeRecord) -> dict[str, float]:
    """The numbers of one episode that the summary adds up."""
    found = record.found()
    result: dict[str, float] = {
        "goals": len(found),
        "found": sum(found),
        "episode_success": float(all(found)),
        "spl": episode_spl(sum(found), len(found), record.makespan, max(record.path)),
        "spl_last_success": episode_spl(
            sum(found), len(found), record.makespan, max(record.path_at_last_success)
        ),
        "makespan": max(record.path),
        "oracle_makespan": record.makespan,
        "steps": record.steps,
        "right": sum(d["right"] for d in record.declarations),
        "wrong": sum(not d["right"] for d in record.declarations),
        "never": len(found) - len(record.declarations),
    }
    for modality in MODALITIES:
        mine = [f for f, goal in zip(found, record.goals) if goal["modality"] == modality]
        result[f"goals_{modality}"], result[f"found_{modality}"] = len(mine), sum(mine)
    return result


def ratio(rows: Sequence[dict[str, float]], top: str, bottom: str) -> float | None:
    """Sum of one number over the sum of another (None without any)."""
    whole = sum(r[bottom] for r in rows)
    return sum(r[top] for r in rows) / whole if whole else None


def interval(
    rows: Sequence[dict[str, float]],
    statistic: Callable[[np.ndarray], np.ndarray],
    keys: Sequence[str],
    seed: int = 0,
) -> list[float] | None:
    """95% percentile bootstrap interval of a statistic over episodes.

    Args:
        statistic: maps (B, len(keys)) resampled means to (B,) values.
    """
    if not rows:
        return None
    table = np.array([[r[key] for key in keys] for r in rows], float)
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(table), size=(BOOTSTRAP_SAMPLES, len(table)))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = statistic(table[picks].mean(1))
    values = values[np.isfinite(values)]
    return [float(v) for v in np.percentile(values, [2.5, 97.5])] if len(values) else None


def _share(means: np.ndarray) -> np.ndarray:
    return means[:, 0] / means[:, 1]


def _mean(means: np.ndarray) -> np.ndarray:
    return means[:, 0]


def _mean_row(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: sum(r[key] for r in rows) / len(rows) for key in rows[0]}


def _count(rows: Sequence[dict[str, float]], key: str) -> int:
    return round(sum(r[key] for r in rows))


def _by_episode(records: Sequence[EpisodeRecord]) -> dict[tuple[str, str], dict[str, float]]:
    """The mean row of each episode, in order of appearance."""
    groups: dict[tuple[str, str], list[EpisodeRecord]] = {}
    for record in records:
        groups.setdefault((record.split, record.episode), []).append(record)
    if len({len(group) for group in groups.values()}) > 1:
        raise ValueError("some episodes have more records than others; every seed must play all of them")
    return {key: _mean_row([row(record) for record in group]) for key, group in groups.items()}


def paired(records: Sequence[EpisodeRecord], others: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """How much better a method is than another on the same episodes: differences of SR and SPL (fractions),
    with 95% bootstrap intervals that draw the same episodes for both, which is far sharper than two intervals
    side by side. Keys: sr, sr_ci, spl, spl_ci.

    Raises:
        ValueError: no records, or other episodes.
    """
    mine, theirs = _by_episode(records), _by_episode(others)
    if not mine or mine.keys() != theirs.keys():
        raise ValueError("paired differences need the same episodes of both methods")
    rows = [
        {**mine[key], "other_found": theirs[key]["found"], "spl_gain": mine[key]["spl"] - theirs[key]["spl"]}
        for key in mine
    ]
    sr, spl = ("found", "goals", "other_found"), ("spl_gain",)
    result: dict[str, Any] = {}
    for name, statistic, keys in (("sr", _share_gain, sr), ("spl", _mean, spl)):
        whole = np.array([[np.mean([r[key] for r in rows]) for key in keys]])
        result[name] = float(statistic(whole)[0])
        result[f"{name}_ci"] = interval(rows, statistic, keys)
    return result


def _share_gain(means: np.ndarray) -> np.ndarray:
    return (means[:, 0] - means[:, 2]) / means[:, 1]


def summarise(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """All metrics of a method over its records; fractions in 0..1, lengths in metres, intervals as [low,
    high].

    Several records of an episode (of a method's training seeds) count as one: their mean. So the intervals
    are over episodes, and do not shrink with the number of seeds.

    Raises:
        ValueError: no records, or more of some episodes than of others.
    """
    if not records:
        raise ValueError("no records to summarise")
    by_episode = _by_episode(records)
    rows, runs = list(by_episode.values()), len(records) // len(by_episode)
    first = {(record.split, record.episode): record for record in reversed(records)}
    records = [first[key] for key in by_episode]
    result: dict[str, Any] = {
        "sr": ratio(rows, "found", "goals"),
        "sr_ci": interval(rows, _share, ("found", "goals")),
        "spl": float(np.mean([r["spl"] for r in rows])),
        "spl_ci": interval(rows, _mean, ("spl",)),
        "spl_last_success": float(np.mean([r["spl_last_success"] for r in rows])),
        "episode_success": float(np.mean([r["episode_success"] for r in rows])),
        "makespan": float(np.mean([r["makespan"] for r in rows])),
        "oracle_makespan": float(np.mean([r["oracle_makespan"] for r in rows])),
        "steps": float(np.mean([r["steps"] for r in rows])),
        "right": _count(rows, "right"),
        "wrong": _count(rows, "wrong"),
        "never": _count(rows, "never"),
        "runs": runs,
        "episodes": len(rows),
        "goals": int(sum(r["goals"] for r in rows)),
        "scenes": len({record.scene for record in records}),
        "recogniser": records[0].recogniser,
        "privileged": records[0].privileged,
        "camera": records[0].camera,
        "simulator": records[0].simulator,
        "encoder": records[0].encoder,
    }
    for modality in MODALITIES:
        keys = (f"found_{modality}", f"goals_{modality}")
        result[f"sr_{modality.lower()}"] = ratio(rows, *keys)
        result[f"sr_{modality.lower()}_ci"] = interval(rows, _share, keys)
    for name, size in (("k", lambda r: r.agents), ("m", lambda r: len(r.goals))):
        result[f"sr_by_{name}"] = {
            str(value): ratio(
                [x for x, record in zip(rows, records) if size(record) == value], "found", "goals"
            )
            for value in sorted({size(record) for record in records})
        }
    return result
