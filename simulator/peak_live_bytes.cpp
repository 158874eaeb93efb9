// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The exact high-water mark: the walk the executor makes, with a counter for every birth and death.
#include <algorithm>

#include "core/program/step_walk.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

class Counter final : public StepVisitor {
 public:
  explicit Counter(const RoutedCount& routed) : routed_(routed) {}

  void on_birth(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    live_ += bytes(site, tensor);
    peak_ = std::max(peak_, live_);
  }
  void on_op(const OpSite& site) override {
    if (site.op->kind == OpKind::offload) {
      host_ += bytes(site, site.program->tensor(site.op->in.front()));
      host_peak_ = std::max(host_peak_, host_);
    } else if (site.op->kind == OpKind::reload) {
      host_ -= bytes(site, site.program->tensor(site.op->out.front()));
    }
  }
  void on_death(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    live_ -= bytes(site, tensor);
  }
  [[nodiscard]] MemoryDelta delta() const { return {.peak = peak_, .net = live_}; }
  [[nodiscard]] std::int64_t host_peak() const { return host_peak_; }

 private:
  [[nodiscard]] std::int64_t bytes(const OpSite& site, const Tensor& tensor) const {
    if (!tensor.is_routed()) return tensor.bytes({});
    return tensor.bytes(routed_(site.microbatch, layer_of(site, tensor)));
  }

  const RoutedCount& routed_;
  std::int64_t live_ = 0, peak_ = 0, host_ = 0, host_peak_ = 0;
};

}  // namespace

std::int64_t peak_live_bytes(const StageProgram& stage, const RoutedCount& routed) {
  Counter counter(routed);
  walk_step(stage, counter);
  const MemoryDelta slots = counter.delta();
  const MemoryDelta epilogue = epilogue_memory(stage);
  return state_bytes(stage).total() + std::max(slots.peak, slots.net + epilogue.peak);
}

std::int64_t peak_host_bytes(const StageProgram& stage, const RoutedCount& routed) {
  Counter counter(routed);
  walk_step(stage, counter);
  return state_bytes(stage).host + counter.host_peak();
}

}  // namespace pleat
