"""What a tensor does not do: operators of Python, and methods that its NKI version does not have yet."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from pipeline.emulator.toolchain import SURFACE, available, find

__all__ = ["refuse_operators", "refuse_undated", "take_old_keywords"]

_OWNER: Final = "nki.language.NkiTensor"
_OUR_CODE: Final = str(Path(__file__).parent) + "/"
#: Python's special methods, the symbol that calls them, and what NKI has instead. Equality stays identity,
#: because kernels compare optional tensors with None.
_OPERATORS: Final = (
    ("add radd iadd", "+", "nl.add"),
    ("sub rsub isub", "-", "nl.subtract"),
    ("mul rmul imul", "*", "nl.multiply"),
    ("truediv rtruediv itruediv", "/", "nl.multiply with nl.reciprocal"),
    ("matmul rmatmul imatmul", "@", "nisa.nc_matmul"),
    ("pow rpow ipow", "**", "nl.power"),
    ("floordiv rfloordiv ifloordiv", "//", "nl.multiply with nl.reciprocal, then nl.floor"),
    ("mod rmod imod", "%", "nl.floor of the quotient, nl.multiply and nl.subtract"),
    ("lshift rlshift ilshift", "<<", "nl.left_shift"),
    ("rshift rrshift irshift", ">>", "nl.right_shift"),
    ("neg", "-", "nl.negative"),
    ("invert", "~", "nl.invert"),
    ("abs", "abs()", "nl.abs"),
    ("lt", "<", "nl.less"),
    ("le", "<=", "nl.less_equal"),
    ("gt", ">", "nl.greater"),
    ("ge", ">=", "nl.greater_equal"),
    ("and rand iand", "&", "nl.bitwise_and"),
    ("or ror ior", "|", "nl.bitwise_or"),
    ("xor rxor ixor", "^", "nl.bitwise_xor"),
)


def refuse_operators(tensor: type) -> None:
    """Make the operators of a tensor class say what NKI has instead."""
    for methods, symbol, function in _OPERATORS:
        for method in methods.split():
            setattr(tensor, f"__{method}__", _refusal(method, symbol, function))


def refuse_undated(tensor: type) -> None:
    """Make the methods of a tensor class that came after NKI 0.3 refuse kernels of earlier versions."""
    for known in SURFACE[_OWNER].values():
        method = vars(tensor).get(known.name)
        if known.since != "0.3" and callable(method):
            setattr(tensor, known.name, _dated(method, known.name))


def take_old_keywords(tensor: Any) -> None:
    """Make `reshape` take ``new_shape`` from kernels of versions that had it."""
    method = tensor.reshape

    @functools.wraps(method)
    def reshape(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "new_shape" in kwargs:
            version = self._storage.recorder.version
            known = find(_OWNER, "reshape")
            if known is None or all(k.name != "new_shape" for k in known.keywords_in(version)):
                raise self._refuse(f"reshape has no keyword new_shape in NKI {version}: it is called shape")
            kwargs["shape"] = kwargs.pop("new_shape")
        return method(self, *args, **kwargs)

    tensor.reshape = reshape


def _refusal(method: str, symbol: str, function: str) -> Callable[..., NoReturn]:
    remedy = f"{symbol}; use {function}"
    if method.startswith("i") and method != "invert":
        remedy = (
            f"{symbol}=; use {function}, or write the result back as nisa.tensor_tensor(dst=x, data1=x, "
            "data2=y, op=nl.add) does; nisa.nc_matmul accumulates products in PSUM"
        )

    def refuse(self: Any, *_: object) -> NoReturn:
        raise self._refuse(f"tensors have no operator {remedy}")

    return refuse


def _dated(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        version = self._storage.recorder.version
        # Functions of ours are built of these methods in every version.
        theirs = not sys._getframe(1).f_code.co_filename.startswith(_OUR_CODE)
        if theirs and not available(_OWNER, name, version):
            known = find(_OWNER, name)
            since = known.since if known is not None else ""
            raise self._refuse(
                f".{name} exists since NKI {since}; this kernel is compiled for {version}: say it with "
                ".ap(pattern=[[stride, count], ...])"
            )
        return method(self, *args, **kwargs)

    return call
