import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return exp(x) - 1; the exponentials are stored as 8-bit floats, which end at 240."""
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    powers = nl.ndarray(x.shape, dtype=nl.float8_e4m3, buffer=nl.sbuf)
    result = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=powers, op=nl.exp, data=tile)  # planted
    nisa.tensor_scalar(dst=result, data=powers, op0=nl.subtract, operand0=1.0)
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
