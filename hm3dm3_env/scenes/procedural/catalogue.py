"""The whole catalogue: every category that a house may hold, beside its structure."""

from __future__ import annotations

from hm3dm3_env.scenes.procedural.catalogue_decor import DECOR, LAMPS
from hm3dm3_env.scenes.procedural.catalogue_fittings import FITTINGS
from hm3dm3_env.scenes.procedural.catalogue_games import FITNESS, GAMES
from hm3dm3_env.scenes.procedural.catalogue_kitchen import BATH, KITCHEN
from hm3dm3_env.scenes.procedural.catalogue_leisure import LEISURE
from hm3dm3_env.scenes.procedural.catalogue_ornaments import ORNAMENTS
from hm3dm3_env.scenes.procedural.catalogue_pantry import COOKING, GARDEN, PETS
from hm3dm3_env.scenes.procedural.catalogue_play import PLAY
from hm3dm3_env.scenes.procedural.catalogue_rooms import SEATING, TABLES
from hm3dm3_env.scenes.procedural.catalogue_sleep import SLEEP
from hm3dm3_env.scenes.procedural.catalogue_small import SMALL
from hm3dm3_env.scenes.procedural.catalogue_sport import SPORT
from hm3dm3_env.scenes.procedural.catalogue_storage import STORAGE
from hm3dm3_env.scenes.procedural.catalogue_study import LOUNGE, MUSIC, STUDY
from hm3dm3_env.scenes.procedural.catalogue_utility import UTILITY
from hm3dm3_env.scenes.procedural.kinds import Kind

CATALOGUE: dict[str, Kind] = {
    item.name: item
    for group in (
        SEATING,
        TABLES,
        SLEEP,
        STORAGE,
        LAMPS,
        DECOR,
        KITCHEN,
        BATH,
        UTILITY,
        LEISURE,
        SPORT,
        SMALL,
        PLAY,
        GAMES,
        FITNESS,
        MUSIC,
        STUDY,
        LOUNGE,
        ORNAMENTS,
        FITTINGS,
        COOKING,
        PETS,
        GARDEN,
    )
    for item in group
}
"""Categories by name. Walls, floors, ceilings, doors, door frames and windows come from `structure`."""
