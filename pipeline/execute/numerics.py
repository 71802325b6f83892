"""The numerics environment: the libraries that compute values, and the BLAS kernel that they run on."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

__all__ = ["CORE_TYPE_VARIABLE", "describe_numerics"]

#: Environment variable by which OpenBLAS is told which processor's kernels to run; it is read at import.
CORE_TYPE_VARIABLE: Final = "OPENBLAS_CORETYPE"

#: Names under which OpenBLAS tells its core: as NumPy's wheels bundle it, and as it is built by others.
_CORE_FUNCTIONS: Final = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)


@cache
def describe_numerics() -> str:
    """Return versions and BLAS kernel, e.g. ``numpy 2.4.1, ml_dtypes 0.5.4, scipy-openblas 0.3.31 Haswell``.

    A product of matrices sums in an order that depends on the kernel, so equal inputs give equal bits only
    where all of this is equal.
    """
    blas = _blas()
    named = " ".join(filter(None, (blas.get("name", "no BLAS"), blas.get("version", ""), _core())))
    return f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}, {named}"


def _blas() -> dict[str, str]:
    built: Any = np.show_config(mode="dicts")
    return dict(built.get("Build Dependencies", {}).get("blas", {}))


def _core() -> str:
    """Return the processor whose kernels OpenBLAS runs; what was asked for where it does not tell."""
    for path in _bundled_libraries():
        library = ctypes.CDLL(str(path))  # Loaded already, by NumPy: this is the same one.
        for name in _CORE_FUNCTIONS:
            if hasattr(library, name):
                function = getattr(library, name)
                function.argtypes, function.restype = (), ctypes.c_char_p
                return str(function().decode())
    return os.environ.get(CORE_TYPE_VARIABLE, "")


def _bundled_libraries() -> Iterator[Path]:
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        yield from sorted(folder.glob("*openblas*"))
