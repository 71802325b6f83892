import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE_N = 512
TILE_K = 256


@nki.jit
def fp8_matmul(lhsT, rhs, lhs_scale, rhs_scale):
    """Scales the running sum after every K tile, so that it stays in range."""
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
            total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=total, value=0.0)
            for k in range(0, K, TILE_K):
                half = (min(k + TILE_K, K) - k) // 2
                left = nl.ndarray((half, 2, rows), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((half, 2, columns), dtype=rhs.dtype, buffer=nl.sbuf)
                for i in range(2):
                    first = k + i * half
                    nisa.dma_copy(dst=left[:, i, :], src=lhsT[first : first + half, m : m + rows])
                    nisa.dma_copy(dst=right[:, i, :], src=rhs[first : first + half, n : n + columns])
                part = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(
                    dst=part, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
                )
                nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
                nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=scale[0:rows, :])
            nisa.dma_copy(dst=out[m : m + rows, n : n + columns], src=total)

    return out
