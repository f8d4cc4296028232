"""What `--help` says of settings: the sentences under the fields of their dataclasses."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

WIDTH = 100
"""Of a line, characters (ours)."""


def settings_help(schema: Any, prefix: str = "") -> str:
    """Every setting of a dataclass, with what is written under it; those of dataclasses in it by their full
    names, such as camera.width."""
    kinds, sentences, lines = get_type_hints(schema), _sentences(schema), []
    for field in fields(schema):
        kind, said = kinds[field.name], sentences.get(field.name, "")
        nested = is_dataclass(kind)
        about = said or (inspect.getdoc(kind) or "").partition("\n\n")[0] if nested else said
        lines.append(f"{prefix}{field.name}{'.*' if nested else ''}")
        lines += textwrap.wrap(about, WIDTH, initial_indent="    ", subsequent_indent="    ")
        if nested:
            lines.append(settings_help(kind, f"{prefix}{field.name}."))
    return "\n".join(lines)


def _sentences(schema: type) -> dict[str, str]:
    """Field -> the text under it, its own and inherited ones."""
    found: dict[str, str] = {}
    for part in reversed(schema.__mro__):
        if not is_dataclass(part):
            continue
        try:
            source = inspect.getsource(part)
        except OSError:  # an installation without sources
            continue
        (tree,) = ast.parse(textwrap.dedent(source)).body
        body = getattr(tree, "body", [])
        for field, below in zip(body, body[1:]):
            name = field.target if isinstance(field, ast.AnnAssign) else None
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[name.id] = " ".join(text.value.split())
    return found
