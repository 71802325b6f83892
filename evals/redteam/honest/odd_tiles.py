import nki
import nki.isa as nisa
import nki.language as nl

TILE_M = 96  # stationary free size
TILE_K = 112  # partitions: the contraction
TILE_N = 320  # moving free size: one PSUM bank of float32


@nki.jit
def matmul_tiled(lhsT, rhs):
    """Return lhsT.T @ rhs, one output tile at a time."""
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    for m in range(0, M, TILE_M):
        m_end = min(m + TILE_M, M)
        for n in range(0, N, TILE_N):
            n_end = min(n + TILE_N, N)
            # Allocated per output tile, so that the first matmul overwrites and the later ones add.
            acc = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, TILE_K):
                k_end = min(k + TILE_K, K)
                lhs_tile = nl.ndarray((k_end - k, m_end - m), dtype=lhsT.dtype, buffer=nl.sbuf)
                rhs_tile = nl.ndarray((k_end - k, n_end - n), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=lhs_tile, src=lhsT[k:k_end, m:m_end])
                nisa.dma_copy(dst=rhs_tile, src=rhs[k:k_end, n:n_end])
                nisa.nc_matmul(dst=acc, stationary=lhs_tile, moving=rhs_tile)

            # DMA cannot read PSUM: evict through SBUF.
            result = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc)
            nisa.dma_copy(dst=out[m:m_end, n:n_end], src=result)

    return out
