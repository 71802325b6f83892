import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """Dequantises the right operand in float32 on its way to the tensor engine; the left one stays fp8."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=lhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))
    nisa.dma_copy(dst=other, src=rhs_scale.ap(pattern=[[0, P], [1, 1]], offset=0))

    for m in range(0, M, P):
        rows = min(P, M - m)
        for n in range(0, N, TILE_N):
            columns = min(TILE_N, N - n)
            acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, P):
                depth = min(P, K - k)
                left = nl.ndarray((depth, rows), dtype=lhsT.dtype, buffer=nl.sbuf)
                narrow = nl.ndarray((depth, columns), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhsT[k : k + depth, m : m + rows])
                nisa.dma_copy(dst=narrow, src=rhs[k : k + depth, n : n + columns])
                right = nl.ndarray((depth, columns), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_scalar(dst=right, data=narrow, op0=nl.multiply, operand0=other[0:depth, :])
                nisa.nc_matmul(dst=acc, stationary=left, moving=right)
            result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=scale[0:rows, :])
            nisa.dma_copy(dst=out[m : m + rows, n : n + columns], src=result)

    return out
