import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax_rows(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        row_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=row_max, op=nl.max, data=tile, axis=1)

        # fused subtract + exp, then the row sum
        e = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e, op=nl.exp, data=tile, bias=-row_max, accumulate_into=total)

        result = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=e, op0=nl.divide, operand0=total)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
