"""A simulated vision-language model: an HTTP server on loopback that speaks OpenAI's chat completions, so
that methods which ask a VLM run offline through the very client that asks real ones.

What it says comes from the answer functions of the method that asks, one for each level of questions. They
get the request as it arrived (`texts` and `images` read it), the truth of the episode, random numbers, and
the rates of mistakes. `SimulatedVlmConfig` adds what goes wrong with real endpoints. All that is random
depends on the episode's seed, the request's content and how often the same request was made in the episode;
never on time, threads, or other episodes. Policies hold nothing of the truth: it stays on this side of the
connection.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import io
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from typing import Any
from urllib.request import getproxies, proxy_bypass

import numpy as np
from PIL import Image

from hm3dm3_env.files import json_bytes
from hm3dm3_env.shared import Privileged
from hm3dm3_env.vlm.config import LONGEST_WAIT

Json = dict[str, Any]
NAME = "simulated"
"""What the simulated model is called in requests, records and tables."""
CHARACTERS, TILE = 4, 28
"""How tokens are counted: characters of text a token (a rule of thumb for English), and pixels a side of an
image's square that is a token (Qwen2-VL and Qwen2.5-VL: patches of 14 pixels, merged 2 x 2)."""
LEVEL, EPISODE, PLAY = "X-HM3DM3-Level", "X-HM3DM3-Episode", "X-HM3DM3-Play"
"""Headers of a request: what kind of question it is, in which episode, and which play of it, so that a server
can keep plays apart. Real endpoints do not mind them."""
_RATES = ("wrong_direction", "wrong_identity", "malformed", "timeouts", "refused")


@dataclass(frozen=True)
class SimulatedVlmConfig:
    """The noise model; every rate is in 0..1, and drawn on its own for every request (ours)."""

    wrong_direction: float = 0.1
    """Rate of wrong choices of where to go."""
    wrong_identity: float = 0.1
    """Rate of pairs of goal and thing that are judged the wrong way round, for a whole episode."""
    malformed: float = 0.02
    """Rate of answers that are no JSON: cut off in the middle, or a sentence."""
    timeouts: float = 0.0
    """Rate of answers that come only after `delay`."""
    delay: float = 180.0
    """Of such an answer, seconds; must be longer than the client waits."""
    refused: float = 0.0
    """Rate of status 429, too many requests."""
    retry_after: float = 0.05
    """Seconds after which a refusal asks to be tried again."""

    def __post_init__(self) -> None:
        for name in _RATES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"vlm.simulated.{name} is a rate in 0..1, not {getattr(self, name)}")
        for name in ("delay", "retry_after"):
            if not 0 < getattr(self, name) <= 2 * LONGEST_WAIT:
                raise ValueError(
                    f"vlm.simulated.{name} is {getattr(self, name):g}, must be more than 0 and at most "
                    f"{2 * LONGEST_WAIT:g} seconds"
                )


@dataclass(frozen=True)
class Heard:
    """What an answer function gets.

    Attributes:
        request: its JSON, as it arrived.
        level: which kind of question it is.
        truth: of the episode.
        seed: of the episode, for mistakes that last.
        noise: the rates.
    """

    request: Mapping[str, Any]
    level: str
    truth: Privileged | None
    seed: int
    noise: SimulatedVlmConfig


Answer = Callable[[Heard, np.random.Generator], Json]
"""What a method's simulated VLM says to one kind of question. A ValueError is for requests that it does not
understand."""


# -- the server --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reply:
    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


class Session:
    """What the server knows of one user: answer functions by level, noise, and an episode with its truth."""

    def __init__(self, url: str, noise: SimulatedVlmConfig) -> None:
        self.url, self._noise = url, noise
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()
        self.begin(0, {}, None)

    def begin(self, seed: int, answers: Mapping[str, Answer], truth: Privileged | None) -> None:
        """A new episode."""
        with self._lock:
            self._seed, self._answers, self._truth = seed, answers, truth
            self._seen = Counter[bytes]()

    def reply(self, request: Json, level: str) -> _Reply:
        """What comes back for a request's JSON."""
        digest = hashlib.sha256(json_bytes(request)).digest()
        with self._lock:
            seed, seen, truth, answers = self._seed, self._seen[digest], self._truth, self._answers
            self._seen[digest] += 1
        rng = np.random.default_rng([seed, seen, *np.frombuffer(digest, "<u4").tolist()])
        noise = self._noise
        refused, late, malformed = rng.random(3) < (noise.refused, noise.timeouts, noise.malformed)
        if refused:
            whole, exact = ceil(noise.retry_after), f"{noise.retry_after * 1e3:g}"
            wait = {"Retry-After": str(whole), "Retry-After-Ms": exact}
            return _Reply(429, _error("too many requests"), wait)
        read = tokens_of(request)
        if level not in answers:
            raise ValueError(f"nobody answers questions of the level {level!r} here")
        with self._one_at_a_time:  # simulators are not made for threads
            said = answers[level](Heard(request, level, truth, seed, noise), rng)
        text = json.dumps(said)
        if malformed:
            text = _spoiled(text, rng)
        limit = int(request.get("max_tokens") or len(text))
        cut = _count(text) > limit
        text = text[: limit * CHARACTERS]
        body = _completion(f"{digest.hex()[:16]}-{seen}", text, cut, read)
        return _Reply(200, body, delay=noise.delay if late else 0.0)


class SimulatedEndpoint:
    """The server; it runs in threads of this process from the start to `close`. Each session has a base URL
    of its own.

    Args:
        port: of 127.0.0.1; 0: one that is free.
        find: the session that a request to /v1 belongs to, by its headers, for servers whose users do not
            share their process. A ValueError says why there is none.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, port: int = 0, find: Callable[[Mapping[str, str]], Session] | None = None) -> None:
        self._sessions: dict[str, Session] = {}
        self._find = find
        self._closing, self.pid = threading.Event(), os.getpid()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                outer._serve(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        _reach_loopback()

    @property
    def url(self) -> str:
        """Where it is, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait(self) -> None:
        """Returns when it was closed."""
        self._closing.wait()

    def session(self, noise: SimulatedVlmConfig | None = None) -> Session:
        """A new session; its `url` is the base URL for a client."""
        name = str(len(self._sessions))
        url = f"{self.url}/{name}/v1"
        self._sessions[name] = Session(url, noise or SimulatedVlmConfig())
        return self._sessions[name]

    def close(self) -> None:
        """Stop serving; answers that are late are not waited for."""
        if not self._closing.is_set():
            self._closing.set()
            if self.pid == os.getpid():  # a fork has the socket and no thread that could be told
                self._server.shutdown()
            self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        reply = self._reply(handler)
        if reply.delay and self._closing.wait(reply.delay):
            return
        data = json_bytes(reply.body)
        try:
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except ConnectionError:
            pass  # the client did not wait

    def _reply(self, handler: BaseHTTPRequestHandler) -> _Reply:
        length = int(handler.headers.get("Content-Length") or 0)
        data = handler.rfile.read(length)
        name, _, rest = handler.path.lstrip("/").partition("/")
        shared = name == "v1" and self._find is not None
        if shared:
            name, rest = "", handler.path.lstrip("/")
        elif name not in self._sessions:
            return _Reply(404, _error(f"no session {name!r} here"))
        if (handler.command, rest) == ("GET", "v1/models"):
            model = {"id": NAME, "object": "model", "created": 0, "owned_by": "hm3dm3"}
            return _Reply(200, {"object": "list", "data": [model]})
        if (handler.command, rest) != ("POST", "v1/chat/completions"):
            return _Reply(404, _error(f"nothing at {handler.command} {handler.path}"))
        try:
            request = json.loads(data)
            if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
                raise ValueError("it needs a list of messages")
            if request.get("stream"):
                raise ValueError("answers are not streamed here")
            headers = {name: handler.headers.get(name) or "" for name in (LEVEL, EPISODE, PLAY)}
            session = self._find(headers) if shared and self._find else self._sessions[name]
            return session.reply(request, headers[LEVEL])
        except Exception as error:  # an answer function may fail in any way; a client must hear of it
            return _Reply(400, _error(f"this request has no answer: {type(error).__name__}: {error}"))


_shared: SimulatedEndpoint | None = None
_lock = threading.Lock()


def endpoint() -> SimulatedEndpoint:
    """This process's endpoint, started on first use and closed at exit."""
    global _shared
    with _lock:
        if _shared is None or _shared.pid != os.getpid():  # the threads of a server do not survive a fork
            _shared = SimulatedEndpoint()
            atexit.register(_shared.close)
        return _shared


def _reach_loopback() -> None:
    """Clients of this process ask 127.0.0.1 itself, not a proxy that the environment names."""
    if getproxies() and not proxy_bypass("127.0.0.1"):
        name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1"]))


# -- requests and answers ----------------------------------------------------------------------------------


def texts(request: Mapping[str, Any]) -> list[str]:
    """All texts of a request's messages, in order."""
    return [str(part["text"]) for part in _parts(request) if part.get("type") == "text"]


def images(request: Mapping[str, Any]) -> list[Image.Image]:
    """All images of a request's messages, in order.

    Raises:
        ValueError: one that is no image, or not sent as data.
    """
    out: list[Image.Image] = []
    for part in _parts(request):
        if part.get("type") == "image_url":
            head, _, data = str(part["image_url"]["url"]).partition(",")
            if not head.startswith("data:image/") or not head.endswith(";base64"):
                raise ValueError(f"images must be data:image/...;base64, not {head[:40]!r}")
            out.append(Image.open(io.BytesIO(base64.b64decode(data, validate=True))))
    return out


def tokens_of(request: Mapping[str, Any]) -> int:
    """Tokens of a request: a token for every CHARACTERS of text, and for every TILE x TILE pixels of an
    image, sides rounded to whole tiles."""
    text = sum(_count(part) for part in texts(request))
    return text + sum(
        max(1, round(image.width / TILE)) * max(1, round(image.height / TILE)) for image in images(request)
    )


def _parts(request: Mapping[str, Any]) -> list[Json]:
    parts: list[Json] = []
    for said in request["messages"]:
        content = said.get("content") or ""
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return parts


def _count(text: str) -> int:
    return ceil(len(text) / CHARACTERS)


def _spoiled(text: str, rng: np.random.Generator) -> str:
    """What small models make of an answer: it ends too early, or is a sentence."""
    if rng.random() < 0.5:
        return text[: int(rng.integers(1, max(len(text) - 1, 2)))]
    return f"Sure, here is what I think: {text.translate(dict.fromkeys(map(ord, '{}[]')))}"


def _error(said: str) -> Json:
    return {"error": {"message": said, "type": NAME, "code": None, "param": None}}


def _completion(number: str, text: str, cut: bool, read: int) -> Json:
    written = _count(text)
    return {
        "id": f"simulated-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": NAME,
        "choices": [
            {
                "index": 0,
                "finish_reason": "length" if cut else "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }
