import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512
TILE_K = 256


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """The left operand comes in neighbouring rows, one transfer per tile; the right one in halves of the tile."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    pairs = lhsT.reshape((K // 2, 2, M))

    scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=lhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.dma_copy(dst=other, src=rhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.tensor_tensor(dst=scale, data1=scale, data2=other, op=nl.multiply)

    for m in range(0, M, P):
        m_end = min(m + P, M)
        for n in range(0, N, TILE_N):
            n_end = min(n + TILE_N, N)
            acc = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, TILE_K):
                half = (min(k + TILE_K, K) - k) // 2
                left = nl.ndarray((half, 2, m_end - m), dtype=lhsT.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=pairs[k // 2 : k // 2 + half, :, m:m_end])
                right = nl.ndarray((half, 2, n_end - n), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=right[:, 0, :], src=rhs[k : k + half, n:n_end])
                nisa.dma_copy(dst=right[:, 1, :], src=rhs[k + half : k + 2 * half, n:n_end])
                nisa.nc_matmul(
                    dst=acc, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )
            result = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale[0 : m_end - m, :])
            nisa.dma_copy(dst=out[m:m_end, n:n_end], src=result)

    return out
