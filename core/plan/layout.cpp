// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layout strings to virtual stages and back.
#include "core/plan/layout.hpp"

#include <fmt/format.h>

#include "core/diagnostics.hpp"
#include "core/plan/layout_text.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

std::string describe(LayoutFault fault, const LayoutFacts& f, const LayoutExpectation& want) {
  switch (fault) {
    case kNoEmbedding: return "no E (embedding) at position 1";
    case kMisplacedEmbedding:
      return fmt::format("E (embedding) at position {} is not the first symbol",
                         f.misplaced_embedding + 1);
    case kNoLoss:
      return fmt::format("no L (loss): the layout ends at position {} after {} decoder layers",
                         f.end, f.layers);
    case kMisplacedLoss:
      return fmt::format("L (loss) at position {} is not the last symbol", f.misplaced_loss + 1);
    case kLayerCount:
      if (f.layers == 0) return fmt::format("no decoder layer (t), the model has {}", want.layers);
      return fmt::format("{} decoder layers (t), the model has {}; the last t is at position {}",
                         f.layers, want.layers, f.last_layer + 1);
    case kStageCount: {
      std::string text = fmt::format("{} virtual stages, but PP*VPP = {}*{} = {}", f.stages,
                                     want.pp, want.vpp, want.pp * want.vpp);
      if (f.last_bar != kNowhere)
        text += fmt::format("; the last | is at position {}", f.last_bar + 1);
      return text;
    }
    case kMtpMissing: return "no m (multi-token prediction), but the model has an MTP block";
    case kMtpUnexpected:
      return fmt::format(
          "m (multi-token prediction) at position {}, but the model has no MTP block", f.mtp + 1);
    case kLayerAfterMtp:
      return fmt::format("t at position {} follows an m: MTP comes after all decoder layers",
                         f.layer_after_mtp + 1);
    case kMtpSplit:
      return fmt::format("m at position {} is in another virtual stage than the first m",
                         f.split_mtp + 1);
    case kMtpEarly:
      return fmt::format("m at position {} is in chunk {} of its rank; MTP must be in the last, {}",
                         f.mtp + 1, f.mtp_stage / want.pp, want.vpp - 1);
  }
  return {};
}

// One virtual stage as text, without its '|'.
std::string stage_text(const VirtualStage& s) {
  std::string text = s.embedding ? "E" : "";
  if (s.layers > 2) {
    text += fmt::format("t*{}", s.layers);
  } else {
    text.append(static_cast<std::size_t>(s.layers), 't');
  }
  if (s.mtp) text += 'm';
  if (s.loss) text += 'L';
  return text;
}

}  // namespace

std::vector<VirtualStage> parse_layout(const std::string& layout, std::int64_t layers, bool mtp,
                                       int pp, int vpp) {
  PLEAT_ASSERT(layers >= 1 && pp >= 1 && vpp >= 1);
  const LayoutSyntax syntax = check_layout_syntax(layout);
  if (syntax.problem != nullptr) {
    const bool long_one = syntax.code == ExitCode::bad_file;
    throw_config_error(syntax.code, "", "layout",
                       long_one
                           ? std::string(syntax.problem)
                           : fmt::format("{} at position {}", syntax.problem, syntax.position + 1));
  }
  const LayoutFacts facts = read_layout_facts(layout);
  const LayoutExpectation want{.layers = layers, .mtp = mtp, .pp = pp, .vpp = vpp};
  const unsigned faults = layout_faults(facts, want);
  Diagnostics problems;
  for (int bit = 0; bit < kLayoutFaults; ++bit) {
    const auto fault = static_cast<LayoutFault>(1u << bit);
    if (faults & fault) {
      problems.error(ExitCode::bad_request, "", "layout", describe(fault, facts, want));
    }
  }
  problems.throw_if_errors();

  std::vector<VirtualStage> stages(1);
  stages.reserve(static_cast<std::size_t>(facts.stages));
  for_each_symbol(layout, [&](char symbol, std::size_t) {
    VirtualStage& s = stages.back();
    if (symbol == '|') {
      stages.push_back({.first_layer = s.first_layer + s.layers});
    } else {
      s.embedding |= symbol == 'E';
      s.layers += symbol == 't';
      s.mtp |= symbol == 'm';
      s.loss |= symbol == 'L';
    }
  });
  return stages;
}

std::vector<VirtualStage> even_layout(std::int64_t layers, bool mtp, int pp, int vpp) {
  PLEAT_ASSERT(layers >= 1 && pp >= 1 && vpp >= 1);
  const std::int64_t count = static_cast<std::int64_t>(pp) * vpp;
  std::vector<VirtualStage> stages(static_cast<std::size_t>(count));
  const bool ends_count = layers % count != 0 && (layers + 2) % count == 0;
  const std::int64_t base = (ends_count ? layers + 2 : layers) / count;
  const std::int64_t remainder = ends_count ? 0 : layers % count;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    VirtualStage& s = stages[static_cast<std::size_t>(i)];
    s.first_layer = first;
    s.layers = base + (i >= 1 && i <= remainder ? 1 : 0);
    if (ends_count && (i == 0 || i == count - 1)) --s.layers;
    first += s.layers;
  }
  stages.front().embedding = true;
  stages.back().mtp = mtp;
  stages.back().loss = true;
  PLEAT_ASSERT(first == layers);
  return stages;
}

std::string to_layout_string(const std::vector<VirtualStage>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    const std::string stage = stage_text(stages[i]);
    std::size_t end = i + 1;
    while (end < stages.size() && stage_text(stages[end]) == stage) ++end;
    const bool closes = end == stages.size();  // no '|' after the last stage
    const std::size_t barred = end - i - (closes ? 1 : 0);
    if (barred == 1) text += stage + '|';
    if (barred > 1) text += fmt::format("({}|)*{}", stage, barred);
    if (closes) text += stage;
    i = end;
  }
  return text;
}

std::vector<VirtualStage> stage_layout(const Plan& plan, const ModelSpec& model) {
  const bool mtp = model.mtp_layers > 0;
  if (plan.layout.empty()) return even_layout(model.layers, mtp, plan.attention.pp, plan.vpp);
  return parse_layout(plan.layout, model.layers, mtp, plan.attention.pp, plan.vpp);
}

}  // namespace pleat
