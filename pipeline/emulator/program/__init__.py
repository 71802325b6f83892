"""The instruction stream: data only, versioned, content-hashed.

A program is what a traced kernel becomes. It crosses the sandbox boundary as bytes, so everything in it is
hostile until `validate` has passed it.
"""

from pipeline.emulator.program.codec import decode, encode, hash_program
from pipeline.emulator.program.errors import ProgramError
from pipeline.emulator.program.instructions import (
    FORMAT_VERSION,
    AccessPattern,
    Constant,
    Instruction,
    Offset,
    Program,
    Scalar,
    Tensor,
)
from pipeline.emulator.program.limits import DEFAULT_LIMITS, ProgramLimits
from pipeline.emulator.program.validation import validate

__all__ = [
    "DEFAULT_LIMITS",
    "FORMAT_VERSION",
    "AccessPattern",
    "Constant",
    "Instruction",
    "Offset",
    "Program",
    "ProgramError",
    "ProgramLimits",
    "Scalar",
    "Tensor",
    "decode",
    "encode",
    "hash_program",
    "validate",
]
