"""Evaluation in the two rooms: what it writes, and that it continues where it stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from eval import benchmark
from eval.benchmark import BenchmarkConfig, evaluate
from eval.heat import HeatConfig, compare
from eval.recognition import RecognitionConfig, examine
from eval.table import percent
from higa.checkpoint import save
from higa.network import Assigner
from hm3dm3_env import metrics
from hm3dm3_env.record import load_record
from hm3dm3_env.sim.base import Camera, SimulatorDied
from hm3dm3_env.sim.make import SimConfig
from hm3dm3_env.sim.process import ProcessSimulator
from policies.eyes import EyesConfig
from policies.random_policy import RandomPolicy
from tests.processes import kill_when

KEYS = {
    "sr", "sr_ci", "spl", "spl_ci", "sr_on", "sr_tn", "sr_iin", "episode_success", "makespan", "episodes",
    "goals", "recogniser", "privileged", "split", "seed",
}  # fmt: skip


@pytest.fixture
def config(data: Path, tmp_path: Path) -> BenchmarkConfig:
    """Four episodes, in this process, without pictures."""
    return BenchmarkConfig(
        method="random", split="rooms", limit=4, out=str(tmp_path / "out"), data=str(data), workers=1,
        pictures=0, camera=Camera(36, 64),
    )  # fmt: skip


def files(out: str | Path) -> dict[str, bytes]:
    """All records and results of an evaluation, without times; the table ends in them and the command."""
    found = {str(p.relative_to(out)): p.read_bytes() for p in sorted(Path(out).rglob("*.json"))}
    found = {name: content for name, content in found.items() if not name.startswith("costs")}
    found["table.txt"], times, _ = Path(out, "table.txt").read_bytes().rpartition(b"Cost:")
    assert times
    return found


def records(out: str | Path) -> dict[str, bytes]:
    return {name: content for name, content in files(out).items() if name.startswith("records")}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(method, episode) of everything that is played in this process."""
    log: list[tuple[str, str]] = []
    play = benchmark._play

    def watched(config: Any, spec: Any, name: str, episode: str) -> None:
        log.append((name, episode))
        play(config, spec, name, episode)

    monkeypatch.setattr(benchmark, "_play", watched)
    return log


def test_summary(config: BenchmarkConfig, capsys: pytest.CaptureFixture[str]) -> None:
    config = replace(config, method=["random", "oracle"], limit=None)
    summary = evaluate(config)
    out = Path(config.out)
    assert json.loads((out / "summary.json").read_text()) == summary
    assert list(summary) == ["random", "oracle"]
    for name, values in summary.items():
        assert KEYS <= set(values)
        again = metrics.summarise(
            [load_record(p) for p in sorted((out / "records" / name).glob("rooms-*.json"))]
        )
        assert {key: values[key] for key in again} == again
        assert values["episodes"] == 9 and values["split"] == "rooms" and values["seed"] == 0
        assert values["sr_ci"][0] <= values["sr"] <= values["sr_ci"][1]
    assert summary["oracle"]["sr"] == 1.0 and summary["oracle"]["spl"] > 0.75
    assert summary["random"]["sr"] < 0.5
    assert (summary["oracle"]["privileged"], summary["oracle"]["recogniser"]) == (True, "none")
    assert (summary["random"]["privileged"], summary["random"]["recogniser"]) == (False, "simulated")
    text = (out / "table.txt").read_text()
    assert text in capsys.readouterr().out
    assert (
        "split rooms: 9 episodes" in text and "seed 0" in text and "simulated" in text and "36x64@42" in text
    )
    assert text.splitlines()[-1].startswith("made by: python -m eval.benchmark")
    row = next(line for line in text.splitlines() if line.startswith("oracle"))
    assert row.split()[1].startswith("100.0") and row.endswith("yes")
    assert not (out / "pictures").exists()


def test_costs_and_differences(config: BenchmarkConfig) -> None:
    config = replace(config, method=["frontier", "ego_swarm", "oracle"], against="frontier")
    summary = evaluate(config)
    assert summary["frontier"]["gain"] is None
    gain = summary["oracle"]["gain"]
    assert gain["sr"] == pytest.approx(summary["oracle"]["sr"] - summary["frontier"]["sr"])
    assert gain["spl"] == pytest.approx(summary["oracle"]["spl"] - summary["frontier"]["spl"])
    assert gain["sr_ci"][0] <= gain["sr"] <= gain["sr_ci"][1]
    costs = json.loads(Path(config.out, "costs.json").read_text())
    assert costs["methods"]["frontier"]["step_ms"] > costs["methods"]["frontier"]["eyes_ms"] > 0
    assert costs["methods"]["oracle"]["eyes_ms"] == 0 and costs["methods"]["oracle"]["vlm_calls"] is None
    text = Path(config.out, "table.txt").read_text()
    assert "SR minus frontier" in text and "ms a step" in text
    rows = [line for line in text.splitlines() if line.startswith("ego_swarm")]
    assert len(rows) == 3
    again = evaluate(replace(config, method=["frontier", "ego_swarm"], against="higa"))  # not there
    assert again["ego_swarm"]["gain"] is None
    assert "minus" not in Path(config.out, "table.txt").read_text()
    damaged = ["{", '{"total": NaN, "eyes": 0, "steps": 3}', '{"total": 1, "eyes": 0, "steps": -3}', "[]"]
    for path, text in zip(Path(config.out, "costs", "frontier").iterdir(), damaged, strict=True):
        path.write_text(text)  # times that are lost are no error
    evaluate(config)
    lost = json.loads(Path(config.out, "costs.json").read_text())["methods"]
    assert lost["frontier"]["step_ms"] is None and lost["ego_swarm"]["step_ms"] > 0


def test_percent() -> None:
    assert percent(0.41, [0.382, 0.439]) == "41.0 [38.2, 43.9]"
    assert percent(0.5) == "50.0" and percent(None, None) == "-"


def test_continues(config: BenchmarkConfig, played: list[tuple[str, str]]) -> None:
    evaluate(config)
    before = files(config.out)
    assert len(played) == 4
    evaluate(config)
    assert len(played) == 4  # nothing was left to do
    missing = Path(config.out, "records", "random", "rooms-00002.json")
    missing.unlink()
    evaluate(config)
    assert played[4:] == [("random", "rooms-00002")] and files(config.out) == before
    evaluate(replace(config, limit=5))  # more of the same goes into the same folder
    assert played[5:] == [("random", "rooms-00004")]
    assert records(config.out).items() > {k: v for k, v in before.items() if k.startswith("records")}.items()


@pytest.mark.parametrize("damage", [b"", b"half", b"not a record"])
def test_damaged_records_are_played_again(
    damage: bytes, config: BenchmarkConfig, played: list[tuple[str, str]]
) -> None:
    evaluate(config)
    before = files(config.out)
    path = Path(config.out, "records", "random", "rooms-00001.json")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if damage == b"half" else damage)
    evaluate(config)
    assert played[4:] == [("random", "rooms-00001")] and files(config.out) == before


def test_any_number_of_workers(config: BenchmarkConfig, tmp_path: Path) -> None:
    methods = ["random", "oracle"]
    evaluate(replace(config, method=methods))
    evaluate(replace(config, method=methods, workers=2, out=str(tmp_path / "two")))
    assert files(config.out) == files(tmp_path / "two") and len(records(config.out)) == 10


def test_methods_do_not_depend_on_each_other(config: BenchmarkConfig, tmp_path: Path) -> None:
    evaluate(replace(config, method=["oracle", "random"]))
    evaluate(replace(config, out=str(tmp_path / "alone")))
    together = records(config.out)
    assert records(tmp_path / "alone").items() <= together.items()


def test_seeds(config: BenchmarkConfig, tmp_path: Path) -> None:
    evaluate(config)
    evaluate(replace(config, seed=1, out=str(tmp_path / "other")))
    name = "records/random/rooms-00000.json"
    assert records(config.out)[name] != records(tmp_path / "other")[name]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"camera": Camera(48, 64)},
        {"eyes": EyesConfig(recogniser="perfect")},
        {"variants": {"random": {"policy": "frontier"}}},
    ],
)
def test_other_settings_need_another_folder(config: BenchmarkConfig, change: dict[str, Any]) -> None:
    config = replace(config, limit=1)
    evaluate(config)
    before = files(config.out)
    with pytest.raises(ValueError, match=r"settings\.json.*other settings.*out="):
        evaluate(replace(config, **change))
    assert files(config.out) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "rnadom"}, "rnadom.*available.*frontier"),
        ({"method": []}, "method.*name"),
        ({"method": ["random", "random"]}, "different names"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"limit": -1}, "limit must be at least 1"),
        ({"split": "nowhere"}, "nowhere"),
        ({"method": "mine", "variants": {"mine": {"crew": {}}}}, r"variants\.mine.*policy"),
        ({"method": "mine", "variants": {"mine": None}}, r"variants\.mine.*policy"),
        ({"method": "mine", "variants": {"mine": {"policy": "nix"}}}, "nix"),
        ({"method": "mine", "variants": {"mine": {"policy": "frontier", "croo": 1}}}, "croo"),
        ({"method": "mine", "variants": {"mine": {"policy": "higa", "checkpoint": "gone.pt"}}}, "gone.pt"),
        (
            {"method": "mine", "variants": {"mine": {"policy": ["frontier"]}}},
            r"variants\.mine: policy is a name",
        ),
        ({"method": "mine", "variants": {"mine": {"policy": "vlfm", "radius": float("nan")}}}, "radius.*nan"),
        ({"method": "mine", "variants": "vlfm"}, "variants: give"),
        (
            {"method": "../mine", "variants": {"../mine": {"policy": "random"}}},
            r"method: '\.\./mine' must be",
        ),
        ({"method": None}, "give one name or a list"),
        ({"against": "hgia"}, "against: 'hgia' is not among"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"eyes": EyesConfig(recogniser="owlv3")}, "recogniser.*owlv3"),
    ],
)
def test_bad_input_ends_before_anything_is_written(
    change: dict[str, Any], words: str, config: BenchmarkConfig
) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(replace(config, **change))
    assert not Path(config.out).exists()


def test_variants(config: BenchmarkConfig, tmp_path: Path) -> None:
    """A name is not a policy: two evaluations in one process may mean different things by it."""

    def run(patience: int, out: str) -> dict[str, bytes]:
        variants = {"mine": {"policy": "frontier", "crew": {"first_scan": patience}}}
        evaluate(replace(config, method="mine", variants=variants, limit=2, out=str(tmp_path / out)))
        return records(tmp_path / out)

    first, other, again = run(11, "a"), run(2, "b"), run(11, "c")
    assert first == again
    assert first["records/mine/rooms-00001.json"] != other["records/mine/rooms-00001.json"]
    assert load_record(tmp_path / "a" / "records" / "mine" / "rooms-00000.json").method == "mine"


def test_a_vlm_may_move_but_not_change(config: BenchmarkConfig, played: list[tuple[str, str]]) -> None:
    """Records are the model's, wherever it is served; a dead endpoint is counted in the table."""

    def run(port: int, model: str) -> None:
        vlm = {"base_url": f"http://127.0.0.1:{port}/v1", "model": model, "retries": 0, "give_up": 0}
        variants = {"mine": {"policy": "co_navgpt2", "vlm": vlm}}
        evaluate(replace(config, method="mine", variants=variants, limit=1))

    run(9, "one")
    text = Path(config.out, "table.txt").read_text().splitlines()
    _, cost, level = (line.split() for line in text if line.startswith("mine"))
    assert cost[3] == "one" and float(cost[4]) == float(cost[-1]) > 0
    assert level[1:3] == ["one", "assign"] and level[3] == cost[4]
    settings = Path(config.out, "records", "mine", "settings.json").read_text()
    assert "127.0.0.1" not in settings and "one" in settings
    run(10, "one")
    assert len(played) == 1
    with pytest.raises(ValueError, match="other settings"):
        run(9, "two")


def test_settings_are_those_of_the_whole_policy(config: BenchmarkConfig) -> None:
    """Defaults included, since the next release may have others; infinity may be one."""
    variants = {"far": {"policy": "dm3_nav", "range": float("inf")}}
    evaluate(replace(config, method="far", variants=variants, limit=1))
    settings = json.loads(Path(config.out, "records", "far", "settings.json").read_text())["config"]
    assert settings["range"] == "inf" and settings["block"] == 20 and settings["crew"]["stop"] == 0.6


def test_a_record_of_another_episode_is_played_again(
    config: BenchmarkConfig, played: list[tuple[str, str]]
) -> None:
    evaluate(config)
    before = records(config.out)
    folder = Path(config.out, "records", "random")
    (folder / "rooms-00001.json").write_bytes((folder / "rooms-00000.json").read_bytes())
    value = json.loads((folder / "rooms-00002.json").read_text())
    (folder / "rooms-00002.json").write_text(json.dumps({**value, "path": []}))
    evaluate(config)
    assert [episode for _, episode in played[4:]] == ["rooms-00001", "rooms-00002"]
    assert records(config.out) == before


def test_a_method_that_says_what_is_no_json(config: BenchmarkConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomPolicy, "record", lambda self: {"sure": float("nan")})
    with pytest.raises(ValueError, match=r"random: record\(\) must be JSON"):
        evaluate(config)
    monkeypatch.setattr(RandomPolicy, "record", lambda self: {"vlm": "mine"})  # not the form that tables know
    evaluate(config)
    assert json.loads(Path(config.out, "costs.json").read_text())["methods"]["random"]["vlm"] is None


def test_checkpoints_count_by_their_content(config: BenchmarkConfig, tmp_path: Path) -> None:
    def run(seed: int, file: str, out: str) -> dict[str, bytes]:
        torch.manual_seed(seed)
        save(tmp_path / file, Assigner(), {})
        variants = {"mine": {"policy": "higa", "checkpoint": str(tmp_path / file), "device": "cpu"}}
        evaluate(replace(config, method="mine", variants=variants, limit=2, out=str(tmp_path / out)))
        return records(tmp_path / out)

    first = run(0, "a.pt", "one")
    assert run(0, "elsewhere.pt", "one") == first  # the same weights at another place
    with pytest.raises(ValueError, match="other settings"):
        run(1, "a.pt", "one")  # other weights at the same place
    name = "records/mine/rooms-00001.json"
    assert run(1, "a.pt", "two")[name] != first[name]


# -- killed runs -------------------------------------------------------------------------------------------


def test_training_seeds_are_one_row(config: BenchmarkConfig, tmp_path: Path) -> None:
    paths = []
    for seed in range(2):
        torch.manual_seed(seed)
        paths.append(str(tmp_path / f"{seed}.pt"))
        save(paths[-1], Assigner(), {})
    variants = {"learned": {"policy": "higa", "checkpoint": paths, "body": {"kind": "planner"}}}
    summary = evaluate(replace(config, method="learned", variants=variants, every=2, limit=None))["learned"]
    out = Path(config.out) / "records"
    runs = [
        metrics.summarise([load_record(p) for p in sorted((out / f"learned-{i}").glob("rooms-*.json"))])
        for i in range(2)
    ]
    assert summary["runs"] == 2 and summary["episodes"] == 5 == runs[0]["episodes"]
    assert summary["sr_runs"] == [run["sr"] for run in runs]
    assert summary["sr"] == pytest.approx(sum(run["sr"] for run in runs) / 2)
    low, high = sorted(100 * run["sr"] for run in runs)
    assert f"2: {low:.1f}-{high:.1f}" in (Path(config.out) / "table.txt").read_text()
    for change, message in (
        ({"variants": {"learned": {"policy": "higa", "checkpoint": []}}}, "an empty list"),
        ({"method": ["learned", "learned-0"], "variants": {**variants, "learned-0": {"policy": "random"}}},
         "two runs have one name"),
        ({"every": 0, "method": "random"}, "every must be at least 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            evaluate(replace(config, **{"method": "learned", **change}))  # type: ignore[arg-type]


def test_a_variant_may_have_other_eyes(config: BenchmarkConfig) -> None:
    variants = {"sharp": {"policy": "frontier", "eyes": {"recogniser": "perfect"}}}
    summary = evaluate(replace(config, method=["frontier", "sharp"], variants=variants))
    assert (summary["sharp"]["recogniser"], summary["sharp"]["privileged"]) == ("perfect", True)
    assert (summary["frontier"]["recogniser"], summary["frontier"]["privileged"]) == ("simulated", False)
    alone = replace(config, out=config.out + "-alone", method="frontier", eyes=EyesConfig("perfect"))
    assert evaluate(alone)["frontier"]["sr"] == summary["sharp"]["sr"]
    wrong = {"sharp": {"policy": "frontier", "eyes": {"recogniser": {"x": 1}}}}
    with pytest.raises(ValueError, match="variants.sharp.eyes"):
        evaluate(replace(config, method="sharp", variants=wrong))


def test_a_killed_evaluation_continues(config: BenchmarkConfig, tmp_path: Path) -> None:
    whole = replace(config, method=["frontier", "oracle"], limit=None, out=str(tmp_path / "whole"))
    evaluate(whole)
    out = tmp_path / "killed"
    arguments = [
        "eval.benchmark", "method=[frontier,oracle]", "split=rooms", f"out={out}", f"data={config.data}",
        "workers=1", "pictures=0", "camera.width=36", "camera.height=64",
    ]  # fmt: skip
    kill_when(arguments, lambda: len(list(out.glob("records/*/rooms-*.json"))) >= 3)
    assert 3 <= len(list(out.glob("records/*/rooms-*.json"))) < 18 and not (out / "summary.json").exists()
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert files(out) == files(whole.out)
    assert done.stdout in (out / "table.txt").read_text() + "\n"
    assert "'method=[frontier,oracle]'" in (out / "table.txt").read_text().splitlines()[-1]


def test_workers_end_with_a_killed_run() -> None:
    """The pipe is at its end only when nobody is left who could write to it."""
    code = (
        "import os\nfrom hm3dm3_env.workers import worker_pool\n"
        "print(worker_pool(2).submit(pow, 2, 5).result(), flush=True)\nos.kill(os.getpid(), 9)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.communicate(timeout=30)[0] == b"32\n" and process.returncode == -signal.SIGKILL
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_command_line_errors() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eval.benchmark", "method=nix"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and "error: unknown method 'nix'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_simulator_that_dies_is_begun_again(
    config: BenchmarkConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluate(replace(config, out=str(tmp_path / "calm")))
    deaths = [5, 40, 90]  # calls into the simulator after which its worker is killed
    calls, call = [0], ProcessSimulator.call

    def deadly(sim: ProcessSimulator, *arguments: Any, **keywords: Any) -> Any:
        calls[0] += 1
        if calls[0] in deaths:
            assert sim._worker is not None
            sim._worker.process.kill()
        return call(sim, *arguments, **keywords)

    monkeypatch.setattr(ProcessSimulator, "call", deadly)
    worker = SimConfig(python=sys.executable)
    evaluate(replace(config, sim=worker, out=str(tmp_path / "deadly")))
    assert capsys.readouterr().err.count("playing it again") == len(deaths)
    assert records(tmp_path / "deadly") == records(tmp_path / "calm")  # byte for byte


def test_a_simulator_that_always_dies_is_an_error(
    config: BenchmarkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dead(sim: ProcessSimulator, folder: Path) -> None:
        raise SimulatorDied("no context")

    monkeypatch.setattr(ProcessSimulator, "load", dead)
    with pytest.raises(SimulatorDied, match="no context"):
        evaluate(replace(config, sim=SimConfig(python=sys.executable)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"backend": "unity"}, "embedded, habitat"),
        ({"navmesh": "none"}, "computed, scene"),
        ({"memory_gb": 0}, "must be positive"),
    ],
)
def test_simulators_that_there_are_not(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SimConfig(**values)


# -- heat --------------------------------------------------------------------------------------------------


def test_heat_is_compared_with_the_way_to_goals(houses: str, data: Path, tmp_path: Path) -> None:
    config = HeatConfig(data=houses, every=2, steps=10, out=str(tmp_path / "heat"))
    summary = compare(config)
    everything = summary["all"]
    assert (
        sum(row["comparisons"] for name, row in summary.items() if name != "all") == everything["comparisons"]
    )
    for row in summary.values():
        assert row["comparisons"] > 0 and -1 <= row["correlation"] <= 1
        assert row["nearest"] <= row["hottest"] and row["nearest"] < row["average"]
        low, high = row["correlation_ci"]
        assert low <= row["correlation"] + 1e-9 and row["correlation"] <= high + 1e-9
    assert json.loads((tmp_path / "heat" / "summary.json").read_text()) == summary == compare(config)
    with pytest.raises(ValueError, match="every=0: must be at least 1"):
        replace(config, every=0)


# -- recognition -------------------------------------------------------------------------------------------


def test_the_operating_point(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = RecognitionConfig(data=str(data), split="rooms", every=3, out=str(tmp_path / "out"))
    noisy = examine(config)
    assert examine(config) == noisy == json.loads((tmp_path / "out" / "summary.json").read_text())
    perfect = examine(replace(config, eyes=EyesConfig(recogniser="perfect"), out=str(tmp_path / "perfect")))
    for name in ("ON", "TN", "IIN"):
        for key in ("by_range", "by_size"):
            assert sum(c["looks"] for c in noisy[name][key]) == noisy[name]["looks"] > 0
            assert sum(c["claims"] for c in noisy[name][key]) == noisy[name]["claims"]
        assert perfect[name]["recall"] > 0.9 and perfect[name]["precision"] > 0.95
        assert noisy[name]["recall"] < perfect[name]["recall"]
    text = (tmp_path / "out" / "table.txt").read_text()
    assert text in capsys.readouterr().out and "recogniser simulated" in text and "36x64" not in text
    assert (tmp_path / "out" / "operating_point.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="every=0"):
        replace(config, every=0)
