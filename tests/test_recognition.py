"""Simulated eyes: the recogniser, its tracker, and the text similarities, in the two rooms."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.episodes.schema import Episode, Goal, load_split
from hm3dm3_env.geometry import Pose, heading_to
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.shared import Privileged, TeamGoal
from hm3dm3_env.sim.base import Camera, Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from policies.eyes import EyesConfig, make_eyes
from policies.recognition.base import Candidate
from policies.recognition.simulated import PERFECT, SimulatedRecognizer, SimulatedRecognizerConfig
from policies.recognition.tracker import Tracker, TrackerConfig
from policies.text_similarity import TABLE, TextSimilarity

CAMERA = Camera(72, 128)


@pytest.fixture(scope="module")
def episode(data: Path) -> Episode:
    return load_split(data, "rooms")[0]


def things(sim: EmbeddedSimulator, category: str) -> list[Instance]:
    return sorted(sim.scene.of_category(category), key=lambda item: item.id)


def goal(modality: str, category: str, *ids: int, predicates: tuple[tuple[str, str], ...] = ()) -> Goal:
    return Goal(modality, category, "" if modality == "IIN" else category, ids[0], ids, predicates=predicates)


def begin(eye, episode: Episode, sim: EmbeddedSimulator, *goals: Goal, seed: int = 0) -> None:
    """Start an episode with these goals (default: its own) for a recogniser or an encoder."""
    goals = goals or episode.goals
    told = [TeamGoal(g.modality, g.text, None) for g in goals]
    eye.reset(told, seed, Privileged(replace(episode, goals=goals), sim))


def around(
    sim: EmbeddedSimulator,
    places: tuple[tuple[float, float], ...] = ((2.5, -1.5), (6.2, -1.2), (8.8, -1.2)),
    turns: int = 12,
) -> list[Frame]:
    """What is seen from a few places, all around."""
    poses = [Pose(x, 0.0, z, 2 * pi * i / turns - pi) for x, z in places for i in range(turns)]
    return sim.render(poses, CAMERA, rgb=False, semantic=True)


def at(sim: EmbeddedSimulator, x: float, z: float, item: Instance) -> Frame:
    """A look at an object from a place."""
    pose = Pose(x, 0.0, z, heading_to(np.array([x, 0, z]), item.center))
    return sim.render([pose], CAMERA, rgb=False, semantic=True)[0]


def seen(recognizer: SimulatedRecognizer, frames: list[Frame], goals: int) -> list[list[Candidate]]:
    return recognizer.candidates(frames, [True] * goals)


def key(candidates: list[list[Candidate]]) -> list:
    return [(c.goal, c.score, c.box, c.distance, *c.point) for part in candidates for c in part]


def outside(point: np.ndarray, item: Instance) -> float:
    """Metres from a point to a box."""
    return float(np.linalg.norm(np.maximum(np.maximum(item.low - point, point - item.high), 0)))


# -- the recogniser ----------------------------------------------------------------------------------------


def test_seeded(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    frames = around(rooms_sim)
    runs = []
    for seed in (5, 5, 6):
        recognizer = SimulatedRecognizer()
        begin(recognizer, episode, rooms_sim, seed=seed)
        runs.append(key(seen(recognizer, frames, len(episode.goals))))
    assert runs[0] and runs[0] == runs[1] != runs[2]


def test_reset_begins_anew(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    frames = around(rooms_sim, turns=4)
    recognizer = SimulatedRecognizer()
    runs = []
    for seed in (1, 2, 1):
        begin(recognizer, episode, rooms_sim, seed=seed)
        runs.append(key(seen(recognizer, frames, len(episode.goals))))
    assert runs[0] == runs[2] != runs[1]


def test_perfect_sees_the_acceptable_and_nothing_else(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    chairs = [item.id for item in things(rooms_sim, "armchair")]
    sofa, plant = things(rooms_sim, "sofa")[0].id, things(rooms_sim, "potted plant")[0].id
    goals = (
        goal("ON", "armchair", *chairs),
        goal("IIN", "armchair", chairs[0]),
        goal("TN", "sofa", sofa),
        goal("ON", "potted plant", plant),
    )
    recognizer = SimulatedRecognizer(PERFECT)
    assert recognizer.name == "perfect"
    begin(recognizer, episode, rooms_sim, *goals)
    frames = around(rooms_sim)
    for frame, found in zip(frames, seen(recognizer, frames, len(goals))):
        assert frame.semantic is not None
        labels = np.where(frame.depth > 0, frame.semantic, 0)
        share = np.bincount(labels.ravel(), minlength=100) / labels.size
        expected = sorted(
            (j, i) for j, g in enumerate(goals) for i in g.acceptable if share[i] >= PERFECT.full_share * 2
        )
        got = []
        for c in found:
            left, top, right, bottom = c.box
            owners = [
                i
                for i in goals[c.goal].acceptable
                if (labels[top:bottom, left:right] == i).any()
                and outside(c.point, rooms_sim.scene.instances[i]) < 0.05
            ]
            assert owners and c.score > 0.7
            got.append((c.goal, owners[0]))
        assert set(expected) <= set(got) and len(got) == len(set(got))


def test_resolved_goals_are_not_reported(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    sofa = things(rooms_sim, "sofa")[0]
    recognizer = SimulatedRecognizer(PERFECT)
    begin(recognizer, episode, rooms_sim, goal("ON", "sofa", sofa.id), goal("IIN", "sofa", sofa.id))
    frame = at(rooms_sim, 2.0, -1.5, sofa)
    assert [c.goal for c in recognizer.candidates([frame], [True, True])[0]] == [0, 1]
    assert [c.goal for c in recognizer.candidates([frame], [False, True])[0]] == [1]
    assert recognizer.candidates([frame], [False, False]) == [[]]


def test_twins_confuse_images_more_than_categories(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    """Of a category goal every instance is right; of an image goal the twin is wrong, and looks like it."""
    right, twin = (item.id for item in things(rooms_sim, "armchair"))
    goals = (
        goal("ON", "armchair", right, twin),
        goal("TN", "armchair", right, predicates=(("colour", "blue"),)),
        goal("IIN", "armchair", right),
    )
    wrong, margin = np.zeros(3), np.zeros(3)
    for seed in range(60):
        recognizer = SimulatedRecognizer()
        begin(recognizer, episode, rooms_sim, *goals, seed=seed)
        for j, g in enumerate(goals):
            wrong[j] += twin not in g.acceptable and recognizer.match[j, twin] >= 0.55
            margin[j] += recognizer.match[j, right] / 60
    assert wrong[0] == 0 and wrong[2] > wrong[0]
    assert wrong[2] >= wrong[1]
    assert margin[0] > margin[1] > margin[2]  # categories are the easiest, images the hardest


def test_descriptions_confuse_twins_that_agree(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    right, twin = things(rooms_sim, "armchair")
    still = replace(SimulatedRecognizerConfig(), habit=0.0)
    scores = []
    for predicates in ((("colour", right.colour),), (("colour", twin.colour),)):
        recognizer = SimulatedRecognizer(still)
        begin(recognizer, episode, rooms_sim, goal("TN", "armchair", right.id, predicates=predicates))
        scores.append(recognizer.match[0, twin.id])
    assert scores == pytest.approx([still.twin_tn, still.twin_tn + still.twin_tn_agree])


def test_small_things_are_not_seen(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    plant = things(rooms_sim, "potted plant")[0]
    frame = at(rooms_sim, 7.0, -1.2, plant)
    assert frame.semantic is not None
    share = float((np.where(frame.depth > 0, frame.semantic, 0) == plant.id).mean())
    assert share > 0
    for limit, count in ((share * 0.9, 1), (share * 1.1, 0)):
        recognizer = SimulatedRecognizer(replace(PERFECT, min_share=limit))
        begin(recognizer, episode, rooms_sim, goal("ON", "potted plant", plant.id))
        assert len(recognizer.candidates([frame], [True])[0]) == count


def test_points_lie_on_the_object(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    names = ("sofa", "bookshelf", "refrigerator", "dining table", "potted plant", "cabinet")
    goals = tuple(goal("ON", name, things(rooms_sim, name)[0].id) for name in names)
    recognizer = SimulatedRecognizer(replace(SimulatedRecognizerConfig(), confused=0.0))
    begin(recognizer, episode, rooms_sim, *goals)
    frames, met = around(rooms_sim), set()
    for frame, found in zip(frames, seen(recognizer, frames, len(goals))):
        for c in found:
            met.add(c.goal)
            item = rooms_sim.scene.instances[goals[c.goal].object_id]
            assert outside(c.point, item) < 0.3
            eye = frame.camera.eye(frame.pose)
            assert c.distance == pytest.approx(np.hypot(c.point[0] - eye[0], c.point[2] - eye[2]))
            assert 0 <= c.score <= 1 and 0 <= c.box[0] < c.box[2] <= 72 and 0 <= c.box[1] < c.box[3] <= 128
    assert met == set(range(len(names)))


def test_without_the_truth(episode: Episode) -> None:
    for eye in make_eyes(EyesConfig()):
        with pytest.raises(ValueError, match="truth"):
            eye.reset([], 0, None)
    with pytest.raises(ValueError, match="recogniser.*'owlv3'.*simulated"):
        make_eyes(EyesConfig(recogniser="owlv3"))


# -- the tracker -------------------------------------------------------------------------------------------


def sight(x: float, z: float, score: float, distance: float = 4.0, goal: int = 0) -> Candidate:
    return Candidate(goal, score, np.array([x, 0.5, z]), (0, 0, 1, 1), distance)


def test_one_place_is_one_candidate() -> None:
    tracker = Tracker(TrackerConfig(), 2)
    tracker.update([sight(0, 0, 0.8), sight(0.5, 0, 0.6), sight(2, 0, 0.9), sight(0, 0, 0.7, goal=1)])
    assert [len(t) for t in tracker.tracks] == [2, 1]
    assert tracker.tracks[0][0].score == pytest.approx(0.7)
    tracker.update([sight(0.2, 0.1, 0.7, distance=1.0), sight(-0.2, 0, 0.7, distance=3.0)])
    assert tracker.tracks[0][0].point[0] == 0.2  # the place is the one seen from nearest


def test_accept() -> None:
    tracker = Tracker(TrackerConfig(accept=0.5), 1)
    assert not tracker.update([sight(0, 0, 0.4)]) and tracker.best(0) is None
    assert tracker.best(0, 0.3) is tracker.tracks[0][0]
    assert tracker.update([sight(0, 0, 0.8)])  # now the mean is 0.6: news
    assert not tracker.update([sight(0, 0, 0.9)]) and not tracker.update([sight(3, 0, 0.9)])  # no news
    assert tracker.best(0) is tracker.tracks[0][1]


def test_the_mean_forgets() -> None:
    tracker = Tracker(TrackerConfig(memory=2), 1)
    tracker.update([sight(0, 0, s) for s in (0.1, 0.1, 0.9, 0.7)])
    assert tracker.tracks[0][0].score == pytest.approx(0.8)


def test_verification_needs_looks_from_close_by() -> None:
    tracker = Tracker(TrackerConfig(close=2.0, verify=0.6), 1)
    tracker.update([sight(0, 0, 0.9, distance=4.0)])
    track = tracker.tracks[0][0]
    assert tracker.verified(track) is None
    tracker.update([sight(0, 0, 0.5, distance=1.5)])
    assert tracker.verified(track) is False
    tracker.update([sight(0, 0, 0.8, distance=1.5)])
    assert tracker.verified(track) is True


def test_rejected_places_stay_rejected() -> None:
    tracker = Tracker(TrackerConfig(), 2)
    tracker.update([sight(0, 0, 0.9), sight(0, 0, 0.9, goal=1)])
    tracker.reject(tracker.tracks[0][0])
    assert not tracker.update([sight(0.3, 0.3, 1.0)]) and tracker.best(0) is None and not tracker.tracks[0]
    assert tracker.best(1) is not None  # only for that goal
    assert tracker.update([sight(2.0, 0, 0.9)]) and tracker.best(0) is not None  # and only there


# -- names -------------------------------------------------------------------------------------------------


def test_similarity_table() -> None:
    with np.load(TABLE) as table:
        names, values = [str(n) for n in table["names"]], table["similarity"]
    assert len(names) == len(set(names)) > 100 and values.shape == (len(names), len(names))
    np.testing.assert_array_equal(values, values.T)
    assert set(CATALOGUE) <= set(names)  # else: python -m policies.make_text_similarity
    similarity = TextSimilarity()
    for a, b in zip(names[:40], names[7:47]):
        assert similarity(a, b) == similarity(b, a) and 0 <= similarity(a, b) <= 1
        assert similarity(a, a) == 1.0


def test_similarity_means_something() -> None:
    similarity = TextSimilarity()
    assert similarity("sofa", "couch") > similarity("sofa", "armchair") > similarity("sofa", "refrigerator")


def test_unknown_names_are_compared_by_words() -> None:
    similarity = TextSimilarity()
    assert similarity("zorb lamp", "zorb lamp") == 1.0
    assert similarity("zorb lamp", "quux lamp") == pytest.approx(1 / 3)
    assert similarity("quux lamp", "zorb lamp") == pytest.approx(1 / 3)
    assert similarity("zorb", "sofa") == 0.0
