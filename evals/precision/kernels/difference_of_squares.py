import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the variance of each row of bfloat16 x as E[x^2] - E[x]^2; all sums are exact."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    squares = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    sum_of_squares = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    mean_squared = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    variance = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=sum_of_squares, op=nl.add, data=squares, axis=1)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1 / columns)
    nisa.tensor_tensor(dst=mean_squared, data1=mean, data2=mean, op=nl.multiply)  # planted
    nisa.scalar_tensor_tensor(
        dst=variance,
        data=sum_of_squares,
        op0=nl.multiply,
        operand0=1 / columns,
        op1=nl.subtract,
        operand1=mean_squared,
    )
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=variance)
    return out
