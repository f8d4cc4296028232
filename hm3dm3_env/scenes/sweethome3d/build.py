"""Build the scenes of a home: one model a floor, from walls, rooms, openings and furniture."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from shapely.geometry import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from hm3dm3_env.scenes.layout import SceneModel, SceneObject
from hm3dm3_env.scenes.sweethome3d.bundle import Bundle
from hm3dm3_env.scenes.sweethome3d.cutouts import corners_of, fill_corners
from hm3dm3_env.scenes.sweethome3d.furniture import ModelCache, Placed, category, place
from hm3dm3_env.scenes.sweethome3d.home_xml import Home, HomeError, Level, Piece, Wall
from hm3dm3_env.scenes.sweethome3d.looks import WHITE, Color, Palette, color_word, material_word
from hm3dm3_env.scenes.sweethome3d.mesh import Builder, as_shape, rectangle
from hm3dm3_env.scenes.sweethome3d.openings import (
    Opening,
    classify,
    closed,
    opening_category,
    opening_of,
    passage_frame,
)
from hm3dm3_env.scenes.sweethome3d.rooms import (
    FloorPlan,
    add_thresholds,
    ceiling_height,
    name_regions,
    plan_floor,
    sloped_ceiling,
)
from hm3dm3_env.scenes.sweethome3d.walls import WallShape, build_wall, holes_in, wall_shapes
from hm3dm3_env.scenes.winding import close_or_double

SLAB = 0.05
"""Thickness of floors and ceilings (metres)."""
SMALLEST_FLOOR = 4.0
"""A level with less indoor floor (square metres) has no room for walking and is not imported."""
OUTSIDE = 0.3
"""Furniture further outside of the walls than this (metres) is left out."""
_FLOOR_COLOR: Color = (0.72, 0.66, 0.58)
_LIGHT_SOURCE = re.compile(r"lightSource", re.I)
_SHAPES = re.compile(r"^(box|cylinder|triangle|sphere|cone|pyramid|texturable.*)$")


@dataclass
class Floor:
    """One storey ready to be written, with what a floor plan needs."""

    level: Level
    number: int
    model: SceneModel
    plan: FloorPlan
    walls: list[WallShape]
    openings: list[Opening]
    pieces: list[tuple[Piece, str]]
    problems: list[str] = field(default_factory=list)


def build_floors(home: Home, bundle: Bundle, hidden: bool = False) -> tuple[list[Floor], list[str]]:
    """All floors of a home that have room for walking, and notes on what was skipped.

    `hidden` includes the levels that the file marks as not visible.

    Raises:
        HomeError: no level has room for walking.
    """
    cache, notes, floors = ModelCache(bundle), list(home.notes), []
    storeys = _storeys(home, notes, hidden)
    for number, storey in enumerate(storeys):
        floor = _build(home, storeys, number, cache)
        if floor is None:
            notes.append(f"level {storey[0].name or number}: no room for walking; skipped")
        else:
            floors.append(floor)
    if not floors:
        raise HomeError(
            f"{home.file}: no visible level encloses {SMALLEST_FLOOR:g} square metres of floor; "
            "close the walls or draw rooms"
        )
    for floor in floors:
        floor.problems.extend(notes)
        floor.model.source["problems"] = floor.problems
    return floors, notes


def _storeys(home: Home, notes: list[str], hidden: bool) -> list[list[Level]]:
    """Visible levels from the lowest up; levels at one height are one storey."""
    if not home.levels:
        return [[Level("", "", 0.0, home.wall_height)]]
    storeys: list[list[Level]] = []
    for level in sorted(home.levels, key=lambda level: level.elevation):
        if not (level.visible or hidden):
            notes.append(f"level {level.name}: not visible; skipped (hidden=true imports it)")
        elif storeys and abs(storeys[-1][0].elevation - level.elevation) < 0.05:
            storeys[-1].append(level)
        else:
            storeys.append([level])
    if not storeys:
        raise HomeError(f"{home.file}: every level is invisible; make one visible in Sweet Home 3D")
    storeys[0].append(Level("", "", storeys[0][0].elevation, home.wall_height))
    return storeys


def _build(home: Home, storeys: list[list[Level]], number: int, cache: ModelCache) -> Floor | None:
    level = storeys[number][0]
    ids = {item.id for item in storeys[number]}
    problems: list[str] = []
    palette = Palette()
    shapes = wall_shapes(_walls(home, storeys, number))
    openings = [
        opening_of(piece, 0.0) for piece in home.pieces if piece.kind == "doorOrWindow" and piece.level in ids
    ]
    for below, base in _below(storeys, number):
        openings += [
            opening_of(piece, base)
            for piece in home.pieces
            if piece.kind == "doorOrWindow"
            and piece.level in below
            and piece.elevation + base + piece.size[2] > 0.3
        ]
    rooms = [room for room in home.rooms if room.level in ids]
    sloping = (
        any(
            abs(shape.wall.height - shape.wall.height_end) > 0.3
            and max(shape.wall.height, shape.wall.height_end) > 1.8
            for shape in shapes
        )
        and number == len(storeys) - 1
    )
    plan = plan_floor(rooms, shapes, _stairwells(home, storeys, number), number > 0, sloping)
    if not plan.regions or plan.floor.area < SMALLEST_FLOOR:
        return None
    for opening, cuts in zip(openings, holes_in(shapes, [opening.hole for opening in openings])):
        opening.cuts = tuple(cuts)
    floor_area = plan.floor
    for opening in openings:
        classify(opening, floor_area, _thickness(opening, shapes))
    add_thresholds(
        plan,
        [
            cut.intersection(shapes[index].outline)
            for opening in openings
            if opening.kind == "passage"
            for index, cut in opening.cuts
        ],
    )
    pieces = _indoor(home, ids, plan, problems)
    name_regions(plan, [(name, plan.region_at(*piece.position)) for piece, name in pieces])
    heights = [ceiling_height(region, shapes, home.wall_height) for region in plan.regions]
    objects = _wall_objects(shapes, openings, plan, palette, cache.bundle, problems, max(heights))
    objects += _room_objects(plan, shapes, heights, sloping, palette, cache.bundle, problems)
    kept: list[Opening] = []
    objects += _opening_objects(openings, shapes, plan, palette, cache, problems, kept)
    objects += _furniture_objects(pieces, plan, palette, cache, problems)
    close_or_double(objects)  # models of others may be open, or turned inside out
    for name in plan.outdoor:
        problems.append(f"{name}: outdoors; its floor is left out")
    source = {
        "importer": "sweethome3d",
        "home": home.name,
        "level": level.name,
        **{
            key.lower(): home.properties[key]
            for key in ("Author", "Copyright", "License")
            if key in home.properties
        },
    }
    used = {part.surface for item in objects for part in item.parts}
    surfaces = {name: surface for name, surface in palette.surfaces.items() if name in used}
    model = SceneModel(objects, surfaces, [region.name for region in plan.regions], source)
    return Floor(level, number, model, plan, shapes, kept, pieces, problems)


def _below(storeys: list[list[Level]], number: int) -> list[tuple[set[str], float]]:
    """Level ids of each lower storey, and its height relative to this one."""
    here = storeys[number][0].elevation
    return [({level.id for level in storey}, storey[0].elevation - here) for storey in storeys[:number]]


def _walls(home: Home, storeys: list[list[Level]], number: int) -> list[Wall]:
    """The walls of this storey, and those of lower ones that rise more than half a metre into it."""
    walls = [wall for wall in home.walls if wall.level in {level.id for level in storeys[number]}]
    for ids, base in _below(storeys, number):
        walls += [
            replace(wall, base=base)
            for wall in home.walls
            if wall.level in ids and base + min(wall.height, wall.height_end) > 0.5
        ]
    return walls


def _stairwells(home: Home, storeys: list[list[Level]], number: int) -> BaseGeometry:
    """Where stairs from below cut through the floor."""
    cuts = []
    for ids, base in _below(storeys, number):
        for piece in home.pieces:
            if piece.stairs and piece.level in ids and abs(base + piece.elevation + piece.size[2]) < 0.4:
                width, depth, _ = piece.size
                cuts.append(
                    rectangle(piece.position, piece.angle, -width / 2, width / 2, -depth / 2, depth / 2)
                )
    return as_shape(cuts) if cuts else MultiPolygon()


def _thickness(opening: Opening, shapes: list[WallShape]) -> float:
    return max((shapes[index].wall.thickness for index, _ in opening.cuts), default=opening.hole.depth)


def _indoor(home: Home, ids: set[str], plan: FloorPlan, problems: list[str]) -> list[tuple[Piece, str]]:
    """Furniture of the storey with its categories; pieces outdoors and bare light sources are left out."""
    reach = plan.hull.buffer(OUTSIDE)
    kept, outside = [], []
    groups: dict[tuple[str, ...], bool] = {}
    pieces = [piece for piece in home.pieces if piece.kind != "doorOrWindow" and piece.level in ids]
    for piece in pieces:
        shape = bool(_SHAPES.match(category(piece)))
        groups[piece.group] = groups.get(piece.group, True) and shape
    for piece in pieces:
        if _LIGHT_SOURCE.search(piece.catalog) or _LIGHT_SOURCE.search(piece.model):
            continue
        if not reach.contains(Point(piece.position)):
            outside.append(category(piece))
            continue
        name = category(piece)
        if piece.group and _SHAPES.match(name) and groups[piece.group]:
            name = category(replace(piece, name=piece.group[-1].split("\0")[0]))
        kept.append((piece, name))
    if outside:
        names = ", ".join(
            f"{name} x{count}" if count > 1 else name for name, count in sorted(Counter(outside).items())
        )
        problems.append(f"outside of the walls, left out: {names}")
    return kept


def _wall_objects(
    shapes: list[WallShape],
    openings: list[Opening],
    plan: FloorPlan,
    palette: Palette,
    bundle: Bundle,
    problems: list[str],
    limit: float,
) -> list[SceneObject]:
    cuts: dict[int, list[tuple[Polygon, object]]] = {}
    for opening in openings:
        for index, cut in opening.cuts:
            cuts.setdefault(index, []).append((cut, opening.hole))
    curved = [(opening, corners_of(opening.piece.cutout)) for opening in openings if opening.cuts]
    objects = []
    for index, shape in enumerate(shapes):
        builder = build_wall(shape, cuts.get(index, []), palette, bundle, problems, limit)  # type: ignore[arg-type]
        for opening, corners in curved:
            if corners and opening.cuts[0][0] == index:
                surface = palette.look(shape.wall.left, WHITE, bundle, problems)
                thick = shape.wall.thickness
                fill_corners(builder, corners, opening.hole, thick, opening.piece.mirrored, surface)
        if builder.data:
            middle = shape.center[len(shape.center) // 2] if len(shape.center) > 2 else shape.center.mean(0)
            color, material = _words(
                builder,
                palette,
                [look.texture.name for look in (shape.wall.left, shape.wall.right) if look.texture],
            )
            objects.append(SceneObject("wall", plan.region_at(*middle), builder.parts(), color, material))
    return objects


def _room_objects(
    plan: FloorPlan,
    shapes: list[WallShape],
    heights: list[float],
    sloping: bool,
    palette: Palette,
    bundle: Bundle,
    problems: list[str],
) -> list[SceneObject]:
    floors, ceilings = [], []
    for index, (region, height) in enumerate(zip(plan.regions, heights)):
        builder = Builder(palette)
        surface = palette.look(region.floor, _FLOOR_COLOR, bundle, problems)
        builder.flat(surface, region.area, 0.0)
        builder.flat(surface, region.area, -SLAB, up=False)
        builder.sides(region.area, -SLAB, 0.0, partial(_constant, surface))
        color, material = _words(
            builder, palette, [region.floor.texture.name] if region.floor.texture else []
        )
        floors.append(SceneObject("floor", index, builder.parts(), color, material))
        builder = Builder(palette)
        surface = palette.look(region.ceiling, WHITE, bundle, problems)
        if sloping:
            shape, known = sloped_ceiling(region, shapes, height)

            def roof(points: np.ndarray, known: dict = known, height: float = height) -> np.ndarray:
                return np.array([known.get((round(x, 4), round(y, 4)), height) for x, y in points.tolist()])

            builder.flat(surface, shape, roof, up=False)
        else:
            builder.prism(region.area, height, height + SLAB, surface)
        color, material = _words(
            builder, palette, [region.ceiling.texture.name] if region.ceiling.texture else []
        )
        ceilings.append(SceneObject("ceiling", index, builder.parts(), color, material))
    for void in [] if sloping else plan.voids:
        index = plan.region_at(*void.representative_point().coords[0])
        builder = Builder(palette)
        surface = palette.look(plan.regions[index].ceiling, WHITE, bundle, problems)
        builder.prism(void.buffer(0.05, join_style="mitre"), max(heights), max(heights) + SLAB, surface)
        ceilings[index].parts.extend(builder.parts())
    if sum(void.area for void in plan.voids) > 0.5:
        area = sum(void.area for void in plan.voids)
        problems.append(
            f"{area:.1f} square metres without a floor (stairwell or void): nothing is shown below"
        )
    return floors + ceilings


def _constant(surface: str, a: np.ndarray, b: np.ndarray) -> str:
    return surface


def _words(builder: Builder, palette: Palette, names: list[str]) -> tuple[str, str]:
    area = builder.area()
    return color_word(palette.mean(max(sorted(area), key=lambda name: area[name]))), material_word(names)


def _opening_objects(
    openings: list[Opening],
    shapes: list[WallShape],
    plan: FloorPlan,
    palette: Palette,
    cache: ModelCache,
    problems: list[str],
    kept: list[Opening],
) -> list[SceneObject]:
    objects: list[SceneObject] = []
    reach, framed, leaves = plan.hull.buffer(0.5), [], Counter()  # type: ignore[var-annotated]
    for opening in openings:
        piece, hole = opening.piece, opening.hole
        if not reach.contains(Point(piece.position)):
            continue
        placed: Placed | None
        if opening.kind == "passage":
            thickness = _thickness(opening, shapes)
            box = hole.footprint(max(thickness - hole.depth, 0.0) / 2)
            leaves[category(piece)] += bool(piece.openable or "frame" not in piece.name.lower())
            if any(box.intersection(other).area > 0.5 * min(box.area, other.area) for other in framed):
                continue
            framed.append(box)
            placed = passage_frame(opening, thickness, palette)
        else:
            placed = closed(opening, cache, palette, problems)
            if not opening.cuts:
                problems.append(f"{piece.name}: not in a wall; placed without a hole")
        kept.append(opening)
        if placed is not None:
            objects.append(
                SceneObject(
                    opening_category(opening),
                    plan.region_at(*hole.center),
                    placed.builder.parts(),
                    placed.colour,
                    placed.material,
                )
            )
    for name, count in sorted(leaves.items()):
        if count:
            problems.append(f"{count} x {name}: between rooms, leaf left out, frame of our own")
    return objects


def _furniture_objects(
    pieces: list[tuple[Piece, str]], plan: FloorPlan, palette: Palette, cache: ModelCache, problems: list[str]
) -> list[SceneObject]:
    """Furniture; the plain shapes of one group are one object with the group's name."""
    objects: list[SceneObject] = []
    grouped: dict[tuple[str, ...], SceneObject] = {}
    for piece, name in pieces:
        placed = place(piece, 0.0, cache, palette, problems)
        if placed is None:
            problems.append(f"{piece.name}: nothing visible; left out")
            continue
        together = bool(piece.group) and bool(_SHAPES.match(category(piece))) and not _SHAPES.match(name)
        if together and piece.group in grouped:
            grouped[piece.group].parts.extend(placed.builder.parts())
            continue
        item = SceneObject(
            name, plan.region_at(*piece.position), placed.builder.parts(), placed.colour, placed.material
        )
        if together:
            grouped[piece.group] = item
        objects.append(item)
    return objects


def scene_id(home: Home, floor: Floor) -> str:
    """A scene id that is safe in file names: "1bedroomapartment-l0"."""
    name = re.sub(r"[^a-z0-9]+", "", Path(home.name).name.lower()) or "home"
    return f"{name}-l{floor.number}"
