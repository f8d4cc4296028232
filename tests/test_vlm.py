"""The VLM client against a real HTTP server that answers well, badly, slowly, and not at all."""

from __future__ import annotations

import base64
import builtins
import io
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hm3dm3_env.cli import build
from hm3dm3_env.vlm.client import Vlm, VlmConfig, VlmError, data_uri, fitting, message
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
            VlmError, match="tiny: no fitting answer in 3 tries: robot: -1 is less than"
        ) as error:
            client(server).ask(CHAT, SCHEMA)
    assert len(server.requests) == 3 and "\n" not in str(error.value)
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
    with pytest.raises(VlmError, match="cannot be reached in 1 tries; start the server") as error:
        Vlm(VlmConfig(url, "tiny", retries=0)).ask(CHAT, SCHEMA)
    assert "word" not in str(error.value)


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "{}", '{"choices": []}', "{broken", '"text"', "[]"])
def test_servers_of_another_kind(body: str) -> None:
    with VlmServer(script(Reply(body=body))) as server:
        with pytest.raises(VlmError, match="no chat completion: .*vlm.base_url must be"):
            client(server).ask(CHAT, SCHEMA)


def test_servers_that_count_no_tokens() -> None:
    with VlmServer(script(Reply('{"robot": 2}', usage=False))) as server:
        vlm = client(server, price_in=1.0)
        assert vlm.ask(CHAT, SCHEMA) == {"robot": 2} and vlm.usage.tokens_in == 0 and vlm.usage.cost == 0


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
    ):
        with pytest.raises(VlmError, match=wrong):
            Vlm(VlmConfig(**{"base_url": "http://127.0.0.1:1/v1", "model": "tiny", **changes}))
    for bad, wrong in (
        ({"structured": "xml"}, "schema, object, none"),
        ({"answers": 0}, "must be positive"),
        ({"timeout": float("nan")}, "must be positive"),
        ({"temperature": -1.0}, "temperature, .* must not be negative"),
        ({"price_in": -1.0}, "price_in.* must not be negative"),
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
