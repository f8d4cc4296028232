"""A small DAgRL for tests: networks, views, checkpoints. Names and shapes are those of the published
files, written down here apart from the network's own."""

from __future__ import annotations

import numpy as np
import torch

from policies.navigation.base import Views
from policies.navigation.decoder import DecoderConfig
from policies.navigation.network import OvonConfig, OvonNetwork
from policies.navigation.siglip import ImageConfig, SiglipImages

TINY = DecoderConfig(width=32, layers=3, heads=2, mlp=48, context=6, positions=40)
CONFIG = OvonConfig(12, 10, 4, image=ImageConfig(first=8, side=8), decoder=TINY)


class Tower(torch.nn.Module):
    """A small image tower, (n, 3, 8, 8) to (n, 12)."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = torch.nn.Conv2d(3, 12, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.patch_embed(x)[..., 0, 0]


def make_network(config: OvonConfig = CONFIG, images: bool = True, seed: int = 0) -> OvonNetwork:
    """A network with weights large enough that everything matters."""
    torch.manual_seed(seed)
    network = OvonNetwork(config, SiglipImages(Tower(), config.image) if images else None).eval()
    for parameter in network.parameters():
        parameter.data = torch.randn_like(parameter) * (0.4 if parameter.ndim > 1 else 1.0)
    return network.requires_grad_(False)


def make_views(n: int, seed: int = 0, previous: int = 1) -> Views:
    rng = np.random.default_rng(seed)
    return Views(
        rgb=rng.integers(0, 256, (n, 10, 14, 3), dtype=np.uint8),
        goals=list(rng.normal(size=(n, CONFIG.goal_features)).astype(np.float32)),
        previous=np.full(n, previous),
    )


def siglip_shapes(width: int, depth: int, side: int, patch: int, mlp: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "pos_embed": (1, (side // patch) ** 2, width),
        "patch_embed.proj.weight": (width, 3, patch, patch),
        "patch_embed.proj.bias": (width,),
    }

    def linear(name: str, out: int, into: int) -> None:
        shapes.update({f"{name}.weight": (out, into), f"{name}.bias": (out,)})

    def norm(name: str) -> None:
        shapes.update({f"{name}.weight": (width,), f"{name}.bias": (width,)})

    for i in range(depth):
        norm(f"blocks.{i}.norm1")
        norm(f"blocks.{i}.norm2")
        linear(f"blocks.{i}.attn.qkv", 3 * width, width)
        linear(f"blocks.{i}.attn.proj", width, width)
        linear(f"blocks.{i}.mlp.fc1", mlp, width)
        linear(f"blocks.{i}.mlp.fc2", width, mlp)
    norm("norm")
    shapes["attn_pool.latent"] = (1, 1, width)
    linear("attn_pool.q", width, width)
    linear("attn_pool.kv", 2 * width, width)
    linear("attn_pool.proj", width, width)
    norm("attn_pool.norm")
    linear("attn_pool.mlp.fc1", mlp, width)
    linear("attn_pool.mlp.fc2", width, mlp)
    return shapes


def published_shapes(config: OvonConfig, words: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of OVON's state dict, but the image tower's."""
    d, m = config.decoder.width, config.decoder.mlp
    token = config.image_features + config.goal_features + config.action_features
    shapes: dict[str, tuple[int, ...]] = {
        "net.prev_action_embedding.weight": (config.actions + 1, config.action_features),
        "net.state_encoder.feats_proj.weight": (d, token),
        "net.state_encoder.feats_proj.bias": (d,),
        "net.state_encoder.model.embed_tokens.weight": (words, d),
    }
    for i in range(config.decoder.layers):
        layer = f"net.state_encoder.model.layers.{i}"
        shapes |= {f"{layer}.self_attn.{x}_proj.weight": (d, d) for x in "qkvo"}
        shapes[f"{layer}.self_attn.rotary_emb.inv_freq"] = (d // config.decoder.heads // 2,)
        shapes |= {f"{layer}.mlp.{x}_proj.weight": (m, d) for x in ("gate", "up")}
        shapes[f"{layer}.mlp.down_proj.weight"] = (d, m)
        shapes |= {f"{layer}.{x}_layernorm.weight": (d,) for x in ("input", "post_attention")}
    return shapes | {
        "net.state_encoder.model.norm.weight": (d,),
        "action_distribution.linear.weight": (config.actions, d),
        "action_distribution.linear.bias": (config.actions,),
        "critic.fc.weight": (1, d),
        "critic.fc.bias": (1,),
    }


def make_settings(config: OvonConfig = CONFIG) -> dict:
    decoder = config.decoder
    transformer = {
        "model_name": "llama",
        "n_layers": decoder.layers,
        "n_heads": decoder.heads,
        "n_hidden": decoder.width,
        "n_mlp_hidden": decoder.mlp,
        "max_context_length": decoder.context,
        "max_position_embeddings": decoder.positions,
        "shuffle_pos_id_for_update": True,
    }
    policy = {"backbone": "siglip", "fusion_type": "concat", "rgb_only": False}
    policy["transformer_config"] = transformer
    return {"habitat_baselines": {"rl": {"policy": policy}, "checkpoints": [1, 2]}, "habitat": {"seed": None}}


def make_weights(config: OvonConfig = CONFIG, tower: bool = True) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(11)
    weights = {
        name: torch.randn(shape, generator=generator) * 0.3
        for name, shape in published_shapes(config, words=20).items()
    }
    size = config.decoder.width // config.decoder.heads
    for name in weights:
        if name.endswith("inv_freq"):
            weights[name] = 1.0 / (10000.0 ** (torch.arange(0, size, 2).float() / size))
    if tower:
        for name, shape in (("weight", (12, 3, 8, 8)), ("bias", (12,))):
            weights[f"net.visual_encoder.model.patch_embed.{name}"] = torch.randn(shape, generator=generator)
    return {f"actor_critic.{name}": value for name, value in weights.items()}
