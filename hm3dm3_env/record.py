"""The EpisodeRecord: all that happened in one episode. Metrics, pictures and reports read it and nothing
else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hm3dm3_env.files import json_bytes, write_atomic

RECORD_VERSION = 1


class RecordError(ValueError):
    """A record file that cannot be used."""


@dataclass
class EpisodeRecord:
    """One episode as it was played.

    Attributes:
        goals: one dict a goal: modality, category, text, object_id.
        makespan: the oracle's d*, metres.
        poses: [step][agent] = [x, z, heading, pitch], metres and radians; step 0 is the start.
        actions: [step][agent] names of what was done.
        declarations: dicts of step, agent, goal, right, distance (null: unreachable).
        path, path_at_last_success: metres an agent, at the end and when the last goal was found.
        ended: "resolved" (every goal declared) or "exhausted" (every agent out of budget).
        method_record: what the method wants remembered (assignments, what recognition saw).
        simulator: the backend that was played in.
        recogniser, encoder: the eyes that the method was given, "none" for one that looked at the truth; the
            encoder is "" in records of earlier releases.
    """

    version: int
    split: str
    episode: str
    scene: str
    method: str
    seed: int
    privileged: bool
    recogniser: str
    camera: str
    floor_height: float
    makespan: float
    goals: list[dict[str, Any]]
    poses: list[list[list[float]]]
    actions: list[list[str]]
    declarations: list[dict[str, Any]]
    path: list[float]
    path_at_last_success: list[float]
    ended: str
    method_record: dict[str, Any] = field(default_factory=dict)
    simulator: str = "embedded"
    encoder: str = ""

    @property
    def agents(self) -> int:
        """K of the episode."""
        return len(self.path)

    @property
    def steps(self) -> int:
        """Lockstep steps played."""
        return len(self.actions)

    def found(self) -> list[bool]:
        """(M,) which goals were declared rightly."""
        right = {d["goal"] for d in self.declarations if d["right"]}
        return [j in right for j in range(len(self.goals))]

    def to_bytes(self) -> bytes:
        """Canonical JSON; equal records give equal bytes."""
        return json_bytes(asdict(self))

    def save(self, path: Path | str) -> None:
        """Write atomically."""
        write_atomic(path, self.to_bytes())


def load_record(path: Path | str) -> EpisodeRecord:
    """Read a record.

    Raises:
        RecordError: broken JSON, another version, or missing fields.
    """
    path = Path(path)
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise RecordError(f"{path}: no such record; give the .json file of one") from None
    except IsADirectoryError:
        raise RecordError(f"{path}: a folder; give the .json file of one record in it") from None
    except PermissionError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from error
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or not JSON
        raise RecordError(f"{path}: not a readable record ({error}); delete it and run again") from error
    if not isinstance(value, dict) or value.get("version") != RECORD_VERSION:
        version = value.get("version") if isinstance(value, dict) else None
        raise RecordError(
            f"{path}: version {version} of the record format; this release reads version {RECORD_VERSION}"
        )
    try:
        record = EpisodeRecord(**value)
        whole = bool(record.path and record.goals and record.poses) and all(
            isinstance(part, list)
            for part in (record.path, record.goals, record.declarations, record.actions)
        )
        record.found()
    except (TypeError, KeyError) as error:
        raise RecordError(f"{path}: {error}; delete it and run again") from error
    if not whole:
        raise RecordError(f"{path}: goals, path, poses or declarations are missing; delete it and run again")
    return record
