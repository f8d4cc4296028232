"""Models of open_clip by name, with weights by tag, file, folder or hub; what fails is one clear error.

Where weights are missing, open_clip goes on with random ones and a line in the log. Here that is an error.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip
import torch
from torch import Tensor, nn

from policies.heatmaps.config import EncoderError, OpenClipConfig
from policies.weights import first_line, pick_device

LOCAL, HUB = "local-dir:", "hf-hub:"
_PREPARE = ("mean", "std", "interpolation")
_FILES = (".pt", ".pth", ".bin", ".safetensors", ".npz", ".ckpt")
_WHERE = "eyes.encoder.open_clip"


@dataclass
class ClipModel:
    """A model that is ready to encode.

    Attributes:
        name: the space of its embeddings: model, and the tag of its weights or (from files) a hash of them.
        model: has open_clip's `encode_image` and `encode_text`; in evaluation mode, frozen, float32.
        tokenizer: texts to (n, context) tokens.
        side: (height, width) of the images that it takes, pixels.
        mean, deviation: of each colour, 0..1, for its input.
        interpolation: how its images were resized in training, "bicubic" or "bilinear".
    """

    name: str
    model: nn.Module
    tokenizer: Callable[[Sequence[str]], Tensor]
    side: tuple[int, int]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    interpolation: str
    device: torch.device


def load_clip(config: OpenClipConfig) -> ClipModel:
    """The model of a config, on its device. Neither changes torch's random numbers.

    Raises:
        EncoderError: names the model, tag, file or folder, and what to do.
    """
    try:
        device = pick_device(config.device)
    except ValueError as error:
        raise EncoderError(f"{_WHERE}.{error}") from error
    tag = _check(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # random weights are the same ones every time
        model = _create(config, tag, _recipe(config, tag))
    tokenizer = _tokenizer(config.model)
    prepare: dict[str, Any] = model.visual.preprocess_cfg  # type: ignore[union-attr, assignment]
    size = prepare["size"]
    side = (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))
    how = "bilinear" if prepare["interpolation"] == "bilinear" else "bicubic"
    model = model.eval().requires_grad_(False).to(device)
    last = "random" if config.random else tag or _digest(model)
    title = config.model.removeprefix(HUB)
    if title.startswith(LOCAL):
        title = Path(title.removeprefix(LOCAL)).resolve().name
    name = f"open_clip/{title}/{last}"
    return ClipModel(name, model, tokenizer, side, tuple(prepare["mean"]), tuple(prepare["std"]), how, device)


def _check(config: OpenClipConfig) -> str:
    """The tag of the weights, "" when they come from files, a folder or the hub."""
    model, pretrained = config.model, config.pretrained
    if model.startswith(LOCAL):
        folder = Path(model.removeprefix(LOCAL))
        if not (folder / "open_clip_config.json").is_file():
            raise EncoderError(
                f"{_WHERE}.model: {folder}: no folder with open_clip_config.json; give one that open_clip "
                "saved, or a copy of one of its repositories on the hub"
            )
        return ""
    if model.startswith(HUB):
        return ""
    known = open_clip.list_models()
    if model.replace("/", "-") not in known:
        near = difflib.get_close_matches(model, known, 4, 0.3)
        raise EncoderError(
            f"{_WHERE}.model: open_clip has no {model!r}; near it: {', '.join(near) or 'nothing'}; "
            "`python -c 'import open_clip; print(open_clip.list_models())'` lists all"
        )
    tags = open_clip.list_pretrained_tags_by_model(model)
    if config.random:
        if pretrained:
            raise EncoderError(f"{_WHERE}: random=true needs pretrained='', not {pretrained!r}")
        return ""
    offer = f"{model} has {', '.join(tags) or 'no tags'}"
    if not pretrained:
        raise EncoderError(f"{_WHERE}.pretrained: is empty; give a tag ({offer}) or a file of weights")
    if open_clip.get_pretrained_cfg(model, pretrained):
        return pretrained
    if Path(pretrained).is_file():
        return ""
    if "/" in pretrained or pretrained.endswith(_FILES):
        raise EncoderError(f"{_WHERE}.pretrained: {pretrained}: no such file of weights")
    raise EncoderError(
        f"{_WHERE}.pretrained: {pretrained!r} is neither a file nor a tag of the model; {offer}"
    )


def _recipe(config: OpenClipConfig, tag: str) -> dict[str, Any]:
    """What open_clip knows of the weights of a tag, or of a file like it: where they are, how pictures are
    prepared, which activation. A file itself says none of this."""
    model, like = config.model, config.like
    if tag or model.startswith((LOCAL, HUB)) or config.random:
        if like:
            raise EncoderError(f"{_WHERE}.like: {like!r} is for files of weights only; leave it empty")
        return open_clip.get_pretrained_cfg(model, tag) if tag else {}
    tags = open_clip.list_pretrained_tags_by_model(model)
    if like:
        found = open_clip.get_pretrained_cfg(model, like)
        if not found:
            raise EncoderError(f"{_WHERE}.like: {model} has no tag {like!r}; it has {', '.join(tags)}")
        return found
    recipes = [open_clip.get_pretrained_cfg(model, other) for other in tags]
    values = {key: {recipe.get(key) for recipe in recipes} for key in (*_PREPARE, "quick_gelu")}
    return {key: next(iter(found)) for key, found in values.items() if len(found) == 1}


def _create(config: OpenClipConfig, tag: str, recipe: dict[str, Any]) -> nn.Module:
    prefixed = config.model.startswith((LOCAL, HUB))
    if tag:
        try:
            open_clip.download_pretrained(recipe)
        except Exception as error:  # the hub's client, urllib and the disk each have their own
            raise EncoderError(
                f"{_WHERE}.pretrained: the weights {tag} of {config.model} cannot be downloaded "
                f"({first_line(error)}); connect this machine once, or give pretrained=<file> with weights "
                f"that were downloaded elsewhere, and like={tag}"
            ) from error
    try:
        return open_clip.create_model(
            config.model,
            None if prefixed or config.random else config.pretrained,
            load_weights=not config.random,
            require_pretrained=not config.random,
            force_quick_gelu=bool(recipe.get("quick_gelu")),  # as the weights were trained
            force_preprocess_cfg={key: recipe[key] for key in _PREPARE if key in recipe},
            pretrained_text=False,
        )
    except Exception as error:  # torch raises many kinds for damaged files
        if isinstance(error, ImportError) or "pip install" in str(error):
            raise EncoderError(
                f"{_WHERE}.model: {config.model} needs another package: pip install 'hm3dm3[vision]' "
                f"({first_line(error)})"
            ) from error
        if config.model.startswith(HUB):
            raise EncoderError(
                f"{_WHERE}.model: {config.model} cannot be had from the hub ({first_line(error)}); connect "
                f"this machine once, or give model={LOCAL}<folder> with a copy of that repository"
            ) from error
        source = config.model.removeprefix(LOCAL) if prefixed else config.pretrained
        raise EncoderError(
            f"{_WHERE}: {source}: no weights there that fit {'its config' if prefixed else config.model} "
            f"({first_line(error)})"
        ) from error


def _tokenizer(model: str) -> Callable[[Sequence[str]], Tensor]:
    try:
        return open_clip.get_tokenizer(model)
    except ImportError as error:
        raise EncoderError(
            f"{_WHERE}.model: the tokenizer of {model} needs transformers: pip install 'hm3dm3[vision]'"
        ) from error
    except Exception as error:  # the hub's client has many kinds
        raise EncoderError(
            f"{_WHERE}.model: the tokenizer of {model} cannot be had ({first_line(error)}); connect this "
            f"machine once, or give model={LOCAL}<folder> with a copy of the model's repository, tokenizer "
            "files included"
        ) from error


def _digest(model: nn.Module) -> str:
    """12 hexadecimal digits that tell weights apart."""
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:12]
