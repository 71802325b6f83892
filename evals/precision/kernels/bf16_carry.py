import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the cumulative sums of the rows of x, 64 columns at a time; the carry is bfloat16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    ones = nl.ndarray((rows, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1)
    carry = nl.ndarray((rows, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(dst=carry, value=0)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    for start in range(0, columns, 64):
        stop = start + 64
        nisa.tensor_tensor_scan(
            dst=result[:, start:stop],
            data0=ones,
            data1=tile[:, start:stop],
            initial=carry,
            op0=nl.multiply,
            op1=nl.add,
        )
        nisa.tensor_copy(dst=carry, src=result[:, stop - 1 : stop])  # planted
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
