import nki
import nki.isa as nisa
import nki.language as nl

TILE_M = 128  # stationary free size
TILE_N = 512  # moving free size: one PSUM bank of float32
TILE_K = 256  # contraction: two rows in each of 128 partitions


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """Return lhs_scale * rhs_scale * (lhsT.T @ rhs), one output tile at a time, at double rate."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    # Both scales in every partition: a partition stride of 0 on the HBM side.
    scale = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=lhs_scale.ap(pattern=[[0, TILE_M], [1, 1]], offset=0))
    nisa.dma_copy(dst=other, src=rhs_scale.ap(pattern=[[0, TILE_M], [1, 1]], offset=0))
    nisa.tensor_tensor(dst=scale, data1=scale, data2=other, op=nl.multiply)

    for m in range(0, M, TILE_M):
        m_end = min(m + TILE_M, M)
        for n in range(0, N, TILE_N):
            n_end = min(n + TILE_N, N)
            acc = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, TILE_K):
                half = (min(k + TILE_K, K) - k) // 2  # K is even, so the last tile has two equal halves too
                left = nl.ndarray((half, 2, m_end - m), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((half, 2, n_end - n), dtype=rhs.dtype, buffer=nl.sbuf)
                for i in range(2):
                    first = k + i * half
                    nisa.dma_copy(dst=left[:, i, :], src=lhsT[first : first + half, m:m_end])
                    nisa.dma_copy(dst=right[:, i, :], src=rhs[first : first + half, n:n_end])
                nisa.nc_matmul(
                    dst=acc, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )

            result = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale[0 : m_end - m, :])
            nisa.dma_copy(dst=out[m:m_end, n:n_end], src=result)

    return out
