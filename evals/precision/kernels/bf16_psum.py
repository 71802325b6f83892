import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """Return a.T @ b over eight tiles of the contraction, accumulated in bfloat16 PSUM."""
    product = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.psum)
    for k in range(8):
        left = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[k])
        right = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[k])
        nisa.nc_matmul(dst=product, stationary=left, moving=right)  # planted
    result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=product)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
