// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans a search considers. The space is finite and stated here:
//   TP up to the innermost network domain, CP up to 16, PP, VPP, EP, ETP <= TP: divisors (EP: of
//   the experts), microbatches of 1 2 4 8 sequences, the recompute sets of recompute_choices, both
//   layouts of layout_choices, expert-parallel overlap off and, for Megatron and where every stage
//   has passes to pair, on.
// Pinned values are taken as they are. The named constraints decide which combinations are valid.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plan/constraints.hpp"
#include "planner/search.hpp"

namespace pleat {

struct SearchSpace {
  std::vector<Plan> plans;  // valid ones, in plan order: the order that breaks ties
  std::int64_t enumerated = 0;
  std::map<std::string, std::int64_t> rejected;  // by rule
  std::map<std::string, Violation> example;      // the first violation of each rule
};

// A set of modules to recompute, or whole layers.
struct RecomputeChoice {
  std::set<Module> modules;
  bool full = false;
};
[[nodiscard]] std::vector<RecomputeChoice> recompute_choices(const ModelSpec&, bool allowed);

// The dispatcher a runtime would use on this hardware: HybridEP where more than 8 GPUs share an
// NVLink domain (NVL72), DeepEP on other GPUs with fp8 (Hopper and later), else all-to-all.
[[nodiscard]] Dispatcher dispatcher_for(const ModelSpec&, const ClusterSpec&, Runtime);

// Layouts for pp * vpp virtual stages: the even one ("" where the layers divide, else written out)
// and, if it has the smaller bottleneck, the balanced one.
[[nodiscard]] std::vector<std::string> layout_choices(const ModelSpec&, std::int64_t seq_len,
                                                      int pp, int vpp);

[[nodiscard]] SearchSpace enumerate_plans(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                          const SearchConfig&);

// As above; throws ConfigError naming the pin at fault when pins leave nothing, or the rule that
// rejects most when the space is empty without pins.
[[nodiscard]] SearchSpace non_empty_space(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                          const SearchConfig&);

}  // namespace pleat
