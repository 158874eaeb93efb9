// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/span_recorder.hpp"

#include "core/program/step_walk.hpp"

namespace pleat {

SpanRecorder::SpanRecorder(int rank, int stage, Device& device, Clock::time_point origin)
    : rank_(rank), stage_(stage), device_(device), first_((device.synchronize(), device.moment())) {
  device.synchronize();
  first_s_ = std::chrono::duration<double>(Clock::now() - origin).count();
}

void SpanRecorder::add(const Op& op, const OpSite* site, Device::Moment begin, Device::Moment end) {
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
  span.category = name_of(op.module);
  measured_.push_back({std::move(span), std::move(begin), std::move(end)});
}

std::vector<Span> SpanRecorder::spans() const {
  std::vector<Span> all;
  for (const Measured& m : measured_) {
    all.push_back(m.span);
    all.back().start_s = first_s_ + device_.seconds(first_, m.begin);
    all.back().duration_s = device_.seconds(m.begin, m.end);
  }
  return all;
}

}  // namespace pleat
