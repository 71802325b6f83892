"""How large a program may be before it is refused.

The numbers bound what the trusted side spends on a hostile program; honest kernels stay far below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_LIMITS", "ProgramLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """Ceilings on a program.

    Attributes:
        wire_bytes: Encoded size.
        instructions: Instructions in the stream.
        tensors: Tensor declarations.
        patterns: Access patterns.
        registers: Virtual registers of a core.
        tensor_elements: Elements of one tensor.
        total_bytes: Bytes of all HBM tensors together.
        executed_elements: Elements touched by all instructions together, the machine's budget; there every
            iteration of a loop counts.
    """

    wire_bytes: int = 256 << 20
    instructions: int = 2_000_000
    tensors: int = 500_000
    patterns: int = 4_000_000
    registers: int = 65_536
    tensor_elements: int = 1 << 28
    total_bytes: int = 2 << 30
    executed_elements: int = 1 << 36


DEFAULT_LIMITS: Final = ProgramLimits()
