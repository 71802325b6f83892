import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """Always multiplies full [128, 2, free] tiles: the last one of K is loaded as far as there are rows."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=lhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.dma_copy(dst=other, src=rhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.tensor_tensor(dst=scale, data1=scale, data2=other, op=nl.multiply)

    for m in range(0, M, P):
        rows = min(P, M - m)
        for n in range(0, N, TILE_N):
            columns = min(TILE_N, N - n)
            acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, 2 * P):
                left = nl.ndarray((P, 2, rows), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((P, 2, columns), dtype=rhs.dtype, buffer=nl.sbuf)
                for i in range(2):
                    first = k + i * P
                    depth = min(P, K - first)
                    if depth > 0:
                        nisa.dma_copy(dst=left[0:depth, i, :], src=lhsT[first : first + depth, m : m + rows])
                        nisa.dma_copy(
                            dst=right[0:depth, i, :], src=rhs[first : first + depth, n : n + columns]
                        )
                nisa.nc_matmul(
                    dst=acc, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )
            result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale[0:rows, :])
            nisa.dma_copy(dst=out[m : m + rows, n : n + columns], src=result)

    return out
