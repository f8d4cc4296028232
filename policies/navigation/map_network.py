"""The network of DAgRL's body for maps: crops, depth, goal and the last actions in, the next action out.

The two crops go through small convolutions; what comes out, the depth, the goal and the last actions are the
tokens of a small transformer, with a token of its own that the heads read. Memory is in the inputs (the trail
in the crops, the last actions), so that a step needs no earlier one.

Shapes: n robots, C channels, S side of a crop, D width, A actions, H remembered actions, G goal embedding,
R x Q depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from policies.navigation.base import NO_ACTION
from policies.navigation.surroundings import CHANNELS

MAP_ACTIONS = ("stop", "move_forward", "turn_left", "turn_right")
"""The body's actions in the order of its logits. Stop: look around from here."""
DEPTH_SHAPE = (12, 8)
"""R x Q: rows and columns of the depth image that the network reads (ours)."""


@dataclass(frozen=True)
class MapNetworkConfig:
    """Sizes (ours: 0.2 million parameters: what two cores can train in minutes)."""

    side: int = 32
    """S of both crops, cells."""
    goal: int = 32
    """G; zeros stand for a goal in another space than the network was trained in."""
    history: int = 8
    """H."""
    width: int = 64
    layers: int = 2
    heads: int = 4
    mlp: int = 128


class MapNetwork(nn.Module):
    """Logits and value from a dict of inputs.

    `near` and `far` (n, C, S, S) 0..255; `depth` (n, R, Q) metres / 5, 0..1; `goal` (n, G); `previous`
    (n, H) actions 0..A-1 with the last one first, NO_ACTION where there was none.
    """

    def __init__(self, config: MapNetworkConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or MapNetworkConfig()
        d = config.width
        self.near, self.far = _convolutions(d), _convolutions(d)
        self.place = nn.Parameter(torch.randn(2, (config.side // 8) ** 2, d) * 0.02)
        self.depth = nn.Sequential(nn.Linear(DEPTH_SHAPE[0] * DEPTH_SHAPE[1], d), nn.GELU(), nn.Linear(d, d))
        self.goal = nn.Linear(config.goal, d)
        self.action = nn.Embedding(len(MAP_ACTIONS) + 1, 8)
        self.past = nn.Linear(8 * config.history, d)
        self.read = nn.Parameter(torch.randn(d) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d, config.heads, config.mlp, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.actor = nn.Linear(d, len(MAP_ACTIONS))
        self.critic = nn.Linear(d, 1)

    def features(self, inputs: dict[str, Tensor]) -> Tensor:
        """(n, D) what the heads read."""
        n = len(inputs["near"])
        crops = [
            part(inputs[name].float() / 255).flatten(2).transpose(1, 2) + self.place[i]  # (n, (S/8)**2, D)
            for i, (name, part) in enumerate((("near", self.near), ("far", self.far)))
        ]
        previous = self.action(inputs["previous"].long() - NO_ACTION)  # (n, H, 8)
        single = torch.stack(
            [
                self.read.expand(n, -1),
                self.depth(inputs["depth"].float().flatten(1)),
                self.goal(inputs["goal"].float()),
                self.past(previous.flatten(1)),
            ],
            1,
        )  # (n, 4, D)
        return self.norm(self.encoder(torch.cat([single, *crops], 1))[:, 0])

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Logits (n, A) and values (n,)."""
        features = self.features(inputs)
        return self.actor(features), self.critic(features)[:, 0]


def _convolutions(width: int) -> nn.Sequential:
    """(n, C, S, S) to (n, width, S / 8, S / 8)."""
    return nn.Sequential(
        nn.Conv2d(len(CHANNELS), 24, 4, 2, 1),
        nn.GELU(),
        nn.Conv2d(24, 48, 4, 2, 1),
        nn.GELU(),
        nn.Conv2d(48, width, 4, 2, 1),
    )


def shrink_depth(depth: np.ndarray) -> np.ndarray:
    """(R, Q) float32, a depth image (H, W) in metres as the network reads it: the nearest return of each
    block in units of 5 m; 1 where a block has none."""
    rows, columns = DEPTH_SHAPE
    filled = np.where(depth > 0, depth, 5.0)
    r = np.linspace(0, depth.shape[0], rows + 1).astype(int)[:-1]
    c = np.linspace(0, depth.shape[1], columns + 1).astype(int)[:-1]
    nearest = np.minimum.reduceat(np.minimum.reduceat(filled, r, 0), c, 1)
    return np.minimum(nearest / 5.0, 1.0).astype(np.float32)
