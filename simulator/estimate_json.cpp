// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// An estimate as JSON: seconds and bytes, keys in a fixed order.
#include "core/json/json_value.hpp"
#include "simulator/estimate.hpp"
#include "simulator/layer_rows.hpp"

namespace pleat {
namespace {

JsonValue stage_json(const StageTime& time, const StageMemory& m) {
  return JsonValue::object()
      .set("stage", m.stage.value)
      .set("busy_s", JsonValue::finite(time.busy.base()))
      .set("bubble_s", JsonValue::finite(time.bubble.base()))
      .set("memory_bytes", JsonValue::object()
                               .set("weights", m.weights)
                               .set("gradients", m.gradients)
                               .set("optimizer", m.optimizer)
                               .set("activations", m.activations)
                               .set("runtime", m.runtime)
                               .set("outside", m.outside)
                               .set("allocated", m.allocated())
                               .set("reserved", m.reserved())
                               .set("host", m.host)
                               .set("peak", m.peak));
}

}  // namespace

JsonValue estimate_json(const StepEstimate& e, const Program& program, const ClusterSpec& cluster,
                        const Profile& profile) {
  JsonValue parts = JsonValue::object();
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    parts.set(name_of(static_cast<CostClass>(i)), JsonValue::finite(e.parts[i].base()));
  }
  JsonValue stages = JsonValue::array();
  for (std::size_t s = 0; s < e.memory.size(); ++s) {
    stages.push_back(stage_json(e.stages[s], e.memory[s]));
  }
  JsonValue band = JsonValue::array();
  band.push_back(JsonValue::finite(e.low.base())).push_back(JsonValue::finite(e.high.base()));
  JsonValue json = JsonValue::object();
  json.set("schema_version", 1)
      .set("model", program.model.name)
      .set("cluster", cluster.name)
      .set("gpus", program.plan.world())
      .set("plan", summary(program.plan))
      .set("runtime", runtime_name(program.runtime))
      .set("profile", profile.name)
      .set("source", source_name(e.source))
      .set("step_s", JsonValue::finite(e.step.base()))
      .set("band_s", std::move(band))
      .set("parts_s", std::move(parts))
      .set("stages", std::move(stages))
      .set("peak_bytes", e.peak_bytes())
      .set("peak_allocated_bytes", e.peak_allocated_bytes())
      .set("peak_reserved_bytes", e.peak_reserved_bytes())
      .set("peak_device_bytes", e.peak_device_bytes())
      .set("host_node_bytes", e.host_bytes)
      .set("gpu_memory_bytes", static_cast<std::int64_t>(cluster.gpu.memory.base()))
      .set("host_node_memory_bytes", static_cast<std::int64_t>(cluster.host_memory.base()))
      .set("fits", e.fits)
      .set("tokens_per_second", JsonValue::finite(e.tokens_per_second))
      .set("tokens_per_second_per_gpu", JsonValue::finite(e.tokens_per_second_per_gpu))
      .set("model_flops_per_gpu", JsonValue::finite(e.model_flops_per_gpu.base()))
      .set("mfu", JsonValue::finite(e.mfu))
      .set("mfu_of_precision", JsonValue::finite(e.mfu_of_precision));
  if (!program.model.left_out.empty()) {
    JsonValue list = JsonValue::array();
    for (const std::string& what : program.model.left_out) list.push_back(what);
    json.set("left_out", std::move(list));
  }
  if (profile.learned) {
    json.set("learned_from_runs", static_cast<std::int64_t>(profile.learned->runs.size()));
  }
  if (const auto ranks = busiest_ranks(program.model, program.workload, program.plan)) {
    json.set("busiest_rank_over_mean", JsonValue::object()
                                           .set("average", ranks->mean)
                                           .set("largest", ranks->most)
                                           .set("layer", ranks->layer));
  }
  return json;
}

}  // namespace pleat
