import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    ones = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    identity = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.affine_select(
        dst=identity, pattern=[[-1, 128]], channel_multiplier=1, on_true_tile=ones, on_false_value=0.0, cmp_op=nl.equal
    )

    for r in range(0, R, 128):
        rows = min(128, R - r)
        for c in range(0, C, 128):
            columns = min(128, C - c)
            block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
            turned = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.psum)
            # PSUM is float32; the copy rounds back.
            nisa.nc_matmul(dst=turned, stationary=block, moving=identity[0:rows, 0:rows], is_transpose=True)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out
