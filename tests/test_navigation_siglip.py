"""What DAgRL sees and is told: frames as SigLIP takes them, and embeddings of goals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from policies.navigation.network import OvonNetwork
from policies.navigation.ovon import OvonPolicy
from policies.navigation.siglip import GoalTable, ImageConfig, SiglipImages, SiglipText, prepare
from tests.small_ovon import CONFIG, Tower, make_network, make_views, siglip_shapes


def test_a_table_of_goals_is_kept_and_used(tmp_path):
    rng = np.random.default_rng(0)
    vectors = {w: rng.normal(size=CONFIG.goal_features).astype(np.float32) for w in ("sofa", "chair")}
    GoalTable(vectors).save(tmp_path / "a.npz")
    GoalTable(dict(reversed(vectors.items()))).save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    table = GoalTable.load(tmp_path / "a.npz")
    assert (table.embed("sofa") == vectors["sofa"]).all()
    policies = [OvonPolicy(make_network(), table), OvonPolicy(make_network())]
    for policy, goal in zip(policies, ("sofa", vectors["sofa"])):
        policy.reset(1, np.random.default_rng(0))
        policy.act([0], replace(make_views(1), goals=[goal]))
    assert policies[0].values == policies[1].values
    with pytest.raises(ValueError, match="'lamp' is not among the 2"):
        table.embed("lamp")


def test_broken_tables_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.npz: no such table"):
        GoalTable.load(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="bad.npz: not a table"):
        GoalTable.load(tmp_path / "bad.npz")
    with pytest.raises(ValueError, match="one shape"):
        GoalTable({"a": np.zeros(2), "b": np.zeros(3)})


def test_frames_are_squeezed_into_the_square_and_scaled():
    rgb = torch.zeros(1, 640, 360, 3, dtype=torch.uint8)
    rgb[:, :, 180:, 0] = 255
    x = prepare(rgb, ImageConfig())
    assert x.shape == (1, 3, 256, 256)
    assert x[0, 0, :, 10].unique().tolist() == [-1] and x[0, 0, :, -10].unique().tolist() == [1]
    assert x[0, 1:].unique().tolist() == [-1]


def test_frames_are_cut_to_whole_numbers_between_the_resizings():
    rgb = torch.tensor([1, 2], dtype=torch.uint8).view(1, 2, 1, 1).expand(1, 2, 2, 3)
    x = prepare(rgb, ImageConfig(first=1, side=1, mean=0.0, deviation=1.0))
    np.testing.assert_allclose(x * 255, np.ones((1, 3, 1, 1)))


def test_the_image_tower_stays_frozen_and_in_evaluation_mode():
    network = OvonNetwork(CONFIG, SiglipImages(Tower(), CONFIG.image)).train()
    assert network.training and not network.net.visual_encoder.training
    assert not any(p.requires_grad for p in network.net.visual_encoder.parameters())


def test_timms_tower_has_the_published_names(monkeypatch, tmp_path):
    timm = pytest.importorskip("timm")
    small = {"img_size": 32, "embed_dim": 24, "depth": 2, "num_heads": 2}
    create = timm.create_model
    monkeypatch.setattr(timm, "create_model", lambda *a, **k: create(*a, **k, **small))
    config = ImageConfig(first=28, side=32)
    tower = SiglipImages.build(config=config)
    names = {name.removeprefix("model.") for name in tower.state_dict()}
    assert names == set(siglip_shapes(24, 2, 32, 16, 4 * 24))
    frames = torch.randint(0, 256, (2, 40, 30, 3), dtype=torch.uint8)
    assert tower(frames).shape == (2, 24)
    torch.save(tower.model.state_dict(), tmp_path / "tower.pth")
    again = SiglipImages.build(str(tmp_path / "tower.pth"), config)
    assert torch.equal(again(frames), tower(frames))
    with pytest.raises(FileNotFoundError, match="no such file of weights"):
        SiglipImages.build(str(tmp_path / "none.pth"))


def test_open_clips_text_tower_embeds_words(tmp_path):
    open_clip = pytest.importorskip("open_clip")
    safetensors = pytest.importorskip("safetensors.torch")
    sizes = {
        "embed_dim": 10,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
        "text_cfg": {"context_length": 16, "width": 16, "heads": 2, "layers": 2},
    }
    model = open_clip.CustomTextCLIP(**sizes)
    text = SiglipText(model, open_clip.SimpleTokenizer(context_length=16), 16)
    chair, again, sofa = text.embed("chair"), text.embed("chair"), text.embed("sofa")
    assert chair.shape == (10,) and chair.dtype == np.float32
    assert (chair == again).all() and (chair != sofa).any()
    assert abs(np.linalg.norm(chair) - 1) > 1e-3
    assert (GoalTable.make(text, ["chair"]).embed("chair") == chair).all()

    config = {"model_cfg": sizes | {"custom_text": True}, "preprocess_cfg": {}}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    safetensors.save_file(model.state_dict(), tmp_path / "open_clip_model.safetensors")
    np.testing.assert_allclose(SiglipText.load(str(tmp_path)).embed("chair"), chair, atol=1e-6)
    with pytest.raises(FileNotFoundError, match="open_clip_config.json"):
        SiglipText.load(str(tmp_path / "elsewhere"))
