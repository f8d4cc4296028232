"""An episode played back from its record: the scene, the frames at the recorded poses, the map over time.

Nothing is decided again: no policy, no recogniser. Depth for the map is rendered with the camera's field of
view that the record names, at no more than `MAP_ROWS` rows; the run itself may have used more pixels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hm3dm3_env.episodes.goals import photo_camera
from hm3dm3_env.episodes.scene_check import check_scene
from hm3dm3_env.episodes.schema import Episode, load_split
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import MapConfig, SharedMap
from hm3dm3_env.record import EpisodeRecord, RecordError
from hm3dm3_env.scenes.hm3dsem import Instance
from hm3dm3_env.shared import SharedState, TeamGoal
from hm3dm3_env.sim.base import Body, Camera, Frame
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.task import TaskConfig

MAP_ROWS = 128
EYES = Camera(width=180, height=320)
"""What the robots' views are rendered with: the benchmark's field of view at half its size."""
GOAL_SIDE = 160
"""Side of a goal's picture, pixels."""


class Replay:
    """A record with its episode and scene.

    Attributes:
        record, episode: what was played, and the truth about it.
        sim: the embedded simulator with the scene loaded.
        goals: (M,) as the team saw them, image goals rendered.
        poses: [step][agent], step 0 is the start.
        alive: [step][agent] bool, by the benchmark's default budgets (a record doesn't store them).
    """

    def __init__(self, record: EpisodeRecord, data: Path | str, sim: EmbeddedSimulator | None = None) -> None:
        """Load the episode.

        Raises:
            RecordError: the record contradicts itself or the episode.
            EpisodeError, SceneError: the data are missing or broken.
        """
        table = _pose_table(record)
        self.record = record
        self.episode = _episode(record, data)
        _check_declarations(record)
        self.sim = sim or EmbeddedSimulator()
        self.sim.load(self.episode.scene)
        check_scene(self.episode, self.sim.scene)
        self.poses = [[Pose(x, record.floor_height, z, heading, pitch) for x, z, heading, pitch in row]
                      for row in table.tolist()]
        self.alive = _alive(table, record.makespan, TaskConfig())
        self.goals = [TeamGoal(goal.modality, goal.text, self._picture(j))
                      for j, goal in enumerate(self.episode.goals)]
        self._map_frames: list[list[Frame]] | None = None

    @property
    def steps(self) -> int:
        """Lockstep steps played."""
        return self.record.steps

    def _picture(self, goal: int) -> np.ndarray | None:
        image = self.episode.goals[goal].image
        if image is None:
            return None
        pose, camera = photo_camera(image, GOAL_SIDE)
        return self.sim.render([pose], camera)[0].rgb

    def moved(self, step: int) -> list[int]:
        """The robots whose pose differs from the step before (all of them at step 0)."""
        now = self.poses[step]
        return [k for k in range(len(now)) if step == 0 or now[k] != self.poses[step - 1][k]]

    def frames(self, step: int, camera: Camera = EYES, agents: list[int] | None = None) -> list[Frame]:
        """Colour frames at a step, of all robots or of some."""
        poses = [self.poses[step][k] for k in (range(self.record.agents) if agents is None else agents)]
        return self.sim.render(poses, camera) if poses else []

    def new_map(self) -> SharedMap:
        """An empty shared map, centred as in the run."""
        center = np.mean([p.position for p in self.poses[0]], 0)
        return SharedMap(MapConfig(), center, self.record.floor_height)

    def explore(self, shared_map: SharedMap, step: int) -> None:
        """Fold what the robots saw anew at a step into the map."""
        if self._map_frames is None:
            camera = map_camera(self.record.camera)
            self._map_frames = [
                self.sim.render([self.poses[s][k] for k in self.moved(s)], camera, rgb=False)
                if self.moved(s) else [] for s in range(len(self.poses))]
        for frame in self._map_frames[step]:
            shared_map.update(frame)
            shared_map.mark_free(frame.pose.position, self.sim.body.radius)

    def map_at(self, step: int) -> SharedMap:
        """The shared map after a step."""
        shared_map = self.new_map()
        for s in range(step + 1):
            self.explore(shared_map, s)
        return shared_map

    def state(self, step: int, frames: list[Frame], shared_map: SharedMap) -> SharedState:
        """What the team knew at a step."""
        declared = {d["goal"] for d in self.record.declarations if d["step"] <= step}
        unresolved = [j not in declared for j in range(len(self.goals))]
        left = [max(TaskConfig().max_actions - step, 0)] * self.record.agents
        return SharedState(self.goals, unresolved, self.poses[step], self.alive[step], frames, shared_map,
                           left, step, EYES, Body())

    def status(self, step: int) -> dict[int, str]:
        """Words for each goal at a step: found, wrong, who goes for it (if the method told), or looking."""
        assigned: list[int | None] = []
        for entry in self.record.method_record.get("assignments", []):
            if isinstance(entry, dict) and entry.get("step", step + 1) <= step:
                assigned = entry.get("goals", [])
        words, idle = {}, "looking" if step < self.steps else "never declared"
        for j in range(len(self.goals)):
            going = [f"R{k}" for k, goal in enumerate(assigned) if goal == j and self.alive[step][k]]
            words[j] = f"{' and '.join(going)} on the way" if going and step < self.steps else idle
        for d in self.record.declarations:
            if d["step"] <= step:
                words[d["goal"]] = f"{outcome(d)} by R{d['agent']}, step {d['step']}"
        return words

    def acceptable(self, goal: int) -> list[Instance]:
        """The instances that count for a goal."""
        instances = self.sim.scene.instances
        return [instances[i] for i in self.episode.goals[goal].acceptable if i in instances]


def outcome(declaration: dict) -> str:
    """"found", or "wrong" with how far the nearest place that counts was."""
    if declaration["right"]:
        return "found"
    distance = declaration["distance"]
    return "wrong (out of reach)" if distance is None else f"wrong ({distance:.1f} m off)"


def map_camera(text: str) -> Camera:
    """The camera of a record ("360x640@42") with at most `MAP_ROWS` rows.

    Raises:
        RecordError: not such a text.
    """
    try:
        size, hfov = text.split("@")
        width, height = (int(v) for v in size.split("x"))
        shrink = min(1.0, MAP_ROWS / height)
        return Camera(max(round(width * shrink), 1), round(height * shrink), float(hfov))
    except (ValueError, ZeroDivisionError) as error:
        raise RecordError(f"camera: {text!r} is not <width>x<height>@<degrees>") from error


def _pose_table(record: EpisodeRecord) -> np.ndarray:
    """(steps + 1, K, 4) x, z, heading, pitch."""
    shape = (record.steps + 1, record.agents, 4)
    try:
        table = np.array(record.poses, float)
    except (TypeError, ValueError) as error:
        raise RecordError(f"record of episode {record.episode}: poses: {error}") from error
    if table.shape != shape or not np.isfinite(table).all():
        raise RecordError(f"record of episode {record.episode}: poses: expected numbers of shape {shape} "
                          f"(steps + 1, agents, 4), not {table.shape}")
    return table


def _check_declarations(record: EpisodeRecord) -> None:
    for d in record.declarations:
        try:
            fits = (0 <= d["step"] <= record.steps and 0 <= d["agent"] < record.agents
                    and 0 <= d["goal"] < len(record.goals) and "distance" in d and "right" in d)
        except (TypeError, KeyError):
            fits = False
        if not fits:
            raise RecordError(f"record of episode {record.episode}: declarations: {d!r} needs step, agent, "
                              "goal, right and distance that fit the episode")


def _episode(record: EpisodeRecord, data: Path | str) -> Episode:
    episodes = load_split(data, record.split, {record.scene})
    found = next((e for e in episodes if e.id == record.episode), None)
    if found is None:
        raise RecordError(f"record: episode {record.episode!r} of scene {record.scene!r} is not in split "
                          f"{record.split!r} of {data}; is this the data that it was played on?")
    same = [(g.modality, g.text, g.object_id) for g in found.goals] == [
        (g.get("modality"), g.get("text"), g.get("object_id")) for g in record.goals]
    if not same or len(found.starts) != record.agents:
        raise RecordError(f"record: episode {record.episode!r} has other goals or robots in split "
                          f"{record.split!r} of {data}; was the split generated again since?")
    return found


def _alive(table: np.ndarray, makespan: float, task: TaskConfig) -> list[list[bool]]:
    """Who had budget left at each step."""
    walked = np.hypot(*np.moveaxis(np.diff(table[..., :2], axis=0), -1, 0)).cumsum(0)
    path = np.vstack([np.zeros((1, table.shape[1])), walked])
    left = path < task.budget_factor * makespan - 0.01  # poses are rounded to 0.1 mm
    return [[bool(v) and step < task.max_actions for v in row] for step, row in enumerate(left)]
