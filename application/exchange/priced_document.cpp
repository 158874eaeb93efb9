// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/priced_document.hpp"

#include <utility>

#include "core/plan/constraints.hpp"
#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {

PricedDocument price_document(const PlanDocument& d, const std::string& cluster_name,
                              const std::string& profile_name, const std::string& where) {
  const ClusterSpec cluster = load_cluster(cluster_name);
  require_valid({d.model, d.workload, d.plan, d.gpus}, where);
  Profile profile;
  if (!profile_name.empty()) {
    profile = load_profile(profile_name);
  } else if (auto found = find_usual_profile(cluster_name, d.runtime)) {
    profile = std::move(found->profile);
  } else {
    profile = datasheet_profile(cluster, d.runtime);
  }
  const Program program = compile(d.model, d.workload, d.plan, d.runtime);
  return {estimate(program, cluster, profile), profile.name};
}

}  // namespace pleat
