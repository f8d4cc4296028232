"""The simulated VLM, asked by the real client over HTTP: what it says, what fails, and that it repeats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hm3dm3_env.cli import build
from hm3dm3_env.vlm import simulated
from hm3dm3_env.vlm.client import message
from hm3dm3_env.vlm.config import NoFittingAnswer, VlmError
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import EpisodeVlm, Question, Said, VlmChoice
from hm3dm3_env.vlm.simulated import (
    LEVEL,
    Answer,
    Heard,
    SimulatedEndpoint,
    SimulatedVlmConfig,
    endpoint,
    images,
    texts,
    tokens_of,
)
from hm3dm3_env.workers import worker_pool
from tests.vlm_server import Reply, VlmServer

SCHEMA = {
    "type": "object",
    "required": ["number"],
    "properties": {"number": {"type": "integer"}},
    "additionalProperties": False,
}
CHAT = [message("system", "You count."), message("user", "How many?")]
COUNT = "test.count"


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def own() -> Iterator[SimulatedEndpoint]:
    server = SimulatedEndpoint()
    yield server
    server.close()


def dice(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
    """A random number; negative when the choice is wrong."""
    number = int(rng.integers(1, 10**9))
    return {"number": -number if rng.random() < heard.noise.wrong_direction else number}


def always(number: int) -> Answer:
    return lambda heard, rng: {"number": number}


def started(config: VlmChoice, answer: Answer = dice, seed: int = 0) -> EpisodeVlm:
    model = EpisodeVlm(config)
    model.begin("test", seed, {COUNT: answer}, None)
    return model


def vlm(answer: Answer = dice, timeout: float = 20.0, retries: int = 0, **noise: float) -> EpisodeVlm:
    clean = {"wrong_direction": 0.0, "malformed": 0.0, **noise}
    config = VlmChoice(timeout=timeout, retries=retries, give_up=0, simulated=SimulatedVlmConfig(**clean))
    return started(config, answer)


def question(*parts: str | Picture, system: str = "You count.") -> Question:
    return Question(COUNT, "robot_0", 0, (Said("system", (system,)), Said("user", parts)), SCHEMA)


def ask(model: EpisodeVlm, *parts: str | Picture) -> dict[str, Any]:
    """The answer to one question; the error is raised."""
    (said,) = model.ask([question(*(parts or ("How many?",)))])
    if isinstance(said, VlmError):
        raise said
    return said


def numbers(model: EpisodeVlm, seed: int, *questions: str, answer: Answer = dice) -> list[int]:
    """Answers in an episode; 0 for a question without one."""
    model.begin("test", seed, {COUNT: answer}, None)
    said = [model.ask([question(text)])[0] for text in questions]
    return [0 if isinstance(one, VlmError) else one["number"] for one in said]


def test_the_answer_function_gets_the_request_and_its_answer_arrives() -> None:
    got: list[Heard] = []

    def answer(heard: Heard, rng: np.random.Generator) -> dict[str, Any]:
        got.append(heard)
        return {"number": 7}

    truth: Any = object()
    model = vlm(answer, wrong_direction=0.25)
    model.begin("val-00007", 5, {COUNT: answer}, truth)
    picture = Picture(np.zeros((56, 84, 3), np.uint8), "goal 1")
    assert ask(model, "How many?", picture, "Be quick.") == {"number": 7} and model.name == "simulated"
    heard = got[0]
    assert heard.noise.wrong_direction == 0.25 and heard.request["model"] == "simulated"
    assert heard.truth is truth and (heard.seed, heard.level) == (5, COUNT)
    assert texts(heard.request) == ["You count.", "How many?", "Be quick."]
    assert [image.size for image in images(heard.request)] == [(84, 56)]
    assert heard.request["response_format"]["json_schema"]["schema"] == SCHEMA
    view = model.view()
    assert view.name == "simulated" and view.ask([question("again")]) == [{"number": 7}]


def test_tokens_are_counted_by_the_rule() -> None:
    pixels = np.zeros((56, 98, 3), np.uint8)  # 2 x 3.5 tiles, to the even: 2 x 4
    chat = [message("system", "x" * 9), message("user", "y" * 4, pixels)]
    assert tokens_of({"messages": chat}) == 3 + 1 + 2 * 4
    model = vlm(always(12345))
    model.ask([question("y" * 4, Picture(pixels, "goal 0"), system="x" * 9)])
    assert (model.record()["tokens_in"], model.record()["tokens_out"]) == (12, 5)  # {"number": 12345}
    tiny = np.zeros((3, 3, 3), np.uint8)
    assert tokens_of({"messages": [message("user", tiny)]}) == 1


def test_same_seed_same_answers() -> None:
    noise = {"wrong_direction": 0.4, "malformed": 0.3, "refused": 0.2, "retry_after": 0.001}
    questions = [f"question {i % 5}" for i in range(12)]
    first = numbers(vlm(**noise), 3, *questions)
    other = vlm(**noise)
    numbers(other, 9, *questions)  # what another episode asked does not matter
    assert numbers(other, 3, *questions) == first
    assert numbers(other, 4, *questions) != first
    asked = [a for a, q in zip(first, questions) if q == "question 1" and a]
    assert len(asked) > 1 and len(set(asked)) == len(asked)  # the same question again is drawn again


def test_other_questions_in_between_do_not_matter() -> None:
    model = vlm(wrong_direction=0.5)
    alone = numbers(model, 3, "a", "a")
    assert [numbers(model, 3, "a", "b", "c", "a")[i] for i in (0, 3)] == alone


def test_threads_do_not_matter() -> None:
    model, questions = vlm(wrong_direction=0.5), [f"question {i}" for i in range(16)]
    alone = numbers(model, 5, *questions)
    model.begin("test", 5, {COUNT: dice}, None)
    said = model.ask([question(text) for text in reversed(questions)])  # four at a time
    assert [one["number"] for one in said if not isinstance(one, VlmError)] == alone[::-1]
    calls = model.record()["transcript"]  # in the order of the questions
    assert [call["answer"]["number"] for call in calls] == alone[::-1]


def test_equal_questions_at_once_get_their_answers_in_order() -> None:
    model = vlm(malformed=0.5)
    runs = []
    for _ in range(5):
        model.begin("test", 3, {COUNT: dice}, None)
        runs.append([str(said) for said in model.ask([question("a")] * 4)])
    assert runs == [runs[0]] * 5 and len(set(runs[0])) > 1


def in_a_worker(seed: int) -> tuple[int, int, list[int]]:
    """In a fresh process, which has an endpoint of its own."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    return os.getpid(), endpoint().pid, numbers(vlm(wrong_direction=0.5), seed, "a", "b", "a")


def test_every_worker_has_its_own() -> None:
    with worker_pool(2) as pool:
        rows = list(pool.map(in_a_worker, [1, 2, 1]))
    assert all(server == worker != os.getpid() for worker, server, _ in rows)
    assert rows[0][2] == rows[2][2] == in_a_worker(1)[2] != rows[1][2]


FORK = """
import os, sys
from tests.test_simulated_vlm import endpoint, numbers, vlm
first, said = endpoint(), numbers(vlm(wrong_direction=0.5), 1, "a", "b")
child = os.fork()
if not child:
    again = numbers(vlm(wrong_direction=0.5), 1, "a", "b")
    sys.exit(0 if endpoint() is not first and again == said else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_starts_its_own_and_both_end() -> None:
    subprocess.run([sys.executable, "-c", FORK], cwd=Path(__file__).parents[1], check=True, timeout=120)


def test_one_endpoint_serves_many_sessions() -> None:
    assert endpoint() is endpoint()
    one, two = vlm(always(1)), vlm(always(2))
    assert [ask(model)["number"] for model in (one, two, one)] == [1, 2, 1]


def test_rates_are_rates() -> None:
    model = vlm(wrong_direction=0.3)
    said = numbers(model, 1, *(f"question {i}" for i in range(150)))
    assert 0.18 < np.mean(np.array(said) < 0) < 0.42
    assert min(numbers(vlm(), 1, *(f"question {i}" for i in range(20)))) > 0
    assert max(numbers(vlm(wrong_direction=1.0), 1, *(f"question {i}" for i in range(20)))) < 0


def test_malformed_answers_are_asked_for_again_and_counted() -> None:
    model = vlm(malformed=1.0)
    with pytest.raises(NoFittingAnswer, match="simulated: no fitting answer in 2 tries: it is not JSON"):
        ask(model)
    used = model.record()
    assert (used["calls"], used["failed"], used["requests"], used["unfit"]) == (1, 1, 2, 2)
    assert used["tokens_out"] > 0
    model = vlm(malformed=0.3)
    assert all(numbers(model, 1, *(f"question {i}" for i in range(6))))
    assert model.record()["unfit"] > 0 and model.record()["failed"] == 0


def test_malformed_answers_are_of_two_kinds() -> None:
    seen = {simulated._spoiled('{"number": 5}', np.random.default_rng(i))[0] for i in range(20)}
    assert seen == {"{", "S"}
    for i in range(200):
        for text in ('{"number": 5}', "{}", '{"a": {"b": [1]}}'):
            with pytest.raises(ValueError):
                json.loads(simulated._spoiled(text, np.random.default_rng(i)))


def test_time_outs() -> None:
    model = vlm(timeouts=1.0, delay=30.0, timeout=0.2)
    with pytest.raises(VlmError, match="no answer within 0.2 s in 1 try"):
        ask(model)
    used = model.record()
    assert (used["requests"], used["lost"], used["failed"]) == (1, 1, 1)
    assert used["transcript"][0]["answer"] is None and "no answer within" in used["transcript"][0]["error"]


def test_refusals_say_when_to_come_back() -> None:
    model = vlm(refused=1.0, retry_after=0.001, retries=2)
    with pytest.raises(VlmError, match="simulated: status 429 after 3 tries: 'too many requests'"):
        ask(model)
    used = model.record()
    assert (used["requests"], used["retries"], used["failed"], used["unfit"]) == (3, 2, 1, 0)
    assert (used["refused"], used["errors"], used["lost"]) == (3, 0, 0)
    model = vlm(refused=0.5, retry_after=0.001, retries=9)
    assert all(numbers(model, 0, *(f"question {i}" for i in range(6))))
    assert model.record()["retries"] > 0 and model.record()["failed"] == 0


def test_counts_are_an_episodes() -> None:
    config = VlmChoice(price_in=1.0, price_out=2.0, simulated=SimulatedVlmConfig(malformed=0.0))
    model = started(config, always(5))
    records = []
    for _ in range(3):
        model.begin("test", 0, {COUNT: always(5)}, None)
        ask(model)
        records.append(model.record())
        assert len(model.seconds[COUNT]) == 1
    assert records[0] == records[1] == records[2]
    counts = {
        "calls": 1, "failed": 0, "requests": 1, "retries": 0, "refused": 0, "errors": 0, "lost": 0,
        "unfit": 0, "tokens_in": 6, "tokens_out": 4, "cost": pytest.approx((6 + 2 * 4) / 1e6),
    }  # fmt: skip
    call = {
        "step": 0, "by": "robot_0", "level": COUNT, "unfit": [], "answer": {"number": 5}, "error": None,
        "said": [{"role": "system", "parts": [0]}, {"role": "user", "parts": [1]}],
    }  # fmt: skip
    assert records[0] == {
        "name": "simulated", **counts, "levels": {COUNT: counts}, "texts": ["You count.", "How many?"],
        "transcript": [call],
    }  # fmt: skip
    model.begin("test", 0, {}, None)
    assert model.record()["calls"] == 0 == len(model.record()["transcript"])


def test_pictures_are_kept_by_reference() -> None:
    model = vlm(always(1))
    ask(model, "Look:", Picture(np.zeros((4, 6, 3), np.uint8), "robot_1 step 3"))
    part = model.record()["transcript"][0]["said"][1]["parts"][1]
    assert part["image"] == "robot_1 step 3" and part["size"] == [6, 4]
    ask(model, "Look:", Picture(np.ones((4, 6, 3), np.uint8), "robot_1 step 4"))
    other = model.record()["transcript"][1]["said"][1]["parts"][1]
    assert other["sha256"] != part["sha256"] and model.record()["texts"] == ["You count.", "Look:"]


def test_answers_longer_than_allowed_are_cut() -> None:
    model = started(VlmChoice(max_tokens=2, answers=1), always(123456789))
    with pytest.raises(NoFittingAnswer, match="raise vlm.max_tokens"):
        ask(model)
    assert model.record()["tokens_out"] == 2


def test_a_request_that_is_not_understood() -> None:
    def answer(*_: Any) -> dict[str, Any]:
        raise ValueError("where are the robots?")

    with pytest.raises(VlmError, match="status 400: .*ValueError: where are the robots"):
        ask(vlm(answer))
    other = vlm()
    other.begin("test", 0, {}, None)
    with pytest.raises(VlmError, match="status 400: .*nobody answers questions of the level 'test.count'"):
        ask(other)


def call(url: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, {LEVEL: COUNT})) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def session(server: SimulatedEndpoint, answer: Callable[..., Any] = dice) -> str:
    """The URL of a session in which an episode has begun."""
    made = server.session()
    made.begin(0, {COUNT: answer}, None)
    return made.url


def test_what_the_server_speaks(own: SimulatedEndpoint) -> None:
    url = session(own)
    status, models = call(f"{url}/models")
    assert status == 200 and [m["id"] for m in models["data"]] == ["simulated"]
    status, said = call(f"{url}/chat/completions", {"messages": CHAT})
    assert status == 200 and said["object"] == "chat.completion" and said["usage"]["prompt_tokens"] == 6
    for path, body, code, words in (
        (f"{url}/completions", {"messages": CHAT}, 404, "nothing at POST"),
        (f"{url}/chat/completions", None, 404, "nothing at GET"),
        (url.replace("/0/v1", "/7/v1/models"), None, 404, "no session '7'"),
        (f"{url}/chat/completions", b"{", 400, "JSONDecodeError"),
        (f"{url}/chat/completions", [1], 400, "list of messages"),
        (f"{url}/chat/completions", {"messages": CHAT, "stream": True}, 400, "not streamed"),
    ):
        status, said = call(path, body)
        assert status == code and words in said["error"]["message"]
    remote = {"type": "image_url", "image_url": {"url": "http://somewhere/cat.jpg"}}
    status, said = call(f"{url}/chat/completions", {"messages": [{"role": "user", "content": [remote]}]})
    assert status == 400 and "images must be data" in said["error"]["message"]


def test_a_closed_endpoint_is_dead(own: SimulatedEndpoint) -> None:
    model = started(VlmChoice(base_url=session(own), model="any", retries=0, timeout=20.0))
    assert ask(model)["number"] and model.name == "any"
    own.close()
    own.close()
    with pytest.raises(VlmError, match="cannot be reached"):
        ask(model)
    assert (model.record()["calls"], model.record()["failed"]) == (2, 1)


def test_a_real_endpoint_is_asked_as_the_config_says() -> None:
    with VlmServer(lambda request, number: Reply('{"number": 4}')) as server:
        how = {"temperature": 0.5, "extra": {"top_k": 3}}
        model = started(build(VlmChoice, base_url=server.url, model="tiny", **how))
        assert ask(model) == {"number": 4} and model.name == "tiny"
    assert (server.requests[0]["temperature"], server.requests[0]["top_k"]) == (0.5, 3)
    assert model.record()["tokens_in"] == 100


def test_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.org")
    server = SimulatedEndpoint()
    try:
        assert ask(started(VlmChoice(base_url=session(server), model="any", retries=0)))
    finally:
        server.close()
    assert os.environ["NO_PROXY"] == "example.org,127.0.0.1"


def test_settings() -> None:
    for noise, words in (
        ({"wrong_direction": 1.1}, "vlm.simulated.wrong_direction is a rate in 0..1"),
        ({"wrong_identity": -1.0}, "vlm.simulated.wrong_identity"),
        ({"refused": -0.1}, "vlm.simulated.refused"),
        ({"malformed": float("nan")}, "vlm.simulated.malformed"),
        ({"retry_after": 0.0}, "vlm.simulated.retry_after is 0, must be more than 0"),
        ({"retry_after": float("inf")}, "vlm.simulated.retry_after is inf"),
        ({"delay": 1e300}, r"vlm.simulated.delay is 1e\+300"),
    ):
        with pytest.raises(ValueError, match=words):
            SimulatedVlmConfig(**noise)
    with pytest.raises(ValueError, match="vlm.kind is 'gpt', must be one of auto, simulated, openai, replay"):
        VlmChoice(kind="gpt")
    late = {"timeouts": 0.1, "delay": 5.0}
    with pytest.raises(ValueError, match="delay: 5 s is no time-out .* vlm.timeout=120 s; lower vlm.timeout"):
        build(VlmChoice, simulated=late)
    assert build(VlmChoice, simulated=late, timeout=2.0).simulated.timeouts == 0.1
    known = build(VlmChoice, kind="openai", base_url="http://secret.example/v1", model="tiny").public()
    assert known["kind"] == "openai" and known["model"] == "tiny" and "secret" not in str(known)
    assert "simulated" not in known and VlmChoice().public()["simulated"]["wrong_identity"] == 0.1
    with pytest.raises(VlmError, match="vlm.base_url is not set"):
        EpisodeVlm(VlmChoice(kind="openai", model="any"))
    with pytest.raises(ValueError, match="vlm.model=any needs vlm.base_url, such as"):
        VlmChoice(model="any")
    assert VlmChoice().is_simulated and not VlmChoice(base_url="http://127.0.0.1:1/v1").is_simulated
