// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/mesh_sizes.hpp"

#include <algorithm>

#include "core/plan/layout_text.hpp"

namespace pleat {

std::vector<int> divisors(std::int64_t n, std::int64_t limit) {
  std::vector<int> list;
  for (std::int64_t d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) list.push_back(static_cast<int>(d));
  }
  return list;
}

namespace {

constexpr double kNearlyEven = 0.95;

// Whether the stages together hold nearly as many layers as if all held as many as the largest.
bool splits_nearly_evenly(std::int64_t layers, std::int64_t stages) {
  const std::int64_t largest = (layers + stages - 1) / stages;
  const auto room = static_cast<double>(largest * stages);
  return stages <= layers && static_cast<double>(layers) >= kNearlyEven * room;
}

}  // namespace

std::vector<int> chunk_counts(const ModelSpec& model, int pp) {
  std::vector<int> list{1};
  if (pp == 1) return list;
  for (int v = 2; static_cast<std::int64_t>(v) * pp <= model.layers + 2; ++v) {
    const std::int64_t stages = static_cast<std::int64_t>(v) * pp;
    const bool power = (v & (v - 1)) == 0;
    const bool even =
        splits_nearly_evenly(model.layers, stages) || (model.layers + 2) % stages == 0;
    if (power || even) list.push_back(v);
  }
  return list;
}

int chunks_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zb_h1:
    case PipelineSchedule::dualpipe: return 1;
    case PipelineSchedule::zb_v:
    case PipelineSchedule::dualpipe_v: return 2;
  }
  return 1;
}

std::int64_t stages_of_layout(const std::string& layout) {
  return read_layout_facts(layout).stages;
}

std::vector<int> chunks_of_layouts(const std::vector<std::string>& layouts, int pp) {
  std::vector<int> list;
  for (const std::string& layout : layouts) {
    const std::int64_t stages = stages_of_layout(layout);
    if (stages % pp == 0) list.push_back(static_cast<int>(stages / pp));
  }
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
  return list;
}

}  // namespace pleat
