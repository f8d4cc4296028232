"""The habitat-sim backend: published habitat-sim 0.2.2 or later behind our protocol.

Runs wherever habitat-sim does (Python 3.9 or later with numpy), in this process or in a worker's. A
habitat-sim that finds no graphics context ends its process without an exception: one reason for the worker.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hm3dm3_env.geometry import Pose, to_quaternion
from hm3dm3_env.sim.base import Body, Camera, Frame
from hm3dm3_env.sim.habitat_nav import HabitatNavigator

if TYPE_CHECKING:
    from hm3dm3_env.scenes.hm3dsem import SceneData

NAVMESHES = ("computed", "scene")
_UP, _FRONT = [0, 0, 1], [0, 1, 0]
_QUIET = {"MAGNUM_LOG": "quiet", "HABITAT_SIM_LOG": "quiet"}
_ON_CPU = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "HSIM_DISABLE_CUDA_DEVICE": "1"}
_MOST_SCENES = 4
"""habitat-sim keeps the meshes and textures of every scene it has loaded: after so many, it is made anew."""
_LOOKOUT = Camera(16, 16, 60.0, sensor_height=0.5, min_depth=0.0, max_depth=100.0)
"""Looks straight up from points of the navmesh: is there a ceiling?"""


class HabitatSimulator:
    """`Simulator` on habitat-sim: one of its simulators at a time, reconfigured for a few scenes before it is
    made anew, and one body in it, moved through all poses.

    Args:
        body: the walkable surface is computed for it.
        gpu_device: the GPU that renders, or -1: the CPU (Mesa).
        navmesh: computed: from the mesh, for this body; scene: the .navmesh in the scene's folder.
    """

    def __init__(self, body: Body | None = None, gpu_device: int = -1, navmesh: str = "computed") -> None:
        if navmesh not in NAVMESHES:
            raise ValueError(f"navmesh: {navmesh!r} is none of {', '.join(NAVMESHES)}")
        self.body = body or Body()
        self.gpu_device = gpu_device
        self.navmesh = navmesh
        for name, value in {**_QUIET, **(_ON_CPU if gpu_device < 0 else {})}.items():
            os.environ.setdefault(name, value)  # read by habitat-sim and Mesa when they start
        self._habitat = _import_habitat()
        self._temporary: tempfile.TemporaryDirectory[str] | None = tempfile.TemporaryDirectory(
            prefix="hm3dm3-"
        )
        self._sim: Any = None
        self._folder: Path | None = None
        self._navigator: HabitatNavigator | None = None
        self._places: dict[Path, str] = {}
        self._held: set[Path] = set()
        self._known = np.zeros(1, bool)
        self._scene: SceneData | None = None

    # -- scenes --------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> None:
        """Make the scene in `folder` current.

        Raises:
            FileNotFoundError: the folder lacks its mesh, half of its annotations, or the .navmesh asked for.
            ValueError: a file that habitat-sim cannot use.
        """
        if self._temporary is None:
            raise RuntimeError("this simulator is closed")
        folder = Path(folder).absolute()
        if folder == self._folder:
            return
        stem, render, semantic = _scene_files(folder)
        shipped = _shipped_navmesh(folder, stem) if self.navmesh == "scene" else None
        known = _semantic_ids(folder / f"{stem}.semantic.txt") if semantic else np.zeros(1, bool)
        config = self._configuration(folder, stem, render, semantic)
        self._folder = self._navigator = self._scene = None
        if folder not in self._held and len(self._held) >= _MOST_SCENES:
            self._end()
        self._held.add(folder)
        try:
            if self._sim is None:
                self._sim = self._habitat.Simulator(config)
            else:
                self._drop_sensors()
                self._sim.reconfigure(config)
            self._known, self._folder = known, folder
            self._load_navmesh(shipped)
            self._navigator = HabitatNavigator(self._habitat, self._sim.pathfinder, self.body, self._covered)
        except Exception as error:
            self._end()  # what it holds now is unknown: the next scene gets a new one
            if isinstance(error, (AssertionError, RuntimeError)):  # habitat-sim's own checks
                raise ValueError(f"{folder}: habitat-sim cannot load it ({error})") from error
            raise

    def _configuration(self, folder: Path, stem: str, render: Path, semantic: Path | None) -> Any:
        """habitat-sim's configuration of a scene, with the files that it reads written to our own folder."""
        stage: dict[str, Any] = {
            "render_asset": str(render),
            "collision_asset": str(render),
            "up": _UP,
            "front": _FRONT,
            "origin": [0, 0, 0],
            "shader_type": "flat",
            "requires_lighting": False,
        }
        if semantic is not None:
            stage.update(
                semantic_asset=str(semantic),
                semantic_up=_UP,
                semantic_front=_FRONT,
                semantic_descriptor_filename=str(folder / f"{stem}.semantic.txt"),
                has_semantic_textures=_textured(semantic),
            )
        place = self._place_of(folder)
        place.mkdir(exist_ok=True)
        (place / f"{place.name}.stage_config.json").write_text(json.dumps(stage), encoding="utf-8")
        dataset = place / f"{place.name}.scene_dataset_config.json"
        paths = {".json": [f"{place.name}.stage_config.json"]}
        dataset.write_text(json.dumps({"stages": {"paths": paths}}), encoding="utf-8")

        habitat, kinds = self._habitat, self._habitat.SensorType
        backend = habitat.SimulatorConfiguration()
        backend.scene_dataset_config_file, backend.scene_id = str(dataset), place.name
        backend.gpu_device_id, backend.enable_physics = self.gpu_device, False
        backend.allow_sliding = self.body.allow_sliding
        backend.load_semantic_mesh = semantic is not None
        agent = habitat.AgentConfiguration()
        agent.height, agent.radius = self.body.height, self.body.radius
        # A tiny sensor of each kind makes habitat-sim load what that kind needs; the used ones come later.
        wanted = [kinds.DEPTH, kinds.COLOR] + ([kinds.SEMANTIC] if semantic is not None else [])
        agent.sensor_specifications = [self._specification(kind, _LOOKOUT) for kind in wanted]
        return habitat.Configuration(backend, [agent])

    def _place_of(self, folder: Path) -> Path:
        """Our own folder for a scene, no other's: habitat-sim remembers configurations by their path."""
        assert self._temporary is not None
        self._places.setdefault(folder, f"scene{len(self._places)}")
        return Path(self._temporary.name) / self._places[folder]

    def _load_navmesh(self, shipped: Path | None) -> None:
        finder = self._sim.pathfinder
        if shipped is not None:
            if not finder.load_nav_mesh(str(shipped)):
                raise ValueError(f"{shipped}: habitat-sim cannot read it; use sim.navmesh=computed")
            return
        assert self._folder is not None
        kept = self._place_of(self._folder) / "computed.navmesh"
        if kept.exists() and finder.load_nav_mesh(str(kept)):
            return
        settings, body = self._habitat.NavMeshSettings(), self.body
        settings.set_defaults()
        settings.agent_radius, settings.agent_height = body.radius, body.height
        settings.agent_max_climb, settings.agent_max_slope = body.max_climb, body.max_slope_deg
        settings.cell_size, settings.cell_height = body.cell_size, body.cell_height
        if not self._sim.recompute_navmesh(finder, settings):
            raise ValueError(f"{self._folder}: habitat-sim computed no walkable surface for this body")
        finder.save_nav_mesh(str(kept))

    @property
    def scene(self) -> SceneData:
        """The current scene's annotations; only where `hm3dm3_env.scenes` imports (not in a worker)."""
        from hm3dm3_env.scenes.hm3dsem import load_scene

        folder = self._loaded()
        if self._scene is None:
            self._scene = load_scene(folder)
        return self._scene

    @property
    def navigator(self) -> HabitatNavigator:
        """The current scene's navigator."""
        self._loaded()
        assert self._navigator is not None
        return self._navigator

    def _loaded(self) -> Path:
        if self._folder is None:
            raise RuntimeError("no scene is loaded; call load(folder) first")
        return self._folder

    # -- rendering -----------------------------------------------------------------------------------------

    def render(
        self, poses: Sequence[Pose], camera: Camera, rgb: bool = True, semantic: bool = False
    ) -> list[Frame]:
        """One `Frame` a pose; only the sensors that were asked for are drawn."""
        self._loaded()
        kinds = self._habitat.SensorType
        depth_sensor = self._sensor(kinds.DEPTH, camera)
        color_sensor = self._sensor(kinds.COLOR, camera) if rgb else None
        labelled = semantic and len(self._known) > 1
        label_sensor = self._sensor(kinds.SEMANTIC, camera) if labelled else None
        frames = []
        for pose in poses:
            self._place(pose, camera)
            depth = np.array(_draw(depth_sensor), np.float32)
            depth[~((depth >= camera.min_depth) & (depth <= camera.max_depth))] = 0
            frame = Frame(pose, camera, depth)
            if color_sensor is not None:
                frame.rgb = np.ascontiguousarray(_draw(color_sensor)[..., :3], np.uint8)
            if label_sensor is not None:
                frame.semantic = self._ids(_draw(label_sensor))
            elif semantic:
                frame.semantic = np.zeros(depth.shape, np.int32)
            frames.append(frame)
        return frames

    def _place(self, pose: Pose, camera: Camera) -> None:
        """Put the body's origin at the camera: a sensor above it would swing when the body pitches."""
        import quaternion  # comes with habitat-sim

        x, y, z, w = to_quaternion(pose.heading, pose.pitch)
        state = self._habitat.AgentState()
        state.position = np.asarray(camera.eye(pose), np.float64)
        state.rotation = quaternion.quaternion(w, x, y, z)
        self._sim.get_agent(0).set_state(state)

    def _specification(self, kind: Any, camera: Camera) -> Any:
        specification = self._habitat.CameraSensorSpec()
        specification.uuid = _name(kind, camera)
        specification.sensor_type = kind
        specification.sensor_subtype = self._habitat.SensorSubType.PINHOLE
        specification.resolution = [camera.height, camera.width]
        specification.position = [0.0, 0.0, 0.0]
        specification.orientation = [0.0, 0.0, 0.0]
        specification.hfov = float(camera.hfov_deg)
        specification.near, specification.far = 0.01, 1000.0
        return specification

    def _sensor(self, kind: Any, camera: Camera) -> Any:
        """The sensor of this kind and size, set to the camera's field of view.

        Image goals bring a field of view each, so sensors are kept by size and their view is changed.
        """
        name = _name(kind, camera)
        if name not in self._sensors():
            self._sim.add_sensor(self._specification(kind, camera))
        sensor = self._sensors()[name]
        sensor._sensor_object.fov = float(camera.hfov_deg)
        return sensor

    def _sensors(self) -> Any:
        """habitat-sim's sensors by name, each of which can be drawn alone (`sensors` from 0.3.4 on)."""
        return self._sim.sensors if hasattr(self._sim, "sensors") else self._sim._sensors

    def _drop_sensors(self) -> None:
        """Free the images of all sensors: a reconfigured habitat-sim keeps those of the scene before."""
        for name, sensor in list(self._sensors().items()):
            if hasattr(self._sim, "remove_sensor"):
                self._sim.remove_sensor(name)
            else:
                self._habitat.SensorFactory.delete_sensor(sensor._sensor_object)
                sensor.close()

    def _ids(self, labels: np.ndarray) -> np.ndarray:
        """(H, W) int32 from habitat's uint32: what the `.semantic.txt` does not list is 0."""
        found = np.minimum(np.array(labels, np.int64), len(self._known) - 1)  # the last entry is never known
        return np.where(self._known[found], found, 0).astype(np.int32)

    def _covered(self, points: np.ndarray) -> np.ndarray:
        """(N,) bool: something solid is above the (N, 3) points of the navmesh."""
        poses = [Pose(float(x), float(y), float(z), 0.0, np.pi / 2) for x, y, z in points]
        frames = self.render(poses, _LOOKOUT, rgb=False)
        middle = (slice(_LOOKOUT.height // 2 - 1, _LOOKOUT.height // 2 + 1),) * 2
        return np.array([bool((frame.depth[middle] > 0).any()) for frame in frames], bool)

    def close(self) -> None:
        """Let go of habitat-sim's scene, context and files."""
        self._end()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def _end(self) -> None:
        self._folder = self._navigator = self._scene = None
        self._held.clear()
        if self._sim is not None:
            self._sim.close()
            self._sim = None


def _import_habitat() -> Any:
    try:
        import habitat_sim
    except ImportError as error:
        raise ImportError(
            f"the habitat backend needs habitat-sim, which {sys.executable} cannot import ({error}). "
            "Install it with 'conda install habitat-sim headless -c conda-forge -c aihabitat' (Python 3.9), "
            "or set sim.python to the interpreter that has it"
        ) from error
    return habitat_sim


def _name(kind: Any, camera: Camera) -> str:
    return f"{str(kind).split('.')[-1].lower()}_{camera.width}x{camera.height}"


def _draw(sensor: Any) -> np.ndarray:
    sensor.draw_observation()
    return sensor.get_observation()


# -- files -------------------------------------------------------------------------------------------------


def _scene_files(folder: Path) -> tuple[str, Path, Path | None]:
    """A scene folder's stem, its render mesh, and its semantic mesh if it has annotations."""
    stem = folder.name.split("-")[-1]
    render = next(
        (folder / f"{stem}{end}" for end in (".glb", ".basis.glb") if (folder / f"{stem}{end}").exists()),
        None,
    )
    if render is None:
        raise FileNotFoundError(
            f"{folder}: not a scene folder (expected {stem}.glb or {stem}.basis.glb in it)"
        )
    semantic, text = folder / f"{stem}.semantic.glb", folder / f"{stem}.semantic.txt"
    if semantic.exists() != text.exists():
        raise FileNotFoundError(
            f"{folder}: has only one of {text.name} and {semantic.name}; both are needed for annotations"
        )
    return stem, render, semantic if semantic.exists() else None


def _shipped_navmesh(folder: Path, stem: str) -> Path:
    for name in (f"{stem}.basis.navmesh", f"{stem}.navmesh"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f"{folder / (stem + '.basis.navmesh')}: no such file (nor {stem}.navmesh); download "
        "the scene's habitat files, or use sim.navmesh=computed"
    )


def _semantic_ids(path: Path) -> np.ndarray:
    """(N,) bool: whether each number is an id of the `.semantic.txt`; the first and the last never are.

    Raises:
        ValueError: not such a file; habitat-sim would go on without ids.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or not lines[0].strip().startswith("HM3D Semantic Annotations"):
        raise ValueError(f"{path}: line 1 must be 'HM3D Semantic Annotations'")
    ids = []
    for line in lines[1:]:
        first = line.split(",", 1)[0].strip()
        if first.isdigit():
            ids.append(int(first))
    known = np.zeros(max(ids, default=-1) + 2, bool)
    known[ids] = True
    known[0] = False
    return known


def _textured(path: Path) -> bool:
    """Whether a semantic mesh carries its colours in textures, as HM3DSem's do (else: in its vertices).

    Raises:
        ValueError: not a binary glTF file, or one whose colours habitat-sim cannot read.
    """
    with path.open("rb") as file:
        head = file.read(20)
        if len(head) < 20 or head[:4] != b"glTF" or head[16:20] != b"JSON":
            raise ValueError(f"{path}: not a binary glTF file; download it again")
        try:
            document = json.loads(file.read(struct.unpack_from("<I", head, 12)[0]))
        except ValueError as error:
            raise ValueError(f"{path}: damaged glTF ({error}); download it again") from error
    painted = [
        "baseColorTexture" in material.get("pbrMetallicRoughness", {})
        for material in document.get("materials", [])
    ]
    primitives = [item for mesh in document.get("meshes", []) for item in mesh.get("primitives", [])]
    if not all("COLOR_0" in item["attributes"] for item in primitives):
        raise ValueError(
            f"{path}: habitat-sim needs vertex colours in a semantic mesh, even where textures carry the ids "
            "as in HM3DSem; use sim.backend=embedded for this scene"
        )
    return any(
        "TEXCOORD_0" in item["attributes"] and painted[item["material"]]
        for item in primitives
        if "material" in item
    )
