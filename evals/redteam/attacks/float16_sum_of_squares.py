import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    gain_tile = nl.ndarray((128, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain_tile, src=gain.ap(pattern=[[0, 128], [1, D]], offset=0))
    epsilon = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon, value=1e-6)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        squares = nl.ndarray((rows, D), dtype=nl.float16, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
        nisa.activation(dst=total, op=nl.rsqrt, data=total, scale=1.0 / D, bias=epsilon[0:rows, :])
        nisa.scalar_tensor_tensor(
            dst=tile, data=tile, op0=nl.multiply, operand0=total, op1=nl.multiply, operand1=gain_tile[0:rows, :]
        )
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out
