import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the rows of x, centred; the mean is bfloat16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    mean = nl.ndarray((rows, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
    wide = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1 / columns)  # planted
    nisa.tensor_copy(dst=wide, src=mean)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.subtract, operand0=wide)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
