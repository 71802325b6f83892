"""The server itself: HTTP over asyncio in a thread, a script, a record of everything that came."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.judge.loopback.batches import BatchDesk
from tests.judge.loopback.steps import BROKEN, Step, parse_step
from tests.judge.loopback.wires import (
    Answerer,
    answer_call,
    count_tokens,
    read_prompt,
    read_wire,
    write_error,
)

__all__ = ["Loopback", "Recorded"]

_PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


@dataclass(slots=True)
class Recorded:
    """One request."""

    number: int
    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    step: str
    answered: bool = False


@dataclass(slots=True)
class _Reply:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"


class Loopback:
    """A server on the loopback address; starts at once, and ends with `close` or its ``with`` block.

    Attributes:
        requests: Everything that came, in order of arrival.
        dialect: How chat completions take a schema: ``json_schema``; ``json_object`` (as llama-cpp-python,
            which refuses the first with 500); ``plain`` (refuses both with 400); ``ignore`` (takes both,
            heeds none).
        answer: Writes texts instead of the usual one; None or a None from it: the usual one.
        key: The only key that is let in; None lets everybody in.
        desk: Batches.
    """

    def __init__(
        self,
        *steps: str,
        port: int = 0,
        delay: float = 0.0,
        dialect: str = "json_schema",
        answer: Answerer | None = None,
        key: str | None = None,
        log: Path | None = None,
        batch_seconds: float | None = None,
    ) -> None:
        self.requests: list[Recorded] = []
        self.delay = delay
        self.dialect = dialect
        self.answer = answer
        self.key = key
        self.desk = BatchDesk(seconds=batch_seconds)
        self._script: deque[Step] = deque(map(parse_step, steps))
        self._batch_script: deque[Step] = deque()
        self._results_script: deque[Step] = deque()
        self._log = log.open("a", buffering=1, encoding="utf-8") if log is not None else None
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=512)
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, name="loopback", daemon=True)
        self._thread.start()
        # Whoever closes it at once must not stop the loop before it runs.
        self._started.wait()

    # Steering

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def url(self, provider: str) -> str:
        """Return the address in the form that a role's `base_url` wants."""
        return self.address if provider == "anthropic" else f"{self.address}/v1"

    @property
    def calls(self) -> list[Recorded]:
        """The requests that asked a model."""
        return [request for request in self.requests if read_wire(request.path)]

    def play(self, *steps: str) -> None:
        """Let the next calls end so, in order of arrival."""
        self._script.extend(map(parse_step, steps))

    def play_lines(self, *steps: str) -> None:
        """Let the next requests that come in batches end so."""
        self.desk.lines.extend(map(parse_step, steps))

    def play_batches(self, *steps: str) -> None:
        """Let the next attempts to create a batch end so."""
        self._batch_script.extend(map(parse_step, steps))

    def play_results(self, *steps: str) -> None:
        """Let the next attempts to read the results of a batch end so."""
        self._results_script.extend(map(parse_step, steps))

    def end_batches(self, *, expired: bool = False) -> None:
        """Let every batch end."""
        self.desk.end(expired=expired)

    def hold(self) -> None:
        """Record calls, but answer none until `release`."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def release(self) -> None:
        """Answer what was held."""
        self._loop.call_soon_threadsafe(self._open.set)

    def wait_for(self, calls: int, *, seconds: float = 20.0) -> None:
        """Return when so many calls have arrived.

        Raises:
            TimeoutError: If they do not come; a limit for a broken test, not a measurement.
        """
        end = time.monotonic() + seconds
        while len(self.calls) < calls:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(self.calls)} of {calls} calls came")
            time.sleep(0.002)

    def close(self) -> None:
        """End it; what hangs is cut off."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._socket.close()
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # HTTP

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._socket))
        self._loop.call_soon(self._started.set)
        try:
            self._loop.run_forever()
        finally:
            server.close()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            for writer in list(self._writers):
                writer.transport.abort()
            # Transports close their sockets in the next round.
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *fields = head.rstrip("\r\n").split("\r\n")
        method, target, _ = start.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        split = urlsplit(target)
        recorded, step = self._record(method, split.path, headers, data)
        if read_wire(split.path):
            await self._open.wait()
            if self.delay:
                await asyncio.sleep(self.delay)
        if step.kind in BROKEN or step.kind == "lost":
            await self._break(step, recorded, split.query, writer)
            return False
        reply = self._reply(recorded, step, dict(parse_qsl(split.query)))
        writer.write(_write_head(reply) + reply.body)
        await writer.drain()
        recorded.answered = True
        self._note({"event": "answered", "number": recorded.number, "status": reply.status})
        return True

    async def _break(self, step: Step, recorded: Recorded, query: str, writer: asyncio.StreamWriter) -> None:
        if step.kind == "hang":
            await asyncio.Event().wait()
        reply = self._reply(recorded, Step("ok"), dict(parse_qsl(query)))
        if step.kind == "drip":
            writer.write(_write_head(reply))
            # Never silent for long, and never done: each byte is white space before the JSON.
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)
        if step.kind == "reset-body":
            writer.write(_write_head(reply) + reply.body[: len(reply.body) // 2])
            await writer.drain()
        raw = writer.get_extra_info("socket")
        # With no time to linger, closing sends a reset instead of an orderly end.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    def _record(self, method: str, path: str, headers: dict[str, str], data: bytes) -> tuple[Recorded, Step]:
        text = data.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        with self._lock:
            step = Step("ok")
            script = self._choose_script(method, path)
            if script:
                step = script.popleft()
            recorded = Recorded(len(self.requests), time.time(), method, path, headers, body, step.kind)
            if path != "/_loopback":
                self.requests.append(recorded)
        # On the disk before anything is answered: the client may be killed at any moment.
        entry = {"event": "request", "number": recorded.number, "time": recorded.at, "method": method}
        self._note(entry | {"path": path, "step": step.kind, "headers": headers, "body": body})
        return recorded, step

    def _choose_script(self, method: str, path: str) -> deque[Step] | None:
        if method != "POST":
            return self._results_script if path.endswith(("/results", "/content")) else None
        if read_wire(path):
            return self._script
        return self._batch_script if path in ("/v1/batches", "/v1/messages/batches") else None

    def _note(self, entry: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.write(json.dumps(entry) + "\n")

    # Answers

    def _reply(self, recorded: Recorded, step: Step, query: dict[str, str]) -> _Reply:
        path, body = recorded.path, recorded.body
        if path == "/_loopback":
            return self._steer(recorded)
        wire = read_wire(path) or ("anthropic" if path.startswith("/v1/messages") else "openai")
        if self.key is not None and recorded.headers.get("authorization") != f"Bearer {self.key}":
            given = recorded.headers.get("authorization", "").removeprefix("Bearer ")
            refusal = write_error(wire, 401, f"Incorrect API key provided: {given}.", {})
            return _write_json(401, refusal)
        if step.kind == "html":
            return _Reply(step.status, _PAGE, kind="text/html; charset=utf-8")
        if step.kind == "raw":
            return _Reply(200, step.text.encode())
        if step.kind in ("malformed", "empty"):
            whole = json.dumps(answer_call(wire, body, Step("ok"), self.answer)[1]).encode()
            return _Reply(200, whole[: len(whole) // 2] if step.kind == "malformed" else b"")
        if step.kind == "status" and not read_wire(path):
            return _write_json(step.status, write_error(wire, step.status, step.text, {}), step.headers)
        served = self.desk.serve(recorded.method, path, query, body, self.address, self.answer)
        if served is not None:
            if isinstance(served[1], str):
                return _Reply(served[0], served[1].encode(), kind="application/x-jsonl")
            return _write_json(*served)
        if path in ("/v1/messages/count_tokens", "/v1/responses/input_tokens"):
            return _write_json(200, {"input_tokens": count_tokens(read_prompt(wire, body))})
        if read_wire(path) is None:
            return _write_json(404, {"detail": "Not Found"})
        refused = self._refuse_format(body) if wire == "compatible" and step.kind != "status" else None
        if refused is not None:
            return _write_json(*refused)
        if wire == "compatible" and self.dialect == "ignore":
            body = {name: value for name, value in body.items() if name != "response_format"}
        status, answer = answer_call(wire, body, step, self.answer)
        name = {"anthropic": "request-id"}.get(wire, "x-request-id")
        return _write_json(status, answer, {name: f"req_{recorded.number}"} | step.headers)

    def _refuse_format(self, body: dict[str, Any]) -> tuple[int, Any] | None:
        given = body.get("response_format")
        if given is None or self.dialect in ("json_schema", "ignore"):
            return None
        if self.dialect == "plain":
            return 400, write_error("compatible", 400, "response_format is not supported by this server", {})
        if given["type"] == "json_object":
            return None
        problem = (
            "'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\""
        )
        return 500, write_error("compatible", 500, f"[{{'type': 'literal_error', {problem}}}]", {})

    def _steer(self, recorded: Recorded) -> _Reply:
        if recorded.method == "POST":
            self.play(*recorded.body.get("play", ()))
            self.play_lines(*recorded.body.get("play_lines", ()))
            self.play_batches(*recorded.body.get("play_batches", ()))
            if "hold" in recorded.body:
                (self._open.clear if recorded.body["hold"] else self._open.set)()
            if recorded.body.get("end_batches"):
                self.end_batches()
        counts = {"requests": len(self.requests), "calls": len(self.calls), "batches": len(self.desk.batches)}
        return _write_json(200, counts)


def _write_json(status: int, body: Any, headers: dict[str, str] | None = None) -> _Reply:
    return _Reply(status, json.dumps(body).encode(), dict(headers or {}))


def _write_head(reply: _Reply) -> bytes:
    fields = {"content-type": reply.kind, "content-length": str(len(reply.body))} | reply.headers
    lines = [f"HTTP/1.1 {reply.status} Loopback", *(f"{name}: {value}" for name, value in fields.items())]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"
