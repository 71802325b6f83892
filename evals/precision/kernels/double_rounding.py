import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    """Return (x + y) in float16, rounded to bfloat16 on the way."""
    first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=x)
    second = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=second, src=y)
    total = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    result = nl.ndarray(x.shape, dtype=nl.float16, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total, data1=first, data2=second, op=nl.add)  # planted
    nisa.tensor_copy(dst=result, src=total)
    out = nl.ndarray(x.shape, dtype=nl.float16, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
