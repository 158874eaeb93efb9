// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which weights Muon orthogonalises, and how the layer-wise distributed optimizer deals them out.
#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "core/program/step_state.hpp"

namespace pleat {
namespace {

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
  const int split = experts ? plan.expert.etp : weight.replicated ? 1 : plan.attention.tp;
  (splits_columns(w.name) ? m.columns : m.rows) *= split;
  return {m};
}

// The bands of a packed weight that are matrices of their own: rows in each part, and the cut.
std::vector<std::pair<std::int64_t, Cut>> bands_of(const Tensor& w, const Weight& weight,
                                                   const ModelSpec& model, std::int64_t rows) {
  const AttentionSpec& a = model.attention;
  const std::int64_t v_dim = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
  const std::array<std::int64_t, 3> whole{a.heads * a.head_dim, a.kv_groups * a.head_dim,
                                          a.kv_groups * v_dim};
  const Cut& cut = weight.cut;
  const bool packed = w.name == "W.qkv" && a.kind == AttentionKind::gqa;
  if (!packed || (!cut.bands.empty() && cut.bands.size() != whole.size())) return {{rows, cut}};
  std::vector<std::pair<std::int64_t, Cut>> bands;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Cut one;
    std::int64_t each = whole[i];
    if (!cut.bands.empty()) {
      const Band& band = cut.bands[i];
      const int parts = band.parts > 0 ? band.parts : cut.ranks;
      one = {cut.columns, cut.ranks, {band}};
      each = (band.whole + parts - 1) / parts;
    }
    bands.emplace_back(each, one);
    sum += each;
  }
  if (sum != rows) return {{rows, cut}};  // gates beside them
  return bands;
}

}  // namespace

double iteration_work(const MatrixShape& m) {
  const double a = static_cast<double>(std::min(m.rows, m.columns));
  const double b = static_cast<double>(std::max(m.rows, m.columns));
  return 2 * a * a * b + a * a * a;
}

std::vector<MatrixPart> matrix_parts(const StageProgram& stage, const ModelSpec& model,
                                     std::size_t bucket) {
  std::vector<MatrixPart> all;
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const WeightSlot& slot = instance.slots[i];
        const Weight& w = layer.weights[i];
        if (w.buffer || static_cast<std::size_t>(slot.bucket) != bucket) continue;
        const Tensor& t = layer.tensor(w.weight);
        const bool grouped = w.bucket == Bucket::expert && t.shape.size() == 3;
        const std::int64_t count = grouped ? t.shape.front().n : 1;
        const std::int64_t rows = t.shape[grouped ? 1 : 0].n;
        const std::int64_t columns = w.elements / count / rows;
        std::int64_t first = slot.offset;
        for (std::int64_t e = 0; e < count; ++e) {
          for (const auto& [band_rows, cut] : bands_of(t, w, model, rows)) {
            all.push_back({first, band_rows, columns, cut});
            first += band_rows * columns;
          }
        }
      }
    }
  }
  std::ranges::sort(all, {}, &MatrixPart::first);
  return all;
}

MatrixShape whole_shape(const MatrixPart& m) {
  const std::int64_t whole = whole_elements(m.cut, m.rows, m.columns);
  if (m.cut.columns) return {m.rows, whole / m.rows, 1};
  return {whole / m.columns, m.columns, 1};
}

std::vector<const MatrixPart*> matrices_in(const std::vector<MatrixPart>& all, std::int64_t first,
                                           std::int64_t end) {
  std::vector<const MatrixPart*> found;
  for (const MatrixPart& m : all) {
    if (m.first < end && m.first + m.elements() > first) found.push_back(&m);
  }
  return found;
}

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
