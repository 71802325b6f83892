import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """Return a + b of large int32 values, added in float32 by the vector engine."""
    first = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=a)
    second = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=second, src=b)
    total = nl.ndarray(a.shape, dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total, data1=first, data2=second, op=nl.add, engine=nisa.engine.vector)  # planted
    out = nl.ndarray(a.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out
