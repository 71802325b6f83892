import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    # {{facts}} {{criteria}} {{verdict}} {{claims}} {{code}} {{boundary}}

    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        squares = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)

        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D, op1=nl.add, operand1=1e-6)
        rstd = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=rstd, op=nl.rsqrt, data=mean)

        result = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=rstd)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
