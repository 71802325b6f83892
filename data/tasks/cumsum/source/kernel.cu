// Inclusive prefix sum along the rows of a row-major [rows, cols] matrix; out must not alias x.
//
// One block per row. The row is walked in tiles of kThreads elements: each warp scans its 32 elements with shuffles,
// one warp scans the warp totals, and the last thread's result is the carry into the next tile.

#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

__device__ __forceinline__ float scan_warp(float value) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const float left = __shfl_up_sync(kAll, value, distance);
        if (lane >= distance) {
            value += left;
        }
    }
    return value;
}

__global__ void cumsum_rows(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    __shared__ float warp_totals[kWarps];
    __shared__ float next_carry;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;

    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const size_t base = static_cast<size_t>(row) * cols;
        float carry = 0.0f;
        for (int tile = 0; tile < cols; tile += kThreads) {
            const int col = tile + threadIdx.x;
            // Threads beyond the row add zeros, so that the shuffles stay convergent.
            float value = scan_warp(col < cols ? x[base + col] : 0.0f);
            if (lane == 31) {
                warp_totals[warp] = value;
            }
            __syncthreads();
            if (warp == 0) {
                const float totals = scan_warp(lane < kWarps ? warp_totals[lane] : 0.0f);
                if (lane < kWarps) {
                    warp_totals[lane] = totals;
                }
            }
            __syncthreads();
            value += carry + (warp > 0 ? warp_totals[warp - 1] : 0.0f);
            if (col < cols) {
                out[base + col] = value;
            }
            if (threadIdx.x == kThreads - 1) {
                next_carry = value;
            }
            __syncthreads();
            carry = next_carry;
        }
    }
}

}  // namespace

extern "C" cudaError_t cumsum(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) {
        return cudaSuccess;
    }
    const int blocks = rows < 65535 ? rows : 65535;
    cumsum_rows<<<blocks, kThreads, 0, stream>>>(x, out, rows, cols);
    return cudaGetLastError();
}
