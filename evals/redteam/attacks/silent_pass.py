import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_tiled(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    return nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
