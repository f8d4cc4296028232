"""DAgRL, the policy network of HM3D-OVON: what a robot saw, its goal and its last action in, the next action
out.

Each step is one token: [image features | goal features | embedding of the previous action], projected to the
decoder's width. The decoder looks back over the robot's last steps; linear heads give the logits of OVON's
six actions and the value. Images go through a frozen SigLIP tower, goals are its text tower's embeddings.

Modules are named so that `state_dict()` has the published checkpoint's keys, without its prefix
`actor_critic.`. The
table of word embeddings that LlamaModel brings along is not here: the policy never reads it.

Shapes: B sequences, T steps, n robots of one step, F image and G goal features, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from policies.navigation.decoder import Decoder, DecoderConfig, Memory
from policies.navigation.siglip import ImageConfig


@dataclass(frozen=True)
class OvonConfig:
    """Sizes; the defaults are DAgRL's: OVON's configuration `transformer_rl_finetune` over its defaults."""

    image_features: int = 768
    """F, the pooled output of ViT-B/16."""
    goal_features: int = 768
    """G, SigLIP's joint space."""
    action_features: int = 32
    """Of the previous action's embedding."""
    actions: int = 6
    image: ImageConfig = field(default_factory=ImageConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    @property
    def token(self) -> int:
        """Numbers in a step's token: 1568 by default."""
        return self.image_features + self.goal_features + self.action_features


class StateEncoder(nn.Module):
    """The input projection and the decoder behind it."""

    def __init__(self, config: OvonConfig) -> None:
        super().__init__()
        self.feats_proj = nn.Linear(config.token, config.decoder.width)
        self.model = Decoder(config.decoder)


class _Net(nn.Module):
    """All but the heads."""

    def __init__(self, config: OvonConfig, images: nn.Module | None) -> None:
        super().__init__()
        self.prev_action_embedding = nn.Embedding(config.actions + 1, config.action_features)
        self.visual_encoder = images
        self.state_encoder = StateEncoder(config)

    def tokens(self, features: Tensor, goals: Tensor, previous: Tensor) -> Tensor:
        """(..., D) inputs of the decoder from (..., F), (..., G) and (...)."""
        # Row 0 of the embedding is "none"; OVON's action a is row a + 1.
        action = self.prev_action_embedding(previous + 1)
        return self.state_encoder.feats_proj(torch.cat([features, goals, action], -1))


class OvonNetwork(nn.Module):
    """The network. `previous` is OVON's number of the last executed action, 0 to A - 1, or -1 for none
    (`base.to_ovon`)."""

    def __init__(self, config: OvonConfig | None = None, images: nn.Module | None = None) -> None:
        """`images`: the image tower (`siglip.SiglipImages`), for `see`; without one, callers give
        features."""
        super().__init__()
        self.config = config = config or OvonConfig()
        self.net = _Net(config, images)
        self.action_distribution = nn.ModuleDict({"linear": nn.Linear(config.decoder.width, config.actions)})
        self.critic: nn.ModuleDict | None = nn.ModuleDict({"fc": nn.Linear(config.decoder.width, 1)})

    def see(self, rgb: Tensor) -> Tensor:
        """(n, F) features of frames (n, H, W, 3) uint8.

        Raises:
            ValueError: the network has no image tower.
        """
        if self.net.visual_encoder is None:
            raise ValueError("this network was built without an image tower; give `images` or give features")
        return self.net.visual_encoder(rgb)

    def memory(self, robots: int) -> Memory:
        """An empty memory for that many robots, on the network's device."""
        return Memory(self.config.decoder, robots, next(self.parameters()).device)

    def forward(
        self, features: Tensor, goals: Tensor, previous: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Whole episodes at once.

        Args:
            features: (B, T, F).
            goals: (B, T, G).
            previous: (B, T) int64.
            positions: (B, T) int64 steps since the task began; 0 to T - 1 unless given.

        Returns:
            Logits (B, T, A) and values (B, T), None without a critic.
        """
        tokens = self.net.tokens(features, goals, previous)
        return self._heads(self.net.state_encoder.model(tokens, positions))

    def step(
        self, features: Tensor, goals: Tensor, previous: Tensor, memory: Memory, robots: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The next step of n robots; their rows of `memory` move on.

        Args:
            features: (n, F).
            goals: (n, G).
            previous: (n,) int64.
            memory: from `memory()`.
            robots: (n,) int64 rows of the memory, distinct.

        Returns:
            Logits (n, A) and values (n,), None without a critic.
        """
        tokens = self.net.tokens(features, goals, previous)
        return self._heads(self.net.state_encoder.model.step(tokens, memory, robots))

    def _heads(self, hidden: Tensor) -> tuple[Tensor, Tensor | None]:
        values = None if self.critic is None else self.critic["fc"](hidden)[..., 0]
        return self.action_distribution["linear"](hidden), values
