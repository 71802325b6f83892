import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def rope(x, cos, sin):
    """Rotate one head after the other, with the original's formula spelled out.

    Against the Triton original: 128 tokens take the place of one program each; masks are gone, because the last tile is
    as small as it has to be; the tables of 128 tokens are loaded once and serve all heads, not 16.
    """
    T, H, D = x.shape
    half = D // 2
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for t in range(0, T, P):
        rows = min(P, T - t)
        cos_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        sin_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cos_tile, src=cos[t : t + rows, :])
        nisa.dma_copy(dst=sin_tile, src=sin[t : t + rows, :])

        for h in range(H):
            head = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=head, src=x[t : t + rows, h, :])
            first, second = head[:, 0:half], head[:, half:D]

            # Float32 products; the sums round to bfloat16 as they are written, once.
            a = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
            b = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
            rotated = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=a, data1=first, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=b, data1=second, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[:, 0:half], data1=a, data2=b, op=nl.subtract)

            c = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
            d = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=c, data1=second, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=d, data1=first, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[:, half:D], data1=c, data2=d, op=nl.add)
            nisa.dma_copy(dst=out[t : t + rows, h, :], src=rotated)

    return out
