import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """Return a.T @ b over four tiles of the contraction; each product leaves PSUM as bfloat16."""
    total = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0)
    for k in range(4):
        left = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[k])
        right = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[k])
        product = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=left, moving=right)
        partial = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=partial, src=product)  # planted
        nisa.tensor_tensor(dst=total, data1=total, data2=partial, op=nl.add)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out
