// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pleat {

PlanDocument document_of(const Request& r, const std::string& provenance) {
  PlanDocument document;
  document.model_name = r.target.model.name;
  document.model = r.target.model;
  document.workload = r.target.workload;
  document.cluster = r.target.cluster.name;
  document.gpus = r.target.gpus;
  document.runtime = r.target.runtime;
  document.plan = r.plan;
  document.provenance = provenance;
  return document;
}

Program compile_request(const Request& r) {
  return compile(r.target.model, r.target.workload, r.plan, r.target.runtime);
}

std::string assumed_text(const std::vector<std::string>& assumed) {
  return assumed.empty() ? "" : fmt::format("assumed: {}\n", fmt::join(assumed, ", "));
}

}  // namespace pleat
