"""Java's .properties format: the catalogues of furniture libraries are written in it."""

from __future__ import annotations

import re

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u+[0-9a-fA-F]{4}|.)", re.S)
_PAIR = re.compile(r"((?:\\.|[^\\\s=:])*)\s*(?:[=:]\s*)?(.*)", re.S)


def parse_properties(data: bytes) -> dict[str, str]:
    r"""Keys and values of a .properties file; of a key that appears twice, the last value counts.

    The rules are those of java.util.Properties: Latin-1 with \uXXXX escapes, "#" and "!" start comments, a
    backslash at the end continues a line, and "=", ":" or a blank ends a key.

    Raises:
        ValueError: a broken \u escape; the message has the line's beginning.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        match = _PAIR.match(line)
        assert match is not None  # every part of the pattern may be empty
        found[_plain(match[1], line)] = _plain(match[2], line)
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    open_ = False
    for raw in re.split(r"\r\n|\n|\r", text):
        part = raw.lstrip(" \t\f")
        if not open_ and (not part or part[0] in "#!"):
            continue
        slashes = len(part) - len(part.rstrip("\\"))
        more = slashes % 2 == 1
        part = part[:-1] if more else part
        if open_:
            lines[-1] += part
        else:
            lines.append(part)
        open_ = more
    return lines


def _plain(text: str, line: str) -> str:
    def one(match: re.Match[str]) -> str:
        mark = match[1]
        if mark[0] != "u":
            return _ESCAPES.get(mark, mark)
        if len(mark) < 5:
            raise ValueError(f"broken \\u escape in {line[:60]!r}")
        return chr(int(mark[-4:], 16))

    return _ESCAPE.sub(one, text)
