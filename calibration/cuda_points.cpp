// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_points.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <tuple>

namespace pleat {
namespace {

constexpr int kCalls = 100;                            // of the host in one measurement
constexpr std::int64_t kProduct = 8192;                // 1.1 TFLOP: longer than a copy's start
constexpr std::size_t kBeside = std::size_t{1} << 28U;  // bytes copied beside it each way

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

// Alone: on the stream itself, so that the events around the call hold it. Both ways: down on
// another stream, which waits for the begin and which the stream joins. Beside a product: both on
// other streams, from the begin on; the product alone is timed, and finish() waits for the copies.
std::function<void()> CudaPoints::copies(bool up, bool down, std::size_t bytes,
                                         bool beside_product) {
  const auto from_host = pinned(bytes), to_host = pinned(bytes);
  const auto device = [&] {
    return std::shared_ptr<void>(bench_.allocate(bytes), [this](void* m) { bench_.release(m); });
  };
  const auto here = device(), there = device();
  const auto product = [&]() -> std::function<void()> {
    if (!beside_product) return {};
    const Buffer x(bench_, kProduct, kProduct, 1), w(bench_, kProduct, kProduct, 2),
        y(bench_, kProduct, kProduct, 3);
    return [=, this] { bench_.kernels().gemm(x.view(), false, w.view(), true, y.view(), false); };
  }();
  return [=, this] {
    const cudaStream_t up_on = beside_product ? third_ : stream_;
    const cudaStream_t down_on = beside_product || up ? other_ : stream_;
    for (const cudaStream_t s : {up_on, down_on}) {
      if (s != stream_) check_cuda(cudaStreamWaitEvent(s, begin_, 0), "cudaStreamWaitEvent");
    }
    if (down) {
      check_cuda(cudaMemcpyAsync(to_host.get(), there.get(), bytes, cudaMemcpyDeviceToHost, down_on),
                 "copy to the host");
    }
    if (up) {
      check_cuda(cudaMemcpyAsync(here.get(), from_host.get(), bytes, cudaMemcpyHostToDevice, up_on),
                 "copy to the device");
    }
    if (product) {
      product();
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
  const std::shared_ptr<void> owned(
      ready, [](void* g) { static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(g))); });
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
  for (std::size_t bytes = 65536; bytes <= (std::size_t{1} << 30U); bytes *= 8) {
    const auto add = [&](const char* what, bool up, bool down) {
      points.push_back({.name = fmt::format("{} {} B", what, bytes),
                        .what = what,
                        .bytes = static_cast<double>(bytes),
                        .prepare = [=, this] { return copies(up, down, bytes, false); }});
    };
    add("host_to_device", true, false);
    add("device_to_host", false, true);
    add("both_ways", true, true);
  }
  for (const auto& [what, up, down] :
       {std::tuple{"product alone", false, false},
        {"product beside host_to_device", true, false},
        {"product beside device_to_host", false, true},
        {"product beside both_ways", true, true}}) {
    points.push_back({.name = fmt::format("{} of {}x{}x{}", what, kProduct, kProduct, kProduct),
                      .what = what,
                      .bytes = static_cast<double>(kBeside),
                      .prepare = [=, this] { return copies(up, down, kBeside, true); }});
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
