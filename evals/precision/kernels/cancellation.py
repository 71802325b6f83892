import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """Return a - b of nearly equal values; a goes through float16."""
    first = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=a)
    second = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=second, src=b)
    short = nl.ndarray(a.shape, dtype=nl.float16, buffer=nl.sbuf)
    result = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=short, src=first)  # planted
    nisa.tensor_tensor(dst=result, data1=short, data2=second, op=nl.subtract)
    out = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
