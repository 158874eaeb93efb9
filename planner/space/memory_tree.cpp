// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/memory_tree.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Whether `a` recomputes no more than `b`.
bool recomputes_less(const RecomputeChoice& a, const RecomputeChoice& b) {
  if (!b.full) return !a.full && std::ranges::includes(b.modules, a.modules);
  if (b.layers > 0) return a.full ? a.layers > 0 && a.layers <= b.layers : a.modules.empty();
  return !a.full || a.layers > 0 || a.unit <= b.unit;
}

bool is_plain(const MemoryChoice& c) {
  return c == MemoryChoice{.recompute = {}, .offload = {}, .state = c.state};
}

// A plan by stage saves no more than it needs to.
bool gives_up_less(const MemoryChoice& a, const MemoryChoice& b) {
  if (a.by_stage) return !(a == b) && a.state <= b.state && !is_plain(b);
  if (b.by_stage) return a.state <= b.state && is_plain(a);
  const bool all_again =
      b.recompute.full && b.recompute.layers == 0 && a.recompute != b.recompute;
  return !(a == b) && recomputes_less(a.recompute, b.recompute) && a.state <= b.state &&
         a.offload_layers <= b.offload_layers &&
         (all_again || std::ranges::includes(b.offload, a.offload));
}

// Whether `child` may stand below `parent` in the tree. Recompute in units is not compared with
// other recompute, nor a step on the CPU with state that comes back to the GPU.
bool may_follow(const MemoryChoice& parent, const MemoryChoice& child) {
  if (parent.by_stage) return false;
  const bool same_state = parent.state == child.state;
  if (child.by_stage) return same_state && is_plain(parent);
  if (!same_state && parent.state != StatePlace::device) return false;
  MemoryChoice moved = parent;
  moved.state = child.state;
  if (moved == child) return !same_state;
  if (!parent.offload.empty()) return false;
  const bool plain = parent.recompute == RecomputeChoice{};
  if (child.offload_layers > 0) return plain && parent.offload_layers < child.offload_layers;
  if (parent.offload_layers > 0) return false;
  if (!child.offload.empty()) return parent.recompute == child.recompute;
  return (plain || child.recompute.unit == 1) && recomputes_less(parent.recompute, child.recompute);
}

}  // namespace

MemoryTree::MemoryTree(const std::vector<MemoryChoice>& choices)
    : below_(choices.size()), plans_(choices.size(), 1) {
  std::vector<std::size_t> parent(choices.size());
  for (std::size_t c = 1; c < choices.size(); ++c) {
    for (std::size_t p = 0; p < c; ++p) {  // the last possible parent, which saves the most
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
