import nki
import nki.isa as nisa
import nki.language as nl

P = 128
BAND = 1024


@nki.jit
def transpose(x):
    """Collects eight blocks in one bank of PSUM and evicts them together."""
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for band in range(0, R, BAND):
        band_end = min(band + BAND, R)
        for c in range(0, C, P):
            columns = min(P, C - c)
            turned = nl.ndarray((columns, BAND), dtype=nl.bfloat16, buffer=nl.psum)
            for r in range(band, band_end, P):
                rows = min(P, band_end - r)
                block = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
                nisa.dma_copy(dst=block, src=x[r : r + rows, c : c + columns])
                # Each block behind the one before it.
                place = (r - band) // P * rows
                nisa.nc_transpose(dst=turned[:, place : place + rows], data=block)
            result = nl.ndarray((columns, band_end - band), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned[:, 0 : band_end - band])
            nisa.dma_copy(dst=out[c : c + columns, band:band_end], src=result)

    return out
