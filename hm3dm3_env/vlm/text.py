"""The words of models and servers: JSON that fits a schema, without keys, fit to be written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema

SHOWN = 200
"""Characters of an answer or of a server's message that an error quotes (ours)."""
SHORTEST_KEY = 6
"""Keys of fewer characters are words such as "none" or "EMPTY", and are not looked for in texts (ours)."""


def encodable(text: str) -> str:
    """A text that UTF-8 can hold: lone surrogates, which JSON can write, become question marks."""
    return text.encode("utf-8", "replace").decode()


def fitting(text: str, schema: Mapping[str, Any], clean: Callable[[str], str] = encodable) -> dict[str, Any]:
    """The JSON object in a model's text, checked; a fence around it and thoughts before it are forgiven. All
    its texts are `clean`ed first.

    Raises:
        ValueError: no JSON, no object, or one that does not fit; the message names the field.
    """
    bare = re.sub(r"^\s*<think>.*?</think>", "", text, flags=re.DOTALL).strip()
    fenced = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", bare, flags=re.DOTALL)
    bare = fenced.group(1) if fenced else bare
    try:
        value = _each_text(json.loads(bare, parse_constant=_no_constant), clean)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error}): {clean(bare)[:SHOWN]!r}") from error
    if not isinstance(value, dict):
        raise ValueError(f"it is a JSON {type(value).__name__}, not an object")
    wrong = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if wrong is not None:
        where = ".".join(str(part) for part in wrong.absolute_path) or "(top)"
        raise ValueError(f"{where}: {wrong.message[:SHOWN]}")
    return value


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with all its texts changed, names of fields too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    if isinstance(value, dict):
        return {change(name): _each_text(item, change) for name, item in value.items()}
    return value


def cleaner(key: str) -> Callable[[str], str]:
    """What makes a server's text fit to be written: encodable, and without the key, as it is or as JSON and
    Python quote it."""
    forms = {key, json.dumps(key)[1:-1], repr(key)[1:-1]} if len(key) >= SHORTEST_KEY else set()
    ordered = sorted(forms, key=len, reverse=True)

    def clean(text: str) -> str:
        for form in ordered:
            text = text.replace(form, "[key]")
        return encodable(text)

    return clean


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON knows")
