// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The part of CUDA that the kernels use, on the CPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "tests/kernels/emulation/block.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

using std::isnan;
using std::max;
using std::min;

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) int2 {
  int x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

inline float __uint_as_float(unsigned u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
inline unsigned __float_as_uint(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  return u;
}
inline float __fmul_rn(float a, float b) { return a * b; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int atomicAdd(int* to, int value) {
  const int before = *to;
  *to += value;
  return before;
}

inline unsigned atomicMax(unsigned* to, unsigned value) {
  const unsigned before = *to;
  *to = std::max(before, value);
  return before;
}

inline void __syncthreads() { emulation::wait(emulation::Barrier::block); }
inline void __syncwarp() { emulation::wait(emulation::Barrier::warp); }

// All lanes put a value in, then f reads what it wants.
template <class T, class F>
auto emulated_exchange(T value, F f) {
  std::uint64_t* const slots = emulation::warp_slots();
  std::uint64_t raw = 0;
  std::memcpy(&raw, &value, sizeof(T));
  slots[emulation::lane()] = raw;
  __syncwarp();
  const auto result = f([slots](unsigned lane) {
    T v;
    std::memcpy(&v, slots + lane, sizeof(T));
    return v;
  });
  __syncwarp();
  return result;
}
template <class T>
T __shfl_xor_sync(unsigned, T v, int mask) {
  return emulated_exchange(v, [&](auto at) { return at(emulation::lane() ^ static_cast<unsigned>(mask)); });
}
template <class T>
T __shfl_up_sync(unsigned, T v, int d) {
  const auto lane = static_cast<int>(emulation::lane());
  return emulated_exchange(v, [&](auto at) { return at(static_cast<unsigned>(lane >= d ? lane - d : lane)); });
}
template <class T>
T __shfl_sync(unsigned, T v, int lane) {
  return emulated_exchange(v, [&](auto at) { return at(static_cast<unsigned>(lane) % 32); });
}
template <class T>
T __reduce_max_sync(unsigned, T v) {
  return emulated_exchange(v, [&](auto at) {
    T most = at(0);
    for (unsigned l = 1; l < 32; ++l) most = std::max(most, at(l));
    return most;
  });
}
template <class T>
T __reduce_min_sync(unsigned, T v) {
  return emulated_exchange(v, [&](auto at) {
    T least = at(0);
    for (unsigned l = 1; l < 32; ++l) least = std::min(least, at(l));
    return least;
  });
}
inline unsigned __match_any_sync(unsigned, int v) {
  return emulated_exchange(v, [&](auto at) {
    unsigned same = 0;
    for (unsigned l = 0; l < 32; ++l) same |= at(l) == v ? 1U << l : 0U;
    return same;
  });
}

// Host side.
using cudaError_t = int;
// Work of a stream is done at once, or kept while a graph is captured.
using EmulatedGraph = std::vector<std::function<void()>>;
struct EmulatedStream {
  bool keeps = false;
  EmulatedGraph kept;
};
using cudaStream_t = EmulatedStream*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;
template <class Work>
void emulated_work(void* stream, Work work) {
  auto* const s = static_cast<EmulatedStream*>(stream);
  if (s == nullptr || !s->keeps) return work();
  s->kept.emplace_back(work);
}
inline constexpr cudaError_t cudaSuccess = 0, cudaErrorNoDevice = 100, cudaErrorInsufficientDriver = 35,
                             cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorNotReady = 600;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
inline constexpr int cudaDevAttrMultiProcessorCount = 16, cudaStreamNonBlocking = 1,
                     cudaFuncAttributeMaxDynamicSharedMemorySize = 8;
inline const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline constexpr int cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76;
// Three multiprocessors; the capability is what a test sets, 8.0 at first.
inline int emulated_capability = 80;
inline cudaError_t cudaDeviceGetAttribute(int* v, int what, int) {
  *v = what == cudaDevAttrComputeCapabilityMajor   ? emulated_capability / 10
       : what == cudaDevAttrComputeCapabilityMinor ? emulated_capability % 10
                                                   : 3;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, int) { return *s = new EmulatedStream, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline const cudaStream_t cudaStreamLegacy = nullptr;
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamIsCapturing(cudaStream_t of, cudaStreamCaptureStatus* s) {
  const bool keeps = of != nullptr && of->keeps;
  return *s = keeps ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone, cudaSuccess;
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  return s->keeps = true, cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  s->keeps = false;
  return *g = new EmulatedGraph(std::exchange(s->kept, {})), cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, int) {
  return *e = new EmulatedGraph(*g), cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) { return delete e, cudaSuccess; }
inline std::atomic<int> emulated_graph_launches = 0;  // of all streams
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  ++emulated_graph_launches;
  emulated_work(s, [e] { for (const auto& work : *e) work(); });
  return cudaSuccess;
}
using cudaEvent_t = void*;
inline constexpr int cudaEventDisableTiming = 2;
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, int) { return *e = nullptr, cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cudaSuccess; }
inline cudaError_t cudaMalloc(void** p, std::size_t n) {
  return *p = std::aligned_alloc(256, (n + 255) / 256 * 256), cudaSuccess;
}
inline std::atomic<int> emulated_frees = 0;  // that a GPU would wait for
inline cudaError_t cudaFree(void* p) {
  emulated_frees += p != nullptr;
  return std::free(p), cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t) { return cudaMalloc(p, n); }
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return std::free(p), cudaSuccess; }
inline constexpr unsigned cudaHostAllocPortable = 1;
inline cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned) { return cudaMalloc(p, n); }
inline cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 1, cudaSuccess; }
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(std::size_t* a, std::size_t* b) { return *a = *b = 0, cudaSuccess; }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) {
  return std::memcpy(to, from, n), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t s) {
  return emulated_work(s, [=] { std::memcpy(to, from, n); }), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t n, cudaStream_t s) {
  return emulated_work(s, [=] { std::memset(to, value, n); }), cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void*, int, int) { return cudaSuccess; }

struct cudaLaunchConfig_t {
  dim3 gridDim = 1, blockDim = 1;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  emulated_work(c->stream, [=, c = *c] {
    emulation::run({c.gridDim.x, c.gridDim.y, c.gridDim.z}, c.blockDim.x, c.dynamicSmemBytes,
                   [&] { kernel(static_cast<Parameters>(arguments)...); });
  });
  return cudaSuccess;
}
