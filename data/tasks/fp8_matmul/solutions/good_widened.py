import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512


def load_wide(operand, k, k_end, first, last):
    """Load a tile of `operand` and widen it to bfloat16, which holds every float8_e4m3 value."""
    narrow = nl.ndarray((k_end - k, last - first), dtype=operand.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=narrow, src=operand[k:k_end, first:last])
    wide = nl.ndarray((k_end - k, last - first), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=wide, src=narrow)
    return wide


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """Return lhs_scale * rhs_scale * (lhsT.T @ rhs) by way of bfloat16 operands."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    left_scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    right_scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left_scale, src=lhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.dma_copy(dst=right_scale, src=rhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))

    for m in range(0, M, P):
        m_end = min(m + P, M)
        for n in range(0, N, TILE_N):
            n_end = min(n + TILE_N, N)
            acc = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, P):
                k_end = min(k + P, K)
                left = load_wide(lhsT, k, k_end, m, m_end)
                right = load_wide(rhs, k, k_end, n, n_end)
                nisa.nc_matmul(dst=acc, stationary=left, moving=right)

            result = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=left_scale[0 : m_end - m, :])
            nisa.tensor_scalar(
                dst=result, data=result, op0=nl.multiply, operand0=right_scale[0 : m_end - m, :]
            )
            nisa.dma_copy(dst=out[m:m_end, n:n_end], src=result)

    return out
