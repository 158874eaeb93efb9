// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Work that a rank's device does beside a collective: a product, attention, SwiGLU, or a copy to
// the host.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "kernels/device.hpp"

namespace pleat {

enum class StreamWorkKind { product, attention, swiglu, copy_to_host };

// The size of each kind of work; 0: it is left out.
struct StreamWorkSizes {
  std::int64_t n = 0;        // of a product, n x n by n x n
  std::int64_t tokens = 0;   // of one causal sequence, kOverlapHeads of attention forward
  std::int64_t rows = 0;     // of SwiGLU, 2 kOverlapColumns in and kOverlapColumns out
  std::int64_t copied = 0;   // bytes from the device to pinned memory, as offloading does
  DType type = DType::bf16;  // fp32 or bf16
};
inline constexpr std::int64_t kOverlapHeads = 32, kOverlapGroups = 8, kOverlapHeadDim = 128;
inline constexpr std::int64_t kOverlapColumns = 4096;

// 1.1 TFLOP, 0.5 TFLOP, 1.6 GB, 64 MB: about a millisecond on a GPU, longer than a collective's
// start.
[[nodiscard]] StreamWorkSizes gpu_overlap();

[[nodiscard]] std::int64_t size_of(StreamWorkKind, const StreamWorkSizes&);
[[nodiscard]] const char* name_of(StreamWorkKind);
// The size as it appears in the name of a point: "8192", "8192 tokens".
[[nodiscard]] std::string label_of(StreamWorkKind, const StreamWorkSizes&);

// One kind of work on random operands in device memory. The device must outlive it.
class StreamWork {
 public:
  StreamWork(Device&, StreamWorkKind, const StreamWorkSizes&);
  ~StreamWork();
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;

  void run();  // on the stream in use
  void run_timed();
  double seconds();  // device time of all timed runs since the last call of this function
  // In the order of the kernel's parameters, results last. For a copy: source and destination.
  [[nodiscard]] const std::vector<View>& operands() const { return operands_; }
  [[nodiscard]] const std::byte* host() const { return host_; }

 private:
  View make(std::int64_t rows, std::int64_t columns, DType type);

  Device& device_;
  std::vector<View> operands_;
  std::byte* host_ = nullptr;
  std::function<void()> run_;
  std::vector<std::pair<Device::Moment, Device::Moment>> runs_;
};

}  // namespace pleat
