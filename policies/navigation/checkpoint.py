"""Reading the checkpoints of HM3D-OVON: weights by their published names, and a report of what fits.

A checkpoint is what habitat-baselines saves: {"state_dict": {"actor_critic.<name>": tensor}, "config": an
OmegaConf object, ...}. Files of others are read with torch's restricted unpickler. Classes in them that are
not torch's (those of the config) become inert placeholders that hold data and run nothing, so that neither
habitat nor OVON need be installed.
"""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from policies.navigation.decoder import inverse_frequency
from policies.navigation.network import OvonConfig, OvonNetwork
from policies.navigation.siglip import SiglipImages

PREFIX = "actor_critic."
PARTS = {
    "net.visual_encoder.": "image tower",
    "net.prev_action_embedding.": "previous action",
    "net.state_encoder.feats_proj.": "input projection",
    "net.state_encoder.model.": "decoder",
    "action_distribution.": "actor",
    "critic.": "critic",
}
"""Where a key belongs, by how it begins; the first that fits counts."""
_WORDS = "net.state_encoder.model.embed_tokens.weight"
_TURNS = ".self_attn.rotary_emb.inv_freq"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used as it is."""


class Placeholder:
    """Stands for an object of a class that was not loaded; `state` is what was stored of it."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes:
        weights: tensors by name, without the prefix.
        settings: the config as plain dicts, lists and values; {} if there is none.
        foreign: classes of the file that were replaced by placeholders.
    """

    weights: dict[str, Tensor]
    settings: dict[str, Any]
    foreign: list[str]


def read(path: Path | str, trusted: bool = False) -> Contents:
    """Weights and settings of a checkpoint, without running anything that is in it.

    Args:
        path: the file.
        trusted: unpickle without restrictions, if the restricted way fails. That can run any code that the
            file
            contains, and needs the packages that it was written with: only for files whose origin you trust.

    Raises:
        FileNotFoundError: no such file.
        CheckpointError: not a checkpoint, or one that only `trusted` could read.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such checkpoint; OVON's README links its weights (dagrl.pth)")
    foreign: list[str] = []
    try:
        foreign = sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
        # A class of its own for each name: torch compares types. The annotation of safe_globals lacks tuples.
        stand_ins: list[Any] = [(type("Placeholder", (Placeholder,), {}), name) for name in foreign]
        with torch.serialization.safe_globals(stand_ins):
            value = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if not trusted:
            raise CheckpointError(
                f"{path}: cannot be read without running code from it ({_first_line(error)}); if you trust "
                "where it comes from, give trusted=true"
            ) from error
        value, foreign = _unrestricted(path), []
    except Exception as error:  # torch raises many kinds for what is not its own file
        raise CheckpointError(f"{path}: not a torch checkpoint ({_first_line(error)})") from error
    weights = value.get("state_dict") if isinstance(value, Mapping) else None
    if not isinstance(weights, Mapping) or not all(isinstance(w, Tensor) for w in weights.values()):
        found = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise CheckpointError(
            f"{path}: field 'state_dict' must be a dict of tensors, as habitat-baselines saves it; "
            f"found {found}"
        )
    settings = plain(value.get("config"))
    return Contents(
        {str(k).removeprefix(PREFIX): w for k, w in weights.items()},
        settings if isinstance(settings, dict) else {},
        foreign,
    )


def plain(value: Any) -> Any:
    """An OmegaConf object, or the placeholder of one, as dicts, lists and values; what it cannot tell is
    None."""
    state = value.state if isinstance(value, Placeholder) else getattr(value, "__dict__", None)
    if isinstance(state, dict) and "_content" in state:
        return plain(state["_content"])
    if isinstance(state, dict) and "_val" in state:
        return plain(state["_val"])
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool)) else None


@dataclass
class Report:
    """How the weights of a checkpoint fit a network; names are without the prefix.

    Attributes:
        path: the file.
        shapes: of all tensors in the file.
        matched: names that both have, in one shape.
        missing: names of the network that the file lacks.
        unexpected: names of the file that the network lacks.
        mismatched: name, shape in the file, shape in the network.
        differing: settings of the file that this network does not have: name, in the file, here.
        aside: names that are known and not loaded, and why.
        foreign: classes that were not loaded.
    """

    path: Path
    shapes: dict[str, tuple[int, ...]]
    matched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    mismatched: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    differing: list[tuple[str, Any, Any]] = field(default_factory=list)
    aside: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        """Whether the network acts with these weights as it was trained."""
        return not (self.missing or self.unexpected or self.mismatched or self.differing)

    def problems(self) -> list[str]:
        """A line for each kind of misfit in each part."""
        lines = [
            f"settings differ: {name} is {there} there, {here} here" for name, there, here in self.differing
        ]
        lines += [
            f"shape differs: {name} is {there} there, {here} here" for name, there, here in self.mismatched
        ]
        for kind, names in (("missing", self.missing), ("unexpected", self.unexpected)):
            for part, group in _by_part(names).items():
                shown = ", ".join(group[:4]) + (f", ... ({len(group)})" if len(group) > 4 else "")
                lines.append(f"{kind} in {part}: {shown}")
        return lines

    def text(self) -> str:
        """The report for people: a table of the parts, then what does not fit."""
        lines = [f"{self.path}: {len(self.shapes)} tensors, {_millions(self.shapes.values())} numbers", ""]
        lines.append(f"{'part':<18}{'tensors':>8}{'numbers':>10}{'fit':>6}")
        matched = set(self.matched)
        for part, names in _by_part(list(self.shapes)).items():
            size = _millions(self.shapes[n] for n in names)
            lines.append(f"{part:<18}{len(names):>8}{size:>10}{sum(n in matched for n in names):>6}")
        reasons: dict[str, list[str]] = {}
        for name, reason in self.aside.items():
            reasons.setdefault(reason, []).append(name)
        lines += ["", *(f"set aside, {len(names)} tensors: {reason}" for reason, names in reasons.items())]
        if self.foreign:
            packages = {name.split(".")[0] for name in self.foreign} - sys.stdlib_module_names
            origin = ", ".join([*sorted(packages), "Python"])
            lines.append(f"not loaded: {len(self.foreign)} classes of {origin}; only their data was read")
        lines += ["", "fits" if self.fits else "does not fit:", *(f"  {line}" for line in self.problems())]
        return "\n".join(lines)


def compare(path: Path | str, contents: Contents, network: OvonNetwork) -> Report:
    """How a checkpoint fits a network; nothing is loaded."""
    here = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    there = {name: tuple(value.shape) for name, value in contents.weights.items()}
    report = Report(Path(path), there, foreign=contents.foreign)
    turns = inverse_frequency(network.config.decoder)
    for name, shape in there.items():
        if name == _WORDS:
            report.aside[name] = "word embeddings of the language model; the policy never reads them"
        elif name.endswith(_TURNS) and shape == turns.shape:
            if torch.allclose(contents.weights[name].float(), turns, rtol=1e-4):
                report.aside[name] = "rotary frequencies; the same as here"
            else:
                report.differing.append((name, contents.weights[name].tolist(), turns.tolist()))
        elif name.startswith("net.visual_encoder.") and network.net.visual_encoder is None:
            report.aside[name] = "image tower; this network is without one, so its weights were not compared"
        elif name not in here:
            report.unexpected.append(name)
        elif here[name] != shape:
            report.mismatched.append((name, shape, here[name]))
        else:
            report.matched.append(name)
    report.missing = [name for name in here if name not in there]
    if not any(name.startswith("critic.") for name in there):
        critic = [name for name in report.missing if name.startswith("critic.")]
        report.missing = [name for name in report.missing if name not in critic]
        report.aside |= {name: "critic; the file has none, and acting needs none" for name in critic}
    report.differing += _differing(contents.settings, network.config)
    return report


def load_ovon(
    path: Path | str,
    config: OvonConfig | None = None,
    images: nn.Module | None = None,
    strict: bool = True,
    trusted: bool = False,
    device: torch.device | str = "cpu",
) -> tuple[OvonNetwork, Report]:
    """The network with the weights of a checkpoint, in evaluation mode and frozen, and the report.

    Args:
        path: a .pth file as OVON publishes it.
        config: sizes; OVON's unless given.
        images: the image tower whose weights the file fills; SigLIP's unless given (needs timm).
        strict: any misfit is an error. Otherwise what fits is loaded, and the rest keeps the values that
            `images` came with, or random ones.
        trusted: as of `read`.
        device: where the network goes.

    Raises:
        FileNotFoundError: no such file.
        CheckpointError: not such a checkpoint, or a misfit.
        ImportError: the image tower is to be built and timm is not installed.
    """
    config = config or OvonConfig()
    contents = read(path, trusted)
    network = OvonNetwork(config, images or SiglipImages.build(config=config.image))
    report = compare(path, contents, network)
    if strict and not report.fits:
        lines = report.problems()
        raise CheckpointError(
            f"{path}: does not fit the network: {'; '.join(lines)}. `python -m policies.navigation.ovon "
            f"{path}` shows all; strict=False loads what fits"
        )
    network.load_state_dict(OrderedDict((n, contents.weights[n]) for n in report.matched), strict=False)
    if any(name.startswith("critic.") for name in report.aside):
        network.critic = None
    return network.to(device).eval().requires_grad_(False), report


def _differing(settings: dict[str, Any], config: OvonConfig) -> list[tuple[str, Any, Any]]:
    """What weights cannot tell, such as the number of heads; settings that the file lacks are not
    compared."""
    root = "habitat_baselines.rl.policy"
    decoder = config.decoder
    ours = {
        "backbone": "siglip",
        "fusion_type": "concat",
        "rgb_only": False,
        "use_prev_action": True,
        "use_odom": False,
        "transformer_config.model_name": "llama",
        "transformer_config.n_layers": decoder.layers,
        "transformer_config.n_heads": decoder.heads,
        "transformer_config.n_hidden": decoder.width,
        "transformer_config.n_mlp_hidden": decoder.mlp,
        "transformer_config.max_context_length": decoder.context,
        "transformer_config.max_position_embeddings": decoder.positions,
    }
    result = []
    for name, here in ours.items():
        there: Any = settings
        for key in f"{root}.{name}".split("."):
            there = there.get(key) if isinstance(there, dict) else None
        if there is not None and there != here:
            result.append((f"{root}.{name}", there, here))
    return result


def _by_part(names: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        part = next((part for start, part in PARTS.items() if name.startswith(start)), "other")
        groups.setdefault(part, []).append(name)
    return groups


def _millions(shapes: Any) -> str:
    total = sum(torch.Size(shape).numel() for shape in shapes)
    return f"{total / 1e6:.2f} M" if total >= 1e4 else str(total)


def _unrestricted(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:  # whatever the file's own code raises
        raise CheckpointError(
            f"{path}: cannot be unpickled either ({type(error).__name__}: {_first_line(error)}); install "
            "the packages that it was written with"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
