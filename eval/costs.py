"""What decisions cost: time, beside the records since it is never the same twice, and VLM use, from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.record import EpisodeRecord
from policies.eyes import Clock

VLM = ("calls", "tokens_in", "tokens_out", "failed")
"""What stands under "vlm" in the record of a method that asks a VLM."""
LEVEL = (*VLM, "refused", "lost", "unfit", "cost")
"""And there for each level of questions."""


def save_clock(clock: Clock, path: Path) -> None:
    """Write the times of an episode."""
    write_atomic(path, json_bytes(asdict(clock), 1))


def decision_costs(records: Sequence[EpisodeRecord], clocks: Sequence[Path]) -> dict[str, Any]:
    """Of a method: `step_ms` and `eyes_ms`, the median over episodes of their mean step (None: no times are
    left), which compiling and loading in a worker's first episode does not move; `vlm`, which model it asks
    (None: it asks none), and `vlm_<name>`, the mean of an episode, for the names in `VLM`; `levels`, by level
    of questions the same for the names in `LEVEL`, and `seconds`, the median of a question. Times that cannot
    be read are left out."""
    times = [clock for clock in map(_read, clocks) if clock is not None]
    result: dict[str, Any] = {
        "step_ms": median(1000 * clock.total / clock.steps for clock in times) if times else None,
        "eyes_ms": median(1000 * clock.eyes / clock.steps for clock in times) if times else None,
    }
    told = [record.method_record.get("vlm") for record in records]
    asked = [use for use in told if isinstance(use, Mapping) and use.keys() >= {"name", *VLM}]
    result["vlm"] = " and ".join(sorted({str(use["name"]) for use in asked})) or None
    for name in VLM:
        result[f"vlm_{name}"] = sum(float(use[name]) for use in asked) / len(asked) if asked else None
    result["levels"] = _levels([use.get("levels", {}) for use in asked], times)
    return result


def _levels(uses: Sequence[Mapping[str, Mapping[str, float]]], clocks: Sequence[Clock]) -> dict[str, Any]:
    """Level -> means of an episode, and the median seconds of a question (None: unknown)."""
    result: dict[str, Any] = {}
    for level in sorted({level for use in uses for level in use}):
        mine = [use.get(level, {}) for use in uses]
        took = [seconds for clock in clocks for seconds in clock.vlm.get(level, ())]
        result[level] = {name: sum(float(use.get(name, 0)) for use in mine) / len(uses) for name in LEVEL}
        result[level]["seconds"] = median(took) if took else None
    return result


def _read(path: Path) -> Clock | None:
    try:
        value: Any = json.loads(path.read_text())
        asked = {str(level): [float(v) for v in took] for level, took in value.get("vlm", {}).items()}
        clock = Clock(float(value["total"]), float(value["eyes"]), int(value["steps"]), asked)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    return clock if isfinite(clock.total) and isfinite(clock.eyes) and clock.steps > 0 else None
