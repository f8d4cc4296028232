"""English for names of things: how a raw category is said, its article, its number, materials as adjectives.

Categories come from the catalogue of the generated houses and from HM3DSem's annotators, who write slashes
("bed/couch"), notes ("chair /otherroom"), plurals and pairs. The word lists are ours; they were made by going
through the names of both sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_PAIRS = frozenset(
    "boots binoculars crutches earphones eyeglasses gloves goggles headphones jeans mittens pants "
    "pliers sandals scissors shoes shorts skates skis slippers sneakers socks sunglasses tongs trousers "
    "tweezers".split()
)
"""Said as a pair: "a pair of skis"."""
_MASS = frozenset(
    "art baggage bedding bread cardboard chess clothing clutter cookware crockery cutlery decor "
    "detergent dinnerware dishware equipment firewood flatware fluid foam food fruit fur furniture "
    "garbage glassware grass gravel hardware information insulation ivy jewellery jewelry junk "
    "kitchenware laundry lighting linen liquid luggage lumber machinery molding moulding music paneling "
    "panelling paper piping plumbing porcelain pottery powder rubbish sand shampoo shelving silverware "
    "soap stationery stuff tableware tiling tinsel toothpaste trash vegetation wallpaper water wiring "
    "wood wool yarn".split()
)
"""Without a plural and without "a": "some firewood"."""
_PLURALS = frozenset("children feet geese menus mice people teeth".split())
"""Plurals that the rule for a final s does not find."""
_SINGULARS = frozenset(
    "atlas bias canvas christmas gas lens news pancreas pyjamas series species ups".split()
)
"""Words in s that are no plurals; those in ss, us and is are found by rule."""
_CAPITALS = {
    "tv": "TV", "tvs": "TVs", "led": "LED", "lcd": "LCD", "dvd": "DVD", "dvds": "DVDs", "cd": "CD",
    "cds": "CDs", "cd's": "CDs", "pc": "PC", "ups": "UPS", "usb": "USB",
    "christmas": "Christmas", "l-shaped": "L-shaped", "u-shaped": "U-shaped",
}  # fmt: skip
"""Initials and names that the sources write small."""
_BEFORE_HEAD = re.compile(r" (?:of|with|for|on|in|under|behind|from|to) ")
_SPOKEN_LETTERS = frozenset("aefhilmnorsx")
"""Letters whose names begin with a vowel: an L-shaped sofa, an LED."""
_LIKE_YOU = re.compile(r"u[bcdfghjklmnpqrstvwxyz][aeiou]|uni(?!n)|eu|ew|one\b|once\b|ouija")
"""Vowels that are said with a consonant first: a utility sink, a unit, a one-seater."""
_NOT_LIKE_YOU = ("unid", "unim", "unin", "unus", "umami", "udon")
_SILENT_H = ("hour", "heir", "honest", "honour", "honor")
_WOODEN = {"wood": "wooden", "painted wood": "painted wooden", "wool": "woollen"}
"""Materials whose adjective is another word; "gold" is left to colours."""


@dataclass(frozen=True)
class Noun:
    """A category as it is said.

    Attributes:
        words: "L-shaped sofa", "bed or couch".
        number: "one", "many" ("curtains"), "pair" ("skis") or "mass" ("firewood").
    """

    words: str
    number: str

    @property
    def plural(self) -> bool:
        """Whether verbs are plural: "the skis are"."""
        return self.number in ("many", "pair")

    def some(self, adjectives: str = "") -> str:
        """Something not spoken of yet: "a red chair", "an old TV", "some curtains", "a pair of skis"."""
        phrase = f"{adjectives} {self.words}".strip()
        if self.number == "one":
            return article(phrase)
        return f"a pair of {phrase}" if self.number == "pair" else f"some {phrase}"


@cache
def noun(category: str) -> Noun:
    """How a raw category is said, and its number."""
    words = spoken(category)
    head = (_BEFORE_HEAD.split(words, maxsplit=1)[0].split() or [words])[-1].lower()
    if head in _PAIRS:
        number = "pair"
    elif head in _MASS:
        number = "mass"
    elif head in _PLURALS or (
        head.endswith("s") and head not in _SINGULARS and not head.endswith(("ss", "us", "is"))
    ) or (" and " in words and not _BEFORE_HEAD.search(words) and words != "salt and pepper grinder"):
        number = "many"
    else:
        number = "one"
    return Noun(words, number)


def spoken(category: str) -> str:
    """A raw category without notes and slashes: "chair /otherroom" is a chair, "box /w books" one with books,
    "bed/couch" a bed or couch; initials get their capitals."""
    text = " ".join(category.lower().replace('"', " ").split())
    text = re.sub(r"\s*/\s*(?:other\s?room|otheroom|outside)\b", "", text)
    text = re.sub(r"\s*/w\s+", " with ", text).strip(" /,.;")
    text = re.sub(r"\s*/+\s*", " or ", text)
    if "," in text:
        *first, last = (part.strip() for part in text.split(",") if part.strip())
        if len(first) == 1 and last.endswith("ed"):  # "tv, wall mounted"
            first, last = [], f"{last.replace(' ', '-')} {first[0]}"
        text = ", ".join(first) + (", " if " and " in last else " and ") + last if first else last
    return " ".join(_CAPITALS.get(word, word) for word in text.split()) or "thing"


def article(phrase: str) -> str:
    """The phrase with "a" or "an" before it, by the sound of its first word.

    Initials are spelled out ("an LED lamp", "a TV"); u before one consonant and a vowel is said like "you"
    ("a utility sink", but "an umbrella"); a silent h counts as a vowel ("an hourglass").
    """
    first = re.split(r"[\s-]", phrase, maxsplit=1)[0]
    low = first.lower()
    if len(first) == 1 or (first.rstrip("s").isupper() and first.isalpha()):
        vowel = low[0] in _SPOKEN_LETTERS
    elif low.startswith(_SILENT_H):
        vowel = True
    elif _LIKE_YOU.match(low) and not low.startswith(_NOT_LIKE_YOU):
        vowel = False
    else:
        vowel = low[:1] in "aeiou"
    return f"{'an' if vowel else 'a'} {phrase}"


def colour_adjective(colour: str) -> str:
    """A colour before a noun: reddish-brown, light blue."""
    first, _, rest = colour.partition(" ")
    return f"{first}-{rest}" if rest and first.endswith("ish") else colour


def material_adjective(material: str) -> str:
    """A material before a noun: wooden, oak, leather, knitted."""
    if material in _WOODEN:
        return _WOODEN[material]
    return material.removesuffix(" wood")


def made_of(material: str) -> str:
    """A material after "is": made of oak wood, knitted."""
    participle = material.split()[-1].endswith(("ed", "woven"))
    return material if participle else f"made of {material}"
