import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    gain_tile = nl.ndarray((128, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain_tile, src=gain.ap(pattern=[[0, 128], [1, D]], offset=0))

    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        wide = nisa.tensor_copy(tile, dtype=nl.float32)
        squares = nisa.activation(op=nl.square, data=wide, dtype=nl.float32)
        total = nisa.tensor_reduce(nl.add, data=squares, axis=1, dtype=nl.float32)
        rstd = nisa.activation(op=nl.rsqrt, data=total, scale=1.0 / D, bias=1e-6, dtype=nl.float32)
        normalised = nisa.tensor_scalar(wide, op0=nl.multiply, operand0=rstd)
        result = nisa.tensor_tensor(normalised, gain_tile[0:rows, :], op=nl.multiply, dtype=nl.bfloat16)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
