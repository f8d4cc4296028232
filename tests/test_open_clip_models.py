"""Models for the open_clip encoder: where weights come from, and what is said of those that cannot be had."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

open_clip = pytest.importorskip("open_clip")
torch = pytest.importorskip("torch")

from hm3dm3_env.cli import build  # noqa: E402
from policies.heatmaps.config import EncoderConfig, EncoderError, OpenClipConfig, make_encoder  # noqa: E402
from policies.heatmaps.open_clip import OpenClipEncoder  # noqa: E402
from tests.tiny_clip import CONFIG, GOALS, NAME, RANDOM, register, save_weights, seeing  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def registered(tmp_path_factory: pytest.TempPathFactory) -> None:
    register(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def weights(registered: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny.pt")


# -- weights -----------------------------------------------------------------------------------------------


def test_weights_from_a_file(weights: Path) -> None:
    encoder = seeing(replace(RANDOM, random=False, pretrained=str(weights)))
    model = open_clip.create_model(NAME, str(weights)).eval()
    with torch.no_grad():
        text = model.encode_text(open_clip.get_tokenizer(NAME)([GOALS[1].text]), normalize=True)[0]
    assert np.allclose(encoder.embeddings()[1], text, atol=1e-6)
    assert not np.allclose(seeing(RANDOM).embeddings(), encoder.embeddings(), atol=1e-3)
    assert encoder.name == encoder.space and encoder.name.startswith(f"open_clip/{NAME}/")
    assert OpenClipEncoder(RANDOM).name == f"open_clip/{NAME}/random"


def test_the_space_is_that_of_the_weights(weights: Path, tmp_path: Path) -> None:
    state = torch.load(weights)["state_dict"]
    torch.save(state, tmp_path / "same.pt")
    state["visual.proj"] = state["visual.proj"] + 1e-3
    torch.save(state, tmp_path / "other.pt")
    spaces = [
        OpenClipEncoder(replace(RANDOM, random=False, pretrained=str(path))).space
        for path in (weights, tmp_path / "same.pt", tmp_path / "other.pt")
    ]
    assert spaces[0] == spaces[1] != spaces[2]


def test_a_file_says_what_it_is_like(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from open_clip import pretrained

    half = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5), "interpolation": "bilinear"}
    tags = {"old": {**half, "quick_gelu": True}, "new": {**half, "std": (0.25, 0.25, 0.25)}}
    monkeypatch.setitem(pretrained._PRETRAINED, NAME, tags)
    config = replace(RANDOM, random=False, pretrained=str(weights))
    agreed, old, new = (OpenClipEncoder(replace(config, like=tag))._clip for tag in ("", "old", "new"))
    assert agreed.mean == old.mean == new.mean == (0.5, 0.5, 0.5)
    assert agreed.interpolation == old.interpolation == "bilinear"
    assert (old.deviation[0], new.deviation[0]) == (0.5, 0.25) and agreed.deviation[0] < 0.3  # the default
    quick = {
        name: "QuickGELU" in repr(clip.model) for name, clip in (("", agreed), ("old", old), ("new", new))
    }
    assert quick == {"": False, "old": True, "new": False}
    with pytest.raises(EncoderError, match="has no tag 'odd'; it has old, new"):
        OpenClipEncoder(replace(config, like="odd"))
    with pytest.raises(EncoderError, match="like: 'old' is for files"):
        OpenClipEncoder(replace(RANDOM, like="old"))


def test_weights_from_a_folder(weights: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG, "preprocess_cfg": {}}))
    config = OpenClipConfig(model=f"local-dir:{folder}", device="cpu")
    with pytest.raises(EncoderError, match=r"copy: no weights there that fit its config"):
        OpenClipEncoder(config)
    state = torch.load(weights)["state_dict"]
    safetensors.save_file(state, folder / "open_clip_model.safetensors")
    here, there = seeing(config), seeing(replace(RANDOM, random=False, pretrained=str(weights)))
    assert np.array_equal(here.embeddings(), there.embeddings())
    assert here.name.startswith("open_clip/copy/") and here.name[-12:] == there.name[-12:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "ViT-B-23"}, "open_clip has no 'ViT-B-23'; near it: .*ViT-B-32"),
        ({"model": "local-dir:/nowhere"}, "/nowhere: no folder with open_clip_config.json"),
        ({"model": "ViT-B-32", "pretrained": "laion3b"}, "'laion3b' is neither .* laion2b_s34b_b79k"),
        ({"pretrained": "gone/tiny.pt"}, r"pretrained: gone/tiny.pt: no such file"),
        ({"pretrained": ""}, "pretrained: is empty; give a tag .* or a file"),
        ({"pretrained": "openai", "random": True}, "random=true needs pretrained=''"),
        ({"device": "tpu"}, "device=tpu: no such device"),
    ],
)
def test_models_that_cannot_be_had(change: dict[str, Any], words: str) -> None:
    config = replace(RANDOM, **{"random": False, **change})
    with pytest.raises(EncoderError, match=words):
        make_encoder(EncoderConfig("open_clip", open_clip=config))


def test_checkpoints_that_do_not_fit(tmp_path: Path, weights: Path) -> None:
    state = torch.load(weights)["state_dict"]
    state.pop("text_projection")
    torch.save(state, tmp_path / "part.pt")
    (tmp_path / "junk.pt").write_bytes(b"no weights at all")
    for name, words in (("part.pt", "Missing key.*text_projection"), ("junk.pt", "")):
        config = replace(RANDOM, random=False, pretrained=str(tmp_path / name))
        with pytest.raises(EncoderError, match=rf"{name}: no weights there that fit {NAME} \(.*{words}") as e:
            OpenClipEncoder(config)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            "ViT-B-32",
            "laion2b_s34b_b79k of ViT-B-32 cannot be downloaded .*pretrained=<file> .* like=laion2b",
        ),
        ("hf-hub:somebody/some-clip", "somebody/some-clip cannot be had from the hub .*local-dir:<folder>"),
    ],
)
def test_no_network(model: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EncoderError, match=words):
        OpenClipEncoder(OpenClipConfig(model=model, device="cpu"))


def test_without_open_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(EncoderError, match=r"pip install 'hm3dm3\[vision\]'"):
        make_encoder(EncoderConfig("open_clip"))
    assert make_encoder(EncoderConfig()).name == "simulated"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 0}, "batch"),
        ({"rows": 0}, "rows"),
        ({"crop": 0.0}, "crop"),
        ({"crop": 1.5}, "crop"),
        ({"templates": ["a photo"]}, "templates"),
        ({"templates": []}, "templates"),
        ({"text_low": 0.5}, "text_low"),
        ({"image_high": 0.1}, "image_low"),
        ({"precision": "int8"}, "'int8' is none of fp32, bf16, fp16"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build(OpenClipConfig, **change)


def test_an_unknown_kind() -> None:
    with pytest.raises(ValueError, match="eyes.encoder.kind: 'clip' is none of simulated, open_clip"):
        make_encoder(EncoderConfig("clip"))
