"""A stand-in for habitat-sim: it answers the calls that our backend makes as the published API does, and
remembers them. Its world is a 6 x 4 m room at height 0.05 with a roof, and a 3 x 3 m shed 20 m along x."""

from __future__ import annotations

import enum
import sys
import types
from typing import Any, NamedTuple

import numpy as np

ROOM, SHED, ROOF = (0, 6, -4, 0, 0.05), (20, 23, -3, 0, 0.05), (0, 6, -4, 0, 3.05)
"""Pieces of navmesh: x0, x1, z0, z1, y."""
PIECES = (ROOM, SHED, ROOF)


class Quaternion(NamedTuple):
    """numpy-quaternion's order."""

    w: float
    x: float
    y: float
    z: float


class _Bag:
    """An object with attributes, as habitat's configuration classes are; equal when they are."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == getattr(other, "__dict__", None)

    __hash__ = None  # type: ignore[assignment]


class SensorType(enum.Enum):
    NONE, COLOR, DEPTH, SEMANTIC = 0, 1, 2, 4


class SensorSubType(enum.Enum):
    NONE, PINHOLE = 0, 1


class AgentState:
    rotation = Quaternion(1, 0, 0, 0)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "position" and not isinstance(value, np.ndarray):
            raise TypeError("position must be an array")  # as habitat does with lists and tuples
        super().__setattr__(name, value)


class NavMeshSettings(_Bag):
    def set_defaults(self) -> None:
        self.__dict__.update(agent_height=1.5, agent_radius=0.1, cell_height=0.2, agent_max_climb=0.2)


class _Path:
    geodesic_distance = np.inf

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []


class ShortestPath(_Path):
    pass


class MultiGoalShortestPath(_Path):
    pass


class PathFinder:
    """Version 0.2.2's: no islands. `pieces` are rectangles, cut into two triangles each."""

    def __init__(self, pieces: tuple[tuple[float, ...], ...] = PIECES) -> None:
        self.pieces, self.loaded, self.moves = pieces, [], []  # type: ignore[var-annotated]

    def load_nav_mesh(self, path: str) -> bool:
        self.loaded.append(path)
        return "broken" not in path

    def save_nav_mesh(self, path: str) -> bool:
        with open(path, "w"):
            return True

    def build_navmesh_vertices(self, *island: int) -> np.ndarray:
        corners = []
        for x0, x1, z0, z1, y in [self.pieces[i] for i in island] or self.pieces:
            a, b, c, d = (x0, y, z0), (x0, y, z1), (x1, y, z1), (x1, y, z0)
            corners += [a, b, c, a, c, d, a, a, b]  # habitat's meshes have triangles of no area, too
        return np.array(corners, np.float32)

    def build_navmesh_vertex_indices(self, *island: int) -> np.ndarray:
        return np.arange(9 * (len(island) or len(self.pieces)))

    def _nearest(self, point: np.ndarray) -> tuple[int, np.ndarray]:
        best = (np.inf, -1, np.full(3, np.nan))
        for i, (x0, x1, z0, z1, y) in enumerate(self.pieces):
            place = np.array([np.clip(point[0], x0, x1), y, np.clip(point[2], z0, z1)])
            gap = np.abs(place - point)
            if gap[0] <= 2 and gap[1] <= 4 and gap[2] <= 2 and np.linalg.norm(gap) < best[0]:
                best = (float(np.linalg.norm(gap)), i, place)
        return best[1], best[2]

    def snap_point(self, point: np.ndarray) -> np.ndarray:
        return self._nearest(point)[1].astype(np.float32)

    def is_navigable(self, point: np.ndarray, max_y_delta: float = 0.5) -> bool:
        piece, place = self._nearest(point)
        flat = np.hypot(place[0] - point[0], place[2] - point[2])
        return piece >= 0 and abs(place[1] - point[1]) <= max_y_delta and bool(flat <= 1e-2)

    def island_radius(self, point: np.ndarray) -> float:
        x0, x1, z0, z1, _ = self.pieces[self._nearest(point)[0]]
        return float(np.hypot(x1 - x0, z1 - z0) / 2)

    def _step(self, kind: str, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        self.moves.append(kind)
        piece, here = self._nearest(start)
        x0, x1, z0, z1, y = self.pieces[piece]
        if kind == "sliding":
            return np.array([np.clip(end[0], x0, x1), y, np.clip(end[2], z0, z1)], np.float32)
        share = 1.0
        for axis, low, high in ((0, x0, x1), (2, z0, z1)):
            delta = float(end[axis] - here[axis])
            if delta:
                share = min(share, ((high if delta > 0 else low) - here[axis]) / delta)
        there = here + max(share, 0.0) * (np.asarray(end, float) - here)
        return np.array([there[0], y, there[2]], np.float32)

    def try_step(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self._step("sliding", start, end)

    def try_step_no_sliding(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self._step("stopping", start, end)

    def find_path(self, path: Any) -> bool:
        ends = [path.requested_end] if isinstance(path, ShortestPath) else path.requested_ends
        path.geodesic_distance, path.points = np.inf, []
        piece, start = self._nearest(path.requested_start)
        for end in ends:
            other, place = self._nearest(end)
            length = float(np.linalg.norm(place - start))
            if other < 0:
                return False  # 0.2.2: one end off the mesh spoils all
            if other == piece and length < path.geodesic_distance:
                path.geodesic_distance, path.points = length, [start, place]
        return bool(np.isfinite(path.geodesic_distance))


class NewerPathFinder(PathFinder):
    """From 0.2.3 on: habitat tells the islands."""

    @property
    def num_islands(self) -> int:
        return len(self.pieces)


class _Sensor:
    """habitat's python wrapper of a sensor."""

    def __init__(self, simulator: Simulator, specification: Any) -> None:
        self.simulator, self.specification, self.closed = simulator, specification, False
        self._sensor_object = types.SimpleNamespace(fov=specification.hfov)

    def draw_observation(self) -> None:
        state = self.simulator.agent.state
        self.simulator.drawn.append((self.specification.uuid, self._sensor_object.fov, state))

    def get_observation(self) -> np.ndarray:
        height, width = self.specification.resolution
        kind, state = self.specification.sensor_type, self.simulator.agent.state
        if kind is SensorType.COLOR:
            image = np.full((height, width, 4), 255, np.uint8)
            image[..., :3] = (10, 20, 30)
        elif kind is SensorType.SEMANTIC:
            image = np.resize(np.array([0, 1, 2, 3, 60000], np.uint32), (height, width))
        elif state.rotation.x > 0.7:  # looks straight up: the ceiling is at 2.5
            image = np.full((height, width), max(2.5 - state.position[1], 0.0), np.float32)
        else:
            image = np.linspace(0.1, 9.0, height * width, dtype=np.float32).reshape(height, width)
        return image[::-1]

    def close(self) -> None:
        self.closed = True


class _Agent:
    state = AgentState()

    def set_state(self, state: AgentState) -> None:
        self.state = state


class Simulator:
    """habitat_sim.Simulator. Every instance is in `instances`."""

    instances: list[Simulator] = []
    finder: type[PathFinder] = PathFinder

    def __init__(self, config: Any) -> None:
        self.instances.append(self)
        self.configs: list[Any] = []
        self.drawn: list[Any] = []
        self.settings: list[Any] = []
        self.closed = 0
        self.reconfigure(config)

    def reconfigure(self, config: Any) -> None:
        self.configs.append(config)
        self.pathfinder, self.agent = self.finder(), _Agent()
        specifications = config.agents[0].sensor_specifications
        self._sensors = {item.uuid: _Sensor(self, item) for item in specifications}

    def add_sensor(self, specification: Any) -> None:
        assert specification.uuid not in self._sensors
        self._sensors[specification.uuid] = _Sensor(self, specification)

    def get_agent(self, agent_id: int) -> _Agent:
        assert agent_id == 0
        return self.agent

    def recompute_navmesh(self, finder: PathFinder, settings: Any) -> bool:
        assert finder is self.pathfinder
        self.settings.append(settings)
        return True

    def close(self) -> None:
        self.closed += 1


class SensorFactory:
    deleted: list[Any] = []

    @classmethod
    def delete_sensor(cls, sensor: Any) -> None:
        cls.deleted.append(sensor)


def install(monkeypatch: Any, newer: bool = False) -> types.ModuleType:
    """Put the stand-in (and numpy-quaternion's) where `import habitat_sim` finds it, for one test."""
    module: Any = types.ModuleType("habitat_sim")
    finder = NewerPathFinder if newer else PathFinder
    module.Simulator = type("Simulator", (Simulator,), {"instances": [], "finder": finder})
    module.SensorFactory = type("SensorFactory", (SensorFactory,), {"deleted": []})
    paths = (ShortestPath, MultiGoalShortestPath)
    for thing in (SensorType, SensorSubType, AgentState, NavMeshSettings, *paths):
        setattr(module, thing.__name__, thing)
    for name in ("SimulatorConfiguration", "AgentConfiguration", "CameraSensorSpec"):
        setattr(module, name, type(name, (_Bag,), {}))
    module.Configuration = lambda sim_cfg, agents: _Bag(sim_cfg=sim_cfg, agents=agents)
    quaternion: Any = types.ModuleType("quaternion")
    quaternion.quaternion = Quaternion
    monkeypatch.setitem(sys.modules, "habitat_sim", module)
    monkeypatch.setitem(sys.modules, "quaternion", quaternion)
    return module
