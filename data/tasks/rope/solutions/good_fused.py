import nki
import nki.isa as nisa
import nki.language as nl

P = 128
BLOCK = 2048  # elements of x per partition and transfer: 4 KiB in bfloat16


@nki.jit
def rope(x, cos, sin):
    """Rotate many heads per instruction; the tables are broadcast over the heads by a stride of 0.

    What changed against the Triton original, and why:
    - a program was one token and up to 16 heads; a tile is 128 tokens, one per partition, and as many heads as make
      transfers of 4 KiB per partition, so that fixed costs disappear;
    - `tl.load` with masks became tiles of the size that is left;
    - the tables stay in SBUF for all heads of their tokens, where the original relied on one program per block of heads
      and on the cache;
    - the products with the sine run on gpsimd while the vector engine forms those with the cosine;
    - unchanged: float32 from load to store, and one rounding to bfloat16.
    """
    T, H, D = x.shape
    half = D // 2
    heads_per_block = max(1, min(H, BLOCK // D))
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for t in range(0, T, P):
        rows = min(P, T - t)
        cos_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        sin_tile = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cos_tile, src=cos[t : t + rows, :])
        nisa.dma_copy(dst=sin_tile, src=sin[t : t + rows, :])

        for h in range(0, H, heads_per_block):
            heads = min(heads_per_block, H - h)
            block = nl.ndarray((rows, heads, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[t : t + rows, h : h + heads, :])
            first, second = block[:, :, 0:half], block[:, :, half:D]
            cosines = cos_tile.ap(pattern=[[half, rows], [0, heads], [1, half]])
            sines = sin_tile.ap(pattern=[[half, rows], [0, heads], [1, half]])

            shape = (rows, heads, half)
            first_cos = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            second_cos = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            first_sin = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            second_sin = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            vector, gpsimd = nisa.engine.vector, nisa.engine.gpsimd
            nisa.tensor_tensor(dst=first_cos, data1=first, data2=cosines, op=nl.multiply, engine=vector)
            nisa.tensor_tensor(dst=second_sin, data1=second, data2=sines, op=nl.multiply, engine=gpsimd)
            nisa.tensor_tensor(dst=second_cos, data1=second, data2=cosines, op=nl.multiply, engine=vector)
            nisa.tensor_tensor(dst=first_sin, data1=first, data2=sines, op=nl.multiply, engine=gpsimd)

            rotated = nl.ndarray((rows, heads, D), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=rotated[:, :, 0:half], data1=first_cos, data2=second_sin, op=nl.subtract)
            nisa.tensor_tensor(dst=rotated[:, :, half:D], data1=second_cos, data2=first_sin, op=nl.add)
            nisa.dma_copy(dst=out[t : t + rows, h : h + heads, :], src=rotated)

    return out
