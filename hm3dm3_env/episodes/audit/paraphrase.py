"""Free wordings of a description: do they still say every predicate, and nothing that no predicate says?

A text that a language model wrote follows no template. So values are looked for wherever they stand,
relations with any word for them, and colours, materials, rooms and things that are not stated are refused.
Word lists are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hm3dm3_env.episodes.audit.reading import LONGEST, forms, in_order, words

COLOURS = frozenset(
    "amber aqua azure beige black blue bronze brown burgundy charcoal coral cream crimson cyan gold "
    "golden gray green grey indigo ivory lavender lilac magenta maroon mint mustard navy ochre olive "
    "orange peach pink purple red rose scarlet silver tan teal turquoise violet white yellow".split()
)
"""Words for colours; a scene's own are added."""
MATERIALS = frozenset(
    "aluminium aluminum bamboo brass cardboard ceramic chrome concrete copper cork cotton fabric foam "
    "glass granite iron knitted leather linen marble metal metallic oak paper pine plastic porcelain "
    "rattan rubber silk stainless steel stone suede upholstered velvet vinyl walnut wicker wood wooden "
    "wool woollen woven".split()
)
"""Words for materials; a scene's own are added."""
ROOMS = frozenset(
    "attic balcony basement bathroom bedroom closet corridor den entrance entryway garage gym hall "
    "hallway kitchen laundry library lounge nursery office pantry playroom studio study sunroom terrace "
    "workshop".split()
)
"""Words for rooms; a scene's own are added."""
CLAIMS = frozenset(
    "above against ancient antique atop back behind below beneath between big bright centre center "
    "circular corner dark except far floral front giant high huge inside large left light little long "
    "low middle modern narrow never new no not old only opposite outside over oval patterned "
    "rectangular right round short small square striped tall tiny under unlike vintage wide without".split()
)
"""Words that claim what no predicate can say: sides, shapes, ages, denials."""
ORDINARY = frozenset(
    "art bar base board case cover display drawing fan file frame game hand hook item light line lock "
    "map mark note object panel part piece place plan plane point press rest room row set show sign "
    "space spot stand step stop strip support swing switch thing top track train unit wait watch work".split()
)
"""Names of things that are ordinary words too, and so are let pass."""
_SAYS = {
    "next_to": r"(?:next|beside|close|closest|near|nearby|by|alongside|adjacent|neighbouring|neighboring)",
    "on": r"(?:on|atop|upon)",
}
_SIZES = {"largest": ("largest", "biggest"), "smallest": ("smallest",)}


@dataclass(frozen=True)
class Vocabulary:
    """What a text must not mention unless a predicate states it: names as rows of words in lower case."""

    names: frozenset[str]

    @classmethod
    def of(cls, categories: Iterable[str], values: Iterable[str]) -> Vocabulary:
        """From raw categories, and the colours, materials and rooms of a scene."""
        things = {form for category in categories for form in forms(category)} - ORDINARY
        stated = {" ".join(words(value)) for value in values}
        names = things | stated | COLOURS | MATERIALS | ROOMS | CLAIMS
        return cls(frozenset(name for name in names if name and not name.startswith("unknown")))


def paraphrase_faults(
    text: str, predicates: Sequence[tuple[str, str]], vocabulary: Vocabulary
) -> list[str]:
    """Why a free wording is refused, one sentence each; none: it is good."""
    row, faults, stated = f" {' '.join(words(text))} ", [], []
    for kind, value in in_order(predicates):
        said = _values(kind, value)
        stated += said
        for form in said:
            before = rf"{_SAYS[kind]} (?:[^ <]+ ){{0,3}}?" if kind in _SAYS else ""
            hit = re.search(rf"(?<= ){before}{re.escape(form)}(?= )", row)
            if hit:
                row = f"{row[: hit.start()]}<{kind}>{row[hit.end() :]}"
                break
        else:
            what = {"next_to": f"next to {value}", "on": f"on {value}"}.get(kind, value)
            faults.append(f"it leaves out {kind} {what!r}")
    for form in sorted(stated, key=len, reverse=True):  # what is said twice is still stated
        row = row.replace(f" {form} ", " <> ")
    names = sorted(vocabulary.names)
    others = [name for name in names if re.search(rf" {re.escape(name)}(?:e?s)?(?= )", row)]
    if others:
        faults.append(f"it mentions {', '.join(map(repr, others))}, which is not stated")
    if len(text.encode()) > LONGEST:
        faults.append(f"it has {len(text.encode())} bytes, more than {LONGEST}")
    if text != " ".join(text.split()) or not text:
        faults.append("it is not one line of words with single spaces")
    return faults


def _values(kind: str, value: str) -> list[str]:
    """The rows of words that state a value."""
    plain = " ".join(words(value))
    if kind in ("category", "next_to", "on"):
        return forms(value)
    if kind == "size":
        return list(_SIZES.get(value, (plain,)))
    if kind == "room":
        return [plain, plain + "s"]
    if kind == "material":
        adjective = re.sub(r"^((?:\w+ )*)wood$", lambda m: f"{m[1]}wooden", plain)
        return list(dict.fromkeys([plain, adjective, plain.removesuffix(" wood") if " " in plain else plain]))
    return [plain]
