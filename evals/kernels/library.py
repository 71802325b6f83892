"""Cases of nki-library (April 2026): its own tests, at shapes that take seconds."""

from __future__ import annotations

from typing import Any, Final

from evals.kernels.case import Case
from evals.kernels.library_tests import TestCase

__all__ = ["CASES"]


def _case(name: str, module: str, test: str, row: int | None = None, **arguments: Any) -> Case:
    return TestCase(name=f"library/{name}", module=module, test=test, row=row, arguments=arguments)


CASES: Final[tuple[Case, ...]] = (
    _case("cumsum", "core.cumsum.test_cumsum", "TestCumsumKernel.test_cumsum_fast",
          batch=64, hidden=1024, ndim=3, seq_len=2, dtype="np.bfloat16"),
    _case("cascaded_max", "core.max.test_cascaded_max", "TestCascadedMaxKernel.test_cascaded_max_unit",
          lnc_degree=1, batch=2, seqlen=3, vocab_size=3168, dtype="nl.float32"),
)
