// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_points.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "calibration/microbench/stream_work.hpp"

namespace pleat {
namespace {

constexpr int kCalls = 100;  // of the host in one measurement
constexpr std::int64_t kProduct = kCopyProduct;

std::shared_ptr<void> pinned(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  return {memory, [](void* m) { static_cast<void>(cudaFreeHost(m)); }};
}

}  // namespace

void check_cuda(int status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // the next call is not to blame
  throw std::runtime_error(
      fmt::format("{}: {}", what, cudaGetErrorString(static_cast<cudaError_t>(status))));
}

CudaPoints::CudaPoints(Bench& bench, CUstream_st* stream, CUevent_st* begin)
    : bench_(bench), stream_(stream), begin_(begin) {
  for (cudaStream_t* made : {&other_, &third_})
    check_cuda(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cuda(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming), "cudaEventCreate");
}

CudaPoints::~CudaPoints() {
  static_cast<void>(cudaStreamDestroy(other_));
  static_cast<void>(cudaStreamDestroy(third_));
  static_cast<void>(cudaEventDestroy(joined_));
}

void CudaPoints::finish() {
  check_cuda(cudaStreamSynchronize(other_), "copy beside the stream");
  check_cuda(cudaStreamSynchronize(third_), "copy beside the stream");
}

std::function<void()> CudaPoints::beside(CopiesBeside work) {
  switch (work) {
    case CopiesBeside::nothing:
      return {};
    case CopiesBeside::product: {
      const Buffer x(bench_, kProduct, kProduct, 1), w(bench_, kProduct, kProduct, 2),
          y(bench_, kProduct, kProduct, 3);
      return [=, this] { bench_.kernels().gemm(x.view(), false, w.view(), true, y.view(), false); };
    }
    case CopiesBeside::attention: {
      const AttentionShape s{.batch = 1,
                             .seq = kCopyAttention,
                             .heads = kOverlapHeads,
                             .kv_groups = kOverlapGroups,
                             .head_dim = kOverlapHeadDim,
                             .scale = 1 / std::sqrt(static_cast<double>(kOverlapHeadDim))};
      const Buffer qkv(bench_, s.seq, s.columns(), 1), o(bench_, s.seq, s.heads * s.head_dim, 2),
          sums(bench_, s.seq, s.heads, 3, DType::fp32);
      return [=, this] { bench_.kernels().attention(qkv.view(), o.view(), sums.view(), s); };
    }
  }
  return {};
}

// Alone: on the stream itself, so that the events around the call hold it. Both ways: down on
// another stream, which waits for the begin and which the stream joins. Beside work: both on
// other streams, from the begin on; the work alone is timed, and finish() waits for the copies.
std::function<void()> CudaPoints::copies(const CopyPoint& p) {
  const auto from_host = pinned(p.bytes), to_host = pinned(p.bytes);
  const auto device = [&] {
    return std::shared_ptr<void>(bench_.allocate(p.bytes), [this](void* m) { bench_.release(m); });
  };
  const auto here = device(), there = device();
  const std::function<void()> work = beside(p.beside);
  return [=, this] {
    const cudaStream_t up_on = work ? third_ : stream_;
    const cudaStream_t down_on = work || p.up ? other_ : stream_;
    for (const cudaStream_t s : {up_on, down_on}) {
      if (s != stream_) check_cuda(cudaStreamWaitEvent(s, begin_, 0), "cudaStreamWaitEvent");
    }
    if (p.down) {
      check_cuda(
          cudaMemcpyAsync(to_host.get(), there.get(), p.bytes, cudaMemcpyDeviceToHost, down_on),
          "copy to the host");
    }
    if (p.up) {
      check_cuda(
          cudaMemcpyAsync(here.get(), from_host.get(), p.bytes, cudaMemcpyHostToDevice, up_on),
          "copy to the device");
    }
    if (work) {
      work();
    } else if (down_on != stream_) {
      check_cuda(cudaEventRecord(joined_, down_on), "cudaEventRecord");
      check_cuda(cudaStreamWaitEvent(stream_, joined_, 0), "cudaStreamWaitEvent");
    }
  };
}

// Beside "product alone", of random numbers: what the bits that switch cost in power and clock.
std::function<void()> CudaPoints::product_of_zeros() {
  const Buffer x(bench_, kProduct, kProduct, 1), w(bench_, kProduct, kProduct, 2),
      y(bench_, kProduct, kProduct, 3);
  bench_.kernels().zero(x.view());
  bench_.kernels().zero(w.view());
  return [=, this] { bench_.kernels().gemm(x.view(), false, w.view(), true, y.view(), false); };
}

std::function<void()> CudaPoints::graph_of_100() {
  const Buffer x(bench_, 1, 1, 1);
  bench_.kernels().zero(x.view());
  check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin of capture");
  cudaGraph_t graph = nullptr;
  try {
    for (int i = 0; i < kCalls; ++i) bench_.kernels().zero(x.view());
  } catch (const std::exception&) {  // a stream that still captures is of no use to others
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream_, &graph), "end of capture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&ready, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check_cuda(status, "cudaGraphInstantiate");
  const std::shared_ptr<void> owned(ready, [](void* g) {
    static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(g)));
  });
  return [=, this] {
    check_cuda(cudaGraphLaunch(static_cast<cudaGraphExec_t>(owned.get()), stream_),
               "cudaGraphLaunch");
    static_cast<void>(x);  // its memory is the graph's
  };
}

OtherPoint CudaPoints::by_host(const char* what, std::function<std::function<void()>()> prepare) {
  return {.name = fmt::format("{}, host", what),
          .what = fmt::format("{} by host", what),
          .bytes = 0,
          .prepare = std::move(prepare),
          .by_host = true};
}

std::vector<OtherPoint> CudaPoints::points() {
  std::vector<OtherPoint> points;
  for (const CopyPoint& p : copy_points()) {
    points.push_back({.name = name_of(p),
                      .what = what_of(p),
                      .bytes = static_cast<double>(p.bytes),
                      .prepare = [=, this] { return copies(p); },
                      .share = share_of(p)});
  }
  points.push_back({.name = fmt::format("product of zeros of {0}x{0}x{0}", kProduct),
                    .what = "product of zeros",
                    .bytes = 0,
                    .prepare = [this] { return product_of_zeros(); }});
  points.push_back({.name = "graph, 100 nodes", .what = "graph", .bytes = 0, .prepare = [this] {
                      return graph_of_100();
                    }});
  points.push_back(by_host("graph of 100 nodes", [this] { return graph_of_100(); }));
  points.push_back(by_host("100 events recorded and waited for", [this] {
    return [this] {
      for (int i = 0; i < kCalls; ++i) {
        check_cuda(cudaEventRecord(joined_, stream_), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(other_, joined_, 0), "cudaStreamWaitEvent");
      }
    };
  }));
  points.push_back(by_host("100 x 1 MiB of the stream's pool", [this] {
    return [this] {
      for (int i = 0; i < kCalls; ++i) {
        void* memory = nullptr;
        check_cuda(cudaMallocAsync(&memory, std::size_t{1} << 20U, stream_), "cudaMallocAsync");
        check_cuda(cudaFreeAsync(memory, stream_), "cudaFreeAsync");
      }
    };
  }));
  points.push_back(by_host("synchronize", [this] {
    return [this] { check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); };
  }));
  return points;
}

}  // namespace pleat
