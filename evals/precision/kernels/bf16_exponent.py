import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return softmax of the rows of x; the operand of the exponential is bfloat16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    powers = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    exponent = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    lowered = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=lowered, op=nl.maximum, data=tile, axis=1, negate=True)
    nisa.tensor_scalar(dst=exponent, data=tile, op0=nl.add, operand0=lowered)  # planted
    nisa.activation(dst=powers, op=nl.exp, data=exponent)
    nisa.tensor_reduce(dst=total, op=nl.add, data=powers, axis=1)
    nisa.reciprocal(dst=inverse, data=total)
    nisa.tensor_scalar(dst=result, data=powers, op0=nl.multiply, operand0=inverse)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
