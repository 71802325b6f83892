"""Functions of `nki.language` that also name operators: ``nl.add`` is called, and passed as ``op=``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.inventory import unexpected_keyword
from pipeline.emulator.frontend.session import note_failure
from pipeline.emulator.operations.activations import ACTIVATIONS
from pipeline.emulator.operations.operators import OPERATORS

__all__ = ["LanguageFunction", "activation_name", "checked", "named", "operator_name"]

#: NumPy functions that earlier dialects took as operators, and what to write now.
_NUMPY_NAMES: Final = {"amax": "maximum", "amin": "minimum", "max": "maximum", "min": "minimum", "sum": "add"}

#: Keywords of earlier dialects that meant something else in one function than in most.
_KEYWORDS: Final = {
    ("shared_constant", "dtype"): "has no keyword 'dtype': convert the array with .astype first",
}


class LanguageFunction:
    """A function of `nki.language`, compared by identity and usable as a dictionary key.

    Attributes:
        name: Name in `nki.language`.
        operator: The ALU operator it stands for as ``op=``, or None.
        activation: The activation function it stands for as ``op=``, or None.
    """

    __slots__ = ("_call", "activation", "name", "operator")

    def __init__(self, name: str, call: Callable[..., Any] | None, operator: str | None = None) -> None:
        self.name = name
        self.operator = operator or (name if name in OPERATORS or name == "bypass" else None)
        self.activation = name if name in ACTIVATIONS else None
        self._call = None if call is None else checked(name, call)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        """What `inspect.signature` shows: the parameters of the function, if it is one."""
        if self._call is None:
            raise AttributeError("an operator that is no function has no signature")
        return inspect.signature(self._call)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the language function.

        Raises:
            KernelError: If it is an operator and nothing else.
        """
        if self._call is not None:
            return self._call(*args, **kwargs)
        error = KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{self.name} is an operator, not a function: pass it as op= of an nki.isa function",
        )
        note_failure(error)
        raise error

    def __repr__(self) -> str:
        return f"nl.{self.name}"


@functools.cache
def named(name: str) -> LanguageFunction:
    """Return the operator or activation function called `name`, for instructions that we emit ourselves."""
    return LanguageFunction(name, None)


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as `nki.language` exports it: arguments that do not fit are the kernel's error."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KernelError as error:
            note_failure(error)
            raise
        except TypeError as error:
            # Raised before the function was entered, so by the binding of its arguments.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            misfit = _misfit(name, function, kwargs, str(error))
            note_failure(misfit)
            raise misfit from None

    return call


def _misfit(name: str, function: Callable[..., Any], kwargs: dict[str, Any], text: str) -> KernelError:
    parameters = inspect.signature(function).parameters
    unknown = [keyword for keyword in kwargs if keyword not in parameters]
    problem = text.partition("() ")[2]
    if unknown:
        problem = _KEYWORDS.get((name, unknown[0])) or unexpected_keyword(unknown[0], parameters)
    return KernelError(
        KernelErrorKind.COMPILE_ERROR, f"nl.{name} {problem}; it is nl.{name}({', '.join(parameters)})"
    )


def operator_name(value: object, where: str) -> str:
    """Return the ALU operator that `value` stands for.

    Args:
        value: What the kernel passed.
        where: Function and parameter, for the message.

    Raises:
        KernelError: If it stands for none.
    """
    if isinstance(value, LanguageFunction) and value.operator is not None:
        return value.operator
    raise _no_function(value, where, "an ALU operator")


def activation_name(value: object, where: str) -> str:
    """Return the activation function that `value` stands for.

    Args:
        value: What the kernel passed.
        where: Function and parameter, for the message.

    Raises:
        KernelError: If it stands for none.
    """
    if isinstance(value, LanguageFunction) and value.activation is not None:
        return value.activation
    raise _no_function(value, where, "an activation function")


def _no_function(value: object, where: str, wanted: str) -> KernelError:
    if isinstance(value, LanguageFunction):
        return KernelError(KernelErrorKind.COMPILE_ERROR, f"{where}: {value!r} is not {wanted}")
    module = (
        getattr(type(value), "__module__", "") if not callable(value) else getattr(value, "__module__", "")
    )
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and (module or "").startswith("numpy"):
        name = _NUMPY_NAMES.get(name, name)
        remedy = f"NumPy functions are no longer accepted; use nl.{name}"
    else:
        remedy = "pass a function of nki.language, for example nl.add"
    return KernelError(
        KernelErrorKind.COMPILE_ERROR, f"{where} takes {wanted}, not {type(value).__name__}; {remedy}"
    )
