import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the rows of x over their root mean square; it adds bfloat16 squares."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    squares = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)  # planted
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1 / columns, op1=nl.add, operand1=1e-6)
    nisa.activation(dst=inverse, op=nl.rsqrt, data=mean)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=inverse)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
