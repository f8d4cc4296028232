"""Crops around a robot, and the body that looks at them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import FREE, OCCUPIED, MapConfig, SharedMap
from hm3dm3_env.sim.base import Body
from hm3dm3_env.task import ACTIONS, WAIT
from policies.heatmaps.maps import HeatConfig, HeatMaps
from policies.navigation.base import NO_ACTION, Views
from policies.navigation.map_network import (
    DEPTH_SHAPE,
    MAP_ACTIONS,
    MapNetwork,
    MapNetworkConfig,
    shrink_depth,
)
from policies.navigation.map_policy import STOP, TO_OURS, MapPolicy, from_ours
from policies.navigation.surroundings import CHANNELS, Surroundings, SurroundingsConfig, Window
from policies.planner import MapPlanner, PlannerConfig
from policies.weights import CheckpointError

SIDE = 16
CONFIG = SurroundingsConfig(Window(SIDE, 0.25), Window(SIDE, 1.0), fade=10.0)
FREE_, OCCUPIED_, HEAT, TRAIL, MATES, EDGES, WAY = range(len(CHANNELS))


class World:
    """A free square of 8 m, with one obstacle 1 m north (-z) of the middle."""

    def __init__(self) -> None:
        self.map = SharedMap(MapConfig(size=20.0), np.zeros(3), 0.0)
        low, high = self.map.to_cell(np.array([[-4.0, 0, -4.0], [4.0, 0, 4.0]]))
        self.map.cells[low[0] : high[0], low[1] : high[1]] = FREE
        self.map.box[:] = low[0], high[0], low[1], high[1]
        row, column = self.map.to_cell(np.array([0.0, 0.0, -1.0]))
        self.map.cells[row - 1 : row + 2, column - 1 : column + 2] = OCCUPIED
        self.planner = MapPlanner(self.map, Body(), PlannerConfig())
        self.planner.update()
        self.heat = HeatMaps(HeatConfig(), self.map, 1)
        self.surroundings = Surroundings(CONFIG, self.planner, 2)

    def crops(self, pose: Pose, mate: Pose, edges: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
        points = np.array(edges, float).reshape(-1, 3)
        way = self.planner.field_to(pose, points)
        return self.surroundings.crops(0, [pose, mate], points, way, self.heat, 0)


def at(x: float, z: float, heading: float = 0.0) -> Pose:
    return Pose(x, 0.0, z, heading)


@pytest.mark.parametrize(
    "heading, expected",
    [
        (0.0, (SIDE // 2 - 4, SIDE // 2)),  # looking north: the obstacle is ahead, which is up
        (np.pi / 2, (SIDE // 2, SIDE // 2 + 4)),  # looking west: it is to the right
        (np.pi, (SIDE // 2 + 4, SIDE // 2)),
        (-np.pi / 2, (SIDE // 2, SIDE // 2 - 4)),
    ],
)
def test_a_crop_turns_with_the_robot(heading: float, expected: tuple[int, int]) -> None:
    near, _ = World().crops(at(0, 0, heading), at(3, 3), [])
    rows, columns = np.nonzero(near[OCCUPIED_])
    assert abs(rows.mean() + 0.5 - expected[0]) <= 0.75 and abs(columns.mean() + 0.5 - expected[1]) <= 0.75
    assert near[FREE_].mean() > 200


def test_what_lies_outside_is_drawn_on_the_edge() -> None:
    near, far = World().crops(at(0, 0), at(0, -3.0), [[3.5, 0, 0]])
    assert near[MATES, 0, SIDE // 2] == 128 and near[EDGES, SIDE // 2, SIDE - 1] == 128
    assert far[MATES, SIDE // 2 - 3, SIDE // 2] == 255 and far[EDGES, SIDE // 2, SIDE // 2 + 3] == 255
    assert (near[[MATES, EDGES]] > 0).sum() == 2


def test_the_way_rises_towards_the_frontier_around_obstacles() -> None:
    world = World()
    near, _ = world.crops(at(0, 0), at(3, 3), [[0, 0, -2.0]])
    row = near[WAY, SIDE // 2]
    assert near[WAY, 1, SIDE // 2] > row[SIDE // 2] > near[WAY, SIDE - 1, SIDE // 2] > 0
    assert near[WAY, SIDE // 2 - 4, SIDE // 2] == 0  # nobody walks through the obstacle
    assert not world.crops(at(0, 0), at(3, 3), [])[0][WAY].any()


def test_trails_fade_and_are_the_robots_own() -> None:
    world = World()
    for step, x in enumerate((-1.0, 0.0, 1.0)):
        world.surroundings.update([at(x, 0), at(0, 1.5)], 10 * step)
    near, _ = world.crops(at(0, 0), at(3, 3), [])
    middle = near[TRAIL, SIDE // 2 - 1 : SIDE // 2 + 1]
    left, here, right = middle[:, :6].max(), middle[:, 7:9].max(), middle[:, 10:].max()
    assert right == 255 and 0 < left < here < right
    assert here == pytest.approx(255 / np.e, abs=2)
    assert near[TRAIL].astype(bool).sum() <= 12


def test_heat_is_shown_above_and_below_what_is_usual() -> None:
    world = World()
    world.heat.confidence[30:50, 30:50] = 1.0
    world.heat.value[0, 30:50, 30:50] = 0.2
    world.heat.value[0, 30:40, 30:50] = 0.6  # the half towards -z
    near, _ = world.crops(at(0, 0), at(3, 3), [])
    assert near[HEAT, 2, SIDE // 2] > 128 > near[HEAT, SIDE - 2, SIDE // 2] > 0
    points = np.zeros((0, 3))
    way = world.planner.field_to(at(0, 0), points)
    assert not world.surroundings.crops(0, [at(0, 0)], points, way, world.heat, None)[0][HEAT].any()


def test_depth_keeps_the_nearest_return() -> None:
    depth = np.full((60, 40), 4.0, np.float32)
    depth[1, 1], depth[-1, -1] = 1.0, 0.0
    small = shrink_depth(depth)
    assert small.shape == DEPTH_SHAPE and small.dtype == np.float32
    assert small[0, 0] == pytest.approx(0.2) and small[5, 5] == pytest.approx(0.8)
    assert small[-1, -1] == pytest.approx(0.8)
    assert (shrink_depth(np.zeros((60, 40), np.float32)) == 1).all()


def make_policy(seed: int = 0, **kwargs: bool) -> MapPolicy:
    torch.manual_seed(seed)
    config = MapNetworkConfig(side=SIDE, width=16, heads=2, layers=1, mlp=16)
    return MapPolicy(MapNetwork(config), "simulated", CONFIG, **kwargs)


def views(n: int, seed: int = 0) -> Views:
    rng = np.random.default_rng(seed)
    crops = rng.integers(0, 256, (2, n, len(CHANNELS), SIDE, SIDE), dtype=np.uint8)
    return Views(
        list(rng.normal(size=(n, 32)).astype(np.float32)),
        np.full(n, NO_ACTION),
        depth=rng.random((n, 24, 16)).astype(np.float32) * 5,
        near=crops[0],
        far=crops[1],
    )


def test_robots_of_one_call_do_not_depend_on_each_other() -> None:
    together, alone = make_policy(sample=False), make_policy(sample=False)
    for policy in (together, alone):
        policy.reset(3, np.random.default_rng(0))
    for step in range(4):
        seen = views(3, step)
        moves = together.act([0, 1, 2], seen)
        for k in range(3):
            own = Views(
                [seen.goals[k]],
                seen.previous[[k]],
                None,
                *(v[[k]] for v in (seen.depth, seen.near, seen.far)),
            )
            assert alone.act([k], own).actions[0] == moves.actions[k]
    assert (moves.arrived == (moves.actions == WAIT)).all()


def test_the_policy_remembers_actions_until_it_is_restarted() -> None:
    policy = make_policy()
    policy.reset(1, np.random.default_rng(0))
    forward, left = ACTIONS.index("move_forward"), ACTIONS.index("turn_left")
    seen = views(1)
    for action in (forward, left):
        seen.previous[:] = action
        history = policy.observe([0], seen)["previous"][0].tolist()
    assert history[:3] == [from_ours(left), from_ours(forward), NO_ACTION]
    policy.restart([0])
    seen.previous[:] = NO_ACTION
    assert (policy.observe([0], seen)["previous"] == NO_ACTION).all()
    assert [from_ours(TO_OURS[a]) for a in range(1, len(MAP_ACTIONS))] == [1, 2, 3]
    assert from_ours(WAIT) == NO_ACTION and TO_OURS[STOP] == WAIT


def test_draws_depend_on_the_seed_alone() -> None:
    runs = []
    for _ in range(2):
        policy = make_policy()
        policy.reset(2, np.random.default_rng(5))
        runs.append([policy.act([0, 1], views(2, step)).actions.tolist() for step in range(8)])
    assert runs[0] == runs[1]
    assert len({tuple(pair) for pair in runs[0]}) > 1


def test_wrong_views_are_named() -> None:
    policy = make_policy()
    policy.reset(2, np.random.default_rng(0))
    seen = views(2)
    with pytest.raises(ValueError, match="one view a robot"):
        policy.act([0], seen)
    with pytest.raises(ValueError, match="reset was called for 2"):
        policy.act([0, 2], seen)
    with pytest.raises(ValueError, match="need depth, near and far"):
        policy.act([0, 1], Views(seen.goals, seen.previous))
    with pytest.raises(ValueError, match="near: views of 2 goals need 2 rows"):
        Views(seen.goals, seen.previous, near=seen.near[:1])
    assert len(policy.act([], Views([], np.zeros(0, np.int64))).actions) == 0


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    policy, path = make_policy(sample=False), tmp_path / "map.pt"
    policy.save(path, {"command": "a test"})
    again = MapPolicy.load(path, sample=False)
    assert again.surroundings == CONFIG and again.space == "simulated"
    for one in (policy, again):
        one.reset(2, np.random.default_rng(0))
    assert policy.act([0, 1], views(2)).actions.tolist() == again.act([0, 1], views(2)).actions.tolist()
    policy.save(tmp_path / "twin.pt", {"command": "a test"})
    assert path.read_bytes() == (tmp_path / "twin.pt").read_bytes()


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"gone.pt: no such checkpoint; train one with"):
        MapPolicy.load(tmp_path / "gone.pt")
    path = tmp_path / "broken.pt"
    for data in (b"", b"text", (tmp_path / "ok.pt").name.encode() * 100):
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match="broken.pt: not a map DAgRL checkpoint"):
            MapPolicy.load(path)
    torch.save({"kind": "else", "version": 1, "config": {}, "weights": {}, "about": {}}, path)
    with pytest.raises(CheckpointError, match="not a map DAgRL checkpoint.*holds else"):
        MapPolicy.load(path)
