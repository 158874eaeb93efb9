// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Delayed scaling: scales of this step's tensors follow from the amax of earlier steps
// (core/program/amax_buffers.hpp). A tensor without any takes that of the numbers it has, as
// current scaling does: in the first step, and in the first after a checkpoint without it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Which tensors have a past: all of them, once a step has kept its amax. Until then the host looks.
class DelayedScaling {
 public:
  [[nodiscard]] bool must_look() const { return !kept_; }
  void looked(std::vector<float> past) { past_ = std::move(past); }
  void kept() {
    kept_ = true;
    past_.clear();
  }
  void restored() { kept_ = false; }
  // Elements [first, first + n) of BucketState::amax_elements.
  [[nodiscard]] bool has_past(std::int64_t first, std::int64_t n) const;

 private:
  bool kept_ = false;
  std::vector<float> past_;  // as the host saw it
};

// quantize, whose last operand is its tensor's amax.
void quantize_delayed(const Call&, Execution&);
void past_amax(const Call&, Execution&);
void keep_amax(const Call&, Execution&);
void all_reduce_amax(const Call&, Execution&);

}  // namespace pleat::execute
