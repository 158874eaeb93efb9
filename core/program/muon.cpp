// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which weights Muon orthogonalises, and how the layer-wise distributed optimizer deals them out.
#include <algorithm>
#include <queue>
#include <tuple>

#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// Multiply-adds of one Newton-Schulz iteration: X X^T, its square, and the product with X.
double iteration_work(const MatrixShape& m) {
  const double a = static_cast<double>(std::min(m.rows, m.columns));
  const double b = static_cast<double>(std::max(m.rows, m.columns));
  return 2 * a * a * b + a * a * a;
}

bool splits_columns(const std::string& name) {
  return name.find("fc2") != std::string::npos || name.find("attn_proj") != std::string::npos;
}

// The matrices of one weight. Queries, keys and values are three (mcore's muon_split_qkv).
std::vector<MatrixShape> matrices_of(const Tensor& w, const Weight& weight, const ModelSpec& model,
                                     const Plan& plan) {
  const AttentionSpec& a = model.attention;
  if (w.name == "W.qkv" && a.kind == AttentionKind::gqa) {
    const std::int64_t v_dim = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
    return {{a.heads * a.head_dim, model.hidden, 1},
            {a.kv_groups * a.head_dim, model.hidden, 1},
            {a.kv_groups * v_dim, model.hidden, 1}};
  }
  const bool experts = weight.bucket == Bucket::expert;
  const std::size_t first = experts && w.shape.size() == 3 ? 1 : 0;
  MatrixShape m{w.shape[first].n, 1, first == 1 ? w.shape.front().n : 1};
  for (std::size_t i = first + 1; i < w.shape.size(); ++i) m.columns *= w.shape[i].n;
  const int split = experts ? plan.expert.etp : weight.replicated_over_tp ? 1 : plan.attention.tp;
  (splits_columns(w.name) ? m.columns : m.rows) *= split;
  return {m};
}

}  // namespace

bool is_muon_matrix(const LayerProgram& layer, const Weight& w) {
  const Tensor& t = layer.tensor(w.weight);
  const bool table = t.name == "W.embedding" || t.name == "W.head" || t.name == "W.positions";
  if (w.buffer || table || t.name.ends_with(".bias") || t.shape.size() < 2) return false;
  return std::ranges::all_of(t.shape, [](const Dim& d) { return d.n > 1; }) ||
         (w.bucket == Bucket::expert && t.shape.size() == 3);
}

std::vector<MatrixShape> owned_matrices(const StageProgram& stage, const ModelSpec& model,
                                        const Plan& plan, std::size_t bucket) {
  std::vector<MatrixShape> all;
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (const Weight& w : layer.weights) {
        if (static_cast<std::size_t>(w.bucket) + 2 != bucket || !is_muon_matrix(layer, w)) continue;
        for (const MatrixShape& m : matrices_of(layer.tensor(w.weight), w, model, plan)) {
          const auto same = std::ranges::find_if(all, [&m](const MatrixShape& other) {
            return other.rows == m.rows && other.columns == m.columns;
          });
          if (same == all.end()) all.push_back(m);
          else same->count += m.count;
        }
      }
    }
  }
  std::ranges::sort(all, [](const MatrixShape& a, const MatrixShape& b) {
    return std::make_tuple(iteration_work(a), a.rows) > std::make_tuple(iteration_work(b), b.rows);
  });
  const auto shards = static_cast<std::size_t>(stage.buckets[bucket].shards);
  std::vector<std::vector<std::int64_t>> owned(shards, std::vector<std::int64_t>(all.size()));
  using Load = std::pair<double, std::size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::size_t rank = 0; rank < shards; ++rank) least.emplace(0.0, rank);
  for (std::size_t s = 0; s < all.size(); ++s) {
    const double work = iteration_work(all[s]);
    // What divides evenly goes to all at once.
    const std::int64_t each = s == 0 ? all[s].count / static_cast<std::int64_t>(shards) : 0;
    if (each > 0) {
      least = {};
      for (std::size_t rank = 0; rank < shards; ++rank) {
        owned[rank][s] = each;
        least.emplace(work * static_cast<double>(each), rank);
      }
    }
    for (std::int64_t i = each * static_cast<std::int64_t>(shards); i < all[s].count; ++i) {
      const auto [load, rank] = least.top();
      least.pop();
      ++owned[rank][s];
      least.emplace(load + work, rank);
    }
  }
  std::size_t fullest = 0;
  double most = -1;
  for (; !least.empty(); least.pop()) {
    const auto [load, rank] = least.top();
    if (load > most) std::tie(most, fullest) = std::make_pair(load, rank);
  }
  for (std::size_t s = 0; s < all.size(); ++s) all[s].count = owned[fullest][s];
  std::erase_if(all, [](const MatrixShape& m) { return m.count == 0; });
  return all;
}

}  // namespace pleat
