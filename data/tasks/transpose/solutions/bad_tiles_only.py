import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """Block (i, j) goes to place (j, i): DMA fits the rows of the block to those of the output."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        for c in range(0, C, 128):
            columns = min(128, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=block)

    return out
