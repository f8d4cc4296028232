"""What a learned lower level is: it drives one robot to one goal from what the robot sees, step by step.

The level above says which robot looks for which goal; a `NavigationPolicy` moves the robots. It is batched:
the robots of a team go through the network together, and each has a memory of its own.

Shapes: n the robots of one call, H and W the frame, D the length of a goal's embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hm3dm3_env.task import ACTIONS, WAIT

OVON_ACTIONS = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
"""The six actions of HM3D-OVON in its order, Habitat's action space "v1": 0.25 m, 30 degrees, 30 degrees."""
STOP = 0
"""The number of OVON's stop."""
NO_ACTION = -1
"""As a robot's previous action: there is none, its task has just begun."""

_TO_OURS = np.array([WAIT, *(ACTIONS.index(name) for name in OVON_ACTIONS[1:])])
_TO_OVON = {ours: theirs for theirs, ours in enumerate(_TO_OURS.tolist()) if theirs != STOP}


@dataclass(frozen=True)
class Views:
    """What the robots of one call perceive and are to do, a row a robot, in the order of `robots`.

    Attributes:
        goals: n goals: words ("potted plant"), or a (D,) vector from the encoder that the policy was trained
            with.
        previous: (n,) integers, the action of ours that each robot executed last, whoever chose it;
            NO_ACTION when its task has just begun.
        rgb: (n, H, W, 3) uint8, the frames. This and what follows is None where the policy needs none.
        depth: (n, H, W) float32, planar metres, 0 where nothing was measured.
        near, far: (n, C, S, S) uint8, crops of the map (see `surroundings`).
    """

    goals: Sequence[str | np.ndarray]
    previous: np.ndarray
    rgb: np.ndarray | None = None
    depth: np.ndarray | None = None
    near: np.ndarray | None = None
    far: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.goals)
        if self.previous.shape != (n,):
            raise ValueError(
                f"views of {n} goals need {n} previous actions, got them of shape {self.previous.shape}"
            )
        if not np.issubdtype(self.previous.dtype, np.integer):
            raise ValueError(f"previous: needs integers, got {self.previous.dtype}")
        wrong = self.previous[(self.previous < NO_ACTION) | (self.previous >= len(ACTIONS))]
        if wrong.size:
            raise ValueError(
                f"previous: no action {int(wrong[0])}; {NO_ACTION} (none) or 0 to {len(ACTIONS) - 1}"
            )
        if self.rgb is not None:
            if self.rgb.ndim != 4 or self.rgb.shape[-1] != 3 or self.rgb.dtype != np.uint8:
                raise ValueError(f"rgb: needs (n, H, W, 3) uint8, got {self.rgb.shape} {self.rgb.dtype}")
            if self.depth is not None and self.depth.shape != self.rgb.shape[:3]:
                raise ValueError(f"depth: needs {self.rgb.shape[:3]} like rgb, got {self.depth.shape}")
        for name in ("rgb", "depth", "near", "far"):
            value = getattr(self, name)
            if value is not None and len(value) != n:
                raise ValueError(f"{name}: views of {n} goals need {n} rows, got {len(value)}")


@dataclass(frozen=True)
class Moves:
    """What the robots of one call do next.

    Attributes:
        actions: (n,) int64, actions of `hm3dm3_env.task.ACTIONS`, moves or wait and never a declaration.
        arrived: (n,) bool: the policy believes that the robot stands at its goal. Its action is wait then;
            what follows (verify, declare, go on) is the caller's decision, since a wrong declaration costs a
            goal.
    """

    actions: np.ndarray
    arrived: np.ndarray


class NavigationPolicy(Protocol):
    """A learned lower level. Calls: `reset` once an episode, `restart` when a robot gets another goal, `act`
    every step, for the robots that it drives at that step."""

    def reset(self, robots: int, rng: np.random.Generator) -> None:
        """A new episode with that many robots, all without memory; `rng` is the source of all that the policy
        draws."""

    def restart(self, robots: Sequence[int]) -> None:
        """These robots begin a new task: what they remember is dropped, that of the others stays."""

    def act(self, robots: Sequence[int], views: Views) -> Moves:
        """The next action of each of `robots` (numbers below the number of robots, each at most once).

        Raises:
            ValueError: rows of `views` that do not fit, an unknown robot, a goal that cannot be embedded.
        """


def from_ovon(actions: np.ndarray) -> Moves:
    """Actions of OVON, (n,) integers 0 to 5, as ours: stop becomes wait with `arrived`, the moves are the
    same moves."""
    return Moves(actions=_TO_OURS[actions], arrived=actions == STOP)


def to_ovon(actions: np.ndarray) -> np.ndarray:
    """Executed actions of ours, (n,) integers, as OVON's numbers: (n,) int64, NO_ACTION where OVON has none.

    Wait and declarations have no counterpart: in OVON an episode ends with a stop, so that no policy has seen
    a step after one. They count as "no previous action" (ours).
    """
    return np.array([_TO_OVON.get(int(action), NO_ACTION) for action in actions], np.int64)
