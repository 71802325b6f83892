"""What building, running and profiling a submission produced."""

from __future__ import annotations

from pydantic import Field

from pipeline.types.case import CaseKind
from pipeline.types.fact import Fact
from pipeline.types.fault import Fault
from pipeline.types.finding import Finding
from pipeline.types.model import Frozen
from pipeline.types.study import Study
from pipeline.types.tolerance import Tolerance
from pipeline.types.verdict import Verdict

__all__ = [
    "BuildResult",
    "CaseResult",
    "Observation",
    "OutputError",
    "ProfileResult",
    "ProgramSummary",
    "RunResult",
]


class ProgramSummary(Frozen):
    """What the trusted side read off one traced program."""

    axes: dict[str, int]
    """The shape it was specialised for."""
    artifact: str
    """SHA-256 of the encoded program in the store."""
    instructions: int
    instructions_per_engine: dict[str, int]
    operations: dict[str, int]
    """How often each operation occurs."""
    compute_dtypes: tuple[str, ...]
    """Float dtypes in which products or sums were formed, least precise first."""
    stored_dtypes: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Float dtypes of intermediate results that arithmetic reads, but for matmuls, with the lines that do."""
    sbuf_peak_bytes: int
    """Per partition."""
    psum_peak_bytes: int
    """Per partition."""
    unwritten: dict[str, int] = Field(default_factory=dict)
    """Elements never written, per output that has any."""
    mutated_inputs: tuple[str, ...] = ()
    independent_outputs: tuple[str, ...] = ()
    """Outputs that no input value flows into."""
    fidelity: str = "exact"
    """Worst fidelity of any operation used: ``exact``, ``approximate`` or ``unmodelled``."""
    counts: dict[str, float] = Field(default_factory=dict)
    """Traffic, work and sizes, by the names that `pipeline.execute.counts` turns into facts."""
    approximated: tuple[str, ...] = ()
    """Names of the operations that are not reproduced exactly."""


class BuildResult(Frozen):
    """Outcome of tracing a submission for every shape of its task."""

    verdict: Verdict | None = None
    """None when every shape built."""
    fault: Fault | None = None
    programs: tuple[ProgramSummary, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What the target's rules and those of the language say: errors and warnings."""
    log: str = ""
    """What the submission printed, bounded; for display only."""
    executor: str
    """E.g. ``emulator 1``."""
    sandbox: str
    """Isolation level used: ``bubblewrap``, ``namespaces``, ``landlock`` or ``limits``."""


class OutputError(Frozen):
    """How far one output is from the float64 reference."""

    output: str
    rel_l2: float
    worst_row_rel_l2: float
    """Of the row that uses up most of its limit."""
    worst_elementwise: float
    """``|error| / (|reference| + rms(reference))`` of the element that uses up most of its limit."""
    worst_index: tuple[int, ...]
    got: str
    """The value there, printed."""
    expected: str
    rounding_rel_l2: float = 0.0
    """``rel_l2`` of the reference itself, rounded to the output's dtype: what no kernel can avoid."""
    tolerance: Tolerance | None = None
    """None in what the first releases recorded."""
    ulps: float = 0.0
    """Error at the worst index, in units in the last place of the output's dtype there."""
    beyond: int = 0
    """Elements beyond their limit."""
    elements: int = 0
    """Elements in all."""
    pattern: str = ""
    """Where the elements beyond their limit cluster and what that usually means; empty where they do not."""
    aws_rule: bool = False
    """Whether AWS's own rule holds, ``|error| <= atol + rtol * max|reference|``; decides nothing."""
    allclose: bool = False
    """What ``numpy.allclose`` would say with the dtype's usual tolerances; decides nothing."""


class Observation(Frozen):
    """Values that a line met outside the range for which the device's result is documented."""

    line: int | None
    function: str
    """An activation function, or the operation where it is not one of an activation function."""
    low: float
    high: float
    """The documented range."""
    least: float
    greatest: float
    """Values met, rounded outwards to three significant digits; may be infinite, NaN if all of them are."""


class CaseResult(Frozen):
    """Outcome of one case with one seed."""

    case: str
    kind: CaseKind
    axes: dict[str, int]
    seed: int
    """Index of the draw, from 0."""
    verdict: Verdict
    message: str
    """One line; for a wrong answer the worst index and the values there."""
    errors: tuple[OutputError, ...] = ()
    fault: Fault | None = None
    observations: tuple[Observation, ...] = ()
    """In program order, bounded in number."""
    outputs_hash: str = ""
    """SHA-256 over the bytes of all outputs; a replay must meet it."""


class RunResult(Frozen):
    """Outcome of all cases."""

    verdict: Verdict
    fault: Fault | None = None
    cases: tuple[CaseResult, ...] = ()
    executor: str
    sandbox: str
    battery_seed: str = ""
    """The secret seed, in hexadecimal, that all inputs were drawn from; a replay starts from it."""
    study: Study | None = None
    """Of the first case whose outputs were finite; None where none was."""


class ProfileResult(Frozen):
    """Counts and modelled times of the scored shapes."""

    facts: tuple[Fact, ...] = ()
    fault: Fault | None = None
