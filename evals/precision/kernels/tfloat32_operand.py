import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """Return a.T @ b of float32 values, of which the tensor engine keeps ten bits of mantissa."""
    left = nl.ndarray(a.shape, dtype=nl.tfloat32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    right = nl.ndarray(b.shape, dtype=nl.tfloat32, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b)
    product = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=left, moving=right)  # planted
    result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=product)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
