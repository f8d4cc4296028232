"""Samples in memory: random access to rows, padded batches, subsets; and the arrays of Parquet tables.

All that the assigner needs of the paper's 100,000 samples is 1.1 GB; opening them costs seconds, since
columns are decoded whole, and a batch is a few slices. `train.samples.open_samples` reads a data set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES, Decision
from higa.network import Batch
from hm3dm3_env.files import sha256

COLUMNS = [
    "scene", "robots", "goals", "grid_side", "grid", "heat", "agent_features", "goal_features",
    "pair_features", "active", "open", "label", "costs", "idle_costs",
]  # fmt: skip
"""Columns of a shard that `stack` reads."""
_INPUTS = ("grid", "heat", "agents", "goals", "pairs", "active", "open")
"""Arrays that the network gets."""
_TARGETS = ("label", "costs", "idle_costs")


class SampleSet:
    """Decisions with labels; a map-style data set, as torch's DataLoader takes them.

    Attributes:
        arrays: padded to K robots and M goals; for N rows
            grid (N, 5, G, G) uint8, heat (N, M, G, G) uint8, agents (N, K, 5), goals (N, M, 7) and
            pairs (N, K, M, 9) float32, active (N, K) and open (N, M) bool (False on padding),
            label (N, K) int64 (-1: none),
            costs (N, K, M) and idle_costs (N, K) float32 metres (nan: no choice).
        sizes: (N, 2) int64 robots and goals of each row.
        scenes: (N,) names.
    """

    def __init__(self, arrays: dict[str, np.ndarray], sizes: np.ndarray, scenes: np.ndarray) -> None:
        self.arrays, self.sizes, self.scenes = arrays, sizes, scenes
        self.rows = np.arange(len(sizes))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """Row `index` of every array."""
        row = self.rows[index]
        return {name: array[row] for name, array in self.arrays.items()}

    def column(self, name: str, indices: np.ndarray | None = None) -> np.ndarray:
        """One array of the rows `indices` (default: all), padded."""
        return self.arrays[name][self.rows if indices is None else self.rows[indices]]

    def decision(self, index: int) -> tuple[Decision, np.ndarray]:
        """The inputs of a row without padding, and its label (K,)."""
        value, (k, m) = self[index], self.sizes[self.rows[index]]
        inputs = Decision(
            value["grid"],
            value["heat"][:m],
            value["agents"][:k],
            value["goals"][:m],
            value["pairs"][:k, :m],
            value["active"][:k],
            value["open"][:m],
        )
        return inputs, value["label"][:k]

    def batch(self, indices: np.ndarray) -> Batch:
        """The rows `indices` (B,) as one batch on the CPU."""
        rows = self.rows[indices]
        tensors = {name: torch.from_numpy(self.arrays[name][rows]) for name in (*_INPUTS, *_TARGETS)}
        return Batch(**{**tensors, "grid": tensors["grid"] / 255, "heat": tensors["heat"] / 255})

    def subset(self, keep: np.ndarray) -> SampleSet:
        """The rows chosen by a mask or by indices; the arrays are shared."""
        out = SampleSet(self.arrays, self.sizes, self.scenes)
        out.rows = self.rows[keep]
        return out

    def labelled(self) -> SampleSet:
        """The rows in which some robot has a goal to go to."""
        return self.subset(np.flatnonzero((self.arrays["label"][self.rows] >= 0).any(1)))

    def names(self) -> list[str]:
        """The scenes that rows come from, in order of names."""
        return sorted(set(self.scenes[self.rows]))

    def split(self, share: float, held_out: Collection[str] | None = None) -> tuple[SampleSet, SampleSet]:
        """Training and held-out rows: every n-th scene in order of names is held out, n = 1 / share rounded,
        2 at least; none, if there are fewer than four scenes or the share is 0. `held_out` names the scenes
        instead."""
        if held_out is None:
            names = self.names()
            step = max(int(round(1 / share)), 2) if share > 0 else 0
            held_out = names[::step] if step and len(names) >= 4 else []
        held: np.ndarray = np.isin(self.scenes[self.rows], list(held_out))
        return self.subset(np.flatnonzero(~held)), self.subset(np.flatnonzero(held))

    def digest(self) -> str:
        """Hex SHA-256 of what a run trains on: the inputs, labels and costs of the rows, in order."""
        parts = [self.arrays[name][self.rows] for name in (*_INPUTS, *_TARGETS)]
        return sha256("".join(f"{part.shape} {sha256(part.tobytes())}\n" for part in parts).encode())


def stack(files: Sequence[Path], read: Callable[[Path, list[str]], pa.Table]) -> SampleSet:
    """All rows of shards, in order.

    Args:
        read: (file, columns) -> table; called twice a file, so that only one is in memory at a time.

    Raises:
        ValueError: columns of other lengths than robots and goals say, or grids of different sizes.
    """
    sizes, side = [np.zeros((0, 2), np.int64)], 0
    for path in files:
        table = read(path, ["robots", "goals", "grid_side"])
        sides = np.unique(table["grid_side"].to_numpy())
        if len(sides) and ((sides != sides[0]).any() or side not in (0, sides[0])):
            raise ValueError(
                f"{path}: grid_side: {sides.tolist()} beside {side} in other shards; "
                "rounds of one data set need equal features.grid"
            )
        side = int(sides[0]) if len(sides) else side
        sizes.append(np.stack([table["robots"].to_numpy(), table["goals"].to_numpy()], 1).astype(np.int64))
    shape = np.concatenate(sizes)
    n, (k, m) = len(shape), shape.max(0, initial=1)
    arrays = {
        "grid": np.zeros((n, len(MAP_CHANNELS), side, side), np.uint8),
        "heat": np.zeros((n, m, side, side), np.uint8),
        "agents": np.zeros((n, k, len(AGENT_FEATURES)), np.float32),
        "goals": np.zeros((n, m, len(GOAL_FEATURES)), np.float32),
        "pairs": np.zeros((n, k, m, len(PAIR_FEATURES)), np.float32),
        "active": np.zeros((n, k), bool),
        "open": np.zeros((n, m), bool),
        "label": np.full((n, k), -1, np.int64),
        "costs": np.full((n, k, m), np.nan, np.float32),
        "idle_costs": np.full((n, k), np.nan, np.float32),
    }
    scenes = np.empty(n, object)
    first = 0
    for path, mine in zip(files, sizes[1:]):
        part = slice(first, first + len(mine))
        table = read(path, COLUMNS)
        scenes[part] = table["scene"].to_pylist()
        _fill({key: array[part] for key, array in arrays.items()}, table, mine, side, path)
        first += len(mine)
    return SampleSet(arrays, shape, scenes)


def _fill(arrays: dict[str, np.ndarray], table: pa.Table, sizes: np.ndarray, side: int, path: Path) -> None:
    """Write a shard's columns into its rows of the padded arrays."""
    k, m = sizes.T
    one = np.ones_like(k)
    lengths = {
        "grid": (one * len(MAP_CHANNELS) * side**2, "grid"),
        "heat": (m * side**2, "heat"),
        "agents": (k * len(AGENT_FEATURES), "agent_features"),
        "goals": (m * len(GOAL_FEATURES), "goal_features"),
        "pairs": (k * m * len(PAIR_FEATURES), "pair_features"),
        "active": (k, "active"),
        "open": (m, "open"),
        "label": (k, "label"),
        "costs": (k * m, "costs"),
        "idle_costs": (k, "idle_costs"),
    }
    for name, (length, column) in lengths.items():
        values = _flat(table[column].combine_chunks())
        if len(values) != length.sum():
            raise ValueError(
                f"{path}: {column}: {len(values)} values, {length.sum()} expected; "
                "delete it and run train.dataset again"
            )
        starts, array = np.cumsum(length) - length, arrays[name]
        for robots, goals in np.unique(sizes, axis=0):  # rows of one shape at once
            rows = np.flatnonzero((k == robots) & (m == goals))
            block = values[starts[rows][:, None] + np.arange(length[rows[0]])]
            own = {"K": robots, "M": goals}
            bounds = [own.get(axis, size) for axis, size in zip(_AXES[name], array.shape[1:])]
            array[np.ix_(rows, *(np.arange(b) for b in bounds))] = block.reshape(len(rows), *bounds)


_AXES = {
    "grid": "...", "heat": "M..", "agents": "K.", "goals": "M.", "pairs": "KM.",
    "active": "K", "open": "M", "label": "K", "costs": "KM", "idle_costs": "K",
}  # fmt: skip
"""Axes of the padded arrays after the first: robots, goals, or of fixed size."""


def _flat(column: pa.Array) -> np.ndarray:
    """All values of a list or binary column, end to end."""
    if pa.types.is_binary(column.type):
        _, ends, data = column.buffers()
        offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
        return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data else np.zeros(0, np.uint8)
    return column.flatten().to_numpy(zero_copy_only=False)
