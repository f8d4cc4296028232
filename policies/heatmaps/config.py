"""Which encoder makes the heat maps: the choice, and the settings of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from policies.heatmaps.base import Encoder
from policies.heatmaps.simulated import SimulatedEncoder, SimulatedEncoderConfig

KINDS = ("simulated", "open_clip")
PRECISIONS = ("fp32", "bf16", "fp16")


class EncoderError(ValueError):
    """An encoder that cannot be made or used as asked."""


@dataclass(frozen=True)
class OpenClipConfig:
    """A CLIP-like model of open_clip, and how frames are cut up for it. Numbers are ours unless said
    otherwise."""

    model: str = "ViT-B-32"
    """A name that open_clip knows, local-dir:<folder> with open_clip_config.json and weights, or
    hf-hub:<owner>/<name>."""
    pretrained: str = "laion2b_s34b_b79k"
    """A tag that open_clip knows for the model, or a file of weights. Not used with local-dir: and hf-hub:,
    which hold their own."""
    like: str = ""
    """With a file of weights: the tag that it is a copy of or was trained from, which says how pictures are
    prepared and which activation the model has ("": what all tags of the model agree on, and the rest as
    open_clip does by default)."""
    random: bool = False
    """Random weights, for tests of everything around them; needs pretrained="" (which is an error
    otherwise)."""
    device: str = "auto"
    """auto (a GPU if there is one), cpu or cuda."""
    precision: str = "fp32"
    """fp32, or bf16 or fp16 for the products inside the towers (autocast; the weights stay fp32)."""
    batch: int = 64
    """Largest number of images in one pass; the crops of all robots of a step share passes."""
    templates: tuple[str, ...] = ("a photo of {}.", "a room with {}.", "a view of {} indoors.")
    """Sentences around a category ({}: with its article); the mean of their embeddings counts. Descriptions
    are taken as they are."""
    crop: float = 0.5
    """Width of a strip's crops as a share of the frame's. Crops are spread evenly over the frame: with 6
    strips, neighbours overlap by 80% of their width."""
    rows: int = 2
    """Crops of a strip, one above the other; the largest similarity counts. Two crops of a 360 x 640 frame
    are 180 x 320 pixels. A crop is squeezed into the model's square, so that nothing is cut off."""
    text_low: float = 0.1
    text_high: float = 0.4
    """Cosines of text and image that mean similarity 0 and 1. CLIP's lie about here; SigLIP's are lower."""
    image_low: float = 0.4
    image_high: float = 1.0
    """The same for two images, for image goals."""
    min_crop: int = 64
    """Narrowest crop worth encoding, pixels: cameras that make narrower ones are refused."""
    cache: int = 4096
    """Goals whose embeddings are remembered over episodes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(self.templates))
        where = "eyes.encoder.open_clip"
        if min(self.batch, self.rows, self.min_crop, self.cache) < 1:
            raise EncoderError(f"{where}: batch, rows, min_crop and cache must be at least 1")
        if not 0 < self.crop <= 1:
            raise EncoderError(f"{where}.crop: must be more than 0 and at most 1, not {self.crop}")
        if not self.templates or any(t.count("{}") != 1 for t in self.templates):
            raise EncoderError(f"{where}.templates: sentences with one {{}} each, not {list(self.templates)}")
        if self.text_low >= self.text_high or self.image_low >= self.image_high:
            raise EncoderError(f"{where}: text_low and image_low must be below text_high and image_high")
        if self.precision not in PRECISIONS:
            raise EncoderError(f"{where}.precision: {self.precision!r} is none of {', '.join(PRECISIONS)}")


@dataclass(frozen=True)
class EncoderConfig:
    """Which encoder, and the settings of each."""

    kind: str = "simulated"
    """simulated (reads the scene's truth through noise), or open_clip (pretrained; hm3dm3[vision])."""
    simulated: SimulatedEncoderConfig = field(default_factory=SimulatedEncoderConfig)
    open_clip: OpenClipConfig = field(default_factory=OpenClipConfig)


def make_encoder(config: EncoderConfig) -> Encoder:
    """The encoder of a config, with its weights loaded.

    Raises:
        EncoderError: no such kind, packages that are missing, or weights that cannot be had or do not fit.
    """
    if config.kind == "simulated":
        return SimulatedEncoder(config.simulated)
    if config.kind != "open_clip":
        raise EncoderError(f"eyes.encoder.kind: {config.kind!r} is none of {', '.join(KINDS)}")
    try:
        import open_clip  # noqa: F401
    except ImportError as error:
        raise EncoderError(
            "eyes.encoder.kind=open_clip needs open_clip: pip install 'hm3dm3[vision]'"
        ) from error
    from policies.heatmaps.open_clip import OpenClipEncoder  # torch is needed only here

    return OpenClipEncoder(config.open_clip)
