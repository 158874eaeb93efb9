// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel cross entropy: every shard's row statistics first, then loss and gradient
// from the statistics of all shards.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {
namespace {

std::int64_t columns_in_use(View logits, VocabShard shard) {
  return std::clamp<std::int64_t>(shard.size - shard.first, 0, logits.cols);
}

}  // namespace

void CpuKernels::ce_stats(View logits, View labels, VocabShard shard, View stats) {
  const std::int64_t n = columns_in_use(logits, shard);
  PLEAT_ASSERT(labels.elements() == logits.rows && stats.elements() == logits.rows * 3);
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const float* row = logits.f32() + r * logits.cols;
    const float max = cpu::row_max(row, n);
    const std::int64_t label = labels.i32()[r] - shard.first;
    float* out = stats.f32() + r * 3;
    out[0] = max;
    out[1] = cpu::lane_sum<float>(n, [=](std::int64_t i) { return cpu::exp_f32(row[i] - max); });
    out[2] = label >= 0 && label < n ? row[label] : 0.0F;
  }
}

void CpuKernels::ce_loss(View logits, View labels, VocabShard shard, View gathered, double scale,
                         const DepthRows& depth, View loss) {
  const std::int64_t n = columns_in_use(logits, shard), rows = logits.rows;
  if (rows == 0) return;
  PLEAT_ASSERT(labels.elements() == rows && gathered.elements() % (rows * 3) == 0);
  const std::int64_t shards = gathered.elements() / (rows * 3);
  PLEAT_ASSERT(loss.elements() > (depth.every > 0 ? 1 : 0));
  std::vector<double> totals(static_cast<std::size_t>(1 + depth.depths));
  for (std::int64_t r = 0; r < rows; ++r) {
    if (labels.i32()[r] < 0) {
      std::fill_n(logits.f32() + r * logits.cols, logits.cols, 0.0F);
      continue;
    }
    const std::int64_t ahead = depth.part_of(r);
    const auto factor = static_cast<float>(ahead > 0 ? depth.scale_of(ahead) : scale);
    float max = -std::numeric_limits<float>::infinity();
    double sum = 0, target = 0;
    for (std::int64_t s = 0; s < shards; ++s) {
      max = std::fmax(max, gathered.f32()[(s * rows + r) * 3]);
    }
    for (std::int64_t s = 0; s < shards; ++s) {
      const float* stats = gathered.f32() + (s * rows + r) * 3;
      sum += static_cast<double>(stats[1]) * std::exp(static_cast<double>(stats[0]) - max);
      target += stats[2];
    }
    totals[static_cast<std::size_t>(ahead)] += std::log(sum) + max - target;
    float* row = logits.f32() + r * logits.cols;
    const float over_sum = factor / static_cast<float>(sum);
    for (std::int64_t i = 0; i < n; ++i) row[i] = cpu::exp_f32(row[i] - max) * over_sum;
    std::fill(row + n, row + logits.cols, 0.0F);
    const std::int64_t label = labels.i32()[r] - shard.first;
    if (label >= 0 && label < n) row[label] -= factor;
  }
  loss.f32()[0] += static_cast<float>(scale * totals[0]);
  for (std::int64_t d = 1; depth.every > 0 && d <= depth.depths; ++d) {
    loss.f32()[1] += static_cast<float>(depth.scale_of(d) * totals[static_cast<std::size_t>(d)]);
  }
}

}  // namespace pleat
