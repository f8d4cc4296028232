"""A chat-completions endpoint on loopback that answers as a test says: well, badly, slowly, or not."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Json = dict[str, Any]


@dataclass
class Reply:
    """What the server sends: a model's `text` in a completion, or `body` as it is; after `delay` seconds, and
    `drip` seconds between its bytes."""

    text: str = ""
    status: int = 200
    body: str | None = None
    delay: float = 0.0
    drip: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    finish: str = "stop"
    usage: bool = True


def refuse(status: int, said: str = "no") -> Reply:
    """An error, with a pause of a millisecond asked for before the next try."""
    body = json.dumps({"error": {"message": said, "type": "test", "code": None, "param": None}})
    return Reply(status=status, body=body, headers={"Retry-After-Ms": "1"})


class VlmServer:
    """Serves `/v1/chat/completions` while it is open. `reply` gets the request and its number, from 0; what
    arrived is in `requests` and `keys`."""

    def __init__(self, reply: Callable[[Json, int], Reply]) -> None:
        self.requests: list[Json] = []
        self.keys: list[str] = []
        self._lock, self._reply = threading.Lock(), reply
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            self.keys.append(handler.headers["Authorization"] or "")
        reply = self._reply(request, number) if handler.path == "/v1/chat/completions" else refuse(404)
        time.sleep(reply.delay)
        data = (reply.body if reply.body is not None else json.dumps(_completion(request, reply))).encode()
        try:
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            for piece in [data[i : i + 1] for i in range(len(data))] if reply.drip else [data]:
                handler.wfile.write(piece)
                time.sleep(reply.drip)
        except ConnectionError:
            pass  # the client did not wait

    def __enter__(self) -> VlmServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _completion(request: Json, reply: Reply) -> Json:
    said = {"role": "assistant", "content": reply.text}
    found: Json = {
        "id": "test",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": reply.finish, "message": said}],
    }
    if reply.usage:
        found["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return found
