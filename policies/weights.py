"""Files of trained weights: atomic, typed, with the sizes that they fit and where they come from."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar

import torch
from torch import Tensor

from hm3dm3_env.files import write_atomic

T = TypeVar("T")
_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used."""


def casting(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Half precision for the products inside, where it was asked for (bf16, fp16)."""
    half = _AUTOCAST.get(precision)
    return torch.autocast(device.type, half, enabled=half is not None)


def first_line(error: BaseException, most: int = 160) -> str:
    """The kind of an error and the beginning of its text, at most so many characters, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:most]}{'...' if len(text) > most else ''}"


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


def load_weights(path: Path | str, kind: str, version: int, maker: str) -> dict[str, Any]:
    """`config`, `weights` and `about` of a file.

    Args:
        maker: the command that writes such files.

    Raises:
        CheckpointError: no such file, or not one of this kind and version.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; train one with `{maker}`")
    other = f"{path}: not a {kind} checkpoint, as {maker} writes them"
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
        found, number = value.get("kind", kind), value["version"]  # the first files did not say the kind
        fields = {name: value[name] for name in ("config", "weights", "about")}
    except Exception as error:  # torch raises many kinds for damaged files
        raise CheckpointError(f"{other} ({type(error).__name__}{_said(error)})") from error
    if found != kind:
        raise CheckpointError(f"{other}: it holds {found}")
    if number != version:
        raise CheckpointError(
            f"{path}: version {number} of {kind} checkpoints; this release reads {version}: train it again"
        )
    return fields


def _said(error: Exception) -> str:
    """The first line of what an error says; torch's advice about damaged files is no help."""
    return "" if isinstance(error, UnpicklingError) else f": {(str(error).splitlines() or [''])[0]}"


def fitting(path: Path | str, kind: str, make: Callable[[], T]) -> T:
    """What `make` makes of a file's fields.

    Raises:
        CheckpointError: they do not fit.
    """
    try:
        return make()
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"{path}: not a {kind} checkpoint of this release ({type(error).__name__}{_said(error)})"
        ) from error
