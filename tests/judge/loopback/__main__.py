"""The server as a process of its own; see the package for its use."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from tests.judge.loopback.server import Loopback


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.judge.loopback")
    parser.add_argument("--port", type=int, default=0, help="0 for a free one")
    parser.add_argument("--format", choices=("anthropic", "openai", "openai-compatible"), default="anthropic")
    parser.add_argument(
        "--dialect", choices=("json_schema", "json_object", "plain", "ignore"), default="json_schema"
    )
    parser.add_argument("--log", type=Path, help="JSONL file that every request is appended to")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--batch-seconds", type=float, help="seconds after which a batch ends")
    parser.add_argument("--key", help="the only key that is let in")
    parser.add_argument(
        "--step", action="append", default=[], help="what becomes of the next call; repeatable"
    )
    given = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with Loopback(
        *given.step,
        port=given.port,
        delay=given.delay,
        dialect=given.dialect,
        key=given.key,
        log=given.log,
        batch_seconds=given.batch_seconds,
    ) as server:
        print(server.url(given.format), flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
