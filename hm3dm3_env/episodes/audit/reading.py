"""Read a description by rules of its own: which predicates it says, what else, and whether it is English.

The sentence is taken as a row of words. Each predicate's value is looked for in the forms that English gives
it ("wooden", "made of wood"; "next to a desk") and blanked; what is left must be words that state nothing.
This shares no code with what writes the sentences. Word lists are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FILLERS = frozenset(
    "a after am an and are at bring can check find for go head i in is it locate look looking me need "
    "of on one ones pair please search see show some stop take that the them there to try want we what "
    "where will you".split()
)
"""Words of a sentence that state nothing about the object."""
LONGEST = 128
"""Bytes of a text that observations show by default."""
_ADJECTIVES = {"wood": ("wooden",), "painted wood": ("painted wooden",), "wool": ("woollen", "woolen")}
_SIZES = {"largest": ("largest", "biggest"), "smallest": ("smallest",)}
_PAIRS = re.compile(
    r"\b(boots|shoes|skis|skates|slippers|sandals|sneakers|socks|gloves|mittens|eyeglasses|goggles|"
    r"sunglasses|headphones|earphones|binoculars|scissors|pliers|tongs|tweezers|jeans|pants|trousers|shorts|"
    r"crutches)$"
)
_NO_PLURAL = re.compile(r"(ss|us|is|^gas|^ups|^lens|^news|^atlas|^canvas|^series|^species|^pyjamas)$")
_PLURALS = ("children", "feet", "geese", "mice", "people", "teeth", "menus")
_HEAD = re.compile(r" (?:of|with|for|on|in|under|behind|from|to) ")
_AN = re.compile(
    r"(?:[aio]|e(?![uw])|u(?![bcdfgjklmnpqrstvz][aeiou]|ni[^dmn])|u(?:nid|nim|nin|nus|mam|don)|"
    r"hour|heir|honou?r|honest)"
)
_AN_LETTER = re.compile(r"[AEFHILMNORSX](?:[A-Z]*s?|)$|[aefhilmnorsx]$")
_SAID_WITH_W = re.compile(r"(?:one|once)\b")
_NEXT = r"(?:next to|beside|close to|near)"
_ON = r"(?:sitting on|on top of|on)"
_ARTICLE = r"(a pair of|the|an|a|some)"


@dataclass
class Reading:
    """What a sentence says.

    Attributes:
        missing: predicates whose value it does not say, as (kind, value).
        rest: words that neither a predicate nor `FILLERS` accounts for.
        skeleton: the sentence with its values blanked; two of one template have the same.
        faults: what is not English or not so on the floor, one sentence each.
    """

    missing: list[tuple[str, str]]
    rest: list[str]
    skeleton: str
    faults: list[str] = field(default_factory=list)


def words(text: str) -> list[str]:
    """The words of a text in lower case; hyphens part words, apostrophes do not."""
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower())


def forms(name: str) -> list[str]:
    """How a raw category may be said: "bed/couch" is a "bed or couch", "chair /otherroom" a chair."""
    parts = [" ".join(words(part)) for part in name.lower().replace("/w ", " with ").split("/")]
    parts = parts[:1] + [part for part in parts[1:] if part and not part.startswith(("other", "outside"))]
    whole = " or ".join(parts)
    pieces = [" ".join(words(piece)) for piece in name.split(",")]
    found = [whole, whole.replace("'s", "s")]
    if len(pieces) > 1 and "/" not in name:
        found = [" ".join(pieces[:-1]) + " and " + pieces[-1], " ".join(pieces)]
        if len(pieces) == 2 and pieces[1].endswith("ed"):
            found = [" ".join(pieces[::-1])]
    return [form for form in dict.fromkeys(found) if form]


def number(form: str) -> str:
    """ "one", "pair" or "many", by the word that a name is about."""
    head = _HEAD.split(form, maxsplit=1)[0].split()[-1]
    if _PAIRS.search(head):
        return "pair"
    plural = head in _PLURALS or (head.endswith("s") and not _NO_PLURAL.search(head))
    several = " and " in form and not _HEAD.search(form) and not form.endswith("grinder")
    return "many" if plural or several else "one"


@dataclass
class Blanked:
    """A sentence whose values are blanked.

    Attributes:
        row: its words with a space around each, <kind> for each predicate that was found.
        missing: the predicates that were not found.
        articles: (kind, value, article) of the relations and the room.
    """

    row: str
    missing: list[tuple[str, str]]
    articles: list[tuple[str, str, str]]


def blank(text: str, predicates: Sequence[tuple[str, str]]) -> Blanked:
    """Look for each predicate once; "next to the desk" and "in the kitchen" are blanked as a whole."""
    found = Blanked(f" {' '.join(words(text))} ", [], [])
    for kind, value in in_order(predicates):
        hits = (re.search(rf"(?<= ){pattern}(?= )", found.row) for pattern in _patterns(kind, value))
        hit = next((hit for hit in hits if hit), None)
        if hit is None:
            found.missing.append((kind, value))
            continue
        kept = "check " if hit.group().startswith("check ") else ""
        found.row = f"{found.row[: hit.start()]}{kept}<{kind}>{found.row[hit.end() :]}"
        if hit.groups():
            found.articles.append((kind, value, hit.group(1)))
    return found


def in_order(predicates: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The order in which predicates are looked for, so that none takes a word of another: a desk lamp that is
    mentioned before the desk itself, "light grey" before the light."""
    order = ("next_to", "on", "room", "words", "category", "material", "colour", "size")
    rank = {kind: i for i, kind in enumerate(order)}

    def key(predicate: tuple[str, str]) -> tuple[int, int]:
        kind, value = predicate
        return rank.get("words" if kind == "colour" and " " in value else kind, len(order)), -len(value)

    return sorted(predicates, key=key)


def _patterns(kind: str, value: str) -> list[str]:
    """Regular expressions for a predicate, the longest forms first."""
    plain = " ".join(words(value))
    if kind in ("next_to", "on"):
        relation = _NEXT if kind == "next_to" else _ON
        return [rf"{relation} {_ARTICLE} {re.escape(form)}" for form in forms(value)]
    if kind == "room":
        room = re.escape(plain)
        return [rf"(?:in|check) (the|an|a) {room}", rf"in (one of the) {room}s", rf"in() {room}"]
    if kind == "category":
        return [re.escape(form) for form in forms(value)]
    if kind == "material":
        short = plain.removesuffix(" wood") if plain not in _ADJECTIVES else plain
        said = dict.fromkeys((f"made of {plain}", *_ADJECTIVES.get(plain, ()), plain, short))
        return [re.escape(form) for form in said]
    return [re.escape(form) for form in _SIZES.get(value, (plain,))]


def read(
    text: str, category: str, predicates: Sequence[tuple[str, str]], once: Mapping[tuple[str, str], bool]
) -> Reading:
    """Read a description of an object. `once` says of ("category", name) and ("room", name) whether the floor
    has one alone."""
    found = blank(text, predicates)
    left = [word for word in found.row.split() if not word.startswith("<")]
    rest = [word for word in left if word not in FILLERS]
    reading = Reading(found.missing, rest, _bare(found.row), _spelling(text))
    if not found.missing:
        reading.faults += _own_article(found.row, category) + _verbs(found.row, category)
        reading.faults += [fault for mention in found.articles for fault in _mention(*mention, once)]
    return reading


def skeleton(text: str, predicates: Sequence[tuple[str, str]]) -> str:
    """The sentence with its values blanked, and verbs and pronouns in the singular."""
    return _bare(blank(text, predicates).row)


def _bare(row: str) -> str:
    bare = re.sub(r"\b(?:a pair of|one of the|the|an|a|some|in) (?=<)", "", re.sub(r"<\w+>", "<>", row))
    bare = re.sub(r"\b(?:a pair of|the|an|a|some) (?=<)", "", bare)
    for plural, single in ((" are ", " is "), (" them ", " it "), (" ones ", " one ")):
        bare = bare.replace(plural, single)
    return re.sub(r"<>(?: (?:and )?<>)*", "_", bare).strip()


def _own_article(row: str, category: str) -> list[str]:
    own = re.search(rf" {_ARTICLE}(?: <(?:size|colour|material)>)* <category>", row)
    if own is None:
        return [f"there is no article before {category!r}"]
    if own.group(1) != "the" and "<size>" in own.group():
        return ["a superlative needs 'the'"]
    return _article_fault(own.group(1), category)


def _verbs(row: str, category: str) -> list[str]:
    """Verbs and pronouns that do not fit the object; "there is a pair"."""
    mine = number(forms(category)[0])
    verbs = re.findall(r" (that|where|there) (is|are)(?= )", row)
    verbs += re.findall(r" (ones?) to find (is|are)", row)
    faults = [
        f"'{before} {verb}' does not fit {category!r}"
        for before, verb in verbs
        if (verb == "are") != (mine == "many" or (mine == "pair" and before != "there"))
    ]
    last = row.split()[-1]
    if last in ("it", "them") and (last == "them") != (mine != "one"):
        faults.append(f"{last!r} does not fit {category!r}")
    return faults


def _mention(kind: str, value: str, article: str, once: Mapping[tuple[str, str], bool]) -> list[str]:
    """Another object or a room: "the" where the floor has one, and only there."""
    alone = once.get(("room" if kind == "room" else "category", value))
    faults = [] if kind == "room" else _article_fault(article, value)
    if article and alone is not None and (article == "the") != alone:
        faults.append(f"{article} {value!r}, but the floor has {'one' if alone else 'several'}")
    return faults


def _article_fault(word: str, name: str) -> list[str]:
    kind = number(forms(name)[0])
    fits = {"a": kind == "one", "an": kind == "one", "a pair of": kind == "pair", "some": kind != "pair"}
    return [] if fits.get(word, True) else [f"{word} {name!r}"]


def _spelling(text: str) -> list[str]:
    """Sounds after a and an, words said twice in a row, the sentence's beginning, end and length."""
    faults = []
    for article, word in re.findall(r"\b([Aa]n?) ([^\W_]+)", text):
        vowel = bool(_AN_LETTER.match(word)) if word.isupper() or len(word) == 1 or word[:-1].isupper() else (
            bool(_AN.match(word.lower())) and not _SAID_WITH_W.match(word.lower()))
        if (article.lower() == "an") != vowel:
            faults.append(f"{article} {word}")
    row = words(text)
    faults += [f"{a!r} twice in a row" for a, b in zip(row, row[1:]) if a == b]
    if not re.match(r"[^a-z]", text) or not re.search(r"[.?]$", text):
        faults.append("no sentence with a capital and an end")
    if "  " in text or text != text.strip() or "\n" in text:
        faults.append("stray spaces")
    if len(text.encode()) > LONGEST:
        faults.append(f"{len(text.encode())} bytes, more than {LONGEST}")
    return faults
