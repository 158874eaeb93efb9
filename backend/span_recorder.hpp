// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured spans of one rank: one for each operation it ran.
#pragma once

#include <chrono>
#include <vector>

#include "core/trace/trace.hpp"

namespace pleat {

struct OpSite;

class SpanRecorder {
 public:
  using Clock = std::chrono::steady_clock;
  SpanRecorder(int rank, int stage, Clock::time_point origin)
      : rank_(rank), stage_(stage), origin_(origin) {}

  // site: null for operations of the step's prologue and epilogue.
  void add(const Op&, const OpSite* site, Clock::time_point begin, Clock::time_point end);
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

 private:
  int rank_, stage_;
  Clock::time_point origin_;
  std::vector<Span> spans_;
};

}  // namespace pleat
