"""Tiny models of transformers' own classes, for the tests of the pretrained recogniser."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import (
    CLIPTokenizer,
    Owlv2Config,
    Owlv2ForObjectDetection,
    Owlv2ImageProcessor,
    Owlv2Processor,
    SuperGlueConfig,
    SuperGlueForKeypointMatching,
    SuperPointConfig,
)

SIDE, PATCH = 64, 16


def save_owl(folder: Path) -> Path:
    """Write a random OWLv2 with its processor, as repositories of the hub hold them."""
    folder.mkdir(parents=True)
    letters = [chr(c) for c in range(33, 127)]
    words = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer.from_pretrained(folder)
    tower = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Owlv2Config(
        text_config={**tower, "vocab_size": len(words), "max_position_embeddings": 16,
                     "bos_token_id": len(words) - 2, "eos_token_id": len(words) - 1, "pad_token_id": 0},
        vision_config={**tower, "image_size": SIDE, "patch_size": PATCH},
        projection_dim=32,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = Owlv2ForObjectDetection(config)
        for value in model.parameters():
            if value.ndim > 1:
                torch.nn.init.normal_(value, std=0.15)
    model.save_pretrained(folder)
    image_processor = Owlv2ImageProcessor(size={"height": SIDE, "width": SIDE})
    Owlv2Processor(image_processor=image_processor, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def save_superglue(folder: Path) -> Path:
    """Write a random SuperPoint and SuperGlue."""
    config = SuperGlueConfig(
        keypoint_detector_config=SuperPointConfig(
            encoder_hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16, descriptor_decoder_dim=16
        ),
        hidden_size=16, keypoint_encoder_sizes=[8, 16], gnn_layers_types=["self", "cross"],
        num_attention_heads=2,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(6)
        SuperGlueForKeypointMatching(config).save_pretrained(folder)
    return folder
