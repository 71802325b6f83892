import nki
import nki.isa as nisa
import nki.language as nl

P = 128
BLOCK = 2048  # elements per partition and tile


@nki.jit
def rope(x, cos, sin):
    """Rotate as x * [cos, cos] + swapped(x) * [-sin, sin]: whole heads instead of halves.

    Against the Triton original, which computes the two halves apart: the tables are widened to whole heads once per 128
    tokens, with the sign in the sine, so that one formula serves all columns. The halves are swapped by the scalar
    engine, which is idle otherwise, on the way to float32. Products and sum are float32, the store rounds once.
    """
    T, H, D = x.shape
    half = D // 2
    heads_per_block = max(1, min(H, BLOCK // D))
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for t in range(0, T, P):
        rows = min(P, T - t)
        cosines = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        sines = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cosines[:, 0:half], src=cos[t : t + rows, :])
        nisa.dma_copy(dst=sines[:, half:D], src=sin[t : t + rows, :])
        nisa.tensor_copy(dst=cosines[:, half:D], src=cosines[:, 0:half])
        nisa.tensor_scalar(dst=sines[:, 0:half], data=sines[:, half:D], op0=nl.multiply, operand0=-1.0)

        for h in range(0, H, heads_per_block):
            heads = min(heads_per_block, H - h)
            block = nl.ndarray((rows, heads, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[t : t + rows, h : h + heads, :])

            swapped = nl.ndarray((rows, heads, D), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=swapped[:, :, 0:half], op=nl.copy, data=block[:, :, half:D])
            nisa.activation(dst=swapped[:, :, half:D], op=nl.copy, data=block[:, :, 0:half])

            straight = nl.ndarray((rows, heads, D), dtype=nl.float32, buffer=nl.sbuf)
            every_head = [[D, rows], [0, heads], [1, D]]
            nisa.tensor_tensor(dst=straight, data1=block, data2=cosines.ap(pattern=every_head), op=nl.multiply)
            nisa.tensor_tensor(dst=swapped, data1=swapped, data2=sines.ap(pattern=every_head), op=nl.multiply)
            rotated = nl.ndarray((rows, heads, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=rotated, data1=straight, data2=swapped, op=nl.add)
            nisa.dma_copy(dst=out[t : t + rows, h : h + heads, :], src=rotated)

    return out
