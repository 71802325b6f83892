import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        nisa.tensor_reduce(dst=mean, op=nl.add, data=tile, axis=1)
        nisa.tensor_scalar(
            dst=tile, data=tile, op0=nl.multiply, operand0=0.0, op1=nl.add, operand1=mean
        )
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1.0 / D)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out
