"""A submission that writes to the tracer's reply pipe itself can only bring itself under suspicion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.types import BuildResult, Owner, Verdict
from tests.redteam.conftest import GOOD

SEND = """
import os, struct, msgspec
def send(body):
    data = memoryview(struct.pack("<4sBQ", b"nkij", 0, len(body)) + body)
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
def refuse(**error):
    send(msgspec.msgpack.encode({"programs": [], "error": error}))
"""

REPLIES = {
    "nothing at all": 'send(b"")',
    "no programs": 'send(msgspec.msgpack.encode({"programs": []}))',
    "a million programs": 'send(msgspec.msgpack.encode({"programs": [b""] * 1000000}))',
    "programs of noise": 'send(msgspec.msgpack.encode({"programs": [bytes([255])] * 2}))',
    "text that is not UTF-8": 'send(bytes.fromhex("82a870726f6772616d7390a56572726f7281a46b696e64a2fffe"))',
    "an unknown field nested without end": 'send(bytes.fromhex("81a17a") + bytes([0x91]) * 1000000 + b"x")',
    "a message of megabytes": 'refuse(kind="unsupported", message="m" * 9000000)',
    "a verdict that is not the tracer's to give": 'refuse(kind="infrastructure", message="m")',
    "a line below zero": 'refuse(kind="compile_error", message="m", line=-5)',
    "a line beyond every file": 'refuse(kind="compile_error", message="m", line=2**64 - 1)',
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forged_reply_is_suspect_and_its_authors_fault(
    reply: str, build: Callable[[str], BuildResult]
) -> None:
    built = build(f"{SEND}\n{REPLIES[reply]}\n{GOOD}")
    assert built.verdict is Verdict.SUSPECT
    assert built.fault is not None
    assert built.fault.owner is Owner.SUBMISSION
    assert built.fault.code == "forged_program"
    assert len(built.fault.message) < 300


def test_a_forged_exception_of_the_worker_stays_one_line(build: Callable[[str], BuildResult]) -> None:
    body = 'b"Type\\rtwo\\nmessage\\nof lines" + b"x" * 20000'
    forged = f'os.write(3, struct.pack("<4sBQ", b"nkij", 1, len({body})) + {body})'
    built = build(f"{SEND}\n{forged}\nos._exit(0)\n{GOOD}")
    assert built.verdict is Verdict.UNSUPPORTED
    assert built.fault is not None
    assert built.fault.message.splitlines() == [built.fault.message]
    assert len(built.fault.message) <= 2000
