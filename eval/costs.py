"""What decisions cost: time, beside the records since it is never the same twice, and VLM use, from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.record import EpisodeRecord
from policies.eyes import Clock

VLM = ("calls", "tokens_in", "tokens_out", "failed")
"""What a method that asks a VLM keeps in its record under "vlm", for each episode."""


def save_clock(clock: Clock, path: Path) -> None:
    """Write the times of an episode."""
    write_atomic(path, json_bytes(asdict(clock), 1))


def decision_costs(records: Sequence[EpisodeRecord], clocks: Sequence[Path]) -> dict[str, Any]:
    """Means of a method: `step_ms` and `eyes_ms` of a step (None: no times are left), `vlm`, which model it
    asks (None: it asks none), and `vlm_<name>` of an episode for the names in `VLM`. Times that cannot be
    read are left out."""
    times = [clock for clock in map(_read, clocks) if clock is not None]
    steps = sum(clock.steps for clock in times)
    result: dict[str, Any] = {
        "step_ms": 1000 * sum(clock.total for clock in times) / steps if steps else None,
        "eyes_ms": 1000 * sum(clock.eyes for clock in times) / steps if steps else None,
    }
    asked = [record.method_record["vlm"] for record in records if "vlm" in record.method_record]
    result["vlm"] = " and ".join(sorted({use["name"] for use in asked})) or None
    for name in VLM:
        result[f"vlm_{name}"] = sum(float(use[name]) for use in asked) / len(asked) if asked else None
    return result


def _read(path: Path) -> Clock | None:
    try:
        value: Any = json.loads(path.read_text())
        return Clock(float(value["total"]), float(value["eyes"]), int(value["steps"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
