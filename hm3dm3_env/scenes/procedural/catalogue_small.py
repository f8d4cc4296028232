"""Small things that stand on furniture, and the whole catalogue. Sizes in metres; ours."""

from __future__ import annotations

from hm3dm3_env.scenes.procedural import shapes_decor as decor
from hm3dm3_env.scenes.procedural import shapes_small as small
from hm3dm3_env.scenes.procedural import shapes_appliance as app
from hm3dm3_env.scenes.procedural import catalogue_rooms as rooms
from hm3dm3_env.scenes.procedural import catalogue_service as service
from hm3dm3_env.scenes.procedural.kinds import Kind, kind

CHINA = "ceramic:white/navy/teal/red/mustard/grey/mint"
PAPER = "paper:red/navy/dark_green/orange/white/purple/teal/mustard"
PLAIN = "plastic:white/black/grey/red/blue/green"

SMALL: tuple[Kind, ...] = (
    kind("book", decor.books, "0.18-0.26 0.14-0.19 0.03-0.12", PAPER, "top:desk/coffee_table/nightstand/low_bookcase", "lib.5 liv.3"),
    kind("magazine", decor.books, "0.24-0.28 0.2-0.22 0.012-0.03", PAPER, "top:coffee_table/side_table/ottoman", "liv.4 bat.1"),
    kind("mug", small.mug, "0.11-0.13 0.09-0.1 0.09-0.11", CHINA, "top:kitchen_counter/desk/kitchen_island", "kit.6:1-3 off.5"),
    kind("bowl", small.bowl, "0.2-0.28 0.2-0.28 0.08-0.1", CHINA + " wood:oak/walnut", "top:kitchen_counter/sideboard", "kit.5:1-2"),
    kind("fruit bowl", small.bowl, "0.28-0.34 0.28-0.34 0.16-0.19", CHINA + " wood:oak/walnut wicker:tan", "top:kitchen counter", "kit.3", content="fruit"),
    kind("plate", small.plate, "0.24-0.28 0.24-0.28 0.025", CHINA, "top:kitchen counter", "kit.3"),
    kind("tray", small.plate, "0.36-0.44 0.36-0.44 0.03", "wood:oak/walnut metal:gold/silver wicker:tan", "near"),
    kind("cooking pot", small.pot, "0.28-0.34 0.22-0.26 0.16-0.2", "brushed:silver metal:red/black/teal/cream", "near", second="brushed:silver"),
    kind("frying pan", small.pot, "0.42-0.46 0.26-0.28 0.05-0.06", "metal:black/dark_grey", "near", pan=True),
    kind("cutting board", small.slab, "0.36-0.42 0.24-0.28 0.025", "wood:oak/walnut/birch", "top:kitchen_counter/kitchen_island", "kit.5"),
    kind("knife block", small.knife_block, "0.13-0.15 0.2-0.24 0.28-0.32", "wood:oak/walnut/ebony", "top:kitchen_counter/kitchen_island", "kit.5"),
    kind("paper towel", small.roll, "0.15-0.17 0.15-0.17 0.3-0.34", "paper:white", "top:kitchen_counter/kitchen_island/workbench", "kit.5 wor.2", frame="metal"),
    kind("canister", small.can, "0.13-0.16 0.13-0.16 0.2-0.26", CHINA + " metal:red/mint/silver", "top:kitchen_counter", "kit.5:1-3", second="wood:oak metal:silver"),
    kind("soap dispenser", small.bottle, "0.07-0.08 0.07-0.08 0.17-0.2", "plastic:white/pink/mint/black glass:light_blue", "top:kitchen_counter", "kit.4", second="metal:silver"),
    kind("toothbrush holder", small.can, "0.08-0.09 0.08-0.09 0.12-0.14", CHINA, "near", second="plastic:blue/green/pink"),
    kind("detergent", small.bottle, "0.15-0.18 0.12-0.14 0.28-0.32", "plastic:blue/orange/green/white", "near", second="plastic:blue/red/white"),
    kind("wine bottle", small.bottle, "0.08 0.08 0.3-0.32", "glass:dark_green/dark_red/black", "top:kitchen_counter/kitchen_island", "kit.3", second="metal:gold/red"),
    kind("perfume bottle", small.bottle, "0.06-0.08 0.06-0.08 0.11-0.15", "glass:pink/light_blue/yellow/purple", "near", second="metal:gold/silver"),
    kind("jewelry box", small.slab, "0.22-0.28 0.16-0.2 0.12-0.15", "leather:pink/white/black/brown wood:cherry/walnut", "near", second="metal:gold"),
    kind("tissue box", small.tissue, "0.23-0.26 0.12-0.14 0.12-0.14", "cardboard:white/light_blue/pink wicker:tan", "top:nightstand/desk/coffee_table/side_table/dresser", "bed.4 off.25 liv.3 gst.3"),
    kind("alarm clock", small.alarm_clock, "0.14-0.18 0.08-0.1 0.13-0.16", "plastic:red/white/black/teal metal:gold", "near"),
    kind("clock", small.alarm_clock, "0.24-0.3 0.1-0.12 0.26-0.32", "wood:* metal:gold", "near"),
    kind("photo frame", small.photo, "0.18-0.26 0.12-0.14 0.22-0.3", "wood:* metal:silver/gold/black", "top:desk/dresser/low_bookcase", "off.3 lib.3"),
    kind("candle", small.can, "0.08-0.1 0.08-0.1 0.1-0.16", "paper:white/cream/red/purple", "top:coffee_table/bathroom_vanity/sideboard", "liv.3 bat.2", second="paper:cream"),
    kind("candle holder", decor.candle_holder, "0.1-0.13 0.1-0.13 0.28-0.38", "paper:white/cream/red", "near", frame="metal"),
    kind("remote control", small.slab, "0.05-0.06 0.17-0.2 0.02", "plastic:black/grey", "near", second="plastic:grey/red"),
    kind("game console", small.slab, "0.28-0.34 0.24-0.28 0.06-0.08", "plastic:black/white", "near"),
    kind("laptop", app.laptop, "0.33-0.38 0.24-0.26 0.22-0.25", "metal:silver/dark_grey plastic:black/white", "top:desk/kitchen_table/dining_table/kitchen_island", "off.4 stu.4"),
    kind("keyboard", small.desk_set, "0.42-0.46 0.14-0.16 0.025-0.03", "plastic:black/white/grey", "near"),
    kind("telephone", small.phone, "0.2-0.23 0.2-0.23 0.1-0.12", "plastic:black/white/red", "top:desk/console_table/side_table", "off.4 hal.25 ent.25"),
    kind("tablet", small.slab, "0.25-0.27 0.18-0.2 0.01", "metal:black/silver", "top:desk/coffee_table/bed", "chd.2 liv.2", second="glass:dark_grey"),
    kind("headphones", small.headphones, "0.18-0.2 0.12-0.14 0.24-0.28", "plastic:black/white/red", "top:desk/cube_shelf", "off.3 gam.3 mus.3 chd.2"),
    kind("pencil holder", small.can, "0.08-0.1 0.08-0.1 0.13-0.16", "metal:black/silver plastic:red/blue/green", "near", second="wood:pine"),
    kind("folded towels", decor.books, "0.36-0.42 0.26-0.3 0.16-0.24", "fabric:white/grey/light_blue/teal/pink", "top:washing_machine/bathroom_cabinet/clothes_dryer", "lau.3", second="fabric:white/cream"),
    kind("cake", small.food, "0.26-0.3 0.26-0.3 0.16-0.2", "foam:pink/cream/brown/white", "top:kitchen_island/dining_table/kitchen_table", "kit.15 din.15"),
    kind("pumpkin", small.food, "0.28-0.34 0.28-0.34 0.24-0.28", "leaf:orange", "top:kitchen_counter/kitchen_island/dining_table/console_table", "kit.12 din.1 ent.1"),
    kind("mobile", decor.hanging_lamp, "0.4-0.5 0.4-0.5 0.8-1.0", "fabric:pink/yellow/mint/light_blue", "ceiling", "nur.4"),
)

CATALOGUE: dict[str, Kind] = {
    item.name: item
    for group in (rooms.SEATING, rooms.TABLES, rooms.SLEEP, rooms.STORAGE, rooms.LAMPS, rooms.DECOR,
                  service.KITCHEN, service.BATH, service.UTILITY, service.LEISURE, SMALL)
    for item in group
}
"""Every category that a house may hold, by name, beside the structure (wall, floor, ceiling, door, window, frames)."""
