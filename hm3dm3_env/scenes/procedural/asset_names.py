"""Which category of the catalogue a name in a furniture library stands for. The table is ours.

A name is cut at "with", "and" and the like, and its longest ending that stands in the table decides: "Oak
bedside table" is a bedside table. Of several categories the one whose sizes suit best is taken. Names of the
catalogue stand for themselves. An empty row keeps a name out that its last word would let in.
"""

from __future__ import annotations

import math
import re

from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from hm3dm3_env.scenes.procedural.kinds import Kind

NAMES: dict[str, str] = {
    # seats
    "sofa": "loveseat/couch/sectional sofa",
    "couch": "loveseat/couch",
    "sofa 2 seats": "loveseat",
    "sofa 3 seats": "couch",
    "corner sofa": "sectional sofa",
    "futon couch": "couch",
    "day bed": "daybed",
    "chair": "dining chair/chair",
    "cafe chair": "dining chair/chair",
    "kitchen chair": "dining chair",
    "oak chair": "dining chair",
    "plastic chair": "chair",
    "child chair": "kids chair",
    "children chair": "kids chair",
    "baby high chair": "high chair",
    "highchair": "high chair",
    "stool": "stool/bar stool",
    "bar chair": "bar stool",
    "desk chair": "office chair",
    "swivel chair": "office chair",
    "beach chair": "deck chair",
    "relax chair": "",
    "pool lounge": "",
    "puff": "bean bag chair/ottoman",
    "pouffe": "ottoman",
    "bean bag": "bean bag chair",
    "concrete bench": "",
    "wheelchair": "",
    # tables
    "table": "dining table/kitchen table/coffee table/side table",
    "round table": "round table/coffee table/side table",
    "cafe table": "round table/side table",
    "glass table": "dining table/kitchen table/coffee table",
    "technical table": "",
    "bedside table": "nightstand",
    "night table": "nightstand",
    "desk table": "desk",
    "dressing table": "vanity table",
    "children table": "kids table",
    "football table": "foosball table",
    "table tennis": "ping pong table",
    "billiard table": "pool table",
    # beds
    "bed": "bed/single bed",
    "child bed": "single bed",
    "captain's bed": "single bed",
    "iron bed": "bed/single bed",
    "baby bed": "crib",
    "baby rocking bed": "cradle",
    "hospital bed": "",
    "mezzanine bed": "bunk bed",
    # storage
    "bookcase": "bookshelf/low bookcase",
    "shelves": "bookshelf",
    "vertical shelves": "bookshelf",
    "drawers cabinet": "chest of drawers/dresser/nightstand",
    "dresser with drawers": "dresser/chest of drawers",
    "cupboard": "armoire/sideboard",
    "glass door cabinet": "display cabinet",
    "television cabinet": "tv stand/media console",
    "lockers": "locker",
    "trunck": "trunk",
    "crate": "wooden crate",
    "box": "storage box",
    "plant box": "",
    "lunch box": "",
    "letter tray": "",
    "medicine box": "",
    "letters box": "mailbox",
    "letter box": "mailbox",
    "clothes basket": "laundry hamper/laundry basket",
    "dustbin": "trash can/wastebasket",
    "trash bin": "trash can/wastebasket",
    "park trashcan": "",
    "residential trashcan": "trash can",
    "bullet trash can": "trash can",
    "wall hanger": "coat hooks",
    # kitchen and bath
    "fridge": "refrigerator/mini fridge",
    "cooker": "stove",
    "oven": "",
    "small oven": "toaster oven",
    "propane stove": "",
    "hood": "range hood",
    "upper cabinet": "wall cabinet",
    "high cabinet": "kitchen cabinet",
    "island": "kitchen island",
    "coffee brewer": "coffee maker",
    "coffee machine": "coffee maker",
    "mixer": "stand mixer",
    "knife stand": "knife block",
    "chopping board": "cutting board",
    "paper towel holder": "paper towel",
    "utensils pot": "utensil holder",
    "spice tower": "",
    "bowl with fruits": "fruit bowl",
    "large pan": "frying pan",
    "coffee mug": "mug",
    "birthday cake": "cake",
    "bath": "bathtub",
    "corner bathtub": "",
    "toilets unit": "toilet",
    "wc": "toilet",
    "vanity": "bathroom vanity",
    "washbasin": "bathroom vanity",
    "sink cabinet": "bathroom vanity",
    "shower stall": "shower",
    "toilet paper dispenser": "",
    "bathmat": "bath mat",
    "sneakers": "shoes",
    "mocassin": "shoes",
    "slippers": "shoes",
    "electronic scale": "bathroom scale",
    "clothes washing machine": "washing machine",
    "dryer machine": "clothes dryer",
    "clothes horse": "drying rack",
    "electric water heater": "",
    "boiler": "",
    # light and electronics
    "lamp": "floor lamp/table lamp",
    "little lamp": "table lamp",
    "pedestal vase lamp": "table lamp",
    "street lamp": "",
    "outdoor lamp": "",
    "camping lamp": "",
    "ceiling light": "ceiling lamp",
    "wall light": "wall lamp",
    "hanging light": "pendant lamp",
    "chandelier lamp": "chandelier",
    "track lights": "track light",
    "television": "tv",
    "tv 16:9": "tv",
    "wall flat tv": "wall-mounted tv",
    "tv remote control": "remote control",
    "speaker": "speaker/floor speaker",
    "playstation": "game console",
    "ibook": "laptop",
    "upright piano": "piano",
    "inkjet printer": "printer",
    "phone": "telephone",
    "mobile phone": "",
    "wireless phone": "",
    "table fan": "desk fan",
    "rigged fan": "fan/desk fan",
    "indoor bike": "exercise bike",
    "abdominal bench": "",
    "punching ball": "punching bag",
    "bike": "bicycle",
    "motorbike": "motorcycle",
    "mower": "lawn mower",
    "step ladder": "ladder/step stool",
    "small step ladder": "step stool/ladder",
    "hose reel": "garden hose",
    "extinguisher": "fire extinguisher",
    "air conditioning - internal unit": "air conditioner",
    "cone": "traffic cone",
    # ornaments and toys
    "plant": "potted plant/house plant/flower pot",
    "little plant": "flower pot/potted plant",
    "indoor plant": "house plant/potted plant",
    "decorative plant": "potted plant/house plant",
    "spider plant": "potted plant",
    "succulent plant": "",
    "spathiphyllum": "potted plant",
    "bamboo": "house plant/potted plant",
    "ficus": "house plant/indoor tree",
    "yucca": "house plant/indoor tree",
    "orchids": "flower pot",
    "vase": "floor vase/vase",
    "round carpet": "round rug",
    "carpet": "rug",
    "oriental rug": "rug",
    "white board": "whiteboard",
    "chessboard": "chess set",
    "dart game": "dartboard",
    "flipper": "pinball machine",
    "basketball net": "basketball hoop",
    "doll house": "dollhouse",
    "biplane": "toy plane",
    "camping tent": "",
    "dart": "",
    "candlestick": "candle holder",
    "bike helmet": "bicycle helmet",
    "clock": "clock/wall clock",
    "penbox": "pencil holder",
    "horse": "",
}

_CUT = re.compile(r"\s+(?:with|and|without|for|in|on)\s+|[,(/#]")
UNKNOWN = "name not in the table"
"""Why an entry whose name stands for nothing is left out."""
_LOW, _HIGH = 0.6, 1.6
"""A side may be this much smaller or larger than the catalogue's range; ours."""
_ON_THE_FLOOR = 0.1
"""Metres of mounting height up to which a model counts as standing; ours."""


def categories_of(name: str) -> list[str]:
    """The categories that a library's name may stand for, best first; empty when it is not in the table."""
    whole = re.sub(r"\s+", " ", name.lower()).strip()
    head = _CUT.split(whole)[0].strip()
    for text in (whole, head):
        words = text.split(" ")
        for start in range(len(words) if text == head else 1):
            ending = " ".join(words[start:])
            if ending in NAMES:
                return [word for word in NAMES[ending].split("/") if word]
            if ending in CATALOGUE:
                return [ending]
    return []


def misfit(item: Kind, size: tuple[float, float, float], elevation: float) -> float | None:
    """How far a model's sides (metres) lie outside of the catalogue's ranges, as a sum of logarithms; None if
    it cannot pass for the kind: a side is too far off, or what stands on the floor is mounted on a wall.

    Width and depth are compared larger with larger, since libraries differ in which is which for some things.
    """
    if elevation > _ON_THE_FLOOR and item.place in ("wall", "corner", "edge", "free", "centre"):
        return None
    sides = sorted(item.size[:2], key=lambda span: span[0] + span[1])
    total = 0.0
    for (low, high), value in zip([*sides, item.size[2]], [*sorted(size[:2]), size[2]]):
        if not min(low * _LOW, low - 0.03) <= value <= high * _HIGH + 0.02:
            return None
        total += math.log(max(low / value, value / high, 1.0))
    return total


def choose(name: str, size: tuple[float, float, float], elevation: float) -> tuple[list[str], str]:
    """(categories, "") of a model, or ([], why not). It serves all that its size suits equally well."""
    found = categories_of(name)
    if not found:
        return [], UNKNOWN
    fits = {word: misfit(CATALOGUE[word], size, elevation) for word in found}
    known = [value for value in fits.values() if value is not None]
    if not known:
        return [], f"size or mounting height does not suit {' or '.join(found)}"
    return [word for word in found if fits[word] == min(known)], ""
