"""The assigner: a transformer over map, robot and goal tokens that scores robot-goal pairs.

Nothing in it depends on the order of robots or of goals, nor on their number: it is trained on 2-4 robots and
3-5 goals and takes up to 8 of each.

Shapes: B batch, K robots, M goals, G grid side, P patch side, D width, T = (G / P)**2 map tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange
from torch import Tensor, nn

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES, Decision

HEAT_FEATURES = (
    "mean heat", "max heat", "hottest frontier's heat", "hottest frontier's distance", "best utility",
    "heat around",
)  # fmt: skip
"""Goal and pair features that are made from heat: `use_heat=False` hides them."""


@dataclass(frozen=True)
class AssignerConfig:
    """Sizes and ablations of the assigner (ours)."""

    width: int = 96
    layers: int = 3
    heads: int = 4
    mlp: int = 192
    grid: int = 32
    """Cells a side of map and heat."""
    patch: int = 8
    """Cells a side of the squares that become map tokens."""
    dropout: float = 0.0
    use_map: bool = True
    """False: no map tokens (an ablation)."""
    use_heat: bool = True
    """False: neither heat maps nor features made from heat (an ablation)."""


@dataclass
class Batch:
    """Padded decisions: see `Decision` and `Label`; `active` and `open` are False on padding, `label` is -1
    where there is none, costs are nan where there is no choice."""

    grid: Tensor  # (B, 5, G, G) float 0..1
    heat: Tensor  # (B, M, G, G) float 0..1
    agents: Tensor  # (B, K, 5)
    goals: Tensor  # (B, M, 7)
    pairs: Tensor  # (B, K, M, 9)
    active: Tensor  # (B, K) bool
    open: Tensor  # (B, M) bool
    label: Tensor  # (B, K) long
    costs: Tensor  # (B, K, M) metres
    idle_costs: Tensor  # (B, K) metres

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        return Batch(*(value.to(device) for value in vars(self).values()))


def collate(decisions: list[Decision], labels: list[np.ndarray] | None = None) -> Batch:
    """Stack decisions, padding robots and goals to the largest number; costs are not known (nan).

    Args:
        labels: (K,) goal of each robot, -1: none, for each decision (default: none at all).
    """
    k_max, m_max = max(len(d.active) for d in decisions), max(len(d.open) for d in decisions)

    def pad(array: np.ndarray, *axes: tuple[int, int], value: float = 0) -> np.ndarray:
        widths = [(0, 0)] * array.ndim
        for axis, size in axes:
            widths[axis] = (0, size - array.shape[axis])
        return np.pad(array, widths, constant_values=value)

    labels = labels if labels is not None else [np.full(len(d.active), -1) for d in decisions]
    return Batch(
        torch.from_numpy(np.stack([d.grid for d in decisions])).float() / 255,
        torch.from_numpy(np.stack([pad(d.heat, (0, m_max)) for d in decisions])).float() / 255,
        torch.from_numpy(np.stack([pad(d.agents, (0, k_max)) for d in decisions])),
        torch.from_numpy(np.stack([pad(d.goals, (0, m_max)) for d in decisions])),
        torch.from_numpy(np.stack([pad(d.pairs, (0, k_max), (1, m_max)) for d in decisions])),
        torch.from_numpy(np.stack([pad(d.active, (0, k_max)) for d in decisions])),
        torch.from_numpy(np.stack([pad(d.open, (0, m_max)) for d in decisions])),
        torch.from_numpy(np.stack([pad(np.asarray(x, np.int64), (0, k_max), value=-1) for x in labels])),
        torch.full((len(decisions), k_max, m_max), torch.nan),
        torch.full((len(decisions), k_max), torch.nan),
    )


class Assigner(nn.Module):
    """(B, K, M) scores of robot-goal pairs; the larger, the rather the robot should go there first.

    Tokens: T of the map (its patches, mapped linearly), K of the robots, M of the goals. A goal's token knows
    its heat map through patches of its own, pooled; robots and goals also see the best of their pairs'
    features. Robots that are out and goals that are no longer looked for are not attended to. The head
    compares each pair with the pairs of the same goal and of the same robot, since assigning is comparing.
    """

    goal_seen: Tensor  # (7,) and pair_seen: (9,) 0 for features that use_heat=False hides
    pair_seen: Tensor

    def __init__(self, config: AssignerConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or AssignerConfig()
        d, patches = config.width, (config.grid // config.patch) ** 2
        self.kind = nn.Parameter(torch.randn(3, d) * 0.02)  # map, goal, robot
        if config.use_map:
            self.map_patch = _patches(len(MAP_CHANNELS), d, config.patch)
            self.map_place = nn.Parameter(torch.randn(patches, d) * 0.02)
        if config.use_heat:
            self.heat_patch = _patches(1, d, config.patch)
            self.heat_place = nn.Parameter(torch.randn(patches, d) * 0.02)
            self.heat_pool = nn.Linear(2 * d, d)
        else:
            self.register_buffer("goal_seen", _without_heat(GOAL_FEATURES), persistent=False)
            self.register_buffer("pair_seen", _without_heat(PAIR_FEATURES), persistent=False)
        self.agent = _mlp(len(AGENT_FEATURES), d, d)
        self.goal = _mlp(len(GOAL_FEATURES), d, d)
        layer = nn.TransformerEncoderLayer(
            d,
            config.heads,
            config.mlp,
            dropout=config.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.edge = _mlp(len(PAIR_FEATURES), d, d)
        self.edge_to_agent, self.edge_to_goal = nn.Linear(d, d), nn.Linear(d, d)
        self.pair = nn.Linear(3 * d, d)
        self.pair_norm = nn.LayerNorm(d)
        self.rivals = nn.Linear(5 * d, d)
        self.score = _mlp(2 * d, d, 1)

    def forward(self, batch: Batch) -> Tensor:
        """(B, K, M) scores; entries of robots and goals that are out, and of padding, are meaningless."""
        k, m = batch.active.shape[1], batch.open.shape[1]
        goal_features, pairs = batch.goals, batch.pairs  # (B, M, 7), (B, K, M, 9)
        if not self.config.use_heat:
            goal_features, pairs = goal_features * self.goal_seen, pairs * self.pair_seen
        agents = self.agent(batch.agents) + self.kind[2]  # (B, K, D)
        goals = self.goal(goal_features) + self.kind[1]  # (B, M, D)
        if self.config.use_heat:
            goals = goals + self.heat(batch.heat)
        edges = self.edge(pairs)  # (B, K, M, D)
        usable = rearrange(batch.active, "b k -> b k 1 1") & rearrange(batch.open, "b m -> b 1 m 1")
        agents = agents + self.edge_to_agent(_pool(edges, usable, "b k m d -> b k d", "max"))
        goals = goals + self.edge_to_goal(_pool(edges, usable, "b k m d -> b m d", "max"))
        tokens, out = [agents, goals], [~batch.active, ~batch.open]
        if self.config.use_map:
            ground = self.map_patch(batch.grid) + self.map_place + self.kind[0]  # (B, T, D)
            tokens.append(ground)
            out.append(torch.zeros(ground.shape[:2], dtype=torch.bool, device=ground.device))
        ignore = torch.cat(out, 1)  # (B, K+M+T)
        ignore = ignore & ~ignore.all(1, keepdim=True)  # attention over nothing is nan
        mixed = self.norm(self.encoder(torch.cat(tokens, 1), src_key_padding_mask=ignore))  # (B, K+M+T, D)
        agents, goals = mixed[:, :k], mixed[:, k : k + m]  # (B, K, D), (B, M, D)
        both = [repeat(agents, "b k d -> b k m d", m=m), repeat(goals, "b m d -> b k m d", k=k), edges]
        pair = nn.functional.gelu(self.pair(torch.cat(both, -1)))  # (B, K, M, D)
        around = [
            _pool(pair, usable, f"b k m d -> b {kept} d", how).expand_as(pair)
            for kept in ("1 m", "k 1")  # the other robots of the goal, the other goals of the robot
            for how in ("max", "mean")
        ]
        rivals = nn.functional.gelu(self.rivals(torch.cat([pair, *around], -1)))  # (B, K, M, D)
        return rearrange(self.score(torch.cat([self.pair_norm(pair), rivals], -1)), "b k m 1 -> b k m")

    def heat(self, heat: Tensor) -> Tensor:
        """(B, M, D) what heat maps (B, M, G, G) say of each goal: the mean and the maximum over patches."""
        m = heat.shape[1]
        patches = self.heat_patch(rearrange(heat, "b m h w -> (b m) 1 h w")) + self.heat_place
        patches = nn.functional.gelu(patches)  # (B*M, T, D)
        pooled = [reduce(patches, "n t d -> n d", how) for how in ("mean", "max")]
        return rearrange(self.heat_pool(torch.cat(pooled, -1)), "(b m) d -> b m d", m=m)

    def scores(self, decision: Decision) -> np.ndarray:
        """(K, M) scores of one decision, without gradients."""
        device = next(self.parameters()).device
        with torch.inference_mode():
            return self(collate([decision]).to(device))[0].float().cpu().numpy()


def _patches(channels: int, width: int, side: int) -> nn.Sequential:
    """(B, channels, G, G) -> (B, T, width): each square of side x side cells, mapped linearly."""
    return nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=side, q=side),
        nn.Linear(channels * side * side, width),
    )


def _pool(values: Tensor, usable: Tensor, pattern: str, how: str) -> Tensor:
    """The maximum or mean of the positive parts of (B, K, M, D) over the usable pairs, 0 where there is none;
    padding does not change it."""
    values = nn.functional.relu(values).masked_fill(~usable, 0.0)
    if how == "max":
        return reduce(values, pattern, "max")
    return reduce(values, pattern, "sum") / reduce(usable.to(values.dtype), pattern, "sum").clamp_min(1.0)


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


def _without_heat(names: tuple[str, ...]) -> Tensor:
    """(F,) 1 for features that are not made from heat, 0 for the others."""
    return torch.tensor([float(name not in HEAT_FEATURES) for name in names])


def loss_and_accuracy(scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy over the open goals, averaged over robots with a label; and the share that the argmax
    gets right."""
    masked = scores.masked_fill(~batch.open[:, None], -1e4)
    valid = batch.label >= 0
    logits, label = masked[valid], batch.label[valid]
    return nn.functional.cross_entropy(logits, label), (logits.argmax(-1) == label).float().mean()
