// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// To host memory and back: activations between a layer's passes; of the optimizer its state between
// steps, or the gradients and weights of what the host steps.
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {
namespace {

// Of the layer itself: its input is the tensor of another one, its copy is its own.
InstanceKey key_of(const OpSite& site, TensorId tensor) {
  return {site.microbatch.value, site.chunk.value, site.position, tensor};
}

}  // namespace

void Executor::offload(const Call& c) {
  if (c.site == nullptr) return move_state(c, c.in[0], c.out[0], false);
  store_.send_to_host(key_of(*c.site, c.op.in[0]), c.in[0], c.op.name);
}

void Executor::reload(const Call& c) {
  if (c.site == nullptr) return move_state(c, c.out[0], c.in[0], true);
  store_.bring_back(key_of(*c.site, c.op.attr.source), c.out[0], c.op.name);
}

// Whole tensors, or of a bucket's the part of this rank's shard that the operation names.
void Executor::move_state(const Call& c, View here, View there, bool back) {
  const auto copy = [&](View device, View host) {
    back ? copy_between(host, device) : copy_between(device, host);
  };
  if (c.op.attr.n == Dim{}) return copy(here, there);
  const TensorId id = back ? c.op.out[0] : c.op.in[0];
  const Bucket which = bucket_of(c.op, id);
  const bool weights = stage_.buckets[static_cast<std::size_t>(which)].weights == id;
  const bool shards = weights ? weights_in_shards() : gradients_in_shards();
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    copy(elements_of(here, shards ? run.shard : run.whole, run.elements),
         elements_of(there, run.state, run.elements));
  }
}

void Executor::initialise_main_params() {
  if (program_.plan.optimizer.main_params == DType::remainder16) return;  // zero
  copy_weights([](const BucketState& b, const StateSegment&) { return b.has_main_params; }, false);
}

// The bf16 weights whose place codes have taken.
void Executor::widen_weights() {
  const auto codes = [](const BucketState& b, const StateSegment&) {
    return b.narrow_in_place.has_value();
  };
  copy_weights(codes, true);
  gather_weights(true);
}

// As the step's end does. `narrow_only`: where codes had taken their place.
void Executor::gather_weights(bool narrow_only) {
  for (const Op& op : stage_.epilogue) {
    if (op.kind != OpKind::gather_bucket || op.module != Module::grad_sync) continue;
    const auto of_bucket = [&](const BucketState& b) {
      const bool wanted = !narrow_only || b.narrow_in_place;
      return b.elements > 0 && wanted && op.in.front() == b.weights;
    };
    if (std::ranges::any_of(stage_.buckets, of_bucket)) perform(op, nullptr);
  }
}

// Weights that the host steps are its main parameters too.
void Executor::refresh_host_weights() {
  copy_weights([](const BucketState& b, const StateSegment& s) {
    return s.on_host && !b.has_main_params;
  }, false);
}

// To the main parameters of those segments, or from them.
template <class Chosen>
void Executor::copy_weights(Chosen chosen, bool back) {
  for (std::size_t i = 0; i < stage_.buckets.size(); ++i) {
    const BucketState& b = stage_.buckets[i];
    for (const StateSegment& s : b.segments) {
      if (b.elements == 0 || !chosen(b, s)) continue;
      const View weights = store_.state(b.weights, !back, "init");
      const View host = store_.state(s.main_params, back, "init");
      for (const Piece& p : pieces(static_cast<Bucket>(i))) {
        const std::int64_t first = std::max(p.shard, s.first);
        const std::int64_t last = std::min(p.shard + p.elements, s.first + s.elements);
        if (first >= last) continue;
        const std::int64_t at = weights_in_shards() ? first : p.whole + (first - p.shard);
        const View weight = elements_of(weights, at, last - first);
        const View main = elements_of(host, first - s.first, last - first);
        back ? copy_between(main, weight) : copy_between(weight, main);
      }
    }
  }
}

}  // namespace pleat
