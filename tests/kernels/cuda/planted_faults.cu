// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// kernels_cuda_planted_faults racecheck|memcheck: a kernel with the fault that the tool of
// compute-sanitizer is to find; one that finds nothing here watches nothing of ours.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace pleat::cuda {
namespace {

// Reads what another warp writes, without a barrier between.
__global__ void planted_race_kernel(int* to) {
  __shared__ int shared[128];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  to[threadIdx.x] = shared[(threadIdx.x + 65) % 128];
}

// Reads far behind its memory.
__global__ void planted_read_kernel(int* data) {
  data[threadIdx.x] = data[threadIdx.x + (1 << 24)];
}

}  // namespace
}  // namespace pleat::cuda

int main(int argc, char** argv) {
  int* data = nullptr;
  if (argc < 2) return 2;
  if (const cudaError_t error = cudaMalloc(&data, 128 * sizeof(int)); error != cudaSuccess) {
    std::fprintf(stderr, "no GPU: no fault is planted (%s)\n", cudaGetErrorString(error));
    return 1;
  }
  if (std::strcmp(argv[1], "racecheck") == 0) {
    pleat::cuda::planted_race_kernel<<<1, 128>>>(data);
  } else {
    pleat::cuda::planted_read_kernel<<<1, 128>>>(data);
  }
  static_cast<void>(
      cudaDeviceSynchronize());  // fails where the read does, which is the tool's to say
  return 0;
}
