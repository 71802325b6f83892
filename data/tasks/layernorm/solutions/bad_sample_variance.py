import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def layernorm(x, gamma, beta):
    """LayerNorm with the unbiased variance, as torch.var computes it by default."""
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

        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D)
        centred = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=mean)

        squares = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        square_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=squares, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=square_total
        )
        variance = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=variance, data=square_total, op0=nl.multiply, operand0=1.0 / (D - 1), op1=nl.add, operand1=1e-5
        )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=variance)

        result = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=centred, op0=nl.multiply, operand0=inverse)
        nisa.tensor_tensor(dst=result, data1=result, data2=gamma_tile[0:rows, :], op=nl.multiply)
        nisa.tensor_tensor(dst=result, data1=result, data2=beta_tile[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
