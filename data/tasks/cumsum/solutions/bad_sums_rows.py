import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 512  # one PSUM bank of float32


@nki.jit
def cumsum(x):
    """A triangle of ones as the stationary operand turns the scan into one matrix product per tile."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    ones = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    triangle = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=triangle,
        pattern=[[1, P]],
        offset=0,
        channel_multiplier=-1,
        on_true_tile=ones,
        on_false_value=0.0,
        cmp_op=nl.greater_equal,
    )

    for r in range(0, R, P):
        rows = min(P, R - r)
        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])

            product = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=product, stationary=triangle[0:rows, 0:rows], moving=values)
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=sums, src=product)
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
