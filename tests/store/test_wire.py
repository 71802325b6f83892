"""What the owner's socket does with strange visitors."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import msgspec
import pytest

from pipeline.store import Store, open_store
from pipeline.store.errors import OwnerGone
from pipeline.store.server import choose_socket
from pipeline.store.transport import Insert
from pipeline.store.wire import Answer, Request, receive, send
from tests.store.examples import database, submission


@pytest.fixture
def visitor(tmp_path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    with open_store(database(tmp_path)) as owner:
        connection.connect(str(choose_socket(owner.path)))
        with connection:
            yield connection
        # Whatever the visitor did, others are served.
        with open_store(owner.path) as client:
            client.save_submissions([submission("a")])
            assert client.load_submission("s-a") == submission("a")


def asked(connection: socket.socket, method: str, *arguments: object) -> Answer:
    send(connection, Request(method, list(arguments)))
    return receive(connection, Answer)


@pytest.mark.parametrize(
    "call",
    [
        ("drop_everything",),
        ("close",),
        ("select",),
        ("select", "DELETE FROM submissions"),
        ("select", "ids", [1, 2, 3]),
        ("find", "migrations", ["1"]),
        ("write", [["insert", "nowhere", [["a"]], False]], True),
        ("write", [["execute", "DELETE FROM submissions", []]], True),
        ("write", "nothing", True),
        ("decide", "{}"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_the_visitor_may_go_on(
    visitor: socket.socket, call: tuple[object, ...]
) -> None:
    method, *arguments = call
    assert asked(visitor, str(method), *arguments).fault is not None
    assert asked(visitor, "hello").value["pid"] == os.getpid()


@pytest.mark.parametrize(
    "row",
    [
        ["s-x", "task", None],
        ["s-x", "task", None, "body", "one too many"],
        [7, None, None, {"no": "text"}],
        "text",
    ],
)
def test_a_malformed_row_is_refused_before_it_can_spoil_the_rows_of_others(
    visitor: socket.socket, row: object
) -> None:
    insert = msgspec.to_builtins(Insert("submissions", [row]))
    assert asked(visitor, "write", [insert], True).fault is not None


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">I", (1 << 32) - 1),
        struct.pack(">I", 5) + b"\xff\xff\xff\xff\xff",
        struct.pack(">I", 100) + b"short",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_bytes_that_are_no_message_end_the_connection(visitor: socket.socket, sent: bytes) -> None:
    visitor.sendall(sent)
    visitor.shutdown(socket.SHUT_WR)
    with pytest.raises(OwnerGone):
        receive(visitor, Answer)


def test_a_visitor_that_says_nothing_does_not_keep_the_owner_from_closing(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as owner:
        silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        silent.connect(str(choose_socket(owner.path)))
    with silent, pytest.raises(OwnerGone):
        receive(silent, Answer)


def test_text_that_utf8_cannot_hold_is_refused_and_spoils_nothing(store: Store) -> None:
    with pytest.raises(ValueError):
        store.save_submissions([submission("a").model_copy(update={"code": "\ud800"})])
    store.save_submissions([submission("b")])
    store.flush()
    assert store.load_submission("s-b") == submission("b")
