import nki
import nki.isa as nisa
import nki.language as nl

P = 128
EPSILON = 1e-5


@nki.jit
def layernorm(x, gamma, beta):
    """Return the normalised rows, centred twice: about a first mean, then about what that one missed.

    At an offset of 1000 deviations and D = 1024 a running sum leaves some 4e-4 of a deviation in the mean. What it
    leaves of a row is small, so its own mean is known to a few units in the last place, and taking that away restores
    the digits; a constant row becomes zero to within rounding. The second mean costs no pass: the subtraction sums as
    it writes, and the two later passes take the correction as a scalar operand. What remains against a framework's
    float32 LayerNorm is the approximate rsqrt of the scalar engine, some 1e-5 relative.
    """
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.float32, buffer=nl.shared_hbm)

    gamma_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    beta_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gamma_tile, src=gamma.ap(pattern=[[0, P], [1, D]], offset=0))
    nisa.dma_copy(dst=beta_tile, src=beta.ap(pattern=[[0, P], [1, D]], offset=0))
    epsilon = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon, value=EPSILON)

    for r in range(0, R, P):
        rows = min(P, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        # First mean. The copy that the reduction writes is not needed; its tile takes the squares and the result.
        work = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=work, op=nl.copy, data=tile, reduce_op=nl.add, reduce_res=total)
        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D)

        centred = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        missed = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar_reduce(
            dst=centred, data=tile, op0=nl.subtract, operand0=mean, reduce_op=nl.add, reduce_res=missed
        )
        correction = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=correction, data=missed, op0=nl.multiply, operand0=-1.0 / D)

        square_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=work, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=square_total, bias=correction
        )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=square_total, scale=1.0 / D, bias=epsilon[0:rows, :])

        nisa.scalar_tensor_tensor(
            dst=work,
            data=centred,
            op0=nl.add,
            operand0=correction,
            op1=nl.multiply,
            operand1=gamma_tile[0:rows, :],
        )
        nisa.scalar_tensor_tensor(
            dst=work, data=work, op0=nl.multiply, operand0=inverse, op1=nl.add, operand1=beta_tile[0:rows, :]
        )
        nisa.dma_copy(dst=out[r : r + rows, :], src=work)

    return out
