import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, bias):
    """Return x plus a large bias that is held in bfloat16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    given = nl.ndarray(bias.shape, dtype=bias.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=given, src=bias)
    rows, columns = x.shape
    short = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=short, src=given)  # planted
    nisa.tensor_tensor(dst=result, data1=tile, data2=short, op=nl.add)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
