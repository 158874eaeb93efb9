// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Chunks and pairs of chunks as sums over their layers.
#include "simulator/chunk_costs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/layer_memory.hpp"

namespace pleat {
namespace {

bool is_decoder(const StageProgram& stage, const LayerInstance& instance) {
  const LayerKind kind = stage.program(instance).kind;
  return kind == LayerKind::dense || kind == LayerKind::moe;
}

// Positions of the chunk's decoder layers, in forward order.
std::vector<int> decoder_positions(const StageProgram& stage, ChunkId chunk) {
  std::vector<int> positions;
  const auto& instances = stage.chunks[chunk.index()].instances;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (is_decoder(stage, instances[i])) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

}  // namespace

void append(PassCost& total, const PassCost& next) {
  total.time += next.time;
  for (std::size_t i = 0; i < kCostClasses; ++i) total.parts[i] += next.parts[i];
  total.memory = then(total.memory, next.memory);
  total.source = std::max(total.source, next.source);
}

std::vector<PairedPosition> pair_positions(const StageProgram& stage, ChunkId forward,
                                           ChunkId backward) {
  const std::vector<int> f = decoder_positions(stage, forward);
  std::vector<int> b = decoder_positions(stage, backward);
  std::reverse(b.begin(), b.end());
  const std::size_t paired = std::min(f.size(), b.size());
  const int f_count = static_cast<int>(stage.chunks[forward.index()].instances.size());
  const int b_count = static_cast<int>(stage.chunks[backward.index()].instances.size());
  std::vector<PairedPosition> positions;
  int f_next = 0, b_next = b_count - 1;
  for (std::size_t i = 0; i < paired; ++i) {
    for (; b_next > b[i]; --b_next) positions.push_back({-1, b_next});
    for (; f_next < f[i]; ++f_next) positions.push_back({f_next, -1});
    positions.push_back({f_next++, b_next--});
  }
  for (; b_next >= 0; --b_next) positions.push_back({-1, b_next});
  for (; f_next < f_count; ++f_next) positions.push_back({f_next, -1});
  return positions;
}

StageCosts price_stage(const StageProgram& stage, const Binding& expected, const Binding& capacity,
                       const ClusterView& view, const Profile& profile,
                       const OverlapFlags& overlap) {
  StageCosts costs;
  costs.layers.reserve(stage.layers.size());
  for (const LayerProgram& layer : stage.layers) {
    costs.layers.push_back(price(layer, expected, capacity, view, profile));
  }
  auto layer_costs = [&](ChunkId chunk, int position) -> const LayerCosts& {
    const auto& instances = stage.chunks[chunk.index()].instances;
    return costs.layers[static_cast<std::size_t>(
        instances[static_cast<std::size_t>(position)].program)];
  };
  const int chunks = static_cast<int>(stage.chunks.size());
  for (int c = 0; c < chunks; ++c) {
    PassCost forward, backward;
    const int count = static_cast<int>(stage.chunks[static_cast<std::size_t>(c)].instances.size());
    for (int i = 0; i < count; ++i) append(forward, layer_costs({c}, i).forward);
    for (int i = count - 1; i >= 0; --i) append(backward, layer_costs({c}, i).backward);
    costs.forward.push_back(forward);
    costs.backward.push_back(backward);
  }
  if (!overlap.expert_parallel) return costs;

  std::map<std::pair<int, int>, PassCost> known;  // by layer programs
  for (int f = 0; f < chunks; ++f) {
    for (int b = 0; b < chunks; ++b) {
      PassCost total;
      for (const PairedPosition& at : pair_positions(stage, {f}, {b})) {
        if (at.backward < 0) {
          append(total, layer_costs({f}, at.forward).forward);
        } else if (at.forward < 0) {
          append(total, layer_costs({b}, at.backward).backward);
        } else {
          const auto& fi = stage.chunks[static_cast<std::size_t>(f)].instances;
          const auto& bi = stage.chunks[static_cast<std::size_t>(b)].instances;
          const int fp = fi[static_cast<std::size_t>(at.forward)].program;
          const int bp = bi[static_cast<std::size_t>(at.backward)].program;
          auto [found, fresh] = known.try_emplace({fp, bp});
          if (fresh) {
            found->second = price_pair(stage.layers[static_cast<std::size_t>(fp)],
                                       stage.layers[static_cast<std::size_t>(bp)], expected, view,
                                       profile, overlap.delay_wgrad);
          }
          append(total, found->second);
        }
      }
      costs.pairs.push_back(total);
    }
  }
  return costs;
}

}  // namespace pleat
