import nki
import nki.isa as nisa
import nki.language as nl

BLOCK_M = 128
BLOCK_N = 128


@nki.jit
def attention(qT, kT, v):
    """Flash attention as it is written in Triton: tl.dot becomes nl.matmul, the rest stays as it is."""
    D, S = qT.shape
    _, T = kT.shape
    sm_scale = 1.0 / D**0.5
    out = nl.ndarray((S, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for start_m in range(0, S, BLOCK_M):
        offs_m = start_m + nl.arange(0, BLOCK_M)
        q = nl.load(qT[:, offs_m], mask=offs_m[None, :] < S)
        m_i = nl.full((BLOCK_M,), float("-inf"), dtype=nl.float32)
        l_i = nl.zeros((BLOCK_M,), dtype=nl.float32)
        acc = nl.zeros((BLOCK_M, D), dtype=nl.float32)
        for start_n in range(0, T, BLOCK_N):
            offs_n = start_n + nl.arange(0, BLOCK_N)
            k = nl.load(kT[:, offs_n], mask=offs_n[None, :] < T)
            qk = nl.matmul(q, k, transpose_x=True) * sm_scale
            qk = nl.where(offs_n[None, :] < T, qk, float("-inf"))
            m_new = nl.maximum(m_i, nl.max(qk, axis=1))
            p = nl.exp(qk - m_new[:, None])
            alpha = nl.exp(m_i - m_new)
            l_i = l_i * alpha + nl.sum(p, axis=1)
            acc = acc * alpha[:, None] + nl.matmul(p, nl.load(v[offs_n, :]))
            m_i = m_new
        nl.store(out[offs_m, :], acc / l_i[:, None], mask=offs_m[:, None] < S)

    return out
