"""HiGA: the network's symmetries, decoding, the rule, checkpoints, and when goals are assigned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from higa.assign import greedy, hungarian, rule_scores
from higa.checkpoint import VERSION, CheckpointError, load, pick_device, save
from higa.features import (
    AGENT_FEATURES,
    FAR,
    GOAL_FEATURES,
    MAP_CHANNELS,
    PAIR_FEATURES,
    Decision,
    frontier_costs,
)
from higa.network import Assigner, AssignerConfig, collate, loss_and_accuracy
from higa.policy import HigaConfig, HigaOraclePolicy, HigaPolicy, HigaRulePolicy
from hm3dm3_env.record import EpisodeRecord
from hm3dm3_env.shared import SharedState
from policies.base import TeamTask, make_policy
from train.collect import CollectingPolicy, MixtureConfig

TINY = AssignerConfig(width=32, layers=2, heads=4, mlp=64, grid=8, patch=4)


def decision(robots: int, goals: int, seed: int = 0, grid: int = 8) -> Decision:
    """Random inputs of the right shapes."""
    rng = np.random.default_rng([robots, goals, seed])
    return Decision(
        rng.integers(256, size=(len(MAP_CHANNELS), grid, grid), dtype=np.uint8),
        rng.integers(256, size=(goals, grid, grid), dtype=np.uint8),
        rng.normal(size=(robots, len(AGENT_FEATURES))).astype(np.float32),
        rng.normal(size=(goals, len(GOAL_FEATURES))).astype(np.float32),
        rng.normal(size=(robots, goals, len(PAIR_FEATURES))).astype(np.float32),
        np.ones(robots, bool),
        np.ones(goals, bool),
    )


def shuffled(d: Decision, robots: np.ndarray, goals: np.ndarray) -> Decision:
    return Decision(
        d.grid, d.heat[goals], d.agents[robots], d.goals[goals], d.pairs[robots][:, goals], d.active[robots],
        d.open[goals],
    )  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Assigner:
    torch.manual_seed(0)
    return Assigner(TINY).eval()


# -- the network -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("robots", "goals"), [(2, 3), (4, 5), (5, 2)])
def test_the_order_of_robots_and_goals_does_not_matter(model: Assigner, robots: int, goals: int) -> None:
    d = decision(robots, goals)
    d.active[0], d.open[-1] = False, False
    plain = model.scores(d)
    rng = np.random.default_rng(1)
    for _ in range(4):
        p, q = rng.permutation(robots), rng.permutation(goals)
        np.testing.assert_allclose(model.scores(shuffled(d, p, q)), plain[p][:, q], atol=1e-5)


def test_the_order_does_not_matter_at_full_size() -> None:
    torch.manual_seed(1)
    full, d = Assigner().eval(), decision(3, 5, grid=32)
    p, q = np.array([2, 0, 1]), np.array([4, 2, 0, 1, 3])
    np.testing.assert_allclose(full.scores(shuffled(d, p, q)), full.scores(d)[p][:, q], atol=1e-5)


def test_scores_differ_between_robots_and_goals(model: Assigner) -> None:
    values = model.scores(decision(3, 4))
    assert len(np.unique(values.round(4))) == 12
    heat = decision(3, 4)
    heat.heat = 255 - heat.heat
    assert np.abs(model.scores(heat) - values).max() > 1e-3
    known = decision(3, 4)
    known.grid = 255 - known.grid
    assert np.abs(model.scores(known) - values).max() > 1e-3


@pytest.mark.parametrize("robots", range(1, 9))
@pytest.mark.parametrize("goals", range(1, 9))
def test_any_number_of_robots_and_goals(model: Assigner, robots: int, goals: int) -> None:
    values = model.scores(decision(robots, goals))
    assert values.shape == (robots, goals) and np.isfinite(values).all()


@pytest.mark.parametrize("training", [False, True])
def test_padding_does_not_change_scores(model: Assigner, training: bool) -> None:
    parts = [decision(2, 3), decision(4, 5), decision(1, 1), decision(8, 8)]
    model.train(training)
    with torch.no_grad():
        together = model(collate(parts)).numpy()
    model.eval()
    for values, d in zip(together, parts):
        np.testing.assert_allclose(values[: len(d.active), : len(d.open)], model.scores(d), atol=1e-5)


def test_robots_out_of_budget_and_resolved_goals_are_ignored(model: Assigner) -> None:
    d = decision(3, 4)
    d.active[1], d.open[2] = False, False
    other = replace(d, agents=d.agents.copy(), goals=d.goals.copy(), heat=d.heat.copy())
    other.agents[1], other.goals[2], other.heat[2] = 9, -9, 0
    rows, columns = np.ix_([0, 2], [0, 1, 3])
    np.testing.assert_allclose(model.scores(other)[rows, columns], model.scores(d)[rows, columns], atol=1e-5)


def test_size() -> None:
    assert sum(p.numel() for p in Assigner().parameters()) <= 5_000_000


def test_labels_of_padding_do_not_count() -> None:
    small, large = decision(1, 2), decision(3, 3)
    batch = collate([small, large], [np.array([1]), np.array([2, -1, 0])])
    assert batch.label.tolist() == [[1, -1, -1], [2, -1, 0]]
    scores = torch.zeros(2, 3, 3)
    scores[0, 0] = torch.tensor([0.0, 9.0, 50.0])  # the third goal is padding
    scores[1, 0], scores[1, 2] = torch.tensor([0.0, 0.0, 9.0]), torch.tensor([0.0, 9.0, 0.0])
    loss, accuracy = loss_and_accuracy(scores, batch)
    assert accuracy.item() == pytest.approx(2 / 3) and 2 < loss.item() < 4


def test_learns_a_tiny_task() -> None:
    """The label is the goal with the smallest distance feature; held-out ones tell learning from memory."""
    torch.manual_seed(0)
    data = [decision(3, 4, seed) for seed in range(1152)]
    labels = [d.pairs[..., 3].argmin(1) for d in data]
    net, losses = Assigner(TINY), []
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
    batches = [collate(data[i : i + 64], labels[i : i + 64]) for i in range(0, 1152, 64)]
    for step in range(160):
        train = batches[step % 16]
        loss, _ = loss_and_accuracy(net(train), train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-16:]) < 0.3 * np.mean(losses[:2])
    with torch.no_grad():
        assert min(loss_and_accuracy(net(part), part)[1].item() for part in batches[16:]) > 0.9


# -- decoding ----------------------------------------------------------------------------------------------


def best_sum(scores: np.ndarray, active: np.ndarray, goals: np.ndarray) -> float:
    """The largest sum of a one-to-one assignment that uses as many pairs as there can be, by trying all."""
    rows, columns = np.flatnonzero(active), np.flatnonzero(goals)
    if len(rows) <= len(columns):
        return max(sum(scores[r, c] for r, c in zip(rows, p)) for p in permutations(columns, len(rows)))
    return max(sum(scores[r, c] for r, c in zip(p, columns)) for p in permutations(rows, len(columns)))


@pytest.mark.parametrize("decode", [hungarian, greedy])
@pytest.mark.parametrize(("robots", "goals"), [(1, 1), (1, 5), (4, 1), (2, 5), (4, 3), (4, 5), (5, 5)])
def test_assignments_are_one_to_one_and_respect_masks(decode: Callable, robots: int, goals: int) -> None:
    rng = np.random.default_rng(robots * 10 + goals)
    for _ in range(20):
        scores = rng.normal(scale=30, size=(robots, goals))
        active, unresolved = rng.random(robots) < 0.7, rng.random(goals) < 0.7
        chosen = decode(scores, active, unresolved)
        assert len(chosen) == robots
        pairs = [(k, j) for k, j in enumerate(chosen) if j is not None]
        assert all(active[k] and unresolved[j] for k, j in pairs)
        assert len({j for _, j in pairs}) == len(pairs) == min(active.sum(), unresolved.sum())
        total = sum(scores[k, j] for k, j in pairs)
        best = best_sum(scores, active, unresolved)
        assert total == pytest.approx(best) if decode is hungarian else total <= best + 1e-9


def test_hungarian_beats_greedy_where_greed_is_costly() -> None:
    scores, everybody = np.array([[10.0, 9.0], [9.0, 0.0]]), np.ones(2, bool)
    assert greedy(scores, everybody, everybody) == [0, 1]
    assert hungarian(scores, everybody, everybody) == [1, 0]


@pytest.mark.parametrize("decode", [hungarian, greedy])
def test_nothing_to_assign(decode: Callable) -> None:
    scores = np.ones((3, 2))
    assert decode(scores, np.ones(3, bool), np.zeros(2, bool)) == [None] * 3
    assert decode(scores, np.zeros(3, bool), np.ones(2, bool)) == [None] * 3
    assert decode(-1e3 * scores, np.array([False, True, False]), np.array([False, True])) == [None, 1, None]


def test_rule() -> None:
    """An accepted candidate beats exploration; of candidates the nearer one; else the better frontier."""
    d = decision(2, 3)
    d.pairs[:] = 0
    d.pairs[..., 2] = FAR / 20
    d.pairs[0, 0, [0, 2]] = 1, 3 / 20
    d.pairs[1, 0, [0, 2]] = 1, 6 / 20
    d.pairs[..., 6] = np.array([[0, -4, -2], [0, -1, -8]]) / 20
    scores = rule_scores(d)
    np.testing.assert_allclose(scores, [[7, -4, -2], [4, -1, -8]], atol=1e-5)
    assert hungarian(scores, d.active, d.open) == [0, 1]


def test_heat_makes_a_frontier_cheaper_by_metres_a_unit() -> None:
    distances = np.array([4.0, 5.0, 6.0])
    np.testing.assert_allclose(frontier_costs(distances, np.full(3, 0.4), 6.0), distances)
    hot = frontier_costs(distances, np.array([0.1, 0.1, 0.7]), 6.0)
    np.testing.assert_allclose(hot, [5.2, 6.2, 3.6])
    noise = frontier_costs(distances, np.array([0.30, 0.34, 0.36]), 6.0)
    assert noise.argmin() == 0  # differences of the size of noise do not send anybody farther
    np.testing.assert_allclose(frontier_costs(distances, np.array([0.1, 0.1, 0.9]), 0.0), distances)
    assert frontier_costs(distances[:0], distances[:0], 6.0).shape == (0,)


# -- checkpoints -------------------------------------------------------------------------------------------


def test_checkpoints_round_trip(model: Assigner, tmp_path: Path) -> None:
    save(tmp_path / "a.pt", model, {"stage": "test", "rows": 3})
    again, about = load(tmp_path / "a.pt", "cpu")
    assert about == {"stage": "test", "rows": 3} and again.config == TINY and not again.training
    np.testing.assert_array_equal(again.scores(decision(3, 4)), model.scores(decision(3, 4)))
    save(tmp_path / "b.pt", again, about)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()


def test_checkpoint_errors(model: Assigner, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    with pytest.raises(CheckpointError, match="x.pt.*no such checkpoint.*train"):
        load(path)
    for garbage in (b"", b"no checkpoint at all", bytes(range(256)) * 9):
        path.write_bytes(garbage)
        with pytest.raises(CheckpointError, match="x.pt: not a HiGA checkpoint"):
            load(path)
    save(path, model, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="x.pt: not a HiGA checkpoint"):
        load(path)
    path.write_bytes(whole)
    value = torch.load(path, weights_only=True)
    torch.save({**value, "version": VERSION + 1}, path)
    with pytest.raises(CheckpointError, match=f"x.pt: version {VERSION + 1}.*reads {VERSION}"):
        load(path)
    torch.save({**value, "config": {**value["config"], "width": 64}}, path)
    with pytest.raises(CheckpointError, match="x.pt: not a HiGA checkpoint"):
        load(path)
    torch.save([1, 2], path)
    with pytest.raises(CheckpointError, match="x.pt: not a HiGA checkpoint"):
        load(path)


def test_devices() -> None:
    assert pick_device("cpu").type == "cpu"
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


# -- the policy --------------------------------------------------------------------------------------------


class Watched(HigaRulePolicy):
    """Keeps the assignment before and after every step, and what was decided from."""

    def reset(self, task: Any) -> None:
        super().reset(task)
        self.trace: list[tuple[int, list[int | None], list[int | None], list[bool]]] = []
        self.inputs: list[Decision] = []

    def act(self, observations: Any, shared: SharedState) -> dict[str, int]:
        before = list(self.assigned)
        actions = super().act(observations, shared)
        self.trace.append((shared.step, before, list(self.assigned), list(shared.unresolved)))
        return actions

    def scores(self, inputs: Decision) -> np.ndarray:
        self.inputs.append(inputs)
        return super().scores(inputs)


def test_goals_are_assigned_on_the_three_events_only(play_rooms: Callable[..., EpisodeRecord]) -> None:
    events: set[str] = set()
    for index in range(9):
        policy = Watched()
        record = play_rooms(policy, index)
        log = record.method_record["assignments"]
        events |= {entry["event"] for entry in log}
        steps = [entry["step"] for entry in log]
        assert log and steps == sorted(set(steps))
        declared = {d["step"] for d in record.declarations}
        found = {entry["step"] for entry in log if entry["event"] == "found"}
        assert found == {step for step in declared if steps[0] <= step < record.steps}
        for last, entry in zip(log, log[1:]):
            if entry["event"] == "idle":
                assert entry["step"] - last["step"] >= HigaConfig().idle_wait
        at = {entry["step"]: entry["goals"] for entry in log}
        for step, before, after, unresolved in policy.trace:
            if step in at:
                assert at[step] == after
            else:
                assert all(a == b or (a is None and b is not None and not unresolved[b])
                           for a, b in zip(after, before))  # fmt: skip
            owned = [j for j in after if j is not None]
            assert len(owned) == len(set(owned)) and all(unresolved[j] for j in owned)
    assert events == {"found", "candidate", "idle"}


def test_what_is_decided_from(play_rooms: Callable[..., EpisodeRecord]) -> None:
    policy = Watched()
    record = play_rooms(policy, 3)
    robots, goals = record.agents, len(record.goals)
    for d in policy.inputs:
        assert d.grid.shape == (len(MAP_CHANNELS), 32, 32) and d.heat.shape == (goals, 32, 32)
        assert d.agents.shape == (robots, len(AGENT_FEATURES)) and d.goals.shape == (
            goals,
            len(GOAL_FEATURES),
        )
        assert d.pairs.shape == (robots, goals, len(PAIR_FEATURES))
        assert all(np.isfinite(v).all() for v in (d.agents, d.goals, d.pairs))
        np.testing.assert_array_equal(d.goals[:, :3].sum(1), 1)
        total = d.grid[:3].astype(int).sum(0)
        assert np.abs(total - 255).max() <= 2  # unknown, free and occupied share every cell
        assert (d.grid[3] > 0).sum() >= 1
    free = [int(d.grid[1].sum()) for d in policy.inputs]
    assert free[-1] > free[0]


def test_a_trained_policy_plays(
    tmp_path: Path, model: Assigner, play_rooms: Callable[..., EpisodeRecord]
) -> None:
    torch.manual_seed(0)
    save(tmp_path / "w.pt", Assigner(), {})
    config = {"checkpoint": str(tmp_path / "w.pt"), "device": "cpu"}
    records = [play_rooms(make_policy("higa", config), 0, seed=1) for _ in range(2)]
    assert records[0].to_bytes() == records[1].to_bytes() and not records[0].privileged
    greedy_one = play_rooms(make_policy("higa_rule", {"decoder": "greedy"}), 3, seed=1)
    assert greedy_one.ended in ("resolved", "exhausted")
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        HigaPolicy(HigaConfig(checkpoint=str(tmp_path / "none.pt")))


def test_the_oracle_assigns(play_rooms: Callable[..., EpisodeRecord]) -> None:
    record = play_rooms(make_policy("higa_oracle"), 3, seed=1)
    assert record.privileged and record.recogniser == "simulated"
    collecting = CollectingPolicy(MixtureConfig(1.0, 0.0))
    again = play_rooms(collecting, 3, seed=1)
    assert record.actions == again.actions
    assigned = record.method_record["assignments"]
    labels = [[None if j < 0 else int(j) for j in sample.label.first] for sample in collecting.samples]
    assert [entry["goals"] for entry in assigned if any(j is not None for j in entry["goals"])] == labels
    with pytest.raises(ValueError, match="truth"):
        HigaOraclePolicy().reset(TeamTask(None, None, None, None))  # type: ignore[arg-type]
