"""Command lines: Hydra composes the config, a dataclass types it, and bad input ends in one clear line.

`python -m some.command key=value other.key=[1,2]`; `--help` says what every key is and shows its default,
`--multirun` sweeps, and `configs/` holds the presets.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from hm3dm3_env.settings_help import settings_help
from hm3dm3_env.sim.base import SimulatorDied

T = TypeVar("T")


def command(schema: type[T], name: str, task: Callable[[T], Any]) -> Callable[[], None]:
    """An entry point that calls `task` with a `schema` dataclass made from `configs/<name>.yaml` and the
    arguments. `--help` shows the text of the task's module, what every setting is, and Hydra's own help."""
    ConfigStore.instance().store(name=f"{name}_schema", node=_writable(schema))

    @hydra.main(version_base=None, config_path="pkg://configs", config_name=name)
    def run(config: Any) -> None:
        try:
            _no_nan(config, "")
            task(OmegaConf.to_object(config))  # type: ignore[arg-type]
        except (ValueError, OSError, SimulatorDied) as error:
            if os.environ.get("HYDRA_FULL_ERROR"):
                raise
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    def main() -> None:
        if {"-h", "--help"} & set(sys.argv[1:]):
            about = inspect.getdoc(sys.modules[task.__module__]) or ""
            print(f"{about}\n\nSettings, name=value:\n\n{settings_help(schema)}\n", flush=True)
        run()

    return main


def build(schema: type[T], **values: Any) -> T:
    """A `schema` dataclass from keyword arguments, nested dicts included; unknown or mistyped keys are
    errors.

    Raises:
        ValueError: names the key.
    """
    try:
        config = OmegaConf.merge(_writable(schema), values)
        _no_nan(config, "")
        return OmegaConf.to_object(config)  # type: ignore[return-value]
    except Exception as error:  # OmegaConf has a family of errors; all mean bad input
        raise ValueError(f"{schema.__name__}: {str(error).splitlines()[0]}") from error


def _no_nan(config: Any, where: str) -> None:
    """Refuse settings that are not a number: every comparison with them is false, so no other check would.

    Raises:
        ValueError: names the key.
    """
    items = config.items() if isinstance(config, (dict, DictConfig)) else ()
    for key, value in items:
        if isinstance(value, float) and value != value:
            raise ValueError(f"{where}{key!s} is not a number (nan)")
        _no_nan(value, f"{where}{key!s}.")


def _writable(schema: type) -> DictConfig:
    """The config node of a dataclass; nodes of frozen dataclasses are made writable while they are
    composed."""

    def unlock(node: Any) -> None:
        if isinstance(node, DictConfig):
            OmegaConf.set_readonly(node, False)
            for key in node:
                unlock(node._get_node(key))

    root = OmegaConf.structured(schema)
    unlock(root)
    return root
