"""What training minimises: cross-entropy on the oracle's labels, weighed by what a mistake costs if one
likes.

Shapes: B batch, K robots, M goals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from higa.network import Batch

_OUT = -1e4
"""Score of a goal or a robot that is no choice."""


@dataclass(frozen=True)
class LossConfig:
    """Weights of the labels in the cross-entropy (ours)."""

    by_cost: bool = False
    """Weigh each robot by what its label saves: floor + the metres to the second best goal, at most
    `most`."""
    floor: float = 0.5
    """Metres that every label counts."""
    most: float = 5.0
    """Metres."""

    def __post_init__(self) -> None:
        for name in ("floor", "most"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"train.loss.{name}={value}: must be at least 0, and finite")
        if self.by_cost and not self.floor > 0:
            raise ValueError(
                f"train.loss.floor={self.floor}: must be more than 0 with train.loss.by_cost=true"
            )


def label_weights(label: Tensor, costs: Tensor, config: LossConfig) -> Tensor:
    """(B, K) weight of each label, 0 where there is none.

    Args:
        label: (B, K), -1: none.
        costs: (B, K, M) metres, nan where the robot or the goal is out. The label of a single open goal saves
            nothing; one beside goals that are all impossible (infinite) saves `most`.
    """
    labelled = label >= 0
    if not config.by_cost:
        return labelled.to(costs.dtype)
    column = label.clamp_min(0)[..., None]
    own = costs.gather(-1, column)[..., 0]
    others = costs.nan_to_num(nan=math.inf, posinf=math.inf).scatter(-1, column, math.inf)
    saved = (others.amin(-1) - own).nan_to_num(nan=0.0, posinf=config.most).clamp(0.0, config.most)
    choice = (~costs.isnan()).sum(-1) > 1
    return torch.where(labelled, config.floor + torch.where(choice, saved, 0.0), 0.0)


def loss_sum(scores: Tensor, batch: Batch, config: LossConfig) -> Tensor:
    """Sum over all labels of weight times loss: a number; divide by the sum of `label_weights` of the global
    batch for the mean. Robots without a label, and goals and robots that are out, take no part."""
    weight = label_weights(batch.label, batch.costs, config)
    column = batch.label.clamp_min(0)[..., None]
    goals = log_softmax(scores.masked_fill(~batch.open[:, None], _OUT), -1)
    loss = -goals.gather(-1, column)[..., 0]
    return (weight * torch.where(weight > 0, loss, 0.0)).sum()


def hits(scores: Tensor, batch: Batch) -> tuple[int, int]:
    """How many robots with a label have it as their highest score among the open goals, and how many there
    are."""
    best = scores.masked_fill(~batch.open[:, None], _OUT).argmax(-1)
    labelled = batch.label >= 0
    return int(((best == batch.label) & labelled).sum()), int(labelled.sum())
