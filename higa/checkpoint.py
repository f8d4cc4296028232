"""Checkpoints of the assigner: weights, the sizes that they fit, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from higa.network import Assigner, AssignerConfig
from policies.weights import CheckpointError, fitting, load_weights, pick_device, save_weights

__all__ = ["CheckpointError", "load", "pick_device", "save"]

KIND, VERSION = "HiGA", 2


def save(path: Path | str, model: Assigner, about: Mapping[str, Any]) -> None:
    """Write atomically; `about` is JSON-like (command, seed, data, metrics)."""
    save_weights(path, KIND, VERSION, asdict(model.config), model.state_dict(), about)


def load(path: Path | str, device: str = "auto") -> tuple[Assigner, dict[str, Any]]:
    """The model in eval mode on a device, and its `about`.

    Raises:
        CheckpointError: no such file, not a checkpoint of ours, or weights that do not fit.
    """
    value = load_weights(path, KIND, VERSION, "python -m train.bc")

    def make() -> Assigner:
        model = Assigner(AssignerConfig(**value["config"]))
        model.load_state_dict(value["weights"])
        return model

    return fitting(path, KIND, make).to(pick_device(device)).eval(), value["about"]
