"""Encode, decode and hash programs (MessagePack)."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from pipeline.emulator.program.collection import paused_collection
from pipeline.emulator.program.errors import ProgramError
from pipeline.emulator.program.instructions import FORMAT_VERSION, Program
from pipeline.emulator.program.limits import DEFAULT_LIMITS, ProgramLimits

__all__ = ["decode", "encode", "hash_program"]

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Program)


def encode(program: Program) -> bytes:
    """Return the program's canonical bytes; equal programs encode equally."""
    return _ENCODER.encode(program)


def decode(data: bytes, limits: ProgramLimits = DEFAULT_LIMITS) -> Program:
    """Parse what a child sent. The result is well-typed, but not yet validated.

    Raises:
        ProgramError: If `data` is longer than `limits` allow, is not an encoded program, or has another
            format version.
    """
    if len(data) > limits.wire_bytes:
        raise ProgramError(
            "wire_bytes", f"program of {len(data)} bytes exceeds the limit of {limits.wire_bytes}"
        )
    try:
        with paused_collection():
            program = _DECODER.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ProgramError("malformed", f"not an encoded program: {error}") from None
    if program.format_version != FORMAT_VERSION:
        raise ProgramError("format", f"program format {program.format_version}, expected {FORMAT_VERSION}")
    return program


def hash_program(program: Program) -> str:
    """Return the SHA-256 of the program's canonical bytes, in hex."""
    return hashlib.sha256(encode(program)).hexdigest()
