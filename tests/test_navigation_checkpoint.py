"""Checkpoints of HM3D-OVON: published names, files that must not run, misfits, and the command."""

from __future__ import annotations

import os
import pickle
import sys
import types
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from policies.navigation import ovon
from policies.navigation.checkpoint import CheckpointError, load_ovon, read
from policies.navigation.network import OvonConfig, OvonNetwork
from policies.navigation.ovon import OvonPolicy
from policies.navigation.siglip import GoalTable, SiglipImages, SiglipText
from tests.small_ovon import (
    CONFIG,
    Tower,
    make_network,
    make_settings,
    make_views,
    make_weights,
    published_shapes,
    siglip_shapes,
)


def _save(path, weights, settings=None, **more):
    torch.save({"state_dict": weights, "config": OmegaConf.create(settings or make_settings()), **more}, path)
    return path


def _load(path, **more):
    return load_ovon(path, CONFIG, SiglipImages(Tower(), CONFIG.image), **more)


def _changed(weights, old: str, new: str | None = None, shape: tuple[int, ...] | None = None):
    """With one tensor renamed, left out or of another shape."""
    weights = dict(weights)
    value = weights.pop(f"actor_critic.{old}")
    if new or shape:
        weights[f"actor_critic.{new or old}"] = value if shape is None else torch.zeros(shape)
    return weights


def test_a_checkpoint_of_published_names_loads_and_acts(tmp_path):
    weights = make_weights()
    network, report = _load(_save(tmp_path / "dagrl.pth", weights, extra_state={"step": 3}))
    assert report.fits and report.problems() == []
    for name, value in network.state_dict().items():
        assert torch.equal(value, weights[f"actor_critic.{name}"]), name
    assert len(report.matched) == len(network.state_dict())
    assert set(report.shapes) == set(report.matched) | set(report.aside)
    assert not network.training and not any(p.requires_grad for p in network.parameters())
    policy = OvonPolicy(network)
    policy.reset(2, np.random.default_rng(0))
    assert policy.act([0, 1], make_views(2)).actions.shape == (2,)
    assert np.isfinite(policy.values).all()


def test_saving_and_loading_again_gives_the_same_outputs(tmp_path):
    network = make_network()
    weights = {f"actor_critic.{name}": value for name, value in network.state_dict().items()}
    again, _ = _load(_save(tmp_path / "again.pth", weights))
    inputs = (torch.ones(1, 7, 12), torch.ones(1, 7, 10), torch.arange(7)[None] - 1)
    for ours, theirs in zip(network(*inputs), again(*inputs)):
        assert torch.equal(ours, theirs)


def test_default_sizes_are_the_published_ones():
    here = {name: tuple(value.shape) for name, value in OvonNetwork().state_dict().items()}
    there = published_shapes(OvonConfig(), words=32000)
    there = {n: s for n, s in there.items() if "embed_tokens" not in n and "inv_freq" not in n}
    assert here == there
    assert there["net.state_encoder.feats_proj.weight"] == (512, 1568)
    assert sum(int(np.prod(s)) for s in siglip_shapes(768, 12, 256, 16, 3072).values()) == 92_930_304


def test_the_config_is_read_and_nothing_of_it_is_run(tmp_path):
    contents = read(_save(tmp_path / "a.pth", make_weights()))
    assert contents.settings == make_settings()
    assert any(name.startswith("omegaconf.") for name in contents.foreign)


def test_classes_of_packages_that_are_not_installed_are_read_as_data(tmp_path, monkeypatch):
    module = types.ModuleType("habitat_of_theirs")

    @dataclass
    class Transformer:
        n_heads: int = 8
        note: str | None = None

    @dataclass
    class Theirs:
        backbone: str = "siglip"
        size: tuple[int, int] = (224, 224)
        inner: Transformer = field(default_factory=Transformer)

    for name in (Transformer, Theirs):
        name.__module__, name.__qualname__ = module.__name__, name.__name__
        setattr(module, name.__name__, name)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = tmp_path / "a.pth"
    config = {"policy": OmegaConf.structured(Theirs)}
    torch.save({"state_dict": make_weights(), "config": OmegaConf.create(config)}, path)
    monkeypatch.delitem(sys.modules, module.__name__)
    contents = read(path)
    inner = {"n_heads": 8, "note": None}
    assert contents.settings == {"policy": {"backbone": "siglip", "size": [224, 224], "inner": inner}}
    assert "habitat_of_theirs.Theirs" in contents.foreign


class _Harm:
    """Runs a function when it is unpickled."""

    def __init__(self, function, *arguments) -> None:
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_code_in_a_file_runs_only_when_the_file_is_trusted(tmp_path):
    path, made = tmp_path / "harm.pth", tmp_path / "made"
    torch.save({"state_dict": make_weights(), "config": _Harm(os.mkdir, str(made))}, path)
    with pytest.raises(CheckpointError, match=r"without running code.*trusted=true"):
        read(path)
    assert not made.exists()
    read(path, trusted=True)
    assert made.exists()


def test_harmful_calls_become_placeholders(tmp_path):
    path, made = tmp_path / "harm.pth", tmp_path / "made"
    torch.save({"state_dict": make_weights(), "config": _Harm(exec, f"open({str(made)!r}, 'w')")}, path)
    contents = read(path)
    assert contents.foreign == ["builtins.exec"] and not made.exists()
    assert len(contents.weights) == len(make_weights())


def test_a_file_that_even_trust_cannot_read_is_named(tmp_path):
    path = tmp_path / "gone.pth"
    torch.save({"state_dict": {}, "config": _Harm(os.rmdir, str(tmp_path / "none"))}, path)
    with pytest.raises(CheckpointError, match="cannot be unpickled either.*none"):
        read(path, trusted=True)


@pytest.mark.parametrize(
    "change, problem",
    [
        (("critic.fc.bias", None, None), "missing in critic: critic.fc.bias"),
        (("net.state_encoder.feats_proj.bias", None, None), "missing in input projection"),
        (
            ("action_distribution.linear.weight", "action_distribution.fc.weight", None),
            "unexpected in actor: action_distribution.fc.weight",
        ),
        (
            ("net.prev_action_embedding.weight", None, (5, 4)),
            r"net.prev_action_embedding.weight is \(5, 4\) there, \(7, 4\) here",
        ),
        (
            ("net.visual_encoder.model.patch_embed.bias", "net.visual_encoder.bias", None),
            "missing in image tower: net.visual_encoder.model.patch_embed.bias",
        ),
    ],
)
def test_a_misfit_is_an_error_that_names_it_and_can_be_allowed(tmp_path, change, problem):
    path = _save(tmp_path / "a.pth", _changed(make_weights(), *change))
    with pytest.raises(CheckpointError, match=problem):
        _load(path)
    network, report = _load(path, strict=False)
    assert not report.fits
    kept = "net.state_encoder.model.layers.1.mlp.up_proj.weight"
    assert torch.equal(network.state_dict()[kept], make_weights()[f"actor_critic.{kept}"])


def test_extra_tensors_are_unexpected(tmp_path):
    weights = make_weights() | {"actor_critic.net.gps_embedding.weight": torch.zeros(2, 32)}
    with pytest.raises(CheckpointError, match="unexpected in other: net.gps_embedding.weight"):
        _load(_save(tmp_path / "a.pth", weights))


def test_what_weights_cannot_tell_is_compared_by_settings(tmp_path):
    settings = make_settings()
    settings["habitat_baselines"]["rl"]["policy"]["transformer_config"]["n_heads"] = 4
    settings["habitat_baselines"]["rl"]["policy"]["rgb_only"] = True
    with pytest.raises(
        CheckpointError, match=r"rgb_only is True there, False here.*n_heads is 4 there, 2 here"
    ):
        _load(_save(tmp_path / "a.pth", make_weights(), settings))
    weights = make_weights()
    name = "actor_critic.net.state_encoder.model.layers.0.self_attn.rotary_emb.inv_freq"
    weights[name] = weights[name] / 2
    with pytest.raises(CheckpointError, match="rotary_emb.inv_freq is"):
        _load(_save(tmp_path / "b.pth", weights))


def test_checkpoints_of_imitation_have_no_critic_and_act(tmp_path):
    weights = {name: value for name, value in make_weights().items() if ".critic." not in name}
    network, report = _load(_save(tmp_path / "a.pth", weights))
    assert report.fits and network.critic is None
    policy = OvonPolicy(network)
    policy.reset(1, np.random.default_rng(0))
    policy.act([0], make_views(1))
    assert np.isnan(policy.values).all()


def test_files_that_are_no_checkpoints_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.pth: no such checkpoint"):
        read(tmp_path / "none.pth")
    (tmp_path / "text.pth").write_text("weights")
    with pytest.raises(CheckpointError, match="text.pth: not a torch checkpoint"):
        read(tmp_path / "text.pth")
    (tmp_path / "pickle.pth").write_bytes(pickle.dumps({"state_dict": {}}))
    with pytest.raises(CheckpointError, match="pickle.pth: not a torch checkpoint"):
        read(tmp_path / "pickle.pth")
    torch.save({"weights": {}, "version": 1}, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match=r"'state_dict'.*found \['version', 'weights'\]"):
        read(tmp_path / "other.pth")
    whole = _save(tmp_path / "cut.pth", make_weights()).read_bytes()
    (tmp_path / "cut.pth").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="cut.pth: not a torch checkpoint"):
        read(tmp_path / "cut.pth")


def test_a_policy_is_loaded_from_a_checkpoint_and_a_table_of_goals(tmp_path, monkeypatch):
    _save(tmp_path / "dagrl.pth", make_weights())
    GoalTable({"sofa": np.ones(CONFIG.goal_features)}).save(tmp_path / "goals.npz")
    monkeypatch.setattr(ovon, "load_ovon", lambda path, trusted, device: _load(path, trusted=trusted))
    policy = OvonPolicy.load(tmp_path / "dagrl.pth", tmp_path / "goals.npz")
    policy.reset(1, np.random.default_rng(0))
    policy.act([0], replace(make_views(1), goals=["sofa"]))
    assert np.isfinite(policy.values).all()
    with pytest.raises(FileNotFoundError, match="no open_clip_config.json"):
        OvonPolicy.load(tmp_path / "dagrl.pth", tmp_path)


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(ImportError, match=r"needs timm: pip install 'hm3dm3\[vision\]'"):
        load_ovon(_save(tmp_path / "dagrl.pth", make_weights()))
    with pytest.raises(ImportError, match="needs open_clip"):
        SiglipText.load()


# The command


def test_the_command_reports_a_checkpoint(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ovon.SiglipImages, "build", lambda: SiglipImages(Tower(), CONFIG.image))
    monkeypatch.setattr(ovon, "OvonNetwork", lambda images: OvonNetwork(CONFIG, images))
    path = _save(tmp_path / "dagrl.pth", make_weights())
    assert ovon.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert f"{path}: {len(make_weights())} tensors" in text and text.rstrip().endswith("fits")
    assert "word embeddings" in text and "omegaconf" in text
    bad = _save(tmp_path / "bad.pth", _changed(make_weights(), "critic.fc.bias", "critic.bias"))
    assert ovon.main([f"checkpoint={bad}", "names=true"]) == 1
    text = capsys.readouterr().out
    assert "missing in critic: critic.fc.bias" in text and "unexpected in critic: critic.bias" in text
    assert "net.prev_action_embedding.weight  (7, 4)" in text


def test_the_command_works_without_timm(tmp_path, capsys, monkeypatch):
    def missing():
        raise ImportError("timm")

    monkeypatch.setattr(ovon.SiglipImages, "build", missing)
    monkeypatch.setattr(ovon, "OvonNetwork", lambda images: OvonNetwork(CONFIG, images))
    assert ovon.main([str(_save(tmp_path / "dagrl.pth", make_weights()))]) == 0
    assert "were not compared" in capsys.readouterr().out


def test_the_command_explains_itself_and_wrong_input(tmp_path, capsys):
    assert ovon.main(["--help"]) == 0
    assert "trusted=true" in capsys.readouterr().out
    for arguments, message in (
        ([str(tmp_path / "none.pth")], "none.pth: no such checkpoint"),
        (["weights=a.pth"], "unknown argument weights="),
        (["names=yes", "a.pth"], "names=yes: needs true or false"),
        (["names=true"], "no checkpoint"),
    ):
        assert ovon.main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and message in error and error.count("\n") == 1
