"""What the chip or its compiler refuses, decided on the program by the trusted side."""

from __future__ import annotations

from pipeline.emulator.legality.check import RULES, check
from pipeline.emulator.legality.coverage import (
    UninitialisedRead,
    UnwrittenRegion,
    is_static,
    uninitialised_reads,
    unwritten,
)
from pipeline.emulator.legality.dataflow import independent_outputs, mutated_inputs
from pipeline.emulator.legality.fidelity import fidelity
from pipeline.emulator.legality.memory import MemoryPeaks, memory_peaks
from pipeline.emulator.legality.rules import Rule, Violation
from pipeline.emulator.operations import Severity

__all__ = [
    "RULES",
    "MemoryPeaks",
    "Rule",
    "Severity",
    "UninitialisedRead",
    "UnwrittenRegion",
    "Violation",
    "check",
    "fidelity",
    "independent_outputs",
    "is_static",
    "memory_peaks",
    "mutated_inputs",
    "uninitialised_reads",
    "unwritten",
]
