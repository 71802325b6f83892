import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        block = nl.ndarray((rows, C), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=block, src=x[r : r + rows, :])
        nisa.dma_copy(dst=out[:, r : r + rows], src=block.T)

    return out
