"""One client for every vision-language model: endpoints that speak OpenAI's chat completions (vLLM, SGLang,
llama.cpp, Ollama, OpenAI itself).

    vlm = Vlm(VlmConfig(base_url="http://127.0.0.1:8000/v1", model="Qwen/Qwen3-VL-8B-Instruct"))
    answer = vlm.ask([message("system", "You ..."), message("user", "What is this?", frame)], schema)

The answer is JSON that fits the schema, or an error that says what to do. Needs the extra `hm3dm3[vlm]`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from hm3dm3_env.vlm.config import NoFittingAnswer, VlmConfig, VlmError, address, without_secrets
from hm3dm3_env.vlm.pictures import data_uri
from hm3dm3_env.vlm.text import SHOWN, cleaner, fitting
from hm3dm3_env.vlm.timing import Deadline, Pacer

MOST_SAID = 10**5
"""So many bytes of an error's body are read; its message stands at the start (ours)."""
KEPT = 2000
"""Characters of an answer that does not fit that are kept (ours)."""
MOST_BYTES = 10**7
"""No answer is longer than this (ours)."""
MOST_TOKENS = 10**8
"""A server that counts more than this for one answer is not believed (ours)."""


@dataclass
class Usage:
    """What a client has used.

    Attributes:
        requests: sent, repeats included.
        retries: of them, repeats after a refusal, an error or silence.
        refused: requests that were answered with status 429.
        errors: requests that were answered with another status than 429 and success, or with something that
            is no chat completion.
        lost: requests that no answer came to: time-outs and broken connections.
        unfit: answers that were no JSON or did not fit the schema.
        tokens_in, tokens_out: read and written, as servers count them; a count that is no whole number, or
            beyond `MOST_TOKENS`, is taken as none.
        cost: by the prices of the config.
    """

    requests: int = 0
    retries: int = 0
    refused: int = 0
    errors: int = 0
    lost: int = 0
    unfit: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def add(self, other: Usage) -> None:
        """Count what another has used too."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self) -> str:
        cost = f", cost {self.cost:.4f}" if self.cost else ""
        return (
            f"{self.requests} requests ({self.retries} repeated, {self.unfit} answers that did not fit), "
            f"{self.tokens_in} tokens read, {self.tokens_out} written{cost}"
        )


@dataclass
class Asked:
    """What came of a question: the `answer`, or None and the `error`; the answers that did `unfit`, each with
    the reason; what it used; and how long it took, seconds."""

    answer: dict[str, Any] | None = None
    error: VlmError | None = None
    unfit: list[dict[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


def message(role: str, *parts: str | np.ndarray) -> dict[str, Any]:
    """A message of a chat: role is system, user or assistant; parts are texts and (H, W, 3) uint8 images."""
    if all(isinstance(part, str) for part in parts):
        return {"role": role, "content": "\n".join(str(part) for part in parts)}
    content: list[dict[str, Any]] = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_uri(part)}}
        for part in parts
    ]
    return {"role": role, "content": content}


class Vlm:
    """A client of one model. Threads may share it; `usage` counts what all of them used.

    Raises:
        VlmError: no endpoint or model is given, the address or the key cannot be one, or there is no openai
            library.
    """

    def __init__(self, config: VlmConfig, pacer: Pacer | None = None) -> None:
        examples = {"base_url": "http://127.0.0.1:8000/v1", "model": "Qwen/Qwen3-VL-8B-Instruct"}
        for name, example in examples.items():
            if not getattr(config, name):
                raise VlmError(f"vlm.{name} is not set; give, for example, vlm.{name}={example}")
        if not re.match(r"https?://[^/]", config.base_url):
            raise VlmError(f"vlm.base_url: {address(config.base_url)!r} must begin with http:// or https://")
        try:
            import openai
        except ImportError as error:
            raise VlmError("VLMs need the openai library: pip install 'hm3dm3[vlm]'") from error
        key = os.environ.get(config.key_from, "").strip()  # a file's key ends in a newline
        if not re.fullmatch(r"[\x21-\x7e]*", key):
            raise VlmError(f"${config.key_from}: no key has such characters; set it to the key alone")
        self.config, self.usage = config, Usage()
        self._openai, self._lock, self._clean = openai, threading.Lock(), cleaner(key)
        self._mine = _Mine(config.timeout)
        self._pacer = pacer or Pacer(config.requests_per_minute)
        # httpx or httpx2, by the library's version
        self._http = http = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
        try:
            urlsplit(config.base_url).port  # noqa: B018  # a ValueError when it is none
            http.URL(config.base_url)
        except (ValueError, http.InvalidURL):
            wrong = f"{address(config.base_url)!r} is no address, check its host and port"
            raise VlmError(f"vlm.base_url: {wrong}; give one such as {examples['base_url']}") from None
        try:
            self._client = openai.OpenAI(
                base_url=config.base_url,
                api_key=key or "none",
                timeout=config.timeout,
                max_retries=config.retries,
                http_client=openai.DefaultHttpxClient(
                    event_hooks={"request": [self._sent], "response": [self._came]},
                    limits=http.Limits(max_keepalive_connections=0),  # see Deadline
                    follow_redirects=False,  # nor would one try have one deadline
                    headers={"Accept-Encoding": "identity"},  # what is small when it comes must stay so
                ),
            )
        except Exception as error:  # of several libraries: a proxy that is none, files of certificates
            why = without_secrets(f"{type(error).__name__}: {error}")
            raise VlmError(
                f"the HTTP client cannot be made ({why}); check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and "
                "SSL_CERT_FILE in the environment"
            ) from None

    def ask(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The model's answer to a chat: a JSON object that fits a JSON schema.

        An answer that does not fit is shown to the model with the reason, and it is asked again, up to
        `answers` times in all. Texts in answers can be encoded as UTF-8 and hold "[key]" in place of the key.

        Raises:
            NoFittingAnswer: none of the answers fits.
            VlmError: the endpoint gives no answer.
        """
        asked = self.asked(messages, schema)
        if asked.answer is None:
            raise asked.error or VlmError("no answer")
        return asked.answer

    def asked(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> Asked:
        """The same with all that came of it, and no error raised; `headers` go with the requests."""
        asked = Asked()
        start = time.perf_counter()
        self._mine.usage = asked.usage
        try:
            asked.answer = self._fitting(messages, schema, headers or {}, asked)
        except VlmError as error:
            asked.error = error
        asked.seconds = time.perf_counter() - start
        with self._lock:
            self.usage.add(asked.usage)
        return asked

    def _fitting(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        headers: Mapping[str, str],
        asked: Asked,
    ) -> dict[str, Any]:
        chat, reason = [dict(part) for part in messages], ""
        for _ in range(self.config.answers):
            text, cut = self._complete(chat, schema, headers)
            try:
                return fitting(text, schema, self._clean)
            except ValueError as error:
                reason = str(error)
                if cut:
                    reason += f" (cut off at vlm.max_tokens={self.config.max_tokens})"
            asked.usage.unfit += 1
            asked.unfit.append({"text": text[:KEPT], "reason": reason})
            again = f"That answer cannot be used: {reason}. Answer again, with one JSON object alone."
            chat = [*map(dict, messages), message("assistant", text or "(nothing)"), message("user", again)]
        fix = "raise vlm.max_tokens" if "cut off" in reason else "try another model or vlm.structured"
        tries = f"no fitting answer in {self.config.answers} tries"
        raise NoFittingAnswer(f"{self.config.model}: {tries}: {reason}; {fix}")

    def _sent(self, request: Any) -> None:
        """A request leaves; until something comes, it is lost."""
        self._pacer.wait()
        self._mine.usage.requests += 1
        self._mine.usage.lost += 1
        self._mine.status = 0
        self._mine.deadline.start(request)

    def _came(self, response: Any) -> None:
        """A response begins."""
        usage, status = self._mine.usage, response.status_code
        self._mine.status = status
        usage.lost -= 1
        usage.refused += status == 429
        if not response.is_success:
            usage.errors += status != 429
            response.headers.pop("Content-Encoding", None)  # a message that was packed stays so
            response.stream = _start_of(response.stream, self._http.SyncByteStream)

    def _complete(
        self, chat: list[dict[str, Any]], schema: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[str, bool]:
        """The answer's text, and whether it was cut off."""
        self._mine.before = self._mine.usage.requests
        try:
            return self._read(self._answer(chat, schema, headers))
        finally:
            self._mine.deadline.stop()
            self._mine.usage.retries += max(self._mine.tries - 1, 0)

    def _answer(
        self, chat: list[dict[str, Any]], schema: Mapping[str, Any], headers: Mapping[str, str]
    ) -> bytes:
        """The body of the answer. The library repeats requests with growing pauses."""
        config, failed = self.config, self._openai
        options: dict[str, Any] = {} if config.seed is None else {"seed": config.seed}
        if config.structured == "schema":
            wanted = {"name": "answer", "schema": dict(schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif config.structured == "object":
            options["response_format"] = {"type": "json_object"}
        try:
            with self._client.chat.completions.with_streaming_response.create(
                model=config.model,
                messages=chat,  # type: ignore[arg-type]
                temperature=config.temperature,
                max_tokens=config.max_tokens,
                extra_body=config.extra or None,
                extra_headers=dict(headers),
                **options,
            ) as response:
                return self._body(response)
        except failed.APIStatusError as error:
            said = self._clean(_said(error.body, error.message))
            if error.response.has_redirect_location:
                said = f"it redirects to {address(error.response.headers['Location'])}"
            raise VlmError(self._refusal(error.status_code, said)) from None  # it may quote the key
        except failed.APIConnectionError as error:
            timeout = isinstance(error, failed.APITimeoutError) or self._mine.deadline.late
            raise VlmError(self._silence(timeout, error.__cause__ or error)) from error
        except self._http.HTTPError as error:  # while the body of an error was read
            raise VlmError(self._refusal(self._mine.status, self._broken(error))) from None

    def _body(self, response: Any) -> bytes:
        """The whole body of a response."""
        body = bytearray()
        try:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    self._mine.usage.lost += 1
                    much = f"more than {MOST_BYTES} bytes of an answer"
                    raise VlmError(f"{self.config.model}: {much}; look at the server's log")
        except self._http.HTTPError as error:
            self._mine.usage.lost += 1
            raise VlmError(f"{self.config.model}: {self._broken(error)}") from None
        return bytes(body)

    def _read(self, body: bytes) -> tuple[str, bool]:
        """The text of a completion, and whether it was cut off; its tokens are counted."""
        try:
            completion = json.loads(body)
            choice = completion["choices"][0]
            text, cut = choice["message"].get("content") or "", choice.get("finish_reason") == "length"
            text = self._clean(text)
        except (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError):
            self._mine.usage.errors += 1
            start = " ".join(self._clean(body[:10_000].decode("utf-8", "replace"))[:SHOWN].split())
            raise VlmError(
                f"{self.config.model}: the endpoint's answer is no chat completion: {start!r}; "
                "vlm.base_url must be that of an OpenAI-compatible server and end in /v1"
            ) from None  # the parser's error may quote the key
        counts = completion.get("usage")
        counts = counts if isinstance(counts, dict) else {}
        read, written = _counted(counts.get("prompt_tokens")), _counted(counts.get("completion_tokens"))
        usage = self._mine.usage
        usage.tokens_in += read
        usage.tokens_out += written
        usage.cost += (read * self.config.price_in + written * self.config.price_out) / 1e6
        return text, cut

    def _refusal(self, status: int, said: str) -> str:
        advice = {
            400: "check vlm.extra, or try vlm.structured=object or none",
            401: f"put a valid key into ${self.config.key_from}",
            403: f"the key in ${self.config.key_from} may not use this model",
            404: "check vlm.model and that vlm.base_url ends in /v1",
            413: "send fewer or smaller images",
            422: "check vlm.extra, or try vlm.structured=object or none",
            429: "wait, or ask with fewer requests at once",
        }.get(status, "set vlm.base_url to where it answers" if status < 400 else "look at the server's log")
        tries = self._mine.tries
        after = f" after {tries} tries" if tries > 1 else ""
        return f"{self.config.model}: status {status}{after}: {' '.join(said.split())[:SHOWN]!r}; {advice}"

    def _silence(self, timeout: bool, error: BaseException) -> str:
        config, tries = self.config, self._mine.tries
        many = f"in {tries} {'tries' if tries > 1 else 'try'}"
        if timeout:
            return f"{config.model}: no answer within {config.timeout:g} s {many}; raise vlm.timeout"
        kind, words = type(error).__name__, " ".join(self._clean(without_secrets(str(error))).split())
        advice = {
            "ProxyError": "check the proxy that HTTPS_PROXY or HTTP_PROXY names",
            "RemoteProtocolError": "look at the server's log",
            "ReadError": "look at the server's log",
        }.get(kind, "start the server, or set vlm.base_url")
        if "certificate" in words.lower():
            advice = "let SSL_CERT_FILE name the certificates to trust"
        cannot = f"{address(config.base_url)} cannot be reached {many} ({kind}: {words[:SHOWN]})"
        return f"{config.model}: {cannot}; {advice}"

    def _broken(self, error: Exception) -> str:
        if self._mine.deadline.late:
            return f"no whole answer within {self.config.timeout:g} s; raise vlm.timeout"
        return f"the answer broke off ({type(error).__name__}); look at the server's log"


class _Mine(threading.local):
    """What the question of a thread uses, its requests `before` those of the chat that is asked now, the
    deadline of a request, and the status of the last response (0: none came yet)."""

    def __init__(self, timeout: float) -> None:
        self.usage, self.before, self.deadline, self.status = Usage(), 0, Deadline(timeout), 0

    @property
    def tries(self) -> int:
        """Requests for the chat that is asked now."""
        return self.usage.requests - self.before


def _start_of(stream: Any, kind: type) -> Any:
    """The first `MOST_SAID` bytes of a stream of httpx, which is of this kind."""

    class Start(kind):  # type: ignore[misc, valid-type]
        def __iter__(self) -> Iterator[bytes]:
            left = MOST_SAID
            for piece in stream:
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return

        def close(self) -> None:
            stream.close()

    return Start()


def _counted(value: Any) -> int:
    """A server's count of tokens; 0 for what is none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value <= MOST_TOKENS and value == int(value) else 0


def _said(body: Any, message: str) -> str:
    """A server's own words in the body of an error, which some wrap into "error", or the library's."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, str) and inner.strip():
        return inner
    return str(inner["message"]) if isinstance(inner, dict) and inner.get("message") else message
