// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/memory_tree.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

bool recomputes_less(const MemoryChoice& a, const MemoryChoice& b) {
  if (a.recompute_full) return b.recompute_full;
  return b.recompute_full || std::ranges::includes(b.recompute, a.recompute);
}

bool gives_up_less(const MemoryChoice& a, const MemoryChoice& b) {
  const bool same = a.recompute == b.recompute && a.recompute_full == b.recompute_full &&
                    a.offload == b.offload && a.optimizer_offload == b.optimizer_offload;
  return !same && recomputes_less(a, b) && a.optimizer_offload <= b.optimizer_offload &&
         (b.recompute_full || std::ranges::includes(b.offload, a.offload));
}

// Can the search try `child` below `parent`?
bool may_follow(const MemoryChoice& parent, const MemoryChoice& child) {
  if (parent.optimizer_offload > child.optimizer_offload) return false;
  if (!parent.offload.empty()) {
    return parent.optimizer_offload < child.optimizer_offload && parent.offload == child.offload &&
           parent.recompute == child.recompute && parent.recompute_full == child.recompute_full;
  }
  if (child.offload.empty()) return recomputes_less(parent, child);
  return parent.recompute == child.recompute && parent.recompute_full == child.recompute_full;
}

}  // namespace

MemoryTree::MemoryTree(const std::vector<MemoryChoice>& choices)
    : below_(choices.size()), plans_(choices.size(), 1) {
  std::vector<std::size_t> parent(choices.size());
  for (std::size_t c = 1; c < choices.size(); ++c) {
    for (std::size_t p = 0; p < c; ++p) {  // the last one that may: it gives up most
      if (may_follow(choices[p], choices[c])) parent[c] = p;
    }
    below_[parent[c]].push_back(static_cast<std::int16_t>(c));
  }
  for (std::size_t c = choices.size(); c-- > 1;) {
    PLEAT_ASSERT(parent[c] < c);
    plans_[parent[c]] += plans_[c];
  }
  for (const MemoryChoice& a : choices) {
    auto& row = gives_up_less_.emplace_back();
    for (const MemoryChoice& b : choices) row.push_back(gives_up_less(a, b));
  }
}

const std::vector<std::int16_t>& MemoryTree::below(int choice) const {
  return below_[static_cast<std::size_t>(choice)];
}

std::int64_t MemoryTree::plans_below(int choice) const {
  return plans_[static_cast<std::size_t>(choice)];
}

const char* MemoryTree::supersedes(int listed, int other) const {
  if (listed == other) return "variant";
  const bool less =
      gives_up_less_[static_cast<std::size_t>(listed)][static_cast<std::size_t>(other)];
  return less ? "needless" : nullptr;
}

}  // namespace pleat
