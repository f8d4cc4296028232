"""One epoch of training, and what the network is worth on held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from higa.network import Assigner, Batch, loss_and_accuracy
from higa.regret import agreement, decode, regrets, robot_regrets
from higa.samples import SampleSet
from train.augment import SYMMETRIES, transformed
from train.loss import hits, label_weights, loss_sum
from train.parallel import Team

if TYPE_CHECKING:
    from train.trainer import TrainConfig

PRECISIONS = ("float32", "bfloat16")
SHORTEST_CYCLE = 10
"""Steps: torch divides by zero in a shorter one; runs that are shorter do not finish it."""


class Learner:
    """Network, optimizer and schedule of one process of a team."""

    def __init__(self, train: SampleSet, config: TrainConfig, team: Team, start: Assigner | None) -> None:
        """Fresh weights from torch's seed, or those of `start`."""
        self.train, self.config, self.team = train, config, team
        self.model = Assigner(config.network)
        if start is not None:
            self.model.load_state_dict(start.state_dict())
        self.model.to(team.device)
        self.steps = -(-len(train) // config.batch)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), config.lr, weight_decay=config.weight_decay
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer,
            config.lr,
            total_steps=max(config.epochs * self.steps, SHORTEST_CYCLE),
            pct_start=0.2,
        )
        net: nn.Module = self.model
        if config.compile:
            net = compiled(self.model, train.batch(np.arange(min(2, len(train)))).to(team.device))
        self.net = team.wrap(net)

    def epoch(self, number: int) -> dict[str, Any]:
        """Train on every sample once; the row of metrics, means over all robots with a label. Random numbers
        depend on the seed and the epoch alone, so that a run can go on from here."""
        torch.manual_seed((self.config.seed * 1_000_003 + number) * 1009 + self.team.rank)
        rng = np.random.default_rng([self.config.seed, number])
        order = rng.permutation(len(self.train))
        codes = rng.integers(SYMMETRIES, size=len(order))
        self.model.train()
        sums = torch.zeros(4, dtype=torch.float64)  # loss, weight, hits, labels
        for i in range(self.steps):
            part = slice(i * self.config.batch, (i + 1) * self.config.batch)
            sums += self.step(order[part], codes[part])
        if self.team.size > 1:
            sums = sums.to(self.team.device)
            dist.all_reduce(sums)
        loss, weight, right, labels = sums.tolist()
        return {"epoch": number + 1, "train_loss": loss / weight, "train_accuracy": right / labels}

    def step(self, rows: np.ndarray, codes: np.ndarray) -> Tensor:
        """One update from the global batch of samples `rows` (B,) under symmetries `codes` (B,): this
        process's (4,) sums of loss, weights, hits and labels. The loss is divided by the weight of the global
        batch, so that shares with few labelled robots count as much as they should."""
        config, team = self.config, self.team
        label, costs = (torch.from_numpy(self.train.column(name, rows)) for name in ("label", "costs"))
        weight = float(label_weights(label, costs, config.loss).sum())
        mine = team.share(np.arange(len(rows)))
        batch = self.train.batch(rows[mine] if len(mine) else rows[:1])
        if config.augment:
            batch = transformed(batch, codes[mine] if len(mine) else codes[:1])
        if not len(mine):  # nothing for this process: it takes part with no labels
            batch.label.fill_(-1)
        batch = batch.to(team.device)
        with autocast(team.device, config.precision):
            scores = self.net(batch)
        total = loss_sum(scores.float(), batch, config.loss)
        self.optimizer.zero_grad()
        (total * team.size / weight).backward()  # the team's gradients are averaged
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        own = label_weights(batch.label, batch.costs, config.loss).sum()
        return torch.tensor([total.item(), own.item(), *hits(scores, batch)], dtype=torch.float64)


def evaluate(
    model: Assigner, samples: SampleSet, batch: int, device: torch.device, precision: str = "float32"
) -> dict[str, float]:
    """What the network is worth on samples: `held_out_loss` and `held_out_accuracy` (plain cross-entropy,
    means over robots with a label), `held_out_agreement` of the decoded assignment, `held_out_regret` and
    `held_out_team_regret` in metres (see `higa.regret`); empty without samples."""
    if not len(samples):
        return {}
    totals, parts = np.zeros(3), []
    model.eval()
    with torch.inference_mode():
        for first in range(0, len(samples), batch):
            data = samples.batch(np.arange(first, min(first + batch, len(samples)))).to(device)
            with autocast(device, precision):
                scores = model(data).float()
            count = int((data.label >= 0).sum())
            if count:
                loss, accuracy = loss_and_accuracy(scores, data)
                totals += np.array([loss.item(), accuracy.item(), 1.0]) * count
            parts.append(scores.cpu().numpy())
    values = assess(decode(np.concatenate(parts), samples.column("active"), samples.column("open")), samples)
    return {
        "held_out_loss": float(totals[0] / totals[2]),
        "held_out_accuracy": float(totals[1] / totals[2]),
        **{f"held_out_{name}": float(np.nanmean(value)) for name, value in values.items()},
    }


def assess(chosen: np.ndarray, samples: SampleSet) -> dict[str, np.ndarray]:
    """(N,) `regret`, `team_regret` and `agreement` of assignments (N, K) of all rows of a set (see
    `higa.regret`)."""
    costs, idle, active = (samples.column(name) for name in ("costs", "idle_costs", "active"))
    mean, least = regrets(robot_regrets(chosen, costs, idle, active))
    return {"regret": mean, "team_regret": least, "agreement": agreement(chosen, samples.column("label"))}


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Matrix products in bfloat16, if that is the precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def compiled(model: Assigner, example: Batch) -> nn.Module:
    """The network through torch.compile, tried on an example; itself, with a message, where that fails."""
    state = torch.get_rng_state()
    try:
        net: Any = torch.compile(model)
        net(example).sum().backward()
        return net
    except Exception as error:  # the compilers behind torch.compile raise many kinds
        first = (str(error).strip().splitlines() or [""])[0]
        print(
            f"train.compile=true: torch.compile does not work here ({type(error).__name__}: {first}); "
            "training goes on without it. It needs a C++ compiler: install g++, for example"
        )
        torch._dynamo.reset()
        return model
    finally:
        model.zero_grad()
        torch.set_rng_state(state)
