import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 1024  # columns per transfer
BLOCK = 128  # columns per matrix product: the contraction lies on the partitions


@nki.jit
def cumsum(x):
    """Return the running sums of each row as products with a triangle of ones, on the tensor engine.

    Against the CUDA original: the scan of 128 elements within warps and across their totals is one matrix product,
    out[r, c] = sum over k of x[r, k] * (k <= c), exact but for float32 sums in PSUM. The contraction lies on the
    partitions, so each block is transposed first. The carry is added while PSUM is copied out.
    """
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    # triangle[k, c] = 1 where c - k >= 0
    ones = nl.ndarray((BLOCK, BLOCK), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    triangle = nl.ndarray((BLOCK, BLOCK), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=triangle,
        pattern=[[1, BLOCK]],
        offset=0,
        channel_multiplier=-1,
        on_true_tile=ones,
        on_false_value=0.0,
        cmp_op=nl.greater_equal,
    )

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)

        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)

            for b in range(0, columns, BLOCK):
                width = min(BLOCK, columns - b)
                turned_psum = nl.ndarray((width, rows), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_transpose(dst=turned_psum, data=values[:, b : b + width])
                turned = nl.ndarray((width, rows), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_copy(dst=turned, src=turned_psum)

                product = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=product, stationary=turned, moving=triangle[0:width, 0:width])
                nisa.tensor_scalar(dst=sums[:, b : b + width], data=product, op0=nl.add, operand0=carry)
                carry = sums[:, b + width - 1 : b + width]

            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
