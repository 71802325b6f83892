import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the row sums of x, cast to bfloat16 first."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    cast = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=cast, src=tile)  # planted
    nisa.tensor_reduce(dst=total, op=nl.add, data=cast, axis=1)
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out
