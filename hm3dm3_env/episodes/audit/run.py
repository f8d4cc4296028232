"""Audit a split: recompute every claim in its files from the scenes, and list what does not hold.

    python -m hm3dm3_env.episodes.audit split=val
    python -m hm3dm3_env.episodes.audit split=mini out=out/audit/mini sample=6 workers=4

Writes `violations.json` and `index.html` (one file, with pictures of sampled episodes and the distributions).
The exit code is 0 without violations, 1 with some, and 2 if the split's header cannot be read.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.audit.findings import KINDS, Report, Settings, Violation
from hm3dm3_env.episodes.audit.page import page
from hm3dm3_env.episodes.audit.scene import SceneJob, audit_scene
from hm3dm3_env.episodes.schema import EpisodeError, read_content, read_header
from hm3dm3_env.files import data_root, json_bytes, write_atomic
from hm3dm3_env.workers import worker_pool

BALANCE = 0.01
"""The modalities' totals may differ by this share of all goals, or by one goal."""
SHOWN = 8
"""Violations of a kind that the console lists."""


@dataclass(frozen=True)
class AuditConfig:
    """What to audit, and where to write."""

    split: str = "val"
    data: str = "data"
    """Root of scenes/ and episodes/ (HM3DM3_DATA overrides the default)."""
    out: str = ""
    """Folder for violations.json and index.html ("": out/audit/<split>)."""
    sample: int = 12
    """Episodes that the page shows, spread over the split."""
    workers: int = 2
    viewpoints: int = 0
    """Viewpoints an object from which frames are rendered, spread from the best to the worst (0: all)."""

    def __post_init__(self) -> None:
        if self.sample < 0 or self.viewpoints < 0 or self.workers < 1:
            raise ValueError("audit: sample and viewpoints must not be negative, and workers at least 1")


def audit(config: AuditConfig) -> list[Violation]:
    """Audit a split, write the findings, and return the violations in a fixed order. Raises as `find`."""
    header, reports, violations = find(config)
    out = Path(config.out or f"out/audit/{config.split}")
    summary = {
        "split": config.split,
        "scenes": len(reports),
        "episodes": sum(len(report.facts) for report in reports),
        "dropped": header.get("dropped", []),
        "counts": dict(Counter(v.kind for v in violations)),
        "violations": [asdict(v) for v in violations],
    }
    write_atomic(out / "violations.json", json_bytes(summary, indent=1))
    write_atomic(out / "index.html", page(config.split, header, reports, violations).encode())
    _print(summary, violations, out)
    return violations


def find(config: AuditConfig) -> tuple[dict[str, Any], list[Report], list[Violation]]:
    """The header, a report a scene, and all violations in a fixed order; writes nothing.

    Raises:
        EpisodeError: the split's header cannot be read.
        ValueError: the header has settings that this release does not know.
    """
    data = data_root(config.data)
    header = read_header(data, config.split)
    jobs, first = _jobs(config, data, header)
    reports = _run(jobs, config.workers)
    violations = [v for report in reports for v in report.violations]
    violations += first + _across(reports, header) + _shared_scenes(data, config.split, header)
    return header, reports, sorted(set(violations))


def _jobs(config: AuditConfig, data: Path, header: dict[str, Any]) -> tuple[list[SceneJob], list[Violation]]:
    """A job a scene, and what is wrong with the list of files."""
    content, found = data / "episodes" / config.split / "content", []
    root, settings = data / "scenes" / header["scenes_root"], Settings.of(header)
    names = list(dict.fromkeys(header["scenes"]))
    if len(names) < len(header["scenes"]):
        found.append(Violation("duplicate", "", "", "scenes", "the header lists a scene twice"))
    for path in sorted(content.glob("*.json.gz")):
        if path.name.removesuffix(".json.gz") not in names:
            found.append(Violation("file", "", "", path.name, "the header doesn't list it"))
    shown = _shown(content, names, config.sample)
    return [
        SceneJob(content / f"{name}.json.gz", root / name, config.split, settings, shown, config.viewpoints)
        for name in names
    ], found


def _shown(content: Path, names: list[str], sample: int) -> tuple[str, ...]:
    """Ids of `sample` episodes, evenly spread over the split's order."""
    rows = []
    for name in names:
        try:
            episodes = read_content(content / f"{name}.json.gz", name)["episodes"]
            rows += [(e["index"], e["episode_id"]) for e in episodes]
        except (EpisodeError, KeyError, TypeError):
            continue  # its job tells
    rows.sort(key=lambda row: (str(type(row[0])), row))
    if len(rows) <= sample:
        return tuple(row[1] for row in rows)
    return tuple(rows[i][1] for i in np.linspace(0, len(rows) - 1, sample).astype(int))


def _run(jobs: list[SceneJob], workers: int) -> list[Report]:
    """All reports, in the order of the jobs."""
    found: dict[int, Report] = {}
    with tqdm(total=len(jobs), desc="audit", unit="scene") as bar:
        if workers == 1 or len(jobs) < 2:
            for i, job in enumerate(jobs):
                found[i] = audit_scene(job)
                bar.update()
        else:
            with worker_pool(min(workers, len(jobs))) as pool:
                futures = {pool.submit(audit_scene, job): i for i, job in enumerate(jobs)}
                for future in as_completed(futures):
                    found[futures[future]] = future.result()
                    bar.update()
    return [found[i] for i in range(len(jobs))]


def _across(reports: list[Report], header: dict[str, Any]) -> list[Violation]:
    """Claims about the split as a whole; an imported one has the modalities that its files have."""
    found = []
    for key, name in (("episode", "episode_id"), ("index", "index")):
        seen: dict[Any, list[str]] = defaultdict(list)
        for report in reports:
            for facts in report.facts:
                seen[facts[key]].append(report.scene)
        for value, scenes in seen.items():
            if len(scenes) > 1:
                episode = value if key == "episode" else f"index {value}"
                found.append(Violation("duplicate", scenes[0], episode, name, f"appears {len(scenes)} times"))
    indices = {facts["index"] for report in reports for facts in report.facts}
    unread = any(
        v.kind in ("file", "format", "scene", "dangling object")
        for report in reports
        for v in report.violations
    )
    if not indices and not unread:
        found.append(Violation("count", "", "", "episodes", "the split has no episodes"))
    missing = sorted(set(range(max(indices, default=-1) + 1)) - indices)
    if not found and not unread and len(missing) > len(header.get("dropped", [])):
        listed = ", ".join(map(str, missing[:8]))
        found.append(Violation("count", "", "", "index", f"no episodes {listed}, and nothing was dropped"))
    count = Counter(m for report in reports for facts in report.facts for m in facts["modalities"])
    totals = [count[m] for m in ("ON", "TN", "IIN")]
    if not header.get("imported") and max(totals) - min(totals) > max(1, BALANCE * sum(totals)):
        found.append(Violation("balance", "", "", "goals.modality", "{} ON, {} TN, {} IIN".format(*totals)))
    return found if header.get("imported") else found + _worded_alike(reports)


def _worded_alike(reports: list[Report]) -> list[Violation]:
    """Descriptions whose skeleton is that of the one before them, in the split's order; texts of a language
    model have none."""
    found, last = [], ("", "")
    rows = [(facts["index"], report.scene, facts) for report in reports for facts in report.facts]
    for _, scene, facts in sorted(rows, key=lambda row: row[:2]):
        for j, skeleton in facts["skeletons"]:
            if skeleton and skeleton == last[0]:
                text = f"is worded like the one before it, in {last[1]}: {skeleton!r}"
                found.append(Violation("wording", scene, facts["episode"], f"goals.{j}.text", text))
            last = (skeleton, facts["episode"])
    return found


def _shared_scenes(data: Path, split: str, header: dict[str, Any]) -> list[Violation]:
    """Scenes that train and another split have in common, by name or by the hash of their mesh."""
    found, mine = [], _scene_names(data, split, header)
    for path in sorted((data / "episodes").glob("*/*.json.gz")):
        other = path.parent.name
        if path.name != f"{other}.json.gz" or other == split or "train" not in (split, other):
            continue
        try:
            header_there = read_header(data, other)
            theirs = _scene_names(data, other, header_there)
        except EpisodeError:
            continue  # that split has an audit of its own
        if _written_from(header) == other or _written_from(header_there) == split:
            continue  # the same episodes in other words
        for key in sorted(mine.keys() & theirs.keys()):
            found.append(
                Violation("shared scene", mine[key], "", "scenes", f"is {theirs[key]} of split {other!r} too")
            )
    return found


def _written_from(header: dict[str, Any]) -> str:
    """The split whose descriptions a language model rewrote for this one, or ""."""
    about = header.get("rephrased")
    return str(about.get("split", "")) if isinstance(about, dict) else ""


def _scene_names(data: Path, split: str, header: dict[str, Any]) -> dict[str, str]:
    """Scene names by their hash (the part of the name after the dash) and by the digests of their meshes."""
    names = {}
    for name in header["scenes"]:
        names[name.split("-")[-1]] = name
        try:
            files = read_content(data / "episodes" / split / "content" / f"{name}.json.gz", name).get(
                "scene_files", {}
            )
        except EpisodeError:
            continue
        names |= {
            digest: name
            for file, digest in files.items()
            if file.endswith(".glb") and not file.endswith(".semantic.glb")
        }
    return names


def _print(summary: dict[str, Any], violations: list[Violation], out: Path) -> None:
    print(
        f"{summary['episodes']} episodes in {summary['scenes']} scenes, {len(summary['dropped'])} dropped "
        f"when it was made: {len(violations)} violations"
    )
    for kind, count in sorted(summary["counts"].items()):
        print(f"\n{kind}: {count} ({KINDS[kind]})")
        for violation in [v for v in violations if v.kind == kind][:SHOWN]:
            print(f"  {str(violation).removeprefix(kind + ': ')}")
        if count > SHOWN:
            print(f"  and {count - SHOWN} more")
    print(f"\n{out / 'index.html'}")


def _task(config: AuditConfig) -> None:
    if audit(config):
        sys.exit(1)


main = command(AuditConfig, "audit", _task)
