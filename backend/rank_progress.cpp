// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_progress.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace pleat {
std::string where_text(const RankProgress& p) {
  const Op* op = p.running.load(std::memory_order_relaxed);
  const int step = p.step.load(std::memory_order_relaxed);
  if (step < 0) return "waits before the first step";
  if (op == nullptr) return fmt::format("waits for the other ranks at the end of step {}", step);
  std::string text = is_collective(op->kind) ? fmt::format("waits in '{}' ({} over {})", op->name,
                                                           name_of(op->kind), name_of(op->group))
                                             : fmt::format("computes '{}'", op->name);
  const int microbatch = p.microbatch.load(std::memory_order_relaxed);
  if (microbatch >= 0) {
    text += fmt::format(", layer {}, microbatch {}", p.layer.load(std::memory_order_relaxed),
                        microbatch);
  }
  return text + fmt::format(", step {}", step);
}

std::string rank_list(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1].value == ranks[last].value + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", ranks[i].value)
                      : fmt::format("{}-{}", ranks[i].value, ranks[last].value);
    i = last + 1;
  }
  return text;
}

std::string where_all(std::span<const RankWhere> all) {
  std::vector<std::pair<std::string, std::vector<Rank>>> places;
  for (const RankWhere& w : all) {
    auto place = places.begin();
    while (place != places.end() && place->first != w.where) ++place;
    if (place == places.end()) place = places.insert(places.end(), {w.where, {}});
    place->second.push_back(w.rank);
  }
  std::string text;
  for (const auto& [where, ranks] : places) {
    if (!text.empty()) text += "; ";
    text += fmt::format("rank {} {}", rank_list(ranks), where);
  }
  return text;
}

}  // namespace pleat
