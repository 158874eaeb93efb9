// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is trained per step.
#pragma once

#include <cstdint>
#include <vector>

namespace pleat {

enum class Routing { forced, natural };  // forced: every expert gets the same number of tokens

// How the tokens of one layer spread over its experts, in any unit.
struct ExpertLoads {
  int layer = 0;  // as in traces: from 0, prediction depths from layers + 1
  std::vector<double> of;  // by expert
  bool operator==(const ExpertLoads&) const = default;
};

struct WorkloadSpec {
  std::int64_t seq_len = 4096;
  std::int64_t global_batch = 1;  // sequences per step
  Routing routing = Routing::forced;
  double capacity_factor = 0;  // tokens an expert takes over the balanced mean; 0: none dropped
  bool pad_to_capacity = false;
  // For natural routing: the busiest rank's routed tokens over the mean, on top of what the last
  // two fields say.
  double imbalance = 1.0;
  // Expected slow-down of the slowest rank over the mean, 0.02: 2%; every synchronous step waits.
  double straggler_slowdown = 0;
  // Ranks run on any core and memory of their node, not on those next to their GPU.
  bool unbound_ranks = false;
  // Lengths of the documents that a sequence is packed from, equally frequent; empty: each sequence
  // is one document. Attention does not look across documents.
  std::vector<std::int64_t> documents = {};
  // For natural routing (core/spec/expert_load.hpp): standard deviation of an expert's load over
  // the mean, or loads that are known, of every layer with experts, by layer. 0, empty: all alike.
  double expert_spread = 0;
  std::vector<ExpertLoads> expert_loads = {};
  bool operator==(const WorkloadSpec&) const = default;
};

// How packing changes attention: the lengths of the documents in a sequence
// (core/spec/packing.cpp).
struct Packing {
  double mean_length = 0;  // mean over tokens of the length of a token's document: sum l^2 / sum l
  double variation = 0;    // of sum l^2 between sequences: standard deviation over mean
};
// Documents longer than the sequence are cut to it; context parallelism pads each to a multiple of
// 2 cp. Without documents: {seq_len, 0}.
[[nodiscard]] Packing packing_of(const WorkloadSpec&, int cp);
// The mean length in whole tokens, by which model FLOPs count attention.
[[nodiscard]] std::int64_t attended_length(const WorkloadSpec&);

}  // namespace pleat
