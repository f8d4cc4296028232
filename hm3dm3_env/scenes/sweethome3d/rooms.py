"""Rooms of one floor: what is indoors, floor and ceiling polygons, and names for rooms that have none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from hm3dm3_env.scenes.sweethome3d.home_xml import Look, Room
from hm3dm3_env.scenes.sweethome3d.mesh import as_shape, clean, polygons
from hm3dm3_env.scenes.sweethome3d.walls import WallShape

SEAL = 0.06
"""Gaps between walls up to twice this width (metres) count as closed."""
UNDER_WALLS = 0.15
"""Floors reach this far under the walls, so that no gap shows at their foot."""
ENCLOSING_HEIGHT = 1.5
SMALLEST = 0.5
"""Enclosed areas below this size (square metres) get no floor of their own."""

_OUTDOOR = re.compile(
    r"terrac|terrass|balcon|balkon|balcón|roof|garden|jardin|garten|patio|deck|porch|veranda|"
    r"driveway|yard|outdoor|outside|exterior|pool|street|lawn|loggia",
    re.I,
)
_GUESSES: tuple[tuple[str, str], ...] = (
    ("toilet", r"toilet|wc\b|bidet"),
    ("bathroom", r"bath|shower|douche|baignoire|lavabo"),
    ("kitchen", r"cooker|oven|fridge|dishwasher|hood|kitchen|\bsink|cuisin|réfrigérateur"),
    ("bedroom", r"\bbed\b|crib|bunk|\blit\b|\bbett\b"),
    ("living room", r"sofa|couch|\btv\b|canapé|armchair"),
    ("dining room", r"dining|table"),
    ("office", r"desk|computer|laptop|bureau"),
    ("laundry room", r"washer|washing|dryer"),
    ("garage", r"\bcar\b|garage"),
    ("closet", r"wardrobe|shelf|shelves|closet"),
)


@dataclass
class Region:
    """A room of the scene: its name, its own polygon, the floor that it gets, and its looks."""

    name: str
    own: BaseGeometry
    area: BaseGeometry
    floor: Look
    ceiling: Look


@dataclass
class FloorPlan:
    """Rooms indoors, the hull of the house (walls filled), names of rooms outdoors, and enclosed
    areas without a floor (stairwells, the void beside a mezzanine)."""

    regions: list[Region]
    hull: BaseGeometry
    outdoor: list[str]
    voids: list[Polygon]

    @property
    def floor(self) -> BaseGeometry:
        """Union of the floors."""
        return as_shape([item for region in self.regions for item in polygons(region.area)])

    def region_at(self, x: float, y: float) -> int:
        """The room that holds the point, or else the nearest."""
        point = Point(x, y)
        inside = [k for k, region in enumerate(self.regions) if region.own.contains(point)]
        if inside:
            return min(inside, key=lambda k: (self.regions[k].own.area, k))
        return min(range(len(self.regions)), key=lambda k: (round(self.regions[k].own.distance(point), 6), k))


def plan_floor(
    rooms: list[Room], shapes: list[WallShape], holes: BaseGeometry, upper: bool, sloping: bool
) -> FloorPlan:
    """Lay out one floor.

    `holes` is the area without floor (stairwells). On an `upper` level that has rooms, enclosed areas that
    no room covers stay open (a mezzanine's void); elsewhere they get a floor.
    """
    tall = [
        shape.outline
        for shape in shapes
        if sloping or max(shape.wall.height, shape.wall.height_end) + shape.wall.base >= ENCLOSING_HEIGHT
    ]
    walls = as_shape(
        [item.buffer(0.001, join_style="mitre") for outline in tall for item in polygons(outline)]
    )
    grown = as_shape(
        [item.buffer(SEAL, join_style="mitre") for outline in tall for item in polygons(outline)]
    )
    sealed = grown.buffer(-SEAL * 0.98, join_style="mitre")
    filled = [Polygon(item.exterior) for item in polygons(sealed)]
    enclosed = as_shape(filled).difference(walls) if filled else MultiPolygon()
    if not filled:  # no walls: the rooms themselves are the house
        hull = as_shape([item for room in rooms for item in polygons(clean(room.points))])
    else:
        hull = as_shape(filled)
    regions, outdoor = [], []
    taken: BaseGeometry = holes
    visible = [(clean(room.points), room) for room in rooms if room.floor_visible]
    indoor = as_shape(
        [item for shape, room in visible if not _OUTDOOR.search(room.name) for item in polygons(shape)]
    )
    if enclosed.area < 0.3 * indoor.area:  # the walls don't close: trust the rooms
        hull = hull.union(indoor)
    voids = [clean(room.points) for room in rooms if not room.floor_visible] if upper else []
    if voids:
        taken = taken.union(
            as_shape([item for void in voids for item in polygons(void)]).difference(
                as_shape([item for shape, _ in visible for item in polygons(shape)])
            )
        )
    for shape, room in sorted(visible, key=lambda item: item[0].area):
        inside = shape.intersection(hull)
        if shape.area < 0.05:
            continue
        if _OUTDOOR.search(room.name) or inside.area < 0.5 * shape.area:
            outdoor.append(room.name or "unnamed room")
            continue
        own = inside.difference(taken)
        if own.area > 0.05:
            taken = taken.union(own)
            regions.append(Region(_room_name(room.name), own, own, room.floor, room.ceiling))
    regions.reverse()
    outside = as_shape(
        [item for shape, room in visible if _OUTDOOR.search(room.name) for item in polygons(shape)]
    )
    if not (upper and regions):
        for item in polygons(
            enclosed.difference(taken.buffer(UNDER_WALLS, join_style="mitre")).difference(outside)
        ):
            core = item.buffer(-0.2)
            if item.area > SMALLEST and not core.is_empty:
                whole = item.buffer(UNDER_WALLS, join_style="mitre").intersection(enclosed).difference(taken)
                for part in polygons(whole, SMALLEST / 2):
                    regions.append(Region("", part, part, Look(), Look()))
                    taken = taken.union(part)
    _grow(regions, hull, holes if not voids else taken)
    open_area = enclosed.difference(outside).difference(
        as_shape([item for region in regions for item in polygons(region.area)])
    )
    return FloorPlan(
        regions,
        hull,
        outdoor,
        [item for item in polygons(open_area, 0.02) if not item.buffer(-0.03).is_empty],
    )


def _grow(regions: list[Region], hull: BaseGeometry, blocked: BaseGeometry) -> None:
    """Let floors reach under the walls, without overlap."""
    owns = as_shape([item for region in regions for item in polygons(region.own)])
    done: BaseGeometry = owns.union(blocked)
    for region in regions:
        grown = region.own.buffer(UNDER_WALLS, join_style="mitre").intersection(hull).difference(done)
        done = done.union(grown)
        region.area = shapely.union_all([region.own, grown])


def add_thresholds(plan: FloorPlan, footprints: list[Polygon]) -> None:
    """Give the ground in passages to the nearest room, where no floor reaches yet."""
    for footprint in footprints:
        for item in polygons(footprint.difference(plan.floor), 1e-4):
            x, y = item.representative_point().coords[0]
            region = plan.regions[plan.region_at(x, y)]
            region.area = shapely.union_all([region.area, item])


def name_regions(plan: FloorPlan, contents: list[tuple[str, int]]) -> None:
    """Name the rooms that have no name after their furniture: (category, region) pairs."""
    for index, region in enumerate(plan.regions):
        if region.name:
            continue
        names = [name for name, where in contents if where == index]
        votes: Counter[str] = Counter()
        for guess, pattern in _GUESSES:
            votes[guess] = sum(bool(re.search(pattern, name, re.I)) for name in names)
        if votes["bathroom"] and votes["toilet"]:
            votes["bathroom"] += votes["toilet"]
        best = max(votes, key=lambda guess: votes[guess]) if votes else ""
        if best and votes[best]:
            region.name = best
        else:
            box = region.own.minimum_rotated_rectangle
            sides = sorted(_sides(box))
            region.name = "hallway" if sides[-1] > 2.5 * sides[0] or region.own.area > 6.0 else "storage room"


def ceiling_height(region: Region, shapes: list[WallShape], default: float) -> float:
    """Height of the highest wall at the room's edge (rooms are closed at the top)."""
    near = region.own.buffer(0.12)
    heights = [
        shape.wall.base + max(shape.wall.height, shape.wall.height_end)
        for shape in shapes
        if near.intersects(shape.outline)
    ]
    tall = [height for height in heights if height >= 1.8]
    return max(tall) if tall else default


def sloped_ceiling(region: Region, shapes: list[WallShape], default: float) -> tuple[BaseGeometry, dict]:
    """The ceiling under a sloping roof: its polygon with corners at the walls' ends, and their heights."""
    near = [shape for shape in shapes if region.own.distance(shape.outline) < 0.12]
    ends = [
        point
        for shape in near
        if abs(shape.wall.height - shape.wall.height_end) > 0.05
        for point in (shape.wall.start, shape.wall.end)
    ]
    heights: dict[tuple[float, float], float] = {}
    rings = []
    for polygon in polygons(region.own):
        line = polygon.exterior
        stops = {round(line.project(Point(end)), 4) for end in ends if line.distance(Point(end)) < 0.4}
        corners = np.asarray(line.coords)[:-1]
        stops |= {round(line.project(Point(corner)), 4) for corner in corners}
        ring = [line.interpolate(stop).coords[0] for stop in sorted(stops)]
        rings.append(Polygon(ring))
        for point in ring:
            close = [
                float(shape.top(np.asarray([point]))[0])
                for shape in near
                if shape.outline.distance(Point(point)) < 0.15
            ]
            heights[(round(point[0], 4), round(point[1], 4))] = min(close, default=default)
    return as_shape(rings) if len(rings) > 1 else rings[0], heights


def _room_name(name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[#\",\n]+", "", name.lower())).strip()


def _sides(box: BaseGeometry) -> list[float]:
    if not isinstance(box, Polygon):
        return [1.0, 1.0]
    points = np.asarray(box.exterior.coords)
    return [
        max(float(np.linalg.norm(points[1] - points[0])), 1e-6),
        max(float(np.linalg.norm(points[2] - points[1])), 1e-6),
    ]
