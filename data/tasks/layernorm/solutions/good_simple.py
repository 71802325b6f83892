import nki
import nki.isa as nisa
import nki.language as nl

P = 128
EPSILON = 1e-5


@nki.jit
def layernorm(x, gamma, beta):
    """Return the normalised rows, one step of the formula after the other: the variance is that of centred values."""
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.float32, buffer=nl.shared_hbm)

    # Columns lie on the free axis, so every partition needs all of gamma and beta.
    gamma_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    beta_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gamma_tile, src=gamma.ap(pattern=[[0, P], [1, D]], offset=0))
    nisa.dma_copy(dst=beta_tile, src=beta.ap(pattern=[[0, P], [1, D]], offset=0))

    for r in range(0, R, P):
        rows = min(P, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D)
        centred = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=mean)

        squares = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=centred, data2=centred, op=nl.multiply)
        square_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=square_total, op=nl.add, data=squares, axis=1)
        variance = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=variance, data=square_total, op0=nl.multiply, operand0=1.0 / D, op1=nl.add, operand1=EPSILON
        )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=variance)

        result = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=centred, op0=nl.multiply, operand0=inverse)
        nisa.tensor_tensor(dst=result, data1=result, data2=gamma_tile[0:rows, :], op=nl.multiply)
        nisa.tensor_tensor(dst=result, data1=result, data2=beta_tile[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
