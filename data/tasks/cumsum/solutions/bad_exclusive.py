import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 2048


@nki.jit
def cumsum(x):
    """Scan of each row by tiles; each position gets the total of the ones before it."""
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

            scanned = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=scanned,
                data0=ones[0:rows, 0:columns],
                data1=values,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            # What stands before each element: its own value does not count yet.
            before = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=before, data1=scanned, data2=values, op=nl.subtract)
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=before)
            carry = scanned[:, columns - 1 : columns]

    return out
