import nki
import nki.isa as nisa
import nki.language as nl

P = 128
TILE = 4096  # columns: 16 KiB per partition and transfer, which saturates the DMA engines


@nki.jit
def cumsum(x):
    """Return the running sums of each row with one vector instruction per tile.

    What changed against the CUDA original, and why:
    - a row is a partition, not a block: 128 rows advance together, and no lane needs another one's value;
    - __shfl_up_sync, warp_totals and both __syncthreads() become tensor_tensor_scan, a recurrence along the free axis
      whose state is float32, as the original's was; it adds from left to right where the original adds in a tree;
    - next_carry in shared memory becomes a view of the last column that was written: nothing is copied for it;
    - threads beyond the row added zeros; here the last tile is as wide as what is left of the row.
    The scan takes two cycles per element, 2.1 ns for a column of 128 rows; HBM takes 2.8 ns for the same column (1 KiB at
    362 GB/s) and sets the time. Both overlap, because tiles are allocated inside the loop.
    """
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    # The factor of the recurrence: one column that every step reads again (stride 0).
    one = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=one, value=1.0)

    for r in range(0, R, P):
        rows = min(P, R - r)
        carry = 0.0
        for c in range(0, C, TILE):
            columns = min(TILE, C - c)
            values = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=values, src=x[r : r + rows, c : c + columns])

            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=sums,
                data0=one.ap(pattern=[[1, rows], [0, columns]], offset=0),
                data1=values,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            carry = sums[:, columns - 1 : columns]
            nisa.dma_copy(dst=out[r : r + rows, c : c + columns], src=sums)

    return out
