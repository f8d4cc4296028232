"""The assigner's network, what it is trained on, and regret: symmetries, ablations, masks, and the table."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from higa import checkpoint
from higa.assign import hungarian
from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES, Decision
from higa.network import HEAT_FEATURES, Assigner, AssignerConfig, Batch, collate
from higa.regret import MOST, agreement, decode, least_assignments, regrets, robot_regrets
from higa.samples import SampleSet
from tests.processes import run_module
from train.assignment import AssignmentConfig, compare, interval
from train.augment import SYMMETRIES, transformed
from train.loss import LossConfig, hits, label_weights, loss_sum
from train.samples import open_samples
from train.trainer import TrainConfig, fit

TINY = AssignerConfig(width=32, layers=2, heads=4, mlp=64, grid=8, patch=4)
NAN, INF = math.nan, math.inf


def decision(robots: int, goals: int, seed: int = 0, grid: int = 8) -> Decision:
    """Random inputs of the right shapes, in which some robots and goals are out."""
    rng = np.random.default_rng([robots, goals, seed])
    active, opened = rng.random(robots) < 0.8, rng.random(goals) < 0.8
    active[rng.integers(robots)], opened[rng.integers(goals)] = True, True
    return Decision(
        rng.integers(256, size=(len(MAP_CHANNELS), grid, grid), dtype=np.uint8),
        rng.integers(256, size=(goals, grid, grid), dtype=np.uint8),
        rng.normal(size=(robots, len(AGENT_FEATURES))).astype(np.float32),
        rng.normal(size=(goals, len(GOAL_FEATURES))).astype(np.float32),
        rng.normal(size=(robots, goals, len(PAIR_FEATURES))).astype(np.float32),
        active,
        opened,
    )


def network(**changes: Any) -> Assigner:
    torch.manual_seed(0)
    return Assigner(replace(TINY, **changes)).eval()


def usable(d: Decision, scores: np.ndarray) -> np.ndarray:
    return np.where(d.active[:, None] & d.open[None], scores[: len(d.active), : len(d.open)], 0.0)


# -- the network -------------------------------------------------------------------------------------------

ABLATIONS: list[dict[str, Any]] = [
    {},
    {"use_map": False},
    {"use_heat": False},
    {"use_map": False, "use_heat": False},
]


@pytest.mark.parametrize("changes", ABLATIONS)
@settings(max_examples=25)
@given(k=st.integers(1, 8), m=st.integers(1, 8), seed=st.integers(0, 1000))
def test_orders_and_padding_do_not_matter(changes: dict[str, Any], k: int, m: int, seed: int) -> None:
    model, d = network(**changes), decision(k, m, seed)
    rng = np.random.default_rng(seed)
    p, q = rng.permutation(k), rng.permutation(m)
    turned = Decision(
        d.grid, d.heat[q], d.agents[p], d.goals[q], d.pairs[p][:, q], d.active[p], d.open[q]
    )  # fmt: skip
    plain = usable(d, model.scores(d))
    np.testing.assert_allclose(usable(turned, model.scores(turned)), plain[p][:, q], atol=2e-5)
    with torch.no_grad():
        padded = model(collate([d, decision(8, 8, 1)]))[0].numpy()
    np.testing.assert_allclose(usable(d, padded), plain, atol=2e-5)


@pytest.mark.parametrize("changes", ABLATIONS)
def test_what_is_out_is_not_seen(changes: dict[str, Any]) -> None:
    model, d = network(**changes), decision(4, 5)
    d.active[:], d.open[:] = [True, False, True, True], [True, True, False, True, True]
    other = replace(d, agents=d.agents.copy(), goals=d.goals.copy(), heat=d.heat.copy(), pairs=d.pairs.copy())
    other.agents[1], other.goals[2], other.heat[2], other.pairs[1], other.pairs[:, 2] = 9, -9, 7, 50, -50
    np.testing.assert_allclose(usable(d, model.scores(other)), usable(d, model.scores(d)), atol=2e-5)


@pytest.mark.parametrize("changes", ABLATIONS)
def test_nothing_to_choose_from_gives_numbers(changes: dict[str, Any]) -> None:
    d = decision(2, 3)
    d.active[:], d.open[:] = False, False
    assert np.isfinite(network(**changes).scores(d)).all()


def test_every_pair_depends_on_its_rivals() -> None:
    """A robot's score for a goal knows how near the others are to it."""
    model, d = network(), decision(3, 3)
    d.active[:], d.open[:] = True, True
    other = replace(d, pairs=d.pairs.copy())
    other.pairs[2, 1] += 2.0
    changed = np.abs(model.scores(other) - model.scores(d))
    assert changed[0, 1] > 1e-4 and changed[2, 0] > 1e-4


def test_ablations_hide_what_they_say() -> None:
    d = decision(3, 4)
    cold = replace(d, heat=255 - d.heat, goals=d.goals.copy(), pairs=d.pairs.copy())
    for names, values in ((GOAL_FEATURES, cold.goals), (PAIR_FEATURES, cold.pairs)):
        for column, name in enumerate(names):
            if name in HEAT_FEATURES:
                values[..., column] += 3.0
    blind = replace(d, grid=255 - d.grid)
    for other, switch in ((cold, "use_heat"), (blind, "use_map")):
        seeing, hidden = network(), network(**{switch: False})
        assert np.abs(seeing.scores(other) - seeing.scores(d)).max() > 1e-3
        np.testing.assert_array_equal(hidden.scores(other), hidden.scores(d))
    known = {name for name in (*GOAL_FEATURES, *PAIR_FEATURES) if "heat" in name or "hottest" in name}
    assert known | {"best utility"} == set(HEAT_FEATURES)


def test_ablations_are_kept_in_checkpoints(tmp_path: Path) -> None:
    model = network(use_heat=False, use_map=False)
    checkpoint.save(tmp_path / "a.pt", model, {})
    again = checkpoint.load(tmp_path / "a.pt", "cpu")[0]
    assert again.config == model.config and not again.config.use_heat
    d = decision(2, 3)
    np.testing.assert_array_equal(again.scores(d), model.scores(d))


def test_old_checkpoints_are_named(tmp_path: Path) -> None:
    torch.save({"version": 1, "config": {}, "weights": {}, "about": {}}, tmp_path / "old.pt")
    with pytest.raises(checkpoint.CheckpointError, match=r"old\.pt: version 1 .*train it again"):
        checkpoint.load(tmp_path / "old.pt", "cpu")


# -- loss and augmentation ---------------------------------------------------------------------------------


def labelled_batch() -> Batch:
    """Two samples: three robots and goals; the second has one robot and one goal left."""
    batch = collate([decision(3, 3, 5), decision(3, 3, 6)], [np.array([1, -1, 0]), np.array([-1, 2, -1])])
    batch.active[:], batch.open[:] = torch.tensor([True, True, True]), torch.tensor([True, True, True])
    batch.active[1], batch.open[1] = torch.tensor([False, True, False]), torch.tensor([False, False, True])
    batch.costs[0] = torch.tensor([[9.0, 7.5, 8.0], [9.0, 9.0, 9.0], [5.0, INF, INF]])
    batch.costs[1, 1, 2] = 4.0
    return batch


def test_weights_are_what_a_label_saves() -> None:
    batch = labelled_batch()
    weights = label_weights(batch.label, batch.costs, LossConfig(by_cost=True, floor=0.25, most=3.0))
    # 8.0 - 7.5 saved; no label; an impossible second best; nothing else to choose
    assert weights.tolist() == [[0.75, 0.0, 3.25], [0.0, 0.25, 0.0]]
    assert label_weights(batch.label, batch.costs, LossConfig()).tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("by_cost", [False, True])
def test_loss_of_a_batch_is_that_of_its_parts(by_cost: bool) -> None:
    config, batch = LossConfig(by_cost=by_cost), labelled_batch()
    scores = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    parts = [Batch(*(value[i : i + 1] for value in vars(batch).values())) for i in range(2)]
    whole = loss_sum(scores, batch, config)
    split = torch.stack([loss_sum(scores[i : i + 1], part, config) for i, part in enumerate(parts)]).sum()
    assert whole.item() == pytest.approx(split.item()) and whole.item() > 0
    whole.backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[0, 1] == 0).all() and (scores.grad[1, [0, 2]] == 0).all()  # robots without a label
    assert (scores.grad[1, :, :2] == 0).all()  # goals that are out
    expected = -torch.log_softmax(scores[0], -1)[[0, 2], [1, 0]]
    if not by_cost:
        assert whole.item() == pytest.approx(expected.sum().item())


def test_hits() -> None:
    batch = labelled_batch()
    scores = torch.zeros(2, 3, 3)
    scores[0, 0, 1], scores[0, 2, 2], scores[1, 1, 0] = 5.0, 5.0, 9.0  # right, wrong, best of what is left
    assert hits(scores, batch) == (2, 3)


def test_loss_settings() -> None:
    with pytest.raises(ValueError, match=r"train\.loss\.floor"):
        LossConfig(by_cost=True, floor=0.0)
    with pytest.raises(ValueError, match=r"train\.loss\.most=nan"):
        LossConfig(most=NAN)


def test_symmetries_move_robots_with_the_map() -> None:
    """A robot's cell and the cell that it faces, drawn into the grid, are where its features say, whatever
    the symmetry."""
    side, half, rng = 8, 4.0, np.random.default_rng(0)
    for code in range(SYMMETRIES):
        batch = collate([decision(1, 2, code)])
        row, column, heading = rng.integers(2, 6), rng.integers(2, 6), rng.integers(4) * np.pi / 2
        x, z = column + 0.5 - half, row + 0.5 - half
        ahead = round(row - np.cos(heading)), round(column - np.sin(heading))
        batch.grid[:] = 0
        batch.grid[0, 0, row, column] = batch.grid[0, 1, ahead[0], ahead[1]] = 1
        batch.heat[0, 1] = batch.grid[0, 1]
        batch.agents[0, 0, :4] = torch.tensor([x / 16, z / 16, np.sin(heading), np.cos(heading)])
        moved = transformed(batch, np.array([code]))
        new_x, new_z, sine, cosine = moved.agents[0, 0, :4].tolist()
        place = int(new_z * 16 + half), int(new_x * 16 + half)
        faced = round(place[0] - cosine), round(place[1] - sine)
        assert torch.nonzero(moved.grid[0, 0]).tolist() == [list(place)]
        assert torch.nonzero(moved.grid[0, 1]).tolist() == [list(faced)]
        assert torch.equal(moved.heat[0, 1], moved.grid[0, 1])
        assert torch.equal(moved.agents[0, 0, 4:], batch.agents[0, 0, 4:])
        assert side == moved.grid.shape[-1]
    turned = transformed(collate([decision(2, 2)] * SYMMETRIES), np.arange(SYMMETRIES)).grid
    assert len({part.numpy().tobytes() for part in turned}) == SYMMETRIES
    assert torch.equal(turned[0], collate([decision(2, 2)]).grid[0])


# -- regret ------------------------------------------------------------------------------------------------

COSTS = np.array([[[5.0, 8.0, NAN], [9.0, 6.0, NAN], [NAN, NAN, NAN]]])
IDLE = np.array([[7.0, INF, NAN]])
ACTIVE, OPEN = np.array([[True, True, False]]), np.array([[True, True, False]])


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [([0, 1, -1], [0, 0]), ([1, 0, -1], [3, 3]), ([-1, 1, -1], [2, 0]), ([0, -1, -1], [0, MOST])],
)
def test_regret_of_robots(chosen: list[int], expected: list[float]) -> None:
    found = robot_regrets(np.array([chosen]), COSTS, IDLE, ACTIVE)
    assert found[0, :2].tolist() == expected and np.isnan(found[0, 2])
    mean, least = regrets(found)
    assert mean.tolist() == [np.mean(expected)] and least.tolist() == [max(expected)]


def test_regret_of_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="row 0: robot 1 was given a goal that is out"):
        robot_regrets(np.array([[0, 2, -1]]), COSTS, IDLE, ACTIVE)
    with pytest.raises(ValueError, match="row 1: no robot"):
        regrets(np.array([[1.0, NAN], [NAN, NAN]]))


def test_decoding_many_is_decoding_each() -> None:
    rng = np.random.default_rng(0)
    scores, active, opened = rng.normal(size=(20, 4, 5)), rng.random((20, 4)) < 0.7, rng.random((20, 5)) < 0.7
    for row, found in enumerate(decode(scores, active, opened)):
        expected = hungarian(scores[row], active[row], opened[row])
        assert [None if j < 0 else j for j in found] == expected


@pytest.mark.parametrize(("robots", "goals"), [(2, 4), (3, 3), (4, 2)])
def test_least_assignments_are_the_best_of_all(robots: int, goals: int) -> None:
    rng = np.random.default_rng(robots)
    active, opened = np.ones((1, robots), bool), np.ones((1, goals), bool)
    for _ in range(10):
        costs, idle = rng.uniform(3, 20, (1, robots, goals)), rng.uniform(3, 20, (1, robots))
        wide = [*range(goals), *[-1] * max(robots - goals, 0)]
        every = [np.array([part]) for part in permutations(wide, robots)]
        best = min(regrets(robot_regrets(one, costs, idle, active))[0][0] for one in every)
        chosen = least_assignments(costs, idle, active, opened)
        assert regrets(robot_regrets(chosen, costs, idle, active))[0][0] == pytest.approx(best)


def test_agreement() -> None:
    found = agreement(np.array([[0, 1, -1], [2, -1, -1]]), np.array([[0, 2, -1], [2, -1, -1]]))
    assert found.tolist() == [0.5, 1.0]


def test_labels_have_no_regret(samples: Path) -> None:
    """On real samples; nearly: tours of the label are nearest-neighbour ones."""
    rows = open_samples(samples).labelled()
    costs, idle, active = (rows.column(name) for name in ("costs", "idle_costs", "active"))
    mean, least = regrets(robot_regrets(rows.column("label"), costs, idle, active))
    assert mean.mean() < 0.1 and (least >= mean - 1e-9).all()
    dearest = np.where(active, np.nan_to_num(costs, nan=-1.0).argmax(-1), -1)
    worst = robot_regrets(dearest, costs, idle, active)
    assert np.nanmean(worst) > 0.5


def test_intervals_draw_whole_scenes() -> None:
    """Two scenes that differ, each many equal samples: the interval spans them; drawn one by one it would
    not."""
    scene = np.repeat([0, 1, 2, 3], 100)
    values = np.repeat([0.0, 1.0, 0.0, 1.0], 100)
    draws = np.random.default_rng(0).integers(4, size=(2000, 4))
    low, high = interval(values, scene, draws)
    assert low <= 0.0 + 1e-9 and high >= 1.0 - 1e-9
    assert interval(np.ones(400), scene, draws) == [1.0, 1.0]


# -- train.assignment ---------------------------------------------------------------------------------------

NET = AssignerConfig(width=16, layers=1, heads=2, mlp=32)
TRAIN = TrainConfig(epochs=2, batch=8, device="cpu", tracking="off", network=NET)


def of_scene(samples: Path, *names: str) -> SampleSet:
    """The samples, as if they came from these scenes in turn."""
    read = open_samples(samples)
    scenes = np.array([names[i % len(names)] for i in range(len(read))], object)
    return SampleSet(read.arrays, read.sizes, scenes)


@pytest.fixture(scope="module")
def checkpoints(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds that were trained on another scene, and one on the scene of `samples`."""
    out = tmp_path_factory.mktemp("assigners")
    for seed in (0, 1):
        fit(of_scene(samples, "elsewhere"), out / f"{seed}.pt", replace(TRAIN, seed=seed), {})
    fit(open_samples(samples), out / "here.pt", TRAIN, {})
    return [out / "0.pt", out / "1.pt", out / "here.pt"]


def test_comparison(samples: Path, checkpoints: list[Path], tmp_path: Path) -> None:
    first, second, _ = (str(path) for path in checkpoints)
    settings = AssignmentConfig(
        str(samples), {"one": first, "both": [first, second]}, str(tmp_path / "a"), resamples=50, device="cpu"
    )
    summary = compare(settings)
    rows = summary["rows"]
    assert rows["oracle's label *"]["agreement"] == 1.0
    references = ["random", "nearest candidate", "rule, hungarian", "rule, greedy", "one", "both"]
    assert all(rows["least possible *"]["regret"] <= rows[name]["regret"] + 1e-9 for name in references)
    assert rows["one"]["seeds"] == [rows["one"]["regret"]]
    assert rows["both"]["regret"] == pytest.approx(np.mean(rows["both"]["seeds"]))
    assert rows["both"]["seeds"][0] == rows["one"]["regret"] != rows["both"]["seeds"][1]
    assert rows["rule, hungarian"]["less_than_rule_ci"] == [0.0, 0.0]
    assert summary["samples"] == len(open_samples(samples).labelled()) and len(summary["scenes"]) == 1
    text = (tmp_path / "a" / "table.txt").read_text()
    assert summary["scenes"][0] in text and "No checkpoint was trained on them" in text
    assert (tmp_path / "a" / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "a" / "summary.json").read_text()) == summary
    latency = json.loads((tmp_path / "a" / "latency.json").read_text())
    assert latency["one"]["ms"] > 0 and latency["one"]["robots"] == open_samples(samples).sizes[:, 0].max()
    compare(replace(settings, out=str(tmp_path / "b")))
    for name in ("summary.json", "table.txt"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_scenes_that_were_trained_on(samples: Path, checkpoints: list[Path], tmp_path: Path) -> None:
    scene = open_samples(samples).names()[0]
    settings = AssignmentConfig(
        str(samples), {"here": str(checkpoints[2])}, str(tmp_path), resamples=5, device="cpu"
    )
    with pytest.raises(ValueError, match="every scene of it was trained on by here"):
        compare(settings)
    with pytest.raises(ValueError, match=rf"checkpoints\.here: was trained on {scene}"):
        compare(replace(settings, scenes=[scene]))
    assert not list(tmp_path.iterdir())
    summary = compare(replace(settings, scenes=[scene], mark_seen=True))
    assert summary["rows"]["here"]["seen"] == [scene]
    assert "here (trained on 1 of these scenes)" in (tmp_path / "table.txt").read_text()


def test_comparison_errors(samples: Path, checkpoints: list[Path], tmp_path: Path) -> None:
    plain = AssignmentConfig(str(samples), None, str(tmp_path / "out"), resamples=5, device="cpu")
    checkpoint.save(tmp_path / "bare.pt", Assigner(NET), {})
    for change, message in (
        ({"checkpoints": {"x": str(tmp_path / "bare.pt")}}, r"bare\.pt: does not say which scenes"),
        ({"checkpoints": {"x": []}}, r"checkpoints\.x: no file"),
        ({"checkpoints": "a.pt"}, r"give \{row: file\}"),
        ({"checkpoints": {"x": "none.pt"}}, r"none\.pt: no such checkpoint"),
        ({"scenes": ["nowhere"]}, "scenes: .*nowhere.*must be of"),
        ({"dataset": str(tmp_path)}, r"no samples"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(replace(plain, **change))
    with pytest.raises(ValueError, match="decoder=best"):
        replace(plain, decoder="best")
    done = run_module("train.assignment", f"dataset={tmp_path}")
    assert done.returncode == 2 and "error:" in done.stderr and "Traceback" not in done.stderr
