"""Messages between a client and the owner: a length, then MessagePack; data only."""

from __future__ import annotations

import socket
import struct
from typing import Any, TypeVar

import msgspec

from pipeline.store.errors import OwnerGone, StoreError

__all__ = ["PROTOCOL", "Answer", "Request", "receive", "send"]

#: Raised whenever requests or answers change.
PROTOCOL = 3
_LIMIT = 256 << 20
_LENGTH = struct.Struct(">I")


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One primitive of the transport, by name."""

    method: str
    arguments: list[Any]


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What it returned, or the fault it raised as JSON."""

    value: Any = None
    fault: str | None = None


_T = TypeVar("_T", Request, Answer)


def send(connection: socket.socket, message: Request | Answer) -> None:
    """Send `message`.

    Raises:
        StoreError: If it is larger than a message may be.
        OwnerGone: If the connection is lost.
        TimeoutError: If the other side does not take it in time.
    """
    data = msgspec.msgpack.encode(message)
    if len(data) > _LIMIT:
        raise StoreError(
            "too_large", f"{len(data)} bytes are more than one message of the store may have ({_LIMIT})"
        )
    try:
        connection.sendall(_LENGTH.pack(len(data)) + data)
    except TimeoutError:
        raise
    except OSError as error:
        raise OwnerGone(str(error)) from error


def receive(connection: socket.socket, kind: type[_T]) -> _T:
    """Return the next message.

    Raises:
        OwnerGone: If the connection is lost, or what comes over it is no message of ours.
        TimeoutError: If none comes in time.
    """
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    if length > _LIMIT:
        raise OwnerGone(f"a message of {length} bytes")
    try:
        return msgspec.msgpack.decode(_read(connection, length), type=kind)
    except msgspec.MsgspecError as error:
        raise OwnerGone(str(error)) from error


def _read(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        try:
            part = connection.recv(min(count - len(data), 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise OwnerGone(str(error)) from error
        if not part:
            raise OwnerGone("the connection was closed")
        data += part
    return bytes(data)
