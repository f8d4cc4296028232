"""The assigner: a transformer over map, robot and goal tokens that scores robot-goal pairs.

Nothing in it depends on the order of robots or of goals, nor on their number: it is trained on 2-4 robots and
3-5 goals and takes up to 8 of each.

Shapes: B batch, K robots, M goals, G grid side, D width, T = (G / patch)**2 map tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from higa.features import AGENT_FEATURES, GOAL_FEATURES, MAP_CHANNELS, PAIR_FEATURES, Decision


@dataclass(frozen=True)
class AssignerConfig:
    """Sizes (ours: half a million parameters, so that it trains on a laptop in a minute)."""

    width: int = 96
    layers: int = 3
    heads: int = 4
    mlp: int = 192
    grid: int = 32
    patch: int = 4


@dataclass
class Batch:
    """Padded decisions: see `Decision`; `active` and `open` are False on padding, `label` is -1 where there
    is none."""

    grid: Tensor  # (B, 5, G, G) float 0..1
    heat: Tensor  # (B, M, G, G) float 0..1
    agents: Tensor  # (B, K, 5)
    goals: Tensor  # (B, M, 7)
    pairs: Tensor  # (B, K, M, 9)
    active: Tensor  # (B, K) bool
    open: Tensor  # (B, M) bool
    label: Tensor  # (B, K) long

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        return Batch(*(value.to(device) for value in vars(self).values()))


def collate(decisions: list[Decision], labels: list[np.ndarray] | None = None) -> Batch:
    """Stack decisions, padding robots and goals to the largest number."""
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
    )


class Assigner(nn.Module):
    """(B, K, M) scores of robot-goal pairs; the larger, the rather the robot should go there first."""

    def __init__(self, config: AssignerConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or AssignerConfig()
        d = config.width
        self.map_patch = nn.Conv2d(len(MAP_CHANNELS), d, config.patch, config.patch)
        self.heat_patch = nn.Conv2d(1, d, config.patch, config.patch)
        self.place = nn.Parameter(torch.randn((config.grid // config.patch) ** 2, d) * 0.02)
        self.agent = _mlp(len(AGENT_FEATURES), d, d)
        self.goal = _mlp(len(GOAL_FEATURES), d, d)
        self.heat_pool = nn.Linear(2 * d, d)
        self.kind = nn.Parameter(torch.randn(3, d) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d, config.heads, config.mlp, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.score = _mlp(2 * d + len(PAIR_FEATURES), d, 1)

    def forward(self, batch: Batch) -> Tensor:
        """(B, K, M) scores; entries of padding are meaningless."""
        b, m = batch.heat.shape[:2]
        k = batch.agents.shape[1]
        tokens_map = (
            self.map_patch(batch.grid).flatten(2).transpose(1, 2) + self.place + self.kind[0]
        )  # (B, T, D)
        heat = (
            self.heat_patch(batch.heat.flatten(0, 1)[:, None]).flatten(2).transpose(1, 2) + self.place
        )  # (B*M, T, D)
        heat = nn.functional.gelu(heat)
        pooled = self.heat_pool(torch.cat([heat.mean(1), heat.amax(1)], -1)).view(b, m, -1)  # (B, M, D)
        tokens_goal = self.goal(batch.goals) + pooled + self.kind[1]  # (B, M, D)
        tokens_agent = self.agent(batch.agents) + self.kind[2]  # (B, K, D)
        tokens = torch.cat([tokens_map, tokens_agent, tokens_goal], 1)  # (B, T+K+M, D)
        ignore = torch.cat(
            [
                torch.zeros(b, tokens_map.shape[1], dtype=torch.bool, device=tokens.device),
                ~batch.active,
                ~batch.open,
            ],
            1,
        )
        tokens = self.norm(self.encoder(tokens, src_key_padding_mask=ignore))
        agents, goals = tokens[:, -k - m : -m], tokens[:, -m:]  # (B, K, D), (B, M, D)
        pairs = torch.cat(
            [agents[:, :, None].expand(-1, -1, m, -1), goals[:, None].expand(-1, k, -1, -1), batch.pairs], -1
        )
        return self.score(pairs)[..., 0]

    def scores(self, decision: Decision) -> np.ndarray:
        """(K, M) scores of one decision, without gradients."""
        device = next(self.parameters()).device
        with torch.inference_mode():
            return self(collate([decision]).to(device))[0].float().cpu().numpy()


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


def loss_and_accuracy(scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy over the open goals, averaged over robots with a label; and the share that the argmax
    gets right."""
    masked = scores.masked_fill(~batch.open[:, None], -1e4)
    valid = batch.label >= 0
    logits, label = masked[valid], batch.label[valid]
    return nn.functional.cross_entropy(logits, label), (logits.argmax(-1) == label).float().mean()
