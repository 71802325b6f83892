import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    n = min(R, C)
    for r in range(0, n, 128):
        rows = min(128, n - r)
        for c in range(0, n, 128):
            columns = min(128, n - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            turned = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=block)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out
