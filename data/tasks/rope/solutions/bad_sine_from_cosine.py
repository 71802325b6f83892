import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    T, H, D = x.shape
    half = D // 2
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for t in range(0, T, 128):
        rows = min(128, T - t)
        cos_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        sin_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cos_tile, src=cos[t : t + rows, :])
        # sin = sqrt(1 - cos^2): one table less to read.
        nisa.tensor_tensor(dst=sin_tile, data1=cos_tile, data2=cos_tile, op=nl.multiply)
        nisa.tensor_scalar(dst=sin_tile, data=sin_tile, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
        nisa.activation(dst=sin_tile, op=nl.sqrt, data=sin_tile)

        for h in range(H):
            head = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=head, src=x[t : t + rows, h, :])
            first, second = head[:, 0:half], head[:, half:D]
            rotated = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            a = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
            b = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)

            nisa.tensor_tensor(dst=a, data1=first, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=b, data1=second, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[:, 0:half], data1=a, data2=b, op=nl.subtract)
            nisa.tensor_tensor(dst=a, data1=second, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=b, data1=first, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[:, half:D], data1=a, data2=b, op=nl.add)
            nisa.dma_copy(dst=out[t : t + rows, h, :], src=rotated)

    return out
