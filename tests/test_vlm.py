"""The VLM client against a real HTTP server that answers well, badly, slowly, and not at all."""

from __future__ import annotations

import base64
import builtins
import gzip
import io
import json
import resource
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hm3dm3_env.cli import build
from hm3dm3_env.vlm.client import Vlm, message
from hm3dm3_env.vlm.config import VlmConfig, VlmError, address, without_secrets
from hm3dm3_env.vlm.pictures import data_uri
from hm3dm3_env.vlm.text import fitting
from hm3dm3_env.vlm.timing import Pacer
from tests.vlm_server import Reply, VlmServer, refuse

SCHEMA = {
    "type": "object",
    "required": ["robot"],
    "properties": {"robot": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}
GOOD = Reply('{"robot": 2}')
CHAT = [message("system", "You assign robots."), message("user", "Who goes?")]


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HM3DM3_VLM_KEY", raising=False)


def client(server: VlmServer, **changes: Any) -> Vlm:
    return Vlm(
        VlmConfig(**{"base_url": server.url, "model": "tiny", "timeout": 20.0, "retries": 2, **changes})
    )


def script(*replies: Reply) -> Callable[[Any, int], Reply]:
    """These replies in turn; the last for ever."""
    return lambda request, number: replies[min(number, len(replies) - 1)]


def completion(content: Any, usage: Any) -> str:
    """The body of a completion with some content and usage."""
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    head = {"id": "x", "object": "chat.completion", "created": 0, "model": "tiny"}
    return json.dumps({**head, "choices": [said], "usage": usage})


def test_a_good_answer_and_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret-1")
    with VlmServer(script(GOOD)) as server:
        vlm = client(server, key_from="MY_KEY", price_in=2.0, price_out=8.0, extra={"top_k": 1}, seed=7)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2}
    request = server.requests[0]
    assert request["messages"] == CHAT and request["model"] == "tiny" and server.keys == ["Bearer secret-1"]
    assert (request["temperature"], request["max_tokens"], request["seed"], request["top_k"]) == (
        0,
        1024,
        7,
        1,
    )
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    used = vlm.usage
    assert (used.requests, used.retries, used.unfit, used.tokens_in, used.tokens_out) == (1, 0, 0, 100, 10)
    assert used.cost == pytest.approx((100 * 2 + 10 * 8) / 1e6)
    assert "1 requests" in str(used) and "cost 0.0003" in str(used)


@pytest.mark.parametrize(("structured", "kind"), [("object", "json_object"), ("none", None)])
def test_other_ways_to_ask_for_json(structured: str, kind: str | None) -> None:
    with VlmServer(script(GOOD)) as server:
        assert client(server, structured=structured, seed=None).ask(CHAT, SCHEMA) == {"robot": 2}
    assert server.requests[0].get("response_format", {}).get("type") == kind
    assert "seed" not in server.requests[0] and server.keys == ["Bearer none"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Robot two, of course.", "not JSON"),
        ('{"robot": 2', "not JSON"),
        ("[2]", "JSON list, not an object"),
        ('{"robot": "two"}', "robot: 'two' is not of type 'integer'"),
        ("{}", "'robot' is a required property"),
        ('{"robot": 1, "why": "near"}', "why"),
        ('{"robot": NaN}', "NaN"),
        ("", "not JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_again(text: str, reason: str) -> None:
    with VlmServer(script(Reply(text), GOOD)) as server:
        vlm = client(server)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2}
    assert (vlm.usage.requests, vlm.usage.unfit, vlm.usage.tokens_in) == (2, 1, 200)
    said = server.requests[1]["messages"]
    assert said[:2] == CHAT and said[2] == {"role": "assistant", "content": text or "(nothing)"}
    assert reason in said[3]["content"]


def test_answers_that_never_fit() -> None:
    with VlmServer(script(Reply('{"robot": -1}'))) as server:
        with pytest.raises(
            VlmError, match="tiny: no fitting answer in 2 tries: robot: -1 is less than"
        ) as error:
            client(server).ask(CHAT, SCHEMA)
    assert len(server.requests) == 2 and "\n" not in str(error.value)
    with VlmServer(script(Reply('{"rob', finish="length"))) as server:
        with pytest.raises(VlmError, match=r"cut off at vlm.max_tokens=5\); raise vlm.max_tokens"):
            client(server, max_tokens=5, answers=1).ask(CHAT, SCHEMA)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_busy_servers_are_asked_again(status: int) -> None:
    with VlmServer(script(refuse(status), refuse(status), GOOD)) as server:
        vlm = client(server)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2}
    assert len(server.requests) == 3 and (vlm.usage.requests, vlm.usage.retries) == (3, 2)


@pytest.mark.parametrize(
    ("status", "tries", "advice"),
    [
        (429, 3, "wait, or ask with fewer"),
        (500, 3, "server's log"),
        (401, 1, r"valid key into \$HM3DM3_VLM_KEY"),
        (403, 1, "may not use"),
        (404, 1, "check vlm.model"),
        (400, 1, "vlm.structured=object"),
        (418, 1, "log"),
    ],
)
def test_refusals(status: int, tries: int, advice: str) -> None:
    with VlmServer(script(refuse(status, "go\naway"))) as server:
        vlm = client(server)
        with pytest.raises(VlmError, match=f"tiny: status {status}.*go away.*; .*{advice}") as error:
            vlm.ask(CHAT, SCHEMA)
    assert len(server.requests) == tries == vlm.usage.requests and vlm.usage.retries == tries - 1
    assert ("after 3 tries" in str(error.value)) == (tries == 3)


def test_slow_answers_and_no_server() -> None:
    with VlmServer(script(Reply('{"robot": 2}', delay=5.0))) as server:
        vlm = client(server, timeout=0.2, retries=1)
        with pytest.raises(VlmError, match=r"no answer within 0.2 s in 2 tries; raise vlm.timeout"):
            vlm.ask(CHAT, SCHEMA)
        assert vlm.usage.requests == 2
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://me:word@127.0.0.1:{free.getsockname()[1]}/v1"
    silent = r"cannot be reached in 1 try \(ConnectError: .*refused\); start the server"
    with pytest.raises(VlmError, match=silent) as error:
        Vlm(VlmConfig(url, "tiny", retries=0)).ask(CHAT, SCHEMA)
    assert "word" not in str(error.value)
    with pytest.raises(VlmError, match="is no address") as error:
        Vlm(VlmConfig("http://me:w@rd@x:notaport/v1", "tiny"))
    assert "w@" not in str(error.value) and "rd@" not in str(error.value)


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "{}", '{"choices": []}', "{broken", '"text"', "[]"])
def test_servers_of_another_kind(body: str) -> None:
    with VlmServer(script(Reply(body=body))) as server:
        with pytest.raises(VlmError, match="no chat completion: .*vlm.base_url must be"):
            client(server).ask(CHAT, SCHEMA)


def test_servers_that_count_no_tokens() -> None:
    with VlmServer(script(Reply('{"robot": 2}', usage=False))) as server:
        vlm = client(server, price_in=1.0)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2} and vlm.usage.tokens_in == 0 and vlm.usage.cost == 0


@pytest.mark.parametrize("count", ["many", 1e30, 1.5, -3, True, 10**9, None, [7], {"n": 7}, float("nan")])
def test_counts_of_tokens_that_are_none(count: Any) -> None:
    body = completion('{"robot": 2}', {"prompt_tokens": count, "completion_tokens": 10})
    with VlmServer(script(Reply(body=body))) as server:
        vlm = client(server, price_in=1.0, price_out=1.0)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2}
    assert (vlm.usage.tokens_in, vlm.usage.tokens_out, vlm.usage.cost) == (0, 10, pytest.approx(1e-5))


@pytest.mark.parametrize("usage", ["many", 7, [], {}])
def test_usage_of_another_form(usage: Any) -> None:
    with VlmServer(script(Reply(body=completion('{"robot": 2}', usage)))) as server:
        vlm = client(server)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2} and vlm.usage.tokens_in == vlm.usage.tokens_out == 0


@pytest.mark.parametrize("content", [7, ["robot"], {"robot": 2}])
def test_content_that_is_no_text(content: Any) -> None:
    with VlmServer(script(Reply(body=completion(content, None)))) as server:
        with pytest.raises(VlmError, match="no chat completion"):
            client(server).ask(CHAT, SCHEMA)


def test_answers_can_be_encoded() -> None:
    """JSON can write half a character; what is quoted back and what is returned is whole."""
    with VlmServer(script(Reply("Robot \ud800"), GOOD)) as server:
        assert client(server).ask(CHAT, SCHEMA) == {"robot": 2}
    assert server.requests[1]["messages"][2]["content"] == "Robot ?"
    assert "Robot ?" in server.requests[1]["messages"][3]["content"]
    free = {"type": "object", "additionalProperties": {"type": ["string", "array"]}}
    with VlmServer(script(Reply(r'{"why": "\udfff", "\ud800": ["\ud83d\ude00", "\udc00"]}'))) as server:
        assert client(server).ask(CHAT, free) == {"why": "?", "?": ["\U0001f600", "?"]}


KEY = 'sk-12"34\\56'
"""A key that JSON and Python write in other ways than it is."""


@pytest.mark.parametrize(
    "text",
    [
        f"Your key is {KEY}.",
        json.dumps({"robot": KEY}),
        json.dumps({KEY: 1}),
        "x" * 195 + KEY,  # an error's quotation would end in the middle of it
        '{"robot": "' + "".join(f"\\u{ord(letter):04x}" for letter in KEY) + '"}',
    ],
)
def test_answers_do_not_give_the_key_away(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HM3DM3_VLM_KEY", KEY)
    with VlmServer(script(Reply(text))) as server:
        with pytest.raises(VlmError, match="no fitting answer") as error:
            client(server, answers=2).ask(CHAT, SCHEMA)
    assert_hidden("".join(traceback.format_exception(error.value)))
    assert server.keys == [f"Bearer {KEY}"] * 2
    said = server.requests[1]["messages"]
    assert_hidden(said[3]["content"])
    assert "\\u" in text or "[key]" in said[2]["content"] and KEY not in said[2]["content"]


def assert_hidden(text: str) -> None:
    """No start of the key that could be used, in no writing, is in a text."""
    for form in (KEY, json.dumps(KEY)[1:-1], repr(KEY)[1:-1]):
        assert form[:5] not in text


def test_a_fitting_answer_hides_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"type": "object", "additionalProperties": {"type": "string"}}
    with VlmServer(lambda request, number: Reply(json.dumps({"why": server.keys[number]}))) as server:
        for key, seen in ((KEY, "[key]"), ("sixsix", "[key]"), ("EMPTY", "EMPTY"), ("", "none")):
            monkeypatch.setenv("HM3DM3_VLM_KEY", key)
            assert client(server).ask(CHAT, free) == {"why": f"Bearer {seen}"}


@pytest.mark.parametrize("body", [
    json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    json.dumps({"error": {"message": "x" * 195 + KEY}}),
    json.dumps({"detail": {"headers": {"authorization": f"Bearer {KEY}"}}}),
    json.dumps([f"Bearer {KEY}"]),
    f"<html>Bearer {KEY}</html>",
])  # fmt: skip
@pytest.mark.parametrize("status", [200, 401])
def test_errors_do_not_give_the_key_away(status: int, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HM3DM3_VLM_KEY", KEY)
    with VlmServer(script(Reply(status=status, body=body))) as server:
        with pytest.raises(VlmError) as error:
            client(server).ask(CHAT, SCHEMA)
    assert_hidden("".join(traceback.format_exception(error.value)))


def test_images_are_sent_as_data() -> None:
    frame = np.random.default_rng(0).integers(0, 255, (6, 8, 3), np.uint8)
    with VlmServer(script(GOOD)) as server:
        client(server).ask([message("user", "What is this?", frame, "And where?")], SCHEMA)
    text, picture, more = server.requests[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"} and more["text"] == "And where?"
    kind, data = picture["image_url"]["url"].split(",")
    assert kind == "data:image/jpeg;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (8, 6)
    exact = Image.open(io.BytesIO(base64.b64decode(data_uri(frame, quality=0).split(",")[1])))
    np.testing.assert_array_equal(np.asarray(exact), frame)
    for bad in (frame.astype(float), frame[..., 0]):
        with pytest.raises(ValueError, match="height, width, 3"):
            data_uri(bad)


def test_threads_share_a_client() -> None:
    with VlmServer(script(GOOD)) as server:
        vlm = client(server)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda _: vlm.ask(CHAT, SCHEMA), range(24))) == [{"robot": 2}] * 24
    assert (vlm.usage.requests, vlm.usage.tokens_in, vlm.usage.tokens_out) == (24, 2400, 240)


@pytest.mark.parametrize(
    "text",
    [
        '{"robot": 2}',
        '\n```json\n{"robot": 2}\n```\n',
        '```\n{"robot": 2}```',
        '<think>{hm}\n</think>\n{"robot": 2}',
    ],
)
def test_fences_and_thoughts_are_forgiven(text: str) -> None:
    assert fitting(text, SCHEMA) == {"robot": 2}


def test_keys_as_people_paste_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with VlmServer(lambda request, number: GOOD) as server:
        for key in ("abc\n", " abc", "abc\r\n"):
            monkeypatch.setenv("HM3DM3_VLM_KEY", key)
            client(server).ask(CHAT, SCHEMA)
        assert server.keys == ["Bearer abc"] * 3
        for key in ("two words", "schl\u00fcssel", "a\nb"):
            monkeypatch.setenv("HM3DM3_VLM_KEY", key)
            with pytest.raises(VlmError, match=r"\$HM3DM3_VLM_KEY: .*set it to the key alone") as error:
                client(server)
            assert key not in str(error.value)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for changes, wrong in (
        ({"base_url": ""}, "vlm.base_url is not set; give, for example"),
        ({"model": ""}, "vlm.model is not set"),
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"base_url": "http://x:notaport/v1"}, "vlm.base_url: 'http://x:notaport/v1' is no address, check"),
        ({"base_url": "http://x:70000/v1"}, "vlm.base_url: 'http://x:70000/v1' is no address"),
        ({"base_url": "http://[::1/v1"}, "vlm.base_url: .* is no address"),
        ({"base_url": "http://x\x00y/v1"}, "vlm.base_url: .* is no address"),
    ):
        with pytest.raises(VlmError, match=wrong):
            Vlm(VlmConfig(**{"base_url": "http://127.0.0.1:1/v1", "model": "tiny", **changes}))
    for bad, wrong in (
        ({"structured": "xml"}, "schema, object, none"),
        ({"answers": 0}, "must be positive"),
        ({"timeout": float("nan")}, "vlm.timeout is nan, must be more than 0 and at most 86400 seconds"),
        ({"timeout": 0.0}, "vlm.timeout is 0"),
        ({"timeout": 1e300}, r"vlm.timeout is 1e\+300"),
        ({"timeout": 86401.0}, "vlm.timeout is 86401"),
        ({"requests_per_minute": 1e-9}, "vlm.requests_per_minute is 1e-09, must be 0 .no limit. or at least"),
        ({"temperature": -1.0}, "vlm.temperature is -1, must be a number from 0 up"),
        ({"temperature": float("inf")}, "vlm.temperature is inf"),
        ({"temperature": float("nan")}, "vlm.temperature is nan"),
        ({"price_in": -1.0}, "vlm.price_in is -1"),
        ({"price_in": float("nan")}, "vlm.price_in is nan"),
        ({"price_out": float("inf")}, "vlm.price_out is inf"),
    ):
        with pytest.raises(ValueError, match=wrong):
            VlmConfig(**bad)
    config = build(VlmConfig, base_url="http://secret.example/v1", model="tiny", extra={"a": {"b": 1}})
    assert "secret" not in str(config.public()) and config.public()["extra"] == {"a": {"b": 1}}
    real = builtins.__import__

    def without(name: str, *rest: Any, **kinds: Any) -> Any:
        if name == "openai":
            raise ImportError(name)
        return real(name, *rest, **kinds)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(VlmError, match=r"pip install 'hm3dm3\[vlm\]'"):
        Vlm(config)


def test_a_server_that_never_comes_to_an_end() -> None:
    with VlmServer(script(Reply('{"robot": 1}', drip=0.02))) as server:
        vlm = client(server, timeout=0.3)
        with pytest.raises(VlmError, match="no whole answer within 0.3 s; raise vlm.timeout"):
            vlm.ask(CHAT, SCHEMA)
    assert (vlm.usage.requests, vlm.usage.lost) == (1, 1)


@contextmanager
def pouring(start: bytes, piece: bytes, pause: float) -> Iterator[tuple[str, list[int]]]:
    """The base URL of a server that sends `start`, and then pieces until nobody listens, 20 s at most; and
    the bytes that it sent to each that asked."""
    sent: list[int] = []

    def serve(talk: socket.socket, number: int) -> None:
        with talk:
            talk.recv(10**5)
            end = time.monotonic() + 20
            try:
                talk.sendall(start)
                while time.monotonic() < end:
                    talk.sendall(piece)
                    sent[number] += len(piece)
                    time.sleep(pause)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                talk = listening.accept()[0]
            except OSError:
                return
            sent.append(0)
            threading.Thread(target=serve, args=(talk, len(sent) - 1), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", sent
        listening.shutdown(socket.SHUT_RDWR)


HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n"


@pytest.mark.parametrize(
    ("start", "piece", "pause", "wrong", "counts"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X", 0.05, "no answer within 0.5 s in 2 tries", (2, 2, 0)),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001, "no answer within 0.5 s in 2 tries", (2, 2, 0)),
        (HEAD % b"200 OK" + b"\r\n", b" ", 0.05, "no whole answer within 0.5 s", (1, 1, 0)),
        (HEAD % b"400 Bad" + b"\r\n", b" ", 0.05, "status 400: 'no whole answer within 0.5 s", (1, 0, 1)),
        (
            HEAD % b"503 Busy" + b"Retry-After-Ms: 1\r\n\r\n",
            b" ",
            0.05,
            "status 503 after 2 tries: 'no whole answer within 0.5 s",
            (2, 0, 2),
        ),
        (HEAD % b"400 Bad" + b"\r\n", b"no! " * 5000, 0.0, "status 400: 'no! no! ", (1, 0, 1)),
        (HEAD % b"200 OK" + b"\r\n", b" " * 10**5, 0.0, "more than 10000000 bytes", (1, 1, 0)),
    ],
    ids=["headers", "continue", "body", "error", "busy", "large error", "large body"],
)
def test_no_server_holds_a_question(
    start: bytes, piece: bytes, pause: float, wrong: str, counts: tuple[int, ...]
) -> None:
    """Bytes that come slowly or without end are no silence, and yet there is an end to them."""
    with pouring(start, piece, pause) as (url, sent):
        asked = Vlm(VlmConfig(url, "tiny", timeout=0.5 if pause else 15.0, retries=1)).asked(CHAT, SCHEMA)
    assert asked.error is not None and wrong in str(asked.error)
    assert (asked.usage.requests, asked.usage.lost, asked.usage.errors) == counts
    assert len(sent) == counts[0] and max(sent) < 4 * 10**7


def test_redirects_are_told_and_not_followed() -> None:
    away = Reply(status=307, body="", headers={"Location": "http://me:word@other:1/v1/chat?key=word"})
    with VlmServer(script(away)) as server:
        asked = client(server).asked(CHAT, SCHEMA)
    told = "tiny: status 307: 'it redirects to http://other:1/v1/chat'; set vlm.base_url to where it answers"
    assert str(asked.error) == told and len(server.requests) == 1
    assert (asked.usage.requests, asked.usage.retries, asked.usage.errors) == (1, 0, 1)


@pytest.mark.parametrize("status", [200, 400])
def test_packed_bodies_are_not_unpacked_without_end(status: int) -> None:
    packed = gzip.compress(b"no! " * 10**7)
    head = f"HTTP/1.1 {status} X\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pouring(head.encode() + packed, b"", 1.0) as (url, _):
        asked = Vlm(VlmConfig(url, "tiny", timeout=5.0, retries=0)).asked(CHAT, SCHEMA)
    assert ("status 400" if status == 400 else "more than 10000000 bytes") in str(asked.error)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 70_000  # kB, of 40 MB unpacked


def test_why_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause is told, and advice fits it."""
    with pouring(b"nonsense\r\n\r\n", b"", 1.0) as (url, _):
        error = Vlm(VlmConfig(url, "tiny", timeout=5.0, retries=0)).asked(CHAT, SCHEMA).error
    assert "RemoteProtocolError" in str(error) and str(error).endswith("look at the server's log")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:word@127.0.0.1:bad")
    with pytest.raises(VlmError, match="the HTTP client cannot be made .*; check HTTP_PROXY") as wrong:
        Vlm(VlmConfig("https://example.org/v1", "tiny"))
    assert "word" not in str(wrong.value)


def test_tries_are_counted_as_they_were_made() -> None:
    """A long wait that a server asks for ends the tries in new versions of the library; old ones do not keep
    it."""
    busy = Reply(status=429, body="{}", headers={"Retry-After": "3600"})
    with VlmServer(script(busy)) as server:
        with pytest.raises(VlmError, match=r"; wait, or ask with fewer") as error:
            client(server).ask(CHAT, SCHEMA)
    tries = len(server.requests)
    assert f"tiny: status 429{f' after {tries} tries' if tries > 1 else ''}: " in str(error.value)


def test_addresses_are_shown_without_secrets() -> None:
    for url in (
        "http://me:wo/rd@host:80/v1",
        "http://me:w@rd@host:80/v1",
        "http://host:80/v1?key=word",
        "http://host:80/v1#word",
    ):
        assert address(url) == "http://host:80/v1"
        command = "vlm.base_url=%s 'variants={a: {vlm: {base_url: %s, model: m@1}}}'"
        assert without_secrets(command % (url, url)) == command % (("http://host:80/v1",) * 2)


def test_a_connection_that_breaks_in_the_middle() -> None:
    with VlmServer(script(Reply('{"robot": 1}', headers={"Transfer-Encoding": "chunked"}))) as server:
        vlm = client(server)
        with pytest.raises(VlmError, match="tiny: the answer broke off .*; look at the server's log"):
            vlm.ask(CHAT, SCHEMA)
    assert (vlm.usage.requests, vlm.usage.lost) == (1, 1)


def test_what_happened_to_requests_is_counted() -> None:
    replies = [refuse(429), refuse(500), Reply('{"robot": -1}'), Reply('{"robot": 1}')]
    with VlmServer(script(*replies)) as server:
        vlm = client(server, retries=3)
        asked = vlm.asked(CHAT, SCHEMA, {"X-Test": "yes"})
    assert asked.answer == {"robot": 1} and asked.error is None and len(asked.unfit) == 1
    used = asked.usage
    assert (used.requests, used.retries, used.refused, used.errors, used.lost) == (4, 2, 1, 1, 0)
    assert used == vlm.usage and asked.seconds > 0 and asked.unfit[0]["text"] == '{"robot": -1}'
    quiet = Vlm(VlmConfig(base_url="http://127.0.0.1:9/v1", model="tiny", retries=1))
    asked = quiet.asked(CHAT, SCHEMA)
    assert asked.answer is None and (asked.usage.requests, asked.usage.lost) == (2, 2)


def test_requests_go_at_an_even_pace() -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pacer = Pacer(30, lambda: now[0], sleep)
    for _ in range(3):
        pacer.wait()
    assert slept == [2.0, 2.0]
    now[0] += 60
    pacer.wait()
    assert len(slept) == 2  # nothing is saved up, and nothing is owed
    pacer.wait()
    assert slept[2:] == [2.0]
    free = Pacer(0, lambda: now[0], sleep)
    free.wait()
    free.wait()
    assert len(slept) == 3
