"""Checkpoints of the assigner: weights, the sizes that they fit, and where they come from."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from higa.network import Assigner, AssignerConfig
from hm3dm3_env.files import write_atomic

VERSION = 2


class CheckpointError(ValueError):
    """A checkpoint that cannot be used."""


def pick_device(name: str) -> torch.device:
    """`auto` is a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={name}: torch finds no GPU here; use device=cpu or device=auto")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device={name}: no such device; use auto, cpu or cuda") from error


def save(path: Path | str, model: Assigner, about: dict[str, Any]) -> None:
    """Write atomically; `about` is JSON-like (command, seed, data, metrics)."""
    buffer = io.BytesIO()
    # Fresh strings: pickle's bytes depend on which equal strings are one object.
    about = json.loads(json.dumps(about))
    weights = {key: value.detach().cpu() for key, value in model.state_dict().items()}
    torch.save(
        {"version": VERSION, "config": asdict(model.config), "weights": weights, "about": about}, buffer
    )
    write_atomic(path, buffer.getvalue())


def load(path: Path | str, device: str = "auto") -> tuple[Assigner, dict[str, Any]]:
    """The model in eval mode on a device, and its `about`.

    Raises:
        CheckpointError: no such file, not a checkpoint of ours, or weights that do not fit.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(
            f"{path}: no such checkpoint; train one with `python -m train.bc` or `python -m train.dagger`"
        )
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
        if value["version"] != VERSION:
            raise CheckpointError(
                f"{path}: version {value['version']} of the checkpoint format; "
                f"this release reads {VERSION}: train it again"
            )
        model = Assigner(AssignerConfig(**value["config"]))
        model.load_state_dict(value["weights"])
    except CheckpointError:
        raise
    except Exception as error:  # torch raises many kinds for damaged files
        what = "" if isinstance(error, UnpicklingError) else f": {(str(error).splitlines() or [''])[0]}"
        raise CheckpointError(
            f"{path}: not a HiGA checkpoint, as train.dagger writes them ({type(error).__name__}{what})"
        ) from error
    return model.to(pick_device(device)).eval(), value["about"]
