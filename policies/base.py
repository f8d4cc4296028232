"""What a method is: a TeamPolicy, found by name. Methods in other packages register through entry points.

[options.entry_points]
hm3dm3.policies =
    my_method = my_package.my_module:MyPolicy
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np

from hm3dm3_env.cli import build
from hm3dm3_env.shared import Privileged, SharedState
from hm3dm3_env.vlm.session import VlmView
from policies.heatmaps.base import Similarity
from policies.recognition.base import Detector

GROUP = "hm3dm3.policies"


@dataclass
class TeamTask:
    """What a policy gets at the start of an episode.

    Attributes:
        shared: the team's knowledge at step 0.
        recognizer, encoder: the eyes, ready for this episode (the same for all methods). Nothing of the
            truth that simulated eyes read hangs on them.
        rng: the policy's own random numbers for this episode.
        vlm: the vision-language model, for policies that ask one (`TeamPolicy`).
        privileged: the truth, for privileged policies only.
    """

    shared: SharedState
    recognizer: Detector
    encoder: Similarity
    rng: np.random.Generator
    vlm: VlmView | None = None
    privileged: Privileged | None = None


class TeamPolicy(Protocol):
    """A method under evaluation. `privileged` methods are marked in every table; one that looks with the
    recogniser all the same has `sees = True`, so that the table says with which. A method that loads weights
    may list their files in `weights`: an evaluation is not continued with others.

    A method that asks a vision-language model has `answers`: by level of its questions, what the simulated
    model says (`hm3dm3_env.vlm.simulated.Answer`). One that sees with it alone has `recognises_by_vlm =
    True`: it gets colour frames, and photos of at least `goal_image` pixels a side; tables name the model as
    its recogniser."""

    privileged: bool = False

    def reset(self, task: TeamTask) -> None:
        """A new episode begins."""

    def act(self, observations: Mapping[str, Any], shared: SharedState) -> dict[str, int]:
        """The action number of every robot ("robot_0", ...), from the observations and the team's
        knowledge."""

    def record(self) -> dict[str, Any]:
        """JSON for the EpisodeRecord: assignments, what recognition saw; {} if nothing. Under "vlm" stands
        what was asked of a VLM (`hm3dm3_env.vlm.session.EpisodeVlm.record`, added by whoever plays the
        episode), with what a method adds to it here."""


_BUILT_IN: dict[str, tuple[str, str]] = {
    "random": ("policies.random_policy", "RandomPolicy"),
    "oracle": ("policies.oracle_policy", "OraclePolicy"),
    "frontier": ("policies.frontier_policy", "FrontierPolicy"),
    "ego_swarm": ("policies.ego_swarm", "EgoSwarmPolicy"),
    "vlfm": ("policies.vlfm", "VlfmPolicy"),
    "dm3_nav": ("policies.dm3_nav.policy", "Dm3NavPolicy"),
    "lavira_m3": ("policies.lavira_m3.policy", "LaviraM3Policy"),
    "co_navgpt2": ("policies.co_navgpt2.policy", "CoNavGpt2Policy"),
    "higa_rule": ("higa.policy", "HigaRulePolicy"),
    "higa": ("higa.policy", "HigaPolicy"),
    "higa_oracle": ("higa.policy", "HigaOraclePolicy"),
}


def available() -> list[str]:
    """Names of all methods: our own, and those of installed packages."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def policy_class(name: str) -> Callable[..., TeamPolicy]:
    """The class behind a name.

    Raises:
        ValueError: no such method.
    """
    if name in _BUILT_IN:
        from importlib import import_module

        module, attribute = _BUILT_IN[name]
        return getattr(import_module(module), attribute)
    for point in entry_points(group=GROUP):
        if point.name == name:
            try:
                return point.load()
            except (ImportError, AttributeError) as error:
                raise ValueError(f"method {name!r}: {point.value} cannot be loaded ({error})") from error
    raise ValueError(
        f"unknown method {name!r}; available: {', '.join(available())} "
        f"(other packages add methods through the entry-point group {GROUP!r})"
    )


def make_policy(name: str, config: Mapping[str, Any] | None = None) -> TeamPolicy:
    """A policy by name; `config` are the fields of its `Config` dataclass, if it has one.

    Raises:
        ValueError: unknown method, or a config it does not take.
    """
    cls = policy_class(name)
    schema = getattr(cls, "Config", None)
    if schema is None:
        if config:
            raise ValueError(f"method {name!r} takes no config, but got {sorted(config)}")
        return cls()
    return cls(build(schema, **dict(config or {})))
