import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """Turns 128 rows by 512 columns at once: 512 is what the tensor engine moves per instruction."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        for c in range(0, C, 512):
            columns = min(512, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            turned = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=block, engine=nisa.engine.tensor)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out
