"""What crosses the boundary between the grader and its confined workers: data, decoded by schema."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

import msgspec
import numpy as np

from pipeline.emulator.dtypes import dtype_named
from pipeline.emulator.frontend.errors import KernelErrorKind

__all__ = [
    "MESSAGE_CHARACTERS",
    "Array",
    "Candidate",
    "ExecuteReply",
    "ExecuteRequest",
    "InspectReply",
    "InspectRequest",
    "KernelNote",
    "Note",
    "ProgramOutcome",
    "ProgramReading",
    "ProgramRun",
    "ReferenceReply",
    "ReferenceRequest",
    "Sighting",
    "Tensor",
    "TraceReply",
    "TraceRequest",
    "bounded",
    "decode",
    "encode",
]


class Tensor(msgspec.Struct, frozen=True, array_like=True):
    """Name, shape and NKI dtype of a tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Array(msgspec.Struct, frozen=True, array_like=True):
    """Values in row-major order. The dtype is an NKI name, or ``float64`` for references."""

    shape: tuple[int, ...]
    dtype: str
    data: memoryview
    """Of the frame's own memory when decoded: nothing is copied."""

    @staticmethod
    def of(values: np.ndarray, dtype: str) -> Array:
        """Wrap `values`, already stored as `dtype`."""
        return Array(tuple(values.shape), dtype, np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)

    def numpy(self) -> np.ndarray:
        """Return the values, read-only.

        Raises:
            ValueError: If the bytes do not fill the shape exactly.
        """
        storage = np.dtype(np.float64) if self.dtype == "float64" else dtype_named(self.dtype).storage
        return np.frombuffer(self.data, storage).reshape(self.shape)


class TraceRequest(msgspec.Struct, frozen=True):
    """Trace one source for several shapes."""

    source: str
    filename: str
    entry: str
    shapes: tuple[tuple[Tensor, ...], ...]
    target: str
    version: str
    cores: int
    instruction_limit: int


class Note(msgspec.Struct, frozen=True):
    """An error or a rule that spoke."""

    kind: str
    message: str
    line: int | None = None
    severity: str = "error"


#: Longest message that quotes a submission.
MESSAGE_CHARACTERS: Final = 2000


def bounded(message: str) -> str:
    """Return a message that quotes a submission as a frame takes it: bounded, and without lone surrogates."""
    return message[:MESSAGE_CHARACTERS].encode(errors="replace").decode()


class KernelNote(msgspec.Struct, frozen=True):
    """Why a shape could not be traced: a child's word, so its schema bounds all of it."""

    kind: KernelErrorKind
    message: Annotated[str, msgspec.Meta(max_length=MESSAGE_CHARACTERS)]
    line: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 0


class TraceReply(msgspec.Struct, frozen=True):
    """Encoded programs, one per shape, up to the first shape that failed."""

    programs: tuple[bytes, ...]
    error: KernelNote | None = None


class Candidate(msgspec.Struct, frozen=True):
    """An encoded program, and the tensors that it must take and return."""

    program: bytes
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class InspectRequest(msgspec.Struct, frozen=True):
    """Validate programs, which must be for this platform, and read what they do; read their text too."""

    candidates: tuple[Candidate, ...]
    source: str
    entry: str
    target: str
    version: str
    cores: int
    instruction_limit: int


class ProgramReading(msgspec.Struct, frozen=True):
    """What the trusted side read off a program; `refusal` when it is not even well-formed."""

    refusal: Note | None = None
    violations: tuple[Note, ...] = ()
    hazards: tuple[Note, ...] = ()
    instructions: int = 0
    instructions_per_engine: dict[str, int] = {}
    operations: dict[str, int] = {}
    compute_dtypes: tuple[str, ...] = ()
    stored_dtypes: dict[str, tuple[int, ...]] = {}
    sbuf_peak_bytes: int = 0
    psum_peak_bytes: int = 0
    unwritten: dict[str, int] = {}
    mutated_inputs: tuple[str, ...] = ()
    independent_outputs: tuple[str, ...] = ()
    fidelity: str = "exact"
    approximated: tuple[str, ...] = ()
    counts: dict[str, float] = {}


class InspectReply(msgspec.Struct, frozen=True):
    """What inspection says.

    Attributes:
        readings: One per candidate, up to the first that is refused or illegal.
        language: What the NKI compiler refuses in the text or advises against, by line.
        essence: The text without what its module does besides defining things; empty where it does nothing
            else.
    """

    readings: tuple[ProgramReading, ...]
    language: tuple[Note, ...] = ()
    essence: str = ""


class ProgramRun(msgspec.Struct, frozen=True):
    """One program, and the input sets to run it on."""

    program: bytes
    inputs: tuple[tuple[Array, ...], ...]


class ExecuteRequest(msgspec.Struct, frozen=True):
    """Run programs, one after the other."""

    runs: tuple[ProgramRun, ...]


class Sighting(msgspec.Struct, frozen=True, array_like=True):
    """Values that a line met outside the range in which its function is defined; see `types.Observation`."""

    line: int | None
    function: str
    low: float
    high: float
    least: float
    greatest: float


class ProgramOutcome(msgspec.Struct, frozen=True):
    """Outputs per input set, up to the first that failed, and what was observed in computing them."""

    outputs: tuple[tuple[Array, ...], ...]
    error: Note | None = None
    observations: tuple[tuple[Sighting, ...], ...] = ()


class ExecuteReply(msgspec.Struct, frozen=True):
    """One outcome per run."""

    outcomes: tuple[ProgramOutcome, ...]


class ReferenceRequest(msgspec.Struct, frozen=True):
    """Draw inputs and compute what they should give.

    Attributes:
        pattern: What is done to the drawn values of `patterned`, a `types.Pattern`.
        patterned: Names of the inputs that the pattern applies to.
        compute_dtype: The least precise dtype in which an honest execution forms products.
        storage_dtype: The least precise dtype in which it stores intermediate results.
        study: Whether to compare other arithmetics as well, for a `types.Study`.
    """

    source: str
    axes: dict[str, int]
    case: dict[str, str]
    seed: tuple[int, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    pattern: str = "drawn"
    patterned: tuple[str, ...] = ()
    compute_dtype: str = "float32"
    storage_dtype: str = "float32"
    study: bool = False


class ReferenceReply(msgspec.Struct, frozen=True):
    """Inputs as the kernel gets them, the float64 answers, and how far honest executions are from them.

    Attributes:
        spread: Per output, float32 of its shape: a bound on the rounding error that an honest execution makes
            before it rounds to the output's dtype, from a running error analysis.
        noise: Per output, the relative L2 errors of the honest executions that were tried, likewise before
            the output's rounding.
        derivation: How `spread` and `noise` came about, one sentence per step.
        arithmetic: For a study: by name (``float32``, ``bfloat16``, ``gpu``) the relative L2 error of that
            arithmetic per output, rounded to the output's dtype.
    """

    inputs: tuple[Array, ...] = ()
    expected: tuple[Array, ...] = ()
    spread: tuple[Array, ...] = ()
    noise: tuple[tuple[float, ...], ...] = ()
    derivation: tuple[str, ...] = ()
    arithmetic: dict[str, tuple[float, ...]] = {}
    error: Note | None = None


T = TypeVar("T")

_ENCODER: Final = msgspec.msgpack.Encoder()


def encode(frame: msgspec.Struct) -> bytes:
    """Return the frame's bytes."""
    return _ENCODER.encode(frame)


def decode(data: bytes, kind: type[T]) -> T:
    """Parse a frame of type `kind`.

    Raises:
        msgspec.DecodeError: If it is anything else.
    """
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except RecursionError:
        # Fields that the schema does not know are skipped, however deep they are nested.
        raise msgspec.DecodeError("nested too deeply") from None
