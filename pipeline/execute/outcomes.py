"""What the end of a job means: a verdict, and a fault with its owner."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.frontend.errors import KernelErrorKind
from pipeline.execute.frames import KernelNote, Note
from pipeline.execute.sandbox import Outcome, Status
from pipeline.types import Fault, Owner, Task, Verdict

__all__ = [
    "explain_execution",
    "explain_kernel_error",
    "explain_language",
    "explain_machine_error",
    "explain_refusal",
    "explain_submission",
    "explain_violation",
    "explain_worker",
    "forged_reply",
    "substituted_program",
    "too_much_to_inspect",
    "withhold_shape",
]

_LOOP_REMEDY: Final = "look for a loop that does not end, or unroll less"
_MEMORY_REMEDY: Final = "allocate tensors with nl.ndarray; the trace itself needs little memory"

#: Machine rules that are the program's doing; whatever else stops the machine is a defect of ours.
_MACHINE_VERDICTS: Final = {
    "budget": Verdict.TIMEOUT,
    "memory": Verdict.TOO_LARGE,
    "illegal": Verdict.ILLEGAL_ON_TARGET,
    "uninitialised": Verdict.INCORRECT,
    "out_of_bounds": Verdict.RUNTIME_ERROR,
    "deadlock": Verdict.RUNTIME_ERROR,
    "meeting": Verdict.RUNTIME_ERROR,
    "unsupported": Verdict.UNSUPPORTED,
}

_OURS: Final = (Verdict.INFRASTRUCTURE, Verdict.UNSUPPORTED)

#: Rules of program validation that speak of size; the rest can only be broken by forging a program.
_SIZE_RULES: Final = frozenset(
    {
        "wire_bytes",
        "instructions",
        "tensors",
        "patterns",
        "registers",
        "tensor_elements",
        "pattern_elements",
        "total_bytes",
        "executed_elements",
        "inspection",
    }
)


def explain_submission(outcome: Outcome, task: Task) -> tuple[Verdict, Fault]:
    """Explain a tracing job that did not answer: the submission's doing, whatever it did."""
    limits = task.limits
    match outcome.status:
        case Status.TIMEOUT:
            return _verdict(
                Verdict.TIMEOUT,
                "wall_time",
                f"the submission did not finish tracing within {limits.wall_seconds:g} s",
                _LOOP_REMEDY,
            )
        case Status.MEMORY:
            return _verdict(
                Verdict.TOO_LARGE,
                "memory",
                f"the submission asked for more than {limits.memory_bytes >> 20} MiB of memory while tracing",
                _MEMORY_REMEDY,
            )
        case Status.OVERSIZED:
            return _verdict(
                Verdict.TOO_LARGE, "output", f"the submission {outcome.message} while tracing", _LOOP_REMEDY
            )
        case Status.FORGED:
            return Verdict.SUSPECT, forged_reply(f"the child {outcome.message}")
        case Status.SILENT:
            return _verdict(
                Verdict.RUNTIME_ERROR,
                "exited",
                f"the submission {outcome.message} while tracing",
                "a kernel never exits: remove sys.exit and os._exit",
            )
        case Status.CRASHED:
            return _verdict(
                Verdict.RUNTIME_ERROR,
                "crashed",
                f"the submission's process was ended by signal {outcome.signal} while tracing",
                "a kernel records operations only; remove native code and system calls",
            )
        case _:
            # Our tracer raised. A submission can make it, so nobody but a person can say whose doing it was.
            return Verdict.UNSUPPORTED, explain_worker(outcome, "tracing the submission")


def explain_execution(outcome: Outcome, task: Task) -> tuple[Verdict, Fault]:
    """Explain an executing worker that did not answer: limits are the program's doing, the rest ours."""
    limits = task.limits
    if outcome.status is Status.TIMEOUT:
        return _verdict(
            Verdict.TIMEOUT,
            "run_time",
            f"the program did not finish within {limits.run_seconds:g} s per input set on the emulator",
            "use larger tiles: fewer instructions do the same work",
        )
    if outcome.status in (Status.MEMORY, Status.OVERSIZED):
        return _verdict(
            Verdict.TOO_LARGE,
            "memory",
            f"the program needs more than {limits.memory_bytes >> 20} MiB while executing",
            "reuse tiles instead of keeping every one alive",
        )
    return Verdict.INFRASTRUCTURE, explain_worker(outcome, "executing the program")


def explain_worker(outcome: Outcome, doing: str) -> Fault:
    """Return the fault of a trusted worker that failed."""
    raised = f" ({outcome.error_type}: {outcome.error_message})" if outcome.error_type else ""
    return Fault(
        owner=Owner.GRADER,
        code=f"worker_{outcome.status.value}",
        message=f"a worker failed while {doing}: {outcome.message}{raised}",
        remedy="grade again; if it comes back, report it with the submission",
    )


def explain_kernel_error(error: KernelNote) -> tuple[Verdict, Fault]:
    """Explain an error that the frontend raised at a line of the submission."""
    verdict = Verdict(error.kind.value)
    owner = Owner.GRADER if verdict is Verdict.UNSUPPORTED else Owner.SUBMISSION
    return verdict, Fault(
        owner=owner,
        code=error.kind.value,
        message=error.message,
        where=_where(error.line),
        line=error.line or None,
    )


def explain_language(refused: Note, told: KernelNote | None) -> tuple[Verdict, Fault]:
    """Explain a text that the compiler refuses, whatever was traced of it.

    Args:
        refused: The first of its errors.
        told: What the child says; a compile error of another line came first and says more, such as an import
            that does not exist.
    """
    if told is not None and told.kind is KernelErrorKind.COMPILE_ERROR and told.line != refused.line:
        return explain_kernel_error(told)
    fault = Fault(
        owner=Owner.SUBMISSION,
        code=refused.kind,
        message=refused.message,
        where=_where(refused.line),
        line=refused.line,
    )
    return Verdict.COMPILE_ERROR, fault


def explain_refusal(refusal: Note) -> tuple[Verdict, Fault]:
    """Explain a program that validation refused."""
    if refusal.kind in _SIZE_RULES:
        return _verdict(Verdict.TOO_LARGE, refusal.kind, refusal.message, _LOOP_REMEDY)
    if refusal.kind == "interface":
        return _verdict(
            Verdict.INCORRECT, "interface", refusal.message, "return exactly the tensors the task asks for"
        )
    return Verdict.SUSPECT, forged_reply(refusal.message)


def explain_violation(violation: Note) -> tuple[Verdict, Fault]:
    """Explain a program that the chip or its compiler would refuse."""
    fault = Fault(
        owner=Owner.SUBMISSION,
        code=violation.kind,
        message=violation.message,
        where=_where(violation.line),
        line=violation.line,
    )
    return Verdict.ILLEGAL_ON_TARGET, fault


def explain_machine_error(error: Note) -> tuple[Verdict, Fault]:
    """Explain a program that the machine stopped."""
    verdict = _MACHINE_VERDICTS.get(error.kind, Verdict.INFRASTRUCTURE)
    fault = Fault(
        owner=Owner.GRADER if verdict in _OURS else Owner.SUBMISSION,
        code=error.kind,
        message=error.message,
        where=_where(error.line),
        line=error.line,
    )
    return verdict, fault


def too_much_to_inspect(outcome: Outcome) -> Note:
    """Return the refusal of programs whose inspection met a limit."""
    return Note(kind="inspection", message=f"the traced programs are too large to inspect: {outcome.message}")


def withhold_shape(fault: Fault) -> Fault:
    """Return a fault met on a hidden shape without the message that would give the shape away."""
    return fault.model_copy(
        update={
            "message": f"a shape that the statement allows but does not list fails (rule {fault.code})",
            "remedy": "derive every size from the shapes of the inputs, and handle the last, partial tile",
        }
    )


def forged_reply(detail: str) -> Fault:
    """Return the fault of a child that answered with something no frontend would send."""
    return Fault(
        owner=Owner.SUBMISSION,
        code="forged_program",
        message=f"the traced program is not one the frontend records: {detail}",
        remedy="a submission must not touch the tracer",
    )


def substituted_program() -> tuple[Verdict, Fault]:
    """Explain a program that is not the one its text describes."""
    return _verdict(
        Verdict.SUSPECT,
        "substituted_program",
        "the traced program is not the one the text describes: without what the module does besides defining "
        "things, another program comes out, or none",
        "a module imports, defines and binds constants, and does nothing else",
    )


def _verdict(verdict: Verdict, code: str, message: str, remedy: str) -> tuple[Verdict, Fault]:
    return verdict, Fault(owner=Owner.SUBMISSION, code=code, message=message, remedy=remedy)


def _where(line: int | None) -> str:
    return f"submission.py:{line}" if line else "submission.py"
