// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured spans of one rank: one for each operation it ran, by the device's own moments.
#pragma once

#include <chrono>
#include <vector>

#include "core/trace/trace.hpp"
#include "kernels/device.hpp"

namespace pleat {

struct OpSite;

class SpanRecorder {
 public:
  using Clock = std::chrono::steady_clock;
  // Spans count from `origin`. Waits for the device.
  SpanRecorder(int rank, int stage, Device&, Clock::time_point origin);

  // site: null for operations of the step's prologue and epilogue.
  void add(const Op&, const OpSite* site, Device::Moment begin, Device::Moment end);
  // Waits for the end of the last one.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  struct Measured {
    Span span;
    Device::Moment begin, end;
  };
  int rank_, stage_;
  Device& device_;
  Device::Moment first_;  // so many seconds after the origin
  double first_s_;
  std::vector<Measured> measured_;
};

}  // namespace pleat
