import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512
TILE_K = 256


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """The two scales are numbers: read them once and pass their product as an immediate."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    scale = float(lhs_scale[0, 0]) * float(rhs_scale[0, 0])

    for m in range(0, M, P):
        rows = min(P, M - m)
        for n in range(0, N, TILE_N):
            columns = min(TILE_N, N - n)
            acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, TILE_K):
                half = (min(k + TILE_K, K) - k) // 2
                left = nl.ndarray((half, 2, rows), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((half, 2, columns), dtype=rhs.dtype, buffer=nl.sbuf)
                for i in range(2):
                    first = k + i * half
                    nisa.dma_copy(dst=left[:, i, :], src=lhsT[first : first + half, m : m + rows])
                    nisa.dma_copy(dst=right[:, i, :], src=rhs[first : first + half, n : n + columns])
                nisa.nc_matmul(
                    dst=acc, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )
            result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale)
            nisa.dma_copy(dst=out[m : m + rows, n : n + columns], src=result)

    return out
