import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def layernorm(x, gamma, beta):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.float32, buffer=nl.shared_hbm)
    gamma_tile = nl.ndarray((128, D), dtype=nl.float32, buffer=nl.sbuf)
    beta_tile = nl.ndarray((128, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gamma_tile, src=gamma.ap(pattern=[[0, 128], [1, D]], offset=0))
    nisa.dma_copy(dst=beta_tile, src=beta.ap(pattern=[[0, 128], [1, D]], offset=0))

    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        # Sum and sum of squares in one sweep: var = E[x^2] - E[x]^2, kept from going negative.
        work = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        square_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        nisa.activation_reduce(dst=work, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=square_total)

        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D)
        mean_squared = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=mean_squared, data1=mean, data2=mean, op=nl.multiply)
        variance = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=variance, data=square_total, op0=nl.multiply, operand0=1.0 / D)
        nisa.tensor_tensor(dst=variance, data1=variance, data2=mean_squared, op=nl.subtract)
        nisa.tensor_scalar(
            dst=variance, data=variance, op0=nl.maximum, operand0=0.0, op1=nl.add, operand1=1e-5
        )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=variance)

        result = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=result, data=tile, op0=nl.subtract, operand0=mean, op1=nl.multiply, operand1=inverse
        )
        nisa.tensor_tensor(dst=result, data1=result, data2=gamma_tile[0:rows, :], op=nl.multiply)
        nisa.tensor_tensor(dst=result, data1=result, data2=beta_tile[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
