import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return x minus the logarithm of the row's sum of exponentials, which is float16."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rows, columns = x.shape
    powers = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    short = nl.ndarray((rows, 1), dtype=nl.float16, buffer=nl.sbuf)
    logarithm = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=powers, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total)
    nisa.activation(dst=short, op=nl.log, data=total)  # planted
    nisa.tensor_copy(dst=logarithm, src=short)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.subtract, operand0=logarithm)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
