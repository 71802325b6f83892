import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def transpose(x):
    """Transpose one block of up to 128 x 128 after the other on the tensor engine."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, P):
        rows = min(P, R - r)
        for c in range(0, C, P):
            columns = min(P, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])

            # The tensor engine writes PSUM, in the dtype of its input; DMA cannot read PSUM.
            turned = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=block, engine=nisa.engine.tensor)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out
