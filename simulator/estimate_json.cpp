// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// An estimate as JSON: seconds and bytes, keys in a fixed order.
#include <nlohmann/json.hpp>

#include "simulator/estimate.hpp"
#include "simulator/report_names.hpp"

namespace pleat {

std::string estimate_json(const StepEstimate& e, const Program& program,
                          const ClusterSpec& cluster, const Profile& profile) {
  using Json = nlohmann::ordered_json;
  Json parts = Json::object();
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    parts[name_of(static_cast<CostClass>(i))] = e.parts[i].base();
  }
  Json stages = Json::array();
  for (std::size_t s = 0; s < e.memory.size(); ++s) {
    const StageMemory& m = e.memory[s];
    stages.push_back({{"stage", m.stage.value},
                      {"busy_s", e.stages[s].busy.base()},
                      {"bubble_s", e.stages[s].bubble.base()},
                      {"memory_bytes",
                       {{"weights", m.weights},
                        {"gradients", m.gradients},
                        {"optimizer", m.optimizer},
                        {"activations", m.activations},
                        {"runtime", m.runtime},
                        {"outside", m.outside},
                        {"allocated", m.allocated()},
                        {"reserved", m.reserved()},
                        {"host", m.host},
                        {"peak", m.peak}}}});
  }
  const Json json = {
      {"schema_version", 1},
      {"model", program.model.name},
      {"cluster", cluster.name},
      {"gpus", program.plan.world()},
      {"plan", summary(program.plan)},
      {"runtime", runtime_name(program.runtime)},
      {"profile", profile.name},
      {"source", source_name(e.source)},
      {"step_s", e.step.base()},
      {"band_s", {e.low.base(), e.high.base()}},
      {"parts_s", parts},
      {"stages", stages},
      {"peak_bytes", e.peak_bytes()},
      {"peak_allocated_bytes", e.peak_allocated_bytes()},
      {"peak_reserved_bytes", e.peak_reserved_bytes()},
      {"peak_device_bytes", e.peak_device_bytes()},
      {"host_node_bytes", e.host_bytes},
      {"gpu_memory_bytes", static_cast<std::int64_t>(cluster.gpu.memory.base())},
      {"host_node_memory_bytes", static_cast<std::int64_t>(cluster.host_memory.base())},
      {"fits", e.fits},
      {"tokens_per_second", e.tokens_per_second},
      {"tokens_per_second_per_gpu", e.tokens_per_second_per_gpu},
      {"model_flops_per_gpu", e.model_flops_per_gpu.base()},
      {"mfu", e.mfu},
  };
  return json.dump(2) + "\n";
}

}  // namespace pleat
