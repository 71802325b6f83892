import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return x times the position of its column; positions above 256 are no bfloat16 values."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    positions = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=positions, pattern=[[1, columns]], offset=0)  # planted
    nisa.tensor_tensor(dst=result, data1=tile, data2=positions, op=nl.multiply)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
