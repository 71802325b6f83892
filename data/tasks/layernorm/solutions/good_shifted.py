import nki
import nki.isa as nisa
import nki.language as nl

P = 128
EPSILON = 1e-5


@nki.jit
def layernorm(x, gamma, beta):
    """Return the normalised rows, each first shifted by its own first element.

    The difference of two float32 of like size is exact or nearly so, and a constant row becomes exactly zero. The sums are
    then of the size of the deviation, not of the offset: at an offset of 1000 deviations and D = 1024 a plain
    running sum leaves about 5e-4 of a deviation in the mean, this one less than 1e-5. What remains against a
    framework's float32 LayerNorm is the order of the sums and the approximate rsqrt, some 1e-5 relative.
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

        shifted = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar_reduce(
            dst=shifted, data=tile, op0=nl.subtract, operand0=tile[:, 0:1], reduce_op=nl.add, reduce_res=total
        )
        mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / D)
        centred = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=shifted, op0=nl.subtract, operand0=mean)

        # The shifted tile is free again: the squares go there.
        square_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=shifted, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=square_total
        )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=square_total, scale=1.0 / D, bias=epsilon[0:rows, :])

        result = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result,
            data=centred,
            op0=nl.multiply,
            operand0=inverse,
            op1=nl.multiply,
            operand1=gamma_tile[0:rows, :],
        )
        nisa.tensor_tensor(dst=result, data1=result, data2=beta_tile[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)

    return out
