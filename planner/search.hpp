// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Finds the best valid plans under the model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct SearchConfig {
  int gpus = 1;
  Runtime runtime = Runtime::megatron;
  Precision precision = Precision::bf16;
  int top = 5;
  double memory_margin = 0.05;  // part of the GPU's memory kept free
  // Pins: only these values are tried; empty means all valid ones.
  std::vector<int> tp, cp, pp, vpp, ep, etp, micro_batch;
  std::optional<Sharding> sharding;
  bool recompute = true;  // may choose recompute modules
  int threads = 0;        // 0: all cores
};

struct Candidate {
  Plan plan;
  StepEstimate estimate;
};

struct SearchResult {
  std::vector<Candidate> best;     // fastest first, at most `top`
  std::vector<Candidate> nearest;  // when nothing fits: least memory missing first
  std::int64_t enumerated = 0, priced = 0;
  std::map<std::string, std::int64_t> rejected;  // by rule name; "memory" for those that do not fit
  double seconds = 0;
};

[[nodiscard]] SearchResult search(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                  const Profile&, const SearchConfig&);

// Why `loser` is slower than `winner`: the rubrics where it loses most, in words.
[[nodiscard]] std::string explain_difference(const Candidate& winner, const Candidate& loser);

}  // namespace pleat
