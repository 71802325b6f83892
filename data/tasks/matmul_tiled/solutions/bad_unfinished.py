import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_tiled(lhsT, rhs):
    """Multiplies lhsT.T with rhs using tiled matrix multiplication on the tensor engine."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    tiles_m = (M + 127) // 128
    tiles_n = (N + 511) // 512
    tiles_k = (K + 127) // 128
    for m in range(tiles_m):
        for n in range(tiles_n):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(tiles_k):
                # load the tiles and accumulate here
                pass

    return out
