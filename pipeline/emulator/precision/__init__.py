"""Where a program risks precision, read off its instructions: hints, no verdicts."""

from __future__ import annotations

from pipeline.emulator.precision.hazards import HAZARDS, Hazard, Sighting, recognise_hazards

__all__ = ["HAZARDS", "Hazard", "Sighting", "recognise_hazards"]
