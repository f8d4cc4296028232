"""The open-vocabulary detector OWLv2 (transformers), and the name of the thing that a description is of.

The text tower runs once a goal: its embeddings are kept, and the class head compares them with what the
image tower found. OWLv2 pads frames to squares at the bottom and the right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional
from torchvision.ops import nms
from transformers import Owlv2ForObjectDetection, Owlv2Processor

from hm3dm3_env.episodes.english import article, noun
from policies.recent import Recent
from policies.recognition.config import WHERE, OwlConfig
from policies.recognition.hub import load_pretrained, read
from policies.recognition.matching.base import device_of
from policies.recognition.place import Box
from policies.weights import casting

_NOTE = f"{WHERE}.only=[IIN] does without"
_CONTEXT = 16
"""Tokens of OWLv2's text tower."""

_DETERMINER = r"(?:the|a|an|some|any|my|our|one of the|another|that|this|those|these)"
_BEGIN = re.compile(rf"\b{_DETERMINER}\s+(?=\w)", re.IGNORECASE)
_PLACE = re.compile(
    r"^\s*(?:in|inside|on|on top of|at|next to|beside|besides|close to|near|by|behind|under|above|between|"
    r"from|sitting on|facing|opposite|across from|to the|check)\b",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"^\s*(?:find|look|search|go|locate|head|move|walk|navigate|proceed|turn|show|take|bring|try|please|can|"
    r"could|check|where|what|which|i|i'm|we|we're|you|you're|there|your)\b",
    re.IGNORECASE,
)
"""How sentences begin that are more than a noun phrase."""
_TURN = re.compile(
    r"\b(?:there (?:is|are)|you(?:'ll| will)? (?:see|find|notice)|look for|search for|find|locate|"
    r"(?<=\s)for|go to|is|are)\s+",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s+(?:next to|beside|besides|close to|near|nearby|on|on top of|sitting|standing|hanging|placed|located|"
    r"in|inside|at|by|behind|under|underneath|above|below|between|against|opposite|from|with|without|that|"
    r"which|who|where|whose|made of|to|is|are|and then|closest|nearest)\b|[.,;:?!]",
    re.IGNORECASE,
)
_SIZE = re.compile(r"^(?:largest|biggest|smallest|ones?)\s+", re.IGNORECASE)


def head(description: str) -> str:
    """The noun phrase of what a description is of: "red wooden chair" of "In the kitchen, look for the red
    wooden chair next to the desk." Sizes are left out: one box tells nothing of the others."""
    text = " ".join(description.split())
    text = re.sub(r"^(.*?)\bones? to find (?:is|are)\s+", "", text, flags=re.IGNORECASE)
    start = 0
    if _PLACE.match(text):  # the place comes first
        turns = [m.end() for m in _TURN.finditer(text) if _BEGIN.match(text, m.end())]
        commas = [m.end() for m in re.finditer(r",\s+", text) if _BEGIN.match(text, m.end())]
        start = turns[0] if turns else commas[-1] if commas else 0
    begin = _BEGIN.search(text, start)
    early = _END.search(text)
    if begin and not start and early and early.start() < begin.start() and not _SPEECH.match(text):
        if not _PLACE.match(text):  # "mirror above the sink"
            begin = None
    phrase = text[begin.end() :] if begin else text[start:]
    end = _END.search(phrase)
    phrase = _SIZE.sub("", phrase[: end.start()] if end and end.start() else phrase).strip(" .,;:?!")
    return re.sub(r"^pair of\s+", "", phrase) or text


class OwlDetector:
    """Boxes of frames for goals."""

    def __init__(self, config: OwlConfig) -> None:
        """Load the model.

        Raises:
            RecognizerError: weights that cannot be had or are of another kind, or no such device.
        """
        where = f"{WHERE}.owl"
        self.config, self.device = config, device_of(config.device, where)
        self._model = load_pretrained(Owlv2ForObjectDetection, config.model, "owlv2", f"{where}.model", _NOTE)
        self._model.to(self.device)
        self._processor = read(Owlv2Processor, config.model, f"{where}.model", _NOTE)
        self._queries: Recent[torch.Tensor] = Recent(config.cache)

    def query(self, modality: str, text: str) -> torch.Tensor:
        """(D,) the query of a category ("ON") or a description ("TN"), from memory where it is known."""
        words = noun(text).some() if modality == "ON" else article(head(text))
        sentences = tuple(t.replace("{}", words) for t in self.config.templates)
        return self._queries.of(sentences, lambda: functional.normalize(self.texts(sentences).mean(0), dim=0))

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """(N, D) embeddings of length 1 of N texts."""
        tokens = self._processor.tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=_CONTEXT, return_tensors="pt"
        ).to(self.device)
        with torch.inference_mode(), casting(self.device, self.config.precision):
            found = self._model.owlv2.get_text_features(tokens["input_ids"], tokens["attention_mask"])
        vectors = getattr(found, "pooler_output", found)  # transformers 4 returns the tensor itself
        return functional.normalize(vectors.float(), dim=-1)

    def detect(
        self, images: Sequence[np.ndarray], queries: torch.Tensor, least: float
    ) -> list[list[list[tuple[Box, float]]]]:
        """For each image (H, W, 3) uint8 and each of (Q, D) queries: boxes (left, top, right, bottom; pixels)
        and confidences of at least `least`, surest first, after suppression of overlapping ones."""
        found = []
        for start in range(0, len(images), self.config.batch):
            group = images[start : start + self.config.batch]
            boxes, scores = self.forward(group, queries)
            for image, mine, sure in zip(group, boxes, scores):
                found.append([self._kept(image, mine, sure[:, q], least) for q in range(len(queries))])
        return found

    def forward(
        self, images: Sequence[np.ndarray], queries: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, P, 4) boxes (left, top, right, bottom; pixels, they may lie in the padding) and (B, P, Q)
        confidences of all patches of B images."""
        pixels = self._processor.image_processor(images=list(images), return_tensors="pt")["pixel_values"]
        with torch.inference_mode(), casting(self.device, self.config.precision):
            grid = self._model.image_embedder(pixel_values=pixels.to(self.device))[0]
            patches = grid.flatten(1, 2)
            wanted = queries.to(patches.dtype)[None].expand(len(images), -1, -1)
            logits = self._model.class_predictor(patches, wanted)[0]
            boxes = self._model.box_predictor(patches, grid)
        middle, size = boxes.float().split(2, -1)
        corners = torch.cat([middle - size / 2, middle + size / 2], -1)
        sides = torch.tensor([max(image.shape[:2]) for image in images], device=self.device)
        return corners * sides[:, None, None], logits.float().sigmoid()

    def _kept(
        self, image: np.ndarray, boxes: torch.Tensor, scores: torch.Tensor, least: float
    ) -> list[tuple[Box, float]]:
        height, width = image.shape[:2]
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2
        limit = torch.tensor([width, height, width, height], device=boxes.device)
        inside = ((middle >= 0) & (middle < limit[:2])).all(1)
        boxes = torch.minimum(boxes.clamp(min=0), limit)
        good = inside & (scores >= least) & ((boxes[:, 2:] - boxes[:, :2]) >= 1).all(1)
        boxes, scores = boxes[good], scores[good]
        chosen = nms(boxes, scores, self.config.nms)[: self.config.keep]
        made = []
        for box, score in zip(boxes[chosen].cpu().numpy(), scores[chosen].tolist()):
            left, top, right, bottom = (int(v) for v in (*np.floor(box[:2]), *np.ceil(box[2:])))
            made.append(((left, top, right, bottom), score))
        return made
