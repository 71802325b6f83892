import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    """Puts the elements of a head on partitions, so that the table becomes a column per token block.

    Upper and lower half of the partitions are then the two coordinates of each plane.
    """
    T, H, D = x.shape
    half = D // 2
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for t in range(0, T, 512):
        tokens = min(512, T - t)
        cos_tile = nl.ndarray((half, tokens), dtype=nl.float32, buffer=nl.sbuf)
        sin_tile = nl.ndarray((half, tokens), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cos_tile, src=cos.ap(pattern=[[1, half], [half, tokens]], offset=t * half))
        nisa.dma_copy(dst=sin_tile, src=sin.ap(pattern=[[1, half], [half, tokens]], offset=t * half))

        for h in range(H):
            start = t * H * D + h * D
            head = nl.ndarray((D, tokens), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=head, src=x.ap(pattern=[[1, D], [H * D, tokens]], offset=start))
            first, second = head[0:half, :], head[half:D, :]
            rotated = nl.ndarray((D, tokens), dtype=nl.bfloat16, buffer=nl.sbuf)
            a = nl.ndarray((half, tokens), dtype=nl.float32, buffer=nl.sbuf)
            b = nl.ndarray((half, tokens), dtype=nl.float32, buffer=nl.sbuf)

            nisa.tensor_tensor(dst=a, data1=first, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=b, data1=second, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[0:half, :], data1=a, data2=b, op=nl.subtract)
            nisa.tensor_tensor(dst=a, data1=second, data2=cos_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=b, data1=first, data2=sin_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=rotated[half:D, :], data1=a, data2=b, op=nl.add)
            nisa.dma_copy(dst=out.ap(pattern=[[1, D], [H * D, tokens]], offset=start), src=rotated)

    return out
