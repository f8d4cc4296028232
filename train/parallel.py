"""Training in several processes, as `torchrun --nproc_per_node=2 -m train.bc …` starts them.

Every process holds the whole data set and takes its share of each global batch; gradients are summed, so that
the weights are those of one process up to rounding. Process 0 alone evaluates, decides and writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from higa.checkpoint import pick_device

T = TypeVar("T")
C = TypeVar("C")

WAIT = timedelta(hours=24)
"""How long a process waits for the others: process 0 evaluates, or rolls out, alone (ours)."""


class Team:
    """The processes that train together; one that is alone is a team of one.

    Attributes:
        rank: number of this process, 0 leads; size: number of processes.
        device: what this process computes on: the GPU of its own, or the CPU.
    """

    def __init__(self, device: str) -> None:
        """Join the team that torchrun announces in the environment.

        Raises:
            ValueError: no such device, or fewer GPUs than processes.
        """
        self.rank, self.size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.device = pick_device(device)
        if self.size == 1:
            return
        local = int(os.environ.get("LOCAL_RANK", self.rank))
        if self.device.type == "cuda":
            if local >= torch.cuda.device_count():
                raise ValueError(
                    f"device={device}: process {local} finds {torch.cuda.device_count()} GPUs; "
                    "start as many processes as there are GPUs (--nproc_per_node)"
                )
            self.device = torch.device("cuda", local)
            torch.cuda.set_device(self.device)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo", timeout=WAIT)

    @property
    def leads(self) -> bool:
        """Whether this process is the one that evaluates and writes."""
        return self.rank == 0

    def share(self, rows: np.ndarray) -> np.ndarray:
        """This process's part of a global batch (B,); can be empty."""
        return rows[self.rank :: self.size]

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model with gradients averaged over the team."""
        return model if self.size == 1 else nn.parallel.DistributedDataParallel(model)

    def told(self, value: T) -> T:
        """What process 0 says, in all of them."""
        if self.size == 1:
            return value
        box: list[Any] = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


def leads() -> bool:
    """Whether this process is the one that writes and prints."""
    return int(os.environ.get("RANK", 0)) == 0


def disbanded(task: Callable[[C], T]) -> Callable[[C], T]:
    """The task, after which its process leaves the team."""

    def run(config: C) -> T:
        try:
            return task(config)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()

    return run
