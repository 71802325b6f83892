// Fused epilogue of a transformer MLP: out = gelu(x + bias) + residual, exact GELU.
//
// x, residual and out are row-major [rows, cols]; bias has one value per column. out must not alias an input.
// One block works on one row at a time and strides over the rows; threads stride over the columns.

#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float gelu(float z) {
    return 0.5f * z * (1.0f + erff(z * 0.70710678118654752f));
}

__device__ __forceinline__ float fused(float x, float bias, float residual) {
    return gelu(x + bias) + residual;
}

// Four columns per thread: 16-byte loads need cols % 4 == 0 and 16-byte aligned rows.
__global__ void bias_gelu_residual_vec4(const float4* __restrict__ x, const float4* __restrict__ bias,
                                        const float4* __restrict__ residual, float4* __restrict__ out,
                                        int rows, int cols4) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const size_t base = static_cast<size_t>(row) * cols4;
        for (int col = threadIdx.x; col < cols4; col += blockDim.x) {
            const float4 a = __ldg(&x[base + col]);
            const float4 b = __ldg(&bias[col]);
            const float4 r = __ldg(&residual[base + col]);
            out[base + col] = make_float4(fused(a.x, b.x, r.x), fused(a.y, b.y, r.y),
                                          fused(a.z, b.z, r.z), fused(a.w, b.w, r.w));
        }
    }
}

__global__ void bias_gelu_residual_scalar(const float* __restrict__ x, const float* __restrict__ bias,
                                          const float* __restrict__ residual, float* __restrict__ out,
                                          int rows, int cols) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const size_t base = static_cast<size_t>(row) * cols;
        for (int col = threadIdx.x; col < cols; col += blockDim.x) {
            out[base + col] = fused(__ldg(&x[base + col]), __ldg(&bias[col]), __ldg(&residual[base + col]));
        }
    }
}

}  // namespace

extern "C" cudaError_t bias_gelu_residual(const float* x, const float* bias, const float* residual, float* out,
                                          int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) {
        return cudaSuccess;
    }
    const int blocks = rows < 4096 ? rows : 4096;
    if (cols % 4 == 0) {
        bias_gelu_residual_vec4<<<blocks, kThreads, 0, stream>>>(
            reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(bias),
            reinterpret_cast<const float4*>(residual), reinterpret_cast<float4*>(out), rows, cols / 4);
    } else {
        bias_gelu_residual_scalar<<<blocks, kThreads, 0, stream>>>(x, bias, residual, out, rows, cols);
    }
    return cudaGetLastError();
}
