// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of plan values as they are typed: "mxfp8", "zero1", "moe_act,layernorm". A wrong one is a
// ConfigError (bad_request) that lists the right ones.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace pleat::cli {

struct Recompute {
  std::set<Module> modules;
  bool full = false;
  int layers = 0;  // full: of each chunk; 0: all
};

// `flag` is what the user typed it for, "--precision".
[[nodiscard]] Precision parse_precision(const std::string& word, const std::string& flag);
[[nodiscard]] Sharding parse_sharding(const std::string& word, const std::string& flag);
[[nodiscard]] Dispatcher parse_dispatcher(const std::string& word, const std::string& flag);
[[nodiscard]] Runtime parse_runtime(const std::string& word, const std::string& flag);
[[nodiscard]] CudaGraph parse_cuda_graph(const std::string& word, const std::string& flag);
[[nodiscard]] PipelineSchedule parse_schedule(const std::string& word, const std::string& flag);
[[nodiscard]] OptimizerKind parse_optimizer(const std::string& word, const std::string& flag);
[[nodiscard]] CpComm parse_cp_comm(const std::string& word, const std::string& flag);
[[nodiscard]] DType parse_state_type(const std::string& word, const std::string& flag);
// "none", "full", "full:3", or module names with commas or plus signs between.
[[nodiscard]] Recompute parse_recompute(const std::string& words, const std::string& flag);
// "none", or module names with commas or plus signs between.
[[nodiscard]] std::set<Offload> parse_offload(const std::string& words, const std::string& flag);

[[nodiscard]] std::string name_of_runtime(Runtime);

// All names that the functions above take, as completion offers them; of sets the single ones.
struct PlanNames {
  std::vector<std::string> precision, sharding, dispatcher, runtime, cuda_graph, schedule, optimizer,
      cp_comm, state_type, recompute, offload;
};
[[nodiscard]] PlanNames plan_names();

}  // namespace pleat::cli
