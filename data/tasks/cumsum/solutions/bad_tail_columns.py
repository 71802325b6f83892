import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def cumsum(x):
    R, C = x.shape
    TILE = min(C, 512)
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    ones = nl.ndarray((P, TILE), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)

        for t in range(C // TILE):
            values = nl.ndarray((rows, TILE), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, t * TILE : (t + 1) * TILE])
            sums = nl.ndarray((rows, TILE), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=sums,
                data0=ones[0:rows, :],
                data1=values,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            carry = sums[:, TILE - 1 : TILE]
            nisa.dma_copy(dst=out[r : r + rows, t * TILE : (t + 1) * TILE], src=sums)

    return out
