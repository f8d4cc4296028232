"""The benchmark as a PettingZoo ParallelEnv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from hm3dm3_env.cli import build
from hm3dm3_env.config import EnvConfig
from hm3dm3_env.episodes.generate import GenerateConfig, generate
from hm3dm3_env.episodes.goals import photo_camera
from hm3dm3_env.episodes.scene_check import check_scene
from hm3dm3_env.episodes.schema import Episode, load_split
from hm3dm3_env.files import data_root
from hm3dm3_env.geometry import Pose
from hm3dm3_env.mapping import SharedMap
from hm3dm3_env.observe import FAR, goal_arrays, observation_space, observe, pose_vector
from hm3dm3_env.record import RECORD_VERSION, EpisodeRecord
from hm3dm3_env.render.panels import draw
from hm3dm3_env.shared import Privileged, SharedState, TeamGoal
from hm3dm3_env.sim.base import Frame, Simulator
from hm3dm3_env.sim.make import make_simulator
from hm3dm3_env.task import ACTIONS, MAX_GOALS, WAIT, Rules

_COARSE = 32


class HM3DM3ParallelEnv(ParallelEnv):
    """A team of robots looks for several goals, given as categories, descriptions and images, in one house.

    ## Action space
    `Discrete(11)` a robot: 0 wait, 1 move_forward (0.25 m), 2 turn_left, 3 turn_right (30 degrees), 4
    look_up, 5 look_down (30 degrees), 6 + j declare goal j. `infos[robot]["action_mask"]` says which make
    sense now; an illegal action counts as wait.

    ## Observation space
    | key | shape | dtype | content |
    |---|---|---|---|
    | rgb | H, W, 3 | uint8 | the robot's colour frame |
    | depth | H, W, 1 | float32 | planar depth in metres, 0 where there is none in 0.5-5 m |
    | pose | 5 | float32 | x, y, z (m), heading, pitch (rad) |
    | alive | 1 | float32 | whether the robot may still act |
    | team_poses, team_alive | N, 5 and N | float32 | the same for the whole team |
    | map | S, S, 3 | uint8 | crop of the shared map, robot in the middle facing up: free, occupied, unknown |
    | goal_modality | 5, 3 | float32 | one-hot ON, TN, IIN; zeros where there is no goal |
    | goal_text | 5, B | uint8 | UTF-8 bytes of the category or description |
    | goal_image | S, 5 S, 3 | uint8 | images of image goals, side by side |
    | goal_unresolved | 5 | float32 | whether the goal is still on the list |

    ## Rewards
    `TaskConfig.reward`, the same for every robot that was alive, 0 for the others. It tells verdicts, so
    policies under evaluation don't get it.

    ## Episode end
    Everybody ends on the same step: terminated when every goal is declared, truncated when every robot has
    spent 500 actions or walked 3 d*, or after `max_cycles`. A robot out of budget stays, not alive, and can
    only wait.

    ## Arguments
    The fields of `EnvConfig` as keywords (nested ones as dicts), and `render_mode` (None or "rgb_array").
    `reset(options={"episode": id, "scene": folder name, "num_agents": k})` chooses; unknown options are
    ignored.
    """

    metadata: dict[str, Any] = {
        "name": "hm3d_m3_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 8,
        "is_parallelizable": True,
    }

    def __init__(self, config: EnvConfig | None = None, render_mode: str | None = None) -> None:
        self.config = config or EnvConfig()
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        if not 1 <= self.config.max_agents <= 8:
            raise ValueError(f"max_agents must be 1 to 8, not {self.config.max_agents}")
        if self.config.max_cycles is not None and self.config.max_cycles < 1:
            raise ValueError(f"max_cycles must be at least 1, not {self.config.max_cycles}")
        self.render_mode = render_mode
        self.max_cycles = self.config.max_cycles
        self.possible_agents = [f"robot_{k}" for k in range(self.config.max_agents)]
        self.agents: list[str] = []
        self._observation_spaces = {
            name: observation_space(self.config.observation, self.config.camera, self.config.max_agents)
            for name in self.possible_agents}
        self._action_spaces = {name: spaces.Discrete(len(ACTIONS)) for name in self.possible_agents}
        size = self.config.max_agents * 7 + MAX_GOALS + 2 * _COARSE**2
        self.state_space = spaces.Box(-FAR, FAR, (size,), np.float32)
        self.episode: Episode | None = None
        self._rng: np.random.Generator | None = None
        self._sim: Simulator | None = None
        self._frames: list[Frame] = []

    # -- spaces --------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same object for a robot for ever."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The same object for a robot for ever."""
        return self._action_spaces[agent]

    # -- episodes ------------------------------------------------------------------------------------------

    @property
    def episodes(self) -> list[Episode]:
        """All episodes of the split, in order."""
        return _episodes(data_root(self.config.data), self.config.split)

    @property
    def sim(self) -> Simulator:
        """The simulator with the episode's scene loaded; made again after unpickling."""
        if self._sim is None:
            sim = make_simulator(self.config.sim, self.config.body)
            if self.episode is not None:
                sim.load(self.episode.scene)
            self._sim = sim
        return self._sim

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode: the one asked for in `options`, else one drawn with the environment's own
        generator.

        Raises:
            ValueError: no episode of the split fits the options.
            EpisodeError, SceneError: files are missing or broken.
            SimulatorDied: the simulator's process ended; the next reset starts a new one.
        """
        if seed is not None or self._rng is None:
            self._rng = np.random.default_rng(seed)
        episode = self._choose(options or {})
        self.begin(episode)
        return self.observations(), self._infos()

    def begin(self, episode: Episode) -> None:
        """Start a given episode without building observations."""
        if len(episode.starts) > self.config.max_agents or len(episode.goals) > MAX_GOALS:
            raise ValueError(
                f"episode {episode.id} has {len(episode.starts)} agents and {len(episode.goals)} goals; "
                f"this environment takes at most {self.config.max_agents} and {MAX_GOALS}"
            )
        self.episode = episode
        self.sim.load(episode.scene)
        check_scene(episode, self.sim.scene)
        self.agents = list(self.possible_agents)
        self.poses = list(episode.starts)
        self.rules = Rules(self.config.task, len(self.poses), len(episode.goals), episode.makespan)
        self.map = SharedMap(
            self.config.map, np.mean([p.position for p in self.poses], 0), episode.floor_height
        )
        self._goals, self._goal_arrays = self._present(episode)
        self._log_poses, self._log_actions = [self._pose_row()], []  # type: list[list[list[float]]], list[list[str]]
        self._frames = []
        self._gaps = self._nearest()
        self._look()

    def _choose(self, options: Mapping[str, Any]) -> Episode:
        wanted = {
            key: options[key] for key in ("episode", "scene", "num_agents") if options.get(key) is not None
        }
        tests = {
            "episode": lambda e: e.id,
            "scene": lambda e: e.scene.name,
            "num_agents": lambda e: len(e.starts),
        }
        fitting = [e for e in self.episodes if all(tests[key](e) == value for key, value in wanted.items())
                   and len(e.starts) <= self.config.max_agents]
        if not fitting:
            raise ValueError(
                f"split {self.config.split!r} has no episode with {wanted or 'at most max_agents robots'}"
            )
        assert self._rng is not None
        return fitting[int(self._rng.integers(len(fitting)))]

    def _present(self, episode: Episode) -> tuple[list[TeamGoal], dict[str, np.ndarray]]:
        """The goals as the team sees them; an image goal is rendered at the team's size and the
        observations'."""
        side = self.config.observation.image_size
        goals: list[TeamGoal] = []
        small: list[np.ndarray | None] = []
        for goal in episode.goals:
            photos: dict[int, np.ndarray | None] = {}
            for size in {side, self.config.goal_image or side}:
                if goal.image is None:
                    break
                pose, camera = photo_camera(goal.image, size)
                photos[size] = self.sim.render([pose], camera)[0].rgb
            small.append(photos.get(side))
            goals.append(TeamGoal(goal.modality, goal.text, photos.get(self.config.goal_image or side)))
        return goals, goal_arrays(self.config.observation, episode.goals, small)

    # -- stepping ------------------------------------------------------------------------------------------

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """One lockstep step; actions may be ints or 0-d arrays, missing ones count as wait."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        acting = dict(zip(self.agents, self.rules.alive))  # robots beyond this episode's K are not in it
        reward = self.advance([int(actions.get(name, WAIT)) for name in self.agents])
        resolved = self.rules.resolved
        cut = not resolved and (
            self.rules.over or (self.max_cycles is not None and self.rules.steps >= self.max_cycles)
        )
        live = self.agents
        results = (
            self.observations(),
            {name: float(reward) if acting.get(name) else 0.0 for name in live},
            {name: bool(resolved) for name in live},
            {name: bool(cut) for name in live},
            self._infos(),
        )
        if resolved or cut:
            self.agents = []
        return results

    def advance(self, actions: list[int]) -> float:
        """Play (at least K) action numbers without building observations; returns the team's reward."""
        rules = self.rules
        names = [rules.effective(k, actions[k]) for k in range(len(self.poses))]
        before = list(self.poses)
        for k, name in enumerate(names):
            if not name.startswith("declare_"):
                self.poses[k] = self._move(k, name)
        moved = [float(np.hypot(a.x - b.x, a.z - b.z)) for a, b in zip(before, self.poses)]
        reward = rules.advance(names, moved, self._distance)
        self._log_poses.append(self._pose_row())
        self._log_actions.append(names)
        self._look()
        return reward + self._shaping()

    def _move(self, agent: int, name: str) -> Pose:
        pose = self.sim.navigator.step(self.poses[agent], name)
        if self.config.task.agent_collisions and name == "move_forward":
            others = [p for k, p in enumerate(self.poses) if k != agent]
            if any(np.hypot(pose.x - p.x, pose.z - p.z) < 2 * self.config.body.radius for p in others):
                return self.poses[agent]
        return pose

    def _distance(self, agent: int, goal: int) -> float:
        assert self.episode is not None
        return float(
            self.sim.navigator.distance(self.poses[agent].position[None], self.episode.viewpoints[goal])[0]
        )

    def _shaping(self) -> float:
        if not self._gaps:
            return 0.0
        last, self._gaps = self._gaps, self._nearest()
        gains = [last[j] - self._gaps[j] for j, still in enumerate(self.rules.unresolved) if still]
        gained = sum(gain for gain in gains if np.isfinite(gain))
        return self.config.task.reward.shaping * gained / len(last)

    def _nearest(self) -> list[float]:
        """(M,) the nearest robot's geodesic metres to each goal; empty where shaping is off."""
        reward = self.config.task.reward
        if not reward.shaping or reward.kind != "team" or self.episode is None:
            return []
        points = np.stack([p.position for p in self.poses])
        return [float(self.sim.navigator.distance(points, v).min()) for v in self.episode.viewpoints]

    def _look(self) -> None:
        """Render who moved, and fold the new frames into the map."""
        last = {k: f for k, f in enumerate(self._frames)}
        moved = [k for k, pose in enumerate(self.poses) if k not in last or last[k].pose != pose]
        want_rgb = "rgb" in self.config.observation.keys or self.render_mode is not None
        fresh = (
            self.sim.render(
                [self.poses[k] for k in moved], self.config.camera, want_rgb, self.config.semantic
            )
            if moved
            else []
        )
        for k, frame in zip(moved, fresh):
            last[k] = frame
            self.map.update(frame)
            self.map.mark_free(frame.pose.position, self.config.body.radius)
        self._frames = [last[k] for k in range(len(self.poses))]

    def _pose_row(self) -> list[list[float]]:
        return [[round(v, 4) for v in (p.x, p.z, p.heading, p.pitch)] for p in self.poses]

    # -- what it hands out ---------------------------------------------------------------------------------

    @property
    def frames(self) -> list[Frame]:
        """(K,) the robots' current frames."""
        if not self._frames and self.episode is not None:
            self._look()
        return self._frames

    @property
    def shared(self) -> SharedState:
        """What the team knows now; the map is the live one."""
        rules = self.rules
        left = [self.config.task.max_actions - spent for spent in rules.actions]
        return SharedState(
            self._goals,
            list(rules.unresolved),
            list(self.poses),
            list(rules.alive),
            [replace(frame, semantic=None) for frame in self.frames],
            self.map,
            left,
            rules.steps,
            self.config.camera,
            self.config.body,
        )

    @property
    def privileged(self) -> Privileged:
        """The truth of this episode, for privileged methods and simulated recognisers."""
        assert self.episode is not None
        return Privileged(self.episode, self.sim, self._labels)

    def _labels(self, frame: Frame) -> np.ndarray | None:
        return next((mine.semantic for mine in self.frames if mine.depth is frame.depth), frame.semantic)

    def observations(self) -> dict[str, Any]:
        """The observation of every robot now, in fresh arrays."""
        frames = dict(enumerate(self.frames))
        return {
            name: observe(
                self.config.observation,
                k,
                len(self.possible_agents),
                frames.get(k),
                self.config.camera,
                self.poses,
                self.rules.alive,
                self.rules.unresolved,
                self.map,
                self._goal_arrays,
            )
            for k, name in enumerate(self.agents)
        }

    def _infos(self) -> dict[str, Any]:
        rules, infos = self.rules, {}
        for k, name in enumerate(self.agents):
            here = k < len(self.poses)
            mask = rules.legal(k) if here else [1] + [0] * (len(ACTIONS) - 1)
            left = self.config.task.max_actions - rules.actions[k] if here else 0
            infos[name] = {
                "action_mask": np.array(mask, np.int8),
                "actions_left": int(left),
                "step": int(rules.steps),
            }
        return infos

    def state(self) -> np.ndarray:
        """(S,) float32 for centralised critics: poses, who is alive, actions left, goals left, and a coarse
        map."""
        count, team = len(self.possible_agents), np.zeros((len(self.possible_agents), 7), np.float32)
        left = np.zeros(MAX_GOALS, np.float32)
        coarse = np.zeros((_COARSE, _COARSE, 2), np.float32)
        if self.episode is not None:
            for k, pose in enumerate(self.poses):
                share = 1 - self.rules.actions[k] / self.config.task.max_actions
                team[k] = [*pose_vector(pose), self.rules.alive[k], share]
            left[: len(self.rules.unresolved)] = self.rules.unresolved
            side = len(self.map.cells) // _COARSE
            blocks = self.map.cells[: side * _COARSE, : side * _COARSE].reshape(_COARSE, side, _COARSE, side)
            coarse = np.stack([(blocks == 1).mean((1, 3)), (blocks == 2).mean((1, 3))], -1).astype(np.float32)
        return np.concatenate([team.reshape(count * 7), left, coarse.ravel()])

    def render(self) -> np.ndarray | None:
        """(H, W, 3) uint8: what every robot sees, and the map from above; None without a render mode."""
        if self.render_mode is None or self.episode is None:
            return None
        return draw(self.shared, self._log_poses)

    def record(self, method: str, seed: int, privileged: bool = False, recogniser: str = "none",
               method_record: dict[str, Any] | None = None, encoder: str = "none") -> EpisodeRecord:
        """The EpisodeRecord of what was played so far."""
        assert self.episode is not None
        rules, episode, camera = self.rules, self.episode, self.config.camera
        return EpisodeRecord(
            RECORD_VERSION,
            episode.split,
            episode.id,
            episode.scene.name,
            method,
            seed,
            privileged,
            recogniser,
            f"{camera.width}x{camera.height}@{camera.hfov_deg:g}",
            episode.floor_height,
            episode.makespan,
            [
                {"modality": g.modality, "category": g.category, "text": g.text, "object_id": g.object_id}
                for g in episode.goals
            ],
            self._log_poses,
            self._log_actions,
            [
                {
                    "step": d.step,
                    "agent": d.agent,
                    "goal": d.goal,
                    "right": d.right,
                    "distance": round(d.distance, 4) if np.isfinite(d.distance) else None,
                }
                for d in rules.declarations
            ],
            [round(v, 4) for v in rules.path],
            [round(v, 4) for v in rules.path_at_last_success],
            "resolved" if rules.resolved else "exhausted",
            method_record or {},
            self.config.sim.backend,
            encoder,
        )

    def close(self) -> None:
        """Let the simulator go; may be called twice."""
        if self._sim is not None:
            self._sim.close()
        self._sim = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sim": None, "_frames": []}


@cache
def _episodes(data: Path, split: str) -> list[Episode]:
    """A split's episodes, read once a process; "mini" is built where it is missing."""
    if split == "mini" and not (data / "episodes" / "mini" / "mini.json.gz").exists():
        print(f"building the mini split (2 houses) in {data} ...")
        generate(GenerateConfig(split="mini", data=str(data), workers=1))
    return load_split(data, split)


def parallel_env(render_mode: str | None = None, **config: Any) -> HM3DM3ParallelEnv:
    """An `HM3DM3ParallelEnv` from keyword arguments, e.g. `parallel_env(split="val", camera={"width": 72,
    "height": 128})`.

    Raises:
        ValueError: an unknown or mistyped argument.
    """
    return HM3DM3ParallelEnv(build(EnvConfig, **config), render_mode)
