// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan as a job: its arguments in the words of what trains it, and the facts that a job file
// needs.
#pragma once

#include <string>

#include "core/plan/plan_document.hpp"
#include "core/spec/cluster.hpp"
#include "interop/launch.hpp"

namespace pleat {

// Ranks of `pleat train` compute on GPUs, unless the cluster is made of CPUs.
[[nodiscard]] bool launches_on_gpus(interop::Trainer, const ClusterSpec&);

// `version` is Pleat's. ConfigError (bad_request) for a plan that Megatron-LM cannot run.
[[nodiscard]] interop::Exported launch_arguments(const PlanDocument&, const std::string& plan_file,
                                                 interop::Trainer, const ClusterSpec&,
                                                 const std::string& version);

// `exported` must outlive it. gpus_per_node 0: the cluster's.
[[nodiscard]] interop::Launch launch_of(const PlanDocument&, const interop::Exported& exported,
                                        interop::Trainer, const ClusterSpec&, int gpus_per_node,
                                        const interop::LaunchSlots&);

}  // namespace pleat
