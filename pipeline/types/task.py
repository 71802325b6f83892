"""A task: what a kernel is asked to do, and how it is judged."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from pipeline.types.case import Case, Pattern
from pipeline.types.model import Frozen, hash_text
from pipeline.types.verdict import Verdict

__all__ = [
    "AxisConstraint",
    "Battery",
    "ConstructedLevel",
    "Family",
    "Numerics",
    "Policy",
    "Solution",
    "Task",
    "TaskLimits",
    "TensorSpec",
    "Work",
]


class Family(StrEnum):
    """What kind of expertise a task exercises; it selects the rubric."""

    MIGRATION = "migration"
    PERFORMANCE = "performance"
    NUMERICS = "numerics"


class TensorSpec(Frozen):
    """One tensor parameter or result of the entry function."""

    name: str
    shape: tuple[str | int, ...] = Field(min_length=1)
    """Axis names, integers, or products such as ``"2*M"``."""
    dtype: str
    """An NKI dtype name."""


class AxisConstraint(Frozen):
    """Which values a symbolic axis may take."""

    minimum: int = Field(default=1, ge=1)
    maximum: int = Field(ge=1)
    multiple_of: int = Field(default=1, ge=1)


class Numerics(Frozen):
    """What counts as the right answer."""

    compute_dtype: str = "float32"
    """The least precise dtype in which products may be formed; sums are float32."""
    storage_dtype: str = "float32"
    """The least precise dtype in which intermediate results may be stored."""
    rel_l2: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Largest relative L2 error against the float64 reference, over a whole output; None to derive it."""
    row_rel_l2: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The same, over each row (last axis)."""
    elementwise: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Largest ``|error| / (|reference| + rms(reference))`` of any element; None to derive it."""
    reason: str = ""
    """Why limits are overridden, in words an author can check."""


class Battery(Frozen):
    """Which patterns of inputs the grader tries beside the task's own cases."""

    axes: dict[str, int] = Field(default_factory=dict)
    """Of the shape that patterns run at; empty for the smallest with a full tile and a tail."""
    minimum: bool = True
    """Whether the smallest shape that the axes allow is tried."""
    inputs: tuple[str, ...] = ()
    """The inputs that patterns apply to; empty for every float input."""
    include: tuple[Pattern, ...] = ()
    """Patterns that only some tasks allow: ``masked``."""
    exclude: dict[Pattern, str] = Field(default_factory=dict)
    """Patterns that the statement rules out, and why."""


class Work(Frozen):
    """The arithmetic and traffic that the task cannot do without, as formulas over the axes."""

    flops: str
    """E.g. ``"2*M*K*N"``; products, sums, integer powers and quotients of axes and integers."""
    bytes: str
    """Smallest HBM traffic: every input read once, every output written once."""


class TaskLimits(Frozen):
    """What one submission may use."""

    wall_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Of one tracing job: all listed shapes of a submission, then the hidden ones."""
    run_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Of executing one case."""
    memory_bytes: int = Field(default=2 << 30, ge=64 << 20, le=1 << 40)
    instructions: int = Field(default=500_000, ge=1)


class Policy(Frozen):
    """What a submission may do besides computing the answer."""

    mutates_inputs: bool = False


class ConstructedLevel(Frozen):
    """What level a solution was made to deserve: written from rubric and code alone, not an expert's."""

    level: int
    reason: str = Field(min_length=1)


class Solution(Frozen):
    """A reference submission that ships with the task and proves that grading tells good from bad."""

    name: str
    """File name in ``solutions/``."""
    code: str
    expected: Verdict
    levels: dict[str, ConstructedLevel] = Field(default_factory=dict)
    """By criterion of the task's rubric."""


class Task(Frozen):
    """A loaded and validated task folder."""

    id: str
    title: str
    family: Family
    rubric: str
    """Id of the rubric that its submissions are judged by."""
    entry: str
    """Name of the function that a submission defines."""
    statement: str
    """What the author is asked to do, in Markdown."""
    dialects: tuple[str, ...]
    targets: tuple[str, ...]
    """The first is the one graded on, unless the run names another."""
    toolchain: tuple[str, ...]
    """NKI versions, the first being the default."""
    lnc: Literal[1, 2] = 1
    """Logical NeuronCores that the kernel is launched on."""
    axes: dict[str, AxisConstraint]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    cases: tuple[Case, ...]
    numerics: Numerics = Field(default_factory=Numerics)
    battery: Battery = Field(default_factory=Battery)
    work: Work
    limits: TaskLimits = Field(default_factory=TaskLimits)
    policy: Policy = Field(default_factory=Policy)
    reference: str
    """Source of ``reference.py``; runs only in a confined worker and is never visible to a submission."""
    starter: str
    source: dict[str, str] = Field(default_factory=dict)
    """The CUDA or Triton original by file name, for migration tasks."""
    solutions: tuple[Solution, ...] = ()

    def content_hash(self) -> str:
        """Return the hash of all that shapes a grade; the solutions that prove the task do not."""
        return hash_text("Task", self.model_copy(update={"solutions": ()}).model_dump_json())
