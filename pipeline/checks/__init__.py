"""Deterministic findings: each check answers one question from the evidence, and never guesses."""

from __future__ import annotations

from typing import Final

from pipeline.checks.activation_range import ActivationRange
from pipeline.checks.authentic import Authentic
from pipeline.checks.check import Check, Evidence
from pipeline.checks.compiles import Compiles
from pipeline.checks.compute_precision import ComputePrecision
from pipeline.checks.correct import Correct
from pipeline.checks.device_work import DeviceWork
from pipeline.checks.dma_size import DMA_SIZE
from pipeline.checks.error_margin import ErrorMargin
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.free_size import FREE_SIZE
from pipeline.checks.generality import Generality
from pipeline.checks.hbm_traffic import HbmTraffic
from pipeline.checks.input_dependence import InputDependence
from pipeline.checks.inputs_preserved import InputsPreserved
from pipeline.checks.language_subset import LanguageSubset
from pipeline.checks.legal import Legal
from pipeline.checks.on_chip_memory import OnChipMemory
from pipeline.checks.output_written import OutputWritten
from pipeline.checks.persuasion import Persuasion
from pipeline.checks.precision_hazards import PrecisionHazards
from pipeline.checks.precision_loss import PrecisionLoss
from pipeline.checks.settlement import INTEGRITY_CHECKS, settle_verdict
from pipeline.checks.special_values import SpecialValues
from pipeline.checks.speed_of_light import SPEED_OF_LIGHT
from pipeline.checks.tensor_engine_use import TensorEngineUse
from pipeline.types import CheckReport, hash_text

__all__ = [
    "CHECKS",
    "INTEGRITY_CHECKS",
    "Check",
    "Evidence",
    "checks_version",
    "collect_facts",
    "fact_named",
    "inspect_all",
    "settle_verdict",
]

_ALL: Final[tuple[Check, ...]] = (
    Compiles(),
    LanguageSubset(),
    Legal(),
    Authentic(),
    DeviceWork(),
    InputDependence(),
    InputsPreserved(),
    OutputWritten(),
    Correct(),
    ComputePrecision(),
    ErrorMargin(),
    PrecisionLoss(),
    SpecialValues(),
    ActivationRange(),
    PrecisionHazards(),
    Generality(),
    SPEED_OF_LIGHT,
    HbmTraffic(),
    DMA_SIZE,
    TensorEngineUse(),
    FREE_SIZE,
    OnChipMemory(),
    Persuasion(),
)

#: Every check by id, in the order in which reports list them.
CHECKS: Final[dict[str, Check]] = {check.id: check for check in _ALL}

#: Raised when facts or verdicts are drawn differently from the same evidence.
_FACTS_VERSION: Final = 2


def inspect_all(evidence: Evidence) -> tuple[CheckReport, ...]:
    """Return the report of every check, in the order of `CHECKS`."""
    return tuple(check.inspect(evidence) for check in CHECKS.values())


def checks_version() -> str:
    """Return a hash that changes whenever any check, or what facts are collected, changes."""
    return hash_text(_FACTS_VERSION, *(f"{check.id} {check.version}" for check in CHECKS.values()))[:16]
