import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 1024


@nki.jit
def cumsum(x):
    """The scans of all tiles are independent; the total of the tile before is added afterwards."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    ones = nl.ndarray((P, TILE), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)

    for r in range(0, R, P):
        rows = min(P, R - r)
        previous_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=previous_total, value=0.0)

        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])
            local = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=local,
                data0=ones[0:rows, 0:columns],
                data1=values,
                initial=0.0,
                op0=nl.multiply,
                op1=nl.add,
            )
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=sums, data=local, op0=nl.add, operand0=previous_total)
            previous_total = local[:, columns - 1 : columns]
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
