"""Pictures and videos of an episode from its record; nothing is run again but rendering.

    python -m hm3dm3_env.render.replay record=out/records/e.json data=data out=out/pictures
    python -m hm3dm3_env.render.replay record=e.json data=data out=pictures video=true every=2

The same record and data give the same bytes of a picture; a video also depends on the ffmpeg that encodes it.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image
from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.files import data_root, write_atomic
from hm3dm3_env.record import EpisodeRecord, load_record
from hm3dm3_env.render import floorplan
from hm3dm3_env.render.panels import MapView, draw, known_bounds, verdict
from hm3dm3_env.render.playback import EYES, Replay


@dataclass(frozen=True)
class ReplayConfig:
    """What to draw of a record."""

    record: str = ""
    """The EpisodeRecord, a .json file."""
    data: str = "data"
    """Root of scenes/ and episodes/ that it was played on (HM3DM3_DATA overrides the default)."""
    out: str = "out/pictures"
    """Folder for <method>-<episode>.png and .mp4."""
    picture: bool = True
    """The whole episode from above."""
    video: bool = False
    """Every step, with what the robots see."""
    fps: int = 8
    every: int = 2
    """Show every n-th step of those in which something happens."""
    max_frames: int | None = None
    """Stop after so many frames."""

    def __post_init__(self) -> None:
        if self.fps < 1 or self.every < 1 or (self.max_frames is not None and self.max_frames < 1):
            raise ValueError("replay: fps, every and max_frames must be at least 1")


def topdown(record: EpisodeRecord, data: Path | str) -> np.ndarray:
    """(H, W, 3) uint8: one picture of the whole episode, with a legend.

    Raises:
        RecordError: the record contradicts itself or the episode.
        EpisodeError, SceneError: the data are missing or broken.
    """
    return floorplan.still(Replay(record, data))


def video(record: EpisodeRecord, data: Path | str, path: Path | str, fps: int = 8, every: int = 2,
          max_frames: int | None = None) -> int:
    """Write an mp4 (H.264, yuv420p) and return its number of frames. See `topdown` for errors.

    Steps in which nobody moves or declares are left out; of the rest every `every`-th is shown, and always
    the first, the last, and those with a declaration.
    """
    replay = Replay(record, data)
    steps = shown_steps(replay, every)[:max_frames]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp.mp4")
    try:
        writer = None
        bar = tqdm(_images(replay, steps), total=len(steps), desc=f"video {record.episode}", unit="frame")
        for image in bar:
            if writer is None:
                writer = imageio_ffmpeg.write_frames(
                    str(temporary), (image.shape[1], image.shape[0]), fps=fps, codec="libx264",
                    pix_fmt_out="yuv420p", macro_block_size=2, quality=None, ffmpeg_log_level="error",
                    output_params=["-preset", "veryfast", "-crf", "23", "-threads", "1",
                                   "-movflags", "+faststart", "-map_metadata", "-1", "-fflags", "+bitexact",
                                   "-flags:v", "+bitexact"])
                writer.send(None)
            writer.send(np.ascontiguousarray(image))
        if writer is not None:
            writer.close()
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return len(steps)


def shown_steps(replay: Replay, every: int) -> list[int]:
    """The steps that a video shows."""
    declared = {d["step"] for d in replay.record.declarations}
    busy = [s for s in range(replay.steps + 1) if s in declared or replay.moved(s)]
    return sorted({*busy[::every], *declared, 0, replay.steps})


def _images(replay: Replay, steps: list[int]) -> Iterator[np.ndarray]:
    """The panels of each step; the map's window is that of the end, so that it doesn't jump."""
    record = replay.record
    bounds = known_bounds(replay.map_at(steps[-1]))
    shared_map, done, frames = replay.new_map(), -1, replay.frames(0)
    for step in steps:
        for s in range(done + 1, step + 1):
            replay.explore(shared_map, s)
        stale = [k for k in range(record.agents) if frames[k].pose != replay.poses[step][k]]
        for k, frame in zip(stale, replay.frames(step, EYES, stale)):
            frames[k] = frame
        done = step
        view = MapView(shared_map, bounds=bounds)
        declared = {d["goal"]: d for d in record.declarations if d["step"] <= step}
        for j in range(len(replay.goals)):
            for item in replay.acceptable(j):
                view.box(item.low[[0, 2]], item.high[[0, 2]], j, solid=j not in declared)
        for d in declared.values():
            pose = replay.poses[d["step"]][d["agent"]]
            verdict(view.draw, *view.xy(pose.x, pose.z), d["right"], 24)
        title = "     ".join((record.method, f"step {step} of {record.steps}", record.episode,
                             f"recogniser: {record.recogniser}"))
        yield draw(replay.state(step, list(frames), shared_map), record.poses[: step + 1], view,
                   replay.status(step), title)


def png_bytes(image: np.ndarray) -> bytes:
    """A PNG; equal pictures give equal bytes."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def replay(config: ReplayConfig) -> list[Path]:
    """Draw what is asked for, and return the files.

    Raises:
        ValueError: no record was named, or nothing is asked for. Otherwise as `topdown`.
    """
    if not config.record:
        raise ValueError("record: name a record file, e.g. record=out/records/episode.json")
    if not (config.picture or config.video):
        raise ValueError("nothing to draw: picture and video are both false")
    record, data = load_record(config.record), data_root(config.data)
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{record.method}-{record.episode}")
    files = []
    if config.picture:
        files.append(Path(config.out) / f"{name}.png")
        write_atomic(files[-1], png_bytes(topdown(record, data)))
    if config.video:
        files.append(Path(config.out) / f"{name}.mp4")
        video(record, data, files[-1], config.fps, config.every, config.max_frames)
    for path in files:
        print(path)
    return files


main = command(ReplayConfig, "replay", replay)

if __name__ == "__main__":
    main()
