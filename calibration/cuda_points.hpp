// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a GPU's calibration measures beside kernels: copies between host and device, alone, in both
// directions at once and beside a product or attention; what the host pays to enqueue.
#pragma once

#include <memory>
#include <vector>

#include "calibration/microbench/bench.hpp"
#include "calibration/microbench/host_links.hpp"

// cudaStream_t and cudaEvent_t, without CUDA's headers.
struct CUstream_st;
struct CUevent_st;

namespace pleat {

class CudaPoints {
 public:
  // `stream`: the kernels'; `begin`: the event that its timed part begins with. All outlive it.
  CudaPoints(Bench&, CUstream_st* stream, CUevent_st* begin);
  ~CudaPoints();
  CudaPoints(const CudaPoints&) = delete;
  CudaPoints& operator=(const CudaPoints&) = delete;

  [[nodiscard]] std::vector<OtherPoint> points();
  // Waits for what a point left running beside the stream.
  void finish();

 private:
  std::function<void()> copies(const CopyPoint&);
  std::function<void()> beside(CopiesBeside);  // a call of it; nothing's is empty
  std::function<void()> product_of_zeros();
  std::function<void()> graph_of_100();
  OtherPoint by_host(const char* what, std::function<std::function<void()>()> prepare);

  Bench& bench_;
  CUstream_st *stream_, *other_ = nullptr, *third_ = nullptr;
  CUevent_st *begin_, *joined_ = nullptr;
};

// Throws std::runtime_error that says what CUDA could not do. `status`: a cudaError_t.
void check_cuda(int status, const char* what);

}  // namespace pleat
