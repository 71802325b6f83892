"""Placeholders for the host frameworks that kernel files import: named freely, refused when used.

Model responses often begin with ``import torch`` and never touch it again. A kernel is recorded without any
framework, so a name of one may stand in an annotation or a default; calling it ends the trace with a reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NoReturn

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.session import is_recording

__all__ = ["installed_placeholders"]

_FRAMEWORKS: Final = frozenset(
    {
        "jax",
        "jaxlib",
        "neuronx_distributed",
        "neuronx_distributed_inference",
        "nki_library",
        "nkilib",
        "torch",
        "torch_neuronx",
        "torch_xla",
        "torchvision",
        "transformers",
        "triton",
    }
)


class _Placeholder:
    """Some name of a framework."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Placeholder(f"{self._name}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,) if bases == (self,) else ()

    def __or__(self, other: object) -> _Placeholder:
        """Stand in an annotation such as ``torch.Tensor | None``."""
        return self

    __ror__ = __or__
    __getitem__ = __or__

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        # Inside of a kernel it is no gap of ours: the compiler takes no framework's functions either.
        kind = KernelErrorKind.COMPILE_ERROR if is_recording() else KernelErrorKind.UNSUPPORTED
        raise KernelError(
            kind,
            f"calls {self._name}, which does not exist where kernels are recorded; a kernel uses nki.isa and "
            "nki.language only",
        )

    def __repr__(self) -> str:
        return self._name


class _PlaceholderModule(ModuleType):
    """A framework's module: every name in it is a placeholder."""

    def __getattr__(self, name: str) -> _Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Placeholder(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    """Finds every module of every framework, installed or not: all machines record alike."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _FRAMEWORKS:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PlaceholderModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


@contextmanager
def installed_placeholders() -> Iterator[None]:
    """Make the frameworks importable as placeholders; afterwards all is as before."""
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in _FRAMEWORKS}
    for name in hidden:
        del sys.modules[name]
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in _FRAMEWORKS]:
            del sys.modules[name]
        sys.modules.update(hidden)
