"""Executes a validated, legal program on NumPy arrays."""

from __future__ import annotations

from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.machine import Machine

__all__ = ["Machine", "MachineError"]
