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
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
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
// Byte i of the result is byte (selector >> 4 i) % 8 of the eight of y:x.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t all = static_cast<std::uint64_t>(y) << 32 | x;
  unsigned made = 0;
  for (int i = 0; i < 4; ++i) {
    made |= static_cast<unsigned>(all >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  }
  return made;
}
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
  return emulated_exchange(
      v, [&](auto at) { return at(emulation::lane() ^ static_cast<unsigned>(mask)); });
}
template <class T>
T __shfl_up_sync(unsigned, T v, int d) {
  const auto lane = static_cast<int>(emulation::lane());
  return emulated_exchange(
      v, [&](auto at) { return at(static_cast<unsigned>(lane >= d ? lane - d : lane)); });
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
template <class T>
T __reduce_add_sync(unsigned, T v) {
  return emulated_exchange(v, [&](auto at) {
    T sum = at(0);
    for (unsigned l = 1; l < 32; ++l) sum += at(l);
    return sum;
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
inline constexpr cudaError_t cudaSuccess = 0, cudaErrorNoDevice = 100,
                             cudaErrorInsufficientDriver = 35,
                             cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorNotReady = 600;
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
inline constexpr int cudaDevAttrMultiProcessorCount = 16, cudaStreamNonBlocking = 1,
                     cudaFuncAttributeMaxDynamicSharedMemorySize = 8;
inline const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
inline thread_local cudaError_t emulated_last_error = cudaSuccess;
inline cudaError_t cudaGetLastError() { return std::exchange(emulated_last_error, cudaSuccess); }
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
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, int) {
  return *s = new EmulatedStream, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
inline const cudaStream_t cudaStreamLegacy = nullptr;
inline std::atomic<int> emulated_waits = 0;  // of the host, for a stream
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return ++emulated_waits, cudaSuccess; }
inline int emulated_polls_pending = 0;  // so many find a stream at work
inline cudaError_t cudaStreamQuery(cudaStream_t) {
  if (emulated_polls_pending > 0) {
    --emulated_polls_pending;
    return emulated_last_error = cudaErrorNotReady;
  }
  return ++emulated_waits, cudaSuccess;
}
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
inline cudaError_t emulated_instantiation = cudaSuccess;  // what it comes to
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, int) {
  if (emulated_instantiation != cudaSuccess) return emulated_instantiation;
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
inline constexpr int cudaEventDefault = 0;
// An event is the time when it was recorded, and then it is done, unless a test says that none is.
using EmulatedEvent = std::chrono::steady_clock::time_point;
inline bool emulated_events_pending = false;
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, int) {
  return *e = new EmulatedEvent, cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return delete static_cast<EmulatedEvent*>(e), cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t) {
  return emulated_events_pending ? emulated_last_error = cudaErrorNotReady : cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  return *static_cast<EmulatedEvent*>(e) = std::chrono::steady_clock::now(), cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  const auto passed = *static_cast<EmulatedEvent*>(to) - *static_cast<EmulatedEvent*>(from);
  return *ms = std::chrono::duration<float, std::milli>(passed).count(), cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cudaSuccess; }
inline constexpr std::size_t emulated_memory = std::size_t{1} << 40U;  // more is refused
inline cudaError_t cudaMalloc(void** p, std::size_t n) {
  if (n > emulated_memory) return emulated_last_error = 2;  // cudaErrorMemoryAllocation
  return *p = std::aligned_alloc(256, (n + 255) / 256 * 256), cudaSuccess;
}
inline std::atomic<int> emulated_frees = 0;  // that a GPU would wait for
inline cudaError_t cudaFree(void* p) {
  emulated_frees += p != nullptr;
  return std::free(p), cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t) {
  return cudaMalloc(p, n);
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return std::free(p), cudaSuccess; }
inline constexpr unsigned cudaHostAllocPortable = 1;
// Pinned memory, and copies to the device from other memory of the host.
inline std::mutex emulated_pinned_mutex;
inline std::map<const char*, std::size_t> emulated_pinned;
inline std::atomic<int> emulated_pageable_copies = 0;
inline std::atomic<const void*> emulated_copied_from = nullptr;  // by the last one
inline cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned) {
  const std::lock_guard lock(emulated_pinned_mutex);
  cudaMalloc(p, n);
  return emulated_pinned[static_cast<const char*>(*p)] = n, cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* p) {
  const std::lock_guard lock(emulated_pinned_mutex);
  emulated_pinned.erase(static_cast<const char*>(p));
  return cudaFree(p);
}
inline bool emulated_is_pinned(const void* p) {
  const std::lock_guard lock(emulated_pinned_mutex);
  const auto after = emulated_pinned.upper_bound(static_cast<const char*>(p));
  if (after == emulated_pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(p) < begin + bytes;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 1, cudaSuccess; }
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(std::size_t* a, std::size_t* b) {
  return *a = *b = 0, cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) {
  return std::memcpy(to, from, n), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind kind,
                                   cudaStream_t s) {
  if (kind == cudaMemcpyHostToDevice) {
    emulated_pageable_copies += !emulated_is_pinned(from);
    emulated_copied_from = from;
  }
  return emulated_work(s, [=] { std::memcpy(to, from, n); }), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t n, cudaStream_t s) {
  return emulated_work(s, [=] { std::memset(to, value, n); }), cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void*, int, int) { return cudaSuccess; }
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int,
                                                                 std::size_t) {
  return *blocks = 3, cudaSuccess;
}

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
