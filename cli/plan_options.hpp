// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The options that name a model, a cluster, a workload and a plan, shared by the commands that need
// one. Kept as typed; cli/request.hpp turns them into checked specs.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pleat::cli {

// What is to be run, and where.
struct TargetOptions {
  std::string model, cluster, profile, runtime;
  std::optional<int> gpus;
  std::optional<std::int64_t> seq_len, global_batch;
  std::optional<double> capacity_factor, straggler_slowdown;
  std::vector<std::int64_t> documents;
  bool pad_to_capacity = false;
  bool accept_mismatch = false;
};

// How: one field a flag; absent is the runtime's default.
struct ShapeOptions {
  std::optional<int> tp, cp, pp, vpp, ep, etp, micro_batch;
  std::optional<int> microbatch_group, dispatcher_sms, offload_layers, fsdp_group,
      cp_a2a, optimizer_instances, recompute_unit;
  std::optional<std::string> layout, precision, recompute, sharding, dispatcher, cp_comm, offload,
      recompute_stages, offload_stages, cuda_graph, main_grads, main_params, exp_avg, exp_avg_sq, grad_reduce, schedule, optimizer;
  std::optional<double> state_offload, cpu_optimizer, paged_stash, stash_capacity;
  bool ep_overlap = false, delay_wgrad = false, tp_overlap = false, shared_expert_overlap = false;
  bool no_grad_overlap = false, no_param_overlap = false, no_sequence_parallel = false;
  bool no_fp8_params = false, fp8_attention = false, fp8_head = false;
  bool no_flash_attention = false, overlap_cpu_optimizer = false;
  bool tile_overlap = false, fp8_dispatch = false, fp8_combine = false;
};

struct PlanOptions {
  TargetOptions target;
  ShapeOptions shape;
  std::string plan_file;
};

void add_target_options(CLI::App&, TargetOptions&);
void add_shape_options(CLI::App&, ShapeOptions&);
void add_plan_options(CLI::App&, PlanOptions&);  // both, and --plan FILE

// "tp=1,pp=2,vpp=8,ep=32" as the flags of the same names would give it. ConfigError (bad_request)
// names every wrong part; `flag` is where it was typed.
[[nodiscard]] ShapeOptions parse_shape(const std::string& text, const std::string& flag);

// The first plan-shape flag that was given, for messages; empty when none was.
[[nodiscard]] std::string first_shape_flag(const ShapeOptions&);

}  // namespace pleat::cli
