"""Metrics of small records, worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm3dm3_env.files import json_bytes
from hm3dm3_env.metrics import episode_spl, interval, paired, row, summarise
from hm3dm3_env.record import RECORD_VERSION, EpisodeRecord, RecordError, load_record


def record(
    modalities: str = "ON TN IIN",
    right: tuple[int, ...] = (),
    wrong: tuple[int, ...] = (),
    *,
    makespan: float = 10.0,
    path: tuple[float, ...] = (10.0, 5.0),
    last: tuple[float, ...] | None = None,
    scene: str = "s",
    steps: int = 3,
) -> EpisodeRecord:
    declared = [
        {"step": 1, "agent": 0, "goal": j, "right": j in right, "distance": 0.5} for j in (*right, *wrong)
    ]
    goals = [
        {"modality": m, "category": f"c{j}", "text": "", "object_id": j}
        for j, m in enumerate(modalities.split())
    ]
    rows = [[[0.0, 0.0, 0.0, 0.0]] * len(path)] * (steps + 1)
    return EpisodeRecord(
        RECORD_VERSION,
        "val",
        "val-0",
        scene,
        "m",
        0,
        False,
        "none",
        "36x64@42",
        0.0,
        makespan,
        goals,
        rows,
        [["wait"] * len(path)] * steps,
        declared,
        list(path),
        list(last or path),
        "exhausted",
    )


# -- by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "goals", "makespan", "longest", "expected"),
    [
        (3, 3, 10, 10, 1.0),
        (3, 3, 10, 20, 0.5),
        (1, 2, 10, 40, 0.125),
        (0, 3, 10, 10, 0.0),
        (2, 2, 10, 4, 1.0),  # shorter than d* is no bonus
        (2, 2, 0, 0, 1.0),
        (2, 2, 0, 5, 0.0),
    ],
)
def test_spl_of_an_episode(found: int, goals: int, makespan: float, longest: float, expected: float) -> None:
    assert episode_spl(found, goals, makespan, longest) == pytest.approx(expected)


def test_row() -> None:
    mine = row(record("ON TN IIN TN", right=(1, 3), wrong=(0,), path=(20.0, 40.0), last=(12.5, 8.0)))
    assert (mine["found"], mine["goals"], mine["right"], mine["wrong"], mine["never"]) == (2, 4, 2, 1, 1)
    assert mine["spl"] == pytest.approx(0.5 * 10 / 40)
    assert mine["spl_last_success"] == pytest.approx(0.5 * 10 / 12.5)
    assert mine["makespan"] == 40 and mine["episode_success"] == 0
    assert (mine["found_TN"], mine["goals_TN"], mine["found_ON"], mine["goals_IIN"]) == (2, 2, 0, 1)


def test_summary() -> None:
    records = [
        record("ON TN IIN", right=(0, 1, 2), scene="a"),
        record("ON ON TN IIN", right=(0,), wrong=(1, 2), path=(30.0,)),
        record("IIN IIN IIN IIN IIN", path=(1.0, 2.0, 3.0)),
    ]
    records = [replace(r, episode=f"val-{i}") for i, r in enumerate(records)]
    s = summarise(records)
    assert s["sr"] == pytest.approx(4 / 12)  # over goals, not over episodes
    assert s["spl"] == pytest.approx((1 + 0.25 / 3 + 0) / 3)
    assert s["episode_success"] == pytest.approx(1 / 3)
    assert (s["sr_on"], s["sr_tn"], s["sr_iin"]) == (2 / 3, 1 / 2, 1 / 7)
    assert s["sr_by_k"] == {"1": 1 / 4, "2": 1.0, "3": 0.0}
    assert s["sr_by_m"] == {"3": 1.0, "4": 1 / 4, "5": 0.0}
    assert (s["right"], s["wrong"], s["never"]) == (4, 2, 6)
    assert (s["episodes"], s["goals"], s["scenes"], s["steps"]) == (3, 12, 2, 3)


def test_training_seeds_are_no_more_episodes() -> None:
    """Records of one episode count as their mean: intervals do not shrink with the number of seeds."""
    rng = np.random.default_rng(0)
    first = [
        replace(record("ON TN IIN", right=(0, 1) if rng.random() < 0.5 else ()), episode=f"val-{i}")
        for i in range(40)
    ]
    once, thrice = summarise(first), summarise(first * 3)
    assert (once["runs"], thrice["runs"]) == (1, 3)
    for key in ("sr", "sr_ci", "spl_ci", "episodes", "right", "never", "sr_by_m"):
        assert thrice[key] == pytest.approx(once[key])
    other = [replace(r, declarations=[]) for r in first]
    assert summarise([*first, *other])["sr"] == pytest.approx(once["sr"] / 2)
    with pytest.raises(ValueError, match="every seed must play all of them"):
        summarise([*first, first[0]])


def test_paired_differences() -> None:
    """The same goals found by both on hard and easy episodes: the difference is sharp though SR is not."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, 60)
    worse = [replace(record(right=tuple(range(n))), episode=f"val-{i}") for i, n in enumerate(counts)]
    better = [replace(record(right=tuple(range(n + 1))), episode=f"val-{i}") for i, n in enumerate(counts)]
    gain = paired(better, worse[::-1])  # in any order
    assert gain["sr"] == pytest.approx(1 / 3) and gain["sr_ci"] == pytest.approx([1 / 3, 1 / 3])
    assert gain["spl"] == pytest.approx(summarise(better)["spl"] - summarise(worse)["spl"])
    low, high = summarise(better)["sr_ci"]
    assert high - low > 0.1
    back = paired(worse, better)
    assert back["sr"] == pytest.approx(-gain["sr"])
    assert paired(better * 2, worse * 2) == gain  # training seeds count as their mean
    with pytest.raises(ValueError, match="same episodes"):
        paired(better, worse[1:])
    with pytest.raises(ValueError, match="same episodes"):
        paired([], [])


def test_a_modality_that_is_not_there() -> None:
    s = summarise([record("ON ON", right=(0,))])
    assert s["sr_on"] == 0.5 and s["sr_tn"] is None and s["sr_tn_ci"] is None


def test_no_records() -> None:
    with pytest.raises(ValueError, match="no records"):
        summarise([])
    assert interval([], lambda means: means[:, 0], ("spl",)) is None


def test_same_interval_twice() -> None:
    records = [record(right=tuple(range(n % 4))) for n in range(20)]
    assert summarise(records) == summarise(records)


# -- properties --------------------------------------------------------------------------------------------

FOUND = st.lists(st.tuples(st.integers(0, 3), st.floats(0.1, 50), st.floats(0, 100)), min_size=1, max_size=12)


def played(found: list[tuple[int, float, float]]) -> list[EpisodeRecord]:
    return [record(right=tuple(range(n)), makespan=best, path=(longest, 0.0)) for n, best, longest in found]


@given(FOUND)
@settings(max_examples=40, deadline=None)
def test_spl_is_at_most_sr(found: list[tuple[int, float, float]]) -> None:
    s = summarise(played(found))  # every episode has three goals, so both average over the same shares
    assert 0 <= s["spl"] <= s["sr"] + 1e-9 <= 1 + 2e-9
    assert s["episode_success"] <= s["sr"] + 1e-9


@given(FOUND)
@settings(max_examples=40, deadline=None)
def test_intervals_lie_in_range_and_around_their_middle(found: list[tuple[int, float, float]]) -> None:
    s = summarise(played(found))
    for name in ("sr", "spl"):
        low, high = s[f"{name}_ci"]
        assert -1e-9 <= low <= high <= 1 + 1e-9


@pytest.mark.parametrize("episodes", [5, 30, 200])
def test_intervals_contain_the_mean_and_shrink(episodes: int) -> None:
    records = [record(right=tuple(range(n % 4)), path=(10.0 + n % 7, 1.0)) for n in range(episodes)]
    s = summarise(records)
    for name in ("sr", "spl"):
        low, high = s[f"{name}_ci"]
        assert low <= s[name] <= high
        assert high - low < 4 / episodes**0.5
    for modality in ("on", "tn", "iin"):
        low, high = s[f"sr_{modality}_ci"]
        assert low <= s[f"sr_{modality}"] <= high


# -- records -----------------------------------------------------------------------------------------------


def test_records_come_back(tmp_path: Path) -> None:
    before = record(right=(1,), wrong=(2,))
    before.save(tmp_path / "sub" / "r.json")
    after = load_record(tmp_path / "sub" / "r.json")
    assert after == before and after.to_bytes() == before.to_bytes()
    assert (after.agents, after.steps, after.found()) == (2, 3, [False, True, False])
    assert [p.name for p in (tmp_path / "sub").iterdir()] == ["r.json"]  # no temporary file is left


def test_records_from_before_encoders_were_kept(tmp_path: Path) -> None:
    value = json.loads(record(right=(1,)).to_bytes())
    del value["encoder"]
    (tmp_path / "r.json").write_text(json.dumps(value))
    old = load_record(tmp_path / "r.json")
    assert old.encoder == "" and summarise([old])["encoder"] == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a readable record"),
        (b"{", "not a readable record"),
        (b"\xff\xfe", "not a readable record"),
        (b"[]", "version None"),
        (b"{}", "version None"),
        (b'{"version": 99}', "version 99"),
        (b'{"version": 1}', "missing"),
        (b'{"version": 1, "colour": 2}', "colour"),
    ],
)
def test_bad_records(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=message) as error:
        load_record(path)
    assert str(path) in str(error.value)


def test_a_missing_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="r.json: no such record; give the .json file of one"):
        load_record(tmp_path / "r.json")
    with pytest.raises(RecordError, match="a folder; give the .json file of one record in it"):
        load_record(tmp_path)


def test_canonical_json() -> None:
    assert json_bytes({"b": 1, "a": [1.5, None]}) == b'{"a":[1.5,null],"b":1}\n'
    with pytest.raises(ValueError):
        json_bytes({"a": float("nan")})
