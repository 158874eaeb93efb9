// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/memory_tree.hpp"

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"
#include "simulator/layer_savings.hpp"

namespace pleat {
MemoryTree::Bits::Bits(const MemoryChoice& c)
    : choice(c),
      modules(parts_of(c.recompute.modules)),
      offload(bits_of(c.offload)),
      plain(c.keeps_activations()) {}

bool MemoryTree::same_recompute(const Bits& a, const Bits& b) {
  const RecomputeChoice &x = a.choice.recompute, &y = b.choice.recompute;
  return a.modules == b.modules && x.full == y.full && x.layers == y.layers && x.unit == y.unit;
}

// Whether `a` recomputes no more than `b`.
bool MemoryTree::recomputes_less(const Bits& a, const Bits& b) {
  const RecomputeChoice &x = a.choice.recompute, &y = b.choice.recompute;
  if (!y.full) return !x.full && includes(b.modules, a.modules);
  if (y.layers > 0) return x.full ? x.layers > 0 && x.layers <= y.layers : a.modules == 0;
  return !x.full || x.layers > 0 || x.unit <= y.unit;
}

bool MemoryTree::same(const Bits& a, const Bits& b) {
  const MemoryChoice &x = a.choice, &y = b.choice;
  return same_recompute(a, b) && a.offload == b.offload && x.offload_layers == y.offload_layers &&
         x.state == y.state && x.by_stage == y.by_stage && x.only_bounds == y.only_bounds;
}

// A plan by stage saves no more than it needs to.
bool MemoryTree::gives_up_less(const Bits& a, const Bits& b) {
  const MemoryChoice &x = a.choice, &y = b.choice;
  if (x.by_stage) return !same(a, b) && x.state <= y.state && !b.plain;
  if (y.by_stage) return x.state <= y.state && a.plain;
  const bool all_again = y.recompute.full && y.recompute.layers == 0 && !same_recompute(a, b);
  return !same(a, b) && recomputes_less(a, b) && x.state <= y.state &&
         x.offload_layers <= y.offload_layers && (all_again || includes(b.offload, a.offload));
}

// Whether `child` may stand below `parent` in the tree. Recompute in units is not compared with
// other recompute, nor a step on the CPU with state that comes back to the GPU.
bool MemoryTree::may_follow(const Bits& parent, const Bits& child) {
  const MemoryChoice &p = parent.choice, &c = child.choice;
  if (p.by_stage) return false;
  const bool same_state = p.state == c.state;
  if (c.by_stage) return same_state && parent.plain;
  if (!same_state && p.state != StatePlace::device) return false;
  const bool moved = same_recompute(parent, child) && parent.offload == child.offload &&
                     p.offload_layers == c.offload_layers && p.only_bounds == c.only_bounds;
  if (moved) return !same_state;
  if (parent.offload != 0) {  // more of the same
    return same_recompute(parent, child) && child.offload != parent.offload &&
           includes(child.offload, parent.offload) && c.offload_layers == 0;
  }
  const bool keeps_all = parent.modules == 0 && !p.recompute.full;
  if (c.offload_layers > 0) return keeps_all && p.offload_layers < c.offload_layers;
  if (p.offload_layers > 0) return false;
  if (child.offload != 0) return same_recompute(parent, child);
  return (keeps_all || c.recompute.unit == 1) && recomputes_less(parent, child);
}

MemoryTree::MemoryTree(const std::vector<MemoryChoice>& choices)
    : bits_(choices.begin(), choices.end()), below_(choices.size()), plans_(choices.size(), 1) {
  PLEAT_ASSERT(choices.size() <= std::numeric_limits<std::int16_t>::max());
  std::vector<std::size_t> parent(choices.size());
  for (std::size_t c = 1; c < choices.size(); ++c) {
    for (std::size_t p = c; p-- > 0;) {  // the last possible parent, which saves the most
      if (!may_follow(bits_[p], bits_[c])) continue;
      parent[c] = p;
      break;
    }
    below_[parent[c]].push_back(static_cast<std::int16_t>(c));
  }
  for (std::size_t c = choices.size(); c-- > 1;) {
    PLEAT_ASSERT(parent[c] < c);
    plans_[parent[c]] += plans_[c];
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
  const bool less = gives_up_less(bits_[static_cast<std::size_t>(listed)],
                                  bits_[static_cast<std::size_t>(other)]);
  return less ? "over-saving" : nullptr;
}

}  // namespace pleat
