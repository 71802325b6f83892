import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 2048  # columns: 8 KiB per partition and transfer


@nki.jit
def cumsum(x):
    """Return the running sums of each row through the vector engine's accumulator.

    Against the CUDA original: tensor_scalar_cumulative replaces the scan within and across warps. The accumulator register
    that it leaves behind in every partition is the original's `carry`: the first tile of a row starts it at zero
    (reset_reduce), the next ones go on from it (reduce), so no instruction that uses the register may come between.
    Sums stay in float32, in the order of the columns.
    """
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    for r in range(0, R, P):
        rows = min(P, R - r)
        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])

            command = nisa.reduce_cmd.reset_reduce if c == 0 else nisa.reduce_cmd.reduce
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar_cumulative(
                dst=sums, src=values, op0=nl.multiply, op1=nl.add, imm0=1.0, reduce_cmd=command
            )
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
