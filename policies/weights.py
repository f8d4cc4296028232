"""Files of trained weights: atomic, typed, with the sizes that they fit and where they come from."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from hm3dm3_env.files import write_atomic


class CheckpointError(ValueError):
    """A checkpoint that cannot be used."""


def pick_device(name: str) -> torch.device:
    """`auto` is a GPU if there is one.

    Raises:
        ValueError: no such device, or none here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={name}: torch finds no GPU here; use device=cpu or device=auto")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device={name}: no such device; use auto, cpu or cuda") from error


def save_weights(
    path: Path | str,
    kind: str,
    version: int,
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    about: Mapping[str, Any],
) -> None:
    """Write atomically, equal bytes for equal content.

    Args:
        kind, version: what the weights are of, and the number of its format.
        config: the sizes of the network, JSON-like.
        about: where the weights come from, JSON-like (command, seed, data, metrics).
    """
    buffer = io.BytesIO()
    # Fresh strings: pickle's bytes depend on which equal strings are one object.
    fresh = json.loads(json.dumps({"config": config, "about": about}))
    tensors = {key: value.detach().cpu() for key, value in weights.items()}
    torch.save({"kind": kind, "version": version, "weights": tensors, **fresh}, buffer)
    write_atomic(path, buffer.getvalue())


def load_weights(path: Path | str, kind: str, version: int, hint: str) -> dict[str, Any]:
    """`config`, `weights` and `about` of a file.

    Args:
        hint: how to get such a file.

    Raises:
        CheckpointError: no such file, or not one of this kind and version.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; {hint}")
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
        found = value["kind"], value["version"]
        fields = {name: value[name] for name in ("config", "weights", "about")}
    except Exception as error:  # torch raises many kinds for damaged files
        what = "" if isinstance(error, UnpicklingError) else f": {(str(error).splitlines() or [''])[0]}"
        raise CheckpointError(f"{path}: not a checkpoint of ours ({type(error).__name__}{what})") from error
    if found != (kind, version):
        raise CheckpointError(
            f"{path}: holds {found[0]}, version {found[1]}; {kind}, version {version}, is needed; {hint}"
        )
    return fields
