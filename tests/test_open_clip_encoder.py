"""The open_clip encoder, with a tiny model of open_clip's own classes and random weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

open_clip = pytest.importorskip("open_clip")
torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from eval.benchmark import BenchmarkConfig, evaluate  # noqa: E402
from higa.policy import HigaRulePolicy  # noqa: E402
from hm3dm3_env.cli import build  # noqa: E402
from hm3dm3_env.record import EpisodeRecord  # noqa: E402
from hm3dm3_env.shared import SharedState, TeamGoal  # noqa: E402
from policies.eyes import EyesConfig  # noqa: E402
from policies.heatmaps.config import EncoderConfig, EncoderError  # noqa: E402
from policies.heatmaps.open_clip import OpenClipEncoder, cut  # noqa: E402
from tests.tiny_clip import (  # noqa: E402
    GOALS,
    NAME,
    RANDOM,
    SIZE,
    frame,
    noise,
    register,
    save_weights,
    seeing,
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered(tmp_path_factory: pytest.TempPathFactory) -> None:
    register(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def weights(registered: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny.pt")


def published(model: Any) -> Callable[[Image.Image], Any]:
    """How open_clip itself prepares pictures for a model."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    return image_transform_v2(PreprocessCfg(**model.visual.preprocess_cfg), is_train=False)


# -- what is encoded ---------------------------------------------------------------------------------------


def test_goals_go_through_the_tower_of_their_kind() -> None:
    encoder, model = seeing(RANDOM), open_clip.create_model(NAME, pretrained_text=False)
    model.load_state_dict(encoder._clip.model.state_dict())
    model.eval()
    found = encoder.embeddings()
    assert found.shape == (3, SIZE) and found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    tokenize, prepare = open_clip.get_tokenizer(NAME), published(model)
    with torch.no_grad():
        sentences = [t.format("a TV stand") for t in RANDOM.templates]
        category = model.encode_text(tokenize(sentences), normalize=True).mean(0)
        text = model.encode_text(tokenize([GOALS[1].text]), normalize=True)[0]
        image = model.encode_image(prepare(Image.fromarray(GOALS[2].image))[None], normalize=True)[0]
    wanted = np.stack([category / category.norm(), text, image])
    assert np.allclose(found, wanted, atol=1e-5)


def test_a_strip_is_as_hot_as_its_hottest_crop() -> None:
    config = replace(RANDOM, text_low=0.0, text_high=0.5, image_low=0.2, image_high=0.9)
    encoder, rgb = seeing(config), noise(90, 60)
    heat = encoder.similarity([frame(rgb)], 4)
    crops = cut(rgb, 4, config.crop, config.rows)
    cosines = (encoder.images(crops) @ encoder.embeddings().T).reshape(4, config.rows, 3).max(1)
    assert heat.shape == (1, 3, 4)
    assert np.allclose(heat[0, :2], np.clip(cosines.T[:2] / 0.5, 0, 1), atol=1e-5)
    assert np.allclose(heat[0, 2], np.clip((cosines.T[2] - 0.2) / 0.7, 0, 1), atol=1e-5)
    assert 0 < heat.max() and heat.min() >= 0 and heat.max() <= 1


def test_a_photo_of_a_crop_is_hottest_there() -> None:
    rgb = noise(64, 96)
    rgb[:, :32] //= 4
    crops = cut(rgb, 5, RANDOM.crop, RANDOM.rows)
    encoder = seeing(RANDOM, TeamGoal("IIN", "", crops[2 * RANDOM.rows]))
    heat = encoder.similarity([frame(rgb)], 5)[0, 0]
    assert heat.argmax() == 2 and heat[2] == pytest.approx(1.0, abs=1e-5)


def test_small_images_are_resized_as_open_clip_does() -> None:
    encoder = seeing(RANDOM)
    picture = np.kron(noise(12, 12), np.ones((4, 4, 1), np.uint8))  # 48 x 48
    with torch.no_grad():
        x = published(encoder._clip.model)(Image.fromarray(picture))[None]
        wanted = encoder._clip.model.encode_image(x, normalize=True)[0].numpy()
    assert encoder.images([picture])[0] @ wanted > 0.9999


@pytest.mark.parametrize(
    ("width", "height", "strips", "crop", "rows"),
    [(360, 640, 6, 0.5, 2), (36, 64, 6, 0.5, 2), (50, 40, 3, 0.4, 3), (30, 30, 7, 0.05, 1),
     (9, 20, 1, 1.0, 4), (11, 7, 2, 0.3, 1)],
)  # fmt: skip
def test_crops_hold_their_strips(width: int, height: int, strips: int, crop: float, rows: int) -> None:
    columns, lines = np.arange(width), np.arange(height)
    rgb = np.stack(np.broadcast_arrays(columns[None], lines[:, None], 0), -1)
    crops = cut(rgb, strips, crop, rows)
    assert len(crops) == strips * rows and len({c.shape for c in crops}) == 1
    for s in range(strips):
        mine = crops[s * rows : (s + 1) * rows]
        strip = set(range(int(np.ceil(s * width / strips)), (s + 1) * width // strips))
        assert all(strip <= set(c[0, :, 0].tolist()) for c in mine)
        assert set(lines.tolist()) == {int(v) for c in mine for v in c[:, 0, 1]}
    assert crops[0].shape[1] >= min(round(crop * width), width)


# -- batches, caches, and the same numbers again -----------------------------------------------------------


def test_a_batch_over_robots_is_the_robots_one_by_one() -> None:
    frames = [frame(noise(64, 36, seed=i)) for i in range(4)]
    encoder = seeing(RANDOM)
    together = encoder.similarity(frames, 6)
    assert together.shape == (4, 3, 6) and together.std() > 0
    apart = np.concatenate([encoder.similarity([f], 6) for f in frames])
    assert np.allclose(together, apart, atol=1e-5)
    assert np.allclose(seeing(replace(RANDOM, batch=5)).similarity(frames, 6), together, atol=1e-5)
    assert encoder.similarity([], 6).shape == (0, 3, 6)
    mixed = [frames[0], frame(noise(50, 70)), frames[1]]
    assert np.allclose(encoder.similarity(mixed, 6)[[0, 2]], together[:2], atol=1e-5)


def test_one_pass_of_the_image_tower_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, sizes = seeing(RANDOM), []
    encode = encoder._clip.model.encode_image
    monkeypatch.setattr(encoder._clip.model, "encode_image", lambda x: sizes.append(len(x)) or encode(x))
    encoder.similarity([frame(noise(64, 36, seed=i)) for i in range(3)], 6)
    assert sizes == [3 * 6 * RANDOM.rows]


def test_goals_are_embedded_once_and_the_oldest_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, asked = OpenClipEncoder(replace(RANDOM, cache=2)), []
    texts = encoder.texts
    monkeypatch.setattr(encoder, "texts", lambda t: asked.append(t[0]) or texts(t))
    goals = [TeamGoal("TN", text, None) for text in ("a", "b", "c")]
    encoder.reset(goals[:2], 0, None)
    first = encoder.embeddings()
    encoder.reset([goals[1], goals[0]], 1, None)
    assert asked == ["a", "b"] and np.array_equal(encoder.embeddings(), first[::-1])
    encoder.reset([goals[2], goals[0]], 2, None)  # c pushes out b, the longest unused
    encoder.reset([goals[1]], 3, None)
    assert asked == ["a", "b", "c", "b"]


def test_a_category_and_a_description_of_the_same_words_differ() -> None:
    encoder = seeing(RANDOM, TeamGoal("ON", "sofa", None), TeamGoal("TN", "sofa", None))
    assert not np.allclose(*encoder.embeddings(), atol=1e-3)


def test_the_same_numbers_again_and_torchs_own_are_left_alone() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    one = seeing(RANDOM)
    assert torch.equal(torch.rand(4), wanted)
    frames = [frame(noise(64, 36, seed=i)) for i in range(2)]
    other = seeing(RANDOM)
    assert np.array_equal(one.embeddings(), other.embeddings())
    assert np.array_equal(one.similarity(frames, 6), other.similarity(frames, 6))


def test_half_precision_is_nearly_the_same() -> None:
    frames = [frame(noise(64, 36))]
    exact, half = seeing(RANDOM), seeing(replace(RANDOM, precision="bf16"))
    difference = np.abs(exact.similarity(frames, 6) - half.similarity(frames, 6)).max()
    assert 0 < difference < 0.02


def test_an_image_goal_without_its_image() -> None:
    with pytest.raises(EncoderError, match="image goal"):
        seeing(RANDOM, TeamGoal("IIN", "", None))


# -- episodes ----------------------------------------------------------------------------------------------


def test_an_episode_with_it(play_rooms: Callable[..., EpisodeRecord], rooms_episodes: list) -> None:
    index = next(i for i, e in enumerate(rooms_episodes) if any(g.modality == "IIN" for g in e.goals))
    eyes, seen = EyesConfig(encoder=EncoderConfig("open_clip", open_clip=RANDOM)), []

    def watch(shared: SharedState) -> None:
        seen.append(shared)

    policy = HigaRulePolicy()
    record = play_rooms(policy, index, eyes=eyes, watch=watch)
    heat = policy.crew.heat
    assert record.encoder == f"open_clip/{NAME}/random" and record.recogniser == "simulated"
    assert heat is not None
    assert (heat.value.max((1, 2)) > 0).all() and np.ptp(heat.value[0][heat.confidence > 0]) > 0
    assert all(f.rgb is not None for f in seen[0].frames)
    sides = {g.image.shape for g in seen[0].goals if g.image is not None}
    assert sides == {(64, 64, 3)}  # observations have 64, and the model needs no more than 32
    again = play_rooms(HigaRulePolicy(), index, eyes=eyes)
    assert again.to_bytes() == record.to_bytes()
    other = play_rooms(HigaRulePolicy(), index)
    assert other.encoder == "simulated" and other.poses != record.poses


@pytest.fixture
def benchmark(data: Path, tmp_path: Path) -> Callable[..., BenchmarkConfig]:
    def make(**open_clip: Any) -> BenchmarkConfig:
        values = {"model": NAME, "pretrained": "", "random": True, "device": "cpu", **open_clip}
        return build(
            BenchmarkConfig, method=["higa_rule", "oracle"], split="rooms", limit=1,
            out=str(tmp_path / "out"), data=str(data), workers=1, pictures=0,
            camera={"width": 36, "height": 64},
            eyes={"encoder": {"kind": "open_clip", "open_clip": values}},
        )  # fmt: skip

    return make


def test_tables_name_the_encoder(benchmark: Callable[..., BenchmarkConfig], weights: Path) -> None:
    config = benchmark(pretrained=str(weights), random=False, min_crop=8)
    summary = evaluate(config)
    name = summary["higa_rule"]["encoder"]
    assert name.startswith(f"open_clip/{NAME}/") and summary["oracle"]["encoder"] == "none"
    assert name in (Path(config.out) / "table.txt").read_text()
    settings = json.loads((Path(config.out) / "records" / "higa_rule" / "settings.json").read_text())
    assert settings["encoder"] == name


def test_frames_too_small_for_it(benchmark: Callable[..., BenchmarkConfig]) -> None:
    config = benchmark()
    with pytest.raises(ValueError, match=r"at least 128 pixels across, not 36 x 64; set camera.width=360"):
        evaluate(config)
    assert not Path(config.out).exists()
