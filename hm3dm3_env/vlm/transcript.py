"""The form of what records keep of a vision-language model's calls (`EpisodeVlm.record`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema

LARGEST = 4096
"""Longest side of a picture or a camera's frame that is drawn, pixels (ours)."""
QUOTED = 120
"""Characters of an error that quotes what is wrong (ours)."""
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_IMAGE = {
    "type": "object",
    "required": ["image"],
    "properties": {
        "image": {"type": "string"},
        "sha256": {"type": "string"},
        "size": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": LARGEST},
            "minItems": 2,
            "maxItems": 2,
        },
    },
}
_MESSAGE = {
    "type": "object",
    "required": ["role", "parts"],
    "properties": {
        "role": {"type": "string"},
        "parts": {"type": "array", "items": {"anyOf": [COUNT, _IMAGE]}},
    },
}
_CALL = {
    "type": "object",
    "required": ["step", "by", "level", "said", "unfit", "answer", "error"],
    "properties": {
        "step": COUNT,
        "by": {"type": "string", "pattern": r"^(team|robot_\d{1,3})$"},
        "level": {"type": "string"},
        "said": {"type": "array", "items": _MESSAGE},
        "unfit": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text", "reason"],
                "properties": {"text": {"type": "string"}, "reason": {"type": "string"}},
            },
        },
        "answer": {"type": ["object", "null"]},
        "error": {"type": ["string", "null"]},
    },
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "levels": {"type": "object", "additionalProperties": {"type": "object"}},
        "texts": {"type": "array", "items": {"type": "string"}},
        "transcript": {"type": "array", "items": _CALL},
    },
}
"""JSON schema of a record's `method_record.vlm`; the texts that calls name by number must be there, too."""


def misfit(value: Any, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where a value does not fit a JSON schema ("transcript[3].step", "" for the whole), and why; None where
    it does."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return None
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path).lstrip(".")
    if error.validator == "required":
        return path, f"lacks {', '.join(repr(n) for n in error.validator_value if n not in error.instance)}"
    rule = f"{error.validator} {quote(error.validator_value)}"
    return path, f"{quote(error.instance)} does not fit {rule}"


def quote(value: Any) -> str:
    """A value for an error's text, cut to `QUOTED` characters."""
    text = repr(value)
    return text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"
