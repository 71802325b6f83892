import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 2048


@nki.jit
def cumsum(x):
    """The carries of 128 rows are kept as one row of 128 numbers, next to each other."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    ones = nl.ndarray((P, TILE), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = nl.ndarray((1, rows), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)

        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=sums,
                data0=ones[0:rows, 0:columns],
                data1=values,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            nisa.dma_copy(dst=carry, src=sums[:, columns - 1 : columns])
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
