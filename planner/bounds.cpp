// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds.hpp"

#include <algorithm>

#include "core/plan/layout.hpp"

namespace pleat {
namespace {

struct ChunkSum {
  Seconds time;  // both passes
  std::int64_t saved = 0;
  std::int64_t weights[2] = {0, 0};
};

void add(ChunkSum& sum, const LayerPrice& layer, std::int64_t count, bool overlapped) {
  const double n = static_cast<double>(count);
  sum.time += n * (overlapped ? layer.overlapped : layer.forward + layer.backward);
  sum.saved += count * layer.saved;
  for (int b = 0; b < 2; ++b) sum.weights[b] += count * layer.weights[b];
}

ChunkSum chunk_sum(const VirtualStage& v, const ModelSpec& model, const LayerPrices& prices,
                   bool overlapped) {
  ChunkSum sum;
  std::int64_t moe = 0;
  for (std::int64_t l = v.first_layer; l < v.first_layer + v.layers; ++l) moe += model.is_moe(l);
  add(sum, prices.of(LayerKind::moe), moe, overlapped);
  add(sum, prices.of(LayerKind::dense), v.layers - moe, overlapped);
  if (v.embedding) add(sum, prices.of(LayerKind::embedding), 1, overlapped);
  if (v.mtp) add(sum, prices.of(LayerKind::mtp), 1, overlapped);
  if (v.loss) add(sum, prices.of(LayerKind::head), 1, overlapped);
  sum.saved = std::max<std::int64_t>(0, sum.saved - prices.output_bytes);
  return sum;
}

// Bytes of `elements` parameters with gradient and optimizer state on one rank.
double state_bytes(const Plan& plan, double elements, int shards) {
  const auto size = [](DType type) { return static_cast<double>(bytes_of(type, 32)) / 32; };
  double weight = 2;  // bf16, or the row-wise and column-wise copies of an 8-bit type
  double optimizer = size(plan.optimizer.exp_avg) + size(plan.optimizer.exp_avg_sq);
  if (plan.precision == Precision::fp32) {
    weight = 4;
  } else {
    optimizer += size(plan.optimizer.main_params);
  }
  double gradient = size(plan.optimizer.main_grads);
  const double n = shards;
  switch (plan.sharding) {
    case Sharding::none:
      break;
    case Sharding::zero1:
      optimizer /= n;
      break;
    case Sharding::zero2:
      optimizer /= n;
      gradient /= n;
      break;
    case Sharding::zero3:
      optimizer /= n;
      gradient /= n;
      weight /= n;
      break;
  }
  return elements * (weight + gradient + optimizer);
}

}  // namespace

PlanBounds bounds(const Plan& plan, const ModelSpec& model, const WorkloadSpec& workload,
                  const LayerPrices& prices, bool activations) {
  const auto pp = static_cast<std::size_t>(plan.attention.pp);
  const auto vpp = static_cast<std::size_t>(plan.vpp);
  const std::int64_t microbatches = plan.microbatches(workload.global_batch);
  const std::vector<VirtualStage> layout = stage_layout(plan, model);
  PLEAT_ASSERT(layout.size() == pp * vpp);
  const Schedule schedule{.pp = plan.attention.pp,
                          .vpp = plan.vpp,
                          .microbatches = static_cast<int>(microbatches),
                          .group = plan.microbatch_group,
                          .paired = false};
  PlanBounds result;
  Seconds way;  // chunk 0 of the stages before, both passes
  for (std::size_t s = 0; s < pp; ++s) {
    Seconds work, first;
    double weights[2] = {0, 0};
    std::int64_t smallest = 0;
    for (std::size_t c = 0; c < vpp; ++c) {
      const ChunkSum sum =
          chunk_sum(layout[c * pp + s], model, prices, plan.overlap.expert_parallel);
      work += sum.time;
      if (c == 0) first = sum.time;
      smallest = c == 0 ? sum.saved : std::min(smallest, sum.saved);
      for (int b = 0; b < 2; ++b) weights[b] += static_cast<double>(sum.weights[b]);
    }
    result.step = std::max(result.step, static_cast<double>(microbatches) * work + way);
    way += first;
    double bytes = state_bytes(plan, weights[0], plan.attention.dp * plan.attention.cp) +
                   state_bytes(plan, weights[1], plan.expert.edp);
    if (activations) {
      const std::int64_t in_flight = std::min<std::int64_t>(
          warmup_slots(schedule, Stage{static_cast<int>(s)}) + 1, microbatches * plan.vpp);
      bytes += static_cast<double>(in_flight) * static_cast<double>(smallest);
    }
    result.peak_bytes = std::max(result.peak_bytes, static_cast<std::int64_t>(bytes));
  }
  return result;
}

}  // namespace pleat
