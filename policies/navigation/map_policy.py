"""DAgRL's body for maps as a NavigationPolicy: trained here by `python -m train.nav`, its weights ship with
the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hm3dm3_env.cli import build
from hm3dm3_env.task import ACTIONS, WAIT
from policies.navigation.base import NO_ACTION, Moves, NavigationPolicy, Views
from policies.navigation.map_network import MAP_ACTIONS, MapNetwork, MapNetworkConfig, shrink_depth
from policies.navigation.surroundings import SurroundingsConfig
from policies.weights import fitting, load_weights, pick_device, save_weights

KIND, VERSION = "map DAgRL", 1

STOP = MAP_ACTIONS.index("stop")
TO_OURS = np.array([WAIT, *(ACTIONS.index(name) for name in MAP_ACTIONS[1:])])
"""Actions of ours by the network's numbers; its stop is our wait."""
_FROM_OURS = {ours: own for own, ours in enumerate(TO_OURS.tolist()) if own != STOP}


def from_ours(action: int) -> int:
    """The network's number of an executed action of ours; NO_ACTION for one that it does not have."""
    return _FROM_OURS.get(int(action), NO_ACTION)


class MapPolicy(NavigationPolicy):
    """Drives robots by crops of the shared map and of the goal's heat map.

    Attributes:
        space: the encoder's space in which goals are embedded; goals from other spaces are zeros.
        surroundings: sizes of the crops that it was trained with.
    """

    def __init__(
        self,
        network: MapNetwork,
        space: str = "",
        surroundings: SurroundingsConfig | None = None,
        sample: bool = True,
    ) -> None:
        """
        Args:
            sample: draw actions from the policy's distribution; otherwise take the most probable one.
        """
        self.network, self.space, self.sample = network.eval(), space, sample
        self.surroundings = surroundings or SurroundingsConfig()
        self._history = np.zeros((0, network.config.history), np.int64)
        self._rngs: list[np.random.Generator] = []

    @classmethod
    def load(cls, checkpoint: Path | str, sample: bool = True, device: str = "cpu") -> MapPolicy:
        """The policy of a file that `save` wrote.

        Raises:
            CheckpointError: no such file, or one that does not fit.
        """
        path = Path(checkpoint)
        value = load_weights(path, KIND, VERSION, "python -m train.nav")

        def make() -> MapPolicy:
            network = MapNetwork(build(MapNetworkConfig, **value["config"]["network"]))
            network.load_state_dict(value["weights"])
            surroundings = build(SurroundingsConfig, **value["config"]["surroundings"])
            return cls(network.to(pick_device(device)), value["config"]["space"], surroundings, sample)

        return fitting(path, KIND, make)

    def save(self, path: Path | str, about: Mapping[str, Any]) -> None:
        """Write the weights, what they fit, and `about`: where they come from."""
        config = {
            "network": asdict(self.network.config),
            "surroundings": asdict(self.surroundings),
            "space": self.space,
        }
        save_weights(path, KIND, VERSION, config, self.network.state_dict(), about)

    def reset(self, robots: int, rng: np.random.Generator) -> None:
        """A new episode; each robot draws from a generator of its own, spawned from `rng`."""
        self._history = np.full((robots, self.network.config.history), NO_ACTION, np.int64)
        self._rngs = rng.spawn(robots)

    def restart(self, robots: Sequence[int]) -> None:
        """These robots begin a new task: their last actions are forgotten."""
        self._history[list(robots)] = NO_ACTION

    def act(self, robots: Sequence[int], views: Views) -> Moves:
        """The next actions; `views` needs depth and both crops, a row a robot. `arrived` means that the robot
        should look around where it is: at its goal, or where unknown ground begins.

        Raises:
            ValueError: rows that do not fit, an unknown robot, or an input that is missing.
        """
        if not len(robots) and not len(views.goals):
            return Moves(np.zeros(0, np.int64), np.zeros(0, bool))
        chosen = self.decide(robots, self.observe(robots, views))
        return Moves(TO_OURS[chosen], chosen == STOP)

    def observe(self, robots: Sequence[int], views: Views) -> dict[str, np.ndarray]:
        """The network's inputs (see `MapNetwork`) of n robots; their last actions are remembered.

        Raises:
            ValueError: as of `act`.
        """
        rows = list(robots)
        if len(views.goals) != len(rows) or len(set(rows)) != len(rows):
            raise ValueError(f"robots {rows} and {len(views.goals)} views; one view a robot is needed")
        if rows and not (0 <= min(rows) and max(rows) < len(self._rngs)):
            raise ValueError(f"robots {rows}: reset was called for {len(self._rngs)}")
        if views.depth is None or views.near is None or views.far is None:
            raise ValueError("MapPolicy looks at maps: views need depth, near and far")
        self._history[rows, 1:] = self._history[rows, :-1]
        self._history[rows, 0] = [from_ours(action) for action in views.previous]
        vectors = np.zeros((len(rows), self.network.config.goal), np.float32)
        for row, given in zip(vectors, views.goals):
            if not isinstance(given, str) and given.shape == row.shape:
                row[:] = given
        return {
            "near": views.near,
            "far": views.far,
            "depth": np.stack([shrink_depth(image) for image in views.depth]),
            "goal": vectors,
            "previous": self._history[rows],
        }

    def decide(self, robots: Sequence[int], inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n,) the network's numbers of the next actions."""
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(value).to(device) for name, value in inputs.items()}
            logits = self.network(tensors)[0].double().cpu().numpy()  # (n, A)
        if self.sample:
            logits = logits + np.stack([self._rngs[k].gumbel(size=logits.shape[1]) for k in robots])
        return logits.argmax(-1)
