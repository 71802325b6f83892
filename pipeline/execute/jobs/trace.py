"""Trace a submission: the one job that runs untrusted kernels, and it only records."""

from __future__ import annotations

from pipeline.emulator.frontend import InputSpec, KernelError, trace
from pipeline.emulator.program import encode as encode_program
from pipeline.execute.frames import (
    KernelNote,
    TraceReply,
    TraceRequest,
    bounded,
    decode,
    encode,
)

__all__ = ["run"]


def run(payload: bytes) -> bytes:
    """Answer a `TraceRequest` with a `TraceReply`."""
    request = decode(payload, TraceRequest)
    programs: list[bytes] = []
    for shape in request.shapes:
        try:
            program = trace(
                request.source,
                request.filename,
                request.entry,
                [InputSpec(tensor.name, tensor.shape, tensor.dtype) for tensor in shape],
                target=request.target,
                version=request.version,
                cores=request.cores,
                instruction_limit=request.instruction_limit,
            )
        except KernelError as error:
            note = KernelNote(kind=error.kind, message=bounded(error.message), line=error.line)
            return encode(TraceReply(programs=tuple(programs), error=note))
        programs.append(encode_program(program))
    return encode(TraceReply(programs=tuple(programs)))
