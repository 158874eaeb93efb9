// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/export_target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names{"megatron", "megatron-bridge", "torchtitan",
                                              "deepspeed"};
  return names;
}

interop::Target parse_target(const std::string& name) {
  const auto& names = target_names();
  const auto at = std::find(names.begin(), names.end(), name);
  PLEAT_ASSERT(at != names.end());
  return static_cast<interop::Target>(at - names.begin());
}

PlanDocument load_plan_document(const std::string& file) {
  PlanDocument document = read_plan_document(read_text_file(file), file);
  require_valid({document.model, document.workload, document.plan, document.gpus}, file);
  return document;
}

bool is_before_blackwell(const std::string& cluster) {
  try {
    return load_cluster(cluster).gpu.peak_fp4.base() <= 0;
  } catch (const ConfigError&) {
    return true;
  }
}

std::string plan_title(const PlanDocument& d) {
  return fmt::format("{} on {} x {}: {}", d.model_name, d.gpus, d.cluster, summary(d.plan));
}

}  // namespace pleat
