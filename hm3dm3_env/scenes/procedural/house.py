"""A whole house from a seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hm3dm3_env.scenes.layout import SceneModel
from hm3dm3_env.scenes.procedural.assets import Assets
from hm3dm3_env.scenes.procedural.floorplan import make_plan
from hm3dm3_env.scenes.procedural.furnish import furnish_room
from hm3dm3_env.scenes.procedural.kinds import make_style
from hm3dm3_env.scenes.procedural.placing import RoomState
from hm3dm3_env.scenes.procedural.repair import remove_pockets
from hm3dm3_env.scenes.procedural.rooms import FloorPlan
from hm3dm3_env.scenes.procedural.structure import build_structure
from hm3dm3_env.scenes.procedural.textures import surface
from hm3dm3_env.scenes.winding import close_or_double

REQUIRED = {"bed", "toilet", "bathroom vanity", "refrigerator", "stove", "kitchen sink"}
"""Categories without which a house is drawn again."""

GENERATOR = "hm3dm3-procedural-4"
"""Recorded in each scene; raise the number when equal seeds give other houses."""


def generate_house(seed: int, assets: Assets | None = None) -> SceneModel:
    """The house of a seed: z up, metres, floor at z=0. Equal seeds (and libraries) give equal models.

    With `assets`, part of its furniture are models of these libraries.

    Raises:
        ValueError: a negative seed.
    """
    return build_house(seed, assets)[0]


def build_house(seed: int, assets: Assets | None = None) -> tuple[SceneModel, FloorPlan]:
    """The model and its floor plan (see `generate_house`)."""
    if seed < 0:
        raise ValueError(f"seed must not be negative: {seed}")
    for attempt in range(20):
        found = _attempt(seed, attempt, assets)
        if found is not None:
            return found
    raise RuntimeError(
        f"no complete house for seed {seed} after 20 attempts; this is a defect of the generator"
    )


def _attempt(seed: int, attempt: int, assets: Assets | None) -> tuple[SceneModel, FloorPlan] | None:
    """One try; None if a required category found no place."""
    streams = np.random.SeedSequence([0x484D33, seed, attempt]).spawn(64)
    plan = make_plan(np.random.default_rng(streams[0]))
    style = replace(make_style(np.random.default_rng(streams[1])), assets=assets)
    objects, windows = build_structure(plan, style, np.random.default_rng(streams[2]))
    rooms = [RoomState(plan, index, windows[index], style) for index in range(len(plan.rooms))]
    for index, room in enumerate(rooms):
        furnish_room(room, np.random.default_rng(streams[3 + index]))
    if not _complete(rooms):
        return None
    remove_pockets(plan, objects, rooms)
    if not _complete(rooms):
        return None
    for room in rooms:
        objects += room.objects()
    close_or_double(objects)
    keys = sorted({part.surface for item in objects for part in item.parts})
    area = sum(room.area for room in plan.rooms)
    source = {
        "generator": GENERATOR,
        "seed": seed,
        "area_m2": round(area, 2),
        "rooms": [
            {"name": room.kind, "rect": [round(float(v), 3) for v in room.rect]} for room in plan.rooms
        ],
        "doors": [
            {
                "between": [door.a, door.b],
                "axis": door.axis,
                "level": float(door.level),
                "span": [float(door.low), float(door.high)],
            }
            for door in plan.doors
        ],
    }
    if assets is not None:
        source["assets"] = assets.record()
    surfaces = {name: (assets.surface(name) if assets else None) or surface(name) for name in keys}
    return SceneModel(objects, surfaces, [room.kind for room in plan.rooms], source), plan


def _complete(rooms: list[RoomState]) -> bool:
    return {item.piece.kind.name for room in rooms for item in room.placed} >= REQUIRED
