"""Heat maps and the encoders behind them, in the two rooms."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

from hm3dm3_env.episodes.schema import Episode, load_split
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import MapConfig, SharedMap
from hm3dm3_env.sim.base import Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from policies.heatmaps.maps import HeatConfig, HeatMaps
from policies.heatmaps.name_vectors import SIZE, name_vector
from policies.heatmaps.simulated import SimulatedEncoder, SimulatedEncoderConfig
from policies.text_similarity import TextSimilarity, similarity_table
from tests.test_recognition import CAMERA, around, at, begin, goal, things

QUIET = SimulatedEncoderConfig(noise=0.0, habit=0.0)


@pytest.fixture(scope="module")
def episode(data: Path) -> Episode:
    return load_split(data, "rooms")[0]


def maps(goals: int = 1, **config: float) -> HeatMaps:
    """Empty heat maps over the two rooms."""
    shared = SharedMap(MapConfig(size=32.0), np.array([5.0, 0, -2.0]), 0.0)
    return HeatMaps(HeatConfig(**config), shared, goals)


class Constant:
    """An encoder that sees the same heat everywhere, which the test sets."""

    heat = 0.0

    def similarity(self, frames: list[Frame], strips: int) -> np.ndarray:
        return np.full((len(frames), 1, strips), self.heat)


# -- maps --------------------------------------------------------------------------------------------------


def test_heat_is_only_where_somebody_looked(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    encoder = SimulatedEncoder()
    begin(encoder, episode, rooms_sim)
    heat = maps(len(episode.goals))
    assert not heat.confidence.any()
    for frame in around(rooms_sim, ((2.5, -1.5),)):
        heat.update([frame], encoder)
    assert not heat.value[:, heat.confidence == 0].any()
    assert heat.value.min() >= 0 and 0 < heat.value.max() <= 1 and heat.confidence.max() <= 1
    rows, columns = np.nonzero(heat.confidence)
    x, z = heat.origin[0] + (columns + 0.5) * 0.25, heat.origin[1] + (rows + 0.5) * 0.25
    assert x.min() > -0.3 and z.min() > -4.3 and z.max() < 0.3  # inside the walls
    behind = (x > 5.4) & (z < -2.2)  # behind the wall, off the door
    assert not behind.any()


def test_one_look_leaves_the_back_dark(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    encoder = SimulatedEncoder(QUIET)
    begin(encoder, episode, rooms_sim)
    heat = maps(len(episode.goals))
    west = Pose(2.5, 0, -2.0, pi / 2)
    heat.update(rooms_sim.render([west], CAMERA, rgb=False, semantic=True), encoder)
    rows, columns = np.nonzero(heat.confidence)
    assert len(rows) and (heat.origin[0] + columns * 0.25).max() < 2.6
    row, column = heat.cells(np.array([1.0, 0, -2.0]))
    edge = heat.confidence[heat.confidence > 0].min()
    assert heat.confidence[row, column] > 0.9 > edge >= 0.2  # sure in the middle of the view


@pytest.mark.parametrize("name", ["sofa", "bookshelf"])
def test_heat_is_at_the_goal(name: str, episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    item = things(rooms_sim, name)[0]
    encoder = SimulatedEncoder(QUIET)
    begin(encoder, episode, rooms_sim, goal("ON", name, item.id))
    heat = maps()
    for frame in around(rooms_sim, ((2.5, -1.5), (3.0, -2.5)), 24):
        heat.update([frame], encoder)
    away = np.array([[4.6, 0, -0.4], [2.6, 0, -0.3], [0.3, 0, -1.5]])
    here = heat.near(item.center[None])[0, 0]
    assert here > heat.near(away)[0].max() + 0.1


def test_confidence_fades_a_step_at_a_time_and_values_stay(rooms_sim: EmbeddedSimulator) -> None:
    frames, encoder = around(rooms_sim, ((2.5, -1.5),), 4), Constant()
    encoder.heat = 0.5
    heat = maps(decay=0.9)
    heat.update(frames[:1], encoder)
    first = heat.confidence.copy()
    assert np.array_equal(heat.faded(), first)
    for _ in range(3):
        heat.update([], encoder)
    seen = first > 0
    assert np.allclose(heat.faded()[seen], first[seen] * 0.9**3, rtol=1e-5) and not heat.faded()[~seen].any()
    assert np.array_equal(heat.confidence > 0, seen)  # still: was looked at
    assert np.allclose(heat.value[0][seen], 0.5) and not heat.value[0][~seen].any()


@pytest.mark.parametrize(("decay", "expected"), [(1.0, 0.5), (0.9, 1 / (1 + 0.9**20)), (0.01, 1.0)])
def test_newer_looks_weigh_more(decay: float, expected: float, rooms_sim: EmbeddedSimulator) -> None:
    west, encoder = rooms_sim.render([Pose(2.5, 0, -2.0, pi / 2)], CAMERA), Constant()
    heat = maps(decay=decay)
    heat.update(west, encoder)
    for _ in range(19):
        heat.update([], encoder)
    encoder.heat = 1.0
    heat.update(west, encoder)
    row, column = heat.cells(np.array([1.0, 0, -2.0]))
    assert heat.value[0, row, column] == pytest.approx(expected, abs=1e-4)
    assert heat.confidence[row, column] > 0.9  # a fresh look is as sure as ever


def test_a_frame_counts_once_in_every_cell(rooms_sim: EmbeddedSimulator) -> None:
    west, encoder = rooms_sim.render([Pose(2.5, 0, -2.0, pi / 2)], CAMERA), Constant()
    heat = maps(decay=1.0)
    heat.update(west, encoder)
    seen, sure = heat.confidence > 0, heat.confidence.copy()
    encoder.heat = 1.0
    heat.update(west, encoder)
    middle = sure >= 0.35  # at the edges, a look that is less sure than the one before is left out
    assert middle.sum() > 20 and np.allclose(heat.value[0][middle], 0.5)  # however many rays cross a cell
    assert np.allclose(heat.confidence[seen], sure[seen], atol=1e-6)


def test_frames_of_one_step_do_not_fade_each_other(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    frames = around(rooms_sim)
    together, apart, slow = (maps(len(episode.goals), decay=d) for d in (0.5, 1.0, 0.5))
    encoders = [SimulatedEncoder() for _ in range(3)]
    for encoder in encoders:
        begin(encoder, episode, rooms_sim)
    together.update(frames, encoders[0])
    for frame in frames:  # the same noise, one by one
        apart.update([frame], encoders[1])
        slow.update([frame], encoders[2])
    assert np.array_equal(together.value, apart.value)
    assert np.array_equal(together.confidence, apart.confidence)
    assert not np.array_equal(together.value, slow.value)


@pytest.mark.parametrize(
    ("field", "value"), [("decay", 0.0), ("decay", 1.1), ("cone_floor", 0.0), ("strips", 0), ("cell", 0.0)]
)
def test_settings_that_cannot_be(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        HeatConfig(**{field: value})


# -- the simulated encoder ---------------------------------------------------------------------------------


def test_quiet_encoder_ranks_by_name(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    sofa, chair = things(rooms_sim, "sofa")[0], things(rooms_sim, "refrigerator")[0]
    encoder = SimulatedEncoder(QUIET)
    begin(encoder, episode, rooms_sim, goal("ON", "sofa", sofa.id), goal("ON", "refrigerator", chair.id))
    values = encoder.similarity([at(rooms_sim, 1.5, -1.5, sofa)], 6)
    assert values.shape == (1, 2, 6) and values[0, 0].max() > 0.9 > values[0, 1].max()


def test_a_batch_is_the_frames_one_by_one(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    frames = around(rooms_sim)
    one, other = SimulatedEncoder(), SimulatedEncoder()
    begin(one, episode, rooms_sim)
    begin(other, episode, rooms_sim)
    batch = one.similarity(frames, 6)
    assert batch.shape == (len(frames), len(episode.goals), 6)
    assert np.array_equal(batch, np.concatenate([other.similarity([f], 6) for f in frames]))
    assert not np.array_equal(one.similarity(frames, 6), batch)  # a second look is another look


def test_name_vectors_are_as_alike_as_the_names() -> None:
    names, table = similarity_table()
    vectors = np.array([name_vector(name) for name in names])
    assert vectors.shape == (len(names), SIZE) and np.allclose((vectors**2).sum(1), 1)
    pairs = np.triu_indices(len(names), 1)
    assert np.corrcoef((vectors @ vectors.T)[pairs], table[pairs] / 255)[0, 1] > 0.8
    sofa, couch, fridge = (name_vector(n) for n in ("sofa", "couch", "refrigerator"))
    assert sofa @ couch > 0.9 > sofa @ fridge


def test_name_vectors_of_names_outside_the_table() -> None:
    assert "zorb lamp" not in similarity_table()[0]
    lamp = name_vector("zorb lamp")
    assert np.linalg.norm(lamp) == pytest.approx(1.0)
    assert lamp @ name_vector("table lamp") > 0.8 > lamp @ name_vector("refrigerator")
    assert not name_vector("zorb").any() and TextSimilarity()("zorb", "sofa") == 0


def test_embeddings_stand_for_the_category(episode: Episode, rooms_sim: EmbeddedSimulator) -> None:
    ids = [things(rooms_sim, name)[0].id for name in ("sofa", "refrigerator")]
    goals = goal("ON", "sofa", ids[0]), goal("IIN", "sofa", ids[0]), goal("ON", "zorb", ids[1])
    quiet = SimulatedEncoder(QUIET)
    begin(quiet, episode, rooms_sim, *goals)
    exact = quiet.embeddings()
    assert exact.dtype == np.float32 and exact.shape == (3, SIZE)
    assert np.array_equal(exact[0], exact[1]) and np.allclose(exact[0], name_vector("sofa"))
    assert not exact[2].any()  # a name like no other
    noisy = [SimulatedEncoder() for _ in range(3)]
    for encoder, seed in zip(noisy, (1, 1, 2)):
        begin(encoder, episode, rooms_sim, *goals, seed=seed)
    first, again, other = (encoder.embeddings() for encoder in noisy)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.allclose(np.linalg.norm(first[:2], axis=1), 1) and not first[2].any()
    assert 0.8 < first[0] @ exact[0] < 0.999 and not np.array_equal(first[0], first[1])  # a goal's own error
    frames = around(rooms_sim)
    noisy[0].similarity(frames, 6)
    assert np.array_equal(noisy[0].embeddings(), first)  # looking does not change it
