import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    """Ported from Triton: one iteration per program, masks where Triton had masks."""
    T, H, D = x.shape
    half = D // 2
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    BLOCK_H = 16
    BLOCK_D = 128
    for token in nl.affine_range(T):
        for block in nl.affine_range((H + BLOCK_H - 1) // BLOCK_H):
            head = block * BLOCK_H + nl.arange(BLOCK_H)[:, None]
            column = nl.arange(BLOCK_D)[None, :]
            inside = (head < H) & (column < half)
            c = nl.load(cos[token, column], mask=column < half, dtype=nl.float32)
            s = nl.load(sin[token, column], mask=column < half, dtype=nl.float32)
            first = nl.load(x[token, head, column], mask=inside, dtype=nl.float32)
            second = nl.load(x[token, head, column + half], mask=inside, dtype=nl.float32)
            nl.store(out[token, head, column], first * c - second * s, mask=inside)
            nl.store(out[token, head, column + half], second * c + first * s, mask=inside)

    return out
