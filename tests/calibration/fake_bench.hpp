// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A device whose kernels do nothing and whose clock says what a rule gives: plans, limits and logs
// without a GPU.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>

#include "calibration/microbench/bench.hpp"

namespace pleat {

class FakeBench final : public Bench {
 public:
  // Times scatter by `noise` around a microsecond; call number `fail_at` throws; the first
  // `disturbed` calls take three times as long.
  explicit FakeBench(double noise = 0, int fail_at = -1, int disturbed = 0)
      : noise_(noise), fail_at_(fail_at), disturbed_(disturbed) {}
  KernelSet& kernels() override { return *kernels_; }  // on memory that is none: never called
  DType floats() const override { return DType::bf16; }
  void* allocate(std::size_t) override { return this; }  // nothing reads it
  void release(void*) override {}
  void upload(void*, const void*, std::size_t) override {}
  void fill(View, unsigned) override {}
  std::function<void()> warmed(const Prepare&, unsigned) override {
    return [] {};
  }
  double seconds(const std::function<void()>&) override {
    if (calls_ == fail_at_) throw std::runtime_error("the device is gone");
    const double scatter = 1 + (calls_ % 2 == 0 ? noise_ : -noise_);
    const double slower = calls_ < disturbed_ ? 3 : calls_ >= slow_from ? 1.25 : 1;
    const double time = 1e-6 * scatter * slower;
    ++calls_;
    now_ += time;
    return time;
  }
  double host_seconds(const std::function<void()>&) override { return 5e-6; }
  double now() override { return now_; }
  std::vector<OtherPoint> other_points() override { return others; }
  std::int64_t context_bytes() override { return context; }
  bool is_broken() override { return breaks && calls_ == fail_at_; }
  double rotated_bytes(KernelClass) const override { return 0; }
  std::vector<std::pair<std::string, std::string>> facts() override { return {{"device", "fake"}}; }
  [[nodiscard]] int calls() const { return calls_; }

  std::vector<OtherPoint> others;
  std::int64_t context = 0;
  int slow_from = 1 << 30;  // calls from this number on take a quarter longer
  bool breaks = false;      // what fails has failed for good

 private:
  std::unique_ptr<KernelSet> kernels_ = cpu_kernels();
  double noise_, now_ = 0;
  int fail_at_, disturbed_, calls_ = 0;
};

}  // namespace pleat
