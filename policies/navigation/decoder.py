"""A LLaMA-style decoder over the steps of an episode, with a memory that slides.

Sizes and details are those of HM3D-OVON's DAgRL: it runs transformers' LlamaModel (the 4.28 to 4.30 of its
Python 3.7) on embeddings: RMSNorm before attention and MLP and after the last layer, no biases, rotary
positions on halves (base 10,000), SwiGLU. Modules have the names that LlamaModel gives them, so that weights
fit by name.

At inference OVON keeps the keys and values of the last `context` - 1 steps, rotated by the step at which they
were computed, counted from the episode's start. So a step attends to itself and to 99 steps before it, in
every layer; what lies further back still reaches it through the layers. `Decoder.forward` is the same on a
whole sequence at once.

Shapes: B sequences, T steps, D width, H heads, C context, K robots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Store = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Takes keys and values of new steps and gives those to attend to."""


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes; the defaults are DAgRL's (OVON's TransformerConfig, and LlamaConfig's where it is silent)."""

    width: int = 512
    layers: int = 4
    heads: int = 8
    mlp: int = 1024
    context: int = 100
    """Steps that a step attends to, itself included."""
    positions: int = 500
    """Positions that were trained: training shifts each chunk by a random offset below this. Later ones are
    computed all the same."""
    epsilon: float = 1e-6
    """Of RMSNorm."""
    rotary_base: float = 10_000.0

    def __post_init__(self) -> None:
        if min(self.width, self.layers, self.heads, self.mlp, self.context, self.positions) < 1:
            raise ValueError(f"sizes of a decoder must be at least 1: {self}")
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} must be a multiple of twice the {self.heads} heads")


class Memory:
    """What each of K robots remembers: rotated keys, and values, of its last C steps, in a ring a robot.

    Attributes:
        keys, values: (layers, K, H, C, D / H) float32.
        steps: (K,) int64, steps taken since the robot's task began.
    """

    def __init__(self, config: DecoderConfig, robots: int, device: torch.device | str = "cpu") -> None:
        shape = (config.layers, robots, config.heads, config.context, config.width // config.heads)
        self.keys = torch.zeros(shape, device=device)
        self.values = torch.zeros(shape, device=device)
        self.steps = torch.zeros(robots, dtype=torch.int64, device=device)

    def clear(self, robots: Tensor) -> None:
        """These robots, (n,) int64, begin anew."""
        self.keys[:, robots] = 0
        self.values[:, robots] = 0
        self.steps[robots] = 0

    def visible(self, robots: Tensor) -> Tensor:
        """(n, C) bool: the places of the ring that hold a step once the present one is stored."""
        slots = torch.arange(self.keys.shape[3], device=self.steps.device)
        return slots <= self.steps[robots, None]

    def store(self, layer: int, robots: Tensor) -> Store:
        """How one layer stores the present step of `robots`: takes keys and values (n, H, 1, D / H), gives
        (n, H, C, D / H)."""
        slot = (self.steps[robots] % self.keys.shape[3])[:, None]  # (n, 1)
        head = torch.arange(self.keys.shape[2], device=slot.device)  # (H,)

        def put(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            self.keys[layer, robots[:, None], head, slot] = keys[:, :, 0]
            self.values[layer, robots[:, None], head, slot] = values[:, :, 0]
            return self.keys[layer, robots], self.values[layer, robots]

        return put


class Attention(nn.Module):
    """Multi-head attention with rotary positions."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.q_proj = nn.Linear(config.width, config.width, bias=False)
        self.k_proj = nn.Linear(config.width, config.width, bias=False)
        self.v_proj = nn.Linear(config.width, config.width, bias=False)
        self.o_proj = nn.Linear(config.width, config.width, bias=False)

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor, store: Store | None = None
    ) -> Tensor:
        """(B, T, D) from (B, T, D); `rotation` from `Decoder.rotation`, `mask` (B, 1, T, S) bool, true where
        a step may look, over the S keys that `store` gives, or over the T of `x` itself."""
        b, t, d = x.shape

        def split(y: Tensor) -> Tensor:  # (B, T, D) -> (B, H, T, D / H)
            return y.view(b, t, self.heads, d // self.heads).transpose(1, 2)

        q = _rotate(split(self.q_proj(x)), rotation)
        k, v = _rotate(split(self.k_proj(x)), rotation), split(self.v_proj(x))
        if store is not None:
            k, v = store(k, v)  # (B, H, S, D / H)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # (B, H, T, D / H)
        return self.o_proj(out.transpose(1, 2).reshape(b, t, d))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.mlp, bias=False)
        self.up_proj = nn.Linear(config.width, config.mlp, bias=False)
        self.down_proj = nn.Linear(config.mlp, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) from (B, T, D)."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention, then the MLP, each on normalised input and added to it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = FeedForward(config)
        self.input_layernorm = nn.RMSNorm(config.width, config.epsilon)
        self.post_attention_layernorm = nn.RMSNorm(config.width, config.epsilon)

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor, store: Store | None = None
    ) -> Tensor:
        """(B, T, D) from (B, T, D); the other arguments as of `Attention`."""
        x = x + self.self_attn(self.input_layernorm(x), rotation, mask, store)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """The stack of layers."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width, config.epsilon)
        self.register_buffer("inverse_frequency", inverse_frequency(config), persistent=False)

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine, (B, 1, T, D / H) each, for positions (B, T)."""
        frequency: Tensor = self.inverse_frequency  # type: ignore[assignment]
        angles = positions[:, None, :, None].to(frequency.dtype) * frequency  # (B, 1, T, D / 2H)
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """(B, T, D) for whole sequences: each step sees itself and the `context` - 1 before it.

        Args:
            x: (B, T, D) inputs.
            positions: (B, T) integers; 0 to T - 1 unless given.
        """
        b, t = x.shape[:2]
        step = torch.arange(t, device=x.device)
        back = step[:, None] - step[None]  # (T, T): how far back a key lies
        mask = ((back >= 0) & (back < self.config.context)).expand(b, 1, t, t)
        rotation = self.rotation(step.expand(b, t) if positions is None else positions)
        for layer in self.layers:
            x = layer(x, rotation, mask)
        return self.norm(x)

    def step(self, x: Tensor, memory: Memory, robots: Tensor) -> Tensor:
        """(n, D) for the present step of n robots, (n, D), which their memory then holds.

        Args:
            x: (n, D) inputs.
            memory: of all robots; the rows of `robots` move on by a step.
            robots: (n,) int64, distinct.
        """
        mask = memory.visible(robots)[:, None, None]  # (n, 1, 1, C)
        rotation = self.rotation(memory.steps[robots, None])
        y = x[:, None]  # (n, 1, D)
        for i, layer in enumerate(self.layers):
            y = layer(y, rotation, mask, memory.store(i, robots))
        memory.steps[robots] += 1
        return self.norm(y)[:, 0]


def inverse_frequency(config: DecoderConfig) -> Tensor:
    """(D / 2H,) radians a step by which each pair of channels turns."""
    size = config.width // config.heads
    return 1.0 / config.rotary_base ** (torch.arange(0, size, 2).float() / size)


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """(B, H, T, D / H) turned: channel i and channel i + D / 2H are a pair."""
    cosine, sine = rotation
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine
