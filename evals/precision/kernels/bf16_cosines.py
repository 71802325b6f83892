import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, cosines, sines):
    """Return x * cosines + y * sines of rotary embeddings; the cosines are cast to bfloat16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    exact = nl.ndarray(cosines.shape, dtype=cosines.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=exact, src=cosines)
    other = nl.ndarray(sines.shape, dtype=sines.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=other, src=sines)
    rows, columns = x.shape
    half = columns // 2
    table = nl.ndarray((rows, half), dtype=nl.bfloat16, buffer=nl.sbuf)
    turned = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
    moved = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=table, src=exact)  # planted
    nisa.tensor_tensor(dst=turned, data1=tile[:, 0:half], data2=table, op=nl.multiply)
    nisa.tensor_tensor(dst=moved, data1=tile[:, half:columns], data2=other, op=nl.multiply)
    nisa.tensor_tensor(dst=turned, data1=turned, data2=moved, op=nl.subtract)
    out = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=turned)
    return out
