"""SigLIP ViT-B/16 at 256 pixels, as HM3D-OVON uses it: frozen features of frames, and embeddings of goals.

The image tower is timm's, the text tower open_clip's (`pip install hm3dm3[vision]`). The tower's weights are
part of OVON's checkpoints, so only text needs a download, or a table of embeddings made earlier
(`GoalTable`).

timm's bare name `vit_base_patch16_siglip_256` has meant SigLIP 2 since SigLIP 2 came out. OVON is from
before: the name here says SigLIP 1, and the text model is SigLIP 1 as well.

Shapes: n frames, H and W a frame, S the side of the tower's input, F image features, D goal embedding.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hm3dm3_env.files import write_atomic

IMAGE_MODEL = "vit_base_patch16_siglip_256.webli"
"""timm's name of the image tower."""
TEXT_MODEL = "hf-hub:timm/ViT-B-16-SigLIP-256"
"""open_clip's name of the whole model."""
INSTALL = "pip install 'hm3dm3[vision]'"


@dataclass(frozen=True)
class ImageConfig:
    """How frames become the tower's input (OVON's ResizeConfig and its SigLIP encoder)."""

    first: int = 224
    """OVON first shrinks every frame to this square, by averaging, back to whole numbers."""
    side: int = 256
    """S. Then to this one, bicubic."""
    mean: float = 0.5
    deviation: float = 0.5


def prepare(rgb: Tensor, config: ImageConfig) -> Tensor:
    """(n, 3, S, S) float32 input of the tower from frames (n, H, W, 3) uint8.

    Two resizings as in OVON, neither of which keeps the aspect ratio: area to `first`, cut to whole numbers,
    then bicubic to `side` without antialiasing and without clamping, which is what torchvision 0.13 does to
    tensors.
    """
    x = rgb.permute(0, 3, 1, 2).float()  # (n, 3, H, W) 0..255
    x = functional.interpolate(x, size=(config.first, config.first), mode="area").to(torch.uint8)
    x = x.float() / 255
    if config.side != config.first:
        x = functional.interpolate(x, size=(config.side, config.side), mode="bicubic", align_corners=False)
    return (x - config.mean) / config.deviation


class SiglipImages(nn.Module):
    """Frames to features; frozen, and always in evaluation mode."""

    def __init__(self, model: nn.Module, config: ImageConfig | None = None) -> None:
        """`model`: a timm vision transformer without a classifier, (n, 3, S, S) to (n, F)."""
        super().__init__()
        self.model = model.eval().requires_grad_(False)
        self.config = config or ImageConfig()

    @classmethod
    def build(cls, weights: str = "", config: ImageConfig | None = None) -> SiglipImages:
        """The tower.

        Args:
            weights: "" for random ones, to be filled from an OVON checkpoint; "hub" to download them; or a
                file in timm's format (.safetensors, .bin, .pth).
            config: how frames are prepared.

        Raises:
            ImportError: timm is not installed.
            FileNotFoundError: no such file.
        """
        try:
            import timm
        except ImportError as error:
            raise ImportError(f"the SigLIP image tower needs timm: {INSTALL}") from error
        if weights not in ("", "hub") and not Path(weights).is_file():
            raise FileNotFoundError(
                f"{weights}: no such file of weights; give 'hub', or model.safetensors of {IMAGE_MODEL}"
            )
        path = weights if weights not in ("", "hub") else ""
        model = timm.create_model(
            IMAGE_MODEL, pretrained=weights == "hub", num_classes=0, checkpoint_path=path or None
        )
        return cls(model, config)

    def train(self, mode: bool = True) -> SiglipImages:
        """Stays in evaluation mode, whatever the network around it does."""
        return super().train(False)

    def forward(self, rgb: Tensor) -> Tensor:
        """(n, F) from frames (n, H, W, 3) uint8."""
        with torch.no_grad():
            return self.model(prepare(rgb, self.config))


class GoalEncoder(Protocol):
    """Words to the vector that a policy takes as a goal."""

    def embed(self, words: str) -> np.ndarray:
        """(D,) float32.

        Raises:
            ValueError: words that it cannot embed.
        """


class SiglipText:
    """SigLIP's text tower. As in OVON: the bare category, no sentence around it, and the raw embedding, not
    scaled to length 1."""

    def __init__(self, model: Any, tokenizer: Callable[..., Tensor], context: int = 64) -> None:
        """`model`: has open_clip's `encode_text`; `tokenizer`: open_clip's, texts to (n, context)."""
        self._model = model.eval().requires_grad_(False)
        self._tokenizer = tokenizer
        self._context = context

    @classmethod
    def load(cls, source: str = TEXT_MODEL) -> SiglipText:
        """From the hub, or from a local folder with a copy of that repository.

        Raises:
            ImportError: open_clip or transformers (for the tokenizer) is not installed.
            FileNotFoundError: neither a name on the hub nor a folder.
        """
        if not source.startswith("hf-hub:"):
            if not (Path(source) / "open_clip_config.json").is_file():
                raise FileNotFoundError(
                    f"{source}: no open_clip_config.json there; give a folder with a copy of {TEXT_MODEL}, "
                    "or that name"
                )
            source = f"local-dir:{source}"
        try:
            import open_clip

            model = open_clip.create_model(source, require_pretrained=True)
            tokenizer = open_clip.get_tokenizer(source)
        except ImportError as error:
            raise ImportError(f"SigLIP's text tower needs open_clip and transformers: {INSTALL}") from error
        return cls(model, tokenizer, model.context_length)

    def embed(self, words: str) -> np.ndarray:
        """(D,) float32."""
        with torch.no_grad():
            return self._model.encode_text(self._tokenizer([words], self._context))[0].float().cpu().numpy()


class GoalTable:
    """Embeddings that were made earlier, by words. Runs then need neither open_clip nor the network."""

    def __init__(self, vectors: Mapping[str, np.ndarray]) -> None:
        """`vectors`: (D,) each, D the same for all."""
        if not vectors:
            raise ValueError("a table of goals needs at least one")
        shapes = {np.shape(v) for v in vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"embeddings of a table need one shape (D,), got {sorted(shapes)}")
        self.vectors = {words: np.asarray(v, np.float32) for words, v in vectors.items()}

    @classmethod
    def make(cls, encoder: GoalEncoder, words: Iterable[str]) -> GoalTable:
        """The embeddings of all `words`."""
        return cls({w: encoder.embed(w) for w in words})

    def embed(self, words: str) -> np.ndarray:
        """(D,) float32.

        Raises:
            ValueError: not in the table.
        """
        try:
            return self.vectors[words]
        except KeyError:
            raise ValueError(
                f"goal {words!r} is not among the {len(self.vectors)} of the table of embeddings; add it "
                "with GoalTable.make, or use SiglipText"
            ) from None

    def save(self, path: Path | str) -> None:
        """Write a .npz file: `words` (N,) and `vectors` (N, D) float32, in the order of the words."""
        words = sorted(self.vectors)
        buffer = io.BytesIO()
        np.savez(buffer, words=np.array(words), vectors=np.stack([self.vectors[w] for w in words]))
        write_atomic(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path | str) -> GoalTable:
        """What `save` wrote.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not such a table.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such table of goal embeddings; GoalTable.save writes one")
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(dict(zip(file["words"].tolist(), file["vectors"], strict=True)))
        except (KeyError, ValueError, OSError, EOFError) as error:
            raise ValueError(f"{path}: not a table of goal embeddings ({error})") from error
