"""What a kernel imports (`nki`, `nki.language`, `nki.isa`): it records a program, and computes nothing.

A submission shares this process and can patch it, so checks here only serve good messages: the trusted side
decides again, on the program.
"""

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.script import run_script
from pipeline.emulator.frontend.signature import InputSpec
from pipeline.emulator.frontend.trace import DEFAULT_VERSION, trace

__all__ = ["DEFAULT_VERSION", "InputSpec", "KernelError", "KernelErrorKind", "run_script", "trace"]
