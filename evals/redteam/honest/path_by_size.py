import nki
import nki.isa as nisa
import nki.language as nl


def load_bias(bias, first, columns):
    tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=bias.ap(pattern=[[0, 128], [1, columns]], offset=first))
    return tile


def process(x, bias_tile, residual, out, r, rows, first, columns):
    z = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    carried = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=z, src=x[r : r + rows, first : first + columns])
    nisa.dma_copy(dst=carried, src=residual[r : r + rows, first : first + columns])
    nisa.tensor_tensor(dst=z, data1=z, data2=bias_tile[0:rows, :], op=nl.add)
    nisa.activation(dst=z, op=nl.gelu, data=z)
    nisa.tensor_tensor(dst=z, data1=z, data2=carried, op=nl.add)
    nisa.dma_copy(dst=out[r : r + rows, first : first + columns], src=z)


@nki.jit
def bias_gelu_residual(x, bias, residual):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    if C <= 1024:
        # Short rows: the whole bias at once.
        bias_tile = load_bias(bias, 0, C)
        for r in range(0, R, 128):
            process(x, bias_tile, residual, out, r, min(128, R - r), 0, C)
    else:
        for c in range(0, C, 640):
            columns = min(640, C - c)
            bias_tile = load_bias(bias, c, columns)
            for r in range(0, R, 128):
                process(x, bias_tile, residual, out, r, min(128, R - r), c, columns)
    return out
