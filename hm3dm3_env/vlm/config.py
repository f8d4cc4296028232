"""Which vision-language model is asked, where, and how; and what goes wrong with it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any

from hm3dm3_env.vlm.text import encodable

STRUCTURED = ("schema", "object", "none")
"""How a server is asked for JSON: by the schema, as any object, or in words alone."""
LONGEST_WAIT = 86400.0
"""Seconds, a day: the longest `timeout` (ours)."""


class VlmError(ValueError):
    """No usable answer; the message says from which model, what went wrong, and what to change."""


class NoFittingAnswer(VlmError):
    """The model answers, but never what fits the schema."""


@dataclass(frozen=True)
class VlmConfig:
    """Which model, where, and how to ask."""

    base_url: str = ""
    """Of the endpoint, up to and with /v1: http://127.0.0.1:8000/v1."""
    model: str = ""
    """The model's name there."""
    key_from: str = "HM3DM3_VLM_KEY"
    """Environment variable with the key; servers of your own mostly need none. The key is written nowhere:
    where a server repeats it, it reads "[key]". The default is not OPENAI_API_KEY, so that nobody's key goes
    to another server by accident."""
    timeout: float = 120.0
    """Seconds that one try may take, to the last byte of the answer (ours); at most a day."""
    retries: int = 4
    """Repeats after refused connections, time-outs, 408, 409, 429 and 5xx, with growing pauses; a server's
    Retry-After is kept while it is short, and new versions of the openai library give up where it is long
    (ours)."""
    answers: int = 2
    """Answers asked for until one fits the schema: one that does not is shown to the model once (ours)."""
    concurrency: int = 4
    """Requests at once of a process (ours)."""
    requests_per_minute: float = 0.0
    """At most so many of a run, evenly spaced, and at least one a day; 0: no limit."""
    give_up: int = 10
    """So many questions in a row without an answer, over episodes, end the run: it would be one of a method's
    fallbacks, under the model's name (ours). 0: never."""
    structured: str = "schema"
    """How JSON is asked for: schema (response_format with the schema), object (any JSON object), or none (in
    words alone, for servers that know no response_format)."""
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int | None = 0
    """For servers that can repeat themselves; null leaves it out."""
    extra: dict[str, Any] = field(default_factory=dict)
    """More fields of the request, as the server takes them, for example
    {chat_template_kwargs: {enable_thinking: false}}. They decide the answers and are written to files as they
    are, so put no secrets here."""
    price_in: float = 0.0
    """Of a million tokens read, in any currency; 0: unknown or free."""
    price_out: float = 0.0
    """Of a million tokens written."""

    def __post_init__(self) -> None:
        if self.structured not in STRUCTURED:
            raise ValueError(f"vlm.structured is {self.structured!r}, must be one of {', '.join(STRUCTURED)}")
        if min(self.answers, self.max_tokens, self.concurrency) < 1 or min(self.retries, self.give_up) < 0:
            raise ValueError(
                "vlm: answers, max_tokens and concurrency must be positive, retries and give_up not negative"
            )
        if not 0 < self.timeout <= LONGEST_WAIT:
            raise ValueError(
                f"vlm.timeout is {self.timeout:g}, must be more than 0 and at most {LONGEST_WAIT:g} seconds"
            )
        if 0 < self.requests_per_minute < 60 / LONGEST_WAIT:
            raise ValueError(
                f"vlm.requests_per_minute is {self.requests_per_minute:g}, must be 0 (no limit) or at least "
                f"{60 / LONGEST_WAIT:.1g}, one a day"
            )
        for name in ("temperature", "price_in", "price_out", "requests_per_minute"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"vlm.{name} is {getattr(self, name):g}, must be a number from 0 up")

    def public(self) -> dict[str, Any]:
        """What decides the answers, for files: without the endpoint's address, the key and the prices."""
        kept = ("model", "structured", "temperature", "max_tokens", "seed", "extra", "answers")
        return {name: asdict(self)[name] for name in kept}


def address(url: str) -> str:
    """An address without a name, a password and a query, which may hold keys."""
    return encodable(re.sub(r"//.*@", "//", re.sub(r"[?#].*", "", url, flags=re.DOTALL), flags=re.DOTALL))


def without_secrets(text: str) -> str:
    """A text in which every address is an `address`."""
    return re.sub(r"https?://[^\s'\",{}]+", lambda found: address(found[0]), text)
