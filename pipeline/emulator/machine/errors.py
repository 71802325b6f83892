"""What can go wrong while a program runs."""

from __future__ import annotations

__all__ = ["MachineError"]


class MachineError(Exception):
    """A program that cannot be executed.

    Attributes:
        rule: ``"budget"`` (too much work), ``"memory"`` (too much live data), ``"illegal"`` or
            ``"operands"`` (an instruction that legality would have refused, found when decoding or running).
        message: What and why.
        line: Line of the submission, 1-based; 0 where no single line is to blame.
    """

    def __init__(self, rule: str, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.rule = rule
        self.message = message
        self.line = line
