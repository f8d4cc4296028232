"""Sentences from predicates: `TEMPLATES` says the same predicates in 21 ways, whichever of them there are.

A template is a frame ("Take me to ...") and an order of attributes and places. Where it needs something that
is not said (a frame that begins with the room), it has another frame of its own, so that two templates never
give sentences alike. All wordings are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hm3dm3_env.episodes.english import Noun, article, colour_adjective, made_of, material_adjective, noun

BESIDE = ("next to", "beside", "close to", "near")
"""Words for `next_to`."""
ON = ("on", "on top of", "sitting on")
"""Words for `on`; a sentence cannot begin with the last."""
LARGEST = ("largest", "biggest")
"""Words for the size "largest"; "smallest" has one."""

_LIVING = frozenset("bonsai bouquet cactus fern flower flowers palm plant plants tree".split())
"""Names of plants: their colour and material are those of their pots."""


@dataclass(frozen=True)
class Alone:
    """The categories, and the names of rooms, that a floor has once: they take "the"."""

    categories: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Facts:
    """What is to be said of one object, with words drawn for it.

    Attributes:
        said: value by kind of predicate, as `describe.Predicate` has them; "category" is one of them.
        alone: what the floor has once.
        beside, on, largest: the words that this sentence uses.
    """

    said: Mapping[str, str]
    alone: Alone
    beside: str = BESIDE[0]
    on: str = ON[0]
    largest: str = LARGEST[0]

    @cached_property
    def noun(self) -> Noun:
        """The object's category as it is said."""
        return noun(self.said["category"])

    @property
    def size(self) -> str:
        """largest, biggest, smallest, or ""."""
        size = self.said.get("size", "")
        return self.largest if size == "largest" else size

    @property
    def colour(self) -> str:
        """reddish-brown, or "" where no colour is said."""
        return colour_adjective(self.said.get("colour", ""))

    def adjectives(self, material: bool = True, colour: bool = True) -> str:
        """The attributes before the noun, in the order of English: size, colour, material."""
        words = [self.size, self.colour if colour else ""]
        if material and "material" in self.said:
            words.append(material_adjective(self.said["material"]))
        return " ".join(word for word in words if word)

    def the(self, material: bool = True, colour: bool = True) -> str:
        """ "the red wooden chair" """
        return f"the{_spaced(self.adjectives(material, colour))} {self.noun.words}"

    def the_made_of(self) -> str:
        """ "the red chair made of wood"; before the noun what has no such form ("knitted")."""
        made = made_of(self.said["material"]) if "material" in self.said else ""
        return f"{self.the(False)} {made}" if made.startswith("made of") else self.the()

    def a(self) -> str:
        """ "a red wooden chair", "some red curtains", "a pair of red boots"; "the" with a superlative."""
        return self.the() if self.size else self.noun.some(self.adjectives())

    def landmark(self, category: str) -> str:
        """Another object: "the" where the floor has one of its kind."""
        other = noun(category)
        return f"the {other.words}" if category in self.alone.categories else other.some()

    def room(self) -> str:
        """ "in the kitchen", "in a bedroom" or "in one of the bedrooms", "" where no room is said."""
        room = self.said.get("room", "")
        if not room:
            return ""
        if room in self.alone.rooms or "'s " in room:
            return f"in {room}" if "'s " in room else f"in the {room}"
        return f"in one of the {room}s" if room.endswith(("room", "way")) else f"in {article(room)}"

    def relations(self) -> str:
        """ "on the desk, next to a plant" """
        parts = []
        if "on" in self.said:
            parts.append(f"{self.on} {self.landmark(self.said['on'])}")
        if "next_to" in self.said:
            parts.append(f"{self.beside} {self.landmark(self.said['next_to'])}")
        return ", ".join(parts)

    def places(self) -> str:
        """Relations, then the room, with a space before them; "" without any."""
        return _spaced(self.relations()) + _spaced(self.room())

    def complements(self, material: bool) -> str:
        """ " that is red, made of wood and next to the desk" """
        parts = [self.colour]
        if material and "material" in self.said:
            parts.append(made_of(self.said["material"]))
        parts = [part for part in parts if part]
        places = self.places().strip()
        if not parts and not places:
            return ""
        verb = self.be
        if "," in places:  # "that is red and made of wood, on the desk, next to a plant"
            return f" that {verb} {' and '.join(parts)}, {places}" if parts else f" that {verb} {places}"
        parts += [places] if places else []
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
        return f" that {verb} {listed}"

    @property
    def be(self) -> str:
        """is or are"""
        return "are" if self.noun.plural else "is"

    @property
    def them(self) -> str:
        """it or them"""
        return "them" if self.noun.plural else "it"


def _plain(frame: str, end: str = ".") -> Callable[[Facts], str]:
    """A frame around "the red wooden chair next to the desk in the kitchen"."""
    return lambda f: f"{frame} {f.the()}{f.places()}{end}"


def _made_of(frame: str) -> Callable[[Facts], str]:
    """A frame around "the red chair made of wood next to the desk in the kitchen"."""
    return lambda f: f"{frame} {f.the_made_of()}{f.places()}."


def _where(f: Facts) -> str:
    return f"Where {f.be} {f.the()}{f.places()}?"


def _in_the_room(f: Facts) -> str:
    if not f.room():
        return f"What I want is {f.the()}{f.places()}."
    return f"{_capital(f.room())}, look for {f.the()}{_spaced(f.relations())}."


def _room_has(f: Facts) -> str:
    if not f.room() or f.size:
        return f"Go and find {f.the()}{f.places()}."
    verb = "are" if f.noun.number == "many" else "is"
    return f"{_capital(f.room())} there {verb} {f.a()}{_spaced(f.relations())}. Go there."


def _there_is(f: Facts) -> str:
    if f.size:
        verb = "ones to find are" if f.noun.plural else "one to find is"
        return f"The {verb} {f.the()}{f.places()}."
    verb = "are" if f.noun.number == "many" else "is"
    return f"There {verb} {f.a()}{f.places()}. Find {f.them}."


def _landmark_first(f: Facts) -> str:
    relations = f.relations()
    if not relations or relations.startswith(ON[-1]):
        return f"You are after {f.the()}{f.places()}."
    places = _capital(f.places().strip())
    return f"{places}{',' if ',' in places else ''} you will see {f.a()}. Stop there."


def _check_room(f: Facts) -> str:
    if not f.room().startswith("in the "):
        return f"Try to find {f.the_made_of()}{f.places()}."
    return f"Check {f.room()[3:]} for {f.the()}{_spaced(f.relations())}."


def _that_is(frame: str, material: bool) -> Callable[[Facts], str]:
    """A frame around "the largest chair that is red, made of wood and next to the desk"."""

    def say(f: Facts) -> str:
        before = f.the(material=not material, colour=False)
        return f"{frame} {before}{f.complements(material)}."

    return say


def _stands(f: Facts) -> str:
    return f"Head for {f.the()}{f' that {f.be}' if f.places() else ''}{f.places()}."


def _bare(f: Facts) -> str:
    return f"{_capital(f.the())}{f.places()}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spaced(text: str) -> str:
    return f" {text}" if text else ""


TEMPLATES: tuple[Callable[[Facts], str], ...] = (
    _plain("Find"), _plain("Look for"), _plain("Go to"), _plain("I need"), _plain("Take me to"),
    _plain("Locate"), _plain("Show me"), _plain("Can you find", "?"), _made_of("We are looking for"),
    _made_of("Please find"), _made_of("Bring me to"), _that_is("Search for", True),
    _that_is("I am looking for", False), _in_the_room, _room_has, _there_is, _landmark_first, _check_room,
    _stands, _where, _bare,
)  # fmt: skip
"""One function a template: a sentence from facts."""


def realise(template: int, said: Mapping[str, str], alone: Alone, rng: np.random.Generator) -> str:
    """A sentence in template `template` (modulo their number) that states `said`, values by kind."""
    words = [options[rng.integers(len(options))] for options in (BESIDE, ON, LARGEST)]
    return TEMPLATES[template % len(TEMPLATES)](Facts(said, alone, *words))


def awkward(said: Mapping[str, str]) -> int:
    """How badly English takes these predicates.

    0: well; 1: poorly ("the kitchen table in the kitchen"); 2: not at all. Then the category or another value
    repeats a value ("the wooden wooden crate"), or what cannot be counted has a size or a material ("the
    largest firewood").
    """
    own = said["category"].lower().replace("-", " ").split()
    colour, material = said.get("colour", "").split(), said.get("material", "").split()
    if noun(said["category"]).number == "mass" and ("size" in said or material):
        return 2
    if material and _LIVING & {*own}:
        return 2
    if "wooden" in own:
        own.append("wood")
    if material and {*material, *material_adjective(said["material"]).split()} & {*own, *colour}:
        return 2
    if colour and {word[: len(colour[-1])] if len(colour[-1]) > 3 else word for word in own} & {colour[-1]}:
        return 2  # also the white whiteboard
    if "on" in said and said["on"] == said.get("next_to"):
        return 2
    named = {word for kind in ("category", "next_to", "on") for word in said.get(kind, "").lower().split()}
    if colour and _LIVING & {*own}:
        return 1
    return int("room" in said and said["room"].lower().split()[0] in named)
