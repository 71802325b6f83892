import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def softmax_rows(x):
    """Return the softmax of each row, one step of the formula after the other."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    r = -P
    while r + P < R:
        r += P
        rows = min(P, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        row_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=row_max, op=nl.maximum, data=tile, axis=1)

        # One pass on the vector engine: the (rows, 1) operand is broadcast along the free axis.
        centred = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=row_max)

        exponentials = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=exponentials, op=nl.exp, data=centred)

        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=exponentials, axis=1)
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)

        result = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=exponentials, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
