// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Live bytes from the lifetimes of tensors: the highest point of a layer, and of a whole step.
#include "simulator/layer_costs.hpp"

#include <algorithm>
#include <utility>

#include "core/program/paged_stash.hpp"
#include "core/program/step_walk.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {

// Births and deaths of a layer's tensors, and the highest point between them.

namespace {

// Each to the stash or back by itself: both blocks are there for a moment.
MemoryDelta stash_copies(const LayerProgram& layer, Pass pass, const Binding& rows) {
  MemoryDelta copies;
  for (const TensorId id : layer_events(layer).kept) {
    const Tensor& tensor = layer.tensor(id);
    if (!is_stashed(tensor, rows)) continue;
    const std::int64_t in_pass = tensor.bytes(within_pass(rows));
    const std::int64_t stashed = tensor.bytes(between_passes(rows));
    const auto [from, to] = pass == Pass::forward ? std::pair(in_pass, stashed)
                                                  : std::pair(stashed, in_pass);
    copies = then(copies, {.peak = to, .net = to - from});
  }
  return copies;
}

}  // namespace

OpBytes op_bytes(const LayerProgram& layer, Pass pass, const Binding& binding) {
  const Binding room = within_pass(binding);
  OpBytes bytes;
  bytes.born.resize(layer.ops(pass).size());
  bytes.freed.resize(layer.ops(pass).size());
  if (binding.stashed > 0) bytes.copies = stash_copies(layer, pass, binding);
  for (const Lifetime& life : layer.lives) {
    const std::int64_t size = layer.tensor(life.tensor).bytes(room);
    if (life.begin && life.begin->pass == pass) {
      bytes.born[static_cast<std::size_t>(life.begin->op)] += size;
    }
    if (life.end && life.end->pass == pass) {
      bytes.freed[static_cast<std::size_t>(life.end->op)] += size;
    }
  }
  return bytes;
}

MemoryDelta memory_along(std::span<const PairStep> steps, const OpBytes& forward,
                         const OpBytes& backward) {
  MemoryDelta delta;
  for (const PairStep& step : steps) {
    const OpBytes& bytes = step.pass == Pass::forward ? forward : backward;
    const auto op = static_cast<std::size_t>(step.op);
    if (step.pass == Pass::backward && op == 0) delta = then(delta, bytes.copies);
    delta.net += bytes.born[op];
    delta.peak = std::max(delta.peak, delta.net);
    delta.net -= bytes.freed[op];
    if (step.pass == Pass::forward && op + 1 == bytes.born.size())
      delta = then(delta, bytes.copies);
  }
  return delta;
}

MemoryDelta then(const MemoryDelta& first, const MemoryDelta& second) {
  return {.peak = std::max(first.peak, first.net + second.peak), .net = first.net + second.net};
}

// The exact high-water mark: the walk the executor makes, with a counter for every birth and death.

namespace {

class Counter final : public StepVisitor {
 public:
  explicit Counter(const RoutedCount& routed) : routed_(routed) {}

  void on_birth(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    grow(tensor.bytes(within_pass(rows(site, tensor))));
  }
  void on_op(const OpSite& site) override {
    if (site.op->kind == OpKind::offload) {
      host_ += host_bytes(site, site.op->in.front());
      host_peak_ = std::max(host_peak_, host_);
    } else if (site.op->kind == OpKind::reload) {
      host_ -= host_bytes(site, site.op->out.front());
    }
  }
  void on_death(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    live_ -= tensor.bytes(within_pass(rows(site, tensor)));
  }
  // Copied: both are there for a moment.
  void on_stash(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    move(tensor, within_pass(rows(site, tensor)), between_passes(rows(site, tensor)));
  }
  void on_unstash(const OpSite& site, const InstanceKey&, const Tensor& tensor) override {
    move(tensor, between_passes(rows(site, tensor)), within_pass(rows(site, tensor)));
  }
  [[nodiscard]] MemoryDelta delta() const { return {.peak = peak_, .net = live_}; }
  [[nodiscard]] std::int64_t host_peak() const { return host_peak_; }

 private:
  [[nodiscard]] Binding rows(const OpSite& site, const Tensor& tensor) const {
    if (!tensor.is_routed()) return {};
    return routed_(site.microbatch, layer_of(site, tensor));
  }
  [[nodiscard]] std::int64_t host_bytes(const OpSite& site, TensorId id) const {
    const Tensor& tensor = site.program->tensor(id);
    return tensor.bytes(rows(site, tensor));
  }
  void grow(std::int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void move(const Tensor& tensor, const Binding& from, const Binding& to) {
    if (tensor.bytes(from) == tensor.bytes(to)) return;
    grow(tensor.bytes(to));
    live_ -= tensor.bytes(from);
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
