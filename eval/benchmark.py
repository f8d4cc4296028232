"""Evaluate methods on a split: parallel, resumable, one EpisodeRecord an episode, a table with 95% intervals.

    python -m eval.benchmark method=frontier split=val limit=48 out=out/eval
    python -m eval.benchmark 'method=[random,frontier,higa_rule,oracle]' split=val
    python -m eval.benchmark 'method=[mine]' 'variants={mine: {policy: higa, checkpoint: out/dagger.pt}}'

A method is a policy's name, or the name of a variant: a policy with a config of its own. A variant may have
other eyes than the rest (`eyes: {recogniser: perfect}`), another camera (`camera: {hfov_deg: 79}`) or another
vision-language model (`vlm: {base_url: ..., model: ...}`), and several checkpoints, one a training seed
(`checkpoint: [a.pt, b.pt]`): each is evaluated, and the row is their mean.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from eval.claim import claim
from eval.costs import decision_costs, save_clock
from eval.table import table
from hm3dm3_env.cli import build, command
from hm3dm3_env.env import EnvConfig
from hm3dm3_env.episodes.schema import Episode, load_split, split_digest
from hm3dm3_env.files import data_root, json_bytes, sha256, write_atomic
from hm3dm3_env.mapping import MapConfig
from hm3dm3_env.metrics import paired, summarise
from hm3dm3_env.observe import ObservationConfig
from hm3dm3_env.record import EpisodeRecord, RecordError, load_record
from hm3dm3_env.sim.base import Body, Camera, SimulatorDied
from hm3dm3_env.sim.make import SimConfig
from hm3dm3_env.task import TaskConfig
from hm3dm3_env.vlm.config import without_secrets
from hm3dm3_env.vlm.session import EpisodeVlm, VlmChoice
from hm3dm3_env.workers import cpu_model, run_all
from policies.base import TeamPolicy, make_policy
from policies.eyes import Clock, EyesConfig, make_eyes
from policies.rollout import BRIEF, SMALL, asks_vlm, make_env, play, sees_by_vlm

T = TypeVar("T")
TRIES = 3
"""How often an episode is begun when the simulator's process dies in it (ours)."""


@dataclass
class BenchmarkConfig:
    """What to evaluate. Camera: the benchmark's field of view at 54 x 96 by default, which simulated
    recognition does not mind; give camera.width=360 camera.height=640 for full frames."""

    method: Any = "frontier"
    """A name, or a list of names."""
    variants: Any = None
    """Extra methods: {name: {policy: <policy>, <config of the policy>...}}."""
    split: str = "val"
    """Name of a split under <data>/episodes."""
    every: int = 1
    """Only every n-th episode: an even share of every scene."""
    limit: int | None = None
    """Only the first n of these."""
    seed: int = 0
    """Of the episodes' random numbers: of methods and of simulated eyes."""
    out: str = "out/eval"
    """Folder for records, table, costs and pictures; what it has of the same run is kept."""
    data: str = "data"
    """Root of scenes/ and episodes/ (HM3DM3_DATA overrides the default)."""
    workers: int = 2
    """Processes that play episodes."""
    against: str = "higa"
    """When it is among the methods, the table has every other method's paired differences to it."""
    pictures: int = 2
    """Top-down pictures of this many episodes a method."""
    videos: int = 0
    """Videos of this many episodes of the last method that is not privileged."""
    camera: Camera = field(default_factory=lambda: SMALL)
    body: Body = field(default_factory=Body)
    sim: SimConfig = field(default_factory=SimConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    map: MapConfig = field(default_factory=MapConfig)
    observation: ObservationConfig = field(default_factory=lambda: BRIEF)
    """What policies get as observations; add keys for a method that reads them
    (observation.keys=[rgb,depth,...])."""
    eyes: EyesConfig = field(default_factory=EyesConfig)
    vlm: VlmChoice = field(default_factory=VlmChoice)
    """The vision-language model of methods that ask one: simulated, unless vlm.base_url and vlm.model name a
    real one."""


def evaluate(config: BenchmarkConfig) -> dict[str, Any]:
    """Run what is missing, write summary.json, costs.json, table.txt and pictures, and return the summary.

    Raises:
        ValueError: unknown methods, missing data, or records of other settings in `out`.
    """
    methods = [config.method] if isinstance(config.method, str) else list(config.method or [])
    for name in methods:
        if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name):
            raise ValueError(
                f"method: {name!r} must be letters, digits, _ . + or -: its records' folder is called so"
            )
    if config.against != "higa" and config.against not in methods:
        raise ValueError(f"against: {config.against!r} is not among the methods {', '.join(methods)}")
    if config.workers < 1 or min(config.pictures, config.videos) < 0:
        raise ValueError("workers must be at least 1, pictures and videos not negative")
    if config.variants is not None and not isinstance(config.variants, Mapping):
        raise ValueError(f"variants: give {{name: {{policy: ...}}}}, not {config.variants!r}")
    if not methods or len(set(methods)) < len(methods):
        raise ValueError(f"method: give one name or a list of different names, not {config.method!r}")
    runs = {name: _runs(config, name) for name in methods}
    specs = {run: spec for group in runs.values() for run, spec in group.items()}
    if len(specs) < sum(len(group) for group in runs.values()):
        raise ValueError(f"method: two runs have one name; rename one of {', '.join(methods)}")
    _check_levels(specs)
    if config.limit is not None and config.limit < 1:
        raise ValueError(f"limit must be at least 1 episode (or null: all), not {config.limit}")
    if config.every < 1:
        raise ValueError(f"every must be at least 1, not {config.every}")
    episodes = load_split(data_root(config.data), config.split)[:: config.every][: config.limit]
    if not episodes:
        raise ValueError(f"split {config.split!r}: no episodes")
    out = Path(config.out)
    spaces: dict[str, str] = {}
    for name, spec in specs.items():
        key = repr((spec["eyes"], spec["camera"]))
        if key not in spaces:
            spaces[key] = _check_eyes(config, spec)
        claim(out / "records" / name, _settings(config, name, spec, spaces[key]))
    _run(config, specs, episodes, out)
    records = {name: [load_record(_path(out, name, e.id)) for e in episodes] for name in specs}
    rows = {name: [record for run in group for record in records[run]] for name, group in runs.items()}
    summary, costs = {}, {}
    for name, group in runs.items():
        costs[name] = decision_costs(
            rows[name], [_path(out, run, e.id, "costs") for run in group for e in episodes]
        )
        gain = paired(rows[name], rows[config.against]) if config.against in rows else None
        summary[name] = {
            **summarise(rows[name]),
            "gain": gain if name != config.against else None,
            "sr_runs": [summarise(records[run])["sr"] for run in group],
            "split": config.split,
            "seed": config.seed,
        }
    write_atomic(out / "summary.json", json_bytes(summary, 1))
    write_atomic(out / "costs.json", json_bytes({"machine": cpu_model(), "methods": costs}, 1))
    made_by = f"python -m eval.benchmark {without_secrets(shlex.join(sys.argv[1:]))}"
    text = table(summary, made_by, costs, config.against)
    write_atomic(out / "table.txt", text.encode())
    print(text)
    _draw(config, records, out)
    return summary


def _runs(config: BenchmarkConfig, name: str) -> dict[str, dict[str, Any]]:
    """What is evaluated for a row, by the name of its records: a run, or one for each checkpoint. A run is
    {"policy": ..., "config": {...}, "eyes": ..., "camera": ..., "vlm": ... (None: it asks none), "levels":
    those of its questions, "weights": hashes of the files that it loaded}; its policy, its eyes and its VLM
    can be made."""
    variants = config.variants or {}
    if name not in variants:
        value: dict[str, Any] = {"policy": name}
    elif isinstance(variants[name], Mapping) and "policy" in variants[name]:
        value = dict(variants[name])
    else:
        raise ValueError(f"variants.{name}: needs policy=<name>")
    policy = value.pop("policy")
    if not isinstance(policy, str):
        raise ValueError(f"variants.{name}: policy is a name, not {policy!r}")
    seen = _own(config.eyes, value, f"variants.{name}", "eyes")
    camera = _own(config.camera, value, f"variants.{name}", "camera")
    vlm = _own(config.vlm, value, f"variants.{name}", "vlm")
    files = value.get("checkpoint")
    many = isinstance(files, (list, tuple))
    out = {}
    for number, file in enumerate(files if many else [files]):
        own = {**value, "checkpoint": file} if many else value
        made = make_policy(policy, own)  # bad input ends here, before anything is written
        digest = "".join(sha256(Path(used).read_bytes()) for used in getattr(made, "weights", ()))
        run = f"{name}-{number}" if many else name
        out[run] = {
            "policy": policy,
            "config": own,
            "eyes": seen,
            "camera": camera,
            "vlm": vlm if asks_vlm(made) else None,
            "levels": sorted(made.answers) if asks_vlm(made) else [],  # type: ignore[attr-defined]
            "weights": digest,
            "whole": _whole(made, own),
        }
        if asks_vlm(made):
            EpisodeVlm(vlm)  # one that cannot be asked ends here
    if not out:
        raise ValueError(f"variants.{name}.checkpoint: an empty list; give a file or several")
    return out


def _check_levels(specs: Mapping[str, Mapping[str, Any]]) -> None:
    """Settings for questions that no method of the run asks would go unnoticed."""
    asked = {level for spec in specs.values() for level in spec["levels"]}
    for spec in specs.values():
        for level in () if spec["vlm"] is None else spec["vlm"].levels:
            if level not in asked:
                known = ", ".join(sorted(asked))
                raise ValueError(f"vlm.levels: no method here asks questions {level!r}; they ask {known}")


def _own(base: T, variant: dict[str, Any], where: str, key: str) -> T:
    """The run's settings under a key, changed by what a variant has of its own there, which is taken out of
    it."""
    change = variant.pop(key, {})
    if not isinstance(change, Mapping):
        raise ValueError(f"{where}.{key} are settings such as {{name: value}}, not {change!r}")
    try:
        return build(type(base), **_merge(asdict(base), change))  # type: ignore[call-overload]
    except ValueError as error:
        raise ValueError(f"{where}.{key}: {error}") from error


def _whole(policy: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a policy, defaults included (another release may have others), without the files of its
    weights, which count by their content."""
    settings = getattr(policy, "config", None)
    known = asdict(settings) if is_dataclass(settings) else given  # type: ignore[arg-type]
    return {k: v for k, v in known.items() if k not in ("checkpoint", "device")}


def _merge(base: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    nested = {k: _merge(base[k], v) for k, v in change.items() if isinstance(base.get(k), dict)}
    return {**base, **change, **nested}


def _env_config(config: BenchmarkConfig, camera: Camera) -> EnvConfig:
    return EnvConfig(
        split=config.split,
        data=config.data,
        camera=camera,
        body=config.body,
        sim=config.sim,
        task=config.task,
        map=config.map,
    )


def _check_eyes(config: BenchmarkConfig, spec: Mapping[str, Any]) -> str:
    """The space of a run's encoder. Eyes that cannot be made, or do not suit the camera, end here, and
    weights are downloaded once, before workers ask for them."""
    eyes = make_eyes(spec["eyes"])
    make_env(_env_config(config, spec["camera"]), *eyes).close()
    return eyes[1].space


def _settings(config: BenchmarkConfig, name: str, spec: dict[str, Any], encoder: str) -> dict[str, Any]:
    """What decides a method's records; weights by their content, a VLM without its address."""
    rest = {key: asdict(getattr(config, key)) for key in ("body", "task", "map", "observation")}
    if spec["vlm"] is not None:
        rest["vlm"] = spec["vlm"].public()
    return {
        "method": name,
        "policy": spec["policy"],
        "config": spec["whole"],
        "checkpoint": spec["weights"],
        "split": config.split,
        "episodes": split_digest(data_root(config.data), config.split),
        "seed": config.seed,
        "encoder": encoder,
        "eyes": asdict(spec["eyes"]),
        "camera": asdict(spec["camera"]),
        "sim": {"backend": config.sim.backend, "navmesh": config.sim.navmesh},
        **rest,
    }


def _path(out: Path, method: str, episode: str, kind: str = "records") -> Path:
    return out / kind / method / f"{episode}.json"


def _done(path: Path, seed: int) -> bool:
    """Whether there is a record of this method, episode and seed."""
    try:
        record = load_record(path)
    except RecordError:
        return False
    return (record.method, record.episode, record.seed) == (path.parent.name, path.stem, seed)


def _run(
    config: BenchmarkConfig, specs: dict[str, dict[str, Any]], episodes: list[Episode], out: Path
) -> None:
    """Play everything that has no record yet; a scene's episodes and methods run next to each other."""
    jobs = [(e.scene.name, e.id, name) for name in specs for e in episodes]
    todo = sorted(job for job in jobs if not _done(_path(out, job[2], job[1]), config.seed))
    bar = tqdm(
        total=len(jobs), initial=len(jobs) - len(todo), desc="evaluate", unit="episode", smoothing=0.05
    )
    if todo and config.workers > 1:
        plays = [(_play, config, specs[name], name, episode) for _, episode, name in todo]
        run_all(config.workers, plays, lambda _: bar.update())
    else:
        for _, episode, name in todo:
            _play(config, specs[name], name, episode)
            bar.update()
    bar.close()


_worker: dict[str, Any] = {}
_policies: dict[str, tuple[TeamPolicy, EpisodeVlm | None]] = {}


def _play(config: BenchmarkConfig, spec: dict[str, Any], name: str, episode: str) -> None:
    """Play one episode and save its record; environments (one for each kind of eyes and camera), policies and
    VLMs are kept in the worker."""
    policy = repr(spec)
    if policy not in _policies:
        _one_thread()
        made = make_policy(spec["policy"], spec["config"])
        _policies[policy] = made, None if spec["vlm"] is None else _make_vlm(spec["vlm"], config.workers)
    mine, vlm = _policies[policy]
    same = (config.split, config.data, config.body, config.sim, config.task, config.map, config.observation)
    key = repr((same, spec["eyes"], spec["camera"], sees_by_vlm(mine)))
    if key not in _worker:
        eyes = make_eyes(spec["eyes"])
        env = make_env(_env_config(config, spec["camera"]), *eyes, mine)
        _worker[key] = {"eyes": eyes, "env": env, "episodes": {e.id: e for e in env.episodes}}
    tools = _worker[key]
    env, task, eyes = tools["env"], tools["episodes"][episode], tools["eyes"]
    for attempt in range(TRIES):
        clock = Clock()
        try:
            record: EpisodeRecord = play(env, mine, task, eyes, name, config.seed, clock=clock, vlm=vlm)
        except SimulatorDied as error:
            if attempt == TRIES - 1:
                raise
            print(f"{name}, episode {episode}: {error}; playing it again", file=sys.stderr)
        else:
            save_clock(clock, _path(Path(config.out), name, episode, "costs"))
            record.save(_path(Path(config.out), name, episode))
            return


def _make_vlm(config: VlmChoice, workers: int) -> EpisodeVlm:
    """A worker's VLM, with its share of the requests that the run may send."""
    return EpisodeVlm(replace(config, requests_per_minute=config.requests_per_minute / workers))


def _one_thread() -> None:
    """A process an episode is the parallelism; torch must not start threads beside it."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


def _draw(config: BenchmarkConfig, records: dict[str, list[EpisodeRecord]], out: Path) -> None:
    """Pictures of the first episodes of every method, and videos of the last method that is not
    privileged."""
    if not config.pictures and not config.videos:
        return
    from PIL import Image

    from hm3dm3_env.render.replay import topdown, video

    data = str(data_root(config.data))
    for name, mine in records.items():
        for record in mine[: config.pictures]:
            path = out / "pictures" / f"{name}-{record.episode}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(topdown(record, data)).save(path)
    candidates = [name for name, mine in records.items() if not mine[0].privileged] or list(records)
    for record in _worth_watching(records[candidates[-1]])[: config.videos]:
        path = out / "videos" / f"{candidates[-1]}-{record.episode}.mp4"
        video(record, data, path)
        print(f"video: {path}")
    if config.pictures:
        print(f"pictures: {out / 'pictures'}")


def _worth_watching(records: list[EpisodeRecord]) -> list[EpisodeRecord]:
    """Most goals found first, then the shorter ones."""
    return sorted(records, key=lambda r: (-sum(r.found()), r.steps, r.episode))


main = command(BenchmarkConfig, "benchmark", evaluate)

if __name__ == "__main__":
    main()
