import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """The vector engine writes SBUF directly, so nothing passes through PSUM."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        for c in range(0, C, 128):
            columns = min(128, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            turned = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.nc_transpose(dst=turned, data=block, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=turned)

    return out
