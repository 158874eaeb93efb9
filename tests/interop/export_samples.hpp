// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan to export, and what an export says.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "interop/exported.hpp"
#include "interop/flag_table.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::interop_test {

inline PlanDocument sample(const std::string& model) {
  PlanDocument d;
  d.model_name = model;
  d.model = load_model(model).model;
  d.cluster = "h100-sxm";
  d.gpus = 64;
  d.workload = {.seq_len = 4096, .global_batch = 256};
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 8, .pp = 4};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 2};
  return d;
}

inline const interop::Setting* find(const interop::Exported& e, const std::string& name) {
  const auto at = std::find_if(e.settings.begin(), e.settings.end(),
                               [&](const interop::Setting& s) { return s.name == name; });
  return at == e.settings.end() ? nullptr : &*at;
}

inline std::vector<std::string> values_of(const interop::Exported& e, const std::string& name) {
  const interop::Setting* s = find(e, name);
  return s == nullptr ? std::vector<std::string>{"absent"} : s->values;
}

// The plan's exported words, read back by our own reader of files.
inline interop::ReadArguments read_back(const interop::Exported& e,
                                        const interop::FlagTable& table) {
  return interop::read_arguments(
      interop::shell_words(interop::export_text(interop::Target::megatron, e, "a plan")), table);
}

}  // namespace pleat::interop_test
