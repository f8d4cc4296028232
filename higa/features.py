"""What the assigner looks at when it decides: one `Decision`, from the team's knowledge alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hm3dm3_env.mapping import FREE, OCCUPIED, UNKNOWN, SharedMap
from hm3dm3_env.shared import SharedState
from policies.crew import Crew

MODALITIES = ("ON", "TN", "IIN")
MAP_CHANNELS = ("unknown", "free", "occupied", "robots", "frontiers")
AGENT_FEATURES = ("x", "z", "sin heading", "cos heading", "actions left")
GOAL_FEATURES = ("ON", "TN", "IIN", "best score", "accepted", "mean heat", "max heat")
PAIR_FEATURES = (
    "accepted candidate",
    "best score",
    "candidate distance",
    "nearest frontier",
    "hottest frontier's heat",
    "hottest frontier's distance",
    "best utility",
    "is assigned now",
    "heat around",
)
FAR = 40.0
"""Distances are divided by half of this and cut at it; unreachable counts as this, metres (ours)."""


@dataclass(frozen=True)
class FeatureConfig:
    """Sizes of the inputs (ours)."""

    grid: int = 32
    """Side of the map and heat inputs, cells."""
    cell: float = 1.0
    """Metres a cell; the window is centred on what is known."""
    heat_gain: float = 6.0
    """Metres that a difference of 1 in heat between two frontiers is worth, so that noise is worth little."""


@dataclass
class Decision:
    """Inputs of one joint assignment.

    Attributes:
        grid: (5, G, G) uint8, channels as MAP_CHANNELS, 255 = 1.
        heat: (M, G, G) uint8 heat of each goal, 0 where nobody looked.
        agents: (K, 5) float32; goals: (M, 7) float32; pairs: (K, M, 9) float32.
        active: (K,) bool robots that may act; open: (M,) bool goals still looked for.
    """

    grid: np.ndarray
    heat: np.ndarray
    agents: np.ndarray
    goals: np.ndarray
    pairs: np.ndarray
    active: np.ndarray
    open: np.ndarray


def decision(crew: Crew, shared: SharedState, assigned: list[int | None], config: FeatureConfig) -> Decision:
    """The inputs at this moment; `assigned` (K,) is the current assignment."""
    center = window_center(shared.map)
    points = crew.frontiers().points
    heat_at = crew.heat.near(points) if crew.heat is not None else np.zeros((len(shared.goals), len(points)))
    return Decision(
        _grid(shared, points, center, config),
        _heat(crew, len(shared.goals), center, config),
        np.array(
            [
                [
                    (p.x - center[0]) / 16,
                    (p.z - center[1]) / 16,
                    np.sin(p.heading),
                    np.cos(p.heading),
                    left / 500,
                ]
                for p, left in zip(shared.poses, shared.actions_left)
            ],
            np.float32,
        ),
        _goals(crew, shared),
        _pairs(crew, shared, assigned, points, heat_at, config),
        np.array(shared.alive, bool),
        np.array(shared.unresolved, bool),
    )


def frontier_costs(distances: np.ndarray, heat: np.ndarray, gain: float) -> np.ndarray:
    """(F,) metres: distance less what the heat (F,) of one goal at each frontier is worth."""
    return distances - gain * (heat - heat.mean()) if len(heat) else distances


def window_center(shared_map: SharedMap) -> np.ndarray:
    """(2,) x and z of the middle of the map and heat inputs, metres: that of what is known."""
    rows, columns = shared_map.window(0.0)
    return (
        shared_map.origin
        + np.array([columns.start + columns.stop, rows.start + rows.stop]) / 2 * shared_map.cell
    )


def fine_map(shared_map: SharedMap, center: np.ndarray, side: int, cell: float) -> np.ndarray:
    """(side, side) uint8 states (0 unknown, 1 free, 2 occupied: the largest of each cell) around a place."""
    window = FeatureConfig(side, cell)
    return _blocks(shared_map.cells, shared_map.origin, shared_map.cell, center, window).max((1, 3))


def _blocks(
    array: np.ndarray, origin: np.ndarray, cell: float, center: np.ndarray, config: FeatureConfig
) -> np.ndarray:
    """(..., G, s, G, s) blocks of an array (..., rows, columns) around `center`, zero outside of it."""
    side = int(round(config.cell / cell))
    count = config.grid * side
    column, row = (int(round(v)) for v in (center - origin) / cell - count / 2)
    out = np.zeros((*array.shape[:-2], count, count), array.dtype)
    r0, c0 = max(row, 0), max(column, 0)
    r1, c1 = min(row + count, array.shape[-2]), min(column + count, array.shape[-1])
    out[..., r0 - row : r1 - row, c0 - column : c1 - column] = array[..., r0:r1, c0:c1]
    return out.reshape(*array.shape[:-2], config.grid, side, config.grid, side)


def _grid(
    shared: SharedState, frontiers: np.ndarray, center: np.ndarray, config: FeatureConfig
) -> np.ndarray:
    blocks = _blocks(shared.map.cells, shared.map.origin, shared.map.cell, center, config)
    out = np.zeros((len(MAP_CHANNELS), config.grid, config.grid), np.float32)
    for channel, state in enumerate((UNKNOWN, FREE, OCCUPIED)):
        out[channel] = (blocks == state).mean((1, 3))
    for channel, places in ((3, [(p.x, p.z) for p in shared.poses]), (4, [(p[0], p[2]) for p in frontiers])):
        for x, z in places:
            row = int((z - center[1]) / config.cell + config.grid / 2)
            column = int((x - center[0]) / config.cell + config.grid / 2)
            if 0 <= row < config.grid and 0 <= column < config.grid:
                out[channel, row, column] = min(out[channel, row, column] + 0.25, 1.0)
    return np.rint(out * 255).astype(np.uint8)


def _heat(crew: Crew, goals: int, center: np.ndarray, config: FeatureConfig) -> np.ndarray:
    if crew.heat is None:
        return np.zeros((goals, config.grid, config.grid), np.uint8)
    seen = crew.heat.value * (crew.heat.confidence > 0)
    blocks = _blocks(seen, crew.heat.origin, crew.heat.config.cell, center, config)
    return np.rint(blocks.max((2, 4)) * 255).astype(np.uint8)


def _goals(crew: Crew, shared: SharedState) -> np.ndarray:
    rows = []
    for j, goal in enumerate(shared.goals):
        best = crew.tracker.best(j, 0.0)
        looked = crew.heat.value[j][crew.heat.confidence > 0] if crew.heat is not None else np.zeros(0)
        rows.append(
            [
                *(float(goal.modality == m) for m in MODALITIES),
                best.score if best else 0.0,
                float(crew.tracker.best(j) is not None),
                float(looked.mean()) if len(looked) else 0.0,
                float(looked.max()) if len(looked) else 0.0,
            ]
        )
    return np.array(rows, np.float32)


def _pairs(
    crew: Crew,
    shared: SharedState,
    assigned: list[int | None],
    points: np.ndarray,
    heat_at: np.ndarray,
    config: FeatureConfig,
) -> np.ndarray:
    out = np.zeros((len(shared.poses), len(shared.goals), len(PAIR_FEATURES)), np.float32)
    best = [crew.tracker.best(j, 0.0) for j in range(len(shared.goals))]
    for k, pose in enumerate(shared.poses):
        if not shared.alive[k]:
            continue
        field = crew.field(k)
        gaps = np.minimum(crew.frontier_distances(k), FAR)
        around = (
            crew.heat.near(pose.position[None], 2.0)[:, 0] if crew.heat is not None else np.zeros(len(best))
        )
        for j, track in enumerate(best):
            far = FAR
            if track is not None:
                far = min(float(crew.planner.distances(field, track.point[None], 1.2)[0]), FAR)
            hot = int(heat_at[j].argmax()) if len(points) else -1
            cost = frontier_costs(gaps, heat_at[j], config.heat_gain)
            out[k, j] = [
                track is not None and track.score >= crew.config.tracker.accept,
                track.score if track else 0.0,
                far / 20,
                gaps.min() / 20 if len(points) else 2.0,
                heat_at[j, hot] if hot >= 0 else 0.0,
                gaps[hot] / 20 if hot >= 0 else 2.0,
                -cost.min() / 20 if len(points) else -2.0,
                float(assigned[k] == j),
                around[j],
            ]
    return out
