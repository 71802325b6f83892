import nki
import nki.isa as nisa
import nki.language as nl

P = 128
INVERSE_SQRT_2 = 0.7071067811865476


@nki.jit
def bias_gelu_residual(x, bias, residual):
    """Return gelu(x + bias) + residual with the original's formula spelled out.

    Against the CUDA original: a tile of 128 rows takes the place of blocks and threads; there is one path for all
    column counts, because a transfer of whole rows needs no alignment; the bias is read once per kernel.
    """
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    scratch = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.private_hbm)
    # The bias belongs to columns, which lie on the free axis: every partition needs all of it.
    bias_tile = nl.ndarray((P, C), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias_tile, src=bias.ap(pattern=[[0, P], [1, C]], offset=0))

    for r in range(0, R, P):
        rows = min(P, R - r)
        x_tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        residual_tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[r : r + rows, :])
        nisa.dma_copy(dst=residual_tile, src=residual[r : r + rows, :])

        z = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=z, data1=x_tile, data2=bias_tile[0:rows, :], op=nl.add)

        # 1 + erf(z / sqrt(2)): the scale is part of the activation.
        gate = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=gate, op=nl.erf, data=z, scale=INVERSE_SQRT_2)
        nisa.tensor_scalar(dst=gate, data=gate, op0=nl.add, operand0=1.0, op1=nl.multiply, operand1=0.5)

        result = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=gate, data2=z, op=nl.multiply)
        nisa.tensor_tensor(dst=result, data1=result, data2=residual_tile, op=nl.add)
        nisa.dma_copy(dst=scratch[r : r + rows, :], src=result)
        nisa.dma_copy(dst=out[r : r + rows, :], src=scratch[r : r + rows, :])

    return out
