// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/span_recorder.hpp"

#include "core/program/step_walk.hpp"

namespace pleat {

void SpanRecorder::add(const Op& op, const OpSite* site, Clock::time_point begin,
                       Clock::time_point end) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  Span span;
  span.key.stage = stage_;
  span.key.op = op.name;
  if (site != nullptr) {
    span.key.microbatch = site->microbatch.value;
    span.key.chunk = site->chunk.value;
    span.key.layer = site->instance->layer.value;
    span.key.pass = site->pass;
  }
  span.rank = rank_;
  span.stream = op.stream;
  span.start_s = seconds(begin - origin_);
  span.duration_s = seconds(end - begin);
  span.category = name_of(op.module);
  spans_.push_back(std::move(span));
}

}  // namespace pleat
