# Copyright (c) 2026 Somebody. All rights reserved.
# SPDX-License-Identifier: Apache-2.0
#
# Redistributed with permission; taken over unchanged.

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 128  # partitions, and the stationary free size
TILE_N = 512  # moving free size: one PSUM bank of float32
BLOCK = 1024  # columns loaded at once: 2 KiB per partition in bfloat16


def load_block(tensor, first, last):
    """Load tensor[:, first:last] as tiles of up to 128 rows, each in one transfer."""
    tiles = []
    for k in range(0, tensor.shape[0], TILE):
        k_end = min(k + TILE, tensor.shape[0])
        tile = nl.ndarray((k_end - k, last - first), dtype=tensor.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=tensor[k:k_end, first:last])
        tiles.append(tile)
    return tiles


@nki.jit
def matmul_tiled(lhsT, rhs):
    """Return lhsT.T @ rhs with both operands blocked in SBUF.

    A block of the left operand stays for all of N: it is read from HBM once. A block of the right operand is read
    once per 1024 rows of the output. At K = 4096 the two blocks take 2 * 32 * 2 KiB = 128 KiB per partition.
    """
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    for m_block in range(0, M, BLOCK):
        m_block_end = min(m_block + BLOCK, M)
        lhs_tiles = load_block(lhsT, m_block, m_block_end)

        for n_block in range(0, N, BLOCK):
            n_block_end = min(n_block + BLOCK, N)
            rhs_tiles = load_block(rhs, n_block, n_block_end)

            for m in range(0, m_block_end - m_block, TILE):
                m_end = min(m + TILE, m_block_end - m_block)
                # One row of output tiles leaves in one transfer of 4 KiB per partition.
                result = nl.ndarray((m_end - m, n_block_end - n_block), dtype=nl.float32, buffer=nl.sbuf)

                for n in range(0, n_block_end - n_block, TILE_N):
                    n_end = min(n + TILE_N, n_block_end - n_block)
                    acc = nl.ndarray((m_end - m, n_end - n), dtype=nl.float32, buffer=nl.psum)
                    for lhs_tile, rhs_tile in zip(lhs_tiles, rhs_tiles):
                        nisa.nc_matmul(dst=acc, stationary=lhs_tile[:, m:m_end], moving=rhs_tile[:, n:n_end])
                    nisa.tensor_copy(dst=result[:, n:n_end], src=acc)

                nisa.dma_copy(dst=out[m_block + m : m_block + m_end, n_block:n_block_end], src=result)

    return out
