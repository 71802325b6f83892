import nki
import nki.isa as nisa
import nki.language as nl

P = 128


def tile_of(shape, dtype):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def float_tile(shape):
    return tile_of(shape, nl.float32)


def load(source, shape, dtype):
    tile = tile_of(shape, dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def sum_of_squares(tile, rows, columns):
    squares = float_tile((rows, columns))
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    total = float_tile((rows, 1))
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    return total


def inverse_root(total, rows, columns, epsilon=1e-6):
    mean = float_tile((rows, 1))
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / columns, op1=nl.add, operand1=epsilon)
    root = float_tile((rows, 1))
    nisa.activation(dst=root, op=nl.sqrt, data=mean)
    inverse = float_tile((rows, 1))
    nisa.reciprocal(dst=inverse, data=root)
    return inverse


@nki.jit
def rmsnorm(x, gain):
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    gains = load(gain.ap(pattern=[[0, P], [1, D]], offset=0), (P, D), nl.float32)
    for r in range(0, R, P):
        rows = min(P, R - r)
        tile = load(x[r : r + rows, :], (rows, D), nl.bfloat16)
        factor = inverse_root(sum_of_squares(tile, rows, D), rows, D)
        scaled = float_tile((rows, D))
        nisa.tensor_tensor(dst=scaled, data1=tile, data2=gains[0:rows, :], op=nl.multiply)
        result = tile_of((rows, D), nl.bfloat16)
        nisa.tensor_scalar(dst=result, data=scaled, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[r : r + rows, :], src=result)
    return out
