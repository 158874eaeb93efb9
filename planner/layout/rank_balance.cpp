// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/rank_balance.hpp"

#include <algorithm>

namespace pleat {
namespace {

// The pipeline rank of each virtual stage; empty where one is on two ranks.
std::vector<std::size_t> ranks_of_stages(const Schedule& order) {
  const auto stages = static_cast<std::size_t>(virtual_stages(order));
  if (stages != static_cast<std::size_t>(order.pp * chunks_of_stage(order))) return {};
  std::vector<std::size_t> ranks(stages);
  for (int rank = 0; rank < order.pp; ++rank) {
    for (int c = 0; c < chunks_of_stage(order); ++c) {
      ranks[static_cast<std::size_t>(virtual_stage(order, Stage{rank}, ChunkId{c}))] =
          static_cast<std::size_t>(rank);
    }
  }
  return ranks;
}

}  // namespace

std::vector<VirtualStage> rank_balanced_layout(const ModelSpec& model, std::int64_t seq_len,
                                               const Schedule& order, LighterChunks lighter) {
  const std::vector<std::size_t> ranks = ranks_of_stages(order);
  if (ranks.empty() || model.layers == 0) return {};
  const ForwardFlops f = forward_flops(model, seq_len);
  Flops layers;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    layers += model.is_moe(l) ? f.moe_layer : f.dense_layer;
  }
  const Flops layer = layers / static_cast<double>(model.layers);

  std::vector<VirtualStage> layout(ranks.size());
  layout.front().embedding = true;
  layout.back().mtp = model.mtp_layers > 0;
  layout.back().loss = true;
  std::vector<Flops> of_stage(ranks.size()), of_rank(static_cast<std::size_t>(order.pp));
  of_stage.back() = of_rank[ranks.back()] = f.head + f.mtp;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    std::size_t best = 0;
    for (std::size_t s = 1; s < ranks.size(); ++s) {
      const Flops rank = of_rank[ranks[s]], least = of_rank[ranks[best]];
      if (rank > least) continue;
      const bool as_light =
          lighter == LighterChunks::first ? of_stage[s] <= of_stage[best]
                                          : of_stage[s] < of_stage[best];
      if (rank < least || as_light) best = s;
    }
    ++layout[best].layers;
    of_stage[best] += layer;
    of_rank[ranks[best]] += layer;
  }
  std::int64_t first = 0;
  for (VirtualStage& s : layout) {
    s.first_layer = first;
    first += s.layers;
  }
  return layout;
}

Flops busiest_rank_flops(const std::vector<VirtualStage>& layout, const ModelSpec& model,
                         const ForwardFlops& f, const Schedule& order) {
  Flops most;
  for (int rank = 0; rank < order.pp; ++rank) {
    Flops sum;
    for (int c = 0; c < chunks_of_stage(order); ++c) {
      const int stage = virtual_stage(order, Stage{rank}, ChunkId{c});
      sum += forward_flops(layout[static_cast<std::size_t>(stage)], model, f);
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace pleat
