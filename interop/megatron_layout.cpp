// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/megatron_layout.hpp"

#include <fmt/format.h>

#include "core/plan/layout.hpp"

namespace pleat::interop {
namespace {

constexpr const char* kEmbedding = "account_for_embedding_in_pipeline_split";
constexpr const char* kLoss = "account_for_loss_in_pipeline_split";
constexpr const char* kFirst = "decoder_first_pipeline_num_layers";
constexpr const char* kLast = "decoder_last_pipeline_num_layers";

// Layers of each stage, all chunks together; empty after a problem.
std::vector<std::int64_t> stage_layers(const ArgumentReader& r, std::int64_t layers, int pp) {
  const auto first = r.integer(kFirst), last = r.integer(kLast);
  const std::int64_t others = pp - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t left = layers - first.value_or(0) - last.value_or(0);
  if (left < 0 || others < 0 || (others == 0 && left != 0) || (others > 0 && left % others != 0)) {
    r.problem(first ? kFirst : kLast, fmt::format("{} layers are left for {} stages", left, others),
              "stages between the first and the last have as many layers each");
    return {};
  }
  std::vector<std::int64_t> stages(static_cast<std::size_t>(pp), others > 0 ? left / others : 0);
  if (first) stages.front() = *first;
  if (last) stages.back() = *last;
  return stages;
}

}  // namespace

std::int64_t counted_layers(const ArgumentReader& r, const ModelSpec& m) {
  return m.layers + (r.is_on(kEmbedding) ? 1 : 0) + (r.is_on(kLoss) ? 1 : 0);
}

void read_split(const ArgumentReader& r, const ModelSpec& m, Plan& p) {
  const bool embedding = r.is_on(kEmbedding), loss = r.is_on(kLoss);
  const bool sized = r.integer(kFirst) || r.integer(kLast);
  const int pp = p.attention.pp, vpp = p.vpp;
  if (!p.layout.empty() || pp == 1 || !(sized || embedding || loss)) return;
  if (std::int64_t{pp} * vpp > m.layers + 2) return;  // a rule of plans says it
  std::vector<VirtualStage> split(static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp));
  if (sized && (embedding || loss)) {
    r.problem(embedding ? kEmbedding : kLoss, "excludes sizes of the first and last stage");
    return;
  }
  if (sized) {
    const std::vector<std::int64_t> stages = stage_layers(r, m.layers, pp);
    if (stages.empty()) return;
    for (std::size_t i = 0; i < split.size(); ++i) {
      const std::int64_t all = stages[i % static_cast<std::size_t>(pp)];
      if (all % vpp != 0) {
        r.problem(kFirst, fmt::format("{} layers of a stage are not {} chunks", all, vpp));
        return;
      }
      split[i].layers = all / vpp;
    }
  } else {
    const std::int64_t all = counted_layers(r, m), chunks = std::int64_t{pp} * vpp;
    if (all % chunks != 0) {
      r.problem(embedding ? kEmbedding : kLoss,
                fmt::format("{} layers with what counts as one are not {} chunks", all, chunks));
      return;
    }
    for (VirtualStage& s : split) s.layers = all / chunks;
    split.front().layers -= embedding ? 1 : 0;
    split.back().layers -= loss ? 1 : 0;
  }
  std::int64_t at = 0;
  for (VirtualStage& s : split) {
    s.first_layer = at;
    at += s.layers;
  }
  split.front().embedding = true;
  split.back().loss = true;
  split.back().mtp = m.mtp_layers > 0;
  const bool even = split == even_layout(m.layers, m.mtp_layers > 0, pp, vpp);
  if (!even) p.layout = to_layout_string(split);
}

}  // namespace pleat::interop
