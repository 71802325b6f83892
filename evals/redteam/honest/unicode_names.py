import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def softmax_rows(x):
    """Return the softmax of each row, one step of the formula after the other."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    for r in range(0, R, P):
        rows = min(P, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        μ = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=μ, op=nl.maximum, data=tile, axis=1)

        # One pass on the vector engine: the (rows, 1) operand is broadcast along the free axis.
        δ = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=δ, data=tile, op0=nl.subtract, operand0=μ)

        ε = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=ε, op=nl.exp, data=δ)

        Σ = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=Σ, op=nl.add, data=ε, axis=1)
        ι = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=ι, data=Σ)

        result = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=ε, op0=nl.multiply, operand0=ι)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
