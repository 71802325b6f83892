"""Record a submission's kernel: source text in, program or one clear error out."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Any, Final, NoReturn

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.frameworks import installed_placeholders
from pipeline.emulator.frontend.imports import explain_import
from pipeline.emulator.frontend.kernel import Kernel
from pipeline.emulator.frontend.language import assigned_names, check_kernel, parse
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.signature import InputSpec, bind_inputs, record_kernel
from pipeline.emulator.program import DEFAULT_LIMITS, Program
from pipeline.emulator.targets import target_named

__all__ = ["DEFAULT_VERSION", "trace"]

#: The newest NKI version whose rules are known here.
DEFAULT_VERSION: Final = "0.6"
_MODULE_NAME: Final = "nki_submission"
_MAX_MESSAGE: Final = 400


def trace(
    source: str,
    filename: str,
    entry: str,
    inputs: Sequence[InputSpec],
    *,
    target: str,
    version: str = DEFAULT_VERSION,
    cores: int = 1,
    instruction_limit: int = DEFAULT_LIMITS.instructions,
) -> Program:
    """Execute `source` in a fresh module, call its kernel with tensors without values, return the record.

    Args:
        source: Text of the submission.
        filename: What messages and tracebacks call it.
        entry: Name of the kernel function.
        inputs: Its tensor arguments; the program's inputs are in this order.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``.
        version: NKI version to compile for.
        cores: Logical NeuronCores to launch the kernel on, 1 or 2.
        instruction_limit: Instructions after which recording stops.

    Returns:
        The program; legality is still to be decided.

    Raises:
        KernelError: Whatever the submission does wrong, with its line.
    """
    session = Session(target_named(target), version, instruction_limit)
    with (
        # What Python would warn its author of is no part of a verdict.
        warnings.catch_warnings(action="ignore"),
        installed_modules(session),
        installed_placeholders(),
        _registered_module(filename) as module,
    ):
        tree = parse(source, filename)
        try:
            code = compile(tree, filename, "exec")
            exec(code, vars(module))
            function = _entry(module, entry)
            check_kernel(tree, entry, version)
            bound = bind_inputs(function, inputs)
            tensors = dict(sorted(bound.items(), key=lambda item: inputs.index(item[1])))
            return record_kernel(session, function, {}, tensors, assigned_names(tree), cores)[0]
        except BaseException as error:
            # SystemExit and KeyboardInterrupt too: what a submission raises is its verdict, not our end.
            _raise_as_verdict(error, filename, session)


@contextmanager
def _registered_module(filename: str) -> Iterator[ModuleType]:
    """Provide a fresh module for the submission, findable by name: dataclasses look theirs up."""
    module = ModuleType(_MODULE_NAME)
    module.__file__ = filename
    previous = sys.modules.get(_MODULE_NAME)
    sys.modules[_MODULE_NAME] = module
    try:
        yield module
    finally:
        if previous is None:
            sys.modules.pop(_MODULE_NAME, None)
        else:
            sys.modules[_MODULE_NAME] = previous


def _entry(module: ModuleType, entry: str) -> Callable[..., Any]:
    found = vars(module).get(entry)
    if isinstance(found, Kernel):
        return found.function
    if inspect.isfunction(found):
        return found
    functions = [
        name
        for name, value in vars(module).items()
        if isinstance(value, Kernel)
        or (getattr(value, "__module__", None) == _MODULE_NAME and callable(value))
    ]
    named = ", ".join(f"{name}()" for name in functions[:10])
    listed = f"it defines {named}" if functions else "it defines no function"
    raise KernelError(
        KernelErrorKind.COMPILE_ERROR, f"the submission has no kernel function {entry!r}; {listed}"
    )


def _raise_as_verdict(error: BaseException, filename: str, session: Session) -> NoReturn:
    line = _line_in(error.__traceback__, filename)
    if isinstance(error, KernelError):
        raise KernelError(error.kind, error.message, error.line or line) from None
    if isinstance(error, ImportError) and (refused := explain_import(error, session)) is not None:
        raise KernelError(refused.kind, refused.message, line) from None
    name = type(error).__name__
    if isinstance(error, RecursionError):
        message = "RecursionError: the recursion does not end"
    elif isinstance(error, MemoryError):
        raise KernelError(
            KernelErrorKind.TOO_LARGE, "the submission needs more memory than it may have", line
        ) from None
    elif isinstance(error, SystemExit | KeyboardInterrupt | GeneratorExit):
        message = f"{name}: the submission ends the process instead of returning"
    elif isinstance(error, SyntaxError):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"syntax error: {error.msg}", error.lineno or 0
        ) from None
    else:
        message = f"{name}: {_text_of(error)}".removesuffix(": ")
    raise KernelError(KernelErrorKind.RUNTIME_ERROR, message, line) from None


def _line_in(traceback: TracebackType | None, filename: str) -> int:
    """Return the line of the innermost frame of the submission."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _text_of(error: BaseException) -> str:
    """Return an exception's text as one bounded line; a submission's exception may fail even at that."""
    try:
        text = str(error)
    except BaseException:
        return "(its message cannot be shown)"
    return " ".join(text.split())[:_MAX_MESSAGE]
