// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/choice_ways.hpp"

#include <algorithm>
#include <map>

namespace pleat {
namespace {

template <class T>
std::size_t index_in(std::vector<T>& list, const T& value) {
  const auto known = std::ranges::find(list, value);
  if (known != list.end()) return static_cast<std::size_t>(known - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

}  // namespace

ChoiceWays::ChoiceWays(const std::vector<MemoryChoice>& all) {
  for (const MemoryChoice& c : all) {
    choices.push_back({index_in(recompute, {.parts = parts_of(c.recompute.modules),
                                            .full = c.recompute.full,
                                            .layers = c.recompute.layers,
                                            .unit = c.recompute.unit}),
                       index_in(offload,
                                {.modules = bits_of(c.offload), .layers = c.offload_layers}),
                       c.state, c.share, c.by_stage});
  }
}

ChoiceWays::ChoiceWays(const std::vector<MemoryChoice>& all, const MemoryTree& tree)
    : ChoiceWays(all) {
  for (std::size_t c = 0; c < choices.size(); ++c) {
    for (const std::int16_t below : tree.below(static_cast<int>(c))) {
      if (!choices[c].by_stage) choices[static_cast<std::size_t>(below)].less = static_cast<int>(c);
    }
  }
  std::map<std::pair<std::size_t, StatePlace>, std::vector<std::size_t>> alike;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    if (choices[c].by_stage || offload[choices[c].offload].layers > 0) continue;
    alike[{choices[c].recompute, choices[c].state}].push_back(c);
  }
  for (const auto& [key, list] : alike) {
    std::uint32_t every = 0;
    for (const std::size_t c : list) every |= offload[choices[c].offload].modules;
    const auto most = std::ranges::find_if(
        list, [&](std::size_t c) { return offload[choices[c].offload].modules == every; });
    if (most == list.end()) continue;
    for (const std::size_t c : list) choices[c].most = static_cast<int>(*most);
  }
}

}  // namespace pleat
