// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published runs: one run as its source states it, and files of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/plan/plan_table.hpp"

namespace pleat {

// One published run: its settings in the words of its source and what was measured. Absent means
// "not stated"; docs/VALIDATION.md says what is put in its place.

struct RecomputeWords {
  std::string granularity;  // none, selective, full
  std::vector<std::string> modules;
  std::optional<std::int64_t> num_layers;
};

struct OptimizerWords {
  std::optional<std::string> main_grads, main_params, exp_avg, exp_avg_sq, grad_reduce;
  std::optional<bool> precision_aware, grad_reduce_fp32, fp8_param_gather;
};

struct PlanWords {
  std::optional<int> micro_batch, tp, pp, cp, vpp, ep, etp, fsdp_group, dispatcher_sms,
      cp_a2a, optimizer_instances, ddp_bucket_size;
  std::optional<std::string> sharding, precision, dispatcher, cuda_graph, layout, cp_comm,
      schedule;
  std::optional<RecomputeWords> recompute;
  std::vector<std::string> offload;
  // Switches of a plan by row of its table. A row of a file has them by their flags: "ep_overlap".
  std::array<std::optional<bool>, kPlanFieldCount> switches;
  template <auto... Members>  // stated<&Plan::sequence_parallel>()
  [[nodiscard]] const std::optional<bool>& stated() const {
    return switches[kPlanRow<Members...>];
  }
  OptimizerWords optimizer;
};

// What a peak counts: tensors, what the allocator holds for them, or all on the device.
enum class PeakKind { allocated, reserved, device };

struct Measurement {
  std::optional<double> step_time_s, tflops_per_gpu, mfu;
  std::optional<double> peak_bytes;  // of the fullest rank
  PeakKind peak_kind = PeakKind::allocated;
};

struct MeasuredRun {
  std::string where;  // "runs.jsonl:17"
  std::string id, tier, source, era, runtime, cluster, group, flops_convention, notes;
  std::string headline;  // the published claim this run stands for; empty: none
  std::string model_name;
  JsonValue model;  // a Hugging Face object; null: a shipped model of that name
  std::optional<std::int64_t> num_layers, mtp_layers, dense_layers;  // overrides
  int gpus = 0;
  std::int64_t seq_len = 0, global_batch = 0;
  std::optional<std::string> routing, optimizer;
  bool unbound_ranks = false;
  PlanWords plan;
  Measurement measured;
  std::optional<double> flop_per_token;  // as the source counts
  std::string settings;  // everything above but the era and what was measured, as text
  std::vector<std::pair<std::string, double>> peers_s;            // step times others predict
  std::vector<std::pair<std::string, double>> peers_peak_bytes;   // and memory
};

// Files of published runs: one JSON object a line (configs/validation/README.md has the fields).

// ConfigError (bad_file) with every problem of the file. Fields it does not know are left alone:
// sources say more than what a prediction needs.
[[nodiscard]] std::vector<MeasuredRun> read_runs(const std::string& text,
                                                 const std::string& file_name);

// The files of configs/validation, in order of their names.
[[nodiscard]] std::vector<std::string> shipped_run_files();

}  // namespace pleat
