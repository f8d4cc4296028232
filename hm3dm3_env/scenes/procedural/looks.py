"""Looks that several tables of the catalogue share (see `kinds.kind` for the notation); ours."""

SOFT = (
    "fabric:grey/light_grey/beige/navy/teal/green/mustard/dark_red/cream/blue/brown "
    "leather:brown/black/tan/cream velvet:teal/pink/dark_green/navy/mustard/purple"
)
CLOTH = (
    "fabric:white/grey/navy/teal/green/mustard/dark_red/cream/blue/pink/purple/orange "
    "knit:cream/grey/terracotta/mint plaid:red/blue/green"
)
WOOD = "wood:*"
TIMBER = "wood:* paintedwood:white/cream/grey/navy/mint/dark_green/light_blue"
SHADE = "fabric:white/cream/beige/grey/navy/mustard/terracotta/teal"
METALS = "metal:black/silver/gold/white/copper"
POT = "ceramic:white/grey/terracotta/navy/teal/mustard wicker:tan stone:grey/dark_grey"
RAINBOW = (
    "plastic:red",
    "plastic:orange",
    "plastic:yellow",
    "plastic:green",
    "plastic:teal",
    "plastic:blue",
    "plastic:purple",
)
"""Surfaces of toys with a key or a bar of each colour."""
