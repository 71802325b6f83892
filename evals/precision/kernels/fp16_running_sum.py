import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the sum of the squares of the sixteen slabs of x, kept in float16."""
    total = nl.ndarray((128, 64), dtype=nl.float16, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0)
    for k in range(16):
        slab = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=slab, src=x[k])
        squares = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=squares, op=nl.square, data=slab)
        nisa.tensor_tensor(dst=total, data1=total, data2=squares, op=nl.add)  # planted
    wide = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=wide, src=total)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=wide)
    return out
