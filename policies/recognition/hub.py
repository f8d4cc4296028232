"""Models of transformers from a folder or from the hub; what fails is one clear line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from policies.recognition.config import RecognizerError
from policies.weights import first_line


def load_pretrained(kind: Any, name: str, model_type: str, where: str, note: str = "") -> Any:
    """The model `name` (a folder, or a repository of the hub) of a class, frozen, in evaluation mode.

    Args:
        kind: a class with transformers' `from_pretrained`.
        model_type: what its configuration must say it is.
        where: the key of the setting, for errors; `note` is added to them.

    Raises:
        RecognizerError: no such folder, another kind of model, or weights that cannot be had.
    """
    check(name, model_type, where, note)
    model, missing = read(kind, name, where, note, output_loading_info=True)
    lacking = sorted(missing["missing_keys"])
    if lacking:
        raise RecognizerError(
            f"{where}: {name}: {len(lacking)} weights are missing there ({lacking[0]}, ...); download the "
            "whole repository again"
        )
    return model.eval().requires_grad_(False)


def check(name: str, model_type: str, where: str, note: str = "") -> None:
    """Refuse what is no model of a type.

    Raises:
        RecognizerError: see `load_pretrained`.
    """
    if is_folder(name) and not (Path(name).expanduser() / "config.json").is_file():
        raise RecognizerError(
            f"{where}: {name}: no folder with config.json; give one with a copy of a repository of the hub"
        )
    found = read(AutoConfig, name, where, note).model_type
    if found != model_type:
        raise RecognizerError(f"{where}: {name} is a model of kind {found!r}, not {model_type!r}")


def read(kind: Any, name: str, where: str, note: str = "", **options: Any) -> Any:
    """`kind.from_pretrained(name)`.

    Raises:
        RecognizerError: it cannot be had from the hub, or is not in the folder.
    """
    path = str(Path(name).expanduser()) if is_folder(name) else name
    client = logging.getLogger("huggingface_hub")  # it logs each of its attempts to connect
    level = client.level
    client.setLevel(logging.ERROR)
    try:
        return kind.from_pretrained(path, **options)
    except ImportError as error:
        raise RecognizerError(f"{where}: {name} needs another package ({first_line(error, 120)})") from error
    except Exception as error:  # the hub's client, transformers and torch each have their own
        more = f"; {note}" if note else ""
        if is_folder(name):
            raise RecognizerError(
                f"{where}: {name}: not a whole copy of such a repository ({first_line(error, 120)}){more}"
            ) from error
        raise RecognizerError(
            f"{where}: {name} cannot be had from the hub ({first_line(error, 120)}); connect this machine "
            f"once, or download that repository elsewhere and give {where}=<its folder>{more}"
        ) from error
    finally:
        client.setLevel(level)


def is_folder(name: str) -> bool:
    """Whether a name is meant as a folder: one that exists, or what cannot be <owner>/<name>."""
    return Path(name).expanduser().is_dir() or name[:1] in "/.~" or name.count("/") != 1
