import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_tiled(lhsT, rhs):
    """Return lhsT.T @ rhs as float32 [M, N] for bfloat16 lhsT [K, M] and rhs [K, N] in HBM."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    # Fill out here: tiles of at most 128 partitions, PSUM tiles of at most 512 float32 per partition.

    return out
