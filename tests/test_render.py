"""Pictures and videos from records: they show something, repeat byte for byte, and refuse what is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from hm3dm3_env.env import HM3DM3ParallelEnv
from hm3dm3_env.episodes.schema import EpisodeError
from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.render import replay as replay_module
from hm3dm3_env.render.panels import MAP, PANEL, draw, font, wrap_text
from hm3dm3_env.render.playback import Replay, map_camera
from hm3dm3_env.render.replay import ReplayConfig, png_bytes, shown_steps, topdown, video
from hm3dm3_env.task import declare

STEPS = 12


@pytest.fixture(scope="module")
def record(data: Path) -> EpisodeRecord:
    """A short walk in the two rooms: robots turn and move, one waits, one goal is declared."""
    from hm3dm3_env.env import parallel_env

    env = parallel_env(split="rooms", data=str(data), camera={"width": 36, "height": 64},
                       observation={"keys": ["pose"]})
    env.begin(next(e for e in env.episodes if any(g.image is not None for g in e.goals)))
    rng = np.random.default_rng(3)
    for step in range(STEPS):
        moves = [int(rng.choice([1, 1, 2, 3])) for _ in env.poses]
        env.advance([0] * len(moves) if step in (4, 5) else [declare(0), *moves[1:]] if step == 8 else moves)
    assignments = [{"step": 0, "event": "idle", "goals": [1, *[None] * (len(env.poses) - 1)]}]
    return env.record("walk", 0, method_record={"assignments": assignments})


def test_topdown_shows_something(record: EpisodeRecord, data: Path) -> None:
    image = topdown(record, data)
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
    assert image.shape[0] >= 400 and image.shape[1] >= 900 and image.std() > 20
    colors = {tuple(c) for c in np.unique(image.reshape(-1, 3), axis=0)}
    assert (214, 39, 40) in colors  # the first robot's trail


def test_topdown_repeats(record: EpisodeRecord, data: Path) -> None:
    assert png_bytes(topdown(record, data)) == png_bytes(topdown(record, data))


def test_topdown_follows_the_record(record: EpisodeRecord, data: Path) -> None:
    turned = [{**d, "right": not d["right"], "distance": 2.0} for d in record.declarations]
    assert record.declarations
    other = topdown(replace(record, declarations=turned), data)
    assert other.shape != topdown(record, data).shape or (other != topdown(record, data)).any()


def test_replay_sees_what_the_run_saw(record: EpisodeRecord, data: Path,
                                      make_env: Callable[..., HM3DM3ParallelEnv]) -> None:
    env = make_env()
    episode = next(e for e in env.episodes if e.id == record.episode)
    env.begin(episode)
    for names in record.actions:
        env.advance([0 if n == "wait" else ("move_forward", "turn_left", "turn_right").index(n) + 1
                     if "declare" not in n else declare(0) for n in names])
    seen = Replay(record, data).map_at(record.steps)
    assert np.allclose(seen.origin, env.map.origin) and seen.explored_area() > 1
    known = env.map.cells > 0  # it renders more rows than the run did, so that borders differ
    assert (seen.cells != env.map.cells).sum() < 0.05 * known.sum()


def test_status_over_time(record: EpisodeRecord, data: Path) -> None:
    played = Replay(record, data)
    assert played.status(0)[0] == "looking" and played.status(0)[1] == "R0 on the way"
    first = record.declarations[0]
    assert played.status(first["step"] - 1)[0] == "looking"
    assert played.status(first["step"])[0].startswith("found" if first["right"] else "wrong")
    assert played.status(record.steps)[2] == "never declared"
    assert all(all(row) for row in played.alive)


def test_video(record: EpisodeRecord, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.mp4"
    frames = video(record, data, path, fps=8, every=1)
    assert frames == len(shown_steps(Replay(record, data), 1)) == STEPS + 1 - 2  # two steps of waiting
    with imageio.get_reader(path) as reader:
        meta, images = reader.get_meta_data(), [image for image in reader]
    assert len(images) == frames and meta["fps"] == 8 and meta["codec"] == "h264"
    assert images[0].shape[0] % 2 == 0 and images[0].shape[1] == MAP + PANEL
    assert images[0].std() > 20 and (images[0] != images[-1]).any()
    assert [p.name for p in path.parent.iterdir()] == ["a.mp4"]
    again = tmp_path / "b.mp4"
    video(record, data, again, fps=8, every=1)
    assert again.read_bytes() == path.read_bytes()


def test_video_thinned(record: EpisodeRecord, data: Path, tmp_path: Path) -> None:
    played = Replay(record, data)
    steps = shown_steps(played, 4)
    assert steps[0] == 0 and steps[-1] == record.steps and record.declarations[0]["step"] in steps
    assert len(steps) < len(shown_steps(played, 1))
    assert video(record, data, tmp_path / "c.mp4", every=4, max_frames=2) == 2


def test_a_failed_video_leaves_nothing(record: EpisodeRecord, data: Path, tmp_path: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def broken(*args: object, **keywords: object) -> np.ndarray:
        calls.append(1)
        if len(calls) > 2:
            raise RuntimeError("stop")
        return draw(*args, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(replay_module, "draw", broken)
    with pytest.raises(RuntimeError, match="stop"):
        video(record, data, tmp_path / "d.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episode": "nobody"}, "'nobody' of scene .* is not in split"),
        ({"poses": [[[0.0, 0.0, 0.0, 0.0]]]}, "poses: expected numbers of shape"),
        ({"poses": "none"}, "poses: "),
        ({"declarations": [{"step": 1, "agent": 9, "goal": 0, "right": True, "distance": 0}]}, "needs step"),
        ({"declarations": [{}]}, "declarations: {} needs step"),
        ({"camera": "big"}, "camera: 'big'"),
        ({"goals": []}, "has other goals or robots"),
    ],
)
def test_records_that_do_not_fit(record: EpisodeRecord, data: Path, change: dict, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        topdown(replace(record, **change), data)


def test_missing_data(record: EpisodeRecord, tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="no such file; make the split"):
        topdown(record, tmp_path)


def test_map_camera_is_small() -> None:
    camera = map_camera("360x640@42")
    assert (camera.width, camera.height, camera.hfov_deg) == (72, 128, 42.0)
    assert map_camera("36x64@42").width == 36


def test_config_refuses(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        ReplayConfig(every=0)
    with pytest.raises(ValueError, match="name a record file"):
        replay_module.replay(ReplayConfig())
    with pytest.raises(ValueError, match="nothing to draw"):
        replay_module.replay(ReplayConfig(record="x.json", picture=False))


def test_wrap_text() -> None:
    face = font(17)
    lines = wrap_text("the very long description of a thing in a room " * 4, face, 200, 2)
    assert len(lines) == 2 and lines[1].endswith("…") and all(face.getlength(line) <= 200 for line in lines)
    assert wrap_text("short", face, 200, 2) == ["short"]
    assert face.getlength(wrap_text("x" * 200, face, 200, 2)[0]) <= 200


def test_command_line(record: EpisodeRecord, data: Path, tmp_path: Path) -> None:
    record.save(tmp_path / "e.json")
    command = [sys.executable, "-m", "hm3dm3_env.render.replay", f"data={data}", f"out={tmp_path / 'out'}"]
    done = subprocess.run([*command, f"record={tmp_path / 'e.json'}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in (tmp_path / "out").iterdir()] == [f"walk-{record.episode}.png"]
    (tmp_path / "bad.json").write_text("{")
    for name, message in (("bad.json", "not a readable record"), ("none.json", "no such record")):
        failed = subprocess.run([*command, f"record={tmp_path / name}"], capture_output=True, text=True)
        assert failed.returncode == 2 and message in failed.stderr and "Traceback" not in failed.stderr
