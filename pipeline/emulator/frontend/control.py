"""`nki.language` and `nki.isa`: run-time loops, and the registers that count and bound them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.registers import VirtualRegister, allocate_register
from pipeline.emulator.frontend.session import active_session, calling_line
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.operations import Control
from pipeline.emulator.program.instructions import Scalar

__all__ = ["NoReorder", "dynamic_range", "fori_loop", "register_alloc", "unrolled_range", "while_loop"]

_WORD: Final = 1 << 31  # registers hold integers below it, and down to its negative


def unrolled_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """Return the range that `affine_range`, `sequential_range` and `static_range` are.

    Raises:
        KernelError: If a bound is a register.
    """
    for bound in (start, stop, step):
        if isinstance(bound, VirtualRegister):
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                "this range is unrolled, its bounds must be integers: for a bound in a register use "
                "nl.fori_loop",
            )
    return range(start) if stop is None else range(start, stop, step)


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> Iterator[VirtualRegister]:
    """Iterate on the device: the body is recorded once (deprecated since NKI 0.6: use `fori_loop`).

    Args:
        start: First value, or the bound if `stop` is None; an integer or a register.
        stop: Bound, exclusive.
        step: Positive integer.
    """
    lower, upper = (0, start) if stop is None else (start, stop)
    line = calling_line()
    counter = _begin_count(lower, upper, step, line, "nl.dynamic_range")
    loops = active_session().loops
    for _ in loops.passes():
        yield counter
        loops.turn()
    loops.end()


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[VirtualRegister], Any], step: int = 1) -> None:
    """Call `body_fun` on the device for `lower`, ``lower + step`` and so on below `upper`.

    Args:
        lower: First value; an integer or a register.
        upper: Bound, exclusive; an integer or a register.
        body_fun: Records the body; returns nothing.
        step: Positive integer.

    Raises:
        KernelError: If an argument is of another kind, or the body changes Python values.
    """
    counter = _begin_count(lower, upper, step, calling_line(), "nl.fori_loop")
    loops = active_session().loops
    for _ in loops.passes():
        if body_fun(counter) is not None:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                "nl.fori_loop: its body returns a value; it must return nothing and keep results in tensors",
            )
        loops.turn()
    loops.end()


def while_loop(init: Any, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """Call `body_fun` on the device while the register it returns, first `init`, is not zero.

    Raises:
        KernelError: If `init` or what the body returns is no register.
    """
    _require_register(init, "nl.while_loop: init")
    condition = allocate_register()
    INSTRUCTIONS["register_move"](condition, init)
    loops = active_session().loops
    loops.begin(Control.WHILE_BEGIN, ((condition.number,),), calling_line(), None)
    for _ in loops.passes():
        # By value: what the body does to its copy reaches the condition through what it returns.
        passed = allocate_register()
        INSTRUCTIONS["register_move"](passed, condition)
        following = body_fun(passed)
        _require_register(following, "nl.while_loop: what its body returns")
        INSTRUCTIONS["register_move"](condition, following)
        loops.turn()
    loops.end()


def register_alloc(x: Any = None) -> VirtualRegister:
    """Return a new register.

    Args:
        x: Its first value: an integer, one element of a tensor, or None for none.
    """
    register = allocate_register()
    if isinstance(x, NkiTensor):
        INSTRUCTIONS["register_load"](register, x)
    elif x is not None:
        INSTRUCTIONS["register_move"](register, x)
    return register


class NoReorder:
    """``with nl.no_reorder():``; the emulator never reorders, and the block may hold no run-time loop."""

    def __enter__(self) -> None:
        active_session().loops.unreordered += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        active_session().loops.unreordered -= 1


def _begin_count(lower: Any, upper: Any, step: Any, line: int, what: str) -> VirtualRegister:
    if isinstance(step, bool) or not isinstance(step, int) or not 1 <= step < _WORD:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"{what}: step must be a positive integer of 32 bits known at compile time",
        )
    scalars: list[Scalar] = [
        _bound(value, f"{what}: {name}") for name, value in (("lower", lower), ("upper", upper))
    ]
    counter = allocate_register(frozen=True)
    active_session().loops.begin(Control.FOR_BEGIN, ((counter.number,), *scalars, step), line)
    return counter


def _bound(value: Any, what: str) -> Scalar:
    if isinstance(value, VirtualRegister):
        return (value.number,)
    if isinstance(value, int) and not isinstance(value, bool):
        if not -_WORD <= value < _WORD:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR, f"{what} is {value}: the registers that count have 32 bits"
            )
        return value
    raise KernelError(
        KernelErrorKind.COMPILE_ERROR,
        f"{what} must be an integer or a register, not {type(value).__name__}: load a tensor's element with "
        "nisa.register_load",
    )


def _require_register(value: Any, what: str) -> None:
    if not isinstance(value, VirtualRegister):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"{what} must be a register, not {type(value).__name__}: allocate one with nisa.register_alloc",
        )
