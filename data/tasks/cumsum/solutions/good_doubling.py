import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 2048


@nki.jit
def cumsum(x):
    """Return the running sums of each row by doubling distances, as the original's warps do.

    Against the CUDA original: rows are partitions, and the shuffle by `distance` is a view that is shifted by that many
    columns. It reads one buffer and writes another, so no element is read after it changed, and no barrier is needed.
    The tree adds in the original's order within a tile; the carry is added to the whole tile at the end.
    """
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)

        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=sums, src=x[r : r + rows, c : c + columns])

            distance = 1
            while distance < columns:
                wider = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_copy(dst=wider[:, 0:distance], src=sums[:, 0:distance])
                nisa.tensor_tensor(
                    dst=wider[:, distance:columns],
                    data1=sums[:, distance:columns],
                    data2=sums[:, 0 : columns - distance],
                    op=nl.add,
                )
                sums = wider
                distance = 2 * distance

            result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=sums, op0=nl.add, operand0=carry)
            carry = result[:, columns - 1 : columns]
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=result)

    return out
